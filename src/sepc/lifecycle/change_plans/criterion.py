"""A criterion of a plan: what it asks for, with its margin and its level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sepc.lifecycle.change_plans.plan_values import PlanError, check_keys, choice_in, number_in, share_in, value_in
from sepc.wording import AS_SET, listed, percent, shown

# What may get worse, by its name in a plan, in words.
MEASURES = {
    "errors": "wrong labels",
    "accepted errors": "accepted wrong labels",
    "abstentions": "rows that are not accepted",
}
DECISION_PARTS = {"any": "decisions", "label": "labels", "accepted": "acceptances"}
FEWEST = 100


class CriterionKind(StrEnum):
    """What a criterion is about."""

    PROMISES = "promises"
    CHANGED = "changed"
    OVERALL = "overall"
    GROUPS = "groups"
    REGIONS = "regions"
    LATENCY = "latency"


KEYS = {
    CriterionKind.PROMISES: ("margin",),
    CriterionKind.CHANGED: ("margin", "what"),
    CriterionKind.OVERALL: ("margin", "measure"),
    CriterionKind.GROUPS: ("margin", "measure", "names", "fewest"),
    CriterionKind.REGIONS: ("margin", "measure", "names", "fewest"),
    CriterionKind.LATENCY: ("margin", "milliseconds", "rows", "calls"),
}


@dataclass(frozen=True)
class Criterion:
    """One criterion.

    Attributes
    ----------
    kind : CriterionKind
    level : float
        The largest probability with which a candidate that does not meet it may pass, over all candidates together.
    margin : float
        By how much a promise may be exceeded, what share of decisions may change, by how much a rate may rise, or what
        share of calls may take longer.
    what : str
        Which changes count: "any", "label" or "accepted".
    measure : str
        What may rise: "errors", "accepted errors" or "abstentions".
    names : tuple
        The groups, or the numbers of the regions, that are judged one by one; empty for those with `fewest` rows.
    fewest : int
        Without `names`: groups or regions with fewer rows are judged together.
    milliseconds : float
        How long a call may take.
    rows, calls : int
        How many rows a call decides on, and how many calls are timed.
    """

    kind: CriterionKind
    level: float
    margin: float
    what: str = "any"
    measure: str = "errors"
    names: tuple[Any, ...] = ()
    fewest: int = FEWEST
    milliseconds: float = 0.0
    rows: int = 1
    calls: int = 300

    def __str__(self) -> str:
        margin = percent(self.margin, AS_SET)
        match self.kind:
            case CriterionKind.PROMISES:
                return "promises are kept" + (f", or exceeded by at most {margin} of rows" if self.margin else "")
            case CriterionKind.CHANGED:
                return f"at most {margin} of {DECISION_PARTS[self.what]} change"
            case CriterionKind.LATENCY:
                rows = "one row" if self.rows == 1 else f"{self.rows:,} rows"
                return f"at most {margin} of calls with {rows} take over {self.milliseconds:g} ms"
        where = {"overall": "", "groups": " in any group", "regions": " in any region"}[self.kind]
        return f"{MEASURES[self.measure]} rise by at most {margin} of rows{where}"


def criterion_from(content: Any, number: int) -> Criterion:
    """Read a criterion; `number` is its place in the plan, counted from 1."""
    where = f"criterion {number}"
    if not isinstance(content, Mapping):
        raise PlanError(f"{where} is {content!r}; write it as [[criteria]].")
    kinds = [kind.value for kind in CriterionKind]
    name = value_in(content, "kind", str, where)
    if name not in kinds:
        raise PlanError(f"kind of {where} is {name!r}; it must be one of {listed(map(shown, kinds))}.")
    kind = CriterionKind(name)
    check_keys(content, f"{where} ({name})", ("kind", "level", *KEYS[kind]))
    level = share_in(content, "level", where)
    if level == 0.0:
        raise PlanError(f"level in {where} is 0; no number of rows could show anything. Give a level such as 0.05.")
    if kind is CriterionKind.LATENCY:
        milliseconds = value_in(content, "milliseconds", float, where)
        if milliseconds <= 0.0:
            raise PlanError(f"milliseconds in {where} is {milliseconds!r}; it must be positive.")
        rows, calls = number_in(content, "rows", where, 1), number_in(content, "calls", where, 300)
        margin = share_in(content, "margin", where)
        return Criterion(kind, level, margin, milliseconds=milliseconds, rows=rows, calls=calls)
    # Promises have a limit of their own; for all others the margin is what the criterion is about.
    margin = share_in(content, "margin", where, *([0.0] if kind is CriterionKind.PROMISES else []))
    return Criterion(
        kind,
        level,
        margin,
        what=choice_in(content, "what", where, tuple(DECISION_PARTS)),
        measure=choice_in(content, "measure", where, tuple(MEASURES)),
        names=_names_from(content, kind, where),
        fewest=number_in(content, "fewest", where, FEWEST),
    )


def _names_from(content: Mapping[str, Any], kind: CriterionKind, where: str) -> tuple[Any, ...]:
    """The groups or regions; a group of two columns is a list of two values."""
    names = value_in(content, "names", list, where, [])
    if "names" in content and not names:
        raise PlanError(f"names in {where} is empty; list groups or regions, or leave it out.")
    if kind is CriterionKind.REGIONS and not all(type(name) is int for name in names):
        raise PlanError(f"names in {where} is {names!r}; regions are given by their numbers.")
    return tuple(tuple(name) if isinstance(name, list) else name for name in names)
