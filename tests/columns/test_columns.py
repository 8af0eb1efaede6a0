"""What the columns of a table are, and how they become features."""

import numpy as np
import pytest
from optional import package_or_skip
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.columns.categories import fit_categories, folds_of
from sepc.columns.kinds import Kind, kinds_of
from sepc.errors import LeftOutWarning

pd = package_or_skip("pandas")


def people(n=400, seed=0):
    """Two numbers, two categories and a date, all of which matter, and the labels."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["clerk", "farmer", "nurse", "smith"], size=n)
    town = rng.choice(["east", "west"], size=n).astype(object)
    town[::25] = None
    days = rng.integers(0, 1500, size=n)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, size=n),
            "pay": rng.normal(3, 1, size=n),
            "job": job,
            "town": pd.Categorical(town),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
        }
    )
    score = (table["age"] - 40) / 10 + 2 * np.isin(job, ["nurse", "smith"]) - 1 + (days - 750) / 750
    return table, np.where(score + 0.3 * rng.standard_normal(n) > 0, "yes", "no")


def test_kinds_are_found_from_types_and_values():
    n = 60
    table = pd.DataFrame(
        {
            "number": np.linspace(0.0, 1.0, n),
            "whole": np.arange(n) % 7,
            "flag": np.arange(n) % 2 == 0,
            "nullable": pd.array([1, None] * (n // 2), dtype="Int64"),
            "text": ["a", "b"] * (n // 2),
            "typed": pd.Categorical([3, 4] * (n // 2)),
            "date": pd.date_range("2024-01-01", periods=n),
            "id": [f"p{i}" for i in range(n)],
            "index": np.arange(n)[::-1] + 1000,
            "spaced": np.arange(n) * 10,
            "constant": 1.0,
            "note": [f"the patient came {i % 50} times and left" for i in range(n)],
            "empty": [None] * n,
        }
    )
    kept = dict.fromkeys(("number", "whole", "flag", "nullable", "spaced"), (Kind.NUMBER, ""))
    found = {column.name: (column.kind, column.why) for column in kinds_of(table, (), ())}
    assert found == {
        **kept,
        "text": (Kind.CATEGORY, ""),
        "typed": (Kind.CATEGORY, ""),
        "date": (Kind.DATE, ""),
        "id": (Kind.LEFT_OUT, "an id"),
        "index": (Kind.LEFT_OUT, "an index"),
        "constant": (Kind.LEFT_OUT, "a constant"),
        "note": (Kind.LEFT_OUT, "free text"),
        "empty": (Kind.LEFT_OUT, "empty"),
    }
    by_name = {column.name: column.kind for column in kinds_of(table, ["whole"], ["id", "index", "note", "constant"])}
    assert [by_name[name] for name in ("whole", "id", "index", "note", "constant")] == [
        *(Kind.CATEGORY, Kind.CATEGORY, Kind.NUMBER, Kind.CATEGORY, Kind.NUMBER)
    ]


def test_a_table_is_taken_as_it_is():
    table, y = people()
    classifier = SEPClassifier().fit(table[:300], y[:300])
    assert classifier.preparation_.summary() == "5 features: 2 numbers, 2 categories, 1 date"
    assert classifier.n_features_in_ == 5
    assert list(classifier.feature_names_in_) == list(table.columns)
    assert classifier.score(table[300:], y[300:]) > 0.85
    without = table.drop(columns=["job", "since"])
    assert SEPClassifier().fit(without[:300], y[:300]).score(without[300:], y[300:]) < 0.8
    names = classifier.model_.feature_names
    assert names[:4] == ("age", "pay", "job", "town")
    assert names[4:] == ("since", "since, time of year (sine)", "since, time of year (cosine)")
    assert "job" in dict(classifier.decide(table)[0].terms().named())


@fitted_once
def of_people():
    return SEPClassifier(max_ellipsoids=3).fit(*people())


def test_terms_add_up_with_categories():
    table = people()[0]
    decisions = of_people().decide(table)
    terms, each = decisions.terms(), np.arange(len(table))
    near = decisions.gauge < 2
    label = np.searchsorted(decisions.classes, decisions.label)
    odds = np.log(decisions.probabilities[each, label] / decisions.probabilities[each, 1 - label])
    np.testing.assert_allclose(terms.log_odds[near], odds[near], atol=1e-9)


def test_a_category_not_seen_in_training_is_said_so_and_changes_little():
    table, classifier = people()[0], of_people()
    decisions = classifier.decide(table[:3].assign(job=["farrier", "nurse", None]))
    assert "job 'farrier' was not seen" in decisions.why(0)
    assert "not seen" not in decisions.why(1)
    assert "job is missing" in decisions.why(2)
    others = [classifier.decide(table[:1].assign(job=[job])).probabilities[0, 1] for job in set(table["job"])]
    assert min(others) < decisions.probabilities[0, 1] < max(others)


def test_what_is_no_feature_is_left_out_with_one_warning():
    table, y = people()
    order = np.argsort(y, kind="stable")
    table, y = table.iloc[order].assign(patient=np.arange(400), key=[f"k{i}" for i in range(400)], site=1), y[order]
    with pytest.warns(LeftOutWarning) as caught:
        classifier = SEPClassifier().fit(table, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    used, left_out = classifier.preparation_.summary().split("; left out: ")
    assert used == "5 features: 2 numbers, 2 categories, 1 date"
    assert left_out == "'patient' (an index), 'key' (an id) and 'site' (a constant)"
    with pytest.warns(LeftOutWarning, match="'key'"):
        kept = SEPClassifier(force_features=["patient"]).fit(table, y)
    assert "patient" in kept.model_.feature_names
    with pytest.raises(ValueError, match="force_features"):
        SEPClassifier().fit(table[["key"]], y)


def test_rows_do_not_see_their_own_label_in_their_encoding():
    """A category for every other row says nothing, and must not look as if it did."""
    rng = np.random.default_rng(0)
    given = np.array([f"c{i // 2}" for i in range(600)], dtype=object)
    labels = rng.integers(2, size=600)
    categories, encoded = fit_categories("town", given, labels, 1.0, rng.integers(5, size=600))
    assert abs(np.corrcoef(encoded[:, 0], labels)[0, 1]) < 0.1
    assert np.corrcoef(categories.encode(categories.codes_of(given))[:, 0], labels)[0, 1] > 0.5
    table = pd.DataFrame({"noise": rng.standard_normal(1200), "key": np.repeat([f"c{i}" for i in range(300)], 4)})
    y = rng.integers(2, size=1200)
    fresh = SEPClassifier().fit(table[::2], y[::2]).decide(table[1::2])
    assert fresh.accepted.mean() < 0.02


@pytest.mark.parametrize("parameter", ["categorical_features", "force_features"])
def test_names_of_columns_that_are_not_there_are_refused(parameter):
    table, y = people(60)
    with pytest.raises(ValueError, match="'jop'; there are 'age', 'pay', 'job'"):
        SEPClassifier(**{parameter: ["jop"]}).fit(table, y)
    with pytest.raises(TypeError, match="not a table"):
        SEPClassifier(**{parameter: ["job"]}).fit(table[["age", "pay"]].to_numpy(), y)


@pytest.mark.slow
def test_of_very_many_categories_only_the_frequent_ones_have_a_step():
    rng = np.random.default_rng(0)
    code = np.concatenate([np.arange(500), rng.integers(100, size=3_000)])
    table = pd.DataFrame({"kind": [f"k{i}" for i in code], "noise": rng.normal(size=3_500)})
    y = rng.random(3_500) < np.where(code % 2, 0.8, 0.2)
    classifier = SEPClassifier().fit(table, y)
    levels = classifier.model_.weights.category_levels[:, 1]
    assert len(levels) == 500
    values, counts = np.unique(levels, return_counts=True)
    assert counts.max() == 300
    assert classifier.score(table[500:], y[500:]) > 0.75


@pytest.mark.parametrize("n_kinds", [2, 6])
def test_new_rows_of_a_category_lie_among_its_training_rows(n_kinds):
    rng = np.random.default_rng(0)
    kind = rng.integers(n_kinds, size=1_000)
    table = pd.DataFrame({"kind": [f"k{i}" for i in kind], "noise": rng.normal(size=1_000)})
    y = np.where(kind % 2 == 0, "even", "odd")
    classifier = SEPClassifier().fit(table[:600], y[:600])
    if n_kinds == 2:
        assert classifier.model_.feature_names == ("kind", "noise")
    decisions = classifier.decide(table[600:])
    assert (decisions.label == y[600:]).all()
    assert decisions.accepted.mean() > 0.95
    assert (decisions.gauge < 1.0).mean() > 0.95


def test_equal_rows_are_spread_over_folds_whatever_their_order():
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(4, size=(300, 1)).astype(float), rng.integers(3, size=300)
    folds = folds_of(rows, labels, seed=0)
    for label in range(3):
        assert np.ptp(np.bincount(folds[labels == label], minlength=5)) <= 1
    order = rng.permutation(300)
    shuffled = folds_of(rows[order], labels[order], seed=0)
    for kind in range(4):
        own = (rows[:, 0] == kind) & (labels == 0)
        assert np.ptp(np.bincount(folds[own], minlength=5)) <= 1
        assert sorted(folds[own]) == sorted(shuffled[own[order]])
    assert folds_of(np.zeros((3, 1)), np.array([0, 1, 1]), seed=0).tolist() == [-1, 0, 1]


@pytest.mark.parametrize("n_classes", [1, 2, 3, 12])
def test_encodings_of_several_classes(n_classes):
    rng = np.random.default_rng(0)
    labels = np.arange(600) % n_classes
    given = np.where(rng.random(600) < 0.8, labels % 5, rng.integers(5, size=600)).astype(object)
    categories, encoded = fit_categories("town", given, labels, 1.0, rng.integers(5, size=600))
    assert categories.values == tuple(sorted(set(given)))
    k = min(max(n_classes - 1, 1), 3)
    assert categories.encodings.shape == (len(categories.values), k)
    assert encoded.shape == (600, k)
    assert np.isfinite(encoded).all()
    assert (categories.encode(np.array([len(categories.values)])) == 0).all()


def test_gaps_of_any_kind_are_taken():
    table, y = people()
    gaps = table.assign(
        pay=table["pay"].where(table["pay"] > 2),
        since=table["since"].where(table["pay"] < 4),
        job=table["job"].where(table["age"] > 30),
    )
    classifier = SEPClassifier().fit(gaps[:300], y[:300])
    decided = classifier.decide(gaps[300:])
    assert (decided.label == y[300:]).mean() > 0.75
    undated = decided[gaps["since"][300:].isna().to_numpy()][0]
    assert "since" in dict(undated.ask_for())
    assert not any("time of year" in text for text in (undated.why(), *dict(undated.ask_for())))


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda table: table.assign(age="old"), ValueError, "'age' held numbers in training, but now holds 'old'"),
        (lambda table: table.assign(since=1.0), ValueError, "'since' held dates"),
        (lambda table: np.zeros((3, 5)), TypeError, "named columns"),
        (lambda table: table.drop(columns="job"), ValueError, "no column 'job'"),
    ],
)
def test_columns_of_other_kinds_are_refused_by_name(change, kind, said):
    with pytest.raises(kind, match=said):
        of_people().decide(change(people()[0]))


def test_columns_of_numbers_are_refused_and_taken_by_name():
    table, y = people()
    with pytest.raises(ValueError, match="'pay' contains infinite"):
        SEPClassifier().fit(table.assign(pay=table["pay"].where(table["pay"] > 2, np.inf)), y)
    numbers, options = table[["age", "pay"]], {"max_ellipsoids": 3}
    classifier = SEPClassifier(**options).fit(numbers, y)
    array = SEPClassifier(**options).fit(numbers.to_numpy(), y)
    np.testing.assert_array_equal(classifier.decide(numbers).trust, array.decide(numbers.to_numpy()).trust)
    assert classifier.encoding_ is None
    assert classifier.preparation_.used_columns == ("age", "pay")
    assert classifier.preparation_.summary() == array.preparation_.summary() == "2 features: 2 numbers"
    with pytest.raises(ValueError, match="'pay' held numbers in training, but now holds 'much'"):
        classifier.decide(numbers.assign(pay="much"))
    with pytest.raises(ValueError, match="'age' held numbers in training, but now holds 'old'"):
        classifier.decide(numbers.assign(age="old", pay=table["since"]))


def test_a_table_without_a_column_of_training_is_refused_by_name():
    table, y = people(100)
    classifier = SEPClassifier(max_ellipsoids=2).fit(table.set_axis(range(5), axis=1), y)
    with pytest.raises(ValueError, match="no column '2'"):
        classifier.decide(table.set_axis([0, 1, 9, 3, 4], axis=1))
