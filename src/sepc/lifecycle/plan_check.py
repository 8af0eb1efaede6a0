"""Check a candidate by a change plan: the right rows, no training rows, one look each, and then every criterion."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, IntArray
from sepc.cards import Card
from sepc.decisions.decisions import frame_of, partition_behind
from sepc.errors import RefusedLookError
from sepc.estimators.base import check_labels
from sepc.estimators.selective.costs import Costs
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.selective.groups import group_description, len_of
from sepc.estimators.selective.thresholds import Control
from sepc.estimators.unwrapping import makes_promise, unwrap, why_broken
from sepc.lifecycle._changed_parts import ModelPart, changed_parts
from sepc.lifecycle._paired_decisions import PairedDecisions, decide_both
from sepc.lifecycle.compare import RowBatch, group_columns_of, group_keys
from sepc.lifecycle.ledger import Ledger, LookId
from sepc.lifecycle.plan import MEASURES, ChangePlan, Criterion, CriterionKind, planned_positions, row_digest
from sepc.lifecycle.result import Result
from sepc.lifecycle.rows import file_digest, training_rows_again
from sepc.model.names import region_name
from sepc.statistics.betting import mean_p_value
from sepc.statistics.rates import difference_bound, upper_bound
from sepc.views.outcomes import is_right
from sepc.wording import AS_SET, counted, listed, p_in_short, percent, shown, with_number

if TYPE_CHECKING:
    import pandas as pd


class Outcome(StrEnum):
    """What the rows say about a criterion; all but the first count as not passed."""

    PASSED = "passed"
    UNDECIDED = "undecided"
    FAILED = "failed"


@dataclass(frozen=True)
class PlanLine:
    """A criterion as judged, or one of its parts.

    Attributes
    ----------
    criterion : str
        The criterion in words.
    about : str
        The group, the region or the promise; empty if it is about all rows.
    outcome : Outcome
    evidence : str
        What was counted, in words.
    n_rows : int
        Rows that it rests on.
    estimate, bound, limit : float or None
        The rate seen, the bound on the true rate at the level of one candidate, and the limit of the bound.
    """

    criterion: str
    about: str
    outcome: Outcome
    evidence: str
    n_rows: int = 0
    estimate: float | None = None
    bound: float | None = None
    limit: float | None = None

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.outcome is Outcome.PASSED

    def __str__(self) -> str:
        about = f" ({self.about})" if self.about else ""
        return f"{self.outcome.value}: {self.criterion}{about}; {self.evidence}"

    def to_dict(self) -> dict[str, Any]:
        """As a dict that JSON can hold."""
        return dict(vars(self)) | {"outcome": self.outcome.value}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> PlanLine:
        """The line that `to_dict` made a dict of."""
        return cls(**content | {"outcome": Outcome(content["outcome"])})


def bounded_line(
    criterion: str, about: str, seen: str, n_rows: int, estimate: float, bound: float, limit: float, more: str = ""
) -> PlanLine:
    """A line that passes if the bound is within the limit, and fails if even the estimate is not."""
    outcome = Outcome.PASSED if bound <= limit else Outcome.UNDECIDED if estimate <= limit else Outcome.FAILED
    # A bound is rounded up.
    share = math.ceil(round(bound * 1e4, 9)) / 1e4
    said = f"at most {percent(share, 2)}{more}" if share >= 0.0 else f"at least {percent(-share, 2)} fewer"
    evidence = f"{seen}: {said}, allowed {percent(limit, AS_SET)}{more}"
    return PlanLine(criterion, about, outcome, evidence, n_rows, estimate, bound, limit)


# Every criterion is a hypothesis that it is violated; it passes if an exact test rejects that at the level of one
# candidate, which is the level of the criterion divided by the number of candidates that the plan allows. A criterion
# about several groups, regions or promises passes only if each of them does, and a plan only if every criterion does:
# such an intersection-union test needs no further division.


OTHERS = "all others together"


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows that a candidate is judged on, as both models decide on them."""

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
    if criterion.kind is CriterionKind.PROMISES:
        return _promises(criterion, new, rows, confidence)
    if criterion.kind is CriterionKind.CHANGED:
        return [_changed(criterion, rows, confidence)]
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
    if not makes_promise(classifier) or broken:
        why = broken or "the new model promises nothing; make a promise with a SelectiveClassifier around it"
        return [PlanLine(str(criterion), "", Outcome.FAILED, why)]
    keys = None if classifier.promise_.groups is None else _promised_groups(classifier, rows)
    lines = [
        _promise(criterion, classifier, key, control, keys, rows, confidence)
        for key, control in classifier.promise_.controls.items()
        if np.isfinite(control.threshold)
    ]
    return lines or [
        PlanLine(str(criterion), "", Outcome.FAILED, "the new model accepts no row, so it promises nothing")
    ]


