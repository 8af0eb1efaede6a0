"""`sepc explain --recourse`: what would have to change in a row for another label."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

from sepc.cli._messages import InputError, names_in, say, whole_number
from sepc.cli._model_file import load_model
from sepc.cli._model_rows import scorer_for
from sepc.cli.source import open_table
from sepc.tables.files import check_readable
from sepc.wording import counted, listed, plain, visible

# What a file of relations may hold, and the type of each.
LISTS, TABLES = ("relations", "together", "fixed"), ("bounds", "direction", "cost")


def add_recourse_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of recourse, which letters take too."""
    recourse = parser.add_argument_group("what would have to change")
    recourse.add_argument("--recourse", action="store_true", help="say what would have to change to get the label --to")
    recourse.add_argument("--to", metavar="LABEL", help="the label to get, for --recourse and --letter")
    recourse.add_argument("--fixed", type=names_in, default=[], metavar="A,B", help="columns that cannot change")
    recourse.add_argument(
        "--relations", metavar="FILE", help="relations between columns, and limits of columns, in a TOML file"
    )
    recourse.add_argument(
        "--answers",
        type=whole_number,
        default=3,
        metavar="N",
        help="how many different answers to look for; 3 by default",
    )


def explain_recourse(options: argparse.Namespace) -> None:
    """Find and print what would have to change in the rows that `--row` names."""
    if not options.row:
        raise InputError("--recourse is about single rows; name them with --row.")
    if options.to is None:
        raise InputError("--recourse needs --to with the label to get.")
    estimator, limits = load_model(options.model, options.key), limits_from(options)
    to = label_of(estimator, options.to)
    from sepc.recourses.asking import recourse

    told, records = [], []
    for row in options.row:
        try:
            found = recourse(estimator, row_of(estimator, options, row), to=to, n_answers=options.answers, **limits)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error
        told.append(f"Row {row:,}: {found}\n  {visible(found.why())}")
        records.append({"row": row, **_record(found)})
    say(options, "\n\n".join(told), records)


def _record(found: Any) -> dict[str, Any]:
    return {
        "to": found.to,
        "reachable": found.is_reachable,
        "cost_at_least": found.bound if found.is_reachable else None,
        "bound_leaves_out": list(found.loose),
        "blocking": list(found.blocking),
        "why": found.why(),
        "answers": [
            {
                "cost": answer.cost,
                "trust": float(answer.decision.trust),
                "takes": None if answer.takes is None else str(answer.takes),
                "changes": [
                    {"column": own.feature, "before": plain(own.before), "after": plain(own.after), "cost": own.cost}
                    for own in answer.changes
                ],
            }
            for answer in found.answers
        ],
    }


def limits_from(options: argparse.Namespace) -> dict[str, Any]:
    """The limits and relations of the command line and of the file, as `recourse` takes them."""
    given: dict[str, Any] = {} if not options.relations else _file(options.relations)
    limits = {name: given[name] for name in TABLES if name in given}
    if "bounds" in limits:
        limits["bounds"] = {column: _bounds(ends) for column, ends in limits["bounds"].items()}
    limits["relations"] = [*given.get("relations", []), *given.get("together", [])]
    limits["fixed"] = [*options.fixed, *given.get("fixed", [])]
    return limits


def _bounds(ends: Any) -> Any:
    """A list of categories, or the two ends of a range; a table names just one of them."""
    return (ends.get("least"), ends.get("most")) if isinstance(ends, dict) else ends


def _file(path: str) -> dict[str, Any]:
    check_readable(path)
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from error
    for name, value in content.items():
        if name not in (*LISTS, *TABLES):
            raise InputError(f"{path}: there is no setting {name!r}; there are {listed([*LISTS, *TABLES])}.")
        if not isinstance(value, list if name in LISTS else dict):
            raise InputError(f"{path}: {name} must be a {'list' if name in LISTS else 'table'}.")
    return content


def row_of(estimator: Any, options: argparse.Namespace, wanted: int) -> Any:
    """A row of the table, counted from 1, as the model takes it."""
    n_rows = 0
    table = open_table(options)
    scorer = scorer_for(estimator, table, options.features)
    rows = scorer.reader(table)
    with rows.batches(options) as batches:
        for batch in batches:
            n_rows = batch.last_row
            if batch.first_row <= wanted <= n_rows:
                return scorer.table(rows.arrays(batch.only(wanted)))
    raise InputError(f"{table.source.name} has {counted(n_rows, 'row')}; there is no row {wanted:,}.")


def label_of(estimator: Any, text: str) -> Any:
    """The label of the model that is written as this text."""
    known = {str(label): label for label in estimator.classes_.tolist()}
    if text not in known:
        raise InputError(f"There is no label {text!r}; the labels are {', '.join(map(repr, known))}.")
    return known[text]
