"""Rows as services have them: columns in any order and beside others, dicts, Series, and nothing that was left out."""

import warnings

import numpy as np
import pytest
from cases import assert_same_decisions
from optional import package_or_skip
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from zoo import fitted_once

import sepc
import sepc.errors
from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier

dd, pa = package_or_skip("dask.dataframe"), package_or_skip("pyarrow")
pd, pl = package_or_skip("pandas"), package_or_skip("polars")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")

LEFT_OUT = ["patient", "country"]
READ = ["age", "glucose", "ward", "smoker"]


def table(n=360):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "patient": [f"P{i:05}" for i in range(n)],
            "age": rng.normal(60, 12, n).round(),
            "glucose": rng.normal(6, 1.5, n).round(1),
            "ward": rng.choice(["north", "south"], n),
            "country": "NL",
            "smoker": rng.random(n) < 0.3,
        },
        index=[f"case {i}" for i in range(n)],
    )
    risk = (rows.age - 60) / 12 + (rows.glucose - 6) + 1.5 * rows.smoker + (rows.ward == "north") - 0.8
    return rows, np.where(risk + rng.normal(0, 0.5, n) > 0, "ill", "well")


TABLE, OUTCOME = table()
TRAIN, NEW = TABLE[:300], TABLE[300:]

PARTITION = SEPClassifier(trust="counts", max_ellipsoids=4)
ENCODED = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["ward"]), ("passthrough", ["age", "glucose", "smoker"])),
    LogisticRegression(max_iter=1000),
)
MODELS = {
    "partition": PARTITION,
    "trusted": TrustedClassifier(PARTITION, partition=PARTITION, cv=2),
    "trusted around another": TrustedClassifier(ENCODED, partition=PARTITION, cv=2),
    "selective": SelectiveClassifier(PARTITION, 0.2, random_state=0),
    "selective by group": SelectiveClassifier(PARTITION, 0.3, by="ward", random_state=0),
    "stratified": RoutedClassifier(PARTITION, by=["ward"], min_rows=50),
    "repaired": RoutedClassifier(PARTITION),
    "search": GridSearchCV(PARTITION, {"min_trust": [0.9]}, cv=2),
    "pipeline": ENCODED,
}


@fitted_once
def fitted(name):
    return clone(MODELS[name]).fit(TRAIN, OUTCOME[:300])


def same(left, right):
    assert_same_decisions(left, right)
    assert left.why(0) == right.why(0)


@pytest.mark.parametrize("name", MODELS)
def test_rows_come_in_any_order_form_and_company_without_what_was_left_out(name, tmp_path):
    model, expected = fitted(name), sepc.decide(fitted(name), NEW)
    mixed = NEW[NEW.columns[::-1]].assign(note="urgent", bed=4)
    found = sepc.decide(model, mixed)
    same(found, expected)
    assert list(found.index) == list(NEW.index)
    records = NEW.assign(note="urgent").to_dict("records")
    few = NEW.drop(columns=LEFT_OUT)
    for rows in (
        pl.from_pandas(mixed),
        pd.concat([mixed, mixed[["note"]]], axis=1),
        records,
        np.array(records, dtype=object),
        few,
        few[READ[::-1]].to_dict("records"),
        pl.from_pandas(few),
    ):
        same(sepc.decide(model, rows), expected)
    one = sepc.decide(model, records[3])
    assert len(one) == 1
    assert one.index is None
    same(one, expected[3:4])
    series = sepc.decide(model, NEW.iloc[3])
    same(series, expected[3:4])
    assert list(series.index) == list(series.to_frame().index) == ["case 303"]
    for rows in (few, NEW.drop(columns="country"), pl.from_pandas(few)):
        np.testing.assert_array_equal(model.predict(rows), expected.label)
        np.testing.assert_array_equal(model.predict_proba(rows), expected.probabilities)
    assert model.score(few, OUTCOME[300:]) == np.mean(expected.label == OUTCOME[300:])
    if name != "pipeline":
        sepc.save(model, tmp_path / "model.sepc")
        given = {"estimator": model.estimator_} if name == "trusted around another" else {}
        again = sepc.load(tmp_path / "model.sepc", **given)
        same(sepc.decide(again, few), expected)
        np.testing.assert_array_equal(again.predict(few), expected.label)


