"""`sepc-desk erase`, `retention` and `scrub`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.exc import DBAPIError

from sepc_desk.commands.options import add_common, caller, engine_for
from sepc_desk.entries import time_of
from sepc_desk.erasing import erase, erase_until, scrub
from sepc_desk.errors import SettingError
from sepc_desk.reading import microseconds


def add_commands(commands: Any) -> None:
    """Add the commands."""
    gone = commands.add_parser("erase", help="erase the private data of a case; label and acceptance stay")
    add_common(gone)
    gone.add_argument("id")
    gone.set_defaults(run=run_erase)

    old = commands.add_parser("retention", help="erase the private data of all old cases")
    add_common(old)
    old.add_argument("--days", type=int, required=True, help="erase cases that are more than this many days old")
    old.add_argument("--model", help="only cases of this model")
    old.set_defaults(run=run_retention)

    clean = commands.add_parser(
        "scrub", help="rewrite the database files after an erasure; locks the database meanwhile"
    )
    add_common(clean)
    clean.set_defaults(run=run_scrub)


def run_erase(options: argparse.Namespace) -> int:
    """Erase a case."""
    with engine_for(options) as engine:
        erased = erase(engine, options.id, caller())
    if erased.receipt is None:
        print("There was nothing left to erase.")
        return 0
    print(f"Erased {_counted(erased.n_entries)}; place {erased.receipt.place} of the chain records it.")
    print(_left_behind(engine.dialect.name))
    return 0


def run_retention(options: argparse.Namespace) -> int:
    """Erase old cases."""
    if options.days < 0:
        raise SettingError("--days must be 0 or more.")
    until = microseconds(datetime.now(UTC) - timedelta(days=options.days))
    with engine_for(options) as engine:
        erased = erase_until(engine, until, caller(), options.model)
    print(f"Erased {_counted(erased.n_entries)} from before {time_of(until)}.")
    if erased.n_entries:
        print(_left_behind(engine.dialect.name))
    return 0


def _counted(n: int) -> str:
    return "1 entry" if n == 1 else f"{n:,} entries"


def _left_behind(dialect: str) -> str:
    if dialect == "postgresql":
        return (
            "Old row versions, WAL and backups still contain the data; `sepc-desk scrub` rewrites the database files."
        )
    return "Backups still contain the data; `sepc-desk scrub` empties the WAL now."


def run_scrub(options: argparse.Namespace) -> int:
    """Rewrite the files of the database."""
    try:
        with engine_for(options) as engine:
            steps = scrub(engine)
    except DBAPIError as error:
        raise SettingError(
            f"Not all steps succeeded: {str(error.orig).splitlines()[0]}. They need the owner of the table, with "
            "the role pg_checkpoint and the right to execute pg_switch_wal()."
        ) from error
    print(f"Done: {'; '.join(steps)}.")
    return 0
