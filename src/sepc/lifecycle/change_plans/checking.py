"""Check a candidate by a change plan: the right rows, no training rows, one look each, and then every criterion."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from sepc.decisions.decisions import Decisions
from sepc.errors import RefusedLookError
from sepc.estimators.checks import check_labels
from sepc.estimators.selective.groups import len_of
from sepc.lifecycle.change_plans.judging import JudgedRows, judge
from sepc.lifecycle.change_plans.ledger import Ledger, LookId
from sepc.lifecycle.change_plans.plan import ChangePlan
from sepc.lifecycle.change_plans.plan_check import PlanCheck
from sepc.lifecycle.change_plans.plan_lines import Outcome, PlanLine
from sepc.lifecycle.change_plans.planned_rows import planned_positions, row_digest
from sepc.lifecycle.comparing.changed_parts import ModelPart, changed_parts
from sepc.lifecycle.comparing.compare import RowBatch, group_columns_of, group_keys
from sepc.lifecycle.comparing.paired_decisions import decide_both
from sepc.lifecycle.model_digest import model_digest
from sepc.lifecycle.training_rows import training_rows_again
from sepc.views.outcomes import is_right
from sepc.wording import listed


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
    asked = LookId(plan.digest, digest, model_digest(old), model_digest(new))
    before = ledger.before(asked, plan.most_candidates)
    if before is not None:
        lines = tuple(PlanLine.from_dict(line) for line in before["lines"])
        return _check(plan, lines, before["look"], ledger, asked, is_repeated=True)
    lines = _judged(plan, old, new, _decided(plan, old, new, table))
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
        _refuse_training_rows(who, decisions)
    return JudgedRows(X if X_new is None else X_new, y, groups, table.by, pair)


def _chosen(X: Any, positions: NDArray[Any]) -> Any:
    return X if len(positions) == len_of(X) else _safe_indexing(X, positions)


def _refuse_training_rows(who: str, decisions: Decisions) -> None:
    n_again, n_remembered = training_rows_again(decisions)
    if n_again:
        raise RefusedLookError(
            f"The {who} model was trained on some of these rows: {n_again:,} of the {n_remembered:,} training rows "
            "whose hashes it keeps are among them. Judge it on rows that neither model was trained on."
        )


def _judged(plan: ChangePlan, old: Any, new: Any, rows: JudgedRows) -> tuple[PlanLine, ...]:
    lines = [_what_changed(plan, old, new, len(rows))]
    for criterion in plan.criteria:
        lines += judge(criterion, new, rows, plan.most_candidates)
    return tuple(lines)


def _what_changed(plan: ChangePlan, old: Any, new: Any, n_rows: int) -> PlanLine:
    """Whether the models differ only in what the plan lets change."""
    changed = {part.value for part in changed_parts(old, new)}
    in_order = [part.value for part in ModelPart]
    may = listed([part for part in in_order if part in plan.may_change])
    found = listed([part for part in in_order if part in changed]) or "nothing"
    outcome = Outcome.PASSED if changed <= plan.may_change else Outcome.FAILED
    return PlanLine(f"only {may} may change", "", outcome, f"{found} changed", n_rows)
