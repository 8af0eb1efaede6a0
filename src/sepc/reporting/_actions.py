"""What to do with the rows and with the model, in a few sentences that follow from the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sepc.decisions.kinds import Cause
from sepc.reporting._held_out import Group, HeldOut
from sepc.reporting._model_figures import RegionTable
from sepc.reporting._rows import ColumnResults, ReportedRow
from sepc.reporting.trust_check import TrustCheck, alarms
from sepc.statistics.rates import fewer_p_value
from sepc.views.outcomes import ClassScore
from sepc.wording import counted, listed, percent, shown

# Rows that an action names, and actions in all.
N_NAMED, MOST = 4, 8
# A true label may itself be wrong if an accepted label with at least this trust contradicts it.
SURE = 0.98
# A region needs more rows if at least this many are not accepted there for lack of evidence, and training had fewer
# cases there than are enough.
N_LACKING, ENOUGH_CASES = 5, 100
# A column with less than this share of the total importance could be left out.
LEAST_SHARE = 0.002
# Significance level for groups that do worse, divided among all groups (Bonferroni).
LEVEL = 0.01

DO_ABOUT = {
    Cause.OVERLAP: "classes overlap there: they need a person, or another column that separates the classes",
    Cause.UNSEEN: "nothing like them was seen in training: check their values first",
    Cause.THIN: "there is too little evidence for the trust asked for",
    Cause.DRIFTED: "the data have drifted there: label some of these rows and repair the model",
    Cause.MISSING: "they have missing values: fill these in and decide again",
    Cause.UNEXPLAINED: "the model gives no reason",
}


@dataclass(frozen=True)
class Action:
    """Something to do."""

    do: str
    why: str
    section: str = ""


@dataclass(frozen=True, eq=False)
class Known:
    """What actions are derived from; `n_lacking` counts rows without enough evidence by region with few cases."""

    held_out: HeldOut
    causes: Sequence[Group]
    checks: Sequence[TrustCheck]
    wrong: Sequence[ReportedRow]
    regions: RegionTable | None
    importances: Sequence[tuple[str, float]]
    results: Sequence[ColumnResults]
    n_lacking: Mapping[int, int]
    missed: Sequence[ClassScore] = ()


def actions_of(known: Known) -> tuple[Action, ...]:
    """What to do, the most urgent first."""
    ways = (_distrust, _review, _check_labels, _look_at_groups, _collect, _leave_out)
    return tuple(action for way in ways for action in way(known))[:MOST]


def _distrust(known: Known) -> Iterator[Action]:
    if alarms(known.checks):
        why = "More accepted labels are wrong than trust or the promise allows, and chance does not explain it."
        yield Action("Do not use accepted labels without review", why, "results")


def _review(known: Known) -> Iterator[Action]:
    held_out = known.held_out
    n, n_accepted = held_out.n_rows - held_out.n_accepted, held_out.n_accepted
    if n_accepted:
        right = ""
        if held_out.n_right_accepted is not None:
            right = f"; {percent(held_out.n_right_accepted / n_accepted)} of these labels are right"
        do, why = f"Use the labels of {counted(n_accepted, 'accepted row')}", f"Their trust is high enough{right}."
        if known.missed:
            names = listed([shown(own.name) for own in known.missed], N_NAMED)
            wrong = listed([own.in_words for own in known.missed], N_NAMED)
            do = f"Do not rely on accepted labels to find {names}; for the rest, u{do[1:]}"
            why = f"Wrong among accepted rows, by true label: {wrong}. {why}"
        yield Action(do, why, "results")
    if not n:
        return
    refused = sorted((cause for cause in known.causes if not cause.n_accepted), key=lambda cause: -cause.n_rows)
    parts = [f"{cause.n_rows:,} because {DO_ABOUT[Cause[cause.name]]}" for cause in refused]
    why = "; ".join(parts) + "." if parts else "Their trust is too low."
    yield Action(f"Send {counted(n, 'row')} to a person", f"{why[0].upper()}{why[1:]}", "review")


def _check_labels(known: Known) -> Iterator[Action]:
    """True labels that contradict a confident model, which may themselves be wrong."""
    doubtful = [row for row in known.wrong if row.trust >= SURE]
    if not doubtful:
        return
    named = doubtful[:N_NAMED]
    alike: dict[tuple[str, str], list[str]] = {}
    for row in named:
        alike.setdefault((str(row.true_label), str(row.label)), []).append(str(row.row))
    named_rows = [
        f"{'row' if len(rows) == 1 else 'rows'} {listed(rows)} {'is' if len(rows) == 1 else 'are'} labelled {true}, "
        f"and the model is at least {percent(SURE)} sure of {said}"
        for (true, said), rows in alike.items()
    ]
    which = "this label" if len(named) == 1 else f"these {len(named)} labels"
    text = "; ".join(named_rows)
    yield Action(f"Check {which} first", f"{text[0].upper()}{text[1:]}.", "wrong")


def _look_at_groups(known: Known) -> Iterator[Action]:
    """Groups whose accepted labels are right less often than those of all others."""
    groups = [(column, group) for column in known.results for group in column.groups]
    worst: list[tuple[float, ColumnResults, Group, float]] = []
    for column, group in groups:
        if group.n_right_accepted is None or not group.n_accepted:
            continue
        n_others = sum(other.n_accepted for other in column.groups) - group.n_accepted
        n_right = sum(other.n_right_accepted or 0 for other in column.groups) - group.n_right_accepted
        if not n_others:
            continue
        p = fewer_p_value(group.n_right_accepted, group.n_accepted, n_right, n_others)
        if p <= LEVEL / len(groups):
            worst.append((p, column, group, n_right / n_others))
    for _, column, group, others in sorted(worst, key=lambda entry: entry[0])[:2]:
        share = (group.n_right_accepted or 0) / group.n_accepted
        yield Action(
            f"Look at accepted rows with {column.column} {group.name}",
            f"{percent(share)} of them are right, and {percent(others)} of the others; this is unlikely to be chance.",
            "by-column",
        )


def _collect(known: Known) -> Iterator[Action]:
    """The region with few training cases where most rows lack evidence; more do not help where classes overlap."""
    if known.regions is None:
        return
    places = {row.region: row for row in (*known.regions.rows, *known.regions.outside)}
    lacking = {region: n for region, n in known.n_lacking.items() if region in places and region >= 0}
    most = max(lacking, key=lambda region: lacking[region], default=None)
    if most is None or lacking[most] < N_LACKING:
        return
    place = places[most]
    yield Action(
        f"Collect more labelled rows like these: {place.name}",
        f"{lacking[most]:,} of {counted(place.n_rows, 'row')} there are not accepted, for lack of training cases.",
        "regions",
    )


def _leave_out(known: Known) -> Iterator[Action]:
    """Columns that hardly matter."""
    total = sum(size for _, size in known.importances)
    if not total or len(known.importances) < 3:
        return
    idle = [name for name, size in known.importances if size < LEAST_SHARE * total]
    if idle and len(idle) < len(known.importances):
        named = listed(idle, N_NAMED)
        yield Action(
            f"Try without {'column' if len(idle) == 1 else 'columns'} {named}",
            f"{'It adds' if len(idle) == 1 else 'They add'} next to nothing to any label.",
            "matters",
        )
