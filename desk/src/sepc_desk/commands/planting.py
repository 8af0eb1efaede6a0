"""`sepc-desk planted`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sepc_desk.commands.options import add_common, caller, engine_for, settings_of
from sepc_desk.commands.tables import labelled_rows
from sepc_desk.models import ModelFolder
from sepc_desk.reviewing.planting import plant, remove_planted


def add_commands(commands: Any) -> None:
    """Add the command."""
    planted = commands.add_parser("planted", help="cases with known labels that reviewers get among the others")
    parts = planted.add_subparsers(required=True, metavar="ACTION")
    add = parts.add_parser("add", help="add cases of a file: CSV with a header, or a JSON object in each line")
    add.add_argument("model")
    add.add_argument("file", type=Path)
    add.add_argument("--label", required=True, help="the column with the right label")
    remove = parts.add_parser("remove", help="give out no more planted cases of a model, and forget their rows")
    remove.add_argument("model")
    for part, run in ((add, add_planted), (remove, forget_planted)):
        add_common(part, run, models=True)


def add_planted(options: argparse.Namespace) -> int:
    """Add cases with known labels."""
    model = ModelFolder(settings_of(options).models).load(options.model)
    rows, labels, _ = labelled_rows(options.file, model, options.label)
    with engine_for(options) as engine:
        n = plant(engine, model, rows, labels, caller())
    print(f"{n:,} cases of {model.name} are planted.")
    return 0


def forget_planted(options: argparse.Namespace) -> int:
    """Give out no more planted cases."""
    with engine_for(options) as engine:
        n = remove_planted(engine, options.model, caller())
    print(f"{n:,} planted cases of {options.model} are removed.")
    return 0
