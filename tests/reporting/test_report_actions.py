"""What the report adds for those who act on it: actions, thresholds, ids, results by column, both labels."""

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification, make_moons

from sepc import SelectiveClassifier, SEPClassifier, report
from sepc.errors import FlatSetWarning
from sepc.lifecycle import model_card
from sepc.statistics.rates import rate_interval
from sepc.wording import interval

pd = package_or_skip("pandas")


@pytest.fixture(scope="module")
def rows():
    X, y = make_moons(600, noise=0.3, random_state=0)
    table = pd.DataFrame(X, columns=["a", "b"])
    table["patient"] = [f"P-{i}" for i in range(600)]
    table["sex"] = np.where(np.arange(600) % 3, "f", "m")
    return table, np.where(y, "ill", "well")


@pytest.fixture(scope="module")
def classifier(rows):
    table, y = rows
    return SEPClassifier(min_trust=0.8).fit(table.loc[::2, ["a", "b"]], y[::2])


@pytest.fixture(scope="module")
def made(rows, classifier):
    table, y = rows
    return report(classifier, table[1::2], y[1::2], id="patient", by=["sex", "a"])


def test_the_page_begins_with_what_to_do(made):
    page, figures = made.to_html(), made.figures
    n_review = figures.held_out.n_rows - figures.held_out.n_accepted
    assert figures.actions[1].do == f"Send {n_review} rows to a person"
    assert f"{figures.actions[1].do}." in str(made)
    sections = ("first", "results", "thresholds", "by-column", "review", "matters")
    order = [page.index(f'id="{name}"') for name in sections]
    assert order == sorted(order)
    assert all(f'href="#{action.section}"' in page for action in figures.actions)


def test_labels_that_a_sure_model_contradicts_are_to_be_checked(rows, classifier):
    table, y = rows
    decisions = classifier.decide(table.loc[1::2, ["a", "b"]])
    best, spoilt = int(decisions.trust.argmax()), y[1::2].copy()
    spoilt[best] = "ill" if decisions.label[best] == "well" else "well"
    actions = report(classifier, table[1::2], spoilt, id="patient").figures.actions
    told = next(action for action in actions if action.do.startswith("Check"))
    assert table["patient"].iloc[1::2].iloc[best] in told.why
    assert told.section == "wrong"


def test_a_group_that_fares_worse_is_named(rows, classifier):
    table, y = rows
    decisions = classifier.decide(table.loc[1::2, ["a", "b"]])
    spoilt = decisions.label.copy()
    accepted = np.flatnonzero(decisions.accepted)
    group = np.full(300, "other", dtype=object)
    group[accepted[:30]] = "worse"
    spoilt[accepted[:12]] = np.where(spoilt[accepted[:12]] == "ill", "well", "ill")
    made = report(classifier, table[1::2], spoilt, by={"ward": group})
    assert "Look at accepted rows with ward worse" in [action.do for action in made.figures.actions]
    assert "ward other" not in str(made)


def test_columns_that_add_nothing_are_named(rows):
    X, y = rows[0].loc[:, ["a", "b"]].assign(c=0.0).to_numpy(), rows[1]
    with pytest.warns(FlatSetWarning):
        model = SEPClassifier().fit(X[::2], y[::2])
    asked = [action for action in report(model, X[1::2], y[1::2]).figures.actions if "without" in action.do]
    assert [action.do.split()[-1] for action in asked] == ["x2"]


def test_rows_are_named_by_their_ids_which_are_no_feature(rows, classifier, made):
    table = rows[0][1::2]
    for row in (*made.figures.wrong, *made.figures.review):
        assert row.row == table["patient"].iloc[row.position]
        assert dict(row.groups)["sex"] == table["sex"].iloc[row.position]
    plain = report(classifier, table[["a", "b"]], rows[1][1::2], id=table["patient"].to_numpy())
    assert [row.row for row in plain.figures.review] == [row.row for row in made.figures.review]
    large = report(classifier, table[["a", "b"]], id=np.arange(300) + 2**60).figures.review[0]
    assert large.row == str(2**60 + large.position)
    for X, given, message in (
        (table, {"id": "pateint"}, "'patient'"),
        (table[["a", "b"]], {"id": np.arange(3)}, "300 rows, but 3"),
        (table[["a", "b"]].to_numpy(), {"by": "sex"}, "DataFrame"),
    ):
        with pytest.raises(ValueError, match=message):
            report(classifier, X, **given)


def test_both_labels_are_told_where_two_are_possible(made):
    page = made.to_html()
    row = made.figures.review[0]
    assert row.runner_up_trust > 0.05
    assert f"{row.label}<small>or {row.runner_up}, {row.runner_up_trust:.3f}</small>" in page


