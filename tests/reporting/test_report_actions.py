"""What the report adds for those who act on it: actions, thresholds, ids, results by column, both labels."""

import json

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_blobs, make_classification, make_moons

from sepc import SelectiveClassifier, SEPClassifier, model_card, report
from sepc.reporting.actions import N_LACKING, Known, actions_of
from sepc.reporting.by_columns import MISSING, OTHERS, Beside, group_names, results_by
from sepc.reporting.held_out import HeldOut
from sepc.reporting.thresholds import thresholds_of
from sepc.statistics.binomial import rate_interval

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
    page, text, figures = made.to_html(), str(made), made.figures
    n_review = figures.held_out.n_rows - figures.held_out.n_accepted
    assert figures.actions[1].do == f"Send {n_review} rows to a person"
    assert f"{figures.actions[1].do}." in text
    order = [
        page.index(f'id="{name}"') for name in ("first", "results", "thresholds", "by-column", "review", "matters")
    ]
    assert order == sorted(order)
    assert text.index("What to do first") < text.index("Results")
    assert all(f'href="#{action.section}"' in page for action in figures.actions)
    assert json.loads(json.dumps(made.to_dict()))["actions"][0]["do"] == figures.actions[0].do


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


def test_columns_that_add_nothing_and_places_without_evidence():
    sizes = (("a", 2.0), ("b", 1.0), ("c", 0.0))
    known = Known(HeldOut(10, 10), (), (), (), None, sizes, (), {})
    assert [action.do for action in actions_of(known)] == ["Use the labels of 10 accepted rows", "Try without column c"]
    X, y = make_blobs(300, centers=2, n_features=2, cluster_std=2.0, random_state=0)
    figures = report(SEPClassifier(min_trust=0.995).fit(X[::2], y[::2]), X[1::2], y[1::2]).figures
    asked = [action for action in figures.actions if action.do.startswith("Collect")]
    thin = [cause.n_rows for cause in figures.causes if cause.name == "THIN"]
    assert bool(asked) <= (sum(thin) >= N_LACKING)


def test_rows_are_named_by_their_ids_which_are_no_feature(rows, classifier, made):
    table = rows[0][1::2]
    for row in (*made.figures.wrong, *made.figures.review):
        assert row.row == table["patient"].iloc[row.position]
        assert dict(row.groups)["sex"] == table["sex"].iloc[row.position]
    plain = report(classifier, table[["a", "b"]], rows[1][1::2], id=table["patient"].to_numpy())
    assert [row.row for row in plain.figures.review] == [row.row for row in made.figures.review]
    large = report(classifier, table[["a", "b"]], id=np.arange(300) + 2**60).figures.review[0]
    assert large.row == str(2**60 + large.position)
    with pytest.raises(ValueError, match="no column 'pateint'. Did you mean 'patient'?"):
        report(classifier, table, id="pateint")
    with pytest.raises(ValueError, match="There are 300 rows, but 3 values of id"):
        report(classifier, table[["a", "b"]], id=np.arange(3))
    with pytest.raises(ValueError, match="need a DataFrame"):
        report(classifier, table[["a", "b"]].to_numpy(), by="sex")


def test_both_labels_are_told_where_two_are_possible(made):
    page = made.to_html()
    row = made.figures.review[0]
    assert row.runner_up_trust > 0.05
    assert f"{row.label}<small>or {row.runner_up}, {row.runner_up_trust:.3f}</small>" in page


@pytest.mark.parametrize("labelled", [True, False])
def test_thresholds_count_what_they_accept(labelled):
    random = np.random.default_rng(0)
    trust = random.random(500).round(3)
    right = random.random(500) < trust if labelled else None
    found = thresholds_of(trust, trust >= 0.8137, right, 0.8137)
    assert found.is_exact
    assert found.at[found.now] == 0.8137
    for i, at in enumerate(found.at):
        assert found.n_accepted[i] == (trust >= at).sum()
        if labelled:
            assert found.n_right[i] == right[trust >= at].sum()
    if labelled:
        low, high = rate_interval(found.n_right[50], found.n_accepted[50])
        assert (found.low[50], found.high[50]) == (low, high)
    assert found.now in found.short()
    assert not thresholds_of(trust, random.random(500) < 0.5, right, 0.8).is_exact
    assert thresholds_of(trust, trust > 2.0, right, 1.0).n_rows == 500


