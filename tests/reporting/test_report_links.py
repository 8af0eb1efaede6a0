"""Rows and regions of the tables lead to the picture and back, by links alone."""

import re

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.linear_model import LogisticRegression

from sepc import SEPClassifier, TrustedClassifier, report

pd = package_or_skip("pandas")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"}).to_numpy()
    return report(SEPClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2])


def ids_of(page):
    return set(re.findall(r' id="([^"]+)"', page))


def test_every_listed_row_leads_to_its_mark_and_back(cancer):
    page = cancer.to_html()
    listed = [row.position for row in (*cancer.figures.wrong, *cancer.figures.review)]
    assert len(listed) > 20
    for position in listed:
        assert {f"at-{position}", f"row-{position}"} <= ids_of(page)
        assert page.count(f'href="#at-{position}"') == 1
        spot = page[page.index(f'id="at-{position}"') :].split("</g>")[0]
        assert spot.count(f'href="#row-{position}"') == 2
    # The keyboard reaches rows by the tables and not by every mark.
    picture = page[page.index('id="picture"') :].split("</svg>")[0]
    for link in re.findall(r"<a [^>]*>", picture):
        assert 'tabindex="-1"' in link or 'class="outline"' in link


def test_every_region_leads_to_its_rows_and_back(cancer):
    page, regions = cancer.to_html(), cancer.figures.regions
    for region in (*regions.rows, *regions.outside):
        name = region.region if region.region >= 0 else "new"
        assert {f"in-{name}", f"region-{name}"} <= ids_of(page)
        place = page[page.index(f'id="in-{name}"') :].split("</g>")[0]
        assert place.count(f'href="#region-{name}"') == 2
        shown = {int(k) for k in re.findall(r'<use href="#ellipse-(\d+)"', place)}
        assert shown == set(region.ellipsoids)
        assert ('class="mark' in place) == (region.n_rows > 0)


def test_listed_rows_are_drawn_even_if_most_rows_are_not():
    X, y = make_moons(6000, noise=0.35, random_state=0)
    made = report(SEPClassifier().fit(X[:600], y[:600]), X[600:], y[600:])
    page = made.to_html()
    assert "1,500 of 5,400 rows are drawn" in page
    assert {f"at-{row.position}" for row in (*made.figures.wrong, *made.figures.review)} <= ids_of(page)
    assert len(page.encode()) < 500_000


def test_axes_are_two_features_that_a_reader_knows(cancer, rows_drawn):
    """The first axis is among the five features that go most with the class."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    (chart,) = cancer.figures.picture.charts
    rows = map(tuple, X[1::2][[chart.x.name, chart.y.name]].to_numpy().tolist())
    drawn = rows_drawn(cancer.figures.picture)
    assert len(drawn) > 250
    assert set(drawn) <= set(rows)
    apart = {name: abs(np.corrcoef(X[name], y)[0, 1]) for name in X.columns}
    assert sorted(apart, key=apart.get, reverse=True).index(chart.x.name) < 5


def test_of_many_classes_names_are_written_instead_of_colours(of_many):
    made = of_many[2]
    page = made.to_html()
    picture = page[page.index('id="picture"') :].split("</svg>")[0]
    assert picture.count('class="class-name"') == 12
    assert not re.search(r'class="mark k\d', picture)
    assert "appear when you follow its link" in page


def test_a_trusted_classifier_has_the_picture_and_regions_of_its_partition(moons):
    X, y = moons[2:]
    trusted = TrustedClassifier(LogisticRegression(), cv=2).fit(*moons[:2])
    made, decisions = report(trusted, X, y), trusted.decide(X)
    places = (*made.figures.regions.rows, *made.figures.regions.outside)
    for place in places:
        inside = decisions.region == place.region
        assert place.n_accepted == decisions.accepted[inside].sum()
        assert place.n_right == (decisions.label == y)[inside].sum()
    assert not made.figures.weights.gives_labels


def test_values_are_those_of_the_table_that_came_in():
    pl = package_or_skip("polars")
    X, y = make_moons(400, noise=0.3, random_state=0)
    ward = np.array(["north", "south"])[(X[:, 0] > 0.5).astype(int)]
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta((X[:, 1] * 300).round(), "D")
    table = pd.DataFrame({"a": X[:, 0], "ward": ward, "b": X[:, 1], "seen": days})
    table.loc[::7, "b"] = np.nan
    told = []
    for frame in (table, pl.from_pandas(table)):
        made = report(SEPClassifier().fit(frame[:200], y[:200]), frame[200:], y[200:])
        told.append([dict(row.values) for row in made.figures.review])
    assert told[0] == told[1]
    for row, values in zip(made.figures.review, told[0], strict=True):
        given = table[200:].iloc[row.position]
        assert (values["ward"], values["seen"]) == (given["ward"], str(given["seen"].date()))
        gap = np.isnan(given["b"])
        assert values["b"] == "missing" if gap else float(values["b"]) == pytest.approx(given["b"], rel=6e-3)
