"""What 0.1.0 did silently with tables as people have them, and what is done and said now.

Every case gives back what a user notices. What 0.1.0 gave was found by running the same functions with its sources.
"""

import warnings

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import sepc
from sepc import SelectiveClassifier, SEPClassifier

pd = package_or_skip("pandas")

N = 400


def attempt(do):
    """What a call gives back, or the type of its error and how its message begins; and the kinds of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            gives = do()
        except (TypeError, ValueError) as error:
            gives = f"{type(error).__name__}: {str(error)[:36]}"
    return gives, sorted({own.category.__name__ for own in caught})


def kinds(table, y):
    """What each column is taken as in a fit."""

    def fit():
        preparation = SEPClassifier().fit(table, y).preparation_
        if preparation is None:
            return dict.fromkeys(table.columns, "number")
        return {own.name: str(getattr(own.kind, "value", own.kind)) for own in preparation.columns}

    return attempt(fit)


def ids():
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    return kinds(pd.DataFrame({"customer_no": rng.permutation(np.arange(1000, 2000))[:N], "x": x}), x > 0)


def texts():
    rng = np.random.default_rng(0)
    price, weight, day = rng.lognormal(8, 1, N), rng.normal(72, 9, N), rng.integers(0, 500, N)
    table = pd.DataFrame(
        {
            "price": [f"€ {x:,.2f}" for x in [*price[:-3], *price[:3]]],
            "weight": [f"{x:.1f} kg".replace(".", ",") for x in weight],
            "share": [f"{x / 9:.1f}%" for x in weight],
            "day": (pd.Timestamp("2023-01-01") + pd.to_timedelta(day, unit="D")).strftime("%d/%m/%Y"),
            "took": pd.to_timedelta(day, unit="h"),
            "x": weight,
        }
    )
    return kinds(table, weight > 72)


def spellings():
    y = np.array(["Malade"] + ["Sain"] * 3 + ["maladde"] + ["malade"] * 93 + ["sain"] * 113)
    is_sick = np.char.startswith(np.char.lower(y), "m")
    X = np.random.default_rng(0).normal(size=(len(y), 2)) + 2.0 * is_sick[:, None]
    return attempt(lambda: len(SEPClassifier().fit(X, y).classes_))


def amounts():
    rng = np.random.default_rng(0)
    ages = np.clip(rng.normal(45, 15, 900).round(), 18, 90).astype(int)
    return attempt(lambda: len(SEPClassifier().fit(rng.normal(size=(900, 2)), ages).classes_) > 50)


def empty_category():
    rng = np.random.default_rng(0)
    ward = rng.choice(["east", "west"], N)
    y = ward == "east"
    table = pd.DataFrame({"ward": np.where(rng.random(N) < 0.1, None, ward), "x": rng.normal(size=N)})
    classifier = SEPClassifier().fit(table, y)
    decided = classifier.decide(table.assign(ward=None))
    asked = {name for own in decided for name, _ in own.ask_for()}
    return attempt(lambda: (any(own.is_certain for own in decided), asked))


def large_ids():
    rng = np.random.default_rng(0)
    which = rng.integers(3, size=N)
    table = pd.DataFrame({"id": np.array([2**60, 2**60 + 1, 7])[which], "x": rng.normal(size=N)})

    def categories():
        classifier = SEPClassifier(categorical_features=["id"]).fit(table, which == 1)
        return len(classifier.preparation_.categories["id"].values)

    return attempt(categories)


def huge_category():
    rng = np.random.default_rng(0)
    which = rng.integers(3, size=N)
    table = pd.DataFrame({"id": np.array([0.5, 1e300, 2.0])[which], "x": rng.normal(size=N)})
    classifier = SEPClassifier(categorical_features=["id"]).fit(table, which == 1)

    def saved():
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder:
            sepc.save(classifier, Path(folder) / "m.sepc")
        return "saved"

    return attempt(saved)


def search_around():
    X, y = make_blobs(900, centers=[[0, 0], [4, 0]], random_state=0)
    promise = SelectiveClassifier(LogisticRegression(), 0.1, random_state=0)
    search = GridSearchCV(promise, {"random_state": range(3)}, cv=2).fit(X, y)
    return attempt(lambda: len(sepc.decide(search, X)))


def no_promise():
    X, y = make_blobs(100, centers=[[0, 0], [4, 0]], random_state=0)
    promise = SelectiveClassifier(LogisticRegression(), 0.02, random_state=0)
    return attempt(lambda: float(promise.fit(X, y).threshold_))


def _fitted_with_an_id():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N), "key": [f"K{i:05}" for i in range(N)]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SEPClassifier().fit(table, table["a"] > 0), table


def column_left_out():
    classifier, table = _fitted_with_an_id()
    return attempt(lambda: len(classifier.predict(table[["a", "b"]])))


def rows_of_a_service():
    classifier, table = _fitted_with_an_id()
    return attempt(lambda: len(classifier.decide(table[["b", "key", "a"]].assign(more=1))))


def one_dict():
    classifier, _ = _fitted_with_an_id()
    return attempt(lambda: len(classifier.decide({"b": 1.0, "a": 2.0})))


def rows_by_date():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=N), "x": rng.normal(size=N)})
    look = getattr(sepc, "look", lambda X, y: [])
    return attempt(lambda: [own.about for own in look(table, rng.random(N) < 0.5)])


def missing_label():
    X = np.random.default_rng(0).normal(size=(N, 2))
    y = np.where(X[:, 0] > 0, 1.0, 0.0)
    y[7] = np.nan
    return attempt(lambda: SEPClassifier().fit(X, y))


def lists():
    table = pd.DataFrame({"tags": [["a", "b"], ["c"]] * (N // 2), "x": np.arange(N) % 7})
    return attempt(lambda: SEPClassifier().fit(table, np.arange(N) % 2))


NUMBER, CATEGORY = "number", "category"
TEXTS = ("price", "weight", "share", "day", "took")
READ = {**dict.fromkeys(TEXTS, NUMBER), "day": "date", "x": NUMBER}
NAMES = "ValueError: The feature names should match those"
HUGE = f"TypeError: {str(int(1e300))[:36]}"
# For each case, what 0.1.0 gave and what it gives now, with the kinds of warnings.
LINES = {
    ids: (({"customer_no": NUMBER, "x": NUMBER}, []), ({"customer_no": "left out", "x": NUMBER}, ["LeftOutWarning"])),
    texts: (
        ({**dict.fromkeys(TEXTS, CATEGORY), "x": NUMBER}, ["FlatSetWarning"]),
        (READ, ["FlatSetWarning", "LeftOutWarning"]),
    ),
    spellings: ((5, []), (5, ["UserWarning"])),
    amounts: ((True, []), ("ValueError: Unknown label type: y has 67 differe", [])),
    empty_category: (((True, set()), []), ((False, {"ward"}), [])),
    large_ids: ((2, []), (3, [])),
    huge_category: ((HUGE, []), ("saved", [])),
    search_around: ((900, []), (900, ["BrokenPromiseWarning"])),
    no_promise: ((np.inf, []), (np.inf, ["NoPromiseWarning"])),
    column_left_out: ((NAMES, []), (N, [])),
    rows_of_a_service: ((NAMES, []), (N, ["LeftOutWarning"])),
    one_dict: (("TypeError: SEPClassifier was fitted to a table ", []), (1, [])),
    rows_by_date: (([], []), (["rows"], [])),
    missing_label: (
        ("ValueError: Input y contains NaN.", []),
        ("ValueError: y has 1 missing label, the first in ", []),
    ),
    lists: (
        ("ValueError: operands could not be broadcast toge", []),
        ("ValueError: Column 'tags' holds lists; a cell mu", []),
    ),
}


@pytest.mark.parametrize("case", LINES, ids=lambda case: case.__name__)
def test_what_happens_now_and_happened_before(case):
    before, now = LINES[case]
    assert case() == now
    assert before != now
