"""What the report says of regions: figures of the held-out rows alone, and names that hold for them."""

import re

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SEPClassifier, report
from sepc.statistics.rates import rate_interval

pd = package_or_skip("pandas")


def loans(n=700):
    """Loans with numbers, dates, categories and gaps."""
    random = np.random.default_rng(0)
    job = random.choice(["employee", "self-employed", "unemployed"], n, p=[0.6, 0.25, 0.15])
    income = np.round(np.exp(random.normal(7.8, 0.4, n)) * np.where(job == "unemployed", 0.5, 1.0), -1)
    amount = np.round(np.exp(random.normal(8.9, 0.7, n)), -2)
    days = random.exponential(1500, n).astype(int)
    burden = 60.0 * amount / income / 48 - days / 1500 + 1.5 * (job == "unemployed")
    table = pd.DataFrame({"income": income, "amount": amount, "job": job})
    table["since"] = pd.Timestamp("2024-06-30") - pd.to_timedelta(days, unit="D")
    table["debts"] = np.where(random.random(n) < 0.1, np.nan, np.round(random.gamma(1.3, 2500, n), -1))
    return table, np.where(burden + random.normal(0, 1, n) > 5.5, "default", "paid")


def columns_of(load, *names):
    X, y = load(return_X_y=True, as_frame=True)
    return X[list(names)], np.array(["first", "second", "third"])[y]


TABLES = {
    "loans": (loans, SEPClassifier()),
    "wine": (lambda: columns_of(load_wine, "alcohol", "flavanoids", "color_intensity"), SEPClassifier()),
    "cancer": (
        lambda: columns_of(load_breast_cancer, "mean texture", "worst area", "worst concavity", "mean symmetry"),
        make_pipeline(StandardScaler(), SEPClassifier()),
    ),
}


@pytest.fixture(scope="module", params=TABLES)
def case(request):
    draw, model = TABLES[request.param]
    X, y = draw()
    *before, step = model.fit(X[::2], y[::2]) if hasattr(model, "steps") else [model.fit(X[::2], y[::2])]
    held_out = X[1::2].reset_index(drop=True)
    decisions = step.decide(model[:-1].transform(held_out) if before else held_out)
    return held_out, y[1::2], decisions, report(model, held_out, y[1::2], X_train=X[::2], y_train=y[::2]), step


def meets(values, said):
    """Which values lie in a range or among the categories that a name gives."""
    if not pd.api.types.is_numeric_dtype(values) and values.dtype.kind != "M":
        return values.isin(said.split(" or ")).to_numpy()
    shown = values.dt.strftime("%Y-%m-%d") if values.dtype.kind == "M" else values
    read = str if values.dtype.kind == "M" else lambda text: float(text.replace(",", ""))
    match said.split(" "):
        case ["≥", low]:
            return (shown >= read(low)).to_numpy()
        case ["≤", high]:
            return (shown <= read(high)).to_numpy()
        case [low, "to", high]:
            return ((shown >= read(low)) & (shown <= read(high))).to_numpy()
        case [only]:
            return (shown == read(only)).to_numpy()


def test_figures_of_a_region_are_those_of_its_held_out_rows(case):
    _, y, decisions, made, _ = case
    right, regions = decisions.label == y, made.figures.regions
    places = (*regions.rows, *regions.outside)
    assert sum(row.n_rows for row in places) == len(y)
    for row in places:
        own = decisions.region == row.region
        assert (row.n_rows, row.n_accepted) == (own.sum(), (own & decisions.accepted).sum())
        assert row.n_right == (own & right).sum()
        assert (row.low, row.high) == tuple(map(float, rate_interval(row.n_right, row.n_rows)))
        assert row.trust == pytest.approx(decisions.trust[own].mean())
        counts = [f"{(decisions.label[own] == label).sum()}" for label in np.unique(decisions.label[own])]
        assert sorted(re.findall(r": (\d+)", row.labels)) == sorted(counts)
    assert len(regions.rows) < regions.n_regions
    told = f"{regions.n_regions} regions; {len(regions.rows)} have"
    assert told in made.to_html()
    assert told in " ".join(str(made).split())


