"""Landscape as users meet it: the paper's figures, any table and labels, awkward data, errors."""

import json
import warnings

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris, make_blobs, make_moons

from sepc import Landscape, SEPClassifier, datasets
from sepc.decisions.kinds import Rule
from sepc.errors import FlatSetWarning
from sepc.wording import percent


@pytest.fixture
def moons():
    return make_moons(300, noise=0.15, random_state=0)


def test_vertebral_column_has_the_overlap_of_the_paper(home):
    data = datasets.load("vertebral_column_2c")
    told = Landscape(data.features.round(2), data.target).figures
    assert told.classes == ("Abnormal", "Normal")
    assert told.n_rows == (210, 100)
    (overlap,) = told.overlaps
    assert not overlap.disjoint
    assert f"{overlap.ratio_second:.3f}" == "0.667"
    assert f"{overlap.ratio_first:.4f}" == "0.0056"
    # The paper counts the rows outside the overlap: 157 and 7.
    assert (210 - overlap.n_first, 100 - overlap.n_second) == (157, 7)


def test_vertebral_column_in_full_precision_is_flat_and_has_ratios_all_the_same(home):
    data = datasets.load("vertebral_column_2c")
    with pytest.warns(FlatSetWarning, match="collinear"):
        flat = Landscape(data.features, data.target).figures.overlaps[0]
    # The same rows without the feature that follows from two others, up to the rounding of nine digits.
    thick = Landscape(data.features.drop(columns="pelvic_incidence"), data.target).figures.overlaps[0]
    assert (flat.n_first, flat.n_second) == (thick.n_first, thick.n_second)
    assert flat.ratio_first == pytest.approx(thick.ratio_first, rel=0.05)
    assert flat.ratio_second == pytest.approx(thick.ratio_second, rel=0.05)


def test_partition_of_all_rows_is_that_of_the_classifier(moons):
    landscape = Landscape(*moons)
    model = SEPClassifier(max_ellipsoids=30).fit(*moons).model_
    told = landscape.figures
    assert told.n_partitioned == 300
    assert told.n_ellipsoids == model.n_ellipsoids
    assert told.n_isolated == len(model.isolated)
    assert sorted(landscape.partition.model_.table.counts.tolist()) == sorted(model.table.counts.tolist())


def test_sample_is_partitioned_and_all_rows_are_counted():
    X, y = make_blobs([2500, 1500, 20], n_features=3, cluster_std=3.0, random_state=0)
    landscape = Landscape(X, y, fit_rows=400)
    told = landscape.figures
    assert told.n_rows == (2500, 1500, 20)
    assert landscape.partition.model_.class_counts.tolist() == [2500, 1500, 20]
    assert 400 <= told.n_partitioned <= 420
    outside = landscape.partition.decide(X).rule == Rule.NEAREST
    assert told.outside_share == pytest.approx(outside.mean(), abs=1e-12)
    again = Landscape(X[::-1], y[::-1], fit_rows=400).figures
    assert (again.n_ellipsoids, again.n_regions) == (told.n_ellipsoids, told.n_regions)
    assert again.mixed_share == told.mixed_share
    other = Landscape(X, y, fit_rows=400, random_state=1).figures
    assert other.overlaps == told.overlaps
    assert other.mixed_share != told.mixed_share


def test_frames_give_names_and_labels_may_be_text(moons):
    pandas = package_or_skip("pandas")
    X, y = moons
    frame = pandas.DataFrame(X, columns=["größe", "weight"], index=np.arange(300) + 7)
    labels = pandas.Series(np.where(y == 0, "yes", "no"), dtype="category", index=frame.index)
    landscape = Landscape(frame, labels)
    assert landscape.figures.feature_names == ("größe", "weight")
    assert landscape.figures.classes == ("no", "yes")
    assert landscape.partition.feature_names_in_.tolist() == ["größe", "weight"]
    for names in (["a", "a"], [0, 1], ["a", 1]):
        assert Landscape(pandas.DataFrame(X, columns=names), y).figures.feature_names == tuple(map(str, names))
    plain = Landscape(X, y).figures
    assert plain.feature_names == ("x0", "x1")
    assert plain.mixed_share == landscape.figures.mixed_share


def test_summary_is_ready_for_json(moons):
    X, y = moons
    landscape = Landscape(X, y)
    plain = json.loads(json.dumps(landscape.to_dict(), allow_nan=False))
    told = landscape.figures
    assert plain["classes"] == ["0", "1"]
    assert plain["overlaps"][0]["n_first"] == told.overlaps[0].n_first
    np.testing.assert_array_equal(plain["ellipsoids"][1]["root"], told.ellipsoids[1].root)
    assert plain["mixed_share"] == told.mixed_share
    assert str(landscape) == landscape.summary()


