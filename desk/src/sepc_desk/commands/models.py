"""`sepc-desk models`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sepc_desk.commands.options import add_common, settings_of
from sepc_desk.errors import ModelFolderError
from sepc_desk.models import NAME_DIGITS, ModelFolder


def add_commands(commands: Any) -> None:
    """Add the command."""
    models = commands.add_parser("models", help="add versions of models, and choose the live ones")
    parts = models.add_subparsers(required=True, metavar="ACTION")
    add = parts.add_parser("add", help="copy a .sepc file into the folder of models")
    add.add_argument("name")
    add.add_argument("file", type=Path)
    live = parts.add_parser("live", help="make a version live")
    live.add_argument("name")
    live.add_argument("digest", help="the first digits of its digest")
    shown = parts.add_parser("list", help="show all versions")
    for part, run in ((add, add_model), (live, make_live), (shown, list_models)):
        add_common(part, models=True)
        part.set_defaults(run=run)


def _folder(options: argparse.Namespace, *, make: bool = False) -> ModelFolder:
    path = settings_of(options).models
    if make:
        path.mkdir(parents=True, exist_ok=True)
    return ModelFolder(path)


def add_model(options: argparse.Namespace) -> int:
    """Add a version of a model."""
    folder = _folder(options, make=True)
    try:
        digest = folder.add(options.name, options.file)
    except OSError as error:
        raise ModelFolderError(f"{error.filename or options.file}: {error.strerror}.") from error
    state = "live" if folder.versions(options.name) and _is_live(folder, options.name, digest) else "not live yet"
    print(f"Added {options.name} {digest[:NAME_DIGITS]}, which is {state}.")
    return 0


def _is_live(folder: ModelFolder, name: str, digest: str) -> bool:
    try:
        return folder.live_digest(name) == digest
    except ModelFolderError:
        return False


def make_live(options: argparse.Namespace) -> int:
    """Choose the version that decides."""
    digest = _folder(options).make_live(options.name, options.digest)
    print(f"{options.name} {digest[:NAME_DIGITS]} is live; running services use it within two seconds.")
    return 0


def list_models(options: argparse.Namespace) -> int:
    """Show all versions."""
    folder = _folder(options)
    for name in folder.names():
        for digest in folder.versions(name):
            print(name, digest[:NAME_DIGITS], "live" if _is_live(folder, name, digest) else "", sep="  ")
    return 0
