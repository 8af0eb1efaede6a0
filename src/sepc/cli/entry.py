"""Entry point: parse the arguments, run the command, and turn errors into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from sepc.cli._messages import (
    INTERRUPTED,
    OTHER,
    WRONG_INPUT,
    InputError,
    complain,
    interrupts_come_again,
    one_line,
)
from sepc.cli._options import Command, add
from sepc.cli.audit import AUDIT
from sepc.cli.compare import CHECK_PLAN, DIFF
from sepc.cli.explain import EXPLAIN
from sepc.cli.fit import FIT
from sepc.cli.forget import FORGET, VERIFY_RECEIPT
from sepc.cli.landscape import LANDSCAPE
from sepc.cli.look import LOOK
from sepc.cli.model_files import EXPORT, INSPECT, SIGN, VERIFY
from sepc.cli.monitor import MONITOR
from sepc.cli.repair import REPAIR
from sepc.cli.report import REPORT
from sepc.cli.review import REVIEW
from sepc.cli.score import SCORE
from sepc.cli.sites import CERTIFY, COUNTS

# How help texts name an argument that is a file.
FILES = ("DATA", "FILE", "MODEL", "NEW", "OLD", "PLAN", "STATE")


def _print_completion(options: argparse.Namespace) -> None:
    """Print a script that makes a shell complete commands, options, their values and file names."""
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


COMPLETION = Command(
    "print a completion script for bash, zsh or fish",
    lambda parser: add(parser, "SHELL", "bash, zsh or fish", choices=("bash", "zsh", "fish")),
    _print_completion,
)

GROUPS = {
    "a model": {
        "look": LOOK,
        "landscape": LANDSCAPE,
        "fit": FIT,
        "score": SCORE,
        "explain": EXPLAIN,
        "report": REPORT,
    },
    "a model in production": {
        "monitor": MONITOR,
        "review": REVIEW,
        "audit": AUDIT,
        "repair": REPAIR,
        "diff": DIFF,
        "check-plan": CHECK_PLAN,
        "counts": COUNTS,
        "certify": CERTIFY,
        "forget": FORGET,
        "verify-receipt": VERIFY_RECEIPT,
    },
    "files": {
        "inspect": INSPECT,
        "export": EXPORT,
        "sign": SIGN,
        "verify": VERIFY,
        "completion": COMPLETION,
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}

DESCRIPTION = "Classification with calibrated trust: fit a model, use it, explain it, and maintain it in production."

# The exit code that shells give to a program that writes to a closed pipe.
BROKEN_PIPE = 141

# If this variable is set, errors are raised with their traceback, for debugging.
TRACEBACK_VARIABLE = "SEPC_TRACEBACK"

# Go to the start of the line and clear it: it may show progress.
WIPE = "\r\x1b[K"

NO_MEMORY = "not enough memory; use fewer columns or rows, or a machine with more memory"


class Parser(argparse.ArgumentParser):
    """A parser that reports errors in one line, and takes ``-999,unknown`` for the value of an option."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # argparse tells negative numbers from options by this, and the options here all start with a letter.
        self._negative_number_matcher = re.compile(r"-[^-a-zA-Z]")

    def format_help(self) -> str:
        """The help, with a heading for each group of commands."""
        text = super().format_help()
        for group, (first, *_) in GROUPS.items() if self.prog == "sepc" else ():
            text = re.sub(rf"(?m)^(?=    {first} )", f"\n  {group}:\n", text, count=1)
        return text

    def error(self, message: str) -> NoReturn:
        """Raise with the message and a pointer to --help."""
        raise InputError(f"{message} (see {self.prog} --help)")


def parser() -> Parser:
    """The parser of all commands."""
    top = Parser(prog="sepc", description=DESCRIPTION, allow_abbrev=False)
    add(top, "--version", "print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, own in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=own.help,
            description=f"{own.help[0].upper()}{own.help[1:]}.",
            epilog=own.example,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        own.add_arguments(command)
        add(command, "--json", "print the result as one JSON document")
        add(command, "--quiet", "print nothing but errors, warnings and --json")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; without `argv`, read the command line and exit the process."""
    code = _main(argv)
    if argv is None:
        # A reading thread may be blocked on a silent pipe, and Python would wait for it at exit; or it may be in the
        # middle of a table that is no longer needed, and Python would abort.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _main(argv: Sequence[str] | None) -> int:
    other = OTHER
    try:
        with _warnings_in_one_line(), interrupts_come_again():
            top = parser()
            options = _parsed(top, argv)
            other = COMMANDS[options.command].other if options.command else OTHER
            code = _run(top, options)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _report_error("interrupted", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except SystemExit as ended:  # argparse, after --help
        return int(ended.code or 0)
    except (InputError, ValueError, TypeError) as error:
        return _report_error(one_line(error), WRONG_INPUT, error)
    except MemoryError as error:
        return _report_error(f"{NO_MEMORY} ({one_line(error)})", other, error)
    except (ImportError, OSError) as error:
        return _report_error(one_line(error), other, error)
    except Exception as error:  # noqa: BLE001 - users see one line, whatever went wrong
        message = f"{type(error).__name__}: {one_line(error)}"
        return _report_error(f"{message} (a bug in sepc; set {TRACEBACK_VARIABLE}=1 for a traceback)", other, error)
    return code


def _run(top: Parser, options: argparse.Namespace) -> int:
    if options.version:
        from sepc.wording import version_of

        sys.stdout.write(f"sepc {version_of('sepc')}\n")
        return 0
    if options.command is None:
        top.error(f"give a command: {', '.join(COMMANDS)}")
    options.parser = top
    return COMMANDS[options.command].run(options) or 0


def _parsed(top: Parser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The options; DATA may also follow options, where argparse does not accept an optional argument."""
    options, rest = top.parse_known_args(argv)
    if len(rest) == 1 and getattr(options, "data", "") is None and (rest == ["-"] or not rest[0].startswith("-")):
        options.data, rest = rest[0], []
    if rest:
        top.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def _report_error(message: str, code: int, error: Exception | None = None) -> int:
    if error is not None and os.environ.get(TRACEBACK_VARIABLE):
        raise error
    complain(message)
    return code


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show each warning for users once, in one line; hide the deprecation warnings of other libraries."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if text not in seen:
            seen.add(text)
            sys.stderr.write(WIPE if sys.stderr.isatty() else "")
            complain(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning)
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.showwarning = show
        yield
