"""Rows with gaps: decided by ways to fill them in, with what is certain and what to fetch; and in training."""

from itertools import product

import numpy as np
import pytest
from cases import assert_same_decisions, fillings_inside
from optional import package_or_skip
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier

from sepc import Cause, SEPClassifier
from sepc.metrics import aurc

pd = package_or_skip("pandas")


def wdbc(n_features=6):
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :n_features], y


def with_gaps(X, share, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.fixture(scope="module")
def fitted():
    X, y = wdbc()
    return SEPClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2]


def test_the_probability_given_what_is_known_is_that_of_the_textbook():
    """Two normal classes of one covariance: what is known of a row tells of what is missing, and so of the label."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4)) + 2 * np.eye(4)
    y, mean = np.arange(3000) % 2, root @ [0.8, 0.5, 0.0, -0.5]
    X = rng.standard_normal((3000, 4)) @ root.T + np.where(y, 1.0, -1.0)[:, None] * mean
    model = SEPClassifier(max_ellipsoids=12).fit(X[:2000], y[:2000])
    for known in ([0, 2], [1, 3], [0, 1, 2]):
        rows = np.full((1000, 4), np.nan)
        rows[:, known] = X[2000:, known]
        truth = expit(2.0 * rows[:, known] @ np.linalg.solve((root @ root.T)[np.ix_(known, known)], mean[known]))
        assert np.abs(model.predict_proba(rows)[:, 1] - truth).mean() < 0.05


def zero_heavy(n=2000, seed=0):
    """Counts that are zero in most rows, each more often in one class than in the other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frequent = np.where(y[:, None] == np.arange(12) % 2, 0.5, 0.1)
    return np.where(rng.random((n, 12)) < frequent, rng.lognormal(0, 1.5, (n, 12)), 0.0), y


@pytest.mark.slow_cases("zero_heavy*")
@pytest.mark.parametrize(("make", "share_in_training"), [(wdbc, 0.0), (zero_heavy, 0.4)])
def test_gaps_cost_less_than_in_boosted_trees(make, share_in_training):
    X, y = make()
    gone = with_gaps(X[1::2], 0.4)
    decided = SEPClassifier().fit(X[::2], y[::2]).decide(gone)
    trees = HistGradientBoostingClassifier(random_state=0).fit(with_gaps(X[::2], share_in_training, seed=1), y[::2])
    theirs = aurc(trees.predict(gone) == y[1::2], trees.predict_proba(gone).max(axis=1))
    assert aurc(decided.label == y[1::2], decided.trust) < theirs
    assert (decided.label == y[1::2])[decided.accepted].mean() > 0.93


def test_rows_without_gaps_are_decided_as_ever_and_gaps_that_decide_are_the_cause(fitted):
    model, X, _ = fitted
    gaps = np.concatenate([with_gaps(X[:140], 0.4), X[140:180]])
    decided = model.decide(gaps)
    assert_same_decisions(decided[140:], model.decide(X[140:180]))
    for i in range(0, 140, 5):
        assert_same_decisions(model.decide(gaps[i : i + 1]), decided[i : i + 1])
    np.testing.assert_array_equal(decided.missing, np.isnan(gaps))
    left = decided[decided.cause == Cause.MISSING]
    assert len(left) > 0
    assert left.missing.any(axis=1).all()
    assert not left.accepted.any()
    assert "Fetch" in left.why(0)
    open_rows = ~decided.accepted & (decided.cause != Cause.MISSING)
    assert (decided.missing.any(axis=1) & open_rows).any()
    again = model.decide(decided.rows[open_rows])  # completed, they are refused for the same cause
    refused = ~again.accepted
    np.testing.assert_array_equal(again.cause[refused], decided.cause[open_rows][refused])


def test_a_row_of_gaps_only_is_decided_by_what_is_usual(fitted):
    model, _, y = fitted
    decided = model.decide(np.full((1, 6), np.nan))
    assert decided.label[0] == 1
    assert abs(decided.probabilities[0, 1] - (y == 1).mean()) < 0.2
    assert not decided.accepted[0]
    assert set(decided[0].possible_ellipsoids) == set(range(model.model_.n_ellipsoids))


def test_what_is_certain_is_never_contradicted_by_rows_of_the_ellipsoids(fitted):
    model, X, _ = fitted
    decided, rng, n_certain, n_tried = model.decide(with_gaps(X, 0.2)), np.random.default_rng(0), 0, 0
    for decision in decided[decided.missing.any(axis=1)]:
        if not decision.is_certain:
            continue
        n_certain += 1
        rows = fillings_inside(model.model_, np.where(decision.missing, np.nan, decision.rows), 200, rng)
        assert (model.predict(rows) == decision.label).all()
        n_tried += len(rows)
    assert n_certain > 30
    assert n_tried > 5_000


def test_possible_ellipsoids_are_those_that_some_filling_reaches(fitted):
    model, X, _ = fitted
    decided = model.decide(with_gaps(X[:60], 0.3))
    for decision, complete in zip(decided, X[:60], strict=True):
        inside = [k for k, own in enumerate(model.ellipsoids_) if own.ellipsoid.contains(complete[None])[0]]
        assert set(inside) <= set(decision.possible_ellipsoids)
        if not decision.missing.any():
            assert decision.possible_ellipsoids == inside
    assert any(len(decision.possible_ellipsoids) < model.model_.n_ellipsoids for decision in decided)


