"""Review: the rows for a person on one day, in order, drawn from bands of trust, with the reason for each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from sepc._typing import FloatArray, IntArray
from sepc.cards import Card, ShownOnOneLine
from sepc.decisions.decisions import frame_of
from sepc.documents.document import Table
from sepc.lifecycle.result import Result
from sepc.lifecycle.rows import RowRegions
from sepc.records import floats, record, whole
from sepc.wording import AS_SET, counted, decimal, name_of, percent

if TYPE_CHECKING:
    import pandas as pd


# Numbers of bands within the target, and beyond it.
N_WITHIN, N_BEYOND = 4, 2
# Coverages to try if the user gives none.
COVERAGES = np.arange(1, 21) / 20.0
# Dividing by smaller shares or risks would overflow.
TINY = 1e-100


@record
class Bands(ShownOnOneLine):
    """Rows divided by trust, the most trusted first. Set k is all rows of the bands 0 to k.

    Attributes
    ----------
    least_trust : (H,) array
        The least trust in each band, in decreasing order; the last is 0.
    coverage : (H,) array
        The share of each set among the rows that define the bands; the last is 1.
    claimed_risk : (H,) array
        The mean of 1 - trust in each band, clipped to [1e-6, 0.5].
    target : int
        The set to certify first.
    """

    least_trust: FloatArray = floats("H")
    coverage: FloatArray = floats("H")
    claimed_risk: FloatArray = floats("H", low=TINY, high=0.5)
    target: int = whole()

    def flaw(self) -> str | None:
        """What is wrong with the bands, if anything."""
        if len(self) > N_WITHIN + N_BEYOND:
            return "has more trust bands than a queue makes"
        is_nested = (np.diff(self.least_trust) < 0.0).all() and (self.share > TINY).all()
        if not is_nested or self.target >= len(self) or self.coverage[-1] != 1.0:
            return "has trust bands that are not nested, or a wrong target"
        return None

    def __len__(self) -> int:
        return len(self.coverage)

    @property
    def share(self) -> FloatArray:
        """The share of each band."""
        return np.diff(self.coverage, prepend=0.0)

    def of(self, trust: FloatArray) -> IntArray:
        """The band of each row."""
        return np.searchsorted(-self.least_trust[:-1], -trust, side="left")

    def weights(self, k: int) -> FloatArray:
        """The share of each band in set k; 0 beyond it."""
        inside: FloatArray = np.where(np.arange(len(self)) <= k, self.share, 0.0)
        return np.asarray(inside / inside.sum())


def bands_of(trust: FloatArray, coverage: float | None, max_risk: float) -> Bands:
    """Divide rows into bands by their trust alone."""
    ordered = np.sort(trust)[::-1]
    risk = np.clip(1.0 - ordered, 1e-6, 0.5)
    goal = coverage if coverage is not None else _best_coverage(risk, max_risk)
    n_target = _with_ties(ordered, max(1, int(np.ceil(goal * len(ordered) - 1e-9))))
    steps = np.cumsum(np.sqrt(risk[:n_target]))
    within = np.searchsorted(steps, steps[-1] * np.arange(1, N_WITHIN) / N_WITHIN) + 1
    beyond = n_target + (len(ordered) - n_target) * np.arange(1, N_BEYOND + 1) // N_BEYOND
    ends = np.unique([_with_ties(ordered, int(n)) for n in (*within, n_target, *beyond)])
    starts = np.concatenate([[0], ends[:-1]])
    least = ordered[ends - 1]
    least[-1] = 0.0
    claimed = np.add.reduceat(risk, starts) / (ends - starts)
    return Bands(least, ends / len(ordered), claimed, int(np.searchsorted(ends, n_target)))


def _with_ties(ordered: FloatArray, n: int) -> int:
    """How many rows have at least the trust of the n-th."""
    return int(np.searchsorted(-ordered, -ordered[n - 1], side="right"))


def _best_coverage(risk: FloatArray, max_risk: float) -> float:
    """The coverage that needs the fewest labels for its size by the claimed risk; the smallest if none qualifies."""
    ends = np.maximum(1, np.ceil(COVERAGES * len(risk)).astype(np.int64))
    mean = np.cumsum(risk)[ends - 1] / ends
    growth = rel_entr(mean, max_risk) + rel_entr(1.0 - mean, 1.0 - max_risk)
    gain = np.where(mean < max_risk, COVERAGES * growth, 0.0)
    return float(COVERAGES[gain.argmax()])


HEAD = ("row", "purpose", "label", "trust")
TO_DO = (
    "Give each of these rows its true label. Rows to certify were drawn at random, so their labels represent all rows "
    "like them: one without a label counts as an error of the model. Rows to decide are settled by your label alone."
)


class Purpose(IntEnum):
    """What the review of a row is for."""

    CERTIFY = 0
    """Its label helps to prove the error rate of all rows like it."""
    DECIDE = 1
    """The model's label is not trusted; a person decides the case."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan(ShownOnOneLine):
    """What the labels of a day should prove.

    Attributes
    ----------
    bands : Bands
    aim : int or None
        The set of rows to certify, see `Bands`; None if there is nothing to certify.
    drawn : (H,) array
        The probability of drawing a row from each band.
    n_more : float
        How many more labels are expected to be needed; infinite if more errors are expected than allowed.
    max_risk : float
    """

    bands: Bands
    aim: int | None
    drawn: FloatArray
    n_more: float
    max_risk: float

    @property
    def coverage(self) -> float:
        """The share of rows that would be certified."""
        return 0.0 if self.aim is None else float(self.bands.coverage[self.aim])

    def __str__(self) -> str:
        if self.aim is None:
            return "No label would certify more rows."
        goal = f"the {self.rows(self.aim)}: that at most {percent(self.max_risk, AS_SET)} of them are wrong"
        if not np.isfinite(self.n_more):
            return f"The labels should certify {goal}. At present, more errors than that are expected."
        return f"About {max(1, round(self.n_more)):,} more labels are expected to certify {goal}."

    @property
    def needed(self) -> str:
        """How many more labels are expected to be needed, in a few words."""
        if self.aim is None:
            return "none"
        if not np.isfinite(self.n_more):
            return "unknown: more errors are expected than allowed"
        return f"about {max(1, round(self.n_more)):,} more"

    def rows(self, k: int) -> str:
        """The rows of set k, in words."""
        least = self.bands.least_trust[k]
        where = f"with trust of at least {least:.6g}" if least > 0.0 else "of any trust"
        return f"{percent(float(self.bands.coverage[k]))} of rows {where}"

    def band(self, h: int) -> str:
        """The rows of a band, in words."""
        least = self.bands.least_trust[h]
        share = percent(float(self.bands.share[h]))
        if h == 0:
            return f"{share} of rows with trust of at least {least:.6g}"
        return f"{share} of rows with trust from {least:.6g} to below {self.bands.least_trust[h - 1]:.6g}"