def test_words_have_the_figures():
    X, y = make_moons(300, noise=0.15, random_state=0)
    landscape = Landscape(X, np.where(y == 0, "up", "down"))
    told, words = landscape.figures, landscape.summary()
    (overlap,) = told.overlaps
    for figure in (
        f"{overlap.n_first} rows of 'down' ({percent(overlap.n_first / told.n_rows[0])})",
        f"{percent(overlap.ratio_second)} of the volume of 'up'",
        f"({told.n_ellipsoids} ellipsoids, {told.n_regions} regions)",
        f"leaves {percent(told.mixed_share)} of the rows",
    ):
        assert figure in words
    assert "sample of 200 rows" in Landscape(X, y, fit_rows=200).summary()
    square = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    for shift, relation in ((2.2, "no row lies in both"), (30.0, "disjoint")):
        assert relation in Landscape(np.concatenate([square, square + [shift, 0.0]]), [0] * 4 + [1] * 4).summary()
    iris = Landscape(*load_iris(return_X_y=True)).summary()
    assert "Of 3 pairs of class ellipsoids, 2 are disjoint" in iris
    assert "3 rows of '1' (6 %)" in iris


def test_one_class_is_a_landscape_of_one_class():
    landscape = Landscape(np.random.default_rng(0).normal(size=(50, 3)), ["only"] * 50)
    told = landscape.figures
    assert told.overlaps == ()
    assert (told.n_ellipsoids, told.mixed_share, told.outside_share) == (1, 0.0, 0.0)
    assert "nothing to separate" in landscape.summary()


def test_class_of_one_row_has_a_flat_ellipsoid_and_no_ratio():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), [[0.1, 0.1]]])
    landscape = Landscape(X, [0] * 40 + [1])
    (overlap,) = landscape.figures.overlaps
    assert (overlap.n_second, overlap.ratio_second, overlap.ratio_first) == (1, None, 0.0)
    assert "its ellipsoid is flat" in landscape.summary()


def test_constant_and_repeated_columns_and_rows(moons):
    X, y = moons
    awkward = np.column_stack([X, np.full(300, 7.0), X[:, 0] * 2.0])
    awkward = np.concatenate([awkward, awkward[:50]])
    labels = np.concatenate([y, y[:50]])
    with pytest.warns(FlatSetWarning) as caught:
        told = Landscape(awkward, labels).figures
    assert len(caught) == 1
    assert caught[0].filename == __file__
    plain = Landscape(np.concatenate([X, X[:50]]), labels).figures
    assert told.overlaps[0].n_first == plain.overlaps[0].n_first
    assert told.overlaps[0].ratio_first == pytest.approx(plain.overlaps[0].ratio_first, rel=1e-4)


def test_flat_sample_of_a_full_table_does_not_warn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    X[:, 1] = np.where(np.arange(2000) % 500 == 0, X[:, 1], 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Landscape(X, np.arange(2000) % 2, fit_rows=10)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, np.nan], [2.0, 3.0]], [0, 1], "'x1' in row 0"),
        ([[1.0, np.inf], [2.0, 3.0]], [0, 1], "infinity"),
        ([["red", 1.0], ["blue", 2.0]], [0, 1], "'x0' is not numeric"),
        ([[1.0], [2.0], [3.0]], [0, 1], "3 rows"),
        ([[1.0], [2.0]], [0.5, 1.25], "continuous"),
        ([[1.0], [2.0]], ["a", None], "1 missing label"),
        ([[1.0], [2.0]], [1.0, np.nan], "1 missing label"),
        ([[1.0], [2.0]], None, "None"),
        ([[1.0]], [0], "1 row"),
        ([1.0, 2.0], [0, 1], "Reshape"),
        (np.empty((0, 2)), [], "0 row"),
        ([[1.0], [2.0]], np.array(["a", 1], dtype=object), "str and int"),
    ],
)
def test_what_cannot_be_a_table_is_refused_in_the_users_terms(X, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Landscape(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fit_rows": 0}, "fit_rows"),
        ({"n_impure": -1}, "n_impure"),
        ({"max_ellipsoids": 0}, "max_ellipsoids"),
    ],
)
def test_parameters_are_checked(moons, options, message):
    with pytest.raises(ValueError, match=message):
        Landscape(*moons, **options)
