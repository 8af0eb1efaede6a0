"""How the model of a file was made, step by step, whatever its description contains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from sepc.cards import Card, ShownAsCard
from sepc.io.codec import Node
from sepc.io.container import Arrays, digest
from sepc.model.edits import Edit
from sepc.wording import counted, name_of, short, visible

# Nodes of a deeper file are not followed, and of many models alike, such as those of strata, the first are described.
MOST_DEPTH = 16
MOST_MODELS = 20
# The most edits to list.
MOST_EDITS = 100
# Characters of all parameters of a step.
LONGEST = 2_000

FITTED = "fitted to"
NOT_RECORDED = "rows and versions not recorded: files of the first release do not say how a model was made"


@dataclass(frozen=True)
class Step:
    """One step in the making of a model."""

    kind: str
    part: str
    model: str
    done: str
    rows: str
    n_rows: int | None
    versions: tuple[str, ...]
    parent: str
    parameters: dict[str, Any]
    notes: tuple[str, ...]
    is_foreign: bool = False

    def lines(self) -> list[str]:
        """The step in words; the first line is its title."""
        title = self.kind + (f" ({self.part})" if self.part else "")
        lines = [f"{title}, model {self.model}" if self.model else title]
        if self.is_foreign:
            return [*lines, "a model of another library, which is not in the file"]
        if not self.versions:
            return [*lines, NOT_RECORDED]
        known = f"digest {self.rows}" if self.rows else "digest not recorded"
        lines.append(f"{self.done} {counted(self.n_rows or 0, 'row')}, {known}")
        lines += [f"made from model {self.parent}"] * bool(self.parent)
        lines += [*self.notes, f"with {', '.join(self.versions)}"]
        kept = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return [*lines, *([f"parameters: {short(visible(kept), LONGEST)}"] if kept else [])]


@dataclass(frozen=True, repr=False)
class ModelHistory(ShownAsCard):
    """How a model was made: its steps, the earliest first."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        each = (step.lines() for step in self.steps)
        return "\n".join(
            line
            for number, (title, *more) in enumerate(each, 1)
            for line in (f"{number}. {title}", *(f"   {text}" for text in more))
        )

    def _card(self) -> Card:
        rows = tuple(
            (str(number), step.kind, f"{step.done} {counted(step.n_rows, 'row')}" if step.n_rows else "not recorded")
            for number, step in enumerate(self.steps, 1)
        )
        note = "print(...) shows digests, versions and parameters."
        return Card("How the model was made", head=("step", "estimator", "rows"), rows=rows, note=note)


def digest_of_model(node: Node, arrays: Mapping[str, Any]) -> str:
    """SHA-256 of a model as files hold it, given its node and its arrays by their names in this node."""
    return digest(arrays, {**node, "frozen": False})


def history_of(node: Node, arrays: Arrays) -> ModelHistory:
    """The history of the model of a file, from its description, of which nothing has been checked."""
    return ModelHistory(tuple(_steps(node, _under("model/", arrays), "", MOST_DEPTH)))


def _steps(node: Any, arrays: Arrays, part: str, n_deep: int) -> Iterator[Step]:
    """The steps that made the models inside, then the one that made this node."""
    if not isinstance(node, dict) or n_deep == 0:
        return
    inner = ""
    held = _mapping(node, "estimator")
    if "ours" in held:
        within = _under("estimator/ours/", arrays)
        yield from _steps(held["ours"], within, "", n_deep - 1)
        inner = _digest(held["ours"], within)
    elif "foreign" in held:
        yield _foreign(held["foreign"])
    for name, child, path in _parts_of(node):
        yield from _steps(child, _under(path, arrays), name, n_deep - 1)
    yield _step(node, arrays, part, inner)


def _parts_of(node: Node) -> Iterator[tuple[str, Any, str]]:
    """Models inside a wrapper other than the one it wraps: what to call each, its node, and the path of its arrays."""
    if isinstance(node.get("partition"), dict):
        yield "partition", node["partition"], "partition/"
    default = _mapping(node, "default")
    if "ours" in default:
        yield "default", default["ours"], "default/ours/"
    models = node.get("models")
    named = enumerate(models) if isinstance(models, list) else _mapping(node, "models").items()
    for number, (name, child) in enumerate(named):
        if number == MOST_MODELS:
            return
        yield f"part {name_of(name)}", child, f"models/{name}/"


def _step(node: Node, arrays: Arrays, part: str, inner: str) -> Step:
    kind = node.get("kind", "SEPClassifier")
    made = _mapping(node, "provenance")
    versions, n_rows = made.get("versions"), made.get("n_rows")
    parameters = _mapping(_mapping(node, "parameters"), "kept")
    return Step(
        kind=name_of(kind),
        part=part,
        model=_digest(node, arrays) if "kind" in node else "",
        done="repaired with" if "changes" in node else "calibrated on" if kind == "SelectiveClassifier" else FITTED,
        rows=_text(made, "rows"),
        n_rows=n_rows if isinstance(n_rows, int) else None,
        versions=tuple(map(name_of, versions)) if isinstance(versions, list) else (),
        parent=_text(made, "parent") or inner,
        parameters={name_of(name): value for name, value in parameters.items()},
        notes=tuple(_notes(node)),
    )


def _notes(node: Node) -> Iterator[str]:
    """What changed in a step, beside its rows: which regions a repair gave a new model, and what experts edited."""
    changes = node.get("changes")
    if isinstance(changes, list):
        kept = [change.get("region") for change in changes if isinstance(change, dict) and change.get("kept") is True]
        yield (
            f"new models for {counted(len(kept), 'region')}: {', '.join(map(name_of, kept))}"
            if kept
            else ("no region has a new model")
        )
    yield from (f"edited: {edit}" for edit in edits_in_words(node))


def edits_in_words(node: Node) -> list[str]:
    """What experts edited in the model of a node; entries that are no edits are shown as they are."""
    made = _mapping(node, "edits").get("made")
    return [_edit_in_words(edit) for edit in made[:MOST_EDITS]] if isinstance(made, list) else []


def _edit_in_words(edit: Any) -> str:
    try:
        return str(Edit(**{field.name: edit[field.name] for field in fields(Edit)}))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return name_of(edit)


def _foreign(node: Any) -> Step:
    kind = node.get("kind") if isinstance(node, dict) else None
    return Step(name_of(kind), "", "", FITTED, "", None, (), "", {}, (), is_foreign=True)


def _digest(node: Any, arrays: Arrays) -> str:
    return digest_of_model(node, arrays) if isinstance(node, dict) else ""


def _under(path: str, arrays: Arrays) -> Arrays:
    """The arrays under this path, by their names there."""
    return {name.removeprefix(path): array for name, array in arrays.items() if name.startswith(path)}


def _mapping(node: Node, name: str) -> Node:
    found = node.get(name)
    return found if isinstance(found, dict) else {}


def _text(node: Node, name: str) -> str:
    found = node.get(name)
    return name_of(found) if isinstance(found, str) else ""
