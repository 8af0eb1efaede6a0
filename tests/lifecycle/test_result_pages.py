"""Every result of the lifecycle has a summary first, a table, a picture, and a page that stands alone."""

import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.frozen import FrozenEstimator

from sepc import SelectiveClassifier, SEPClassifier
from sepc.lifecycle import Monitor, RepairResult, ReviewQueue, audit, repair
from sepc.wording import name_of, percent, visible

pd, matplotlib = package_or_skip("pandas"), package_or_skip("matplotlib")

NAMES = ["<b>length</b>", "width $x$\nand more", "_depth"]
OPEN = {"meta"}


@pytest.fixture(autouse=True)
def _pictures_in_memory(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")


@cache
def rows(n, seed, changed=False):
    """Two classes with a border that a few rows are on the wrong side of; later a corner changes its label."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(n, 3)), columns=NAMES, index=[f"case {i}" for i in range(n)])
    y = np.where(X.to_numpy()[:, 0] + 0.2 * rng.standard_normal(n) > 0.0, "up", "<i>down</i>")
    return X, np.where(changed & (np.abs(X.to_numpy()[:, :2] - 0.5).max(axis=1) < 0.3), "<i>down</i>", y)


@cache
def model():
    return SEPClassifier().fit(*rows(1000, 0))


@cache
def monitor(how):
    watching = Monitor(model(), *rows(1500, 1))
    if how != "before any row":
        watching.update(*rows(1000, 2))
    if how == "with alarms":
        watching.update(*rows(1500, 3, changed=True))
        watching.update(rows(1500, 4)[0] + [0.0, 0.7, 0.0])
    return watching


@cache
def queue():
    made = ReviewQueue(model(), budget=200, max_risk=0.1, coverage=0.3, certify_share=0.8, random_state=0)
    X, y = rows(4000, 5)
    for start in (0, 2000):
        review = made.choose(X[start : start + 2000])
        made.learn(review, y[start : start + 2000][review.positions])
    return made


@cache
def audited():
    return audit(model(), *rows(2000, 7, changed=True))


@cache
def reopened():
    again = ReviewQueue.from_bytes(queue().to_bytes(), model())
    again.choose(rows(2000, 6)[0])
    return ReviewQueue.from_bytes(again.to_bytes(), model())


@cache
def repaired():
    X, y = rows(3000, 9, changed=True)
    frozen = FrozenEstimator(repair(model(), X, y, cv=2))
    return RepairResult.of(SelectiveClassifier(frozen, 0.3, random_state=0).fit(*rows(1000, 10)))


RESULTS = {
    "monitor before any row": lambda: monitor("before any row"),
    "monitor without alarms": lambda: monitor("without alarms"),
    "monitor": lambda: monitor("with alarms"),
    "review": lambda: queue().choose(rows(2000, 6)[0]),
    "review of no rows": lambda: queue().choose(rows(2000, 6)[0], n_rows=0),
    "review from a file": lambda: next(iter(reopened().reviews_.values())),
    "certificate": lambda: queue().certificate(),
    "certificate before any row": lambda: ReviewQueue(model(), budget=20).certificate(),
    "audit": audited,
    "audit that finds nothing": lambda: audit(model(), *rows(400, 8)),
    "repair": repaired,
    "repair of nothing": lambda: RepairResult.of(repair(model(), *rows(400, 8), regions=[])),
}


class Page(HTMLParser):
    """Text, tables and pictures of a page; complains about tags that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts, self.tables = [], [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open += [] if tag in OPEN else [tag]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1].append(data.replace("\u00a0", " "))
        if "style" not in self.open:
            self.texts.append(data.replace("\u00a0", " "))


@pytest.mark.slow_cases("repair", "monitor without alarms", "review", "audit that finds nothing")
@pytest.mark.parametrize("name", RESULTS)
def test_the_page_stands_alone_and_the_picture_is_drawn(name, tmp_path):
    """A page begins with the summary; a picture has new axes or those given; no region goes by its number alone."""
    import matplotlib.pyplot as plt

    result = RESULTS[name]()
    html = result.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == html
    page = Page(html)
    assert result.summary().splitlines()[0] in "".join(page.texts)
    assert set(page.tags).isdisjoint({"script", "img", "link", "iframe", "b", "i"})
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\((?!#)|javascript:", html)
    assert "viewport" in html
    for given in (None, plt.figure().subplots()) if hasattr(result, "plot") else ():
        ax = result.plot(given)
        assert given is None or ax is given
        ax.figure.canvas.draw()
    plt.close("all")
    if not name.startswith(("audit", "repair")):
        said = [result.summary(), str(result), repr(result), *page.texts]
        assert not any(re.search(r"\bregion -?\d", text, re.IGNORECASE) for text in said)


def test_monitors_say_how_many_alarms_and_which_is_the_strongest():
    for how, n in (("before any row", "0"), ("without alarms", "1,000")):
        assert monitor(how).summary() == f"No alarm after {n} rows."
    watching = monitor("with alarms")
    strongest = max(watching.alarms, key=lambda alarm: alarm.log_evidence)
    head, *others = watching.summary().splitlines()
    columns = " ".join(map(str, watching.alarms[-1].columns))
    assert head.startswith(f"{columns} {len(watching.alarms)} alarms after 4,000 rows")
    assert head.endswith(strongest.rate_in_words())
    listed = [f"- {alarm.rate_in_words()}" for alarm in watching.alarms if alarm is not strongest]
    assert others == [*listed[:10], f"- and {len(listed) - 10} more alarms"]
    assert strongest.rate_in_words().startswith(f"{strongest.where}: ")
    assert str(strongest) == " ".join([*map(str, strongest.columns), strongest.rate_in_words()])
    assert f"{percent(strongest.before)} before, {percent(strongest.now)} of" in str(strongest)


def test_a_single_alarm_is_the_summary():
    watching = Monitor(model(), *rows(1500, 1))
    X, y = rows(1000, 3)
    regions = model().apply(X)
    largest = np.bincount(regions[regions >= 0]).argmax()
    watching.update(X, np.where(regions == largest, np.where(y == "up", "<i>down</i>", "up"), y))
    assert [alarm.region for alarm in watching.alarms] == [largest]
    assert watching.summary() == f"1 alarm after 1,000 rows. {watching.alarms[0]}"


def test_the_table_of_alarms_has_a_row_for_each():
    watching = monitor("with alarms")
    frame = watching.to_frame()
    for column in ("where", "kind", "before", "now", "n_rows", "refuses", "region", "shifted"):
        assert list(frame[column]) == [getattr(alarm, column) for alarm in watching.alarms]
    assert len(monitor("before any row").to_frame()) == 0
    columns, (head, *shown) = Page(watching.to_html()).tables[:2]
    assert columns[0] == ["column", "moved", "probably", "evidence"]
    assert [row[0] for row in columns[1:]] == [name_of(own.name) for own in watching.alarms[-1].columns]
    assert head == ["where", "what changed", "before", "now", "rows", "shifted", "decisions there"]
    assert shown == [[*alarm.cells(), alarm.shifted, alarm.consequence] for alarm in watching.alarms]


def test_the_picture_of_a_monitor_shows_the_rates():
    watching = monitor("with alarms")
    before, now = watching.plot().collections[:2]
    assert 5 < len(watching.alarms) <= 20
    np.testing.assert_allclose(before.get_offsets()[:, 0], [alarm.before for alarm in watching.alarms])
    np.testing.assert_allclose(now.get_offsets()[:, 0], [alarm.now for alarm in watching.alarms])


def test_a_page_of_a_review_names_rows_by_the_index_with_label_trust_purpose_and_reason():
    review = RESULTS["review"]()
    head, *shown = Page(review.to_html()).tables[0]
    assert head == ["row", "purpose", "label", "trust", "where", "reason"]
    assert [row[0] for row in shown] == [f"case {position}" for position in review.positions]
    assert [row[2] for row in shown] == list(review.label)
    assert [row[4] for row in shown] == list(review.regions.where)
    for i, row in enumerate(shown):
        if row[1] == "certify":
            assert row[5].startswith("Drawn at random from the ")
        else:
            assert row[5] == f"One of the least trusted. {visible(review.decisions[i].why())}"
    from_file = Page(RESULTS["review from a file"]().to_html()).tables[0]
    assert from_file[-1][5] == "One of the least trusted."


def test_a_certificate_has_the_labels_of_every_band():
    certificate = queue().certificate()
    frame = certificate.to_frame()
    assert frame["n_labels"].sum() == certificate.n_labels > 0
    assert frame["n_errors"].sum() == certificate.n_errors
    assert frame["share"].sum() == pytest.approx(1.0)
    assert frame["share"][frame["is_certified"]].sum() == pytest.approx(certificate.coverage)


def test_repair_results_are_found_inside_wrappers_and_nowhere_else():
    result = repaired()
    assert len(result.to_frame()) == len(result.model.changes_) > 0
    with pytest.raises(TypeError, match="SEPClassifier was not repaired"):
        RepairResult.of(model())
