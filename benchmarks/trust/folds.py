"""What is to be fitted, fold by fold, and the cache of what has been."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from learners import BASES, FEW, FOREST, LEARNERS, settings_of
from numpy.typing import NDArray
from suite import QUICK, SETS, SMALLEST

LAYERS = "layers"  # Track B's name in the cache: all scorers on all base models
DONE, TOO_SLOW, FAILED = "done", "too slow", "failed"


@dataclass(frozen=True)
class Fold:
    """One fold of one data set for one learner."""

    data_set: str
    learner: str
    seed: int
    fold: int
    n_folds: int

    @cached_property
    def settings(self) -> str:
        """A fingerprint of the settings that the figures belong to."""
        if self.learner == LAYERS:
            return settings_of(LEARNERS[FOREST], *BASES.values())
        return settings_of(LEARNERS[self.learner])

    @property
    def file(self) -> str:
        """Where the cache keeps the arrays."""
        return f"{self.data_set}/{self.learner}-{self.seed}-{self.fold}of{self.n_folds}-{self.settings}.npz"


@dataclass(frozen=True)
class Plan:
    """Which folds a run is made of."""

    data_sets: tuple[str, ...]
    learners: tuple[str, ...]
    layers: bool
    n_seeds: int
    n_folds: int

    def of(self, data_set: str, learner: str, seed: int) -> list[Fold]:
        """All folds of one data set, learner and seed."""
        return [Fold(data_set, learner, seed, fold, self.n_folds) for fold in range(self.n_folds)]

    def tasks(self) -> list[Fold]:
        """All folds in the order of fitting: first seed first, and Track B, which also fits Track A's forest, first."""
        names = [one for one in self.learners if not (self.layers and one == FOREST)]
        names = [LAYERS, *names] if self.layers else names
        return [
            fold
            for seed in range(self.n_seeds)
            for data_set in self.data_sets
            for learner in names
            for fold in self.of(data_set, learner, seed)
        ]


def plan(options: argparse.Namespace) -> Plan:
    """What the command line asks for."""
    sets = SMALLEST if options.smallest else QUICK if options.quick else SETS
    learners = () if options.track == "B" else FEW if options.smallest else tuple(LEARNERS)
    n_seeds = options.seeds or (1 if options.smallest or options.quick else 2)
    return Plan(tuple(options.sets or sets), learners, options.track != "A", n_seeds, 2 if options.smallest else 5)


class Folds:
    """The cache: one line for every fold that ended, and one file of arrays for every fold that ended well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "folds.jsonl"
        folder.mkdir(parents=True, exist_ok=True)

    def ended(self) -> dict[Fold, dict[str, Any]]:
        """How each fold ended, for the learners' present settings; of two ends the later one."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        known = {*LEARNERS, LAYERS}
        found = {}
        for line in lines:
            record = json.loads(line)
            if record["learner"] in known:
                fold = Fold(*(record[name] for name in ("data_set", "learner", "seed", "fold", "n_folds")))
                if fold.settings == record["settings"]:
                    found[fold] = record
        return found

    def end(self, fold: Fold, status: str, **facts: Any) -> None:
        """Note how a fold ended."""
        record = {**asdict(fold), "settings": fold.settings, "status": status, **facts}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record) + "\n")

    def store(self, fold: Fold, arrays: Mapping[str, NDArray[Any]], seconds: float) -> None:
        """Keep the arrays of a fold that ended well."""
        path = self.folder / "folds" / fold.file
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **arrays)
        self.end(fold, DONE, seconds=round(seconds, 3))

    def arrays(self, fold: Fold) -> dict[str, NDArray[Any]]:
        """The arrays of a fold that ended well."""
        with np.load(self.folder / "folds" / fold.file) as stored:
            return dict(stored)

    def forget(self, learners: Iterable[str]) -> None:
        """Drop all figures of these learners; Track B goes with the forest that it is made from."""
        dropped, known = set(learners), [*LEARNERS, LAYERS]
        if dropped - set(known):
            wrong = ", ".join(sorted(dropped - set(known)))
            raise SystemExit(f"No learner is called {wrong}; there are {', '.join(known)}.")
        if FOREST in dropped:
            dropped.add(LAYERS)
        if self.log.exists():
            lines = self.log.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if json.loads(line)["learner"] not in dropped]
            self.log.write_text("".join(kept), encoding="utf-8")
