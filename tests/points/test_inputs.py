"""What users pass in becomes rows of numbers, or an error in their terms."""

import re
import subprocess
import sys

import numpy as np
import pytest
from optional import package_or_skip
from scipy import sparse

from sepc import enclose
from sepc.errors import FlatSetWarning

pd, pl = package_or_skip("pandas"), package_or_skip("polars")

TABLE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0], [0.0, 1.0]])
WIDER = np.finfo(np.longdouble).max > np.finfo(np.float64).max


class OnlyArray:
    def __array__(self, dtype=None, copy=None):
        return TABLE.astype(dtype)


class Collection(OnlyArray):
    def __dask_graph__(self):
        return {}


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.asfortranarray(TABLE),
        *(lambda kind=kind: TABLE.astype(kind) for kind in ("f4", "i1", "u8", np.longdouble, object, str)),
        TABLE.tolist,
        lambda: np.ma.masked_array(TABLE),
        OnlyArray,
        lambda: pd.DataFrame(TABLE),
        lambda: pd.DataFrame({"a": [1, 3, 5, 0], "b": pd.array([2, 4, 7, 1], dtype="Int64")}),
        lambda: pl.DataFrame(TABLE, schema=["a", "b"]),
    ],
)
def test_tables_of_any_kind_are_their_numbers(make):
    found, wanted = enclose(make()).ellipsoid, enclose(TABLE).ellipsoid
    np.testing.assert_allclose(found.center, wanted.center, rtol=1e-12)
    np.testing.assert_allclose(found.root, wanted.root, rtol=1e-12)


def test_truth_values_are_zero_and_one():
    frame = pd.DataFrame({"smoker": [True, False, True, False], "age": [31.5, 40.0, 50.0, 31.0]})
    np.testing.assert_array_equal(enclose(frame).ellipsoid.center, enclose(frame.astype(float)).ellipsoid.center)
    assert enclose(np.array([[True], [False]])).ellipsoid.center.tolist() == [0.5]


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: np.array([[1, 2], [2, 4], [3, 6]]), "'x0', 'x1'"),
        (lambda: pd.DataFrame({"age": [1, 2, 3], 7: [2, 4, 6]}), "'age', '7'"),
        (lambda: pl.DataFrame({"a": [1, 2, 3], "b": [2, 4, 6]}), "'a', 'b'"),
    ],
)
def test_features_keep_their_names_or_are_numbered(make, names):
    with pytest.warns(FlatSetWarning, match=names):
        enclose(make())


WRONG_VALUES = [
    (lambda: np.zeros(3), "got an array of shape (3,): for one feature use X.resh"),
    (lambda: 3.0, "shape ()"),
    (lambda: np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
    (lambda: pd.Series([1.0, 2.0]), "shape (2,)"),
    (lambda: [[1.0, 2.0], [3.0]], "differ in length"),
    (lambda: np.zeros((0, 3)), "0 row(s) (shape=(0, 3))"),
    (lambda: np.zeros((3, 0)), "0 feature(s) (shape=(3, 0)) while a minimum of 1 is required."),
    (lambda: pd.DataFrame({"age": []}), "0 row(s) (shape=(0, 1))"),
    (lambda: TABLE * 1j, "Complex"),
    (lambda: TABLE.astype("datetime64[s]"), "datetime64[s]"),
    (lambda: TABLE.astype("timedelta64[s]"), "timedelta64[s]"),
    (lambda: [["1", "2"], ["3", "?"]], "'x1' is not numeric: row 1"),
    (lambda: pd.DataFrame({"age": [1, 2], "city": ["Oslo", "Rome"]}), "'city' is not numeric: row 0 contains 'Oslo'"),
    (lambda: np.array([[1.0, np.nan], [2.0, np.inf]]), "in 2 cells; the first is feature 'x1' in row 0."),
    (lambda: np.array([[1.0, 2.0], [-np.inf, 2.0]]), "in 1 cell; the first is feature 'x0' in row 1"),
    (lambda: np.array([[1.0, None]], dtype=object), "feature 'x1' in row 0."),
    (lambda: np.array([[1.0, pd.NA]], dtype=object), "feature 'x1' in row 0."),
    (lambda: np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]]), "feature 'x1' in row 0."),
    (lambda: pd.DataFrame({"age": [1, None], "n": [1, 2]}), "feature 'age' in row 1."),
    (lambda: pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "c": [1.0, 2.0]}), "feature 'n' in row 1."),
]
if WIDER:  # Numbers too large for our floats are infinite.
    WRONG_VALUES.append((lambda: np.array([[1.0], [np.finfo(np.longdouble).max]]), "feature 'x0' in row 1"))


def with_cell(cell):
    X = TABLE.astype(object)
    X[1, 1] = cell
    return X


WRONG_TYPES = [
    (lambda: with_cell({"foo": "bar"}), "'x1' is not numeric: row 1 contains {'foo': 'bar'}"),
    (lambda: with_cell(1j), "row 1 contains 1j"),
    (lambda: with_cell(pd.Timestamp("2024-01-01")), "row 1 contains Timestamp"),
    (lambda: sparse.csr_array(TABLE), "X.toarray()"),
    (lambda: sparse.coo_matrix(TABLE), "X.toarray()"),
    (Collection, "Dask"),
]


@pytest.mark.parametrize(
    ("make", "said", "kind"),
    [*((*own, ValueError) for own in WRONG_VALUES), *((*own, TypeError) for own in WRONG_TYPES)],
)
def test_what_is_wrong_is_said_in_the_users_terms(make, said, kind):
    with pytest.raises(kind, match=re.escape(said)):
        enclose(make())


def test_neither_pandas_nor_polars_nor_dask_is_imported():
    code = "import sys, sepc; sepc.enclose([[1.0], [2.0]]); print(*{'pandas', 'polars', 'dask'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
