"""`sepc-desk erase`, `retention` and `scrub`."""

from __future__ import annotations

import argparse
from typing import Any

from sqlalchemy.exc import DBAPIError

from sepc_desk.commands.options import add_common, caller, engine_for
from sepc_desk.erasing import erase, erase_older, scrub
from sepc_desk.errors import SettingError


def add_commands(commands: Any) -> None:
    """Add the commands."""
    gone = commands.add_parser("erase", help="erase the private data of a case; label and acceptance stay")
    add_common(gone, run_erase)
    gone.add_argument("id")

    old = commands.add_parser("retention", help="erase the private data of all old cases")
    add_common(old, run_retention)
    old.add_argument("--days", type=int, required=True, help="erase cases that are more than this many days old")
    old.add_argument("--model", help="only cases of this model")

    clean = commands.add_parser(
        "scrub", help="rewrite the database files after an erasure; locks the database meanwhile"
    )
    add_common(clean, run_scrub)


def run_erase(options: argparse.Namespace) -> int:
    """Erase a case."""
    with engine_for(options) as engine:
        erased = erase(engine, options.id, caller())
    if erased.is_waiting:
        print("Nothing is erased yet: another person must ask for the same. The log has who asks.")
        return 0
    if erased.receipt is None:
        print("There was nothing left to erase.")
        return 0
    print(f"Erased {_counted(erased.n_entries)}; place {erased.receipt.place} of the chain records it.")
    print(_left_behind(engine.dialect.name))
    return 0


def run_retention(options: argparse.Namespace) -> int:
    """Erase old cases."""
    if not 0 <= options.days < 10**5:
        raise SettingError("--days must be from 0 to 99,999.")
    with engine_for(options) as engine:
        erased = erase_older(engine, options.days, caller(), options.model)
    if erased.is_waiting:
        print("Nothing is erased yet: another person must ask for the same days once. The log has who asks.")
        return 0
    print(f"Erased {_counted(erased.n_entries)} of more than {options.days} days ago.")
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