def _promised_groups(classifier: SelectiveClassifier, rows: JudgedRows) -> NDArray[Any]:
    assert classifier.promise_.groups is not None
    if rows.groups is None or classifier.promise_.groups.by != rows.by:
        return classifier.promise_.groups.of(rows.X)
    parents = dict(classifier.promise_.groups.parents)
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
        assert classifier.promise_.groups is not None
        about = classifier.promise_.groups.name(key)
        here &= np.array([own == key for own in keys.tolist()], dtype=bool)
    elif key is not None:
        about = f"predicted as {shown(key)}"
        here &= np.asarray(decided.label == key)
    max_risk = classifier.promise_.max_risk
    if isinstance(max_risk, Costs):
        costs = max_risk.of(rows.y[here], decided.label[here], classifier.classes_)
        return _cost(criterion, control, costs, np.unique(max_risk.matrix(classifier.classes_)), confidence)
    n, n_wrong = int(here.sum()), int((decided.label[here] != rows.y[here]).sum())
    bound, limit = float(upper_bound(n_wrong, n, confidence)), control.limit + criterion.margin
    seen = f"{n_wrong:,} of {counted(n, 'accepted row')} wrong"
    return bounded_line(str(criterion), about, seen, n, n_wrong / max(n, 1), bound, limit)


def _cost(
    criterion: Criterion, control: Control, costs: NDArray[Any], values: NDArray[Any], confidence: float
) -> PlanLine:
    """Judge the promise that an accepted row costs no more on average than its review."""
    counts = np.array([[int((costs == value).sum()) for value in values]])
    limit = control.limit * (1.0 + criterion.margin)
    n = len(costs)
    if limit >= values[-1]:
        return PlanLine(str(criterion), "", Outcome.PASSED, "no row can cost more than its review", n)
    p, mean = float(mean_p_value(counts, values, limit, confidence)[0]) if n else 1.0, float(costs.mean()) if n else 0.0
    outcome = Outcome.PASSED if p <= 1.0 - confidence else Outcome.UNDECIDED if mean <= limit else Outcome.FAILED
    seen = f"{counted(n, 'accepted row')} cost {mean:.4g} on average, allowed {limit:.4g} (p {p_in_short(p, '= ')})"
    return PlanLine(str(criterion), "", outcome, seen, n)


COLUMNS = ("criterion", "about", "outcome", "evidence", "n_rows", "estimate", "bound", "limit")
HEAD = ("criterion", "about", "outcome", "evidence")
SHOWN_LETTERS = 16


@dataclass(frozen=True, eq=False, repr=False)
class PlanCheck(Result):
    """Whether a candidate meets a change plan: `summary` in words, `to_frame` as a table, `to_html` as a page.

    Attributes
    ----------
    title : str
        That of the plan.
    lines : tuple of PlanLine
        Every criterion, part by part.
    look : int
        Which candidate this was, counted from 1 in the order of first looks.
    most_candidates : int
    is_repeated : bool
        Whether the candidate was judged before; this is then the answer of the first look.
    candidate : str
        The SHA-256 of the candidate's model file.
    ledger_head : str
        The digest of the last line of the ledger. A copy kept elsewhere shows later whether the ledger was changed.
    """

    title: str
    lines: tuple[PlanLine, ...]
    look: int
    most_candidates: int
    is_repeated: bool
    candidate: str
    ledger_head: str

    @property
    def passed(self) -> bool:
        """Whether every criterion passed; what the rows cannot decide has not passed."""
        return all(line.passed for line in self.lines)

    def to_frame(self) -> pd.DataFrame:
        """The lines as a pandas DataFrame."""
        columns = {name: [getattr(line, name) for line in self.lines] for name in COLUMNS}
        return frame_of(columns | {"outcome": [line.outcome.value for line in self.lines]})

    def headline(self) -> str:
        """Whether the candidate passed, and how many lines did not."""
        if self.passed:
            return f"Passed: all {counted(len(self.lines), 'line')} of the plan."
        counts = Counter(line.outcome for line in self.lines)
        told = listed([f"{counts[kind]:,} {kind.value}" for kind in Outcome if counts[kind]])
        return f"Not passed: of {counted(len(self.lines), 'line')}, {told}."

    def summary(self) -> str:
        """The judgement in words, a line for each criterion or part of one."""
        again = ", as judged before" if self.is_repeated else ""
        place = f"Candidate {self.look:,} of at most {self.most_candidates:,}{again}"
        end = f"{place}: {self.candidate[:SHOWN_LETTERS]}. Ledger: {self.ledger_head[:SHOWN_LETTERS]}."
        return "\n".join([self.headline(), *(f"- {line}" for line in self.lines), end])

    def _card(self) -> Card:
        again = ", judged before" if self.is_repeated else ""
        facts = (
            ("plan", self.title or "without a title"),
            ("candidate", f"{self.look:,} of at most {self.most_candidates:,}{again}"),
            ("digest", self.candidate[:SHOWN_LETTERS]),
        )
        rows = tuple((line.criterion, line.about, line.outcome.value, line.evidence) for line in self.lines)
        return Card(self.headline().removesuffix("."), facts, HEAD, rows, "In words: print(check)")

    def _page_title(self) -> str:
        return self.title or "Check of a change plan"


