"""What is to be fitted, fold by fold, and the cache of what has been."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from sepc_benchmarks.trust.learners import (
    AT_FULL_SIZE,
    KNOWN,
    LAYERS,
    LEARNERS,
    SCORES,
    STRONGEST,
    settings_of,
)
from sepc_benchmarks.trust.suite import (
    EQUAL_ROWS,
    FULL_SIZE,
    LARGE,
    MOST_ROWS,
    SETS,
    UNSEEN,
    Rows,
    rows_of,
)
from sepc_benchmarks.trust.thinning import is_left_out

DONE, TOO_SLOW, FAILED = "done", "too slow", "failed"
SHARE_LEFT_OUT = 0.3  # where there is a single split instead of folds
BY_CHANCE, TOGETHER, BY_TIME = "by chance", "equal rows together", "by time"


@dataclass(frozen=True)
class Fold:
    """One fold of one data set for one learner; if `n_folds` is 1, a single split.

    Rows are split by chance; or by chance with equal rows on one side; or the last ones are left out.
    """

    data_set: str
    most_rows: int
    learner: str
    seed: int
    fold: int
    n_folds: int
    split_by: str = BY_CHANCE

    @cached_property
    def settings(self) -> str:
        """A fingerprint of the settings that the figures belong to."""
        return settings_of(KNOWN[self.learner])

    @property
    def file(self) -> str:
        """Where the cache keeps the arrays."""
        name = f"{self.learner}-{self.seed}-{self.fold}of{self.n_folds}-{self.split_by}-{self.settings}.npz"
        return f"{self.data_set}-{self.most_rows}/{name}"

    def rows(self, cache: Path) -> Rows:
        """The data set that the fold is of."""
        return rows_of(self.data_set, cache, self.most_rows)

    def split(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the rows to fit, and of those left out."""
        if self.split_by == BY_TIME:
            first = np.arange(len(rows.y)) < (1.0 - SHARE_LEFT_OUT) * len(rows.y)
            return np.flatnonzero(first), np.flatnonzero(~first)
        if self.split_by == TOGETHER:
            return self._together(rows)
        if self.n_folds == 1:
            splitter: Any = StratifiedShuffleSplit(1, test_size=SHARE_LEFT_OUT, random_state=self.seed)
        else:
            splitter = StratifiedKFold(self.n_folds, shuffle=True, random_state=self.seed)
        return list(splitter.split(rows.X, rows.y))[self.fold]

    def _together(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same folds, but every row is in that of the first row equal to it."""
        fold, splitter = (
            np.empty(len(rows.y), dtype=int),
            StratifiedKFold(self.n_folds, shuffle=True, random_state=self.seed),
        )
        for k, (_, test) in enumerate(splitter.split(rows.X, rows.y)):
            fold[test] = k
        _, first, same = np.unique(rows.X, axis=0, return_index=True, return_inverse=True)
        is_left_out = fold[first][same.ravel()] == self.fold
        return np.flatnonzero(~is_left_out), np.flatnonzero(is_left_out)


@dataclass(frozen=True)
class Plan:
    """Which folds a part of the comparison is made of."""

    part: str
    data_sets: tuple[str, ...]
    learners: tuple[str, ...]
    n_seeds: int
    n_folds: int
    most_rows: int = MOST_ROWS
    split_by: str = BY_CHANCE

    def of(self, data_set: str, learner: str, seed: int) -> list[Fold]:
        """All folds of one data set, learner and seed."""
        numbers = range(self.n_folds)
        return [Fold(data_set, self.most_rows, learner, seed, k, self.n_folds, self.split_by) for k in numbers]

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
        Plan("together", EQUAL_ROWS, STRONGEST, n_seeds=1, n_folds=5, split_by=TOGETHER),
        Plan("full size", LARGE, AT_FULL_SIZE, n_seeds=1, n_folds=1, most_rows=FULL_SIZE),
        Plan("by time", ("electricity",), AT_FULL_SIZE, n_seeds=1, n_folds=1, most_rows=FULL_SIZE, split_by=BY_TIME),
        Plan("layers", SETS, (*SCORES, *LAYERS), n_seeds=1, n_folds=5),
    )
}


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

    def end(self, fold: Fold, status: str) -> None:
        """Note how a fold ended."""
        record = {**asdict(fold), "settings": fold.settings, "status": status}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record) + "\n")

    def store(self, fold: Fold, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the arrays of a fold that ended well."""
        path = self.folder / "folds" / fold.file
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
        self.end(fold, DONE)

    def arrays(self, fold: Fold) -> dict[str, NDArray[Any]]:
        """The arrays of a fold that ended well."""
        with np.load(self.folder / "folds" / fold.file) as stored:
            return dict(stored)
