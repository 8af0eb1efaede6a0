"""What is to be fitted, fold by fold, and the cache of what has been."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from learners import AT_FULL_SIZE, DEFAULT, KNOWN, LAYERED, LAYERS, LEARNERS, SCORES, settings_of
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from suite import FULL_SIZE, LARGE, MOST_ROWS, QUICK, SETS, SMALLEST, UNSEEN, Rows, rows_of
from thinning import is_left_out

DONE, TOO_SLOW, FAILED = "done", "too slow", "failed"
SHARE_LEFT_OUT = 0.3  # where there is a single split instead of folds


@dataclass(frozen=True)
class Fold:
    """One fold of one data set for one learner; if `n_folds` is 1, a single split."""

    data_set: str
    most_rows: int
    learner: str
    seed: int
    fold: int
    n_folds: int

    @cached_property
    def settings(self) -> str:
        """A fingerprint of the settings that the figures belong to."""
        return settings_of(KNOWN[self.learner])

    @property
    def file(self) -> str:
        """Where the cache keeps the arrays."""
        name = f"{self.learner}-{self.seed}-{self.fold}of{self.n_folds}-{self.settings}.npz"
        return f"{self.data_set}-{self.most_rows}/{name}"

    def rows(self, cache: Path) -> Rows:
        """The data set that the fold is of."""
        return rows_of(self.data_set, cache, self.most_rows)

    def split(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the rows to fit, and of those left out."""
        if self.n_folds == 1:
            splitter: Any = StratifiedShuffleSplit(1, test_size=SHARE_LEFT_OUT, random_state=self.seed)
        else:
            splitter = StratifiedKFold(self.n_folds, shuffle=True, random_state=self.seed)
        return list(splitter.split(rows.X, rows.y))[self.fold]


@dataclass(frozen=True)
class Plan:
    """Which folds a part of the comparison is made of."""

    part: str
    data_sets: tuple[str, ...]
    learners: tuple[str, ...]
    n_seeds: int
    n_folds: int
    most_rows: int = MOST_ROWS

    def of(self, data_set: str, learner: str, seed: int) -> list[Fold]:
        """All folds of one data set, learner and seed."""
        return [Fold(data_set, self.most_rows, learner, seed, fold, self.n_folds) for fold in range(self.n_folds)]

    def tasks(self, learners: Iterable[str]) -> list[Fold]:
        """The folds of some learners in the order of fitting: first seed first."""
        return [
            fold
            for seed in range(self.n_seeds)
            for data_set in self.data_sets
            for learner in learners
            if learner in self.learners and not is_left_out(self.part, learner, data_set, seed)
            for fold in self.of(data_set, learner, seed)
        ]


PARTS = {
    plan.part: plan
    for plan in (
        Plan("models", SETS, tuple(LEARNERS), n_seeds=2, n_folds=5),
        Plan("unseen", UNSEEN, tuple(LEARNERS), n_seeds=1, n_folds=5),
        Plan("full size", LARGE, AT_FULL_SIZE, n_seeds=1, n_folds=1, most_rows=FULL_SIZE),
        Plan("layers", SETS, (*SCORES, *LAYERS), n_seeds=1, n_folds=5),
    )
}
FEW = {DEFAULT, LAYERED, "RF", "HGB", "LightGBM", "hyperboxes", *SCORES, *LAYERS}


def plans(options: argparse.Namespace) -> dict[str, Plan]:
    """What the command line asks for, part by part."""
    asked = [PARTS[name] for name in options.parts]
    if options.smallest:
        asked = [
            replace(plan, data_sets=SMALLEST[plan.part], learners=_few(plan), n_seeds=1, n_folds=min(plan.n_folds, 2))
            for plan in asked
        ]
    elif options.quick:
        asked = [replace(plan, data_sets=QUICK, n_seeds=1) for plan in asked if plan.data_sets == SETS]
    if options.sets:
        asked = [replace(plan, data_sets=tuple(options.sets)) for plan in asked]
    if options.seeds:
        asked = [replace(plan, n_seeds=options.seeds) for plan in asked]
    return {plan.part: plan for plan in asked}


def _few(plan: Plan) -> tuple[str, ...]:
    return tuple(name for name in plan.learners if name in FEW)


class Folds:
    """The cache: one line for every fold that ended, and one file of arrays for every fold that ended well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "folds.jsonl"
        folder.mkdir(parents=True, exist_ok=True)

    def ended(self) -> dict[Fold, dict[str, Any]]:
        """How each fold ended, for the learners' present settings; of two ends the later one."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        found = {}
        for line in lines:
            record = json.loads(line)
            if record["learner"] in KNOWN:
                fold = Fold(**{name: record[name] for name in Fold.__dataclass_fields__})
                if fold.settings == record["settings"]:
                    found[fold] = record
        return found

    def end(self, fold: Fold, status: str, **facts: Any) -> None:
        """Note how a fold ended."""
        record = {**asdict(fold), "settings": fold.settings, "status": status, **facts}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record) + "\n")

    def store(self, fold: Fold, arrays: Mapping[str, NDArray[Any]], **facts: float) -> None:
        """Keep the arrays of a fold that ended well, and what it cost."""
        path = self.folder / "folds" / fold.file
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **arrays)
        self.end(fold, DONE, **{name: round(value, 4) for name, value in facts.items()})

    def arrays(self, fold: Fold) -> dict[str, NDArray[Any]]:
        """The arrays of a fold that ended well."""
        with np.load(self.folder / "folds" / fold.file) as stored:
            return dict(stored)

    def forget(self, learners: Iterable[str]) -> None:
        """Drop all figures of these learners."""
        dropped = set(learners)
        if dropped and self.log.exists():
            lines = self.log.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if json.loads(line)["learner"] not in dropped]
            self.log.write_text("".join(kept), encoding="utf-8")
