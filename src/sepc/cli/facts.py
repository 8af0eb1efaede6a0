"""The result of a fit, as plain data and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sepc.cli.labelled_rows import LabelledRows
from sepc.cli.model_columns import taken_as
from sepc.plain_values import plain
from sepc.wording import MOST_NAMES, counted, listed, percent, visible


def facts_of(
    estimator: Any, names: Sequence[str], n_rows: Mapping[Any, int], n_dropped: int, held_out: LabelledRows | None
) -> dict[str, Any]:
    """Facts about a fit, ready for JSON; `n_rows` has the training rows of each label."""
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
    facts |= _size(getattr(estimator, "estimator_", estimator))
    if hasattr(estimator, "controls_"):
        facts["promise"] = estimator.summary().splitlines()
    if held_out is not None:
        facts["held_out"] = held_out_figures(estimator, held_out)
    return facts


def rows_of_labels(y: Any) -> dict[Any, int]:
    """How many rows each label has."""
    import numpy as np

    classes, counts = np.unique(y, return_counts=True)
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


def _size(estimator: Any) -> dict[str, Any]:
    """How many ellipsoids and regions, or strata, the model has."""
    if hasattr(estimator, "strata_"):
        fitted = int(estimator.strata_.fitted.sum())
        return {"strata": len(estimator.strata_), "strata_with_a_model": fitted}
    return {
        "ellipsoids": len(estimator.ellipsoids_),
        "regions": estimator.model_.table.n_regions,
        "isolated": len(estimator.model_.isolated),
        "rows_used": str(estimator.rows_used_),
    }


def held_out_figures(estimator: Any, rows: LabelledRows) -> dict[str, Any]:
    """Accuracy on held-out rows, among all and among those accepted."""
    from sepc.estimators.base import decide_rows
    from sepc.views.recall import recalls, warnings_of

    decisions = decide_rows(estimator, rows.X)
    right, accepted = decisions.label == rows.y, decisions.accepted
    found = recalls(decisions.label, accepted, rows.y, estimator.classes_)
    return {
        "by_class": [
            {"label": own.name, "rows": own.n_rows, "found": own.n_found, "rare": own.is_rare} for own in found
        ],
        "warnings": list(warnings_of(found, "--class-weight balanced")),
        "rows": len(rows.y),
        "right": float(right.mean()),
        "accepted": float(accepted.mean()),
        "right_among_accepted": float(right[accepted].mean()) if accepted.any() else None,
    }


def summary_of(facts: dict[str, Any]) -> str:
    """The facts in a few lines of text."""
    labels = ", ".join(f"{cls['label']} ({cls['rows']:,})" for cls in facts["classes"])
    dropped = f" ({counted(facts['rows_dropped'], 'row')} with empty cells left out)" if facts["rows_dropped"] else ""
    head = f"{counted(facts['rows'], 'row')}{dropped}; labels: {labels}"
    lines = [head, facts["taken_as"], facts["read"], f"{facts['estimator']}: {_size_words(facts)}"]
    lines.append(facts.get("rows_used", ""))
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
    lines = [f"On {counted(figures['rows'], 'row')} held out: {percent(figures['right'])} right; {accepted}."]
    if any(own["rare"] for own in figures["by_class"]):
        each = [f"{own['found']:,} of {own['rows']:,} of {own['label']}" for own in figures["by_class"]]
        lines.append(f"Found: {listed(each, MOST_NAMES)}.")
    return [*lines, *figures["warnings"]]
