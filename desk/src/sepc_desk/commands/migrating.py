"""`sepc-desk migrate`."""

from __future__ import annotations

import argparse
from typing import Any

from sepc_desk.commands.options import add_common, engine_for
from sepc_desk.migrations.running import allow, migrate
from sepc_desk.migrations.versioning import version_of


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("migrate", help="create the tables, or bring them to the newest version")
    add_common(parser, run_migrate)
    parser.add_argument("--to", default="head", help="the version to migrate to, up or down")
    parser.add_argument(
        "--service-role", help="the role of PostgreSQL that `serve` uses, which may only append to the log"
    )


def run_migrate(options: argparse.Namespace) -> int:
    """Migrate the database."""
    with engine_for(options, check=False) as engine:
        migrate(engine, options.to)
        if options.service_role is not None:
            allow(engine, options.service_role)
        print(f"The database is at version {version_of(engine) or 'none'}.")
    return 0