def test_what_to_ask_for_is_what_the_label_depends_on():
    X, y = make_blobs(2000, centers=[[0, 0, 0], [6, 0, 0]], random_state=0)
    model = SEPClassifier().fit(X, y)
    decision = model.decide(np.array([[np.nan, 0.0, np.nan]]))[0]
    (first, share), (second, other) = decision.ask_for()
    assert (first, second) == ("x0", "x2")
    assert share > 0.8 > 0.2 > other
    assert model.decide(X[:1])[0].ask_for() == []
    strict = SEPClassifier(min_trust=1.0).fit(X, y).decide(np.array([[np.nan, 0.0, np.nan]]))[0]
    assert strict.ask_for() == [("x0", 0.0), ("x2", 0.0)]  # nothing is enough, and x0 adds most


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_training_rows_with_gaps_are_used(share):
    """With few gaps the ellipsoids of complete rows fill them in; with many, one normal distribution a class does."""
    X, y = wdbc()
    train = with_gaps(X[::2], share)
    model = SEPClassifier().fit(train, y[::2])
    assert model.model_.class_counts.sum() == len(train)
    complete = ~np.isnan(train).any(axis=1)
    test = with_gaps(X[1::2], share, seed=1)
    score = model.score(test, y[1::2])
    assert score > 0.83
    if complete.sum() > 100:
        alone = SEPClassifier().fit(train[complete], y[::2][complete]).score(test, y[1::2])
        assert score > alone - 0.03
    again = SEPClassifier().fit(train, y[::2])
    np.testing.assert_array_equal(again.decide(test).trust, model.decide(test).trust)
    assert SEPClassifier(trust="counts").fit(X[::2], y[::2]).score(test, y[1::2]) > 0.8
    with pytest.raises(ValueError, match="'x2' has no values"):
        SEPClassifier().fit(np.where(np.arange(6) == 2, np.nan, X), y)


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


def with_empty_cells(table, seed):
    """The same rows, each without a category, and a third without a number and a third without both categories."""
    rng, table = np.random.default_rng(seed), table.copy()
    which = rng.integers(3, size=len(table))
    table.loc[rng.random(len(table)) < 0.5, "ward"] = None
    table.loc[table["ward"].notna() | (which == 0), "stage"] = np.nan
    table.loc[which == 1, "dose"] = np.nan
    return table


def fitted_to_design(seed):
    table, y = design(seed)
    return SEPClassifier(categorical_features=["stage"]).fit(table[:300], y[:300]), with_empty_cells(table[300:], seed)


def tried(classifier, table, decisions, n_completions, n_rows):
    """Labels that are called certain, and how many of them some category or number contradicts."""
    rng, n_certain, n_contradicted = np.random.default_rng(0), 0, 0
    for i in range(n_rows):
        own, labels, decision = table[i : i + 1], [], decisions[i]
        wards = WARDS if own["ward"].isna().any() else own["ward"]
        stages = STAGES if own["stage"].isna().any() else own["stage"].astype(int)
        for ward, stage in product(wards, stages):
            filled = own.assign(ward=ward, stage=pd.Categorical([stage]))
            complete = classifier.decide(filled)
            assert set(complete[0].possible_ellipsoids) <= set(decision.possible_ellipsoids)
            if complete.missing.any():
                rows = fillings_inside(classifier.model_, complete.given_rows[0], n_completions, rng)
                dose = rows[:, classifier.model_.feature_names.index("dose")]
                filled = filled.loc[filled.index.repeat(len(rows))].assign(dose=dose)
            labels.append(classifier.predict(filled) if len(filled) else complete.label[:0])
        n_certain += decision.is_certain
        n_contradicted += bool(decision.is_certain and (np.concatenate(labels) != decision.label).any())
    return n_certain, n_contradicted


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_category_and_no_number_contradicts_what_is_certain(seed):
    classifier, table = fitted_to_design(seed)
    n_certain, n_contradicted = tried(classifier, table, classifier.decide(table), 60, 30)
    assert n_certain > 3
    assert n_contradicted == 0


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
    both = classifier.decide(table[:1].assign(ward=None, age=np.nan))[0]
    assert [name for name, _ in both.ask_for()] == ["ward", "age"]
    unseen = classifier.decide(table[:1].assign(ward="south"))[0]  # which is no gap
    assert not unseen.empty.any()
    assert unseen.ask_for() == []


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


def test_too_many_combinations_of_categories_are_not_called_certain():
    rng, codes = np.random.default_rng(0), [f"code {i}" for i in range(40)]
    table = pd.DataFrame({"age": np.repeat([-2.0, 2.0], 200) + 0.1 * rng.normal(size=400)})
    table = table.assign(ward=rng.choice(codes, 400), unit=rng.choice(codes, 400))
    classifier = SEPClassifier(max_ellipsoids=4).fit(table, np.repeat(["ill", "well"], 200))
    few, many = (classifier.decide(table[::40].assign(**dict.fromkeys(gone))) for gone in (["ward"], ["ward", "unit"]))
    assert sum(own.is_certain for own in few) > 5
    assert not any(own.is_certain for own in many)
    assert not classifier.decide(table[:1].assign(age=-50.0, ward=None))[0].is_certain  # no ellipsoid holds it
    assert many[0].possible_ellipsoids == list(range(classifier.model_.n_ellipsoids))