@dataclass(frozen=True, eq=False, repr=False)
class Review(Result):
    """The rows to review, in order, as arrays with one entry per row.

    ``print`` and `summary` say what the labels are for; `why` gives the reason for one row, `to_frame` a table of all
    of them, and `to_html` a page for the people who review.

    Attributes
    ----------
    positions : array of int
        Positions of the rows among those given to `choose`.
    purpose : array of `Purpose`
    label : array
        The model's labels.
    trust : array of float
    band : array of int
        The band of trust of each row, from which rows to certify were drawn.
    regions : RowRegions, or None
        The region of each row, if the model has regions: its `number`, its `share` of the rows given, and `where` it
        lies, in words.
    decisions : decisions, or None
        The model's decisions on these rows; None for a review from a file.
    plan : Plan
    number : int
        Number of the review, so that no label is counted twice.
    """

    positions: IntArray
    purpose: IntArray
    label: NDArray[Any]
    trust: FloatArray
    band: IntArray
    regions: RowRegions | None
    decisions: Any
    plan: Plan
    number: int

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def region(self) -> IntArray | None:
        """The number of each row's region; None if the model has no regions."""
        return None if self.regions is None else self.regions.number

    def why(self, i: int) -> str:
        """Why the i-th of these rows should be reviewed, in words."""
        said = f"The model says {self.label[i]} with trust {decimal(self.trust[i])}"
        if self.regions is not None:
            said += f", where {percent(float(self.regions.share[i]))} of these rows lie ({self.regions.where[i]})"
        if self.purpose[i] == Purpose.CERTIFY:
            return f"Row {self.positions[i]}: drawn at random from the {self._band(i)}. {self.plan} {said}."
        chosen = f"Row {self.positions[i]}: one of the least trusted, for a person to decide."
        return " ".join(part for part in (chosen, f"{said}.", self._model_reason(i)) if part)

    def _band(self, i: int) -> str:
        return self.plan.band(int(self.band[i]))

    def _model_reason(self, i: int) -> str:
        """The model's own reason; empty for a review from a file, which holds no decisions."""
        decision: Any = None if self.decisions is None else self.decisions[i]
        return str(decision.why()) if hasattr(decision, "why") else ""

    def _short_reason(self, i: int) -> str:
        """The reason for a row in a table that has its label and trust in other columns."""
        if self.purpose[i] == Purpose.CERTIFY:
            return f"Drawn at random from the {self._band(i)}."
        return f"One of the least trusted. {self._model_reason(i)}".strip()

    def summary(self) -> str:
        """How many rows to review and for what purpose, in words."""
        n_certify = int((self.purpose == Purpose.CERTIFY).sum())
        parts = [f"{n_certify:,} to certify"] if n_certify else []
        parts += [f"{len(self) - n_certify:,} to decide"] if len(self) > n_certify else []
        return f"{counted(len(self), 'row')} to look at{': ' + ', '.join(parts) if parts else ''}. {self.plan}"

    def _card(self) -> Card:
        n_certify = int((self.purpose == Purpose.CERTIFY).sum())
        facts = (
            ("to certify", f"{n_certify:,}, drawn at random"),
            ("to decide", f"{len(self) - n_certify:,}, the least trusted"),
            ("aim", "nothing" if self.plan.aim is None else f"the {self.plan.rows(self.plan.aim)}"),
            ("labels needed", self.plan.needed),
        )
        rows = tuple(self._cells(i) for i in range(len(self)))
        note = "Why a row: review.why(0). As a DataFrame: to_frame()" if rows else ""
        return Card(f"Review {self.number}: {counted(len(self), 'row')} to look at", facts, HEAD, rows, note)

    def _cells(self, i: int) -> tuple[str, ...]:
        """A row of a table: which row, what for, the model's label, and its trust."""
        purpose = Purpose(self.purpose[i]).name.lower()
        return name_of(self.positions[i]), purpose, name_of(self.label[i]), decimal(self.trust[i])

    def _row_name(self, i: int) -> str:
        """The row as the index of its DataFrame names it, or else its position."""
        index = getattr(self.decisions, "index", None)
        return name_of(self.positions[i] if index is None else index[i])

    def _tables(self) -> list[Table]:
        where = [] if self.regions is None else ["where"]
        rows = [
            (
                self._row_name(i),
                *self._cells(i)[1:],
                *([] if self.regions is None else [str(self.regions.where[i])]),
                self._short_reason(i),
            )
            for i in range(len(self))
        ]
        return [Table("Rows to review, in this order", (*HEAD, *where, "reason"), rows, wide=("reason",))]

    def _notes(self) -> tuple[str, ...]:
        return (TO_DO,) if len(self) else ()

    def _page_title(self) -> str:
        return f"Review {self.number}"

    def to_frame(self) -> pd.DataFrame:
        """The review as a pandas DataFrame, in order, with the reasons."""
        columns: dict[str, Any] = {
            "position": self.positions,
            "purpose": [Purpose(purpose).name for purpose in self.purpose],
        }
        columns |= {"label": self.label, "trust": self.trust, "band": self.band}
        if self.regions is not None:
            columns |= {"region": self.regions.number, "where": self.regions.where}
        return frame_of(columns | {"why": [self.why(i) for i in range(len(self))]})
