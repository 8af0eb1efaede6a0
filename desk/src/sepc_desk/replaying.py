"""Repeat decisions from the log and the models, and report what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Engine, Row

from sepc_desk.context import differences, machine
from sepc_desk.deciding import Decided, decide_rows
from sepc_desk.entries import EntryKind
from sepc_desk.errors import ModelFolderError
from sepc_desk.models import Model, ModelFolder
from sepc_desk.reading import blocks_of, context_by_digest
from sepc_desk.schema import entries

# How far trust and probabilities may differ on another machine or with other versions.
TOLERANCE = 1e-12
MOST_TOLD = 20


@dataclass
class Replayed:
    """The result of repeating decisions.

    Attributes
    ----------
    n_identical : int
        Equal to the last bit.
    n_close : int
        Made on another machine or with other versions: label and acceptance are equal, and trust and probabilities
        agree to 1e-12.
    n_different : int
    n_erased : int
        Decisions whose row was erased.
    n_without_model : int
        Decisions of models that are not in the folder.
    told : list of str
        What differs.
    elsewhere : set of str
        What is different on this machine from where decisions were made.
    """

    n_identical: int = 0
    n_close: int = 0
    n_different: int = 0
    n_erased: int = 0
    n_without_model: int = 0
    told: list[str] = field(default_factory=list)
    elsewhere: set[str] = field(default_factory=set)

    def tell(self, line: str) -> None:
        """Note what differs."""
        if len(self.told) < MOST_TOLD:
            self.told.append(line)


def replay(engine: Engine, folder: ModelFolder, *conditions: ColumnElement[bool]) -> Replayed:
    """Repeat the decisions in the log that fulfil these conditions; without conditions, all of them."""
    replayed = Replayed()
    models: dict[str, tuple[Model | None, bool]] = {}
    with engine.connect() as connection:
        for block in blocks_of(connection, entries.c.kind == EntryKind.DECISION, *conditions):
            by_context: dict[str, list[Row[Any]]] = {}
            for found in block:
                if found.private is None:
                    replayed.n_erased += 1
                else:
                    by_context.setdefault(found.context, []).append(found)
            for digest, some in by_context.items():
                if digest not in models:
                    models[digest] = _model(replayed, folder, context_by_digest(connection, digest))
                _again(replayed, some, *models[digest])
    return replayed


def _model(replayed: Replayed, folder: ModelFolder, context: str | None) -> tuple[Model | None, bool]:
    """The model of a context, and whether it decided where versions and processor are those of this machine."""
    if context is None:
        replayed.tell("A context is missing from the log, so its decisions cannot be repeated; run `sepc-desk verify`.")
        return None, False
    node = orjson.loads(context)
    other = differences(node, machine())
    replayed.elsewhere.update(other)
    try:
        return folder.load(node["model"]["name"], node["model"]["digest"]), not other
    except ModelFolderError as error:
        replayed.tell(str(error))
        return None, False


def _again(replayed: Replayed, some: Sequence[Row[Any]], model: Model | None, is_same: bool) -> None:
    if model is None:
        replayed.n_without_model += len(some)
        return
    privates = [orjson.loads(found.private) for found in some]
    explained = [i for i, private in enumerate(privates) if "reason" in private]
    plain = [i for i in range(len(some)) if i not in set(explained)]
    for which, explain in ((plain, False), (explained, True)):
        if which:
            decided = decide_rows(model, [privates[i]["row"] for i in which], explain)
            for i, own in zip(which, decided, strict=True):
                _compare(replayed, some[i], privates[i], own, is_same)


def _compare(replayed: Replayed, found: Row[Any], before: dict[str, Any], now: Decided, is_same: bool) -> None:
    wrong = []
    if found.label != now.label_text:
        wrong.append(f"the label was {found.label}, now is {now.label_text}")
    if bool(found.accepted) != now.accepted:
        wrong.append("was accepted, now is not" if found.accepted else "was not accepted, now is")
    off = _off(before["trust"], before["probabilities"], now)
    if wrong or off > TOLERANCE or (is_same and not _is_identical(found, before, now)):
        replayed.n_different += 1
        replayed.tell(
            f"{found.id}: {', '.join(wrong) or 'not the same to the last bit'}; "
            f"trust and probabilities differ by up to {off:.3g}"
        )
    elif _is_identical(found, before, now):
        replayed.n_identical += 1
    else:
        replayed.n_close += 1


def _off(trust: float | None, probabilities: list[float | None], now: Decided) -> float:
    """The largest difference in trust or a probability; infinite if one has a number and the other none."""
    pairs = [(trust, now.trust), *zip(probabilities, now.probabilities, strict=True)]
    numbers = [(a, b) for a, b in pairs if a is not None and b is not None and b == b]
    return (
        float("inf") if (trust is None) != (now.trust is None) else max((abs(a - b) for a, b in numbers), default=0.0)
    )


def _is_identical(found: Row[Any], before: dict[str, Any], now: Decided) -> bool:
    """Whether everything that the log has of a decision is the same text again, so the same to the last bit."""
    again = orjson.loads(orjson.dumps(now.private(before["row"])))
    return found.cause == now.cause and orjson.dumps(again) == orjson.dumps(before)
