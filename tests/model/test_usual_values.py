"""What is usual among training rows: recomputed from these rows, for groups and for categories."""

from __future__ import annotations

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer

import sepc
from sepc import SEPClassifier

pd = package_or_skip("pandas")

ANYWHERE, FEWEST_ROWS = -1, 5  # groups of all rows of a class, and the least size of others
COLUMNS = ["mean texture", "worst area", "worst concavity"]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X[COLUMNS], y.to_numpy()


@pytest.fixture(scope="module", params=["weights", "published"])
def fitted(request, cancer):
    return SEPClassifier(trust=request.param).fit(*cancer)


def table_of(n=400):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    ward = np.where(rng.random(n) < 0.8, np.where(y == 1, "north", "south"), "east")
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 200, n) + 100 * y, unit="D")
    return pd.DataFrame({"age": rng.normal(40.0, 5.0, n) + 10.0 * y, "ward": ward, "since": since}), y


def rows_of(group: int, usual, model, X, y) -> np.ndarray:
    own = y == model.classes[usual.owner[group]]
    k = int(usual.ellipsoid[group])
    return own if k == ANYWHERE else own & model.ellipsoid(k).contains(X)


def test_ranges_are_those_of_the_middle_of_the_rows_of_a_group(fitted, cancer):
    X, y = cancer[0].to_numpy(), cancer[1]
    usual, model = fitted.model_.usual, fitted.model_
    assert len(usual.n_rows) > 2
    for group in range(len(usual.n_rows)):
        rows = X[rows_of(group, usual, model, X, y)]
        assert len(rows) == usual.n_rows[group] >= (1 if usual.ellipsoid[group] == ANYWHERE else FEWEST_ROWS)
        ordered = np.sort(rows, axis=0)
        low, high = (ordered[int(np.ceil(share * len(rows))) - 1] for share in (0.1, 0.9))
        assert (usual.ranges[group] == np.column_stack([low, high])).all()
    for k in range(model.n_ellipsoids):
        for c, n in enumerate(model.table.inside_each(np.array([k]))[0]):
            assert (usual.group(k, c) is None) == (n < FEWEST_ROWS)
    overall = usual.overall
    assert (overall[:, 0] == X.min(axis=0)).all()
    assert (overall[:, -1] == X.max(axis=0)).all()
    assert np.allclose(overall[:, 20], np.median(X, axis=0), rtol=0.01)


def test_every_category_is_counted():
    X, y = table_of()
    usual = SEPClassifier().fit(X, y).model_.usual
    assert [own.kind.name for own in usual.displays] == ["NUMBER", "CATEGORY", "DATE"]
    assert usual.displays[1].categories == ("east", "north", "south")
    for c in (0, 1):
        group = usual.group(ANYWHERE, c)
        shares = [usual.category_share(group, 1, code) for code in range(4)]
        wanted = [(X["ward"][y == c] == ward).mean() for ward in ("east", "north", "south")]
        assert shares == pytest.approx([*wanted, 0.0])


def test_numbers_of_few_values_are_counted():
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.integers(0, 3, 300), rng.normal(size=300)]).astype(float), rng.integers(0, 2, 300)
    usual = SEPClassifier(max_ellipsoids=2).fit(X, y).model_.usual
    assert usual.n_levels.tolist() == [3, 0]
    for c in (0, 1):
        shares = [usual.level_share(usual.group(ANYWHERE, c), 0, value) for value in (0.0, 1.0, 2.0, 1.5)]
        assert shares == pytest.approx([*(np.mean(X[y == c, 0] == value) for value in (0.0, 1.0, 2.0)), 0.0])
        assert usual.level_share(usual.group(ANYWHERE, c), 1, 0.0) is None


def test_files_give_the_same_as_rows_in_memory(cancer, tmp_path):
    """Saved models, and models of rows in Parquet files."""
    pytest.importorskip("pyarrow")
    model = SEPClassifier(max_ellipsoids=2).fit(*table_of())
    sepc.save(model, tmp_path / "model.sepc")
    read, own = sepc.load(tmp_path / "model.sepc").model_.usual, model.model_.usual
    assert read.displays == own.displays
    for name in ("ranges", "overall", "n_rows", "category_counts", "n_levels", "levels", "level_counts"):
        assert np.array_equal(getattr(read, name), getattr(own, name)), name
    X, y = cancer
    X.assign(label=y).to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    read, own = (
        SEPClassifier(max_ellipsoids=2).fit(*rows).model_.usual
        for rows in ((tmp_path / "rows.parquet", "label"), (X, y))
    )
    assert (read.ranges[:2] == own.ranges[:2]).all()
    assert (read.overall == own.overall).all()
