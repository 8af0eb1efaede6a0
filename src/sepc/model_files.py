"""Save, load and inspect model files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.frozen import FrozenEstimator

from sepc.errors import FormatError
from sepc.estimators import routed as routed_state
from sepc.estimators import trusted as trusted_state
from sepc.estimators.fitted_record import as_fitted
from sepc.estimators.routed import RoutedClassifier
from sepc.estimators.selective import estimator as selective_state
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep import estimator as sep_state
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted import TrustedClassifier
from sepc.estimators.unwrapping import classifier_name, unwrap, warn_if_broken
from sepc.io.atomic_files import write_whole
from sepc.io.codec import Node, Reader, Writer
from sepc.io.container import FORMAT, decode, encode, read_bytes
from sepc.io.estimator_fields import InnerModels
from sepc.io.history import digest_of_model, history_of
from sepc.io.inspection import Inspection
from sepc.io.signatures import read_verified
from sepc.wording import version_of

# How deeply wrappers may be nested.
MOST_NESTED = 8


# How each kind of estimator is written and read. A new kind needs a module with `write` and `read`, and a line here.
STATES: dict[type, ModuleType] = {
    SEPClassifier: sep_state,
    TrustedClassifier: trusted_state,
    SelectiveClassifier: selective_state,
    RoutedClassifier: routed_state,
}
BY_NAME = {kind.__name__: state for kind, state in STATES.items()}


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator of this library to one file, which holds no code and only isolated training rows.

    Parameters
    ----------
    estimator : SEPClassifier or any other estimator of this library
        A fitted estimator, or a search around one. For a model of another library inside it, only a fingerprint is
        written.
    path : str or Path
        By convention it ends in ``.sepc``. An existing file is replaced in one step, or not at all.

    Raises
    ------
    TypeError
        If this is not an estimator of this library, is in a pipeline after other steps, or has labels that cannot be
        saved.
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If the model is too large for a file.
    OSError
        If the file cannot be written.

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
    warn_if_broken(estimator)
    write_whole(path, to_bytes(estimator))


def load(path: str | Path, *, estimator: Any = None, transformer: Any = None, key: str | Path | None = None) -> Any:
    """Read an estimator from a file. Files from untrusted sources are safe to load: no code in them is run.

    Parameters
    ----------
    path : str or Path
    estimator : fitted classifier, optional
        The model of another library, if the file was saved around one; it must be that same model.
    transformer : fitted transformer, optional
        The transformer of a `TrustedClassifier`, if it had one.
    key : str or Path, optional
        A file with a public key. The file is loaded only if it was signed with the matching private key, by `sign`, and
        has not been changed since.

    Returns
    -------
    estimator
        It makes the same decisions as the one that was saved, bit for bit.

    Raises
    ------
    FormatError
        If the file is damaged, hostile, or in a format that this version does not read.
    ForeignModelError
        If the file was saved around a model of another library, and that same model is not passed.
    SignatureError
        With `key`: if the file is not signed, was signed with another key, or was changed after it was signed.
    """
    return from_bytes(_bytes_of(path, key), estimator=estimator, transformer=transformer)


def to_bytes(estimator: Any) -> bytes:
    """The bytes that `save` writes; always the same for the same fitted estimator."""
    writer, inside = Writer(), unwrap(estimator)
    if inside.before:
        steps = ", ".join(type(step).__name__ for before in inside.before for _, step in before.steps)
        raise TypeError(
            f"The pipeline prepares rows with {steps}, which a model file cannot store. Save its last step, "
            "pipeline[-1], and prepare rows in the same way before you pass them to the loaded model."
        )
    node = _write(estimator if isinstance(estimator, FrozenEstimator) else inside.classifier, writer.under("model"))
    if node is None:
        known = ", ".join(BY_NAME)
        raise TypeError(
            f"{classifier_name(estimator)} is not an estimator of this library and cannot be saved; {known} can."
        )
    return encode(writer.arrays, {"library": f"sepc {version_of('sepc')}", "model": node})


def model_digest(estimator: Any) -> str:
    """SHA-256 of a fitted estimator as files hold it, whoever wrote them; empty if it cannot be saved."""
    writer, classifier = Writer(), unwrap(estimator).classifier
    try:
        node = _write(classifier, writer)
    except TypeError:
        return ""
    return "" if node is None else digest_of_model(node, writer.arrays)


def from_bytes(data: bytes, *, estimator: Any = None, transformer: Any = None) -> Any:
    """Read an estimator from the bytes of a file; see `load`."""
    arrays, content = decode(data)
    reader = Reader(content, arrays)
    loaded = _read(reader.part("model"), InnerModels(_write, _never, estimator, transformer), MOST_NESTED)
    left = set(arrays) - reader.used
    if left:
        raise FormatError(f"The file has an array that belongs to no model: {sorted(left)[0][:80]!r}.")
    return loaded


def _write(estimator: Any, writer: Writer) -> Node | None:
    """Write a fitted estimator of this library as a node; None for anything else."""
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    state = STATES.get(type(inner))
    if state is None:
        return None
    node = state.write(as_fitted(inner), writer, InnerModels(_write, _never))
    return {"kind": type(inner).__name__, "frozen": inner is not estimator, **node}


def _read(reader: Reader, inner: InnerModels, n_deep: int) -> Any:
    state = BY_NAME.get(reader.text("kind"))
    if state is None or n_deep == 0:
        raise FormatError(
            f"{reader.path}kind is {reader.text('kind')[:80]!r}, which this version cannot read in this position."
        )
    deeper = replace(inner, read=lambda part: _read(part, inner, n_deep - 1))
    estimator = state.read(reader, deeper)
    return FrozenEstimator(estimator) if reader.value("frozen", bool) else estimator


def _never(reader: Reader) -> Any:
    raise FormatError(f"{reader.path} is not expected here.")


def inspect(path: str | Path, *, key: str | Path | None = None) -> Inspection:
    """Describe the contents of a model file, without building the model.

    Parameters
    ----------
    path : str or Path
    key : str or Path, optional
        A file with a public key that the file must have been signed with, as in `load`.

    Returns
    -------
    Inspection
        ``print`` shows it in a few lines; its `history` says how the model was made.

    Raises
    ------
    FormatError
        If the file is damaged, or in a format that this version does not read.
    """
    return describe(_bytes_of(path, key))


def _bytes_of(path: str | Path, key: str | Path | None) -> bytes:
    return read_bytes(path) if key is None else read_verified(path, key)


def describe(data: bytes) -> Inspection:
    """Describe the bytes of a model file."""
    arrays, content = decode(data)
    reader = Reader(content, arrays)
    n_bytes = sum(array.nbytes for array in arrays.values())
    node, library = reader.part("model").node, reader.text("library")
    try:
        found = Inspection(FORMAT, library, node, len(arrays), n_bytes, history_of(node, arrays))
        # What cannot be told is refused here, not when it is shown.
        repr(found), str(found), str(found.history)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise FormatError("The file's description is not in the form that sepc writes.") from error
    return found
