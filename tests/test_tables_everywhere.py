"""A table with categories, dates, an id and gaps goes through all that takes a model and rows."""

import pickle
import re
from functools import cache

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import sepc
from sepc import SelectiveClassifier, SEPClassifier, StratifiedClassifier, TrustedClassifier
from sepc.decisions.kinds import Cause
from sepc.lifecycle import Monitor, ReviewQueue, audit, repair
from sepc.model_files import from_bytes, to_bytes

dd, mpl, pd = package_or_skip("dask.dataframe"), package_or_skip("matplotlib"), package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")

MODELS = {
    "SEPClassifier": SEPClassifier(min_trust=0.9),
    "counts": SEPClassifier(trust="counts", min_trust=0.9),
    "SelectiveClassifier": SelectiveClassifier(SEPClassifier(), 0.1, random_state=0),
    "TrustedClassifier": TrustedClassifier(SEPClassifier(), cv=2),
    "trusted boosting": TrustedClassifier(HistGradientBoostingClassifier(max_iter=20), cv=2),
    "StratifiedClassifier": StratifiedClassifier(SEPClassifier(), by=["ward"], min_rows=50),
    "pipeline": make_pipeline(SEPClassifier()),
    "search": GridSearchCV(SEPClassifier(), {"min_trust": [0.9]}, cv=2),
}
SAVED = ("SEPClassifier", "counts", "SelectiveClassifier", "TrustedClassifier", "StratifiedClassifier")


def taken(name, table):
    """The table as a model takes it: boosted trees take no dates and no text, but pandas' categories and gaps."""
    if name != "trusted boosting":
        return table
    return table.drop(columns=["key", "since"]).astype({"ward": "category"})


@cache
def fitted(name):
    table, y = patients()
    return clone(MODELS[name]).fit(taken(name, table), y)


def fresh(name):
    table, y = patients(300, seed=1)
    return taken(name, table), y


def same(left, right):
    for column in ("label", "trust", "accepted", "cause", "probabilities", "region"):
        np.testing.assert_array_equal(getattr(left, column), getattr(right, column), err_msg=column)


@pytest.mark.slow_cases("TrustedClassifier", "search")
@pytest.mark.parametrize("name", MODELS)
def test_rows_with_gaps_are_decided_with_reasons(name):
    X, y = fresh(name)
    decisions = sepc.decide(fitted(name), X)
    assert (decisions.label == y).mean() > 0.7
    assert np.isfinite(decisions.trust).all()
    assert 0 < decisions.accepted.sum() < len(X)
    gone = int(np.flatnonzero(X["age"].isna().to_numpy() & X["dose"].notna().to_numpy())[0])
    assert re.search(r"age is missing\.|1 value is missing\.", decisions.why(gone))
    assert decisions.to_frame().index.tolist() == X.index.tolist()
    same(sepc.decide(pickle.loads(pickle.dumps(fitted(name))), X), decisions)


@pytest.mark.slow_cases("TrustedClassifier", "search")
@pytest.mark.parametrize("name", ["SEPClassifier", "counts", "pipeline", "search", "TrustedClassifier"])
def test_gaps_are_a_cause(name):
    X, y = fresh(name)
    model = fitted(name)
    if name == "TrustedClassifier":
        model = clone(model).set_params(min_trust=0.995).fit(*patients())
    decisions = sepc.decide(model, X)
    missing = decisions.cause == Cause.MISSING
    assert missing.any()
    assert X[["age", "dose", "since"]].isna().any(axis=1).to_numpy()[missing].all()
    assert "MISSING" in str(sepc.report(model, X, y))


@pytest.mark.slow_cases("TrustedClassifier")
@pytest.mark.parametrize("name", SAVED)
def test_files_keep_what_the_columns_are(name, tmp_path):
    sepc.save(fitted(name), tmp_path / "model.sepc")
    same(sepc.load(tmp_path / "model.sepc").decide(fresh(name)[0]), fitted(name).decide(fresh(name)[0]))


@pytest.mark.slow_cases("TrustedClassifier", "search")
@pytest.mark.parametrize("name", MODELS)
def test_dask_decides_as_pandas_does(name):
    X = fresh(name)[0]
    lazy = sepc.decide(fitted(name), dd.from_pandas(X, npartitions=7))
    pd.testing.assert_frame_equal(lazy.compute(scheduler="sync"), sepc.decide(fitted(name), X).to_frame())


@pytest.mark.slow_cases("TrustedClassifier", "search")
@pytest.mark.parametrize("name", MODELS)
def test_reports_cards_and_audits(name, tmp_path):
    X, y = fresh(name)
    report = sepc.report(fitted(name), X, y)
    report.to_html(tmp_path / "report.html")
    assert f"on {len(X)} held-out rows" in str(report)
    assert "held-out" in sepc.model_card(fitted(name), X, y)
    assert audit(fitted(name), X, y).n_rows == len(X)


