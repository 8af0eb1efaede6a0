"""Judge a candidate by the criteria of a plan, on rows with labels.

Every criterion is a hypothesis that it is violated; it passes if an exact test rejects that at the level of one
candidate, which is the level of the criterion divided by the number of candidates that the plan allows. A criterion
about several groups, regions or promises passes only if each of them does, and a plan only if every criterion does:
such an intersection-union test needs no further division.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, IntArray
from sepc.estimators.base import decide_rows
from sepc.estimators.partition_behind import partition_behind
from sepc.estimators.selective.cost_control import CostControl
from sepc.estimators.selective.costs import Costs
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.selective.groups import group_description
from sepc.estimators.unwrapping import unwrap, why_broken
from sepc.lifecycle.change_plans.criterion import MEASURES, Criterion, CriterionKind
from sepc.lifecycle.change_plans.plan_lines import Outcome, PlanLine, bounded_line
from sepc.lifecycle.comparing.paired_decisions import PairedDecisions
from sepc.model.names import region_name
from sepc.statistics.betting import mean_p_value
from sepc.statistics.binomial import upper_bound
from sepc.statistics.paired import difference_bound
from sepc.wording import counted, p_in_short, shown, with_number

OTHERS = "all others together"
# Calls before the clock starts.
WARM_UP = 3


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows that a candidate is judged on, as both models decide on them.

    Attributes
    ----------
    X : array or DataFrame of n rows
        As the candidate takes them.
    y : (n,) array
    groups : (n,) array of object, or None
    by : tuple of str
        The columns that groups come from.
    pair : PairedDecisions
    """

    X: Any
    y: NDArray[Any]
    groups: NDArray[Any] | None
    by: tuple[str, ...]
    pair: PairedDecisions

    def __len__(self) -> int:
        return len(self.y)

    def is_bad(self, measure: str) -> tuple[BoolArray, BoolArray]:
        """Where the old and the new decision are what a measure counts."""
        bad = []
        for decisions in (self.pair.old, self.pair.new):
            wrong, accepted = np.asarray(decisions.label != self.y, dtype=bool), np.asarray(decisions.accepted)
            bad.append({"errors": wrong, "accepted errors": wrong & accepted, "abstentions": ~accepted}[measure])
        return bad[0], bad[1]


def judge(criterion: Criterion, new: Any, rows: JudgedRows, n_candidates: int) -> list[PlanLine]:
    """The lines of a criterion; it passes if all of them do."""
    confidence = 1.0 - criterion.level / n_candidates
    match criterion.kind:
        case CriterionKind.PROMISES:
            return _promises(criterion, new, rows, confidence)
        case CriterionKind.CHANGED:
            return [_changed(criterion, rows, confidence)]
        case CriterionKind.LATENCY:
            return [_latency(criterion, new, rows, confidence)]
    bad = rows.is_bad(criterion.measure)
    parts = _parts(criterion, rows)
    return [_no_worse(criterion, about, here, bad, confidence) for about, here in parts]


def _changed(criterion: Criterion, rows: JudgedRows, confidence: float) -> PlanLine:
    pair = rows.pair
    differs = {"any": pair.differs, "label": pair.label_differs, "accepted": pair.acceptance_differs}[criterion.what]
    n, n_changed = len(rows), int(differs.sum())
    bound = float(upper_bound(n_changed, n, confidence))
    seen = f"{n_changed:,} of {counted(n, 'row')}"
    return bounded_line(str(criterion), "", seen, n, n_changed / max(n, 1), bound, criterion.margin)


def _no_worse(
    criterion: Criterion, about: str, here: IntArray, bad: tuple[BoolArray, BoolArray], confidence: float
) -> PlanLine:
    """The test of non-inferiority on the rows at these positions."""
    before, after = bad[0][here], bad[1][here]
    n, n_more, n_fewer = len(here), int((after & ~before).sum()), int((before & ~after).sum())
    bound = difference_bound(n_more, n_fewer, n, confidence)
    what, of = MEASURES[criterion.measure], counted(n, "row")
    seen = f"{int(before.sum()):,} {what} before, {int(after.sum()):,} after, in {of}"
    return bounded_line(
        str(criterion), about, seen, n, (n_more - n_fewer) / max(n, 1), bound, criterion.margin, " more"
    )


