"""Export a fitted estimator as a SELECT statement."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from sepc.decisions.kinds import Cause
from sepc.estimators.exported import Exported, type_of_labels
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.sql.causes import add_causes
from sepc.sql.columns import COMPLETE, HAS_GAPS, TARGET, GivenColumn, add_features, given_columns
from sepc.sql.dialects import DIALECTS, Dialect
from sepc.sql.expressions import SQL, chosen, first_true
from sepc.sql.locating import add_places
from sepc.sql.query import Query
from sepc.sql.regions import add_regions
from sepc.sql.weights import add_labels
from sepc.wording import listed, shown


def export(
    model: SEPClassifier | SelectiveClassifier,
    dialect: str,
    table: str | Sequence[str],
    *,
    prefix: str = "sepc_",
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
        The name of the table or, as a sequence, those of its schema and of the table. It has a column for each that the
        model was fitted on, called `x0`, `x1` and so on if these had no names. In SQLite it must not be a view.
    prefix : str
        What names of new columns begin with. No column of the table may begin with it.

    Returns
    -------
    str
        The statement, without a semicolon.

    Notes
    -----
    A row with a gap in a number or a date, NULL or NaN, is not accepted: its cause is MISSING, and its label, trust and
    region are NULL. In Python such a row is decided by ways to fill it in, and may be accepted. Infinite numbers, which
    Python refuses, give the cause UNSEEN. A gap in a category is a category of its own, as in Python.

    Examples
    --------
    >>> import sepc.sql
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(sepc.sql.export(SEPClassifier().fit(X, y), "duckdb", "flowers"))
    WITH sepc_regions(...
    """
    own = _dialect(dialect)
    exported = Exported.of(model, TARGET)
    arrays = exported.model
    if arrays.weights is None:
        raise TypeError(
            f"{exported.name} with trust={arrays.trust!r} cannot be exported to {TARGET}; fit with trust='weights'."
        )
    columns = given_columns(exported)
    _check_names(columns, prefix, dialect)
    query = Query(own, prefix, _table(own, table))
    features, codes = add_features(query, columns)
    lying = add_places(query, arrays, features)
    add_regions(query, arrays, lying)
    add_labels(query, arrays, arrays.weights, lying, codes)
    add_causes(query, exported, lying)
    return query.finished(_outputs(query, exported))


def _dialect(name: str) -> Dialect:
    if name not in DIALECTS:
        raise ValueError(f"There is no dialect {shown(name)}; there are {listed(map(shown, DIALECTS), len(DIALECTS))}.")
    return DIALECTS[name]


def _table(dialect: Dialect, table: str | Sequence[str]) -> SQL:
    names = [table] if isinstance(table, str) else list(table)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"table must be a name, or the names of a schema and a table; it is {table!r}.")
    return ".".join(map(dialect.name, names))


def _check_names(columns: Sequence[GivenColumn], prefix: str, dialect: str) -> None:
    """Raise ValueError if a column could be taken for another."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,30}", prefix):
        raise ValueError(f"prefix must be lower-case letters, digits and underscores, at most 31; it is {prefix!r}.")
    clash = [column.name for column in columns if column.name.lower().startswith(prefix)]
    if clash:
        raise ValueError(f"Column {shown(clash[0])} begins like the names of new columns; give another prefix.")
    if any(not column.name for column in columns):
        raise ValueError(f"A column has an empty name, which {TARGET} does not allow. Rename it before fit.")
    n_same = Counter(column.name.lower() for column in columns)
    same = [shown(column.name) for column in columns if n_same[column.name.lower()] > 1]
    if same and not DIALECTS[dialect].tells_case_apart:
        raise ValueError(f"{dialect} does not tell columns {listed(same, len(same))} apart. Rename them before fit.")


def _outputs(query: Query, exported: Exported) -> dict[str, SQL]:
    dialect, state = query.dialect, query.own("state")
    causes = [dialect.text(cause.name) for cause in sorted(Cause)]
    gone = first_true([(f"{state} = {HAS_GAPS}", causes[Cause.MISSING])], causes[Cause.UNSEEN])
    is_accepted = first_true([(f"{query.own('accepted')} = 1", dialect.boolean(True))], dialect.boolean(False))

    def if_complete(value: SQL, otherwise: SQL = "NULL") -> SQL:
        return first_true([(f"{state} = {COMPLETE}", value)], otherwise)

    return {
        "label": if_complete(chosen(query.own("label"), _labels(dialect, exported.decider.classes_))),
        "trust": if_complete(query.own("trust")),
        "accepted": if_complete(is_accepted, dialect.boolean(False)),
        "cause": if_complete(chosen(query.own("cause"), causes), gone),
        "region": if_complete(query.own("region")),
    }


def _labels(dialect: Dialect, classes: NDArray[Any]) -> list[SQL]:
    """The labels, in a type of the database."""
    kind = type_of_labels(classes, TARGET)
    writers: dict[type, Callable[[Any], SQL]] = {
        str: dialect.text,
        bool: dialect.boolean,
        int: str,
        float: dialect.number,
    }
    return [writers[kind](label) for label in classes.tolist()]
