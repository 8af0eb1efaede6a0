"""`sepc explain`: reasons behind decisions, what would have to change for another, and letters about one."""

from __future__ import annotations

import argparse
import heapq
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sepc.cli._messages import InputError, say
from sepc.cli._model_file import load_model
from sepc.cli._model_rows import ModelReader
from sepc.cli._options import FEATURES, KEY, MODEL, Command, add, add_table, whole_number
from sepc.cli._written_files import check_writable
from sepc.cli.rows import open_table
from sepc.io.atomic_files import write_whole
from sepc.tables.files import check_readable
from sepc.wording import counted, listed, plain, visible

# What a file of relations may hold, and the type of each.
LISTS, TABLES = ("relations", "together", "fixed"), ("bounds", "direction", "cost")
HTML_ENDINGS = (".html", ".htm")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, *MODEL)
    add(parser, *KEY)
    add_table(parser)
    chosen = parser.add_mutually_exclusive_group()
    add(chosen, "--row N", "explain this row, counted from 1; may be repeated", action="append")
    add(chosen, "--worst N", "explain the N least trusted rows; 5 by default", type=whole_number, default=5)
    add(parser, *FEATURES)
    recourse = parser.add_argument_group("what would have to change")
    add(recourse, "--recourse", "say what would have to change to get the label --to")
    add(recourse, "--to LABEL", "the label to get, for --recourse and --letter")
    add(recourse, "--fixed A,B", "columns that cannot change")
    add(recourse, "--relations FILE", "relations between columns, and limits of columns, in a TOML file")
    add(recourse, "--answers N", "how many different answers to look for; 3 by default", default=3)
    letter = parser.add_argument_group("a letter to the person concerned")
    add(letter, "--letter", "write a letter about the row that --row names")
    add(letter, "--organisation NAME", "the organisation that decides")
    add(letter, "--model-name NAME", "the name of the model; its file name by default")
    add(letter, "--contact TEXT", "whom to ask: a name, an address, a telephone number")
    add(letter, "--person NAME", "the name of the person concerned", default="")
    add(letter, "--reference TEXT", "the reference number of the case", default="")
    add(letter, "--decided TEXT", "what was decided, in words", default="")
    add(letter, "--label-words LABEL=WORDS", "a label in words; may be repeated", action="append", default=[])
    add(letter, "--column-words COLUMN=WORDS", "a column in words; may be repeated", action="append", default=[])
    add(
        letter,
        "--review {asked,will,did}",
        "whether a person reviews the decision if asked, will review it, or did review it",
    )
    add(letter, "--reviewer NAME", "the person who reviews the decision", default="")
    add(letter, "--template FILE", "a template of your own, with fields such as $decision")
    add(letter, "--output FILE", "the file to write; HTML if it ends in .html, else text")


def _run(options: argparse.Namespace) -> None:
    """Find the rows and print their reasons, or what would have to change in them, or write a letter about one."""
    _check(options)
    estimator = load_model(options.model, options.key)
    reader = ModelReader.of(estimator, open_table(options), options.features)
    if options.letter:
        _write_letter(reader, options)
    elif options.recourse:
        _explain_recourse(reader, options)
    else:
        of_rows = _decided(reader, options) if options.row else _worst(reader, options)
        explained = [_explanation(row, decision) for row, decision in of_rows]
        say(options, "\n\n".join(f"Row {own['row']:,}: {visible(own['why'])}" for own in explained), explained)


def _check(options: argparse.Namespace) -> None:
    """Raise if options contradict each other, before anything is read."""
    if options.letter:
        if not options.row or len(options.row) != 1:
            raise InputError("A letter is about one row; name it with --row.")
        for name in ("organisation", "contact"):
            if not getattr(options, name):
                raise InputError(f"A letter needs --{name}.")
        if options.output:
            check_writable(options.output, options.data)
    elif options.recourse:
        if not options.row:
            raise InputError("--recourse is about single rows; name them with --row.")
        if options.to is None:
            raise InputError("--recourse needs --to with the label to get.")


def _rows_at(reader: ModelReader, options: argparse.Namespace) -> list[tuple[int, Any]]:
    """The rows that --row names, as the model takes them; cells of other rows are not checked."""
    found: dict[int, Any] = {}
    n_rows = 0
    with reader.batches(options) as batches:
        for batch in batches:
            n_rows = batch.last_row
            for row in options.row:
                if batch.first_row <= row <= n_rows:
                    found[row] = reader.rows_for_model(reader.arrays(batch.only(row)))
            if len(found) == len(set(options.row)):
                return [(row, found[row]) for row in options.row]
    missing = next(row for row in options.row if row not in found)
    raise InputError(f"{reader.table.source.name} has {counted(n_rows, 'row')}; there is no row {missing:,}.")


def _decided(reader: ModelReader, options: argparse.Namespace) -> list[tuple[int, Any]]:
    """The decisions on the rows that --row names."""
    from sepc.estimators.base import decide_rows

    return [(row, decide_rows(reader.estimator, X)[0]) for row, X in _rows_at(reader, options)]