def test_what_one_row_may_hold():
    model, row = fitted("partition"), NEW.iloc[0].to_dict()
    for gaps in (*({name: None} for name in READ), dict.fromkeys(READ)):
        same(model.decide(row | gaps), model.decide(NEW[:1].assign(**gaps)))
    same(model.decide(row | {"age": 70}), model.decide(NEW[:1].assign(age=70.0)))
    series = NEW.iloc[0]
    for name, wanted in ((None, None), (("a", 1), None), (7, [7])):
        index = model.decide(series.rename(name)).index
        assert wanted is index is None or list(index) == wanted
    for rows, said in (
        (NEW.to_dict("list"), "is a list"),
        (pd.concat([series, series[["age"]]]), "same name"),
        (pd.concat([NEW, NEW[["age"]]], axis=1), "several columns called 'age'"),
    ):
        with pytest.raises(ValueError, match=said):
            model.decide(rows)
    few = pa.table({name: NEW[name].to_numpy() for name in READ[::-1]})
    same(model.decide(few), model.decide(NEW))
    in_order = pa.table({name: NEW[name].to_numpy() for name in READ})
    np.testing.assert_array_equal(model.predict(in_order), model.predict(NEW))


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"trusted around another", "pipeline"}))  # which take any order
def test_labels_and_probabilities_keep_the_rule_of_scikit_learn(name):
    model = fitted(name)
    for ask in (model.predict, model.predict_proba):
        for rows, said in (
            (NEW[READ[::-1]], "same order.*\ndecide and score"),
            (NEW[READ].assign(note=1), "- note\ndecide and score"),
            (NEW[READ].drop(columns="glucose"), "- glucose\ndecide and score"),
            (pd.concat([NEW, NEW[["age"]]], axis=1), "several columns called 'age'"),
        ):
            with pytest.raises(ValueError, match=said):
                ask(rows)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_missing_is_told_by_name_and_a_score_takes_columns_as_decide_does(name):
    model, true = fitted(name), OUTCOME[300:]
    renamed = NEW.rename(columns={"glucose": "Glucose", "age": "ages"})
    told = r"'age' and 'glucose'.*'ages' and 'Glucose'"
    for rows in (renamed, pl.from_pandas(renamed), renamed.iloc[0], renamed.iloc[0].to_dict()):
        with pytest.raises(ValueError, match=told):
            sepc.decide(model, rows)
    rows = NEW.to_dict("records")
    rows[2]["AGE"] = rows[2].pop("age")
    for given, told in ((NEW.drop(columns="glucose"), r"no column 'glucose'"), (rows, r"row 2 .*'age'.*'AGE'")):
        with pytest.raises(ValueError, match=told):
            sepc.decide(model, given)
    if name in ("search", "pipeline"):  # whose `score` is not sepc's
        return
    for rows in (NEW[READ[::-1]], NEW[NEW.columns[::-1]].assign(note="urgent"), NEW.assign(Age=1.0, **{"age ": 2.0})):
        assert model.score(rows, true) == np.mean(sepc.decide(model, NEW).label == true)
    with pytest.raises(ValueError, match="'Age'|missing: {'age'}"):
        model.score(NEW.rename(columns={"age": "Age"}), true)


def test_columns_that_are_ignored_are_named_once():
    model, more = fitted("partition"), NEW.assign(note="urgent", Age=0)
    one = r"^Ignored 2 columns .*'note' and 'Age'\.$"
    for ask in (model.decide, lambda rows: sepc.decide(model, rows), lambda rows: model.score(rows, OUTCOME[300:])):
        for rows in (more, pl.from_pandas(more)):
            with pytest.warns(sepc.errors.LeftOutWarning, match=one) as told:
                ask(rows)
            assert (len(told), told[0].filename) == (1, __file__)
    with pytest.warns(sepc.errors.LeftOutWarning, match=one) as told:
        model.decide(more.to_dict("records"))
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sepc.report(model, more, OUTCOME[300:], id="note", by="Age")
        fitted("selective by group").decide(NEW)


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"search", "pipeline"}))
def test_columns_of_one_name_are_refused_before_a_fit(name):
    for twice in (
        TRAIN.rename(columns={"smoker": "glucose", "ward": "age"}),
        pd.concat([TRAIN, TRAIN[["glucose", "age"]]], axis=1),
    ):
        with pytest.raises(ValueError, match="several columns"):
            clone(MODELS[name]).fit(twice, OUTCOME[:300])
    columns = [TRAIN[own].to_numpy() for own in ("glucose", "age", "glucose", "age", "ward")]
    arrow = pa.Table.from_arrays([pa.array(own) for own in columns], names=["glucose", "age", "glucose", "age", "ward"])
    for ask in (SEPClassifier().fit, sepc.look, lambda rows, labels: sepc.look(rows.to_pandas(), labels)):
        with pytest.raises(ValueError, match="'glucose' and 'age'"):
            ask(arrow, OUTCOME[:300])


