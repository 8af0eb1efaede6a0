"""A report at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.cards import Card
from sepc.reporting.held_out import Group, HeldOut
from sepc.wording import percent


def figures_card(title: str, estimator: str, figures: HeldOut, groups: Sequence[Group]) -> Card:
    """How many held-out rows are accepted and right, and the same by outcome or, without causes, by label."""
    by_cause = any(one.meaning for one in groups)
    head = ["outcome" if by_cause else "label", "rows", *([] if figures.n_right is None else ["right"])]
    head += ["meaning"] if by_cause else []
    rows = tuple(_cells(one) for one in sorted(groups, key=lambda one: -one.n_rows))
    facts = (("model", estimator), *_figures(figures))
    return Card(f"Report: {title}", facts, tuple(head), rows, "All of its numbers: to_dict()")


def _figures(figures: HeldOut) -> list[tuple[str, str]]:
    n, n_accepted = figures.n_rows, figures.n_accepted
    facts = [("held-out rows", f"{n:,}"), ("accepted", f"{n_accepted:,} ({percent(n_accepted / n)})")]
    if figures.n_right is None or figures.n_right_accepted is None:
        return [*facts, ("right", "not known without y")]
    if figures.low is not None and figures.high is not None:
        share = percent(figures.n_right_accepted / n_accepted)
        interval = f"95 % interval {percent(figures.low)} to {percent(figures.high)}"
        facts.append(("right among accepted", f"{figures.n_right_accepted:,} ({share}; {interval})"))
    return [*facts, ("right among all", f"{figures.n_right:,} ({percent(figures.n_right / n)})")]


def _cells(group: Group) -> tuple[str, ...]:
    right = () if group.n_right is None else (f"{group.n_right:,}",)
    meaning = (group.meaning,) if group.meaning else ()
    return (group.name.lower() if meaning else group.name, f"{group.n_rows:,}", *right, *meaning)
