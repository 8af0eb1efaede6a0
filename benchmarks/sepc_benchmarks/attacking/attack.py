"""Promises, and attacks on them: draws of rows and schedules after which it is known whether a promise was broken."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

SEED = 16


class Kind(Enum):
    """Why an attack is made."""

    ATTACK = "attack"
    """The promise covers it, and must hold."""
    CONTROL = "control"
    """A known mistake is made on purpose, and must be seen."""
    RULED_OUT = "ruled out"
    """What the page of the promise says it does not cover."""


@dataclass(frozen=True)
class Promise:
    """A promise of the documentation, with a probability.

    Attributes
    ----------
    name : str
    page : str
        The page that makes it, relative to `docs`.
    says : str
        What is promised.
    assumes : str
        Under what assumption.
    allowed : float
        The share of draws that may break it.
    """

    name: str
    page: str
    says: str
    assumes: str
    allowed: float = 0.05


@dataclass(frozen=True)
class Attack:
    """One way to try to break a promise.

    Attributes
    ----------
    promise : Promise
    tried : str
        What is tried, in a few words; no two attacks on a promise have the same.
    breaks : function of a Generator
        Makes one draw, and says whether it broke the promise.
    kind : Kind
    allowed : float or None
        The share of draws that may break it, if another than that of the promise.
    """

    promise: Promise
    tried: str
    breaks: Callable[[np.random.Generator], bool]
    kind: Kind = Kind.ATTACK
    allowed: float | None = None

    @property
    def level(self) -> float:
        """The share of draws that may break the promise."""
        return self.promise.allowed if self.allowed is None else self.allowed

    def count(self, draws: range) -> int:
        """How many of these draws broke the promise; each has a seed of its own."""
        name = zlib.crc32(f"{self.promise.name}: {self.tried}".encode())
        return sum(bool(self.breaks(np.random.default_rng([SEED, name, draw]))) for draw in draws)
