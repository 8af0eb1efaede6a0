"""What a person sees first: every result is short at a prompt and in a notebook, and says what matters."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.linear_model import LogisticRegression
from test_cards import Tags
from zoo import fitted_once

import sepc
from sepc import Costs, Landscape, RoutedClassifier, SelectiveClassifier, SEPClassifier, report
from sepc.cards import MOST_LINES
from sepc.datasets import ORIGINS, Dataset
from sepc.geometry import fit_softmax, nearest_points
from sepc.lifecycle import Monitor, ReviewQueue, audit, repair
from sepc.plot import LandscapeDisplay

pd = package_or_skip("pandas")


@pytest.fixture(autouse=True)
def _pictures_in_memory(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")


BAD, GOOD = "<script>bad</script>", "good\x1b[31m"
COLUMNS = ["<script>alert(1)</script>", "two\nlines", "x" * 10_000]


@cache
def rows(n=3000, seed=0):
    """Two classes in a cube, with a border that a few rows are on the wrong side of."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(n, 3)), columns=COLUMNS)
    y = np.where(X.to_numpy()[:, 0] + 0.3 * rng.standard_normal(n) > 0.0, GOOD, BAD)
    return X, y


def changed(X, y):
    """The same rows after a corner has changed its label."""
    return np.where(np.abs(X.to_numpy()[:, :2] - 0.5).max(axis=1) < 0.3, BAD, y)


@fitted_once
def classifier():
    X, y = rows()
    return SEPClassifier().fit(X[:1000], y[:1000])


@fitted_once
def monitor(alarmed=True):
    X, y = rows()
    watching = Monitor(classifier(), X[1000:2000], y[1000:2000])
    watching.update(X[2000:] + [0.0, 0.7, 0.0] if alarmed else X[2000:2100])
    return watching


@fitted_once
def queue(n_days=3):
    X, y = rows(20_000, seed=2)
    made = ReviewQueue(classifier(), budget=300, max_risk=0.1, coverage=0.3, certify_share=0.9, random_state=0)
    for day in range(n_days):
        today = slice(5000 * day, 5000 * (day + 1))
        review = made.choose(X[today])
        made.learn(review, y[today][review.positions])
    made.choose(X[-5000:])
    return made


def review():
    return queue(1).reviews_[2]


@fitted_once
def audited():
    X, y = rows()
    return audit(classifier(), X[1000:], changed(X, y)[1000:])


@fitted_once
def repaired():
    X, y = rows()
    return repair(classifier(), X[1000:2000], changed(X, y)[1000:2000], cv=2)


@fitted_once
def selective():
    X, y = rows()
    return SelectiveClassifier(classifier(), max_risk=0.1).fit(X[:1000], y[:1000])


@cache
def reported(labelled=True):
    X, y = rows()
    return report(classifier(), X[1000:], y[1000:] if labelled else None, title=COLUMNS[0])


@fitted_once
def landscape():
    X, y = rows(600)
    y = y.astype(object)
    y[X.to_numpy()[:, 1] > 0.5] = "third"
    return Landscape(X, y)


@fitted_once
def strata():
    X, y = rows()
    X = X.assign(**{"<b>kind": np.where(X[COLUMNS[1]] > 0.2, "<i>one", None), "sex": np.arange(len(X)) % 3})
    return RoutedClassifier(LogisticRegression(), by=["<b>kind", "sex"]).fit(X, y).strata_


@cache
def inspection():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sepc"
        sepc.save(selective(), path)
        return sepc.inspect(path)


def terms():
    return classifier().decide(rows()[0][:50]).terms()


def points(which):
    X, y = rows()
    return X[y == which].to_numpy()


def data_set():
    name = next(iter(ORIGINS))
    X, y = rows()
    return Dataset(name, X, y, ORIGINS[name])


def display(name, labelled=True):
    kind = getattr(pytest.importorskip("sepc.plot"), name)
    X, y = rows()
    return kind.from_estimator(classifier(), X[:500], *([y[:500]] if labelled else []))


