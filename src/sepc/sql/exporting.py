"""Export a fitted estimator as a SELECT statement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray
from sepc.decisions.kinds import Cause
from sepc.estimators.exported import Exported, type_of_labels
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.model.membership import pack_sets
from sepc.model.sep_model import SEPModel
from sepc.model.weights import FADING_BEGINS
from sepc.sql._query import DIALECTS, SQL, Dialect, Query, choose, extreme, first_true, total
from sepc.sql._stages import (
    COMPLETE,
    HAS_GAPS,
    RUNNER_UP,
    TARGET,
    Geometry,
    GivenColumn,
    add_features,
    add_labels,
    add_places,
    add_terms,
    given_columns,
    packed_set,
    squared_distance,
    text_column_comment,
)
from sepc.wording import listed, name_of, shown, visible


def export(
    model: SEPClassifier | SelectiveClassifier,
    dialect: str,
    table: str | Sequence[str],
    *,
    prefix: str = "sepc_",
    terms: bool = False,
) -> str:
    """Write a fitted model as one SELECT statement, which decides on every row of a table.

    The result has all columns of the table, followed by `sepc_label`, `sepc_trust`, `sepc_accepted`, `sepc_cause` and
    `sepc_region`. The statement needs no function besides those of the database. It includes `min_trust`, or the
    thresholds of a `SelectiveClassifier`.

    Parameters
    ----------
    model : SEPClassifier or SelectiveClassifier
        Fitted with ``trust="weights"``, the default. A `SelectiveClassifier` must wrap an `SEPClassifier`, which may be
        in a `FrozenEstimator`.
    dialect : {"duckdb", "postgres", "sqlite", "spark"}
    table : str or sequence of str
        The name of the table, or the names of its schema and of the table. It must have every column that the model was
        fitted on, called `x0`, `x1` and so on if these had no names. In SQLite it must not be a view.
    prefix : str, optional
        The prefix of new columns, by default `sepc_`. No column of the table may have a name that begins with it.
    terms : bool, default=False
        Also output `sepc_runner_up` and what each feature adds to the log-odds of the label against it: `sepc_term_0`,
        `sepc_term_1` and so on; a comment in the statement says which feature each one is. `sepc_term_place` is what
        the position relative to ellipsoids and isolated rows adds, and `sepc_term_average` the log-odds of an average
        row. They add up to the log-odds.

    Returns
    -------
    str
        The statement, without a semicolon.

    Raises
    ------
    TypeError
        If SQL cannot express the model, its labels or its categories.
    ValueError
        If `dialect`, `table` or `prefix` is invalid, or names of columns clash.

    Notes
    -----
    A row with a missing number or date, NULL or NaN, is not accepted: its cause is MISSING, and its label, trust and
    region are NULL. In Python such a row is decided by imputation, and may be accepted. Infinite numbers, which Python
    refuses, give the cause UNSEEN. A missing category is a category of its own, as in Python.

    If numbers, dates or durations were text in training, the table must hold the number or date itself in a column of
    the same name (durations as numbers). A comment at the top of the statement lists these columns and their units.

    Examples
    --------
    >>> import sepc.sql
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(sepc.sql.export(SEPClassifier().fit(X, y), "duckdb", "flowers"))
    WITH sepc_regions(...
    """
    if dialect not in DIALECTS:
        known = listed(map(shown, DIALECTS), len(DIALECTS))
        raise ValueError(f"There is no dialect {shown(dialect)}; there are {known}.")
    target = DIALECTS[dialect]
    exported = Exported.of(model, TARGET)
    arrays = exported.model
    columns = given_columns(exported)
    _check_names(columns, prefix, dialect)
    query = Query(target, prefix, _table(target, table))
    edits = arrays.edits
    typical = {} if edits is None else dict(zip(edits.fixed.tolist(), edits.typical.tolist(), strict=True))
    features, codes = add_features(query, columns, typical)
    geometry = add_places(query, arrays, features)
    _add_regions(query, arrays, geometry)
    add_labels(query, arrays, exported.weights, geometry, codes)
    _add_causes(query, exported, geometry)
    added = add_terms(query, arrays, exported.weights, geometry, codes) if terms else {}
    remarks = [f"-- {visible(remark)}\n" for remark in exported.remarks]
    named = [f"-- {prefix}term_{j}: {name_of(name)}\n" for j, name in enumerate(arrays.feature_names) if terms]
    comments = "".join([*remarks, text_column_comment(columns), *named])
    return comments + query.finish(_outputs(query, exported, added))


def _table(dialect: Dialect, table: str | Sequence[str]) -> SQL:
    names = [table] if isinstance(table, str) else list(table)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"table must be a name, or the names of a schema and a table; it is {table!r}.")
    return ".".join(map(dialect.name, names))


def _check_names(columns: Sequence[GivenColumn], prefix: str, dialect: str) -> None:
    """Raise ValueError for a bad prefix, an empty name, or columns that the database would confuse."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,30}", prefix):
        raise ValueError(f"prefix is {prefix!r}; it must be 1 to 31 of a-z, 0-9 and _, and not begin with a digit.")
    clash = [column.name for column in columns if column.name.lower().startswith(prefix)]
    if clash:
        raise ValueError(f"Column {shown(clash[0])} begins with the prefix of new columns; give another prefix.")
    if any(not column.name for column in columns):
        raise ValueError(f"A column has an empty name, which {TARGET} does not allow. Rename it before fit.")
    n_same = Counter(column.name.lower() for column in columns)
    same = [shown(column.name) for column in columns if n_same[column.name.lower()] > 1]
    if same and not DIALECTS[dialect].tells_case_apart:
        raise ValueError(f"{dialect} does not tell columns {listed(same, len(same))} apart. Rename them before fit.")