def _parts(criterion: Criterion, rows: JudgedRows) -> Iterator[tuple[str, IntArray]]:
    """The groups or regions to judge, each with the positions of its rows."""
    if criterion.kind is CriterionKind.OVERALL:
        yield "", np.arange(len(rows))
        return
    keys, name = _keys(criterion, rows)
    places: dict[Any, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    largest = sorted((key for key in places if len(places[key]) >= criterion.fewest), key=lambda key: -len(places[key]))
    for key in criterion.names or largest:
        yield name(key), np.array(places.pop(key, []), dtype=np.int64)
    if places:
        yield OTHERS, np.sort(np.concatenate([np.array(rest, dtype=np.int64) for rest in places.values()]))


def _keys(criterion: Criterion, rows: JudgedRows) -> tuple[list[Any], Any]:
    """The group or region of each row, and a function that puts one in words."""
    if criterion.kind is CriterionKind.GROUPS:
        if rows.groups is None:
            raise ValueError("The plan has a criterion about groups; give the group of every row, as groups.")
        return rows.groups.tolist(), lambda key: group_description(rows.by, key)
    partition = partition_behind(rows.pair.old)
    if partition is None:
        raise ValueError("The plan has a criterion about regions, but the old model has none.")
    model = partition.model
    return rows.pair.old.region.tolist(), lambda region: with_number(region_name(model, region), region)


def _promises(criterion: Criterion, new: Any, rows: JudgedRows, confidence: float) -> list[PlanLine]:
    classifier = unwrap(new).classifier
    broken = why_broken(new)
    if not isinstance(classifier, SelectiveClassifier) or broken:
        why = broken or "the new model promises nothing; make a promise with a SelectiveClassifier around it"
        return [PlanLine(str(criterion), "", Outcome.FAILED, why)]
    keys = None if classifier.groups_ is None else _promised_groups(classifier, rows)
    lines = [
        _promise(criterion, classifier, key, control, keys, rows, confidence)
        for key, control in classifier.controls_.items()
        if np.isfinite(control.threshold)
    ]
    return lines or [
        PlanLine(str(criterion), "", Outcome.FAILED, "the new model accepts no row, so it promises nothing")
    ]


def _promised_groups(classifier: SelectiveClassifier, rows: JudgedRows) -> NDArray[Any]:
    assert classifier.groups_ is not None
    if rows.groups is None or classifier.groups_.by != rows.by:
        return classifier.groups_.of(rows.X)
    parents = dict(classifier.groups_.parents)
    joined = np.empty(len(rows), dtype=object)
    joined[:] = [parents.get(key, key) for key in rows.groups.tolist()]
    return joined


def _promise(
    criterion: Criterion,
    classifier: SelectiveClassifier,
    key: Any,
    control: Any,
    keys: NDArray[Any] | None,
    rows: JudgedRows,
    confidence: float,
) -> PlanLine:
    """Judge one promise on the accepted rows that it is about."""
    decided = rows.pair.new
    about, here = "", np.asarray(decided.accepted).copy()
    if keys is not None:
        assert classifier.groups_ is not None
        about = classifier.groups_.name(key)
        here &= np.array([own == key for own in keys.tolist()], dtype=bool)
    elif key is not None:
        about = f"predicted as {shown(key)}"
        here &= np.asarray(decided.label == key)
    if isinstance(control, CostControl):
        assert isinstance(classifier.max_risk, Costs)
        costs = classifier.max_risk.of(rows.y[here], decided.label[here], classifier.classes_)
        return _cost(criterion, control, costs, np.unique(classifier.max_risk.matrix(classifier.classes_)), confidence)
    n, n_wrong = int(here.sum()), int((decided.label[here] != rows.y[here]).sum())
    bound, limit = float(upper_bound(n_wrong, n, confidence)), control.max_risk + criterion.margin
    seen = f"{n_wrong:,} of {counted(n, 'accepted row')} wrong"
    return bounded_line(str(criterion), about, seen, n, n_wrong / max(n, 1), bound, limit)


def _cost(
    criterion: Criterion, control: CostControl, costs: NDArray[Any], values: NDArray[Any], confidence: float
) -> PlanLine:
    """Judge the promise that an accepted row costs no more on average than its review."""
    counts = np.array([[int((costs == value).sum()) for value in values]])
    limit = control.review * (1.0 + criterion.margin)
    n = len(costs)
    if limit >= values[-1]:
        return PlanLine(str(criterion), "", Outcome.PASSED, "no row can cost more than its review", n)
    p, mean = float(mean_p_value(counts, values, limit, confidence)[0]) if n else 1.0, float(costs.mean()) if n else 0.0
    outcome = Outcome.PASSED if p <= 1.0 - confidence else Outcome.UNDECIDED if mean <= limit else Outcome.FAILED
    seen = f"{counted(n, 'accepted row')} cost {mean:.4g} on average, allowed {limit:.4g} (p {p_in_short(p, '= ')})"
    return PlanLine(str(criterion), "", outcome, seen, n)


def _latency(criterion: Criterion, new: Any, rows: JudgedRows, confidence: float) -> PlanLine:
    """Time calls on rows in turn; a call is one of `decide`, with the causes of abstaining."""
    n_rows, seconds = min(criterion.rows, len(rows)), []
    for call in range(WARM_UP + criterion.calls):
        batch = _safe_indexing(rows.X, np.arange(call * n_rows, (call + 1) * n_rows) % len(rows))
        started = time.perf_counter()
        _ = decide_rows(new, batch).cause
        seconds.append(time.perf_counter() - started)
    taken = np.array(seconds[WARM_UP:])
    n_slow = int((1000.0 * taken > criterion.milliseconds).sum())
    bound = float(upper_bound(n_slow, len(taken), confidence))
    median = f"median {1000.0 * float(np.median(taken)):.3g} ms"
    seen = f"{n_slow:,} of {counted(len(taken), 'call')} were slower, {median}"
    return bounded_line(str(criterion), "", seen, len(taken), n_slow / len(taken), bound, criterion.margin)
