"""Monitor: watch a model's regions while rows come in, with few false alarms however long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import Decisions
from sepc.decisions.frames import frame_of
from sepc.decisions.kinds import Cause
from sepc.estimators.checks import checked_labels
from sepc.io.atomic_files import write_whole
from sepc.io.container import read_bytes
from sepc.lifecycle.located_rows import LocatedRows, placed, sep_models
from sepc.lifecycle.monitoring.alarms import Alarm
from sepc.lifecycle.monitoring.monitor_file import fingerprint_of, state_from_bytes, state_to_bytes
from sepc.lifecycle.monitoring.monitor_state import MonitorState, all_evidence, settled, with_rows
from sepc.lifecycle.monitoring.monitored_rates import ALL_ROWS, MonitoredRates
from sepc.lifecycle.monitoring.tally import Tally
from sepc.lifecycle.monitoring.windows import Windows
from sepc.views.outcomes import is_right
from sepc.wording import AS_SET, counted, percent

if TYPE_CHECKING:
    import pandas as pd


class Monitor(ShownAsCard):
    """Watch what comes to a model, region by region, beside a reference, and raise an alarm where something changed.

    Four kinds of rates are watched in every region: its share of all rows, how many rows lie outside near its
    ellipsoid, how many have a feature above the region's middle and, if the reference has labels, how many labels are
    wrong. Features are also watched of all rows together, for what is small in every region. The promise: if
    rows keep coming from where the reference came from, there is never an alarm with probability `confidence`, however
    long the stream and however often one looks.

    Parameters
    ----------
    model : fitted SEPClassifier, or a wrapper around one
        A `SelectiveClassifier`, a frozen one, or a pipeline that ends in one.
    X_ref : array or DataFrame
        The reference: rows as they came when the model was good. They must not have been used in fitting, since
        training rows are inside the ellipsoids by construction; the rows of a calibration or a test set will do.
    y_ref : array, optional
        Their labels.
    confidence : float, default=0.95
        Probability that there is no false alarm over the whole stream. Nearer to 1 takes longer to see a change.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sepc import SEPClassifier
    >>> from sepc.lifecycle import Monitor
    >>> X, y = make_moons(3000, noise=0.2, random_state=0)
    >>> model = SEPClassifier().fit(X[:500], y[:500])
    >>> monitor = Monitor(model, X[500:1500], y[500:1500])
    >>> monitor.update(X[1500:2500], y[1500:2500])
    []
    >>> alarms = monitor.update(X[2500:] + [0.0, 1.0])
    >>> alarms[0].moved[0].name
    'x1'
    """

    def __init__(self, model: Any, X_ref: Any, y_ref: ArrayLike | None = None, *, confidence: float = 0.95) -> None:
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence is {confidence!r}; it must lie strictly between 0 and 1.")
        self.model = model
        self._watched = MonitoredRates(sep_models(model)[0])
        found = placed(model, X_ref)
        scale = found.features.std(axis=0)
        unit = found.features.mean(axis=0), np.where(scale > 0.0, scale, 1.0)
        empty = Tally.empty(self._watched.n_regions, len(scale))
        self._state = MonitorState(float(confidence), *unit, reference=empty, seen=Windows(empty))
        reference = self._counted(found) if y_ref is None else self._counted(found) + self._labels(found, y_ref)
        self._state = replace(self._state, reference=reference)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All alarms raised, in order; one is raised at most once for each rate of each region."""
        return self._state.alarms

    @property
    def n_rows(self) -> int:
        """Rows seen, without those of the reference."""
        return self._state.seen.total.n

    @property
    def watches_errors(self) -> bool:
        """Whether the reference has labels."""
        return bool(self._state.reference.labelled.any())

    def update(self, X: Any, y: ArrayLike | None = None) -> list[Alarm]:
        """Look at new rows, with their labels if these are known.

        Returns
        -------
        list of Alarm
            Those that these rows raised, the clearest first.
        """
        found = placed(self.model, X)
        return self._take(self._counted(found) if y is None else self._counted(found) + self._labels(found, y))

    def update_labels(self, X: Any, y: ArrayLike) -> list[Alarm]:
        """Look at labels that became known only now, of rows that `update` was given before.

        Within a region, the rows that get labels should be chosen as those of the reference were, best at random.
        """
        return self._take(self._labels(placed(self.model, X), y))

    def decide(self, X: Any) -> Decisions:
        """The model's decisions; rows of regions with an alarm that `refuses` them are DRIFTED, and not accepted."""
        found = placed(self.model, X)
        return found.decisions.refused(np.isin(found.region, self._drifted_regions()), Cause.DRIFTED)

    def evidence(self) -> pd.DataFrame:
        """Evidence of change of every rate since the start, as natural logarithms, a row for each region.

        The last two are those of the sets not seen in training, -1, and of all rows together, -2.

        The values are those of single rates; an alarm is raised for what is left after the correction for all of them.
        """
        found = all_evidence(self._state, self._watched)
        region = np.append(np.arange(self._watched.n_regions - 1), [-1, ALL_ROWS])
        tallies = {"n_reference": self._state.reference, "n_seen": self._state.seen.total}
        rows = {name: np.append(one.rows, one.n) for name, one in tallies.items()}
        return frame_of({"region": region, **rows, **found})

    def fresh(self) -> Monitor:
        """A monitor with the same reference that has seen nothing, for another process."""
        return self._with(self._state.fresh)

    def merge(self, *others: Monitor) -> Monitor:
        """A monitor that has seen the rows of all, which must be different rows beside the same reference.

        Alarms are those raised here, and those that the rows of all together raise. Alarms that only another raised are
        its own: each monitor keeps its promise for what it has seen itself. Workers that go on may be merged again and
        again, as often as one likes; give them all at once then, since what only some of them have seen would be looked
        at too, and the promise is for one look at all of them.
        """
        seen, own = self._state.seen, self.fresh().to_bytes()
        for other in others:
            if other.fresh().to_bytes() != own:
                raise ValueError("The monitors watch different models, or have different references or confidence.")
            seen = seen.joined(other._state.seen)
        return self._with(settled(replace(self._state, seen=seen), self._watched))

    def to_bytes(self) -> bytes:
        """The state as bytes of a safe file; the model is not in it, but recognised when given again."""
        return state_to_bytes(self._state, fingerprint_of(sep_models(self.model)))

    @classmethod
    def from_bytes(cls, data: bytes, model: Any) -> Self:
        """The monitor whose bytes these are; `model` must be the one it watches."""
        monitor = cls.__new__(cls)
        models = sep_models(model)
        monitor.model, monitor._watched = model, MonitoredRates(models[0])
        monitor._state = state_from_bytes(data, monitor._watched, fingerprint_of(models))
        return monitor

    def save(self, path: str | Path) -> None:
        """Write the state to a file that holds no code and no rows, only counts, sums and alarms.

        An old file of that name is replaced at once, or not at all.
        """
        write_whole(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | Path, model: Any) -> Self:
        """Read a monitor from a file that may come from anyone; `model` must be the one it watches."""
        return cls.from_bytes(read_bytes(path), model)

    def _card(self) -> Card:
        reference = counted(self._state.reference.n, "row")
        facts = (
            ("rows seen", f"{self.n_rows:,}"),
            ("reference", f"{reference}, {'with labels' if self.watches_errors else 'without labels'}"),
            (
                "promise",
                f"the chance of a false alarm, ever, is at most {percent(1.0 - self._state.confidence, AS_SET)}",
            ),
        )
        rows = tuple(alarm.cells() for alarm in self.alarms)
        note = "In words: print(monitor.alarms[0])" if rows else ""
        title = f"Monitor of {type(self.model).__name__}: {counted(len(rows), 'alarm') if rows else 'no alarm'}"
        return Card(title, facts, ("where", "what changed", "before", "now", "rows"), rows, note)

    def _with(self, state: MonitorState) -> Monitor:
        monitor = type(self).__new__(type(self))
        monitor.model, monitor._watched, monitor._state = self.model, self._watched, state
        return monitor

    def _take(self, tally: Tally) -> list[Alarm]:
        if tally.labelled.any() and not self.watches_errors:
            raise ValueError("The reference has no labels to compare with; give some: Monitor(model, X_ref, y_ref).")
        n_before = len(self.alarms)
        self._state = with_rows(self._state, self._watched, tally)
        return list(self.alarms[n_before:])

    def _counted(self, found: LocatedRows) -> Tally:
        features = (found.features - self._state.shift) / self._state.scale
        above, beyond = self._watched.compared(found.region, found.features)
        return Tally.of_rows(found.region, features, above, beyond, self._watched.n_regions)

    def _labels(self, found: LocatedRows, y: ArrayLike) -> Tally:
        labels = checked_labels(y, "Monitor")
        if len(labels) != len(found.region):
            raise ValueError(f"There are {len(found.region):,} rows and {len(labels):,} labels; each row needs one.")
        right = is_right(found.decisions.label, labels)
        return Tally.of_labels(found.region, ~right, *self._state.reference.sums.shape)

    def _drifted_regions(self) -> IntArray:
        return np.array([alarm.region for alarm in self.alarms if alarm.refuses], dtype=np.int64)