def _worst(reader: ModelReader, options: argparse.Namespace) -> list[tuple[int, Any]]:
    """The decisions on the least trusted rows; of rows with equal trust, the first."""
    import numpy as np

    worst: list[tuple[float, int, Any]] = []
    with reader.batches(options) as batches:
        for batch in batches:
            decisions = reader.decide(reader.arrays(batch))
            least = np.argsort(decisions.trust, kind="stable")[: options.worst]
            some = [(float(decisions.trust[i]), batch.first_row + int(i), decisions[[int(i)]]) for i in least]
            worst = heapq.nsmallest(options.worst, worst + some, key=lambda row: row[:2])
    return [(row, decisions[0]) for _, row, decisions in worst]


def _explanation(row: int, decision: Any) -> dict[str, Any]:
    return {
        "row": row,
        "label": decision.label,
        "trust": decision.trust,
        "accepted": decision.accepted,
        "cause": decision.cause.name,
        "why": decision.why(),
    }


def _explain_recourse(reader: ModelReader, options: argparse.Namespace) -> None:
    told, records = [], []
    for row, found in _recourses(reader, _rows_at(reader, options), options, options.answers):
        told.append(f"Row {row:,}: {found}\n  {visible(found.why())}")
        records.append({"row": row, **_record(found)})
    say(options, "\n\n".join(told), records)


def _recourses(
    reader: ModelReader, rows: Sequence[tuple[int, Any]], options: argparse.Namespace, n_answers: int
) -> Iterator[tuple[int, Any]]:
    """What would have to change in each row for the label --to."""
    from sepc.recourses.asking import recourse

    limits = _limits(options)
    known = {str(label): label for label in reader.estimator.classes_.tolist()}
    if options.to not in known:
        raise InputError(f"There is no label {options.to!r}; the labels are {', '.join(map(repr, known))}.")
    for row, X in rows:
        try:
            yield row, recourse(reader.estimator, X, to=known[options.to], n_answers=n_answers, **limits)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error


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
                "changes": [
                    {"column": own.feature, "before": plain(own.before), "after": plain(own.after), "cost": own.cost}
                    for own in answer.changes
                ],
            }
            for answer in found.answers
        ],
    }


def _limits(options: argparse.Namespace) -> dict[str, Any]:
    """The limits and relations of the command line and of the file, as `recourse` takes them."""
    given: dict[str, Any] = {} if not options.relations else _relations(options.relations)
    limits = {name: given[name] for name in TABLES if name in given}
    if "bounds" in limits:
        # A list of categories, or the two ends of a range; a table names just one of them.
        limits["bounds"] = {
            column: (ends.get("least"), ends.get("most")) if isinstance(ends, dict) else ends
            for column, ends in limits["bounds"].items()
        }
    limits["relations"] = [*given.get("relations", []), *given.get("together", [])]
    limits["fixed"] = [*options.fixed, *given.get("fixed", [])]
    return limits


def _relations(path: str) -> dict[str, Any]:
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


def _write_letter(reader: ModelReader, options: argparse.Namespace) -> None:
    """Decide on the row, and print or write the letter."""
    from sepc.estimators.base import decide_rows

    ((row, X),) = _rows_at(reader, options)
    found = None
    if options.to is not None:
        ((_, found),) = _recourses(reader, [(row, X)], options, 1)
    names = ("organisation", "contact", "person", "reference", "decided", "review", "reviewer")
    letter = decide_rows(reader.estimator, X)[0].letter(
        **{name: getattr(options, name) for name in names},
        model=options.model_name or Path(options.model).stem,
        labels=_pairs(options.label_words, "--label-words"),
        columns=_pairs(options.column_words, "--column-words"),
        recourse=found,
    )
    text = _rendered(letter, options)
    if options.output:
        write_whole(options.output, text.encode())
    said = f"Written to {options.output}" if options.output else text.rstrip("\n")
    say(options, said, {"row": row, "letter": text, "output": options.output})


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """The words given for each name."""
    for text in given:
        if "=" not in text:
            raise InputError(f"{option} {text!r} has no equals sign; give it as NAME=WORDS.")
    return {text.partition("=")[0]: text.partition("=")[2] for text in given}


def _rendered(letter: Any, options: argparse.Namespace) -> str:
    """The letter as HTML or text, in the user's own template if there is one."""
    is_page = bool(options.output) and options.output.lower().endswith(HTML_ENDINGS)
    render = letter.to_html if is_page else letter.to_text
    if not options.template:
        return str(render())
    check_readable(options.template)
    try:
        return str(render(Path(options.template).read_text(encoding="utf-8")))
    except ValueError as error:
        raise InputError(f"{options.template}: {error}") from error


EXPLAIN = Command("explain in words why rows got their label and trust", _add_arguments, _run)
