"""`sepc inspect`: what is inside a model file, without building the model."""

from __future__ import annotations

import argparse
from dataclasses import asdict

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
    say(options, str(contents), asdict(contents))