def _outputs(query: Query, exported: Exported, terms: Mapping[str, SQL]) -> dict[str, SQL]:
    dialect, state = query.dialect, query.prefixed("state")
    causes = [dialect.text(cause.name) for cause in sorted(Cause)]
    gone = first_true([(f"{state} = {HAS_GAPS}", causes[Cause.MISSING])], causes[Cause.UNSEEN])
    is_accepted = first_true([(f"{query.prefixed('accepted')} = 1", dialect.boolean(True))], dialect.boolean(False))

    def if_complete(value: SQL, otherwise: SQL = "NULL") -> SQL:
        return first_true([(f"{state} = {COMPLETE}", value)], otherwise)

    labels = _labels(dialect, exported.decider.classes_)
    named = {name: if_complete(choose(term, labels) if name == RUNNER_UP else term) for name, term in terms.items()}
    return named | {
        "label": if_complete(choose(query.prefixed("label"), labels)),
        "trust": if_complete(query.prefixed("trust")),
        "accepted": if_complete(is_accepted, dialect.boolean(False)),
        "cause": if_complete(choose(query.prefixed("cause"), causes), gone),
        "region": if_complete(query.prefixed("region")),
    }


def _labels(dialect: Dialect, classes: NDArray[Any]) -> list[SQL]:
    """The labels as literals of the database."""
    writers: dict[type, Callable[[Any], SQL]]
    writers = {str: dialect.text, bool: dialect.boolean, int: str, float: dialect.number}
    return list(map(writers[type_of_labels(classes, TARGET)], classes.tolist()))


