"""The letter to the person that a decision is about, as an organisation would send it."""

import re
from dataclasses import replace

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.linear_model import LogisticRegression
from zoo import fitted_once

import sepc
from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.datasets import load
from sepc.datasets import names as available
from sepc.lifecycle import repair

pd = package_or_skip("pandas")

LABELS: dict[str, dict] = {
    "adult": {"<=50K": "an income of at most 50,000", ">50K": "an income above 50,000"},
    "heart_cleveland": {0: "no heart disease", 1: "heart disease"},
}
COLUMNS = {
    "adult": {"education_num": "years of education", "hours_per_week": "working hours a week", "fnlwgt": "weight"},
    "heart_cleveland": {"trestbps": "blood pressure at rest", "cp": "type of chest pain", "thal": "thallium test"},
}
FIXED = {
    "adult": ["age", "sex", "race", "native_country", "marital_status", "relationship", "fnlwgt"],
    "heart_cleveland": ["age", "sex"],
}
GIVEN = {"organisation": "Example House", "model": "Model 2", "contact": "Ms Roe, +44 20 7946 0000", "person": "Mr Doe"}
JARGON = r"log-odds|trust|ellipsoid|region|THIN|OVERLAP|UNSEEN|MISSING|[+-]\d\.\d\b\)"

both_sets = pytest.mark.parametrize("name", ["adult", "heart_cleveland"])


@fitted_once
def fitted(name):
    data = load(name)
    X, y = data.features[:1200], np.asarray(data.target)[:1200]
    n = 2 * len(y) // 3
    return SEPClassifier(min_trust=0.9).fit(X[:n], y[:n]), X[n:]


@pytest.fixture(scope="module")
def table(moons):
    rows = pd.DataFrame(moons[0], columns=["age", "chol"])
    return rows.assign(sex=np.where(np.arange(len(rows)) % 2, "f", "m")), moons[1]


@pytest.fixture(scope="module")
def model(table):
    return SEPClassifier(min_trust=0.9).fit(*table)


@pytest.fixture(scope="module")
def decided(table, model):
    return model.decide(table[0])


def words_in(letter):
    return " ".join(str(letter).split())


def written(name, decision, **more):
    """A letter that has what every letter must have, in text and on the page, and nothing that none may have."""
    words, columns = LABELS[name], COLUMNS[name]
    letter = decision.letter(**GIVEN, reference="A-7", date="2026-11-18", labels=words, columns=columns, **more)
    text, page = words_in(letter), letter.to_html()
    for given in (*GIVEN.values(), "2026-11-18", "A-7"):
        assert given in text
        assert given in page
    assert words[decision.label] in letter.decision.lead
    assert re.search(r"about \d+ of 100 such cases", text)
    assert letter.reasons.points
    assert letter.against.points or letter.against.lead
    assert "person" in letter.review.lead
    assert not re.search(rf"\b({'|'.join(columns)})\b", text)
    assert not re.search(JARGON, text)
    assert len(text.split()) < 400
    assert len(str(letter).splitlines()) <= 66
    assert max(map(len, str(letter).splitlines())) <= 80
    return letter


@pytest.fixture
def of_set(name, home):
    """The model of a data set, rows that it has not seen, and its decisions."""
    if name not in available():
        pytest.skip(f"{name} is not there")
    model, new = fitted(name)
    return model, new, model.decide(new)


@pytest.mark.slow_cases("adult")
@both_sets
def test_accepted_decisions_with_what_would_have_to_change(name, of_set):
    fitted_model, new, decisions = of_set
    for label in fitted_model.classes_:
        i = int(np.flatnonzero(decisions.accepted & (decisions.label == label))[0])
        (to,) = set(LABELS[name]) - {label}
        found = sepc.recourse(fitted_model, new.iloc[[i]], to=to, fixed=FIXED[name])
        letter = written(name, decisions[i], recourse=found)
        assert LABELS[name][to] in letter.changes.lead
        assert len(letter.changes.points) == (len(found.answers[0].changes) if found.answers else 0)
        fixed = [COLUMNS[name].get(column, column) for column in FIXED[name]]
        assert not any(point.startswith(f"{column} ") for point in letter.changes.points for column in fixed)


