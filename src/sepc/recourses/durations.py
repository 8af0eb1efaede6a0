"""Lengths of time, in the unit that the user named."""

from __future__ import annotations

from typing import NamedTuple

from sepc.wording import quantity

DAYS = {"day": 1.0, "week": 7.0, "month": 365.25 / 12.0, "year": 365.25}


class Duration(NamedTuple):
    """A length of time.

    Attributes
    ----------
    amount : float
    unit : str
        "day", "week", "month" or "year".
    """

    amount: float
    unit: str

    def __str__(self) -> str:
        if self.amount == 0.0:
            return "no time"
        rounded = float(f"{self.amount:.3g}")
        return f"{quantity(rounded)} {self.unit if rounded == 1.0 else f'{self.unit}s'}"