def check_plan(plan: str | os.PathLike[str], old: Any, new: Any, X: Any, y: ArrayLike, groups: Any = None) -> PlanCheck:
    """Judge whether a new model may replace an old one, by a plan that was written beforehand.

    The answer is written to a ledger beside the plan before it is returned. A candidate that was judged before gets the
    same answer again, which spends nothing.

    Parameters
    ----------
    plan : path
        A TOML file; its schema is in the reference.
    old, new : fitted estimators of this library
        The model in use, and the candidate.
    X : array or DataFrame of n rows
        The table that the plan is about, with all of its rows; those to judge are drawn here if the plan says so.
    y : array of shape (n,)
        The true labels.
    groups : str, tuple of two, array of n rows, DataFrame or mapping of names to arrays, optional
        Groups, if a criterion is about them: the name of a column of `X`, two such names, or the groups themselves.

    Returns
    -------
    PlanCheck

    Raises
    ------
    RefusedLookError
        If the table is not the one that the plan or the first look fixed; if one of the models was trained on its rows;
        or if all candidates that the plan allows were judged. No look is spent.
    ValueError
        If the plan cannot be read, or the rows cannot be decided on.
    """
    keys, by = group_keys(groups, X)
    return check_rows(plan, old, new, RowBatch(X, check_labels(y, "check_plan"), keys, by))


def check_rows(path: str | os.PathLike[str], old: Any, new: Any, table: RowBatch) -> PlanCheck:
    """`check_plan`, given the table with its labels and groups."""
    plan, ledger = ChangePlan.load(path), Ledger.beside(path)
    assert table.y is not None
    if len(table.y) != len_of(table.X):
        raise ValueError(f"y has {len(table.y):,} labels, but there are {len_of(table.X):,} rows.")
    digest = row_digest(plan.rows.key, table.X, table.y, table.groups)
    if plan.rows.digest and digest != plan.rows.digest:
        raise RefusedLookError(
            "These are not the rows that the plan fixes: their digest is another one. Give the whole table, with the "
            "same labels and groups, unchanged."
        )
    asked = LookId(plan.digest, digest, file_digest(old), file_digest(new))
    before = ledger.before(asked, plan.most_candidates)
    if before is not None:
        lines = tuple(PlanLine.from_dict(line) for line in before["lines"])
        return _check(plan, lines, before["look"], ledger, asked, is_repeated=True)
    rows = _decided(plan, old, new, table)
    judged = (judge(criterion, new, rows, plan.most_candidates) for criterion in plan.criteria)
    lines = (_what_changed(plan, old, new, len(rows)), *(line for some in judged for line in some))
    if Ledger.beside(path).head != ledger.head:
        raise RefusedLookError(f"Another check wrote to {ledger.path.name} at the same time; run this one again.")
    written = ledger.record(asked, all(line.passed for line in lines), [line.to_dict() for line in lines])
    return _check(plan, lines, len(written.looks), written, asked, is_repeated=False)


def _check(
    plan: ChangePlan, lines: tuple[PlanLine, ...], look: int, ledger: Ledger, asked: LookId, *, is_repeated: bool
) -> PlanCheck:
    return PlanCheck(plan.title, lines, look, plan.most_candidates, is_repeated, asked.candidate, ledger.head)


def _decided(plan: ChangePlan, old: Any, new: Any, table: RowBatch) -> JudgedRows:
    """The rows to judge, as both models decide on them; raises if one of the models was trained on them."""
    positions = planned_positions(plan.rows, table.X)
    X, X_new = _chosen(table.X, positions), None if table.X_new is None else _chosen(table.X_new, positions)
    assert table.y is not None
    y, groups = table.y[positions], None if table.groups is None else table.groups[positions]
    columns: Mapping[str, NDArray[Any]] | None = None if groups is None else group_columns_of(groups, table.by)
    pair = decide_both(old, new, X, columns, X_new=X_new)
    is_right(pair.old.label, y)  # Raises if labels are of another type.
    for who, decisions in (("old", pair.old), ("new", pair.new)):
        n_again, n_remembered = training_rows_again(decisions)
        if n_again:
            raise RefusedLookError(
                f"The {who} model was trained on some of these rows: {n_again:,} of the {n_remembered:,} training rows "
                "whose hashes it keeps are among them. Judge it on rows that neither model was trained on."
            )
    return JudgedRows(X if X_new is None else X_new, y, groups, table.by, pair)


def _chosen(X: Any, positions: NDArray[Any]) -> Any:
    return X if len(positions) == len_of(X) else _safe_indexing(X, positions)


def _what_changed(plan: ChangePlan, old: Any, new: Any, n_rows: int) -> PlanLine:
    """Whether the models differ only in what the plan lets change."""
    changed = {part.value for part in changed_parts(old, new)}
    in_order = [part.value for part in ModelPart]
    may = listed([part for part in in_order if part in plan.may_change])
    found = listed([part for part in in_order if part in changed]) or "nothing"
    outcome = Outcome.PASSED if changed <= plan.may_change else Outcome.FAILED
    return PlanLine(f"only {may} may change", "", outcome, f"{found} changed", n_rows)