@pytest.mark.slow_cases("adult")
@both_sets
def test_a_refused_suggestion_that_a_person_decided_otherwise(name, of_set):
    _, _, decisions = of_set
    decision = decisions[int(np.flatnonzero(~decisions.accepted)[0])]
    assert "not been decided" in words_in(written(name, decision))
    other = next(words for label, words in LABELS[name].items() if label != decision.label)
    did = written(name, decision, review="did", reviewer="Dr Lang", decided=other)
    assert other in did.decision.lead
    assert LABELS[name][decision.label] in did.decision.lead


def test_the_largest_terms_come_first(model, decided):
    for i in range(0, 300, 30):
        terms, letter = decided[i].terms(), decided[i].letter(**GIVEN)
        own = dict(zip(model.model_.feature_names, np.asarray(terms.features).ravel(), strict=True))
        named = [point.split()[0] for point in letter.reasons.points if not point.startswith("overall,")]
        if "sex" not in named and max(own.values()) > 0.5:
            assert named[0] == max(own, key=own.get)


def test_recourse_must_be_about_the_row_and_may_find_nothing(table, model, decided):
    i = int(np.flatnonzero(decided.accepted & (decided.label == 0))[0])
    found = sepc.recourse(model, table[0].iloc[[i]], to=1, fixed=["sex"])
    with pytest.raises(ValueError, match="different row"):
        decided[i + 1].letter(**GIVEN, recourse=found)
    assert decided[i].letter(**GIVEN, recourse=found).changes.points
    nowhere = decided[i].letter(**GIVEN, recourse=replace(found, answers=())).changes
    assert (len(nowhere.points), "none was found" in nowhere.lead) == (0, True)


@pytest.mark.parametrize("review", ["asked", "will", "did"])
def test_it_says_whether_a_person_looks_at_it(decided, review):
    letter = decided[0].letter(**GIVEN, review=review, reviewer="Ms Lang", decided="you get the loan")
    text = words_in(letter)
    assert ("No person" in text) is (review == "asked")
    assert "Ms Lang" in text or review == "asked"
    assert ("you get the loan" in text) is (review != "will")
    assert ("not been decided" in text) is (review == "will")
    with pytest.raises(ValueError, match="'asked', 'will' and 'did'"):
        decided[0].letter(**GIVEN, review="maybe")


def test_a_template_of_ones_own(decided):
    letter = decided[0].letter(**{**GIVEN, "person": "Ms <b>"}, reference="A-1", date="1 May")
    assert letter.to_text("$organisation, $date: $reference, $$5") == "Example House, 1 May: Your reference: A-1, $5\n"
    page = letter.to_html("<h1>$title</h1>$person$reasons")
    assert "<p>Dear Ms &lt;b&gt;,</p>" in page
    assert page.count("<li>") == len(letter.reasons.points)
    for template, message in (("$reason", "'reasons'"), ("costs 5$ now", r"\$\$")):
        with pytest.raises(ValueError, match=message):
            letter.to_text(template)


def test_gaps_are_told(table, model):
    letter = model.decide(table[0].iloc[[3]].assign(chol=np.nan))[0].letter(**GIVEN)
    assert "did not have your chol" in words_in(letter)
    assert not any(point.startswith("chol") for point in letter.reasons.points)


@pytest.mark.parametrize("kind", ["selective", "stratified", "trusted", "counts", "repaired"])
def test_letters_of_every_estimator(table, model, kind):
    rows, y = table
    numbers = rows[["age", "chol"]]
    other = {
        "selective": lambda: SelectiveClassifier(SEPClassifier(), 0.3, random_state=0).fit(numbers, y),
        "stratified": lambda: RoutedClassifier(SEPClassifier(), by="sex", min_rows=50).fit(rows, y),
        "trusted": lambda: TrustedClassifier(LogisticRegression(), cv=2).fit(numbers, y),
        "counts": lambda: SEPClassifier(trust="counts").fit(numbers, y),
        "repaired": lambda: repair(model, rows.assign(age=rows["age"] + 0.001), y),
    }[kind]()
    given = rows if kind in ("stratified", "repaired") else numbers
    letter = other.decide(given[:5])[2].letter(**GIVEN)
    assert bool(letter.reasons.points) is (kind not in ("trusted", "counts"))
    assert "Ms Roe" in words_in(letter)
