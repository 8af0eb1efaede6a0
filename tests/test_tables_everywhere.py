"""A table with categories, dates, an id and gaps goes through all that takes a model and rows."""

import re
from functools import cache

import numpy as np
import pytest
from cases import assert_same_decisions
from mixed_tables import patients, texts_of_all_kinds
from optional import package_or_skip
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import sepc
import sepc.errors
from sepc import Cause, RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.errors import LeftOutWarning
from sepc.lifecycle import repair
from sepc.model_files import from_bytes, to_bytes

dd, mpl, pd = package_or_skip("dask.dataframe"), package_or_skip("matplotlib"), package_or_skip("pandas")
plot = package_or_skip("sepc.plot")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")

MODELS = {
    "SEPClassifier": SEPClassifier(min_trust=0.9),
    "counts": SEPClassifier(trust="counts", min_trust=0.9),
    "SelectiveClassifier": SelectiveClassifier(SEPClassifier(), 0.1, random_state=0),
    "TrustedClassifier": TrustedClassifier(SEPClassifier(), cv=2),
    "trusted boosting": TrustedClassifier(HistGradientBoostingClassifier(max_iter=20), cv=2),
    "RoutedClassifier": RoutedClassifier(SEPClassifier(), by=["ward"], min_rows=50),
    "pipeline": make_pipeline(SEPClassifier()),
    "search": GridSearchCV(SEPClassifier(), {"min_trust": [0.9]}, cv=2),
}


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


@pytest.mark.slow_cases("TrustedClassifier", "search")
@pytest.mark.parametrize("name", ["SEPClassifier", "counts", "pipeline", "search", "TrustedClassifier"])
def test_gaps_are_a_cause(name):
    X, y = fresh(name)
    model = fitted(name)
    if name == "TrustedClassifier":
        model = clone(model).set_params(min_trust=0.995).fit(*patients())
    decisions = sepc.decide(model, X)
    assert (decisions.label == y).mean() > 0.7
    missing = decisions.cause == Cause.MISSING
    assert missing.any()
    assert X[["age", "dose", "since"]].isna().any(axis=1).to_numpy()[missing].all()
    gone = int(np.flatnonzero(X["age"].isna().to_numpy() & X["dose"].notna().to_numpy())[0])
    assert re.search(r"age is missing\.|1 value is missing\.", decisions.why(gone))
    report = sepc.report(model, X, y)
    assert "MISSING" in str(report)
    if name == "SEPClassifier":
        curves = {curve.name: curve for curve in report.figures.weights.curves}
        assert curves["ward"].categories[0] == "east"
        assert set(curves["ward"].categories) == {"east", "north", "west ü", "missing"}
        assert sum(curves["ward"].n_rows) == 300
        assert curves["age"].categories == ()
        mpl.use("Agg")
        display = plot.WeightsDisplay.from_estimator(model, X)
        ward = next(ax for ax, curve in zip(display.axes_, display.curves, strict=True) if curve.name == "ward")
        assert "east" in [text.get_text() for text in ward.get_xticklabels()]
        mpl.pyplot.close(display.figure_)


@pytest.mark.slow_cases("TrustedClassifier", "search")
@pytest.mark.parametrize("name", MODELS)
def test_dask_decides_as_pandas_does(name):
    X = fresh(name)[0]
    lazy = sepc.decide(fitted(name), dd.from_pandas(X, npartitions=3))
    pd.testing.assert_frame_equal(lazy.compute(scheduler="sync"), sepc.decide(fitted(name), X).to_frame())


@pytest.mark.quick_cases("SEPClassifier")
@pytest.mark.parametrize("name", ["SEPClassifier", "TrustedClassifier", "SelectiveClassifier", "pipeline", "search"])
def test_repairs_take_tables(name):
    table, y = patients(400, seed=7)
    others = np.where(y == "ill", "well", "ill")
    repaired = repair(fitted(name), table, others, cv=2)
    fresh_table, fresh_y = patients(300, seed=8)
    before, after = sepc.decide(fitted(name), fresh_table), sepc.decide(repaired, fresh_table)
    assert after.is_repaired.any()
    assert (after.label != fresh_y)[after.is_repaired].mean() > 0.6
    np.testing.assert_array_equal(before.trust[~after.is_repaired], after.trust[~after.is_repaired])
    if name not in ("pipeline", "search"):
        assert_same_decisions(from_bytes(to_bytes(repaired)).decide(fresh_table), after)


def test_a_landscape_refuses_what_is_no_number_and_keeps_every_column():
    table, y = patients()
    with pytest.raises(ValueError, match="'ward'"):
        sepc.Landscape(table, y)
    with pytest.raises(ValueError, match="NaN"):
        sepc.Landscape(table[["age", "dose"]], y)
    numbers = patients(gaps=False)[0][["age", "stage"]].assign(number=range(300))
    assert sepc.Landscape(numbers, y).figures.feature_names == ("age", "stage", "number")
    assert sepc.Landscape(numbers.drop(columns="stage"), y).partition.feature_names_in_.tolist() == ["age", "number"]


def test_scikit_learn_takes_gaps_as_well():
    table, y = patients()
    assert cross_val_score(SEPClassifier(), table, y, cv=2).mean() > 0.75
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted("SEPClassifier"))).fit(*fresh(""))
    assert calibrated.predict_proba(table).shape == (300, 2)
    for name in ("SEPClassifier", "counts", "SelectiveClassifier", "TrustedClassifier", "RoutedClassifier"):
        assert get_tags(MODELS[name]).input_tags.allow_nan
    assert not get_tags(TrustedClassifier(make_pipeline(CalibratedClassifierCV()))).input_tags.allow_nan


@pytest.mark.filterwarnings("ignore::sepc.errors.FlatSetWarning")
def test_files_and_recourse_take_texts_as_a_table_in_memory_does(tmp_path):
    table, y = texts_of_all_kinds()
    fitted = SEPClassifier().fit(table, y)
    table.assign(target=y).to_parquet(tmp_path / "orders.parquet", index=False)
    with pytest.warns(LeftOutWarning, match="numbers: 'price' .*dates: 'day' .*durations"):
        stored = SEPClassifier().fit(tmp_path / "orders.parquet", "target")
    assert (stored.predict(table) == fitted.predict(table)).mean() > 0.95
    row = table.iloc[[int(np.flatnonzero(fitted.predict(table) == "no")[0])]]
    found = sepc.recourse(fitted, row, to="yes", min_trust=0.5, fixed=["city"], bounds={"price": (None, 2_000)})
    changes = found.to_frame().set_index("feature")
    assert "city" not in changes.index
    if "price" in changes.index:
        assert changes.loc["price", "before"] == float(row["price"].iloc[0].strip("€ ").replace(",", ""))
    answer = found.answers[0].row
    assert answer["span"].dtype.kind == "m"
    assert fitted.predict(answer).tolist() == ["yes"]
    with pytest.raises(ValueError, match="bounds of 'price'"):
        sepc.recourse(fitted, row, to="yes", bounds={"price": ("€ 100", "€ 900")})
    hours = pd.to_timedelta(np.arange(len(y)) % 3 + (y == "yes"), unit="h")
    table = table.assign(span=hours, seen=pd.Timestamp("2024-01-01") + 24 * hours)
    model = SEPClassifier(categorical_features=["span", "seen"]).fit(table, y)
    sepc.save(model, tmp_path / "model.sepc")
    np.testing.assert_array_equal(sepc.load(tmp_path / "model.sepc").predict(table), model.predict(table))
