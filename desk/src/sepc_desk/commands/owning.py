"""`sepc-desk plans` and `sepc-desk digest`."""

from __future__ import annotations

import argparse
import hashlib
from datetime import date
from pathlib import Path
from typing import Any

from sepc_desk.chain import note
from sepc_desk.commands.options import add_common, caller, engine_for, settings_of
from sepc_desk.commands.tables import labelled_rows
from sepc_desk.errors import SettingError
from sepc_desk.models import ModelFolder
from sepc_desk.owning.plans import PlanRows, set_plan
from sepc_desk.pages.languages import language
from sepc_desk.pages.model_view import digest_page
from sepc_desk.reading import today
from sepc_desk.reviewing.transactions import writing
from sepc_desk.settings import LANGUAGES


def add_commands(commands: Any) -> None:
    """Add the commands."""
    plans = commands.add_parser("plans", help="change plans, which judge changes of models")
    parts = plans.add_subparsers(required=True, metavar="ACTION")
    given = parts.add_parser("set", help="give a model a plan, and the labelled rows that candidates are judged on")
    given.add_argument("model")
    given.add_argument("plan", type=Path, help="a TOML file, as `sepc check-plan` takes it")
    given.add_argument("rows", type=Path, help="CSV with a header, or a JSON object in each line")
    given.add_argument("--label", required=True, help="the column with the right label")
    given.add_argument("--group", help="the column with the groups of the plan, if it has any")
    digest = commands.add_parser("digest", help="the week of a model as one HTML file")
    digest.add_argument("model")
    digest.add_argument("--output", type=Path, required=True)
    digest.add_argument("--week", help="any day of the week, as in 2026-11-18; today by default")
    digest.add_argument("--language", choices=LANGUAGES)
    for part, run in ((given, give_plan), (digest, write_digest)):
        add_common(part, run, models=True)


def give_plan(options: argparse.Namespace) -> int:
    """Give a model a plan."""
    folder = ModelFolder(settings_of(options).models)
    model = folder.load(options.model)
    rows, labels, groups = labelled_rows(options.rows, model, options.label, options.group)
    held = PlanRows(rows, labels, None if options.group is None else {options.group: groups})
    with engine_for(options) as engine:
        plan = set_plan(folder, model, options.plan, held)
        with writing(engine) as connection:
            digest = hashlib.sha256(options.plan.read_bytes()).hexdigest()
            note(connection, caller(), "plan set", f"sha256:{digest}", model.name)
    print(f"{model.name} is judged by {plan.title or options.plan.name} on {len(rows):,} rows.")
    return 0


def write_digest(options: argparse.Namespace) -> int:
    """Write the digest of a week."""
    settings = settings_of(options)
    model = ModelFolder(settings.models).load(options.model)
    try:
        day = date.fromisoformat(options.week) if options.week else today()
    except ValueError:
        raise SettingError(f"--week is {options.week!r}; give a day, as in 2026-11-18.") from None
    with engine_for(options) as engine, engine.connect() as connection:
        page = digest_page(connection, model, day, language(options.language or settings.language))
    options.output.write_text(page, encoding="utf-8")
    print(f"Written to {options.output}")
    return 0
