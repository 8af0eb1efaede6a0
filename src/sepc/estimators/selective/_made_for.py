"""Recognise the model that a promise was made for, since it holds for no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from weakref import ref

import numpy as np

from sepc.estimators.fitted_record import FittedAtOnce
from sepc.estimators.unwrapping import classifier_name

# Longer lists, such as the trees of a forest, are compared member by member, without looking into these; of very long
# ones the first members.
MOST_MEMBERS, MOST_COMPARED = 16, 1_000
# Larger arrays are not read; another array in their place is noticed.
MOST_BYTES = 2**14
# Parameters that never change a decision.
HARMLESS = frozenset({"n_jobs", "verbose"})

CHANGED = (
    "There is no promise: the model was changed after its promise was made, for example fitted again. Fit the "
    "SelectiveClassifier again, on rows that the model has not seen."
)

# The place of what an estimator of this library learnt.
RECORD = "_fitted"

PLAIN = (str, bytes, int, float, complex, bool, type(None), np.generic)

Place: TypeAlias = tuple[str | int, ...]


class MadeFor:
    """The model that a promise was made for, and what it consisted of then."""

    def __init__(self, model: Any, ignored: frozenset[Place] = frozenset()) -> None:
        self._model, self._ignored = model, ignored
        self._then: Mapping[Place, Any] | None = {
            place: _kept(value) for place, value in _contents(model) if place not in ignored
        }

    def after_deciding(self) -> MadeFor:
        """The same, but ignoring what a model of another library changes when it decides, such as a counter."""
        self._ignored = frozenset(place for place in self._changes() if place[-1:] != (RECORD,))
        self._then = {place: value for place, value in (self._then or {}).items() if place not in self._ignored}
        return self

    def is_unchanged(self) -> bool:
        """Whether the model is still the same."""
        if self._then is not None and next(self._changes(), None) is not None:
            self._then = None  # It may hold on to parts of the old model.
        return self._then is not None

    def check(self) -> None:
        """Raise if the model was changed."""
        if not self.is_unchanged():
            raise ValueError(
                f"The {classifier_name(self._model)} inside the SelectiveClassifier was changed after the promise was "
                "made, for example fitted again, and the promise does not hold for it. Fit the SelectiveClassifier "
                "again, on rows that the model has not seen; to keep the old promise, give it a copy of the model."
            )

    def _changes(self) -> Iterator[Place]:
        now = dict(_contents(self._model))
        then = self._then or {}
        return (
            place
            for place, value in then.items()
            if place not in now or not (value is now[place] or _is_same(value, now[place]))
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self._model, "ignored": sorted(self._ignored, key=repr), "is_unchanged": self.is_unchanged()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        MadeFor.__init__(self, state["model"], frozenset(state["ignored"]))
        if not state["is_unchanged"]:
            self._then = None


def _contents(value: Any, place: Place = (), within: tuple[int, ...] = ()) -> Iterator[tuple[Place, Any]]:
    """The parts of a model, each with its place; what is inside estimators and short containers one by one."""
    members: Mapping[Any, Any] = {}
    if isinstance(value, np.ndarray) and value.nbytes <= MOST_BYTES and not value.dtype.hasobject:
        yield place, f"{value.shape} {value.dtype.str} {hash(value.tobytes())}"
    elif id(value) in within:
        return
    elif isinstance(value, FittedAtOnce):
        record = vars(value).get(RECORD)
        yield (*place, RECORD), record
        members = {name: part for name, part in (record or {}).items() if hasattr(part, "fit")}
    elif hasattr(value, "fit") and not isinstance(value, type):
        members = {name: part for name, part in getattr(value, "__dict__", {}).items() if name not in HARMLESS}
    elif type(value) is dict and len(value) <= MOST_MEMBERS:
        yield place, len(value)
        members = value
    elif type(value) in (list, tuple):
        if len(value) > MOST_MEMBERS:
            yield place, (len(value), *value[:MOST_COMPARED])
            return
        yield place, len(value)
        members = dict(enumerate(value))
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        yield place, (value.shape, *value.ravel()[:MOST_COMPARED])
    else:
        yield place, value
    for name, part in members.items():
        if type(part) in PLAIN:  # most are, and need no generator of their own
            yield (*place, name), part
        else:
            yield from _contents(part, (*place, name), (*within, id(value)))


def _kept(value: Any) -> Any:
    """The value, or a weak reference to it, so that old models and their rows can be freed."""
    if isinstance(value, (*PLAIN, tuple)):
        return value
    try:
        return ref(value)
    except TypeError:
        return value


def _is_same(then: Any, now: Any) -> bool:
    if then is now:
        return True
    if isinstance(then, ref):
        return then() is now
    if isinstance(then, tuple) and isinstance(now, tuple):
        return len(then) == len(now) and all(map(_is_same, then, now))
    return isinstance(then, PLAIN) and type(then) is type(now) and repr(then) == repr(now)
