"""`sepc-desk keys`."""

from __future__ import annotations

import argparse
from typing import Any

from sepc_desk.commands.options import add_common, caller, engine_for
from sepc_desk.keys import KEY_DAYS, all_keys, create_key, end_sessions, revoke_key
from sepc_desk.settings import ROLES


def add_commands(commands: Any) -> None:
    """Add the command."""
    keys = commands.add_parser("keys", help="create, list and revoke API keys")
    parts = keys.add_subparsers(required=True, metavar="ACTION")
    create = parts.add_parser("create", help="create a key, and print it for the only time")
    whose = create.add_mutually_exclusive_group(required=True)
    whose.add_argument("--program", help="the name of the program that uses it")
    whose.add_argument("--person", help="whose it is, by the `sub` of the sign-in")
    create.add_argument("--models", required=True, nargs="+", help="the models that it may be used with; * for all")
    create.add_argument("--role", default="program", choices=ROLES)
    create.add_argument("--days", type=int, default=KEY_DAYS, help="how long it can be used; default 365")
    revoke = parts.add_parser("revoke", help="revoke a key")
    revoke.add_argument("id")
    ended = parts.add_parser("end-sessions", help="end all sessions of a person, whose role was withdrawn")
    ended.add_argument("person", help="the name at the sign-in provider")
    listed = parts.add_parser("list", help="list all keys, without the secrets")
    for part, run in ((create, make_key), (revoke, refuse_key), (ended, send_away), (listed, list_keys)):
        add_common(part, run)


def make_key(options: argparse.Namespace) -> int:
    """Create a key."""
    # Otherwise the settings would take --models for the folder of models.
    models, options.models = options.models, None
    with engine_for(options) as engine:
        name, is_person = options.person or options.program, options.person is not None
        print(create_key(engine, name, models, options.role, is_person=is_person, days=options.days, by=caller()))
    return 0


def refuse_key(options: argparse.Namespace) -> int:
    """Revoke a key."""
    with engine_for(options) as engine:
        revoke_key(engine, options.id, caller())
    print(f"Key {options.id} is revoked; running services refuse it within five seconds.")
    return 0


def send_away(options: argparse.Namespace) -> int:
    """End the sessions of a person."""
    with engine_for(options) as engine:
        n = end_sessions(engine, options.person, caller())
    print(f"Ended {n} sessions of {options.person}.")
    return 0


def list_keys(options: argparse.Namespace) -> int:
    """Show all keys."""
    with engine_for(options) as engine:
        known = all_keys(engine)
    for key in known.values():
        state, whose = "revoked" if key.is_revoked else "", "person" if key.is_person else "program"
        print(key.id, key.role, ",".join(sorted(key.models)), state, whose, key.name, sep="  ")
    return 0
