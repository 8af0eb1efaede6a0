"""The change plan of a model: a file in the model's folder, with the rows that candidates are judged on."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from sepc.lifecycle import ChangePlan, PlanCheck, check_plan, row_digest

from sepc_desk.errors import ModelFolderError
from sepc_desk.models import NAME_DIGITS, Model, ModelFolder
from sepc_desk.rows import Row

PLAN, ROWS = "plan.toml", "plan.rows.json"
LEDGER = "plan.ledger.jsonl"
# Plans that were replaced, with their ledgers.
FORMER = "plans"


@dataclass(frozen=True)
class PlanRows:
    """Rows that judge candidates.

    Attributes
    ----------
    rows : list of Row
    labels : list
        The right labels.
    groups : dict or None
        The name of a column of groups, and its values.
    """

    rows: list[Row]
    labels: list[Any]
    groups: dict[str, list[Any]] | None = None


def plan_of(folder: ModelFolder, name: str) -> ChangePlan | None:
    """The plan of a model; None if it has none."""
    path = folder.path / name / PLAN
    return ChangePlan.load(path) if path.is_file() else None


def set_plan(folder: ModelFolder, model: Model, plan: Path, given: PlanRows) -> ChangePlan:
    """Give a model a plan; the one before is kept with its ledger, and cannot be used again."""
    home = folder.path / model.name
    try:
        content, loaded = plan.read_bytes(), ChangePlan.load(plan)
    except OSError as error:
        raise ModelFolderError(f"{plan} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ModelFolderError(f"{plan} is not a change plan: {error}") from error
    digest = hashlib.sha256(content).hexdigest()
    if (home / FORMER / digest[:NAME_DIGITS]).exists() or (home / PLAN).is_file() and _digest(home / PLAN) == digest:
        raise ModelFolderError(
            f"{plan} was a plan of {model.name} before. A plan is for its own rows and candidates; write a new one."
        )
    if loaded.rows.digest:
        groups = None if given.groups is None else np.array(next(iter(given.groups.values())), dtype=object)
        found = row_digest(loaded.rows.key, model.table(given.rows), np.array(given.labels), groups)
        if found != loaded.rows.digest:
            raise ModelFolderError(f"These are not the rows that {plan} fixes: their digest is {found}.")
    if (home / PLAN).is_file():
        _put_away(home)
    (home / ROWS).write_bytes(orjson.dumps(vars(given)))
    (home / PLAN).write_bytes(content)
    return loaded


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _put_away(home: Path) -> None:
    former = home / FORMER / _digest(home / PLAN)[:NAME_DIGITS]
    former.mkdir(parents=True)
    for name in (ROWS, LEDGER, PLAN):
        if (home / name).is_file():
            shutil.move(home / name, former / name)


def judge(folder: ModelFolder, old: Model, new: Model) -> PlanCheck:
    """Judge a candidate by the plan of its model; raises a ValueError or a `RefusedLookError` if it cannot be judged.

    The answer is in the ledger beside the plan before it is returned.
    """
    home = folder.path / old.name
    held = orjson.loads((home / ROWS).read_bytes())
    X = old.table(held["rows"])
    groups = None if held["groups"] is None else {name: np.array(own) for name, own in held["groups"].items()}
    return check_plan(home / PLAN, old.estimator, new.estimator, X, np.array(held["labels"]), groups)
