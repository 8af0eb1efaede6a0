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

from sepc.cli import (
    audit,
    certify,
    check_plan,
    completion,
    counts,
    diff,
    explain,
    export,
    fit,
    forget,
    inspect,
    landscape,
    look,
    monitor,
    repair,
    report,
    review,
    score,
    sign,
    verify,
    verify_receipt,
)
from sepc.cli._messages import (
    INTERRUPTED,
    OTHER,
    WRONG_INPUT,
    InputError,
    add_printing_arguments,
    complain,
    interrupts_come_again,
    one_line,
)

GROUPS: dict[str, dict[str, Any]] = {
    "a model": {
        "look": look,
        "landscape": landscape,
        "fit": fit,
        "score": score,
        "explain": explain,
        "report": report,
    },
    "a model in production": {
        "monitor": monitor,
        "review": review,
        "audit": audit,
        "repair": repair,
        "diff": diff,
        "check-plan": check_plan,
        "counts": counts,
        "certify": certify,
        "forget": forget,
        "verify-receipt": verify_receipt,
    },
    "files": {
        "inspect": inspect,
        "export": export,
        "sign": sign,
        "verify": verify,
        "completion": completion,
    },
}
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}

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
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=_sentence(module.HELP),
            epilog=getattr(module, "EXAMPLE", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(command)
        add_printing_arguments(command)
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
            other = getattr(COMMANDS.get(options.command), "OTHER", OTHER)
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


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


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
