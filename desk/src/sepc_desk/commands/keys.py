"""`sepc-desk keys`."""

from __future__ import annotations

import argparse
from typing import Any

from sepc_desk.commands.options import add_common, engine_for
from sepc_desk.keys import all_keys, create_key, revoke_key
from sepc_desk.settings import ROLES


def add_commands(commands: Any) -> None:
    """Add the command."""
    keys = commands.add_parser("keys", help="create, list and revoke API keys")
    parts = keys.add_subparsers(required=True, metavar="ACTION")
    create = parts.add_parser("create", help="create a key, and print it for the only time")
    create.add_argument("--name", required=True, help="who uses it")
    create.add_argument("--models", required=True, nargs="+", help="the models that it may be used with; * for all")
    create.add_argument("--role", default="program", choices=ROLES)
    revoke = parts.add_parser("revoke", help="revoke a key")
    revoke.add_argument("id")
    listed = parts.add_parser("list", help="list all keys, without the secrets")
    for part, run in ((create, make_key), (revoke, refuse_key), (listed, list_keys)):
        add_common(part)
        part.set_defaults(run=run)


def make_key(options: argparse.Namespace) -> int:
    """Create a key."""
    # Otherwise the settings would take --models for the folder of models.
    models, options.models = options.models, None
    with engine_for(options) as engine:
        print(create_key(engine, options.name, models, options.role))
    return 0


def refuse_key(options: argparse.Namespace) -> int:
    """Revoke a key."""
    with engine_for(options) as engine:
        revoke_key(engine, options.id)
    print(f"Key {options.id} is revoked; running services refuse it within two seconds.")
    return 0


def list_keys(options: argparse.Namespace) -> int:
    """Show all keys."""
    with engine_for(options) as engine:
        known = all_keys(engine)
    for key in known.values():
        print(key.id, key.role, ",".join(sorted(key.models)), "revoked" if key.is_revoked else "", key.name, sep="  ")
    return 0
