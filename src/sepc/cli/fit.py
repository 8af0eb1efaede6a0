"""`sepc fit`: fit a model on a table and save it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sepc.cli.fitting import add_fit_arguments, check_fit_options, estimator_of, fitted, share, split
from sepc.cli.labelled_rows import (
    LONGEST_LABEL,
    FoundFeatures,
    LabelledRows,
    add_labelled_arguments,
    found_features,
    read_rows,
)
from sepc.cli.messages import say
from sepc.cli.model_columns import taken_as
from sepc.cli.open_table import open_table
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.readings import Reading
from sepc.cli.source import add_table_arguments, check_writable, source_from
from sepc.cli.tables import Table
from sepc.plain_values import plain
from sepc.wording import MOST_NAMES, counted, listed, percent, visible

HELP = "fit a model on a table and write it to a file"

# Cells of a table that is read into memory all the same; a block of the fit from a file is as large.
SMALL_CELLS = 2**23
# With more labels, it is to be told from all rows whether they are some.
MOST_LABELS = 1_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc fit`."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument("--output", required=True, metavar="MODEL", help="the model file to write, usually *.sepc")
    parser.add_argument(
        "--test-size", type=share, default=0.0, metavar="S", help="share of rows to hold out for a test; 0 by default"
    )
    add_fit_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Read the table, fit, save, and print a summary."""
    check_fit_options(options)
    check_writable(options.output, options.data)
    estimator, facts = _fitted(options)
    _save(estimator, options.output)
    say(options, f"{summary_of(facts)}\nWritten to {options.output}", facts | {"model": options.output})


def _fitted(options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Fit from the file if it is large and that can be done, else from memory."""
    with open_table(source_from(options)) as table:
        features = found_features(table, options, options.by)
        plan = plan_of(table, features, options)
        if plan.in_blocks:
            estimator, facts = _fitted_in_blocks(options, features.used, table.n_rows or 0)
            return estimator, facts | {"read": plan.words}
        rows = read_rows(table, features, options)
    training, held_out = split(rows, options.test_size, options.seed)
    estimator = fitted(estimator_of(options), training.X, training.y, len(training.y), quiet=options.quiet)
    names, n_rows = [str(name) for name in training.X.columns], rows_of_labels(training.y)
    facts = facts_of(estimator, names, n_rows, training.n_dropped, held_out)
    return estimator, facts | {"read": plan.words}


def _fitted_in_blocks(options: argparse.Namespace, names: list[str], n_rows: int) -> tuple[Any, dict[str, Any]]:
    estimator = fitted(estimator_of(options), options.data, options.target, n_rows, quiet=options.quiet)
    n_rows_of = dict(zip(estimator.classes_.tolist(), estimator.model_.class_counts.tolist(), strict=True))
    return estimator, facts_of(estimator, names, n_rows_of, 0, None)


def _save(estimator: Any, path: str) -> None:
    from sepc.model_files import save

    save(estimator, path)


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


@dataclass(frozen=True)
class Plan:
    """How a table is read for a fit; `words` say so where the table is large enough for that to matter."""

    in_blocks: bool
    words: str = ""


def plan_of(table: Table, features: FoundFeatures, options: argparse.Namespace) -> Plan:
    """Read a large Parquet file in blocks if all of it is complete numbers and features, anything else into memory."""
    source, n_rows = table.source, table.n_rows or 0
    is_small = n_rows * len(features.used) <= SMALL_CELLS
    if source.format != "parquet" or source.is_standard_input or is_small:
        return Plan(in_blocks=False)
    why_not = _why_not(table, features, options)
    return Plan(not why_not, f"Read into memory, since {why_not}." if why_not else "Read block by block.")


def _why_not(table: Table, features: FoundFeatures, options: argparse.Namespace) -> str:
    """What speaks against a fit from the file, or nothing."""
    given = {"--by": options.by, "--max-risk": options.max_risk, "--test-size": options.test_size}
    needs = next((name for name, value in given.items() if value), None)
    if needs is not None:
        return f"{needs} needs all rows at once"
    if len(features.used) + 1 < len(table.names):
        return "some of its columns are not used"
    odd = next((name for name, reading in features.readings.items() if reading is not Reading.NUMBER), None)
    if odd is not None:
        return f"column {odd!r} does not hold numbers"
    with ProgressBar(f"checking {table.source.name}", quiet=options.quiet) as bar:
        return _oddity(table, features, options, bar)


def _oddity(table: Table, features: FoundFeatures, options: argparse.Namespace, bar: ProgressBar) -> str:
    """What is odd about the cells, in one pass: gaps, labels that are none, and columns that are no features."""
    ranges, labels = {name: _Range() for name in features.used if name not in options.keep}, set[Any]()
    for batch in table.batches([*features.used, options.target], features.readings):
        arrays = features.arrays(table.source, batch)
        gap = next((name for name, values in arrays.items() if (values != values).any()), None)
        if gap is not None:
            return f"column {gap!r} has gaps"
        labels |= _distinct(batch.columns[options.target])
        if len(labels) > MOST_LABELS or any(_is_odd(label, table.source.na) for label in labels):
            return f"some cells of column {options.target!r} are empty or no labels"
        ranges = {name: own.extended(arrays[name]) for name, own in ranges.items()}
        bar.update_rows(batch.last_row, table.n_rows, batch.share)
    if len(labels) < 2:
        return "it has a single label"
    odd = next((name for name, own in ranges.items() if own.may_be_no_feature(table.n_rows or 0)), None)
    return "" if odd is None else f"column {odd!r} may be a constant or an index"


def _distinct(labels: Any) -> set[Any]:
    return set(labels.unique().to_pylist())


def _is_odd(label: Any, na: Sequence[str]) -> bool:
    """Whether a label is empty, a fraction or a long text, which a table in memory can deal with or explain."""
    if label is None or label != label or str(label) in ("", *na):
        return True
    return len(str(label)) > LONGEST_LABEL or (isinstance(label, float) and not label.is_integer())


@dataclass(frozen=True)
class _Range:
    """The least and the largest number of a column, and whether all are whole."""

    low: float = float("inf")
    high: float = float("-inf")
    whole: bool = True

    def extended(self, values: Any) -> _Range:
        whole = self.whole and bool((values == values.round()).all())
        return _Range(min(self.low, float(values.min())), max(self.high, float(values.max())), whole)

    def may_be_no_feature(self, n_rows: int) -> bool:
        """Whether it is a constant, or whole numbers of a range that an index would have."""
        from sepc.columns.kinds import INDEX_SPARE

        n_values = self.high - self.low + 1.0
        return self.low == self.high or (self.whole and n_rows <= n_values <= (1.0 + INDEX_SPARE) * n_rows)
