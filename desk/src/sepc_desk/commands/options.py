"""Options that several commands have, and what they stand for."""

from __future__ import annotations

import argparse
import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

try:
    import pwd
except ImportError:  # on Windows
    pwd = None  # type: ignore[assignment]

from sepc_desk.database import check_durable, engine_of
from sepc_desk.migrations.versioning import check_version
from sepc_desk.settings import FILE, Settings, load_settings

# Settings that commands have options for.
GIVEN = ("database", "models", "host", "port", "processes")


def add_common(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int], *, models: bool = False
) -> None:
    """Let a parser run a command, with the options for settings, database and models."""
    parser.set_defaults(run=run)
    parser.add_argument("--settings", type=Path, help="a TOML file of settings; also SEPC_DESK_SETTINGS")
    parser.add_argument("--database", help="such as postgresql://user@host/name or sqlite:///desk.db")
    if models:
        parser.add_argument("--models", type=Path, help="the folder of models; default ./models")


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings of a command."""
    environment = dict(os.environ)
    if options.settings is not None:
        environment[FILE] = str(options.settings)
    return load_settings(environment, **{name: getattr(options, name, None) for name in GIVEN})


@contextmanager
def engine_for(options: argparse.Namespace, *, check: bool = True) -> Iterator[Engine]:
    """The database of a command; by default it must be at the newest version."""
    settings = settings_of(options)
    engine = engine_of(settings)
    try:
        check_durable(engine, settings)
        if check:
            check_version(engine)
        yield engine
    finally:
        engine.dispose()


def caller() -> str:
    """Who runs a command, as the log has it."""
    # By the user id, since anyone can set the variables that hold the name.
    try:
        own = getpass.getuser() if pwd is None else pwd.getpwuid(os.getuid()).pw_name
    except (OSError, KeyError):
        own = "unknown"
    return f"command:{own}"
