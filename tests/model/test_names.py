"""Names of ellipsoids and regions: unique, stable, true of the rows, and short."""

from __future__ import annotations

import gc
import re
import weakref

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, make_blobs

import sepc
from sepc import SEPClassifier

pd = package_or_skip("pandas")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, np.where(y == 0, "malignant", "benign")


@pytest.fixture(scope="module")
def fitted(cancer):
    return SEPClassifier().fit(*cancer)


def meets(rows, condition):
    """Which rows meet a condition of a name, up to the rounding of its ends."""
    one_sided = re.fullmatch(r"(.+) ([≥≤]) (\S+)", condition)
    name, low, high = (
        re.fullmatch(r"(.+) (\S+) to (\S+)", condition).groups()
        if one_sided is None
        else (one_sided[1], *((one_sided[3], "inf") if one_sided[2] == "≥" else ("-inf", one_sided[3])))
    )
    slack = 0.1 * rows[name].std()
    return rows[name].between(float(low.replace(",", "")) - slack, float(high.replace(",", "")) + slack).to_numpy()


def ellipsoid_names(model):
    """The names of the ellipsoids, which are those of the regions around them."""
    regions = model.regions_
    around = [name for name, near in zip(regions.names, regions.near, strict=True) if near is not None]
    return [name.removeprefix("around ") for name in around[: model.model_.n_ellipsoids]]


def test_conditions_hold_for_most_rows_of_an_ellipsoid_and_leave_out_many_others(fitted, cancer):
    X, y = cancer
    placed = np.delete(X.to_numpy(), fitted.model_.alone.features, axis=1)
    for k, name in enumerate(ellipsoid_names(fitted)):
        own = fitted.model_.ellipsoid(k).contains(placed) & (y == fitted.model_.classes[fitted.model_.owners[k]])
        for condition in name.split(", "):
            assert meets(X[own], condition).mean() >= 0.75, condition
        assert meets(X, name.split(", ")[0]).mean() <= 0.7, name


def test_names_are_unique_and_stable(fitted, cancer, tmp_path):
    sepc.save(fitted, tmp_path / "model.sepc")
    for same in (sepc.load(tmp_path / "model.sepc"), SEPClassifier().fit(*cancer)):
        assert same.regions_.names == fitted.regions_.names
    X, y = make_blobs(600, centers=np.zeros((4, 2)), cluster_std=[0.2, 0.5, 1.0, 2.0], random_state=0)
    alike = SEPClassifier(n_impure=0.5).fit(X.round(0), y)
    for model in (fitted, alike):
        names = model.regions_.names
        assert len(set(names)) == len(names) == len(model.regions_)


def test_a_region_is_named_after_its_ellipsoid_or_what_several_have_in_common(fitted):
    model, ellipsoids = fitted.model_, ellipsoid_names(fitted)
    for name, (inside, near, _) in zip(fitted.regions_.names, fitted.regions_, strict=True):
        if len(inside) == 1:
            assert name == ellipsoids[inside[0]]
        elif inside:
            assert name.endswith(f"(where {len(inside)} overlap)")
        elif near is not None and near >= model.n_ellipsoids:
            owner = model.classes[model.isolated_owners[near - model.n_ellipsoids]]
            assert name.startswith(f"near single {owner} case ")
    assert fitted.regions_.to_frame()["name"].tolist() == list(fitted.regions_.names)


def test_categories_and_dates_are_named_as_a_person_reads_them():
    rng = np.random.default_rng(1)
    n = 400
    y = rng.integers(0, 2, n)
    ward = np.where(y == 1, np.where(rng.random(n) < 0.5, "north", "west"), "south")
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.where(y == 1, 1, 2000) + rng.integers(0, 30, n), unit="D")
    X = pd.DataFrame({"ward": ward, "since": since, "noise": rng.normal(size=n)})
    names = " | ".join(ellipsoid_names(SEPClassifier().fit(X, y)))
    assert "ward south" in names
    assert "ward west or north" in names or "ward north or west" in names
    assert re.search(r"since [≤≥] 20\d\d-\d\d-\d\d", names)


def test_a_feature_that_says_nothing_is_not_named():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"job": rng.choice(list("abcdefghij"), 200), "town": rng.choice(list("klmnopqrst"), 200)})
    names = SEPClassifier().fit(X, (X["job"] < "e") ^ (rng.random(200) < 0.2)).regions_.names
    assert any(name.startswith("ellipsoid") for name in names)
    assert not any(re.search(r"(job|town) *($|[(,])", name) for name in names)


def test_hostile_names_of_features_stay_on_a_line():
    X, y = make_blobs(100, centers=2, random_state=0)
    table = pd.DataFrame(X, columns=["a\nb\x1b[31m", "very " * 50])
    for name in SEPClassifier().fit(table, y).regions_.names:
        assert "\n" not in name
        assert "\x1b" not in name
        assert len(name) < 250


def test_names_do_not_keep_a_model_in_memory():
    X, y = make_blobs(60, centers=2, random_state=0)
    model = SEPClassifier().fit(X, y)
    assert model.regions_.names
    reference = weakref.ref(model.model_)
    del model
    gc.collect()
    assert reference() is None