def _add_causes(query: Query, exported: Exported, geometry: Geometry) -> None:
    """Add `accepted`, as 0 or 1, and the number of the `cause`."""
    model, trust, is_trusted = exported.model, query.prefixed("trust"), query.prefixed("own")
    number, min_trust = query.dialect.number, float(exported.decider.min_trust)
    # A label that is never accepted has a threshold above any trust.
    least = query.dialect.look_up(np.minimum(exported.thresholds, 2.0), query.prefixed("label"))
    accepted = {
        query.prefixed("accepted"): _as_bit(f"{trust} >= {least}"),
        is_trusted: _as_bit(f"{trust} >= {number(min_trust)}"),
    }
    query.add("accepted_by", accepted)
    is_open = f"{is_trusted} = 0"
    near = _add_rows_within_reach(query, model, geometry, is_open)
    n_near, most = query.prefixed("n"), query.prefixed("most")
    query.add("counted", {n_near: total(near), most: extreme(query.dialect.greatest, near)})
    is_thin = f"{most} >= {n_near} * {number(min_trust)}"
    is_unseen = f"{n_near} = 0 AND {query.prefixed('inside')} = 0"
    if _may_be_beyond(model):
        is_unseen = f"({is_unseen}) OR {query.prefixed('guard')} > {number(FADING_BEGINS)}"
    refused = [(is_unseen, str(int(Cause.UNSEEN))), (is_thin, str(int(Cause.THIN)))]
    why = first_true([(is_open, first_true(refused, str(int(Cause.OVERLAP))))], str(int(Cause.THIN)))
    is_accepted = (f"{query.prefixed('accepted')} = 1", str(int(Cause.ACCEPTED)))
    query.add("explained", {query.prefixed("cause"): first_true([is_accepted], why)})


def _as_bit(test: SQL) -> SQL:
    return f"CASE WHEN {test} THEN 1 ELSE 0 END"


def _add_rows_within_reach(query: Query, model: SEPModel, geometry: Geometry, is_open: SQL) -> list[SQL]:
    """Training rows of each class within reach of open rows, as in `sepc.model.rules`; 0 for others."""
    within = _within_reach(query, model, geometry)
    words = {query.prefixed(f"b{i}"): word for i, word in enumerate(packed_set(within) if within else [])}
    query.add("reached", {name: first_true([(is_open, word)], "0") for name, word in words.items()})
    near = [query.prefixed(f"n{c}") for c in range(len(model.classes))]
    counts = {name: total(list(_counts(query, model, geometry, list(words), c))) for c, name in enumerate(near)}
    query.add("surrounded", {name: first_true([(is_open, value)], "0") for name, value in counts.items()})
    return near


def _within_reach(query: Query, model: SEPModel, geometry: Geometry) -> list[list[SQL]]:
    """For each ellipsoid, two conditions of which one must hold: the row lies inside, or at most `reach` outside."""
    number, limit, tests = query.dialect.number, query.dialect.number(model.reach**2), []
    for squared, center in zip(geometry.squared, model.centers - geometry.origin, strict=True):
        # The square of 1 - 1 / radius.
        outer_part = f"({number(1.0)} - {number(2.0)} / sqrt({squared}) + {number(1.0)} / {squared})"
        near = f"{outer_part} * {squared_distance(query, geometry, center)} <= {limit}"
        tests.append([f"{squared} <= {number(1.0)}", near])
    return tests


def _counts(query: Query, model: SEPModel, geometry: Geometry, beyond: list[SQL], c: int) -> Iterator[SQL]:
    """Training rows of a class whose ellipsoids are all within reach, and its isolated rows within reach."""
    table = model.table
    for row in np.flatnonzero(table.memberships.any(axis=1) & (table.counts[:, c] > 0)):
        key = pack_sets(table.memberships[row : row + 1]).astype(np.int64)[0].tolist()
        outside = [f"({name} & {word}) = 0" for name, word in zip(beyond, key, strict=True) if word]
        yield f"CASE WHEN {' AND '.join(outside)} THEN {int(table.counts[row, c])} ELSE 0 END"
    limit = query.dialect.number(model.reach**2)
    for j in np.flatnonzero(model.isolated_owners == c).tolist():
        yield f"CASE WHEN {geometry.apart[j]} <= {limit} THEN 1 ELSE 0 END"


