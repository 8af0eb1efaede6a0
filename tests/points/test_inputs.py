"""What users pass in becomes a point set, or an error in their terms."""

import re
import subprocess
import sys

import numpy as np
import pytest
from optional import package_or_skip
from scipy import sparse

from sepc.points.in_memory import ArrayPoints, BlockPoints
from sepc.points.inputs import as_points, feature_names

pd, pl = package_or_skip("pandas"), package_or_skip("polars")

TABLE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


class OnlyArray:
    def __array__(self, dtype=None, copy=None):
        return TABLE.astype(dtype)


@pytest.mark.parametrize(
    "X",
    [
        TABLE,
        np.asfortranarray(TABLE),
        TABLE.astype(np.float32),
        TABLE.astype(np.int8),
        TABLE.astype(np.uint64),
        TABLE.astype(np.longdouble),
        TABLE.astype(object),
        TABLE.astype(str),
        TABLE.tolist(),
        np.ma.masked_array(TABLE),
        OnlyArray(),
    ],
    ids=lambda X: f"{type(X).__name__}-{getattr(X, 'dtype', '')}",
)
def test_tables_of_any_kind_become_floats(X):
    rows = as_points(X).gather(3)
    assert rows.dtype == np.float64
    assert (rows == TABLE).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame(TABLE),
        lambda: pd.DataFrame({"a": [1, 3, 5], "b": pd.array([2, 4, 6], dtype="Int64")}),
        lambda: pl.DataFrame(TABLE, schema=["a", "b"]),
    ],
)
def test_frames_become_floats(make):
    rows = as_points(make()).gather(3)
    assert rows.dtype == np.float64
    assert (rows == TABLE).all()


def test_truth_values_in_a_frame_become_zero_and_one():
    frame = pd.DataFrame({"smoker": [True, False], "age": [31.5, 40.0]})
    assert as_points(frame).gather(2).tolist() == [[1.0, 31.5], [0.0, 40.0]]


def test_truth_values_become_zero_and_one():
    assert as_points(np.array([[True], [False]])).gather(2).tolist() == [[1.0], [0.0]]


def test_float_arrays_are_not_copied():
    assert as_points(TABLE).gather(3) is TABLE


@pytest.mark.parametrize("points", [ArrayPoints(TABLE), BlockPoints([TABLE, TABLE])])
def test_point_sets_pass_through(points):
    assert as_points(points) is points
    assert feature_names(points) == ("x0", "x1")


def test_columns_have_numbers_for_names():
    assert feature_names(TABLE) == feature_names(TABLE.tolist()) == ("x0", "x1")


def test_features_keep_their_names():
    assert feature_names(pd.DataFrame({"age": [1], 7: [2]})) == ("age", "7")
    assert feature_names(pl.DataFrame(TABLE, schema=["a", "b"])) == ("a", "b")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), "expected a table with rows and columns, got an array of shape (3,): for one feature use X.resh"),
        ([1.0, 2.0], "got an array of shape (2,)"),
        (3.0, "got an array of shape ()"),
        (np.zeros((2, 2, 2)), "got an array of shape (2, 2, 2)"),
        ([[1.0, 2.0], [3.0]], "its rows differ in length"),
        (np.zeros((0, 3)), "X has 0 row(s) (shape=(0, 3))"),
        (np.zeros((3, 0)), "X has 0 feature(s) (shape=(3, 0)) while a minimum of 1 is required."),
        (TABLE * 1j, "Complex data not supported"),
        (TABLE.astype("datetime64[s]"), "X contains datetime64[s] instead of numbers"),
        (TABLE.astype("timedelta64[s]"), "X contains timedelta64[s] instead of numbers"),
        ([["1", "2"], ["3", "?"]], "Feature 'x1' is not numeric: row 1 contains"),
        (np.array([[1.0, np.nan], [2.0, np.inf]]), "in 2 cells; the first is feature 'x1' in row 0."),
        (
            np.array([[1.0, 2.0], [-np.inf, 2.0]]),
            "X contains NaN or infinity in 1 cell; the first is feature 'x0' in row",
        ),
        (np.array([[1.0, None]], dtype=object), "first is feature 'x1' in row 0."),
        (np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]]), "first is feature 'x1' in row 0."),
    ],
)
def test_what_is_wrong_is_said_in_the_users_terms(X, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        as_points(X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pd.Series([1.0, 2.0]), "got an array of shape (2,)"),
        (lambda: pd.DataFrame({"age": []}), "X has 0 row(s) (shape=(0, 1))"),
        (
            lambda: pd.DataFrame({"age": [1, 2], "city": ["Oslo", "Rome"]}),
            "Feature 'city' is not numeric: row 0 contains 'Oslo'",
        ),
        (lambda: pd.DataFrame({"age": [1, None], "n": [1, 2]}), "in 1 cell; the first is feature 'age' in row 1."),
        (
            lambda: pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "c": [1.0, 2.0]}),
            "first is feature 'n' in row 1.",
        ),
        (lambda: np.array([[1.0, pd.NA]], dtype=object), "first is feature 'x1' in row 0."),
    ],
)
def test_what_is_wrong_with_a_frame_is_said_in_the_users_terms(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        as_points(make())


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="no wider float on this machine")
def test_numbers_too_large_for_our_floats_are_infinite():
    with pytest.raises(ValueError, match="feature 'x0' in row 1"):
        as_points(np.array([[1.0], [np.finfo(np.longdouble).max]], dtype=np.longdouble))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            lambda: {"foo": "bar"},
            "Feature 'x1' is not numeric: row 1 contains {'foo': 'bar'} (float() argument must be a string",
        ),
        (lambda: 1j, "Feature 'x1' is not numeric: row 1 contains 1j"),
        (lambda: pd.Timestamp("2024-01-01"), "Feature 'x1' is not numeric: row 1 contains Timestamp"),
    ],
)
def test_cells_that_are_neither_text_nor_numbers_are_named(cell, message):
    X = TABLE.astype(object)
    X[1, 1] = cell()
    with pytest.raises(TypeError, match=re.escape(message)):
        as_points(X)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.coo_matrix])
def test_sparse_tables_are_refused_in_a_sentence(make):
    with pytest.raises(TypeError, match=r"^Sparse data is not supported; .* X\.toarray\(\)\.$"):
        as_points(make(TABLE))


def test_dask_collections_are_not_gathered_behind_the_users_back():
    class Collection(OnlyArray):
        def __dask_graph__(self):
            return {}

    with pytest.raises(TypeError, match="Dask"):
        as_points(Collection())


def test_neither_pandas_nor_polars_nor_scikit_learn_is_imported():
    code = "import sys, sepc.points.inputs; print(*{'pandas', 'polars', 'sklearn', 'dask'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
