"""A model that is worked on in small blocks says the same as at once, and tables are counted right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from sepc import SEPClassifier
from sepc.model import membership, rules, sep_model, signature_table, weights
from sepc.model.locate import pack_sets, unpack_sets
from sepc.model.signature_table import SignatureTable

X, Y = make_classification(400, n_features=4, n_classes=3, n_informative=4, n_redundant=0, flip_y=0.2, random_state=0)
ROWS = np.concatenate([X, 3.0 * X[:100], X[:50] + 100.0])
FIELDS = ("label", "trust", "accepted", "cause", "probabilities", "region", "counts", "gauge", "place")


def tables():
    """Small tables of distinct sets in order, and some sets to look up."""
    bits = st.integers(1, 70).flatmap(lambda k: st.tuples(st.just(k), st.sets(st.integers(0, 2**k - 1), min_size=1)))
    return bits.map(lambda drawn: np.array([[n >> b & 1 for b in range(drawn[0])] for n in sorted(drawn[1])], bool))


@pytest.mark.slow
@given(tables(), st.integers(1, 40), st.integers(1, 3))
def test_tables_are_counted_in_blocks_of_any_size(sets, block, n_classes):
    sets = sets[np.lexsort(sets.T[::-1])]
    counts = np.arange(sets.shape[0] * n_classes).reshape(-1, n_classes) + 1
    table, before = SignatureTable(sets, counts), signature_table.BLOCK_ENTRIES
    asked = np.concatenate([sets, ~sets, np.zeros_like(sets[:1])])
    signature_table.BLOCK_ENTRIES = block
    try:
        found = {name: getattr(table, name)(asked) for name in ("inside_all", "inside_any", "inside_only")}
        each, one = (getattr(table, name)(np.arange(sets.shape[1])) for name in ("inside_each", "inside_one"))
        rows = table.rows_inside
    finally:
        signature_table.BLOCK_ENTRIES = before
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


def decided(trust):
    classifier = SEPClassifier(trust=trust, n_impure=1, max_ellipsoids=60).fit(X, Y)
    assert classifier.model_.n_ellipsoids > 5
    assert len(classifier.model_.isolated) > 5
    return classifier, classifier.decide(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("trust", ["weights", "counts"])
def test_decisions_in_small_blocks_are_the_same_to_the_last_bit(trust, monkeypatch):
    classifier, expected = decided(trust)
    monkeypatch.setattr(rules, "BLOCK_PAIRS", 7 * classifier.model_.n_places)
    monkeypatch.setattr(signature_table, "BLOCK_ENTRIES", 50)
    again = classifier.decide(ROWS)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(again, name), getattr(expected, name), name)


@pytest.mark.slow
def test_isolated_rows_weighed_in_blocks_are_the_same_but_for_rounding(monkeypatch):
    classifier, expected = decided("weights")
    terms = expected.terms()
    monkeypatch.setattr(weights, "BLOCK_ISOLATED", 2)
    np.testing.assert_allclose(classifier.decide(ROWS).probabilities, expected.probabilities, atol=1e-12)
    np.testing.assert_allclose(classifier.decide(ROWS).terms().isolated, terms.isolated, atol=1e-12)


@pytest.mark.slow_cases("weights")
@pytest.mark.parametrize("trust", ["weights", "counts"])
def test_rows_measured_without_polynomials_are_decided_alike(trust, monkeypatch):
    classifier, expected = decided(trust)
    monkeypatch.setattr(membership, "MOST_MONOMIALS", 0)
    vars(classifier.model_).pop("stack")
    again = classifier.decide(ROWS)
    assert classifier.model_.stack.coefficients.shape[1] == 0
    np.testing.assert_array_equal(again.label, expected.label)
    np.testing.assert_array_equal(again.region, expected.region)
    np.testing.assert_allclose(again.trust, expected.trust, atol=1e-6)


def test_the_spread_of_ellipsoids_in_blocks_is_the_same(monkeypatch):
    model = decided("counts")[0].model_
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