NUMBERS = TABLE[["age", "glucose"]]


@pytest.mark.parametrize("model", [PARTITION, SelectiveClassifier(LogisticRegression(), 0.3), LogisticRegression()])
def test_a_model_without_names_takes_positions(model):
    X = np.ascontiguousarray(NUMBERS)
    model = clone(model).fit(X[:300], OUTCOME[:300])
    expected = sepc.decide(model, X[300:302])
    for row in (NUMBERS.iloc[0], [{"age": 1.0, "glucose": 2.0}]):
        with pytest.raises(ValueError, match="was fitted to an array"):
            sepc.decide(model, row)
    with pytest.warns(UserWarning, match="without feature names"):
        by_position = sepc.decide(model, NUMBERS[300:302])
    np.testing.assert_allclose(by_position.trust, expected.trust, rtol=1e-12)  # its memory is laid out differently


def test_a_model_that_takes_dicts_or_text_by_itself_is_left_to_it():
    records = TABLE[["age", "ward"]].to_dict("records")
    counted = make_pipeline(DictVectorizer(sparse=False), StandardScaler(), LogisticRegression())
    counted.fit(records[:300], OUTCOME[:300])
    np.testing.assert_array_equal(sepc.decide(counted, records[300:]).label, counted.predict(records[300:]))
    assert len(sepc.decide(counted, {"age": 50})) == 1
    words = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TABLE["ward"], OUTCOME)
    np.testing.assert_array_equal(sepc.decide(words, NEW["ward"]).label, words.predict(NEW["ward"]))


def test_what_one_model_reads_is_needed_though_another_left_it_out():
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["ward", "country"]), ("drop", ["age"]))
    reads = make_pipeline(encoder, RandomForestClassifier(5, random_state=0))
    model = TrustedClassifier(reads, partition=PARTITION, cv=2).fit(TRAIN, OUTCOME[:300])
    same(model.decide(NEW.drop(columns="patient")), model.decide(NEW))
    with pytest.raises(ValueError, match="'country'"):
        model.decide(NEW.drop(columns="country"))
    rows = TABLE.assign(age=TABLE["age"].where(TABLE["ward"] == "north", 50.0))
    model = RoutedClassifier(PARTITION, by=["ward"], min_rows=50).fit(rows[:300], OUTCOME[:300])
    with pytest.raises(ValueError, match="'age'"):
        model.decide(rows[300:].drop(columns="age"))


@pytest.fixture(scope="module")
def by_clinic():
    """A promise by a column that is no feature."""
    clinics = np.resize(["a", "b"], len(TABLE))
    inside = FrozenEstimator(fitted("partition"))
    model = SelectiveClassifier(inside, 0.3, by="clinic").fit(TABLE, OUTCOME, groups={"clinic": clinics})
    return model, clinics[300:]


def test_groups_may_be_told_by_a_column_that_is_no_feature(by_clinic, tmp_path):
    model, clinics = by_clinic
    expected = model.decide(NEW, groups={"clinic": clinics})
    told = NEW[READ].assign(note="urgent", clinic=clinics)
    sepc.save(model, tmp_path / "model.sepc")
    for own in (model, sepc.load(tmp_path / "model.sepc")):
        same(own.decide(told), expected)
        same(own.decide(told.to_dict("records")), expected)
        np.testing.assert_array_equal(own.predict(NEW[READ]), expected.label)
    lazy = model.decide(dd.from_pandas(told, npartitions=2, sort=False)).compute()
    assert lazy["accepted"].tolist() == expected.accepted.tolist()
    same(model.decide(NEW.iloc[0].to_dict(), groups=[clinics[0]]), expected[:1])
    same(model.decide(NEW[READ[::-1]], groups=clinics), expected)
    with pytest.raises(ValueError, match="'clinic'"):
        model.decide(NEW)


@pytest.mark.parametrize("one_threshold", [True, False])
def test_the_column_of_groups_is_no_gap_if_it_was_left_out_as_a_feature(one_threshold):
    rows = TABLE.assign(country=np.where(np.arange(len(TABLE)) < 300, "NL", "BE"))
    inside = FrozenEstimator(fitted("partition"))
    model = SelectiveClassifier(inside, 0.3, by="country", one_threshold=one_threshold).fit(rows[:300], OUTCOME[:300])
    few = rows[:20].drop(columns="country")
    if one_threshold:
        same(model.decide(few), model.decide(rows[:20]))
    else:
        with pytest.raises(ValueError, match="'country'"):
            model.decide(few)
