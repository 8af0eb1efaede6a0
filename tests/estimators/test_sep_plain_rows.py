"""The short way past scikit-learn's checks: the same results, errors and warnings as the long one."""

import warnings

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris

from sepc import SEPClassifier
from sepc.estimators.sep import estimator

pd = package_or_skip("pandas")
X, Y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
FRAME = pd.DataFrame(X, columns=NAMES)
ROWS = X[::7] + 0.25


def with_one(value):
    rows = ROWS.copy()
    rows[2, 1] = value
    return rows


class Row(np.ndarray):
    """A subclass, as units and masks are."""


GIVEN = {
    "an array": ROWS,
    "columns first": np.asfortranarray(ROWS),
    "backwards": ROWS[:, ::-1],
    "read only": np.broadcast_to(ROWS[0], (3, 4)),
    "single precision": ROWS.astype(np.float32),
    "other bytes": ROWS.astype(">f8"),
    "whole numbers": ROWS.astype(np.int64),
    "booleans": ROWS > 3.0,
    "objects": ROWS.astype(object),
    "text": ROWS.astype(str),
    "words": np.full((3, 4), "much"),
    "a gap": with_one(np.nan),
    "infinity": with_one(np.inf),
    "huge numbers": with_one(1.7e308) * np.array([1.0, 1.0, 1e300, 1.0]),
    "no rows": ROWS[:0],
    "too many columns": np.column_stack([ROWS, ROWS]),
    "a single row": ROWS[0],
    "a number": np.float64(3.0),
    "a subclass": ROWS.view(Row),
    "a masked array": np.ma.masked_array(ROWS, mask=ROWS > 5.0),
    "a frame": pd.DataFrame(ROWS, columns=NAMES),
    "a frame with an index": pd.DataFrame(ROWS, columns=NAMES, index=[f"row {i}" for i in range(len(ROWS))]),
    "a frame with whole numbers": pd.DataFrame(ROWS, columns=NAMES).astype({"sepal width": np.int64}),
    "a frame of objects": pd.DataFrame(ROWS, columns=NAMES).astype(object),
    "a frame of nullable numbers": pd.DataFrame(ROWS, columns=NAMES).astype("Float64"),
    "a sparse frame": pd.DataFrame(ROWS, columns=NAMES).astype(pd.SparseDtype("float64", 0.0)),
    "a frame with a sparse column": pd.DataFrame(ROWS, columns=NAMES).astype(
        {"sepal width": pd.SparseDtype("float64", 0.0)}
    ),
    "a frame with text": pd.DataFrame(ROWS, columns=NAMES).assign(**{"sepal width": "wide"}),
    "a frame in another order": pd.DataFrame(ROWS[:, ::-1], columns=NAMES[::-1]),
    "a frame with other names": pd.DataFrame(ROWS, columns=["a", "b", "c", "d"]),
    "a frame with numbers for names": pd.DataFrame(ROWS),
    "a frame with a column too many": pd.DataFrame(ROWS, columns=NAMES).assign(more=1.0),
    "a frame without rows": pd.DataFrame(ROWS[:0], columns=NAMES),
    "a series": pd.Series(ROWS[0]),
}
# Few rows may be converted without a look at the types of columns.
GIVEN |= {f"the first row of {name}": given[:1] for name, given in GIVEN.items() if isinstance(given, pd.DataFrame)}
ASKED = {
    "decide": lambda classifier, rows: classifier.decide(rows),
    "predict": lambda classifier, rows: classifier.predict(rows),
    "predict_proba": lambda classifier, rows: classifier.predict_proba(rows),
}


@pytest.fixture(scope="module", params=["no names", "names"])
def fitted(request):
    return SEPClassifier(max_ellipsoids=5).fit(FRAME if request.param == "names" else X, Y)


def outcome(classifier, ask, rows):
    """The result or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = ASKED[ask](classifier, rows)
        except Exception as error:  # noqa: BLE001
            result = (type(error), str(error))
    if ask == "decide" and not isinstance(result, tuple):
        result = {name: np.asarray(value).tolist() for name, value in result.to_frame().reset_index().items()}
    elif not isinstance(result, tuple):
        result = (result.dtype, result.tolist())
    return result, [(one.category, str(one.message)) for one in warned]


@pytest.mark.parametrize("given", GIVEN)
def test_both_ways_agree(fitted, given, monkeypatch):
    short = [outcome(fitted, ask, GIVEN[given]) for ask in ASKED]
    monkeypatch.setattr(estimator, "plain_rows", lambda *args: None)
    assert short == [outcome(fitted, ask, GIVEN[given]) for ask in ASKED]


@pytest.mark.parametrize("given", ["an array", "columns first", "read only", "a frame", "a frame with an index"])
def test_doubles_with_the_right_names_are_plain(fitted, given, monkeypatch):
    taken, plain = [], estimator.plain_rows
    monkeypatch.setattr(estimator, "plain_rows", lambda *args: taken.append(plain(*args)) or taken[-1])
    outcome(fitted, "predict", GIVEN[given])
    has_names = given.startswith("a frame")
    assert (taken[0] is None) == (has_names != hasattr(fitted, "feature_names_in_"))
