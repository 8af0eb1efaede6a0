"""Monitor: watch the regions of a model as rows arrive, with a bound on false alarms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import IntArray
from sepc.cards import Card
from sepc.decisions.decisions import Decisions, frame_of, partition_behind, refuse
from sepc.decisions.kinds import Cause
from sepc.documents.charts import Chart
from sepc.documents.document import Table
from sepc.estimators.base import check_labels
from sepc.estimators.sep.training_set import Extent, Standardization
from sepc.estimators.unwrapping import classifier_name
from sepc.io.atomic_files import write_whole
from sepc.io.container import read_bytes
from sepc.lifecycle.monitoring.alarms import COLUMNS, HEAD, Alarm, describe_region
from sepc.lifecycle.monitoring.column_guesses import ColumnChange, column_tables, columns_in_short, columns_in_words
from sepc.lifecycle.monitoring.columns import MOST_ROWS, ColumnRows, column_rows
from sepc.lifecycle.monitoring.comparing import latest_changes
from sepc.lifecycle.monitoring.evidence import ALL_ROWS, OUTSIDE, MonitoredRates, column_counts
from sepc.lifecycle.monitoring.monitor_state import (
    MonitorState,
    all_evidence,
    merged,
    settle,
    with_rows,
)
from sepc.lifecycle.monitoring.state import Tally, Windows
from sepc.lifecycle.result import DrawnResult
from sepc.lifecycle.rows import SharedState, decide_in_memory, fingerprint_of, sep_models, synchronized
from sepc.lifecycle.state_files import state_from_bytes, state_to_bytes
from sepc.model.membership import FARTHEST
from sepc.points.in_memory import ArrayPoints
from sepc.views.charts import Pair, pair_chart
from sepc.views.outcomes import is_right
from sepc.wording import AS_SET, check_number, counted, percent

if TYPE_CHECKING:
    import pandas as pd


def state_of(data: bytes, watched: MonitoredRates, fingerprint: str) -> MonitorState:
    """Read the state of a monitor, and check that it and its alarms belong to the model with this fingerprint."""
    sizes = {"R": watched.n_regions, "d": watched.n_features}
    state, reader = state_from_bytes("monitor", data, MonitorState, fingerprint, sizes)
    named = watched.rename(state.features).model
    near = range(watched.n_sets, watched.n_sets + watched.model.n_ellipsoids)
    for alarm in state.alarms:
        if not (alarm.region in near if alarm.kind == OUTSIDE else alarm.region < watched.n_regions - 1):
            raise reader.wrong("has an alarm about something that is not watched")
        if not {own.name for own in alarm.moved} | {own.name for own in alarm.columns} <= set(named.feature_names):
            raise reader.wrong("names a feature that the model does not have")
    return replace(state, alarms=tuple(replace(own, where=describe_region(named, own.region)) for own in state.alarms))


# Columns that moved, in an alarm.
MOST_COLUMNS = 5
# Alarms listed in a summary; the others are counted.
MOST_LISTED = 10

NO_ALARM = "These rows show no change from the reference."
AFTER_ALARM = (
    "Rows of a region whose decisions are no longer accepted go to a person, with cause DRIFTED. If labels are "
    "wrong there, audit the model with rows whose labels are known, and repair it. If the rows themselves changed, "
    "find out why, or refit the model on new rows. Then start a new monitor."
)


class Monitor(DrawnResult, SharedState):
    """Compare the rows that arrive at a model with a reference, region by region, and raise an alarm on any change.

    Four kinds of rates are watched in every region: its share of all rows, how many rows lie just outside its
    ellipsoid, how many have a feature above the region's middle and, if the reference has labels, how many labels are
    wrong. Features are also watched over all rows, for changes that are small in every region, and so are the missing
    and the round values of every column. The promise: if rows keep coming from the same source as the reference, then
    with probability `confidence` there is never an alarm, however long the stream and however often you look. An alarm
    also says which columns of the latest rows differ from training, and guesses the cause where it is simple, such as a
    change of unit.

    `summary` says what was found, `to_frame` is a table of the alarms, `plot` a picture, and `to_html` a page. Threads
    may share a monitor: no row is lost, and updates wait for one another.

    Parameters
    ----------
    model : fitted SEPClassifier, TrustedClassifier or RoutedClassifier
        Also in a `SelectiveClassifier`, a pipeline, a search or a `FrozenEstimator`.
    X_ref : array or DataFrame
        The reference: rows from a time when the model worked well. They must not be training rows, which lie inside the
        ellipsoids by construction; a calibration or test set is fine.
    y_ref : array, optional
        The labels of the reference.
    confidence : float, default=0.95
        Probability that there is no false alarm over the whole stream. With more confidence, changes are found later.

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
    >>> print(monitor.summary().split(" (")[0])
    x1 moved: median 0.358 in training, 1.22 now
    >>> page = monitor.to_html()  # to write it: monitor.to_html("monitor.html")
    """

    # The latest rows, and how many came last, of this process only: files and copies do not have them.
    _recent: ColumnRows | None = None
    _n_last = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_recent", "_n_last")}

    def __init__(self, model: Any, X_ref: Any, y_ref: ArrayLike | None = None, *, confidence: float = 0.95) -> None:
        check_number("confidence", confidence, above=0, below=1)
        self.model = model
        watched = MonitoredRates(sep_models(model)[0])
        decisions = decide_in_memory(model, X_ref)
        partition = partition_behind(decisions)
        names = partition.model.feature_names
        self._rates = watched.rename(names)
        unit = Standardization.of(Extent.of(ArrayPoints(partition.features)))
        empty = Tally.empty(self._rates.n_regions, len(unit.scale))
        self._state = MonitorState(float(confidence), unit.shift, unit.scale, names, empty, (), Windows(empty))
        reference = self._count(decisions, column_rows(decisions, X_ref))
        labels = None if y_ref is None else self._labels(decisions, y_ref)
        self._state = replace(self._state, reference=reference if labels is None else reference + labels)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All alarms so far, in order; at most one for each rate of each region."""
        return self._state.alarms

    @property
    def n_rows(self) -> int:
        """Rows seen so far, without the reference."""
        return self._state.seen.total.n

    @property
    def watches_errors(self) -> bool:
        """Whether the reference has labels."""
        return self._state.watches_errors

    def update(self, X: Any, y: ArrayLike | None = None) -> list[Alarm]:
        """Count new rows, and their labels if these are known.

        Returns
        -------
        list of Alarm
            The alarms that these rows raised, the clearest first.

        Raises
        ------
        ValueError
            If labels are given but the reference has none.
        """
        decisions = decide_in_memory(self.model, X)
        rows = column_rows(decisions, X)
        tally = self._count(decisions, rows)
        return self._take(tally if y is None else tally + self._labels(decisions, y), rows)

    def update_labels(self, X: Any, y: ArrayLike) -> list[Alarm]:
        """Count labels that arrived later, of rows that `update` has already seen; returns new alarms as `update` does.

        Within a region, rows should be chosen for labelling in the same way as in the reference, ideally at random. An
        empty batch is allowed, and raises no alarm.
        """
        if np.shape(X)[:1] == (0,) and np.size(y) == 0:
            return []
        return self._take(self._labels(decide_in_memory(self.model, X), y))

    def decide(self, X: Any) -> Decisions:
        """The model's decisions; rows of regions with an alarm that `refuses` them get the cause DRIFTED."""
        decisions = decide_in_memory(self.model, X)
        return refuse(decisions, np.isin(decisions.region, self._drifted_regions()), Cause.DRIFTED)

    def evidence(self) -> pd.DataFrame:
        """The evidence that each rate has changed since the start, as natural logarithms, one row per region.

        The last two rows are those of combinations unseen in training, -1, and of all rows together, -2. The values are
        not corrected for the number of rates; alarms are.
        """
        columns = all_evidence(self._state, self._rates)
        region = np.append(np.arange(self._rates.n_regions - 1), [-1, ALL_ROWS])
        where = [describe_region(self._rates.model, int(number)) for number in region]
        tallies = {"n_reference": self._state.reference, "n_seen": self._state.seen.total}
        rows = {name: np.append(tally.rows, tally.n) for name, tally in tallies.items()}
        return frame_of({"region": region, "where": where, **rows, **columns})

    def column_changes(self) -> tuple[ColumnChange, ...]:
        """The columns of the latest rows that differ from training, whether or not there is an alarm.

        The latest rows are the last 2,000 that this monitor has seen itself, in this process. The promise about alarms
        does not cover them: each call has a chance of about 1 % of naming a column that has not changed.
        """
        return latest_changes(self._recent, self._n_last)

    def fresh(self) -> Monitor:
        """A monitor with the same reference that has seen no rows, for another process."""
        return self._with(self._state.fresh)

    def merge(self, *others: Monitor) -> Monitor:
        """A monitor that has seen the rows of all, which must have the same reference (see `fresh`).

        It has the alarms raised here, and those that all rows together raise. Alarms of the other monitors stay with
        them: each keeps its promise for the rows it has seen itself. Workers that continue may be merged again as often
        as you like, each time into a monitor that does not hold them yet. Merge all of them in one call: the promise
        covers their union, not a selection of those whose rows look odd.

        Raises
        ------
        ValueError
            If the monitors have different references, or if rows of one are already in another, such as a copy, a file
            loaded twice or the result of a merge: they would count twice.
        """
        own = self.fresh().to_bytes()
        if any(other.fresh().to_bytes() != own for other in others):
            raise ValueError("The monitors differ in their model, reference or confidence; make them with fresh().")
        found = self._with(settle(merged([self._state, *(other._state for other in others)]), self._rates))
        for one in (self, *others):
            found._remember(one._recent)
        found._name_columns(len(self.alarms))
        return found

    def summary(self) -> str:
        """How many alarms there were, the strongest of them, and then the others, in words."""
        alarms, rows = self.alarms, counted(self.n_rows, "row")
        if len(alarms) < 2:
            return f"1 alarm after {rows}. {alarms[0]}" if alarms else f"No alarm after {rows}.{self._changed_anyway()}"
        strongest = max(alarms, key=lambda alarm: alarm.log_evidence)
        others = [f"- {alarm.rate_in_words()}" for alarm in alarms if alarm is not strongest]
        more = [f"- and {counted(len(others) - MOST_LISTED, 'more alarm')}"] if len(others) > MOST_LISTED else []
        columns = columns_in_words(self._columns())
        head = f"{len(alarms):,} alarms after {rows}; the strongest: {strongest.rate_in_words()}"
        return "\n".join([f"{columns} {head}" if columns else head, *others[:MOST_LISTED], *more])

    def to_frame(self) -> pd.DataFrame:
        """The alarms as a pandas DataFrame, a row for each, in order."""
        columns = {name: [getattr(alarm, name) for alarm in self.alarms] for name in COLUMNS}
        return frame_of(columns | {"columns": [columns_in_short(alarm.columns) for alarm in self.alarms]})

    def to_bytes(self) -> bytes:
        """The state as the bytes of a safe file, without the model; `from_bytes` checks that it gets the same model."""
        return state_to_bytes("monitor", self._state, fingerprint_of(sep_models(self.model)))

    @classmethod
    def from_bytes(cls, data: bytes, model: Any) -> Self:
        """Restore a monitor from bytes; raises `FormatError` if they are damaged or belong to another model."""
        monitor = cls.__new__(cls)
        models = sep_models(model)
        watched = MonitoredRates(models[0])
        monitor.model, monitor._state = model, state_of(data, watched, fingerprint_of(models))
        monitor._rates = watched.rename(monitor._state.features)
        return monitor

    def save(self, path: str | Path) -> None:
        """Write the state to a file that holds no code and no rows, only counts, sums and alarms.

        An existing file is replaced atomically.
        """
        write_whole(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | Path, model: Any) -> Self:
        """Read a monitor from a file, which need not be trusted; raises `FormatError` as `from_bytes` does."""
        return cls.from_bytes(read_bytes(path), model)

    def _card(self) -> Card:
        reference = counted(self._state.reference.n, "row")
        columns = (("columns that moved", columns_in_short(self._columns())),) if self.alarms else ()
        facts = (
            *columns,
            ("rows seen", f"{self.n_rows:,}"),
            ("reference", f"{reference}, {'with labels' if self.watches_errors else 'without labels'}"),
            (
                "promise",
                f"the chance of a false alarm, ever, is at most {percent(1.0 - self._state.confidence, AS_SET)}",
            ),
        )
        rows = tuple(alarm.cells() for alarm in self.alarms)
        note = "In words: print(monitor.alarms[0])" if rows else ""
        title = f"{self._page_title()}: {counted(len(rows), 'alarm') if rows else 'no alarm'}"
        return Card(title, facts, HEAD, rows, note)

    def _chart(self) -> Chart:
        pairs = [Pair(alarm.where, alarm.before, alarm.now, alarm.rate) for alarm in self.alarms]
        title = "Rates that changed, before and now" if len(pairs) != 1 else "The rate that changed, before and now"
        return pair_chart(title, "rate", ("before", "now"), pairs)

    def _tables(self) -> list[Table]:
        head = (*HEAD, "shifted", "decisions there")
        rows = [(*alarm.cells(), alarm.shifted, alarm.consequence) for alarm in self.alarms]
        alarms = [Table("Alarms", head, rows)] if rows else []
        return [*column_tables(self._columns()), *alarms]

    def _changed_anyway(self) -> str:
        """Columns that changed although no rate did, such as an emptied one whose missing values are imputed."""
        guessed = [change for change in self.column_changes() if change.is_guessed]
        return f" But {columns_in_words(guessed)}" if guessed else ""

    def _columns(self) -> tuple[ColumnChange, ...]:
        """The columns that moved, by the latest alarm that names some."""
        return next((alarm.columns for alarm in reversed(self.alarms) if alarm.columns), ())

    def _notes(self) -> tuple[str, ...]:
        return (AFTER_ALARM if self.alarms else NO_ALARM,)

    def _page_title(self) -> str:
        return f"Monitor of {classifier_name(self.model)}"

    def _with(self, state: MonitorState) -> Monitor:
        monitor = type(self).__new__(type(self))
        monitor.model, monitor._rates, monitor._state = self.model, self._rates, state
        return monitor

    @synchronized
    def _take(self, tally: Tally, rows: ColumnRows | None = None) -> list[Alarm]:
        if tally.labelled.any() and not self.watches_errors:
            raise ValueError("The reference has no labels to compare with; give some: Monitor(model, X_ref, y_ref).")
        n_before = len(self.alarms)
        self._remember(rows)
        self._state = with_rows(self._state, self._rates, tally)
        self._name_columns(n_before)
        return list(self.alarms[n_before:])

    def _remember(self, rows: ColumnRows | None) -> None:
        if rows is not None and len(rows):
            together = rows if self._recent is None else self._recent.followed_by(rows)
            self._recent, self._n_last = together.last(MOST_ROWS), len(rows)

    def _name_columns(self, n_before: int) -> None:
        """Add to each new alarm the columns that moved."""
        if len(self.alarms) > n_before:
            columns = self.column_changes()[:MOST_COLUMNS]
            new = [replace(alarm, columns=columns) for alarm in self.alarms[n_before:]]
            self._state = replace(self._state, alarms=(*self.alarms[:n_before], *new))

    def _count(self, decisions: Decisions, rows: ColumnRows | None) -> Tally:
        region, places = decisions.region, partition_behind(decisions).features
        # Clipped so that the sum of squares is finite, as files require.
        features = np.clip((places - self._state.shift) / self._state.scale, -FARTHEST, FARTHEST)
        above, beyond = self._rates.compare(region, places)
        return Tally.of_rows(
            region, features, above, beyond, self._rates.n_regions, column_counts(rows, features.shape[1])
        )

    def _labels(self, decisions: Decisions, y: ArrayLike) -> Tally:
        labels = check_labels(y, "Monitor")
        if len(labels) != len(decisions):
            raise ValueError(f"There are {len(decisions):,} rows and {len(labels):,} labels; each row needs one.")
        right = is_right(decisions.label, labels)
        return Tally.of_labels(decisions.region, ~right, *self._state.reference.sums.shape)

    def _drifted_regions(self) -> IntArray:
        return np.array([alarm.region for alarm in self.alarms if alarm.refuses], dtype=np.int64)
