"""`sepc-desk replay`."""

from __future__ import annotations

import argparse
from datetime import date
from typing import Any

from sepc_desk.commands.options import add_common, engine_for, settings_of
from sepc_desk.errors import SettingError
from sepc_desk.models import ModelFolder
from sepc_desk.reading import day_bounds
from sepc_desk.replaying import replay
from sepc_desk.schema import entries

FOUND = 3


def add_commands(commands: Any) -> None:
    """Add the command."""
    again = commands.add_parser("replay", help="repeat decisions from the log, and report what differs")
    add_common(again, run_replay, models=True)
    again.add_argument("id", nargs="?", help="the id of one decision")
    again.add_argument("--day", type=day, metavar="DAY", help="all decisions of a day, in UTC")
    again.add_argument("--all", action="store_true", help="all decisions of the log")


def day(text: str) -> date:
    """A day on the command line."""
    return date.fromisoformat(text)


def run_replay(options: argparse.Namespace) -> int:
    """Repeat decisions."""
    if sum([options.id is not None, options.day is not None, options.all]) != 1:
        raise SettingError("Name what to replay: an id, --day 2026-11-18 or --all.")
    conditions = []
    if options.id is not None:
        conditions = [entries.c.id == options.id]
    elif options.day is not None:
        first, last = day_bounds(options.day)
        conditions = [entries.c.at >= first, entries.c.at < last]
    with engine_for(options) as engine:
        found = replay(engine, ModelFolder(settings_of(options).models), *conditions)
    n = found.n_identical + found.n_close + found.n_different + found.n_erased + found.n_without_model
    if n == 0:
        raise SettingError("There is no such decision in the log.")
    print(f"{n:,} {'decision' if n == 1 else 'decisions'}: {found.n_identical:,} identical to the last bit", end="")
    others = {"equal to 1e-12": found.n_close, "different": found.n_different, "erased": found.n_erased}
    others["of models that are not in the folder"] = found.n_without_model
    print("".join(f", {count:,} {what}" for what, count in others.items() if count) + ".")
    for line in sorted(found.elsewhere):
        print(f"Made under other conditions: {line}.")
    for line in found.told:
        print(f"- {line}")
    return FOUND if found.n_different or found.n_without_model else 0
