"""Save, load and look into model files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, cast

from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from sepc.cards import Card, ShownAsCard
from sepc.errors import FormatError
from sepc.estimators.opened import name_of, opened
from sepc.estimators.repaired import state as repaired_state
from sepc.estimators.repaired.estimator import RepairedClassifier
from sepc.estimators.selective import state as selective_state
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep import state as sep_state
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.stratified import state as stratified_state
from sepc.estimators.stratified.estimator import StratifiedClassifier
from sepc.estimators.trusted import state as trusted_state
from sepc.estimators.trusted.estimator import TrustedClassifier
from sepc.io.atomic_files import write_whole
from sepc.io.container import FORMAT, decode, encode, read_bytes
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.writer import Node, Writer

# Wrappers may stand in wrappers, but not without end.
MOST_NESTED = 8


class State(Protocol):
    """How one kind of estimator is written and read: the module `state` of its folder."""

    def write(self, estimator: Any, writer: Writer, inner: InnerModels) -> Node:
        """The node of a fitted estimator."""

    def read(self, reader: Reader, inner: InnerModels) -> Any:
        """The estimator of a node."""


# A new kind of estimator is a folder in `estimators`, and a line here.
STATES: dict[type, State] = {
    SEPClassifier: cast(State, sep_state),
    TrustedClassifier: cast(State, trusted_state),
    SelectiveClassifier: cast(State, selective_state),
    StratifiedClassifier: cast(State, stratified_state),
    RepairedClassifier: cast(State, repaired_state),
}
BY_NAME = {kind.__name__: state for kind, state in STATES.items()}


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator of this library to one file, which holds no code and no training rows but isolated ones.

    Parameters
    ----------
    estimator : SEPClassifier or any other estimator of this library
        Fitted; also as the best of a search. Of a model inside that is not ours only a fingerprint is written.
    path : str or Path
        By custom it ends in ``.sepc``. An old file of that name is replaced at once, or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import sepc
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = sepc.SEPClassifier().fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "iris.sepc"
    >>> sepc.save(classifier, path)
    >>> again = sepc.load(path)
    >>> bool((again.predict(X) == classifier.predict(X)).all())
    True
    >>> print(sepc.inspect(path))
    SEPClassifier...
    """
    write_whole(path, to_bytes(estimator))


def load(path: str | Path, *, estimator: Any = None, transformer: Any = None) -> Any:
    """Read an estimator from a file that may come from anyone: no code in it is run.

    Parameters
    ----------
    path : str or Path
    estimator : fitted classifier, optional
        The model that is not ours, if the file was saved around one; it must be the same one.
    transformer : fitted transformer, optional
        The transformer of a `TrustedClassifier`, if it had one.

    Returns
    -------
    estimator
        Its decisions are those of the one that was saved, bit for bit.

    Raises
    ------
    FormatError
        If the file is damaged, hostile, or of a format that this version does not read.
    ForeignModelError
        If the file was saved around a model that is not ours, and that model is not given, or another one is.
    """
    return from_bytes(read_bytes(path), estimator=estimator, transformer=transformer)


def to_bytes(estimator: Any) -> bytes:
    """The bytes that `save` writes; always the same for the same fitted estimator."""
    writer, inside = Writer(), opened(estimator)
    if inside.before:
        steps = ", ".join(type(step).__name__ for before in inside.before for _, step in before.steps)
        raise TypeError(
            f"The pipeline prepares rows with {steps}, and a model file holds no code of others. Save its last step, "
            "pipeline[-1], and give the loaded model rows that are prepared alike."
        )
    node = _written(estimator if isinstance(estimator, FrozenEstimator) else inside.classifier, writer.under("model"))
    if node is None:
        known = ", ".join(BY_NAME)
        raise TypeError(f"{name_of(estimator)} is not an estimator of this library and cannot be saved; {known} can.")
    return encode(writer.arrays, {"library": f"sepc {version('sepc')}", "model": node})


def from_bytes(data: bytes, *, estimator: Any = None, transformer: Any = None) -> Any:
    """The estimator that bytes of a file hold."""
    arrays, content = decode(data)
    reader = Reader(content, arrays)
    found = _read(reader.part("model"), InnerModels(_written, _never, estimator, transformer), MOST_NESTED)
    left = set(arrays) - reader.used
    if left:
        raise FormatError(f"The file holds an array that no model has: {sorted(left)[0][:80]!r}.")
    return found


