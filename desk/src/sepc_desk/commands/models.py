"""`sepc-desk models`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sepc_desk.commands.options import add_common, caller, engine_for, settings_of
from sepc_desk.errors import ModelFolderError, SettingError
from sepc_desk.models import NAME_DIGITS, ModelFolder
from sepc_desk.owning.changes import go_live_in_emergency, live_digest


def add_commands(commands: Any) -> None:
    """Add the command."""
    models = commands.add_parser("models", help="add versions of models, and choose the live ones")
    parts = models.add_subparsers(required=True, metavar="ACTION")
    add = parts.add_parser("add", help="copy a .sepc file into the folder of models")
    add.add_argument("name")
    add.add_argument("file", type=Path)
    live = parts.add_parser("live", help="in an emergency, make a version live that nobody has agreed to")
    live.add_argument("name")
    live.add_argument("digest", help="the first digits of its digest")
    live.add_argument("--emergency", metavar="REASON", help="why nobody can be asked; the log keeps it")
    shown = parts.add_parser("list", help="show all versions")
    for part, run in ((add, add_model), (live, make_live), (shown, list_models)):
        add_common(part, run, models=True)


def add_model(options: argparse.Namespace) -> int:
    """Add a version of a model."""
    path = settings_of(options).models
    path.mkdir(parents=True, exist_ok=True)
    folder = ModelFolder(path)
    try:
        digest = folder.add(options.name, options.file)
    except OSError as error:
        raise ModelFolderError(f"{error.filename or options.file}: {error.strerror}.") from error
    is_first = len(folder.versions(options.name)) == 1
    state = "decides" if is_first else f"does not decide yet: compare and propose it at /models/{options.name}"
    print(f"Added {options.name} {digest[:NAME_DIGITS]}, which {state}.")
    return 0


def make_live(options: argparse.Namespace) -> int:
    """Make a version live that nobody has agreed to; the log and the page of the model say so."""
    if not (options.emergency or "").strip():
        raise SettingError(
            f"A version goes live when one owner proposes it at /models/{options.name} and another agrees. If that "
            'cannot wait, give the reason for the log: --emergency "REASON".'
        )
    folder = ModelFolder(settings_of(options).models)
    digest = folder.load(options.name, folder.known(options.name, options.digest)).digest
    with engine_for(options) as engine:
        before = go_live_in_emergency(engine, folder, options.name, digest, caller(), options.emergency)
    print(f"{options.name} {digest[:NAME_DIGITS]} is live instead of {before[:NAME_DIGITS]}, and nobody has agreed.")
    print("The log has the reason. Running services use it within two seconds.")
    return 0


def list_models(options: argparse.Namespace) -> int:
    """Show all versions."""
    folder = ModelFolder(settings_of(options).models)
    with engine_for(options) as engine, engine.connect() as connection:
        for name in folder.names():
            live = live_digest(connection, folder, name)
            for digest in folder.versions(name):
                print(name, digest[:NAME_DIGITS], "live" if digest == live else "", sep="  ")
    return 0