# What shows a card of its own in a notebook, and words that must be in it.
CARDS = {
    "report": (reported, ["2,000", "accepted", "right among accepted", "%"]),
    "report without labels": (lambda: reported(labelled=False), ["2,000", "accepted", "not known without y"]),
    "summary of a report": (lambda: reported().figures, ["accepted", "right among accepted"]),
    "landscape": (landscape, ["600 rows", "3 classes", "3 features", "third", "in mixed regions"]),
    "summary of a landscape": (lambda: landscape().figures, ["600 rows", "to_dict()"]),
    "monitor": (monitor, ["rows seen", "1,000", "alarms", "false alarm", "5 %"]),
    "monitor without alarms": (lambda: monitor(alarmed=False), ["rows seen", "100", "no alarm", "with labels"]),
    "alarm": (lambda: monitor().alarms[0], ["before", "now", "two lines", "no longer accepted"]),
    "queue": (queue, ["promised", "at most 10 %", "certified", "reviewed", "810 labels", "waiting", "300 rows"]),
    "new queue": (lambda: ReviewQueue(classifier(), 10), ["nothing yet", "0 labels", "no row"]),
    "review": (review, ["300 rows", "to certify", "270", "to decide", "30"]),
    "certificate": (lambda: queue().certificate(), ["promised", "95 % confidence", "810 labels"]),
    "empty certificate": (lambda: ReviewQueue(classifier(), 10).certificate(), ["nothing certified yet"]),
    "audit": (audited, ["2,000 rows", "failing regions", "suspicious rows", "expected by trust"]),
    "claims": (lambda: audited().regions, ["regions", "failing", "too few rows to test", "fails"]),
    "cluster": (lambda: audited().disjuncts[0], ["Cluster of", "wrong", "expected", "p ="]),
    "changes": (lambda: repaired().changes_, ["regions repaired", "wrong before", "after"]),
    "certificates": (lambda: selective().certificates(*(part[2000:] for part in rows())), ["95 %", "right at least"]),
    "regions": (lambda: classifier().regions_, ["regions", "label", "probability", "to_frame()"]),
    "strata": (strata, ["6 strata", "with a model of their own", "pooled", "missing"]),
    "inspection": (inspection, ["SelectiveClassifier", "format", "bytes", "around"]),
    "terms": (terms, ["50 decisions", "log-odds", "mean size"]),
    "term": (lambda: terms()[0], ["against", "log-odds"]),
    "weights": (lambda: classifier().model_.weights, ["2 classes", "ellipsoids", "bytes"]),
    "model": (lambda: classifier().model_, ["2 classes", "3 features", "ellipsoids", "regions"]),
    "enclosure": (lambda: sepc.enclose(rows()[0].to_numpy()), ["3 features", "support", "gap", "converged"]),
    "ellipsoid": (lambda: classifier().ellipsoids_[0].ellipsoid, ["3 features", "semi-axes", "log-volume"]),
}

# What is one line at a prompt, since it is a part of something or comes in lists.
LINES = {
    "overlap": lambda: landscape().figures.overlaps[0],
    "moved feature": lambda: monitor().alarms[0].moved[0],
    "range": lambda: audited().disjuncts[0].ranges[0],
    "plan": lambda: review().plan,
    "evidence": lambda: queue().evidence_,
    "bands": lambda: queue().evidence_.bands,
    "hyperplane": lambda: next(cut for one in classifier().ellipsoids_ for cut in one.cuts),
    "nearest points": lambda: nearest_points(points(BAD), points(GOOD)),
    "softmax": lambda: fit_softmax(rows()[0].to_numpy(), (rows()[1] == GOOD).astype(int), 2, penalty=1.0),
    "signature table": lambda: classifier().model_.table,
    "data set": data_set,
    "costs": lambda: Costs({(BAD, GOOD): 5.0, (GOOD, BAD): 1.0}, review=0.5),
    "partition display": lambda: display("PartitionDisplay"),
    "trust display": lambda: display("TrustDisplay"),
    "weights display": lambda: display("WeightsDisplay", labelled=False),
    "risk-coverage display": lambda: display("RiskCoverageDisplay"),
    "reliability display": lambda: display("ReliabilityDisplay"),
    "landscape display": lambda: LandscapeDisplay.from_landscape(landscape()),
    "alarm": CARDS["alarm"][0],
    "cluster": CARDS["cluster"][0],
    "change": lambda: repaired().changes_[0],
    "history": lambda: classifier().history_[0],
    "fitted ellipsoid": lambda: classifier().ellipsoids_[0],
    "ellipsoid": CARDS["ellipsoid"][0],
}


def harmless(text):
    return "\x1b" not in text and not any(sign in text for sign in ("np.", "array([", "numpy.", "object at 0x"))


@pytest.mark.parametrize("name", CARDS)
def test_a_result_is_short_and_says_what_matters_at_a_prompt_and_in_a_notebook(name):
    make, words = CARDS[name]
    made = make()
    text, page = repr(made), made._repr_html_()
    lines = text.splitlines()
    assert 0 < len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 122
    shown = [" ".join(Tags(page).words), *([] if name in LINES else [" ".join(text.split())])]
    for word in words:
        assert all(word in one for one in shown), shown
    assert "<script" not in page
    assert harmless(text + page)
    assert len(page) < 20_000


@pytest.mark.parametrize("name", LINES)
def test_a_part_is_one_line_at_a_prompt(name):
    text = repr(LINES[name]())
    assert len(text.splitlines()) == 1
    assert len(text) < 600
    assert harmless(text)


def test_printing_says_all_of_it():
    assert len(str(reported()).splitlines()) > 2 * MOST_LINES
    assert str(landscape()) == landscape().summary()
    assert f"{len(audited().failing)} of {len(audited().regions)} regions fail" in str(audited())
    where = monitor().alarms[0].where
    assert f"{where}: " in str(monitor().alarms[0])
    assert repr(list(monitor().alarms)).startswith(f"[<Alarm, {where}: ")
    assert str(repaired().changes_[0]).startswith(repaired().changes_[0].where)
