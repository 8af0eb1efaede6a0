"""How the model of a file was made, step by step, as its description says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
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
    part: str = ""
    model: str = ""
    done: str = FITTED
    rows: str = ""
    n_rows: int | None = None
    versions: tuple[str, ...] = ()
    parent: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
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


def _steps(node: Node, arrays: Arrays, part: str, n_deep: int) -> Iterator[Step]:
    """The steps that made the models inside, then the one that made this node."""
    if n_deep == 0:
        return
    inner, held = "", node.get("estimator") or {}
    if "ours" in held:
        within = _under("estimator/ours/", arrays)
        yield from _steps(held["ours"], within, "", n_deep - 1)
        inner = digest_of_model(held["ours"], within)
    elif held:
        yield Step(name_of(held["foreign"]["kind"]), is_foreign=True)
    for name, child, path in _parts_of(node):
        yield from _steps(child, _under(path, arrays), name, n_deep - 1)
    made, kind = node.get("provenance") or {}, node.get("kind", "SEPClassifier")
    kept = (node.get("parameters") or {}).get("kept", {})
    yield Step(
        kind=name_of(kind),
        part=part,
        model=digest_of_model(node, arrays) if "kind" in node else "",
        done="repaired with" if "changes" in node else "calibrated on" if kind == "SelectiveClassifier" else FITTED,
        rows=name_of(made.get("rows", "")),
        n_rows=int(made["n_rows"]) if made else None,
        versions=tuple(map(name_of, made.get("versions", ()))),
        parent=name_of(made.get("parent", "")) or inner,
        parameters={name_of(name): value for name, value in kept.items()},
        notes=tuple(_notes(node)),
    )


def _parts_of(node: Node) -> Iterator[tuple[str, Node, str]]:
    """Models inside a wrapper other than the one it wraps: what to call each, its node, and the path of its arrays."""
    if node.get("partition"):
        yield "partition", node["partition"], "partition/"
    if "ours" in (node.get("default") or {}):
        yield "default", node["default"]["ours"], "default/ours/"
    models = node.get("models") or {}
    named = enumerate(models) if isinstance(models, list) else models.items()
    for name, child in islice(named, MOST_MODELS):
        yield f"part {name_of(name)}", child, f"models/{name}/"


def _notes(node: Node) -> Iterator[str]:
    """What changed in a step, beside its rows: which regions a repair gave a new model, and what experts edited."""
    if node.get("changes") is not None:
        kept = [name_of(change["region"]) for change in node["changes"] if change["kept"]]
        new = f"new models for {counted(len(kept), 'region')}: {', '.join(kept)}"
        yield new if kept else "no region has a new model"
    yield from (f"edited: {edit}" for edit in edits_in_words(node))


def edits_in_words(node: Node) -> list[str]:
    """What experts edited in the model of a node."""
    made = (node.get("edits") or {}).get("made", [])
    return [str(Edit(**{field.name: edit[field.name] for field in fields(Edit)})) for edit in made[:MOST_EDITS]]


def _under(path: str, arrays: Arrays) -> Arrays:
    """The arrays under this path, by their names there."""
    return {name.removeprefix(path): array for name, array in arrays.items() if name.startswith(path)}
