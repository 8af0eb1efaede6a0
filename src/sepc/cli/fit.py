"""`sepc fit`: fit a model on a table and save it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sepc.cli._messages import complain, say
from sepc.cli._model_file import matters_most
from sepc.cli._model_rows import taken_as
from sepc.cli._options import MODEL_OUTPUT, Command, add, add_fit, add_held_out, add_labelled_table
from sepc.cli._written_files import check_writable
from sepc.cli.fitting import (
    check_fit_options,
    estimator_of,
    fitted,
    merged_words,
    plan_of,
    split,
    split_words,
    with_merged_labels,
)
from sepc.cli.labelled_rows import LabelledRows, LabelledTable
from sepc.wording import MOST_NAMES, counted, listed, percent, plain, visible


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_table(parser)
    add(parser, *MODEL_OUTPUT, required=True)
    add_held_out(parser, by_default=0.0)
    add_fit(parser)


def _run(options: argparse.Namespace) -> None:
    """Read the table, fit, save, and print a summary."""
    check_fit_options(options)
    check_writable(options.output, options.data)
    estimator, facts = _fitted(options)
    from sepc.model_files import save

    save(estimator, options.output)
    say(options, f"{_summary_of(facts)}\nWritten to {options.output}", facts | {"model": options.output})


def _fitted(options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Fit from the file if it is large and this is possible, else from memory."""
    from sepc.columns.kinds import read_columns
    from sepc.looking.row_order import leakage_findings

    given = LabelledTable.of(options, options.by)
    plan = plan_of(given, options)
    if plan.in_blocks:
        n_rows = given.table.n_rows or 0
        estimator = fitted(estimator_of(options), options.data, options.target, n_rows, quiet=options.quiet)
        n_rows_of = dict(zip(estimator.classes_.tolist(), estimator.model_.class_counts.tolist(), strict=True))
        return estimator, _facts_of(estimator, given.features, n_rows_of, 0, None) | {"read": plan.words}
    rows = given.read_for_fit(options)
    merges: dict[str, Any] = {}
    if options.merge_labels:
        rows, pairs = with_merged_labels(rows)
        merges = {"merged_labels": [list(pair) for pair in pairs]}
    training, held_out = split(rows, options)
    for finding in leakage_findings(*read_columns(training.X, (), ()), training.y):
        complain(f"warning: {finding}")
    estimator = fitted(estimator_of(options), training.X, training.y, len(training.y), quiet=options.quiet)
    n_rows_of = Counter(training.y.tolist())
    classes = {label: n_rows_of[label] for label in sorted(n_rows_of)}
    facts = _facts_of(estimator, training.X.column_names, classes, training.n_dropped, held_out)
    facts["why_dropped"] = "with empty cells" if options.missing == "drop" else "without a label"
    if held_out is not None:
        facts["held_out"]["which"] = split_words(options)
        facts["held_out"]["last"] = bool(options.test_last)
    return estimator, facts | merges | {"read": plan.words}


def _facts_of(
    estimator: Any, names: Sequence[str], n_rows: Mapping[Any, int], n_dropped: int, held_out: LabelledRows | None
) -> dict[str, Any]:
    """Facts about a fit, ready for JSON; `n_rows` has the training rows of each label."""
    from sepc.estimators.unwrapping import makes_promise
    from sepc.reporting.facts import importances_of

    columns = taken_as(estimator, names)
    facts: dict[str, Any] = {
        "estimator": type(estimator).__name__,
        "rows": sum(n_rows.values()),
        "rows_dropped": n_dropped,
        "features": list(names),
        "taken_as": columns.summary(),
        "columns": [{"name": own.name, "kind": own.kind.value, "why": own.why} for own in columns.columns],
        "classes": [{"label": plain(label), "rows": int(n)} for label, n in n_rows.items()],
    }
    facts |= _size(estimator.inner if makes_promise(estimator) else estimator)
    if sizes := importances_of(estimator):
        facts["importances"] = dict(sizes)
    if makes_promise(estimator):
        facts["promise"] = estimator.summary().splitlines()
    if held_out is not None:
        facts["held_out"] = _held_out_figures(estimator, held_out)
    return facts


