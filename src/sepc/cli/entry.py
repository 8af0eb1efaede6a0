"""The way in: find the command, run it, and turn what goes wrong into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from sepc.cli import completion, explain, export, fit, inspect, landscape, report, score
from sepc.cli.errors import INTERRUPTED, OTHER, WRONG_INPUT, InputError, one_line
from sepc.cli.printing import add_printing_arguments
from sepc.cli.progress_bar import WIPE

COMMANDS: dict[str, Any] = {
    "landscape": landscape,
    "fit": fit,
    "score": score,
    "explain": explain,
    "report": report,
    "inspect": inspect,
    "export": export,
    "completion": completion,
}

# What shells give for a program that wrote to a pipe nobody reads any more.
BROKEN_PIPE = 141

# Set, it lets errors through with their traceback, for those who look for a defect.
TRACEBACK_VARIABLE = "SEPC_TRACEBACK"


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        raise InputError(f"{message} (see {self.prog} --help)")


def parser() -> Parser:
    """The parser of all commands."""
    top = Parser(prog="sepc", description="Labels with trust: fit, score, explain and report.", allow_abbrev=False)
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, module in COMMANDS.items():
        one = commands.add_parser(name, help=module.HELP, description=_sentence(module.HELP), allow_abbrev=False)
        module.add_arguments(one)
        add_printing_arguments(one)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0, 1, 2 for wrong input, or 130 if interrupted."""
    code = _main(argv)
    if code and argv is None:
        # A thread may be waiting in a pipe that gives nothing, and Python would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _main(argv: Sequence[str] | None) -> int:
    try:
        with _warnings_in_one_line():
            _run(argv)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _complained("interrupted", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except SystemExit as ended:  # argparse, after --help
        return int(ended.code or 0)
    except (InputError, ValueError, TypeError) as error:
        return _complained(one_line(error), WRONG_INPUT, error)
    except (ImportError, OSError) as error:
        return _complained(one_line(error), OTHER, error)
    except Exception as error:  # noqa: BLE001 - a user sees a line, whatever it was
        told = f"{type(error).__name__}: {one_line(error)}"
        return _complained(f"{told} (a defect of sepc; with {TRACEBACK_VARIABLE}=1 it says where)", OTHER, error)
    return 0


def _run(argv: Sequence[str] | None) -> None:
    top = parser()
    options = top.parse_args(argv)
    if options.version:
        from importlib.metadata import version

        sys.stdout.write(f"sepc {version('sepc')}\n")
        return
    if options.command is None:
        top.error(f"give a command: {', '.join(COMMANDS)}")
    options.parser = top
    COMMANDS[options.command].run(options)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _complained(message: str, code: int, error: Exception | None = None) -> int:
    if error is not None and os.environ.get(TRACEBACK_VARIABLE):
        raise error
    sys.stderr.write(f"sepc: {message}\n")
    return code


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Warnings meant for users as one line each; those of other libraries about themselves not at all."""
    told: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in told:
            told.add(text)
            wiped = WIPE if sys.stderr.isatty() else ""
            sys.stderr.write(f"{wiped}sepc: warning: {text}\n")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning)
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.showwarning = show
        yield
