"""Labels that are missing and cells that hold several values are refused in the user's own terms."""

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.linear_model import LogisticRegression

from sepc import SelectiveClassifier, SEPClassifier, StratifiedClassifier, TrustedClassifier

pd = package_or_skip("pandas")

MISSING = r"y has 3 missing labels, the first in row 17; leave these rows out or give them a label\."


def rows(n=60):
    return np.random.default_rng(0).normal(size=(n, 2))


def labels(kind):
    y = np.arange(60) % 2
    if kind == "doubles":
        return np.where(np.isin(np.arange(60), [17, 20, 40]), np.nan, y)
    if kind == "whole numbers":
        return pd.Series(y, dtype="Int64").mask(np.isin(np.arange(60), [17, 20, 40]))
    texts = np.array(["a", "b"], dtype=object)[y]
    texts[[17, 20, 40]] = [None, np.nan, None]
    return texts


@pytest.mark.parametrize("kind", ["doubles", "whole numbers", "texts"])
@pytest.mark.parametrize("is_table", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        SEPClassifier(),
        SelectiveClassifier(LogisticRegression()),
        TrustedClassifier(LogisticRegression()),
        StratifiedClassifier(SEPClassifier(), by=[]),
    ],
    ids=lambda own: type(own).__name__,
)
def test_missing_labels_are_counted_and_the_first_is_named(estimator, is_table, kind):
    X = pd.DataFrame(rows(), columns=["u", "v"]).assign(w="x") if is_table else rows()
    with pytest.raises(ValueError, match=MISSING):
        estimator.fit(X, labels(kind))


def test_one_missing_label_is_one():
    y = np.where(np.arange(60) == 3, np.nan, np.arange(60) % 2)
    with pytest.raises(ValueError, match="y has 1 missing label, the first in row 3"):
        SEPClassifier().fit(rows(), y)


@pytest.mark.parametrize(
    ("cell", "kind"), [(["a"], "lists"), ({"a": 1}, "dictionaries"), ({1}, "sets"), (np.arange(2), "lists")]
)
def test_cells_that_hold_several_values_are_refused_by_the_name_of_their_column(cell, kind):
    table = pd.DataFrame(rows(), columns=["u", "v"])
    table["tags"] = [None, *[cell] * 59]
    with pytest.raises(
        ValueError, match=rf"Column 'tags' holds {kind}; a cell must hold one value\. Make a column for"
    ):
        SEPClassifier().fit(table, np.arange(60) % 2)