class Sure(ClassifierMixin, BaseEstimator):
    """A model of another library, as sure of its label as the first column says."""

    classes_ = np.array([0, 1])

    def fit(self, X, y=None):
        return self

    def predict_proba(self, X):
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize("labelled", [True, False])
def test_thresholds_count_what_they_accept_also_on_them(labelled):
    random = np.random.default_rng(0)
    trust = random.uniform(0.501, 1.0, 500).round(3)
    right = random.random(500) < trust
    found = report(Sure(), trust[:, np.newaxis], *([right.astype(int)] if labelled else [])).figures.thresholds
    assert found.is_exact
    assert (found.n_rows, found.at[found.now]) == (500, 0.95)
    assert set(trust) & set(found.at)
    for i, at in enumerate(found.at):
        assert found.n_accepted[i] == (trust >= at).sum()
        if labelled:
            assert found.n_right[i] == right[trust >= at].sum()
    if labelled:
        low, high = rate_interval(found.n_right[60], found.n_accepted[60])
        assert (found.low[60], found.high[60]) == (low, high)
    assert found.now in found.short()


def test_the_slider_has_every_threshold_and_the_table_some(made):
    page, thresholds = made.to_html(), made.figures.thresholds
    assert f'data-accepted="{" ".join(map(str, thresholds.n_accepted))}"' in page
    assert f'data-right="{" ".join(map(str, thresholds.n_right))}"' in page
    slider = page[page.index('id="thresholds-tried"') :].split(">")[0]
    assert " hidden" in slider


def test_a_promise_has_no_single_threshold(rows):
    table, y = rows
    selective = SelectiveClassifier(SEPClassifier(), {"ill": 0.3, "well": 0.1}, random_state=0)
    made = report(selective.fit(table.loc[::2, ["a", "b"]], y[::2]), table.loc[1::2, ["a", "b"]], y[1::2])
    exact = made.figures.thresholds.is_exact
    for told in (made.to_html(), str(made)):
        assert ("by trust alone" in told) is not exact


def test_results_by_a_column_are_those_of_its_rows(rows, classifier, made):
    table, y = rows[0][1::2], rows[1][1::2]
    decisions = classifier.decide(table[["a", "b"]])
    right, (by_sex, by_a) = decisions.label == y, made.figures.results
    assert [group.name for group in by_sex.groups] == ["f", "m"]
    for group in by_sex.groups:
        own = (table["sex"] == group.name).to_numpy()
        assert (group.n_rows, group.n_accepted) == (own.sum(), (own & decisions.accepted).sum())
        assert group.n_right_accepted == (own & decisions.accepted & right).sum()
        low, high = map(float, rate_interval(group.n_right_accepted, group.n_accepted))
        told = f"{group.n_right_accepted} of {group.n_accepted}; {interval(low, high)}"
        assert told.replace(" %", "\u00a0%") in made.to_html()
    assert len(by_a.groups) == 4
    assert sum(group.n_rows for group in by_a.groups) == 300


def test_groups_of_numbers_dates_gaps_and_many_values(rows, classifier):
    n = np.arange(300)
    by = {
        "numbers": np.append(np.arange(200.0) // 2, [np.nan] * 100),
        "days": np.array(["2024-01-01", "NaT", "2024-02-01"], dtype="datetime64[s]")[n % 3],
        "gaps": np.array(["x", None], dtype=object)[n % 2],
        "words": np.array([f"w{i % 40}" for i in n], dtype=object),
    }
    results = report(classifier, rows[0].loc[1::2, ["a", "b"]], by=by).figures.results
    numbers, days, gaps, words = ([group.name for group in one.groups] for one in results)
    assert numbers == ["0 to 24", "25 to 49", "50 to 74", "75 to 99", "missing"]
    assert set(days) == {"2024-01-01", "missing", "2024-02-01"}
    assert set(gaps) == {"x", "missing"}
    assert (len(words), words[-1]) == (31, "all other values")
    assert sum(group.n_rows for group in results[3].groups) == 300


def test_what_matters_is_told_in_the_report_and_the_card(rows, classifier, made):
    sizes = dict(zip(("a", "b"), classifier.feature_importances_, strict=True))
    assert dict(made.figures.importances) == pytest.approx(sizes)
    for told in (made.to_html(), str(made), model_card(classifier)):
        assert f"{made.figures.importances[0][1]:.2f}" in told
    counts = SEPClassifier(trust="counts").fit(rows[0].loc[::2, ["a", "b"]], rows[1][::2])
    assert report(counts, rows[0].loc[1::2, ["a", "b"]]).figures.importances == ()


@pytest.mark.parametrize(("max_risk", "at"), [(0.3, None), (0.001, 1.0)], ids=["promise", "no promise"])
def test_the_threshold_in_use_is_that_of_the_promise(max_risk, at):
    X, y = make_classification(600, 4, n_informative=3, n_redundant=0, flip_y=0.2, weights=[0.9], random_state=0)
    model = SelectiveClassifier(SEPClassifier(max_ellipsoids=2), max_risk=max_risk, random_state=0)
    model.fit(X[:400], y[:400])
    told = report(model, X[400:], y[400:]).to_dict()
    thresholds, now = told["thresholds"], told["thresholds"]["now"]
    assert thresholds["at"][now] == pytest.approx(model.threshold_ if at is None else at)
    assert thresholds["n_accepted"][now] == model.decide(X[400:]).accepted.sum()
    assert (max_risk == 0.3) == ("by true label" in " ".join(told["promise"]))
    assert not any("by true label" in row["why"] for row in told["wrong"])
