"""`sepc inspect`: what is inside a model file."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from sepc.cli._messages import InputError, say
from sepc.cli._model_file import add_key_argument, load_model, matters_most
from sepc.tables.files import check_readable

HELP = "show what is inside a model file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc inspect`."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    add_key_argument(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--history", action="store_true", help="print how the model was made: rows, versions, parents, parameters"
    )
    what.add_argument("--bill", action="store_true", help="print a bill of materials, as CycloneDX 1.6 in JSON")


def run(options: argparse.Namespace) -> None:
    """Print what the model file holds, how it was made, or its bill of materials."""
    check_readable(options.model)
    if options.bill:
        _print_bill(options)
        return
    from sepc.errors import FormatError
    from sepc.model_files import inspect

    try:
        contents = inspect(options.model, key=options.key)
    except FormatError as error:
        raise InputError(f"{options.model}: {error}") from error
    if options.history:
        say(options, str(contents.history), asdict(contents.history))
        return
    importances = _importances(options.model, options.key)
    facts = asdict(contents) | ({"importances": importances} if importances else {})
    del facts["history"]
    say(options, "\n".join(filter(None, [str(contents), matters_most(importances)])), facts)


def _print_bill(options: argparse.Namespace) -> None:
    estimator = load_model(options.model, options.key)
    from sepc.reporting.bill_of_materials import bill_of_materials

    bill = bill_of_materials(estimator, name=Path(options.model).stem)
    say(options, json.dumps(bill, indent=2), bill)


def _importances(path: str, key: str | None) -> dict[str, float]:
    """The importance of each column, largest first; empty if the model has none or cannot be loaded."""
    from sepc.errors import ForeignModelError, FormatError
    from sepc.model_files import load
    from sepc.reporting.facts import importances_of

    try:
        return dict(importances_of(load(path, key=key)))
    except (FormatError, ForeignModelError):
        # The rest of the file's description is still shown.
        return {}
