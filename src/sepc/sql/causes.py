"""Why rows are not accepted: mirrors `sepc.model.causes`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sepc.decisions.kinds import Cause
from sepc.estimators.exported import Exported
from sepc.model.locate import packed
from sepc.model.sep_model import SEPModel
from sepc.sql.expressions import SQL, extreme, first_true, total
from sepc.sql.locating import Lying, packed_set, squared_distance
from sepc.sql.query import Query


def add_causes(query: Query, exported: Exported, lying: Lying) -> None:
    """Add `accepted`, as 0 or 1, and the number of the `cause`."""
    model, trust, own = exported.model, query.own("trust"), query.own("own")
    number, min_trust = query.dialect.number, float(exported.decider.min_trust)
    # A label that is never accepted has a threshold above all trusts.
    least = query.dialect.looked_up(np.minimum(exported.thresholds, 2.0), query.own("label"))
    accepted = {query.own("accepted"): _as_bit(f"{trust} >= {least}"), own: _as_bit(f"{trust} >= {number(min_trust)}")}
    query.add("accepted_by", accepted)
    is_open = f"{own} = 0"
    near = _add_rows_within_reach(query, model, lying, is_open)
    n_near, most = query.own("n"), query.own("most")
    query.add("counted", {n_near: total(near), most: extreme(query.dialect.greatest, near)})
    is_thin = f"{most} >= {n_near} * {number(min_trust)}"
    is_unseen = f"{n_near} = 0 AND {query.own('inside')} = 0"
    refused = [(is_unseen, str(int(Cause.UNSEEN))), (is_thin, str(int(Cause.THIN)))]
    why = first_true([(is_open, first_true(refused, str(int(Cause.OVERLAP))))], str(int(Cause.THIN)))
    is_accepted = (f"{query.own('accepted')} = 1", str(int(Cause.ACCEPTED)))
    query.add("explained", {query.own("cause"): first_true([is_accepted], why)})


def _as_bit(test: SQL) -> SQL:
    return f"CASE WHEN {test} THEN 1 ELSE 0 END"


def _add_rows_within_reach(query: Query, model: SEPModel, lying: Lying, is_open: SQL) -> list[SQL]:
    """Training rows of each class within reach of open rows, as in `sepc.model.causes`; 0 for others."""
    within = _within_reach(query, model, lying)
    words = {query.own(f"b{i}"): word for i, word in enumerate(packed_set(within) if within else [])}
    query.add("reached", {name: first_true([(is_open, word)], "0") for name, word in words.items()})
    near = [query.own(f"n{c}") for c in range(len(model.classes))]
    counts = {name: total(list(_counts(query, model, lying, list(words), c))) for c, name in enumerate(near)}
    query.add("surrounded", {name: first_true([(is_open, value)], "0") for name, value in counts.items()})
    return near


def _within_reach(query: Query, model: SEPModel, lying: Lying) -> list[list[SQL]]:
    """Whether each ellipsoid is within reach along the line to its center: a row lies in it, or near."""
    number, limit, tests = query.dialect.number, query.dialect.number(model.reach**2), []
    for squared, center in zip(lying.squared, model.centers - lying.origin, strict=True):
        # The square of 1 - 1 / radius.
        outer_part = f"({number(1.0)} - {number(2.0)} / sqrt({squared}) + {number(1.0)} / {squared})"
        near = f"{outer_part} * {squared_distance(query, lying, center)} <= {limit}"
        tests.append([f"{squared} <= {number(1.0)}", near])
    return tests


def _counts(query: Query, model: SEPModel, lying: Lying, beyond: list[SQL], c: int) -> Iterator[SQL]:
    """Training rows of a class whose ellipsoids are all within reach, and its isolated rows within reach."""
    table = model.table
    for row in np.flatnonzero(table.memberships.any(axis=1) & (table.counts[:, c] > 0)):
        key = packed(table.memberships[row : row + 1]).astype(np.int64)[0].tolist()
        outside = [f"({name} & {word}) = 0" for name, word in zip(beyond, key, strict=True) if word]
        yield f"CASE WHEN {' AND '.join(outside)} THEN {int(table.counts[row, c])} ELSE 0 END"
    limit = query.dialect.number(model.reach**2)
    for j in np.flatnonzero(model.isolated_owners == c).tolist():
        yield f"CASE WHEN {lying.apart[j]} <= {limit} THEN 1 ELSE 0 END"
