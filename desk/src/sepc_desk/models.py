"""The folder of models: a folder for each name, with a file for each version and one of them live.

``models/loans/3f2a9c....sepc`` is a version of the model "loans", named by its digest. Which one decides is in
the log; ``models/loans/first`` holds the digest of the one that decides before any change. A model with a single
version needs no such file.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sepc
from sepc.errors import ForeignModelError, FormatError

from sepc_desk.columns import Column, columns_of
from sepc_desk.context import context_of
from sepc_desk.errors import ModelFolderError
from sepc_desk.rows import Row, frame_of, plain

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
FIRST = "first"
# Digits of a digest in the name of a file, and the fewest that tell versions apart.
NAME_DIGITS, FEWEST_DIGITS = 16, 6


@dataclass(frozen=True, eq=False)
class Model:
    """A version of a model, ready to decide.

    Attributes
    ----------
    name : str
    digest : str
        SHA-256 of the file.
    estimator : object
    columns : tuple of Column
    """

    name: str
    digest: str
    estimator: Any
    columns: tuple[Column, ...]

    @cached_property
    def context(self) -> tuple[str, str]:
        """Digest and text of what the model's decisions depend on besides the row."""
        return context_of(self.name, self.digest, self.acceptance)

    @cached_property
    def acceptance(self) -> dict[str, Any]:
        """The trust from which the model accepts a label, and its promise, if it makes one."""
        if hasattr(self.estimator, "promise_"):
            names = ("threshold", "risk_bound", "confidence", "coverage")
            found = {name: _plain_promise(getattr(self.estimator.promise_, name)) for name in names}
            return {"kind": "promise", **{name: value for name, value in found.items() if value is not None}}
        min_trust = getattr(self.estimator, "min_trust", None)
        return {"kind": "min_trust", **({} if min_trust is None else {"min_trust": float(min_trust)})}

    def table(self, rows: Sequence[Row]) -> Any:
        """Rows of the log as the estimator takes them."""
        frame = frame_of(self.columns, rows)
        return frame if hasattr(self.estimator, "feature_names_in_") else frame.to_numpy()

    @cached_property
    def classes(self) -> list[Any]:
        """The labels that the model knows."""
        return [plain(label) for label in self.estimator.classes_]


def _plain_promise(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): float(each) for key, each in value.items()}
    return None if value is None else float(value)


class ModelFolder:
    """Finds and loads versions of models."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise ModelFolderError(f"There is no folder {path}; create it with `sepc-desk models add NAME FILE`.")
        self.path = path

    def names(self) -> list[str]:
        """Names of the models."""
        return sorted(own.name for own in self.path.iterdir() if own.is_dir() and NAME.fullmatch(own.name))

    def versions(self, name: str) -> dict[str, Path]:
        """The files of a model by the digests of what they hold."""
        files = sorted((self.path / name).glob("*.sepc"))
        return {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in files}

    def first_digest(self, name: str) -> str:
        """The digest of the version that decides before any change."""
        versions, marker = self.versions(name), self.path / name / FIRST
        if not versions:
            raise ModelFolderError(
                f"The folder {self.path / name} contains no .sepc file; add one or remove the folder."
            )
        if marker.exists():
            return self.known(name, marker.read_text(encoding="utf-8", errors="replace").strip(), versions)
        if len(versions) > 1:
            raise ModelFolderError(
                f"{name} has {len(versions)} versions and nothing says which decides at first; write its digest to "
                f"{marker}."
            )
        return next(iter(versions))

    def load(self, name: str, digest: str | None = None) -> Model:
        """A version of a model; the first one if no digest is given."""
        digest = self.first_digest(name) if digest is None else digest
        file = self.versions(name).get(digest)
        if file is None:
            raise ModelFolderError(f"There is no file of {name} with digest {digest[:NAME_DIGITS]}.")
        return Model(name, digest, _loaded(file), columns_of(sepc.inspect(file).model))

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Changes whenever a version is added or removed."""
        return tuple(
            sorted((str(file), (own := file.stat()).st_mtime_ns, own.st_size) for file in self.path.glob("*/*.sepc"))
        )

    def add(self, name: str, file: Path) -> str:
        """Copy a file into the folder, as a version of a model; the first one decides. Returns its digest."""
        if not NAME.fullmatch(name):
            raise ModelFolderError(f"{name!r} is not a valid model name; use a-z, 0-9, - and _, at most 63 characters.")
        content = file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        _loaded(file)
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        before = self.versions(name)
        if len(before) < 2 and not (folder / FIRST).exists():
            _write(folder / FIRST, next(iter(before), digest).encode())
        _write(folder / f"{digest[:NAME_DIGITS]}.sepc", content)
        return digest

    def known(self, name: str, digest: str, versions: Mapping[str, Path] | None = None) -> str:
        """The digest of a version, given the first digits of it."""
        versions = self.versions(name) if versions is None else versions
        found = [own for own in versions if own.startswith(digest)]
        if len(found) != 1 or len(digest) < FEWEST_DIGITS:
            known = ", ".join(own[:NAME_DIGITS] for own in versions) or "none"
            raise ModelFolderError(f"{digest!r} does not identify one version of {name}; its versions are {known}.")
        return found[0]


def _loaded(file: Path) -> Any:
    try:
        return sepc.load(file)
    except (FormatError, ForeignModelError) as error:
        raise ModelFolderError(f"{file} cannot be served: {error}") from error


def _write(path: Path, content: bytes) -> None:
    """Replace a file in one step."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as unfinished:
        unfinished.write(content)
        unfinished.flush()
        os.fsync(unfinished.fileno())
    Path(unfinished.name).chmod(0o644)
    Path(unfinished.name).replace(path)
