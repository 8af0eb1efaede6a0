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
    gone = commands.add_parser("erase", help="remove what a case held; label and acceptance stay")
    add_common(gone)
    gone.add_argument("id")
    gone.set_defaults(run=run_erase)

    old = commands.add_parser("retention", help="remove what all cases older than some days held")
    add_common(old)
    old.add_argument("--days", type=int, required=True, help="cases of the last so many days keep what they hold")
    old.add_argument("--model", help="only those of this model")
    old.set_defaults(run=run_retention)

    clean = commands.add_parser("scrub", help="rewrite the files of the database after an erasure; locks it meanwhile")
    add_common(clean)
    clean.set_defaults(run=run_scrub)


def run_erase(options: argparse.Namespace) -> int:
    """Erase a case."""
    with engine_for(options) as engine:
        erased = erase(engine, options.id, caller())
    if erased.receipt is None:
        print("There was nothing left to erase.")
        return 0
    print(f"{erased.n_entries} entries are erased; place {erased.receipt.place} of the chain says so.")
    print(_left_behind(engine.dialect.name))
    return 0


def run_retention(options: argparse.Namespace) -> int:
    """Erase old cases."""
    if options.days < 0:
        raise SettingError("--days is a number of days from 0 on.")
    until = microseconds(datetime.now(UTC) - timedelta(days=options.days))
    with engine_for(options) as engine:
        erased = erase_until(engine, until, caller(), options.model)
    print(f"{erased.n_entries:,} entries from before {time_of(until)} are erased.")
    if erased.n_entries:
        print(_left_behind(engine.dialect.name))
    return 0


def _left_behind(dialect: str) -> str:
    if dialect == "postgresql":
        return "Old row versions, WAL and backups still hold it; `sepc-desk scrub` rewrites the files of the database."
    return "Backups still hold it until they run out; `sepc-desk scrub` empties the WAL now."


def run_scrub(options: argparse.Namespace) -> int:
    """Rewrite the files of the database."""
    try:
        with engine_for(options) as engine:
            steps = scrub(engine)
    except DBAPIError as error:
        raise SettingError(
            f"Not all of it could be done: {str(error.orig).splitlines()[0]}. It takes the owner of the table, with "
            "the role pg_checkpoint and the right to execute pg_switch_wal()."
        ) from error
    print(f"Done: {'; '.join(steps)}.")
    return 0