def _written(estimator: Any, writer: Writer) -> Node | None:
    """The node of an estimator of ours, fitted; None for anything else."""
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    state = STATES.get(type(inner))
    if state is None:
        return None
    check_is_fitted(inner)
    node = state.write(inner, writer, InnerModels(_written, _never))
    return {"kind": type(inner).__name__, "frozen": inner is not estimator, **node}


def _read(reader: Reader, inner: InnerModels, n_deep: int) -> Any:
    state = BY_NAME.get(reader.text("kind"))
    if state is None or n_deep == 0:
        raise FormatError(f"{reader.path}kind is {reader.text('kind')[:80]!r}, which this version does not know here.")
    deeper = replace(inner, read=lambda part: _read(part, inner, n_deep - 1))
    found = state.read(reader, deeper)
    return FrozenEstimator(found) if reader.value("frozen", bool) else found


def _never(reader: Reader) -> Any:
    raise FormatError(f"{reader.path} cannot stand here.")


def inspect(path: str | Path) -> Inspection:
    """What is inside a model file, without building the model.

    Returns
    -------
    Inspection
        Prints as a few lines for a person.
    """
    arrays, content = decode(read_bytes(path))
    model = Reader(content, arrays).part("model")
    n_bytes = sum(array.nbytes for array in arrays.values())
    return Inspection(FORMAT, Reader(content, arrays).text("library"), model.node, len(arrays), n_bytes)


@dataclass(frozen=True, repr=False)
class Inspection(ShownAsCard):
    """What is inside a model file.

    Attributes
    ----------
    format : int
    library : str
        What wrote it, and its version.
    model : dict
        The description of the model as it stands in the file.
    n_arrays, n_bytes : int
        Number of arrays, and their size together.
    """

    format: int
    library: str
    model: Node
    n_arrays: int
    n_bytes: int

    def __str__(self) -> str:
        head = f"{_described(self.model)}, format {self.format}, written by {self.library}"
        size = f"{self.n_arrays:,} arrays, {self.n_bytes:,} bytes"
        return "\n".join([head, size, *_lines(self.model, "")])

    def _card(self) -> Card:
        facts = [("format", f"{self.format}, written by {self.library}")]
        facts.append(("size", f"{self.n_arrays:,} arrays, {self.n_bytes:,} bytes"))
        for line in _lines(self.model, ""):
            name, _, value = line.strip().partition(": ")
            if (name, value) not in facts:
                facts.append((f"its {name}" if line.startswith(" ") else name, value))
        return Card(f"Model file of {_described(self.model)}", tuple(facts))


def _described(node: Any) -> str:
    return str(node.get("kind", "a model that is not ours")) if isinstance(node, dict) else "nothing"


def _lines(node: Any, indent: str) -> list[str]:
    """Facts of a node and of the models inside it."""
    if not isinstance(node, dict):
        return []
    inner = node.get("model") or node.get("trust") or {}
    told = []
    classes = (inner.get("classes") or node.get("classes") or {}).get("values", [])
    if classes:
        told.append(f"{indent}classes: {_some(classes)}")
    names = inner.get("feature_names") or node.get("feature_names_in") or []
    told.append(f"{indent}features: {node.get('n_features_in')}{': ' + _some(names) if names else ''}")
    parameters = node.get("parameters", {})
    kept = [f"{name}={value!r}" for name, value in parameters.get("kept", {}).items()]
    told.append(f"{indent}parameters: {', '.join(kept)}")
    if parameters.get("lost"):
        told.append(f"{indent}parameters not kept: {', '.join(parameters['lost'])}")
    held = node.get("estimator")
    if isinstance(held, dict):
        kind = _described(held["ours"]) if "ours" in held else held.get("foreign", {}).get("kind")
        told.append(f"{indent}around: {kind}")
        told += _lines(held.get("ours"), indent + "  ")
    return told


def _some(values: list[Any]) -> str:
    shown = ", ".join(map(str, values[:8]))
    return shown if len(values) <= 8 else f"{shown} and {len(values) - 8} more"
