"""A plan for changes of a model, read from a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from sepc.lifecycle.change_plans.criterion import Criterion, criterion_from
from sepc.lifecycle.change_plans.plan_values import PlanError, check_keys, value_in
from sepc.lifecycle.comparing.changed_parts import ModelPart

VERSION = 1
SHORTEST_KEY = 16
# Letters of a SHA-256.
DIGEST_LETTERS = 64


@dataclass(frozen=True)
class PlannedRows:
    """The rows that candidates are judged on.

    Attributes
    ----------
    key : str
        The key of the digest, and of the draw.
    digest : str
        The keyed digest of the whole table, as `row_digest` gives it; empty if the table is not fixed beforehand.
    draw : int
        How many rows of the table are drawn; 0 to judge all of them.
    seed : int
        The seed of the draw.
    """

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
    rows = value_in(_content(path, Path(path).read_bytes()), "rows", dict, "the plan")
    return _key_from(rows)


def _content(path: str | os.PathLike[str], data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{os.fspath(path)} is not valid TOML: {error}.") from error


def _plan_from(content: Mapping[str, Any], digest: str) -> ChangePlan:
    if content.get("version") != VERSION:
        raise PlanError(
            f"version is {content.get('version')!r}; this version of sepc reads plans of version {VERSION}."
        )
    check_keys(content, "the plan", ("version", "title", "may_change", "rows", "candidates", "criteria"))
    allowed = [part.value for part in ModelPart]
    may_change = value_in(content, "may_change", list, "the plan")
    if not may_change or not all(part in allowed for part in may_change):
        raise PlanError(f"may_change is {may_change!r}; it lists some of {', '.join(allowed)}.")
    candidates = value_in(content, "candidates", dict, "the plan")
    check_keys(candidates, "[candidates]", ("most",))
    most = value_in(candidates, "most", int, "[candidates]")
    if most < 1:
        raise PlanError(f"most in [candidates] is {most}; it must be at least 1.")
    criteria = value_in(content, "criteria", list, "the plan")
    if not criteria:
        raise PlanError("criteria is empty; add at least one [[criteria]].")
    return ChangePlan(
        title=value_in(content, "title", str, "the plan", default=""),
        may_change=frozenset(may_change),
        rows=_rows_from(value_in(content, "rows", dict, "the plan")),
        most_candidates=most,
        criteria=tuple(criterion_from(each, i) for i, each in enumerate(criteria, 1)),
        digest=digest,
    )


def _rows_from(content: Mapping[str, Any]) -> PlannedRows:
    check_keys(content, "[rows]", ("key", "digest", "draw", "seed"))
    key, digest = _key_from(content), value_in(content, "digest", str, "[rows]", default="")
    draw, seed = (value_in(content, name, int, "[rows]", default=0) for name in ("draw", "seed"))
    if digest and (len(digest) != DIGEST_LETTERS or set(digest) - set("0123456789abcdef")):
        raise PlanError(f"digest in [rows] is {digest[:80]!r}; it has {DIGEST_LETTERS} hexadecimal digits.")
    if draw < 0 or ("draw" in content and draw == 0):
        raise PlanError(f"draw in [rows] is {draw}; it is a number of rows, at least 1.")
    if not digest and not draw:
        raise PlanError("[rows] has neither digest nor draw; fix the rows beforehand with at least one of them.")
    return PlannedRows(key, digest, draw, seed)


def _key_from(content: Mapping[str, Any]) -> str:
    key: str = value_in(content, "key", str, "[rows]")
    if len(key) < SHORTEST_KEY:
        raise PlanError(f"key in [rows] has {len(key)} characters; give at least {SHORTEST_KEY} random ones.")
    return key
