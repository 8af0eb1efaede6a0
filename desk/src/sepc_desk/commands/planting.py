"""`sepc-desk planted`."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from sepc_desk.columns import Kind
from sepc_desk.commands.options import add_common, caller, engine_for, settings_of
from sepc_desk.errors import SettingError
from sepc_desk.models import Model, ModelFolder
from sepc_desk.reviewing.planting import plant, remove_planted
from sepc_desk.rows import typed_row


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
        add_common(part, models=True)
        part.set_defaults(run=run)


def add_planted(options: argparse.Namespace) -> int:
    """Add cases with known labels."""
    model = ModelFolder(settings_of(options).models).load(options.model)
    rows, labels = [], []
    for i, given in enumerate(_rows(options.file, model)):
        if options.label not in given:
            raise SettingError(f"Row {i} of {options.file} has no column {options.label!r}; name it with --label.")
        label = given.pop(options.label)
        labels.append(_label(model, label))
        rows.append(typed_row(model.columns, given, i))
    with engine_for(options) as engine:
        n = plant(engine, model, rows, labels, caller())
    print(f"{n:,} cases of {model.name} are planted.")
    return 0


def forget_planted(options: argparse.Namespace) -> int:
    """Give out no more planted cases."""
    with engine_for(options) as engine:
        n = remove_planted(engine, options.model)
    print(f"{n:,} planted cases of {options.model} are removed.")
    return 0


def _rows(file: Path, model: Model) -> Iterator[dict[str, Any]]:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            if file.suffix == ".csv":
                numbers = {column.name for column in model.columns if column.kind is Kind.NUMBER}
                for i, given in enumerate(csv.DictReader(opened)):
                    yield {name: _cell(name, text, numbers, i) for name, text in given.items()}
            else:
                for line in opened:
                    yield orjson.loads(line)
    except OSError as error:
        raise SettingError(f"{file} cannot be read: {error.strerror}.") from error
    except orjson.JSONDecodeError as error:
        raise SettingError(f"{file} is not CSV, and has a line that is not a JSON object: {error}.") from error


def _cell(name: str, text: str, numbers: set[str], i: int) -> Any:
    if text == "":
        return None
    if name not in numbers:
        return text
    try:
        return float(text)
    except ValueError:
        raise SettingError(f"Column {name!r} holds numbers, and row {i} has {text[:60]!r}.") from None


def _label(model: Model, label: Any) -> Any:
    """A label of a file as the model has it; CSV holds text only."""
    return next((own for own in model.classes if label in (own, str(own))), label)
