"""Fitting from the command line: options, the estimator they describe, the test split, and a fit with progress."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import InputError, complain
from sepc.cli._model_rows import left_out_of, main_classifier
from sepc.cli.labelled_rows import LabelledRows, LabelledTable, named_columns
from sepc.cli.rows import batches_of, quoted
from sepc.tables.fitted_rows import may_be_in_blocks, why_in_memory
from sepc.wording import AS_SET, MOST_NAMES, listed, percent, shown

if TYPE_CHECKING:
    from sepc.partition.sequence import Round


def estimator_of(options: argparse.Namespace) -> Any:
    """The unfitted estimator that the options describe."""
    from sepc.estimators.routed import RoutedClassifier
    from sepc.estimators.selective.estimator import SelectiveClassifier
    from sepc.estimators.sep.estimator import SEPClassifier

    names = ("n_impure", "min_trust", "trust", "fit_rows", "class_weight")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    given |= named_columns(options)
    estimator: Any = SEPClassifier(**given, keep_rows=not options.no_rows, random_state=options.seed)
    if options.by:
        estimator = RoutedClassifier(estimator, by=options.by)
    if options.max_risk is not None:
        confidence = 0.95 if options.confidence is None else options.confidence
        by = options.promise_by or None
        estimator = SelectiveClassifier(estimator, options.max_risk, confidence, by=by, random_state=options.seed)
    return estimator


def check_fit_options(options: argparse.Namespace) -> None:
    """Raise if options contradict each other, before anything is read."""
    for name in ("confidence", "promise_by"):
        if getattr(options, name) not in (None, []) and options.max_risk is None:
            raise InputError(f"--{name.replace('_', '-')} is only for --max-risk; give both of them.")


def with_merged_labels(rows: LabelledRows) -> tuple[LabelledRows, tuple[tuple[str, str], ...]]:
    """Rows in which labels that look like spellings of the same label are merged, and the merged pairs."""
    import numpy as np

    from sepc.looking.findings import Findings
    from sepc.looking.labels import label_findings

    findings = Findings.of(label_findings(rows.y), len(rows.y), len(rows.y))
    y = findings.merged_labels(rows.y)
    if len(np.unique(y)) < 2:
        raise InputError(f"--merge-labels leaves only {shown(y[0])}; a fit needs at least two labels.")
    return replace(rows, y=y), tuple(pair for finding in findings for pair in finding.merges)


def merged_words(pairs: Sequence[tuple[str, str]]) -> str:
    """What was merged, in words."""
    if not pairs:
        return "No two labels look like spellings of the same label; none were merged."
    return f"Merged labels: {listed([f'{shown(label)} into {shown(meant)}' for label, meant in pairs])}."


def split(rows: LabelledRows, options: argparse.Namespace) -> tuple[LabelledRows, LabelledRows | None]:
    """Split rows into training and held-out ones: at random, or those at the end of the table."""
    if not options.test_last and not options.test_size:
        return rows, None
    name, size = ("--test-last", options.test_last) if options.test_last else ("--test-size", options.test_size)
    kept, held_out = _last_rows(rows, size) if options.test_last else _drawn_rows(rows, size, options.seed)
    if not len(held_out):
        raise InputError(f"{name} {size:g} of {len(rows.y):,} rows leaves none to test on.")
    return rows.at(kept), rows.at(held_out)


def split_words(options: argparse.Namespace) -> str:
    """Which rows are held out, in words."""
    if options.test_last:
        return f"the last {percent(options.test_last, AS_SET)} of the rows, in the order of the table"
    return f"{percent(options.test_size, AS_SET)} of the rows, drawn at random"


def _drawn_rows(rows: LabelledRows, size: float, seed: int) -> tuple[Any, Any]:
    """Positions of two random parts of the rows; of copies of a row, all are in one part."""
    import numpy as np

    from sepc.columns.kinds import read_columns
    from sepc.looking.copies import copies
    from sepc.statistics.rates import random_parts

    random, which = np.random.RandomState(seed), copies(read_columns(rows.X, (), ()).values, rows.y)
    if which is None:
        return random_parts(rows.y, size, random)
    first = np.unique(which, return_index=True)[1]
    kept, held_out = random_parts(rows.y[first], size, random)
    return np.flatnonzero(np.isin(which, kept)), np.flatnonzero(np.isin(which, held_out))


def _last_rows(rows: LabelledRows, size: float) -> tuple[Any, Any]:
    """Positions of the first rows and of the last; a warning names labels that only the last have."""
    import numpy as np

    each = np.arange(len(rows.y))
    kept, held_out = np.split(each, [len(each) - round(size * len(each))])
    known = np.unique(rows.y[kept])
    if len(known) < 2:
        raise InputError(
            f"--test-last {size:g} leaves only rows of {listed(map(shown, known)) or 'no label'} to fit on. If the "
            "table is sorted by label, hold out rows at random: --test-size."
        )
    new = np.setdiff1d(rows.y[held_out], known)
    if len(new):
        named = listed(map(shown, new), MOST_NAMES)
        complain(f"warning: labels that occur only in the held-out rows, so the model does not know them: {named}.")
    return kept, held_out


def fitted(estimator: Any, X: Any, y: Any, n_rows: int, *, quiet: bool) -> Any:
    """Fit, showing progress on the terminal; warnings name columns left out, and text read as numbers or dates."""
    from sepc.errors import LeftOutWarning, NoPromiseWarning
    from sepc.estimators.sep.estimator import listen_to_rounds

    with ProgressBar("fitting", quiet=quiet) as bar:
        bar.update(f"{n_rows:,} rows")
        with listen_to_rounds(_notes_on(bar)), warnings.catch_warnings():
            warnings.simplefilter("ignore", LeftOutWarning)
            warnings.simplefilter("ignore", NoPromiseWarning)
            model = estimator.fit(X, y)
    _warn_of_columns(model)
    return model


def _warn_of_columns(model: Any) -> None:
    """Name columns that are left out, and those of text that are, or might be, read as numbers or dates."""
    from sepc.looking.columns import doubts_in_words, read_in_words

    if left_out := left_out_of(model):
        named = listed([f"{name!r} ({why})" for name, why in left_out.items()], MOST_NAMES)
        complain(
            f"warning: columns left out, because they do not look usable as features: {named}. "
            f"To use one anyway, give --use {quoted(next(iter(left_out)))}."
        )
    preparation = main_classifier(model).encoding_
    columns = () if preparation is None else preparation.columns
    read = read_in_words(columns, "To take one as categories, give --categorical.")
    if said := [*read, *doubts_in_words(columns)]:
        complain(f"warning: {' '.join(said)}")


def _notes_on(bar: ProgressBar) -> Callable[[Round], None]:
    """Show the rows that are left after each round; more of them than before mean a new partition."""
    n_partition, n_round, n_before = 0, 0, -1

    def round_ended(left: Round) -> None:
        nonlocal n_partition, n_round, n_before
        n_left = left.n_pos + left.n_neg
        if n_left > n_before:
            n_partition, n_round = n_partition + 1, 0
        n_round, n_before = n_round + 1, n_left
        first = f"partition {n_partition}, " if n_partition > 1 else ""
        bar.update(f"{first}round {n_round}, {n_left:,} rows left")

    return round_ended


@dataclass(frozen=True)
class Plan:
    """How a table is read for a fit; `words` say so if the table is large enough for it to matter."""

    in_blocks: bool
    words: str = ""


def plan_of(given: LabelledTable, options: argparse.Namespace) -> Plan:
    """Read a large Parquet file in blocks if its cells allow it and nothing needs all rows, else into memory."""
    if not may_be_in_blocks(given.table, len(given.features)):
        return Plan(in_blocks=False)
    names = ("--by", "--max-risk", "--merge-labels", "--test-last", "--test-size")
    needs = next((name for name in names if getattr(options, name[2:].replace("-", "_"))), None)
    if needs is not None:
        why_not = f"{needs} needs all rows at once"
    elif len(given.features) + 1 < len(given.table.names):
        why_not = "some of its columns are not used"
    else:
        with batches_of(given.table, given.table.names, len(given.features), options, "checking") as batches:
            why_not = why_in_memory(given.table, given.target, options.use, batches)
    return Plan(not why_not, f"Read into memory, because {why_not}." if why_not else "Read block by block.")
