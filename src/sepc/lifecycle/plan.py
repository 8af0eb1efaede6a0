"""A plan for changes of a model, read from a TOML file: its criteria, and the rows it fixes beforehand."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import IntArray
from sepc.estimators.selective.groups import len_of
from sepc.lifecycle._changed_parts import ModelPart
from sepc.lifecycle.rows import cells_by_column, cells_in_bytes
from sepc.wording import AS_SET, counted, did_you_mean, listed, percent, shown

KINDS = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
REQUIRED = object()


class PlanError(ValueError):
    """A plan that cannot be read; the message says what is wrong in it."""


@dataclass(frozen=True)
class Entry:
    """A part of the plan: its keys and values, and what messages call it."""

    content: Mapping[str, Any]
    where: str

    def check_keys(self, *known: str) -> None:
        """Raise if there is a key that the schema does not know."""
        for name in self.content:
            if name not in known:
                raise PlanError(
                    f"{self.where} has {name!r}; it may have {listed(map(shown, known))}.{did_you_mean([name], known)}"
                )

    def value(self, name: str, kind: type, default: Any = REQUIRED) -> Any:
        """The value of a key, of this type; a whole number is also a number, but true and false are not."""
        if name not in self.content:
            if default is REQUIRED:
                raise PlanError(f"{self.where} lacks {name!r}.")
            return default
        value = self.content[name]
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            raise PlanError(f"{name} in {self.where} is {value!r}; it must be {KINDS[kind]}.")
        return value

    def share(self, name: str, default: Any = REQUIRED) -> float:
        """A share, from 0 to below 1."""
        share: float = self.value(name, float, default)
        if not 0.0 <= share < 1.0:
            raise PlanError(f"{name} in {self.where} is {share!r}; it is a share, from 0 to below 1.")
        return share

    def number(self, name: str, default: Any = REQUIRED) -> int:
        """A whole number of at least 1."""
        number: int = self.value(name, int, default)
        if number < 1 and (name in self.content or default is REQUIRED):
            raise PlanError(f"{name} in {self.where} is {number}; it must be at least 1.")
        return number

    def choice(self, name: str, choices: Sequence[str], default: Any = REQUIRED) -> str:
        """One of some texts."""
        value: str = self.value(name, str, default)
        if value not in choices:
            raise PlanError(
                f"{name} in {self.where} is {value!r}; it must be {listed(map(shown, choices))}, one of them."
            )
        return value


# What may get worse, by its name in a plan, in words.
MEASURES = {
    "errors": "wrong labels",
    "accepted errors": "accepted wrong labels",
    "abstentions": "rows that are not accepted",
}
DECISION_PARTS = {"any": "decisions", "label": "labels", "accepted": "acceptances"}
FEWEST = 100


class CriterionKind(StrEnum):
    """What a criterion is about."""

    PROMISES = "promises"
    CHANGED = "changed"
    OVERALL = "overall"
    GROUPS = "groups"
    REGIONS = "regions"


KEYS = {
    CriterionKind.PROMISES: ("margin",),
    CriterionKind.CHANGED: ("margin", "what"),
    CriterionKind.OVERALL: ("margin", "measure"),
    CriterionKind.GROUPS: ("margin", "measure", "names", "fewest"),
    CriterionKind.REGIONS: ("margin", "measure", "names", "fewest"),
}


@dataclass(frozen=True)
class Criterion:
    """One criterion."""

    kind: CriterionKind
    level: float
    margin: float
    what: str = "any"
    measure: str = "errors"
    names: tuple[Any, ...] = ()
    fewest: int = FEWEST

    def __str__(self) -> str:
        margin = percent(self.margin, AS_SET)
        match self.kind:
            case CriterionKind.PROMISES:
                return "promises are kept" + (f", or exceeded by at most {margin} of rows" if self.margin else "")
            case CriterionKind.CHANGED:
                return f"at most {margin} of {DECISION_PARTS[self.what]} change"
        where = {"overall": "", "groups": " in any group", "regions": " in any region"}[self.kind]
        return f"{MEASURES[self.measure]} rise by at most {margin} of rows{where}"


def criterion_from(content: Any, number: int) -> Criterion:
    """Read a criterion; `number` is its place in the plan, counted from 1."""
    if not isinstance(content, Mapping):
        raise PlanError(f"criterion {number} is {content!r}; write it as [[criteria]].")
    entry = Entry(content, f"criterion {number}")
    kind = CriterionKind(entry.choice("kind", [kind.value for kind in CriterionKind]))
    entry.check_keys("kind", "level", *KEYS[kind])
    level, names = entry.share("level"), entry.value("names", list, [])
    if level == 0.0:
        raise PlanError(f"level in {entry.where} is 0; no number of rows could show anything. Give such as 0.05.")
    if "names" in content and not names:
        raise PlanError(f"names in {entry.where} is empty; list groups or regions, or leave it out.")
    if kind is CriterionKind.REGIONS and not all(type(name) is int for name in names):
        raise PlanError(f"names in {entry.where} is {names!r}; regions are given by their numbers.")
    return Criterion(
        kind,
        level,
        # Promises have a limit of their own; for all others the margin is what the criterion is about.
        entry.share("margin", *([0.0] if kind is CriterionKind.PROMISES else [])),
        what=entry.choice("what", tuple(DECISION_PARTS), "any"),
        measure=entry.choice("measure", tuple(MEASURES), "errors"),
        # A group of two columns is a list of two values.
        names=tuple(tuple(name) if isinstance(name, list) else name for name in names),
        fewest=entry.number("fewest", FEWEST),
    )


VERSION = 1
SHORTEST_KEY = 16
# Letters of a SHA-256.
DIGEST_LETTERS = 64


@dataclass(frozen=True)
class PlannedRows:
    """The rows that candidates are judged on."""

    key: str
    digest: str = ""
    draw: int = 0
    seed: int = 0


@dataclass(frozen=True)
class ChangePlan:
    """A plan: what may change, on which rows candidates are judged, how many of them, and by which criteria.

    Attributes
    ----------
    title : str
    may_change : frozenset of str
        Parts of the model that may differ: "threshold", "regions", "weights" and "model".
    rows : PlannedRows
    most_candidates : int
        How many candidates may be judged on these rows. The level of every criterion is divided by this number.
    criteria : tuple of Criterion
    digest : str
        The SHA-256 of the file.
    """

    title: str
    may_change: frozenset[str]
    rows: PlannedRows
    most_candidates: int
    criteria: tuple[Criterion, ...]
    digest: str

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ChangePlan:
        """Read a plan, and raise a ValueError that names what is wrong in it.

        Parameters
        ----------
        path : path
            A TOML file; its schema is in the reference.

        Returns
        -------
        ChangePlan
        """
        data = Path(path).read_bytes()
        content = _content(path, data)
        try:
            return _plan_from(content, sha256(data).hexdigest())
        except PlanError as error:
            raise PlanError(f"{os.fspath(path)}: {error}") from None


def key_in(path: str | os.PathLike[str]) -> str:
    """The key of the rows in a plan that may not be complete yet."""
    plan = Entry(_content(path, Path(path).read_bytes()), "the plan")
    return _key_from(Entry(plan.value("rows", dict), "[rows]"))


def _content(path: str | os.PathLike[str], data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{os.fspath(path)} is not valid TOML: {error}.") from error


def _plan_from(content: Mapping[str, Any], digest: str) -> ChangePlan:
    plan = Entry(content, "the plan")
    if content.get("version") != VERSION:
        raise PlanError(
            f"version is {content.get('version')!r}; this version of sepc reads plans of version {VERSION}."
        )
    plan.check_keys("version", "title", "may_change", "rows", "candidates", "criteria")
    allowed = [part.value for part in ModelPart]
    may_change, criteria = plan.value("may_change", list), plan.value("criteria", list)
    if not may_change or not all(part in allowed for part in may_change):
        raise PlanError(f"may_change is {may_change!r}; it lists some of {', '.join(allowed)}.")
    if not criteria:
        raise PlanError("criteria is empty; add at least one [[criteria]].")
    candidates = Entry(plan.value("candidates", dict), "[candidates]")
    candidates.check_keys("most")
    return ChangePlan(
        title=plan.value("title", str, ""),
        may_change=frozenset(may_change),
        rows=_rows_from(Entry(plan.value("rows", dict), "[rows]")),
        most_candidates=candidates.number("most"),
        criteria=tuple(criterion_from(each, i) for i, each in enumerate(criteria, 1)),
        digest=digest,
    )


def _rows_from(rows: Entry) -> PlannedRows:
    rows.check_keys("key", "digest", "draw", "seed")
    key, digest = _key_from(rows), rows.value("digest", str, "")
    if digest and (len(digest) != DIGEST_LETTERS or set(digest) - set("0123456789abcdef")):
        raise PlanError(f"digest in [rows] is {digest[:80]!r}; it has {DIGEST_LETTERS} hexadecimal digits.")
    draw = rows.number("draw", 0)
    if not digest and not draw:
        raise PlanError("[rows] has neither digest nor draw; fix the rows beforehand with at least one of them.")
    return PlannedRows(key, digest, draw, rows.value("seed", int, 0))


def _key_from(rows: Entry) -> str:
    key: str = rows.value("key", str)
    if len(key) < SHORTEST_KEY:
        raise PlanError(f"key in [rows] has {len(key)} characters; give at least {SHORTEST_KEY} random ones.")
    return key


# Bytes of the digest of a row.
ROW_BYTES = 16
LONGEST_KEY = 64


def row_digest(key: str, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> str:
    """The keyed digest of rows with their labels and groups, for a change plan.

    It is the same for any order of rows and of named columns. It reveals nothing about the rows to who does not know
    the key; who has both can check that they are the rows that were meant.

    Parameters
    ----------
    key : str
        The `key` of the plan: at least 16 random characters.
    X : array or DataFrame of n rows
    y : array of shape (n,)
    groups : array of shape (n,), optional

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    >>> row_digest("some random characters", X, y) == row_digest("some random characters", X[::-1], y[::-1])
    True
    """
    n_rows = len_of(X)
    columns = cells_by_column(X) | {"label of the row": _checked(y, n_rows, "y")}
    columns |= {} if groups is None else {"group of the row": _checked(groups, n_rows, "groups")}
    whole = b"".join(sorted(_row_digests(key, columns)))
    return hmac.new(key.encode(), whole, hashlib.sha256).hexdigest()


def planned_positions(planned: PlannedRows, X: Any) -> IntArray:
    """The positions of the rows to judge: all of them, or those that the plan draws."""
    n_rows = len_of(X)
    if not planned.draw:
        return np.arange(n_rows)
    if n_rows < planned.draw:
        raise ValueError(f"The plan draws {planned.draw:,} rows, but there are only {counted(n_rows, 'row')}.")
    each, copies = _row_digests(f"{planned.seed} {planned.key}", cells_by_column(X)), Counter[bytes]()
    ranks = []
    for digest in each:
        # Equal rows are drawn independently of each other.
        ranks.append(hashlib.sha256(digest + copies[digest].to_bytes(8, "big")).digest())
        copies[digest] += 1
    return np.sort(np.array(sorted(range(n_rows), key=ranks.__getitem__)[: planned.draw], dtype=np.int64))


def _row_digests(key: str, columns: Mapping[str, list[bytes]]) -> list[bytes]:
    """A keyed digest of each row, given its cells column by column."""
    secret = hashlib.sha512(json.dumps([key, *columns]).encode()).digest()[:LONGEST_KEY]
    rows = zip(*columns.values(), strict=True)
    return [hashlib.blake2b(b"".join(row), key=secret, digest_size=ROW_BYTES).digest() for row in rows]


def _checked(values: ArrayLike, n_rows: int, name: str) -> list[bytes]:
    cells = np.asarray(values)
    if len(cells) != n_rows:
        raise ValueError(f"{name} has {len(cells):,} entries, but there are {counted(n_rows, 'row')}.")
    return cells_in_bytes(cells)