def _size(estimator: Any) -> dict[str, Any]:
    """How many ellipsoids and regions, or strata, the model has."""
    if estimator.is_routed:
        return {"strata": len(estimator.strata_), "strata_with_a_model": len(estimator.routes_)}
    return {
        "ellipsoids": len(estimator.ellipsoids_),
        "regions": estimator.model_.table.n_regions,
        "isolated": len(estimator.model_.isolated),
        "rows_used": str(estimator.rows_used_),
    }


def _held_out_figures(estimator: Any, rows: LabelledRows) -> dict[str, Any]:
    """Accuracy on held-out rows, all and accepted ones, recall by class, and alarms if trust is too high."""
    from sepc.estimators.base import decide_rows
    from sepc.reporting.trust_check import alarms, checks_of
    from sepc.views.outcomes import class_scores, missed, warnings_of

    decisions = decide_rows(estimator, rows.X)
    right, accepted = decisions.label == rows.y, decisions.accepted
    promise = getattr(estimator, "promise_", None)
    keys = None if promise is None or promise.groups is None else promise.groups.of(rows.X, None)
    found = class_scores(decisions.label, accepted, rows.y, estimator.classes_)
    not_found = missed(found, None if promise is None else promise.highest_risk)
    return {
        "by_class": [
            {"label": own.name, "rows": own.all_rows.n_true, "found": own.all_rows.n_right, "rare": own.is_rare}
            for own in found
            if own.all_rows.n_true
        ],
        "alarms": list(alarms(checks_of(estimator, decisions, rows.y, right, keys))),
        "warnings": list(warnings_of(not_found, "--class-weight balanced")),
        "rows": len(rows.y),
        "right": float(right.mean()),
        "accepted": float(accepted.mean()),
        "right_among_accepted": float(right[accepted].mean()) if accepted.any() else None,
    }


def _summary_of(facts: dict[str, Any]) -> str:
    """The facts in a few lines of text."""
    labels = ", ".join(f"{cls['label']} ({cls['rows']:,})" for cls in facts["classes"])
    dropped = (
        f" ({counted(facts['rows_dropped'], 'row')} {facts['why_dropped']} left out)" if facts["rows_dropped"] else ""
    )
    head = f"{counted(facts['rows'], 'row')}{dropped}; labels: {labels}"
    merged = merged_words(facts["merged_labels"]) if "merged_labels" in facts else ""
    lines = [merged, head, facts["taken_as"], facts["read"], f"{facts['estimator']}: {_size_words(facts)}"]
    lines.append(facts.get("rows_used", ""))
    lines.append(matters_most(facts.get("importances", {})))
    lines = [line for line in lines if line] + facts.get("promise", [])
    if "held_out" in facts:
        lines += _held_out_lines(facts["held_out"])
    return "\n".join(map(visible, lines))


def _size_words(facts: dict[str, Any]) -> str:
    if "strata" in facts:
        return f"{counted(facts['strata'], 'combination')} of categories, {facts['strata_with_a_model']:,} with a model"
    words = f"{counted(facts['ellipsoids'], 'ellipsoid')} in {counted(facts['regions'], 'region')}"
    return words + (f", {counted(facts['isolated'], 'row')} isolated" if facts["isolated"] else "")


def _held_out_lines(figures: dict[str, Any]) -> list[str]:
    right = figures["right_among_accepted"]
    accepted = f"accepted {percent(figures['accepted'])}"
    accepted += "" if right is None else f", of these {percent(right)} right"
    which = f" ({figures['which']})" if figures["last"] else ""
    lines = [f"On {counted(figures['rows'], 'row')} held out{which}: {percent(figures['right'])} right; {accepted}."]
    if any(own["rare"] for own in figures["by_class"]) or figures["warnings"]:
        each = [f"{own['found']:,} of {own['rows']:,} of {own['label']}" for own in figures["by_class"]]
        lines.append(f"Found: {listed(each, MOST_NAMES)}.")
    return [*lines, *(f"Warning: {warning}" for warning in (*figures["alarms"], *figures["warnings"]))]


FIT = Command("fit a model on a table and write it to a file", _add_arguments, _run)
