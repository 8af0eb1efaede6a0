"""Rows with empty categories: what is certain holds for every category, and what to ask for names the column."""

from itertools import product

import numpy as np
import pytest
from optional import package_or_skip

from sepc import RepairedClassifier, SEPClassifier
from sepc.model import certain
from sepc.model.certain import sections_of
from sepc.model.rules import labels_of

pd = package_or_skip("pandas")

WARDS, STAGES = ("east", "north", "west"), (1, 2, 3, 4)


def design(seed, n=400):
    """A table whose label depends on two numbers and two categories, each more or less; some have gaps in these."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "dose", "noise"])
    ward, stage = rng.choice(WARDS, n).astype(object), rng.choice(STAGES, n)
    strength = rng.uniform(0.2, 2.5, 4)
    score = strength @ [table["age"], table["dose"], ward == "east", stage > 2] + 0.3 * rng.normal(size=n)
    n_classes = 2 + seed % 2
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    table["ward"], table["stage"] = ward, pd.Categorical(stage)
    if seed % 3 == 0:
        table.loc[rng.random(n) < 0.1, "ward"] = None
    return table, y


def with_gaps(table, seed):
    """The same rows, each without a category, and a third without a number and a third without both categories."""
    rng, table = np.random.default_rng(seed), table.copy()
    which = rng.integers(3, size=len(table))
    table.loc[rng.random(len(table)) < 0.5, "ward"] = None
    table.loc[table["ward"].notna() | (which == 0), "stage"] = np.nan
    table.loc[which == 1, "dose"] = np.nan
    return table


def fitted(seed):
    table, y = design(seed)
    return SEPClassifier(categorical_features=["stage"]).fit(table[:300], y[:300]), with_gaps(table[300:], seed)


def completions(model, row, n, rng):
    """Rows with the missing numbers filled in such that an ellipsoid holds them; a complete row as it is."""
    d = len(model.shift)
    if not np.isnan(row[:d]).any():
        return row[None]
    rows = [np.empty((0, len(row)))]
    for cut in sections_of(model, row).values():
        u = rng.standard_normal((n, len(cut.root)))
        u *= rng.random((n, 1)) ** (1 / len(cut.root)) / np.linalg.norm(u, axis=1, keepdims=True)
        drawn = np.repeat(cut.center[None], n, axis=0)
        drawn[:, cut.missing] += u @ cut.root.T
        rows.append(np.column_stack([drawn * model.scale + model.shift, np.repeat(row[None, d:], n, axis=0)]))
    return np.concatenate(rows)


def tried(classifier, table, decisions, n_completions, n_rows):
    """Labels that are called certain, and how many of them some category or number contradicts."""
    rng, n_certain, n_contradicted = np.random.default_rng(0), 0, 0
    for i in range(n_rows):
        if not decisions[i].is_certain:
            continue
        own, labels = table[i : i + 1], []
        wards = WARDS if own["ward"].isna().any() else own["ward"]
        stages = STAGES if own["stage"].isna().any() else own["stage"].astype(int)
        for ward, stage in product(wards, stages):
            filled = own.assign(ward=ward, stage=pd.Categorical([stage]))
            (row,) = classifier.preparation_.rows_of(filled)
            labels.append(labels_of(classifier.model_, completions(classifier.model_, row, n_completions, rng)))
        n_certain += 1
        n_contradicted += bool((np.concatenate(labels) != decisions[i].label).any())
    return n_certain, n_contradicted


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_category_and_no_number_contradicts_what_is_certain(seed):
    classifier, table = fitted(seed)
    n_certain, n_contradicted = tried(classifier, table, classifier.decide(table), 200, 60)
    assert n_certain > 3
    assert n_contradicted == 0


@pytest.mark.slow
def test_nothing_certain_is_contradicted_in_many_designs():
    found = []
    for seed in range(15):
        classifier, table = fitted(seed)
        found.append(tried(classifier, table, classifier.decide(table), 3_000, 100))
    assert sum(n for n, _ in found) > 100
    assert sum(n for _, n in found) == 0


@pytest.fixture(scope="module")
def decisive():
    """A classifier of a table whose label is the category alone, and the table."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"ward": rng.choice(WARDS, 300).astype(object), "age": rng.normal(size=300)})
    return SEPClassifier().fit(table, np.where(table["ward"] == "east", "ill", "well")), table