def _add_regions(query: Query, model: SEPModel, geometry: Geometry) -> None:
    """Add `gauge`, `inside` and `region`; the set of ellipsoids is looked up in a table of those with rows."""
    number, gauge, place = query.dialect.number, query.prefixed("gauge"), query.prefixed("place")
    inside, limit = query.prefixed("inside"), number(1.0 + model.slack)
    gauges, own_place = _gauges(query, model, geometry)
    if _may_be_beyond(model):
        guard = query.prefixed("guard")
        query.add("guarded", {guard: _guard(query, model, geometry)})
        gauges = f"{query.dialect.greatest}({gauges}, {guard})"
    words = packed_set([[f"{squared} > {limit}"] for squared in geometry.squared]) if geometry.squared else []
    keys = {query.prefixed(f"w{i}"): word for i, word in enumerate(words)}
    is_inside = f"CASE WHEN {geometry.smallest} <= {limit} THEN 1 ELSE 0 END" if words else "0"
    query.add("keyed", {gauge: gauges, place: own_place, inside: is_inside} | keys)
    outside = f"{place} + {len(model.table.counts)}"
    if not words:
        query.add("found", {query.prefixed("region"): outside})
        return
    columns, at, regions = (
        [query.prefixed(f"v{i}") for i in range(len(keys))],
        query.prefixed("at"),
        query.prefixed("regions"),
    )
    known = pack_sets(model.table.memberships).astype(np.int64).tolist()
    query.constant(regions, [*columns, at], [[*key, i] for i, key in enumerate(known)])
    same = " AND ".join(f"{column} = {key}" for column, key in zip(columns, keys, strict=True))
    region = first_true([(f"{inside} = 1", f"COALESCE({at}, -1)")], outside)
    query.add("found", {query.prefixed("region"): region}, join=f" LEFT JOIN {regions} ON {same}")


def _gauges(query: Query, model: SEPModel, geometry: Geometry) -> tuple[SQL, SQL]:
    """The smallest gauge, and the ellipsoid or isolated row that has it; both matter only outside all ellipsoids."""
    dialect, K = query.dialect, model.n_ellipsoids
    in_ellipsoid = f"sqrt({dialect.at_least_zero(geometry.smallest)})"
    of_ellipsoid = _first(geometry.squared, geometry.smallest, np.arange(K))
    if not geometry.apart:
        return in_ellipsoid, of_ellipsoid
    # Of identical isolated rows, Python always finds the same one.
    same = K + np.asarray(model.places.isolated.query(model.isolated)[1], dtype=np.int64)
    distance, unit = f"sqrt({dialect.at_least_zero(geometry.nearest)})", float(np.sqrt(len(model.placed)))
    at_isolated = f"({dialect.number(1.0)} + {distance} / {dialect.number(unit)})"
    of_isolated = _first(geometry.apart, geometry.nearest, same)
    if not geometry.squared:
        return at_isolated, of_isolated
    nearer = f"{at_isolated} < {in_ellipsoid}"
    return f"{dialect.least}({at_isolated}, {in_ellipsoid})", first_true([(nearer, of_isolated)], of_ellipsoid)


def _may_be_beyond(model: SEPModel) -> bool:
    """Whether a standalone feature loses trust beyond the range of training."""
    return model.alone is not None and bool(model.alone.is_guarded.any())


def _guard(query: Query, model: SEPModel, geometry: Geometry) -> SQL:
    """How far the standalone features lie beyond the range of training; 1 or less for within."""
    alone, greatest, number, beyond = model.alone, query.dialect.greatest, query.dialect.number, []
    assert alone is not None
    for i in np.flatnonzero(alone.is_guarded).tolist():
        z = geometry.rows[int(alone.features[i])]
        below, above = f"{number(float(alone.low[i]))} - {z}", f"{z} - {number(float(alone.high[i]))}"
        beyond.append(f"{greatest}({below}, {above}) / {number(float(alone.unit[i]))}")
    return f"({number(1.0)} + {extreme(greatest, beyond)})"


def _first(columns: list[SQL], smallest: SQL, places: IntArray) -> SQL:
    """The place of the first column that has the smallest value."""
    tests = [(f"{column} = {smallest}", str(place)) for column, place in zip(columns, places.tolist(), strict=True)]
    return first_true(tests[:-1], tests[-1][1]) if tests else "0"