def test_the_slider_has_every_threshold_and_the_table_some(made):
    page, thresholds = made.to_html(), made.figures.thresholds
    assert f'data-accepted="{" ".join(map(str, thresholds.n_accepted))}"' in page
    assert f'data-right="{" ".join(map(str, thresholds.n_right))}"' in page
    assert "<caption>Some thresholds</caption>" in page
    slider = page[page.index('id="thresholds-tried"') :].split(">")[0]
    assert " hidden" in slider


def test_a_promise_has_no_single_threshold(rows):
    table, y = rows
    selective = SelectiveClassifier(SEPClassifier(), {"ill": 0.3, "well": 0.1}, random_state=0)
    made = report(selective.fit(table.loc[::2, ["a", "b"]], y[::2]), table.loc[1::2, ["a", "b"]], y[1::2])
    exact = made.figures.thresholds.is_exact
    assert ("by trust alone" in made.to_html()) is not exact
    assert ("by trust alone" in str(made)) is not exact


def test_results_by_a_column_are_those_of_its_rows(rows, classifier, made):
    table, y = rows[0][1::2], rows[1][1::2]
    decisions = classifier.decide(table[["a", "b"]])
    right, (by_sex, by_a) = decisions.label == y, made.figures.results
    assert [group.name for group in by_sex.groups] == ["f", "m"]
    for group in by_sex.groups:
        own = (table["sex"] == group.name).to_numpy()
        assert (group.n_rows, group.n_accepted) == (own.sum(), (own & decisions.accepted).sum())
        assert group.n_right_accepted == (own & decisions.accepted & right).sum()
        assert group.right == tuple(map(float, rate_interval(group.n_right_accepted, group.n_accepted)))
    assert len(by_a.groups) == 4
    assert sum(group.n_rows for group in by_a.groups) == 300
    assert "Results by sex" in str(made)


def test_groups_of_numbers_dates_gaps_and_many_values():
    numbers = np.append(np.arange(100.0), np.nan)
    assert list(dict.fromkeys(group_names(numbers))) == ["0 to 24", "25 to 49", "50 to 74", "75 to 99", MISSING]
    days = np.array(["2024-01-01", "NaT", "2024-02-01"], dtype="datetime64[s]")
    assert group_names(days).tolist() == ["2024-01-01", MISSING, "2024-02-01"]
    assert group_names(np.array(["x", None], dtype=object)).tolist() == ["x", MISSING]
    words = np.array([f"w{i % 40}" for i in range(400)], dtype=object)
    (found,) = results_by(Beside(None, {"word": words}), {"word": group_names(words)}, np.ones(400, dtype=bool), None)
    assert len(found.groups) == 31
    assert (found.groups[-1].name, found.groups[-1].n_rows) == (OTHERS, 100)


def test_what_matters_is_told_in_the_report_and_the_card(rows, classifier, made):
    sizes = dict(zip(("a", "b"), classifier.feature_importances_, strict=True))
    assert dict(made.figures.importances) == pytest.approx(sizes)
    first = made.figures.importances[0]
    for told in (made.to_html(), str(made), model_card(classifier)):
        assert "Feature importance" in told
        assert f"{first[1]:.2f}" in told
    counts = SEPClassifier(trust="counts").fit(rows[0].loc[::2, ["a", "b"]], rows[1][::2])
    assert report(counts, rows[0].loc[1::2, ["a", "b"]]).figures.importances == ()
    assert "Feature importance" not in model_card(counts)


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