def test_an_empty_category_that_decides_is_asked_for_and_nothing_is_certain(decisive):
    classifier, table = decisive
    decision = classifier.decide(table[:1].assign(ward=None))[0]
    assert not decision.is_certain
    ((name, share),) = decision.ask_for()
    assert name == "ward"
    assert share > 0.9
    assert classifier.decide(table[:1])[0].ask_for() == []


def test_a_category_not_seen_in_training_is_no_gap(decisive):
    classifier, table = decisive
    decision = classifier.decide(table[:1].assign(ward="south"))[0]
    assert not decision.empty.any()
    assert decision.ask_for() == []


def test_what_decides_is_asked_for_before_what_does_not(decisive):
    classifier, table = decisive
    decision = classifier.decide(table[:1].assign(ward=None, age=np.nan))[0]
    assert [name for name, _ in decision.ask_for()] == ["ward", "age"]


def test_certainty_is_about_the_value_behind_a_gap_that_was_a_category_in_training():
    rng = np.random.default_rng(0)
    ward = rng.choice([*WARDS, None], 400)
    table = pd.DataFrame({"ward": ward, "age": rng.normal(size=400)})
    classifier = SEPClassifier().fit(table, np.where(table["ward"].isin(["east", "north"]), "ill", "well"))
    gap, known = (classifier.decide(table[:1].assign(ward=own))[0] for own in (None, "west"))
    assert gap.label == known.label == "well"
    assert gap.trust > 0.9
    assert known.is_certain
    assert not gap.is_certain
    assert [name for name, _ in gap.ask_for()] == ["ward"]


def test_too_many_combinations_of_categories_are_not_called_certain(decisive, monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": np.repeat([-2.0, 2.0], 150) + 0.1 * rng.normal(size=300)})
    table = table.assign(ward=rng.choice(WARDS, 300), unit=rng.choice(WARDS, 300))
    classifier = SEPClassifier().fit(table, np.repeat(["ill", "well"], 150))
    decisions = classifier.decide(table[::10].assign(ward=None, unit=None))
    is_certain = [own.is_certain for own in decisions]
    assert sum(is_certain) > 20
    monkeypatch.setattr(certain, "MOST_WAYS", 8)
    assert not any(own.is_certain for own in decisions)


@pytest.mark.slow  # on every change, what is certain is compared in the same way
def test_ellipsoids_that_some_category_reaches_are_possible():
    classifier, table = fitted(1)
    for decision, i in zip(classifier.decide(table[:20]), range(20), strict=True):
        own = table[i : i + 1]
        wards = WARDS if own["ward"].isna().any() else own["ward"]
        stages = STAGES if own["stage"].isna().any() else own["stage"].astype(int)
        for ward, stage in product(wards, stages):
            filled = own.assign(ward=ward, stage=pd.Categorical([stage]))
            assert set(classifier.decide(filled)[0].possible_ellipsoids) <= set(decision.possible_ellipsoids)


def test_a_repaired_region_knows_of_empty_categories(decisive):
    classifier, table = decisive
    gaps = table.assign(ward=None)[:5]
    region = int(classifier.decide(gaps).region[0])
    labels = classifier.predict(table)
    own = SEPClassifier().fit_like(classifier, classifier.decide(table).given_rows, labels)
    repaired = RepairedClassifier.of(classifier, {region: own}, ())
    inner = repaired.decide(gaps).parts.inner[region]
    assert inner.empty.all()
    assert not inner[0].is_certain
