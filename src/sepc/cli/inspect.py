"""`sepc inspect`: what is inside a model file."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from sepc.cli.matters_most import matters_most
from sepc.cli.messages import InputError, say
from sepc.cli.source import check_readable

HELP = "show what is inside a model file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc inspect`."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")


def run(options: argparse.Namespace) -> None:
    """Print what the model file holds."""
    check_readable(options.model)
    from sepc.errors import FormatError
    from sepc.model_files import inspect

    try:
        contents = inspect(options.model)
    except FormatError as error:
        raise InputError(f"{options.model}: {error}") from error
    importances = _importances(options.model)
    facts = asdict(contents) | ({"importances": importances} if importances else {})
    say(options, "\n".join(filter(None, [str(contents), matters_most(importances)])), facts)


def _importances(path: str) -> dict[str, float]:
    """The importance of each column, largest first; empty if the model has none or cannot be loaded."""
    from sepc.errors import ForeignModelError, FormatError
    from sepc.model_files import load
    from sepc.reporting.facts import importances_of

    try:
        return dict(importances_of(load(path)))
    except (FormatError, ForeignModelError):
        # The rest of the file's description is still shown.
        return {}
