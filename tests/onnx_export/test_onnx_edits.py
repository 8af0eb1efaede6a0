"""An edited model in ONNX says what it says in Python."""

import numpy as np
import pytest
from mixed_tables import complete, patients
from optional import package_or_skip
from sklearn.datasets import load_wine
from test_onnx_parity import assert_same as assert_same_matrix
from test_onnx_parity import rows_around
from test_onnx_parity import session_of as session_of_matrix
from test_onnx_tables import assert_same, session_of
from zoo import fitted_once

from sepc import Edit, SEPClassifier

pd = package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")

SIGNED = {"author": "A. Wu", "reason": "a reason", "date": "2026-05-04"}


@fitted_once
def of_table():
    return SEPClassifier(min_trust=0.8).fit(*patients(300))


def test_edited_curves_categories_and_ellipsoids_of_a_table(tmp_path):
    edits = (
        Edit.flatten("age", 50, 70),
        Edit.monotone("dose", "increasing"),
        Edit.shift("since", "2022-01-01", by=0.5),
        Edit.set_level("ward", "north", 0.4),
        Edit.drop_ellipsoid(0),
    )
    model = of_table().edited(*edits, **SIGNED)
    assert_same(model, session_of(model, tmp_path), complete(patients(seed=1)[0]))


def test_dropped_columns_of_a_table_whatever_they_hold(tmp_path):
    model = of_table().edited(*(Edit.drop_feature(name) for name in ("age", "ward", "stage", "since")), **SIGNED)
    session, table = session_of(model, tmp_path), complete(patients(seed=1)[0])
    assert_same(model, session, table)
    assert_same(model, session, table.assign(age=np.nan, since=pd.NaT, ward=None))


def test_numbers_of_several_classes(tmp_path):
    X, y = load_wine(return_X_y=True)
    X = X[:, :4]
    clipped = Edit.clip("x0", most=0.3, label=0)
    model = SEPClassifier().fit(X, y).edited(clipped, Edit.flatten("x1", 1, 2), Edit.drop_feature("x3"), **SIGNED)
    assert_same_matrix(model, session_of_matrix(model, tmp_path), rows_around(X, 1000))