def test_the_name_of_a_region_holds_for_its_rows_or_for_the_share_that_it_states(case):
    X, _, decisions, made, _ = case
    names = {row.region: row.name for row in (*made.figures.regions.rows, *made.figures.regions.outside)}
    assert {(row.region, row.region_name) for row in made.figures.review} <= set(names.items())
    names = {region: name for region, name in names.items() if not name.startswith("near single")}
    n_ranges = n_mostly = 0
    for region, name in names.items():
        mostly, rest = re.fullmatch(r"(?:mostly \((.+?) %\) )?(.+)", name).groups()
        own, held = decisions.region == region, []
        for condition in re.sub(r" \((where|outside|region).*", "", rest).split(", "):
            column = next((column for column in X.columns if condition.startswith(f"{column} ")), None)
            held += [] if column is None else [meets(X.loc[own, column], condition.removeprefix(f"{column} "))]
        share, n_ranges, n_mostly = np.all(held, axis=0).mean(), n_ranges + bool(held), n_mostly + (mostly is not None)
        assert (share == 1.0) == (mostly is None), name
        assert mostly is None or (share > 0.5 and mostly == f"{100 * share:.0f}"), name
    assert n_ranges >= 3
    assert 0 < n_mostly < len(names)


def test_counts_of_training_rows_are_those_of_the_reasons(case):
    """Reasons count the training cases in the ellipsoids that a row lies in, and no table counts them otherwise."""
    _, _, decisions, made, model = case
    page, n_compared = made.to_html(), 0
    for row in made.figures.review:
        region = model.regions_.ellipsoids[row.region] if row.region >= 0 else ()
        told = re.search(r"among (.+?) training cases", row.why)
        if len(region) == 1 and told:
            n = sum(map(int, re.findall(r"\d+", told[1])))
            assert n == decisions.counts[row.position].sum()
            assert f"ellipsoid {region[0]}, {n:,} training rows" in page
            n_compared += 1
    assert n_compared or not any("among" in row.why for row in made.figures.review)
    assert set(made.to_dict()["regions"]["rows"][0]) == {
        *("region", "name", "ellipsoids", "labels", "n_rows", "n_accepted", "n_right", "low", "high", "trust")
    }


def test_a_page_has_one_number_of_ellipsoids_regions_and_training_rows(case):
    _, _, _, made, model = case
    n, n_regions = model.model_.n_ellipsoids, model.model_.table.n_regions
    n_rows = int(model.model_.class_counts.sum())
    for told in (re.sub(r"<[^>]+>", "\n", re.sub(r"<(title|style|script)\b.*?</\1>", "", made.to_html())), str(made)):
        for what, number in (("ellipsoids", n), ("regions", n_regions), ("training rows", n_rows)):
            assert {int(one.replace(",", "")) for one in re.findall(rf"([\d,]+) {what}\b", told)} <= {number}
            after = re.findall(rf"^{what}\s+([\d,]+)$", told, re.MULTILINE)
            assert [int(one.replace(",", "")) for one in after] == [number]


@pytest.mark.parametrize(("n", "is_advised"), [(160, True), (3000, False)])
def test_more_rows_are_asked_for_only_where_training_had_few(n, is_advised):
    X, y = make_blobs(2 * n, centers=2, cluster_std=1.6, random_state=3)
    figures = report(SEPClassifier(min_trust=0.99).fit(X[:n], y[:n]), X[n:], y[n:]).figures
    assert sum(cause.n_rows for cause in figures.causes if cause.name == "THIN") >= 5
    assert any(action.do.startswith("Collect more") for action in figures.actions) == is_advised


def test_without_labels_no_share_is_shown():
    X, y = loans(200)
    made = report(SEPClassifier().fit(X[::2], y[::2]), X[1::2])
    assert all(row.n_right is row.low is row.right is None for row in made.figures.regions.rows)
    page = made.to_html()
    assert "predicted labels" in page
    assert ">right, 95" not in page[page.index('id="regions"') : page.index('id="trust"')]
