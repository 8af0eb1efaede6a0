"""`sepc explain --letter`: a letter about one decision, for the person it is about."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sepc.cli._messages import InputError, say
from sepc.cli._model_file import load_model
from sepc.cli._written_files import check_writable
from sepc.cli.recourse import label_of, limits_from, row_of
from sepc.io.atomic_files import write_whole
from sepc.tables.files import check_readable

HTML_ENDINGS = (".html", ".htm")


def add_letter_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a letter."""
    letter = parser.add_argument_group("a letter to the person concerned")
    letter.add_argument("--letter", action="store_true", help="write a letter about the row that --row names")
    letter.add_argument("--organisation", metavar="NAME", help="the organisation that decides")
    letter.add_argument("--model-name", metavar="NAME", help="the name of the model; its file name by default")
    letter.add_argument("--contact", metavar="TEXT", help="whom to ask: a name, an address, a telephone number")
    letter.add_argument("--person", default="", metavar="NAME", help="the name of the person concerned")
    letter.add_argument("--reference", default="", metavar="TEXT", help="the reference number of the case")
    letter.add_argument("--decided", default="", metavar="TEXT", help="what was decided, in words")
    letter.add_argument(
        "--label-words", action="append", default=[], metavar="LABEL=WORDS", help="a label in words; may be repeated"
    )
    letter.add_argument(
        "--column-words", action="append", default=[], metavar="COLUMN=WORDS", help="a column in words; may be repeated"
    )
    letter.add_argument(
        "--review",
        choices=("asked", "will", "did"),
        help="whether a person reviews the decision if asked, will review it, or did review it",
    )
    letter.add_argument("--reviewer", default="", metavar="NAME", help="the person who reviews the decision")
    letter.add_argument("--template", metavar="FILE", help="a template of your own, with fields such as $decision")
    letter.add_argument("--output", metavar="FILE", help="the file to write; HTML if it ends in .html, else text")


def write_letter(options: argparse.Namespace) -> None:
    """Decide on the row, and print or write the letter."""
    if not options.row or len(options.row) != 1:
        raise InputError("A letter is about one row; name it with --row.")
    for name in ("organisation", "contact"):
        if not getattr(options, name):
            raise InputError(f"A letter needs --{name}.")
    if options.output:
        check_writable(options.output, options.data)
    text = _rendered(_letter(options), options)
    if options.output:
        write_whole(options.output, text.encode())
    said = f"Written to {options.output}" if options.output else text.rstrip("\n")
    say(options, said, {"row": options.row[0], "letter": text, "output": options.output})


def _letter(options: argparse.Namespace) -> Any:
    estimator = load_model(options.model, options.key)
    X = row_of(estimator, options, options.row[0])
    from sepc.estimators.base import decide_rows

    found = None
    if options.to is not None:
        from sepc.recourses.asking import recourse

        try:
            found = recourse(estimator, X, to=label_of(estimator, options.to), n_answers=1, **limits_from(options))
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error
    return decide_rows(estimator, X)[0].letter(
        organisation=options.organisation,
        model=options.model_name or Path(options.model).stem,
        contact=options.contact,
        person=options.person,
        reference=options.reference,
        decided=options.decided,
        labels=_pairs(options.label_words, "--label-words"),
        columns=_pairs(options.column_words, "--column-words"),
        recourse=found,
        review=options.review,
        reviewer=options.reviewer,
    )


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
