"""The signature table answers what a recount of all rows would, and a model in small blocks what it says at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.geometry import Ellipsoid
from sepc.model import counts as signature_table
from sepc.model import membership, sep_model, weights
from sepc.model.counts import Signatures, SignatureTable
from sepc.model.membership import pack_sets, unpack_sets
from sepc.points.in_memory import ArrayPoints
from sepc.shapes.ellipsoid import BOUNDARY_SLACK


def drawn(seed, K, n=300, d=2, C=3):
    rng = np.random.default_rng(seed)
    ellipsoids = tuple(Ellipsoid(rng.standard_normal(d), np.eye(d) * rng.uniform(0.5, 2)) for _ in range(K))
    return ellipsoids, rng.standard_normal((n, d)), rng.integers(C, size=n), rng


def table_of(ellipsoids, rows, labels, C=3):
    counting = Signatures.of(ellipsoids, rows.shape[1], BOUNDARY_SLACK)
    return SignatureTable.of_classes([ArrayPoints(rows[labels == c]).reduce(counting) for c in range(C)])


def test_no_ellipsoid_leaves_one_empty_set():
    counting = Signatures.of((), 2, 0.0)
    table = SignatureTable.of_classes([ArrayPoints(np.zeros((n, 2))).reduce(counting) for n in (3, 4)])
    assert table.memberships.shape == (1, 0)
    np.testing.assert_array_equal(table.counts, [[3, 4]])
    np.testing.assert_array_equal(table.inside_all(np.zeros((2, 0), dtype=bool)), [[3, 4], [3, 4]])


@given(st.integers(0, 10_000))
def test_every_row_is_counted_once(seed):
    ellipsoids, rows, labels, _ = drawn(seed, seed % 9, n=40)
    table = table_of(ellipsoids, rows, labels)
    np.testing.assert_array_equal(table.counts.sum(axis=0), np.bincount(labels, minlength=3))
    assert len(np.unique(table.memberships, axis=0)) == len(table.memberships)


def tables():
    """Small tables of distinct sets in order, and some sets to look up."""
    bits = st.integers(1, 70).flatmap(lambda k: st.tuples(st.just(k), st.sets(st.integers(0, 2**k - 1), min_size=1)))
    return bits.map(lambda drawn: np.array([[n >> b & 1 for b in range(drawn[0])] for n in sorted(drawn[1])], bool))


@given(tables(), st.integers(1, 40), st.integers(1, 3))
def test_tables_are_counted_in_blocks_of_any_size(sets, block, n_classes):
    sets = sets[np.lexsort(sets.T[::-1])]
    counts = np.arange(sets.shape[0] * n_classes).reshape(-1, n_classes) + 1
    table, asked = SignatureTable(sets, counts), np.concatenate([sets, ~sets, np.zeros_like(sets[:1])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signature_table, "BLOCK_ENTRIES", block)
        found = {name: getattr(table, name)(asked) for name in ("inside_all", "inside_any", "inside_only")}
        each, one = (getattr(table, name)(np.arange(sets.shape[1])) for name in ("inside_each", "inside_one"))
        rows = table.rows_inside
    for i, own in enumerate(asked):
        meant = {
            "inside_all": [not (own & ~members).any() for members in sets],
            "inside_any": [bool((own & members).any()) for members in sets],
            "inside_only": [bool(members.any()) and not (members & ~own).any() for members in sets],
        }
        for name, chosen in meant.items():
            np.testing.assert_array_equal(found[name][i], counts[chosen].sum(axis=0))
    for k in range(sets.shape[1]):
        np.testing.assert_array_equal(each[k], counts[sets[:, k]].sum(axis=0))
        alone = sets[:, k] & (sets.sum(axis=1) == 1)
        np.testing.assert_array_equal(one[k], counts[alone].sum(axis=0))
        assert rows[k] == counts[sets[:, k]].sum()
    np.testing.assert_array_equal(unpack_sets(pack_sets(sets), sets.shape[1]), sets)
    np.testing.assert_array_equal(table.find(pack_sets(sets)), np.arange(len(sets)))


X, Y = make_classification(400, n_features=4, n_classes=3, n_informative=4, n_redundant=0, flip_y=0.2, random_state=0)
ROWS = np.concatenate([X, 3.0 * X[:100], X[:50] + 100.0])


@fitted_once
def fitted(trust):
    return SEPClassifier(trust=trust, n_impure=1, max_ellipsoids=60).fit(X, Y)


@pytest.mark.parametrize("trust", ["weights", "counts"])
def test_a_model_in_small_blocks_or_without_polynomials_decides_alike(trust, monkeypatch):
    classifier = fitted(trust)
    assert min(classifier.model_.n_ellipsoids, len(classifier.model_.isolated)) > 5
    expected = classifier.decide(ROWS)
    monkeypatch.setattr(signature_table, "BLOCK_ENTRIES", 50)
    monkeypatch.setattr(weights, "BLOCK_ISOLATED", 2)
    again = classifier.decide(ROWS)
    for name in ("label", "accepted", "cause", "region", "counts", "gauge", "place"):
        np.testing.assert_array_equal(getattr(again, name), getattr(expected, name), name)
    np.testing.assert_allclose(again.probabilities, expected.probabilities, atol=1e-12)
    monkeypatch.setattr(membership, "MOST_MONOMIALS", 0)
    vars(classifier.model_).pop("stack")
    again = classifier.decide(ROWS)
    assert classifier.model_.stack.coefficients.shape[1] == 0
    vars(classifier.model_).pop("stack")
    np.testing.assert_array_equal(again.label, expected.label)
    np.testing.assert_array_equal(again.region, expected.region)
    np.testing.assert_allclose(again.trust, expected.trust, atol=1e-6)


def test_the_spread_of_ellipsoids_is_that_of_rows_spread_evenly(monkeypatch):
    model = fitted("counts").model_
    expected = sep_model.mean_square_distance(model)
    monkeypatch.setattr(sep_model, "BLOCK_ENTRIES", 20)
    assert sep_model.mean_square_distance(model) == expected
    axes = np.linalg.inv(model.roots)
    places = np.concatenate([model.centers, model.isolated])
    inside = model.table.memberships.T @ model.table.counts.sum(axis=1)
    held = np.concatenate([inside, np.ones(len(model.isolated))])
    squared = ((places - held @ places / held.sum()) ** 2).sum(axis=1)
    squared[: len(axes)] += (axes**2).sum(axis=(1, 2)) / (axes.shape[1] + 2)
    assert expected == pytest.approx(held @ squared / held.sum())
    rows = Ellipsoid(model.centers[0], model.roots[0]).sample(100_000, np.random.default_rng(0))
    even = sep_model.even_variance(axes[0] @ axes[0].T, axes.shape[1])
    np.testing.assert_allclose(np.cov(rows.T), even, atol=0.02 * np.abs(even).max())
