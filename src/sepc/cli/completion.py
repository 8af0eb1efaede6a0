"""`sepc completion`: scripts that make bash, zsh or fish complete commands, options, their values and file names."""

from __future__ import annotations

import argparse
import sys
from typing import Any

HELP = "print a completion script for bash, zsh or fish"
SHELLS = ("bash", "zsh", "fish")

# How help texts name an argument that is a file.
FILES = ("DATA", "FILE", "MODEL", "NEW", "OLD", "PLAN", "STATE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc completion`."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(options: argparse.Namespace) -> None:
    """Print the script for the shell that was asked for."""
    try:
        import shtab
    except ImportError as error:
        raise ImportError('Completion needs shtab: pip install "sepc[table]"') from error
    _mark_files(options.parser, shtab.FILE)
    sys.stdout.write(shtab.complete(options.parser, shell=options.shell))


def _mark_files(parser: argparse.ArgumentParser, complete: Any) -> None:
    """Complete file arguments as file names, in all commands of a parser."""
    for action in parser._actions:
        if action.metavar in FILES:
            action.complete = complete  # type: ignore[attr-defined] # where shtab looks for it
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                _mark_files(command, complete)