def test_a_report_names_categories():
    curves = {curve.name: curve for curve in sepc.report(fitted("SEPClassifier"), *fresh("")).figures.weights.curves}
    assert set(curves["ward"].categories) == {"east", "north", "west ü", "missing"}
    assert sum(curves["ward"].n_rows) == 300
    assert curves["ward"].categories[0] == "east"
    assert curves["age"].categories == ()


@pytest.mark.slow  # on every change, tables are audited with every model, and test_audit.py finds clusters
def test_an_audit_finds_clusters_in_numbers_and_none_without():
    X, y = patients(1500, seed=2)
    old = X["age"] > 70
    wrong = np.where(old, np.where(y == "ill", "well", "ill"), y)
    found = audit(fitted("SEPClassifier"), X, wrong)
    assert found.disjuncts[0].ranges[0].feature == "age"
    names = ["ward", "since"]
    other, labels = patients(1500, seed=8)
    assert audit(SEPClassifier().fit(other[names], labels), X[names], wrong).disjuncts == ()


def test_a_monitor_watches_a_table():
    table, y = patients(1000, seed=3)
    model = fitted("SEPClassifier")
    monitor = Monitor(model, table, y)
    assert not monitor.update(*patients(300, seed=4))
    moved = patients(600, seed=5)[0].assign(ward="east")
    alarms = [alarm for start in range(0, 600, 100) for alarm in monitor.update(moved[start : start + 100])]
    assert "ward" in str(alarms[0])
    restored = Monitor.from_bytes(monitor.to_bytes(), model)
    assert restored.summary() == monitor.summary()


def test_a_queue_chooses_rows_of_a_table():
    table, y = patients(600, seed=6)
    queue = ReviewQueue(fitted("SEPClassifier"), budget=40, random_state=0)
    review = queue.choose(table)
    assert len(review.to_frame()) == len(review) > 0
    assert "labels" in str(queue.learn(review, y[review.positions]))


@pytest.mark.quick_cases("SEPClassifier")
@pytest.mark.parametrize("name", ["SEPClassifier", "TrustedClassifier", "SelectiveClassifier", "pipeline", "search"])
def test_repairs_take_tables(name):
    table, y = patients(800, seed=7)
    others = np.where(y == "ill", "well", "ill")
    repaired = repair(fitted(name), table, others, cv=2)
    fresh_table, fresh_y = patients(300, seed=8)
    before, after = sepc.decide(fitted(name), fresh_table), sepc.decide(repaired, fresh_table)
    assert after.repaired.any()
    assert (after.label != fresh_y)[after.repaired].mean() > 0.6
    np.testing.assert_array_equal(before.trust[~after.repaired], after.trust[~after.repaired])
    if name in SAVED:
        same(from_bytes(to_bytes(repaired)).decide(fresh_table), after)


def test_every_display_draws_a_table():
    mpl.use("Agg")
    from sepc import plot

    X, y = fresh("")
    model = fitted("SEPClassifier")
    displays = [plot.WeightsDisplay.from_estimator(model, X), plot.WeightsDisplay.from_estimator(model)]
    for display in displays:
        ward = next(ax for ax, curve in zip(display.axes_, display.curves, strict=True) if curve.name == "ward")
        assert "east" in [text.get_text() for text in ward.get_xticklabels()]
    kinds = (plot.PartitionDisplay, plot.TrustDisplay, plot.RiskCoverageDisplay, plot.ReliabilityDisplay)
    displays += [kind.from_estimator(model, X, y) for kind in kinds]
    for display in displays:
        display.figure_.canvas.draw()
        mpl.pyplot.close(display.figure_)


def test_a_landscape_refuses_what_is_no_number_and_keeps_every_column():
    table, y = patients()
    with pytest.raises(ValueError, match="Feature 'ward' is not numeric: row 0 contains"):
        sepc.Landscape(table, y)
    with pytest.raises(ValueError, match="X contains NaN or infinity in"):
        sepc.Landscape(table[["age", "dose"]], y)
    numbers = patients(gaps=False)[0][["age", "stage"]].assign(number=range(300))
    assert sepc.Landscape(numbers, y).figures.feature_names == ("age", "stage", "number")
    assert sepc.Landscape(numbers.drop(columns="stage"), y).partition.feature_names_in_.tolist() == ["age", "number"]


def test_scikit_learn_takes_the_table_as_well():
    table, y = patients()
    assert cross_val_score(SEPClassifier(), table, y, cv=3).mean() > 0.8
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted("SEPClassifier"))).fit(*fresh(""))
    assert calibrated.predict_proba(table).shape == (300, 2)
    assert fitted("pipeline").score(table, y) == fitted("pipeline")[-1].score(table, y) > 0.8


def test_tags_say_that_gaps_are_taken():
    for name in SAVED:
        assert get_tags(MODELS[name]).input_tags.allow_nan
    assert not get_tags(TrustedClassifier(make_pipeline(CalibratedClassifierCV()))).input_tags.allow_nan
