"""Five letters, three about adult and two about heart, as an organisation would send them: what must be in each."""

import re
from functools import cache

import numpy as np
import pytest
from optional import package_or_skip

import sepc
from sepc import SEPClassifier
from sepc.datasets import load
from sepc.datasets import names as available

pd = package_or_skip("pandas")

INCOME = {"<=50K": "an income of at most 50,000", ">50K": "an income above 50,000"}
HEART = {0: "no heart disease", 1: "heart disease"}
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


@cache
def fitted(name):
    data = load(name) if name in available() else pytest.skip(f"{name} is not there")
    X, y = data.features[:1200], np.asarray(data.target)[:1200]
    n = 2 * len(y) // 3
    return SEPClassifier(min_trust=0.9).fit(X[:n], y[:n]), X[n:]


def case(name, accepted, label=None, gap=None):
    """The decision on the first new row like this, and the row."""
    model, new = fitted(name)
    decided = model.decide(new)
    fits = np.asarray(decided.accepted) == accepted
    i = int(np.flatnonzero(fits if label is None else fits & (np.asarray(decided.label) == label))[0])
    row = new.iloc[[i]] if gap is None else new.iloc[[i]].assign(**{gap: None})
    return model.decide(row)[0], row


def check(letter, decision, words, columns):
    """What every letter must have, in text and on the page, and what no letter may have."""
    text, page = " ".join(str(letter).split()), letter.to_html()
    for given in (*GIVEN.values(), "2026-11-18", "A-7", "computer model"):
        assert given in text
        assert given in page
    assert words[decision.label] in letter.decision.lead
    assert re.search(r"about \d+ of 100 such cases", text)
    assert letter.reasons.points
    assert letter.against.points or "None of your values counted clearly against it" in letter.against.lead
    assert "person" in letter.review.lead
    assert not re.search(rf"\b({'|'.join(columns)})\b", text)
    assert not re.search(JARGON, text)
    assert len(text.split()) < 400
    assert len(str(letter).splitlines()) <= 66
    assert max(map(len, str(letter).splitlines())) <= 80
    assert page.startswith("<!DOCTYPE html>")


def written(name, decision, words, **more):
    letter = decision.letter(**GIVEN, reference="A-7", date="2026-11-18", labels=words, columns=COLUMNS[name], **more)
    check(letter, decision, words, COLUMNS[name])
    return letter


def changes_of(letter, name, to):
    """The columns that would have to change: none that cannot, or a sentence that there are none."""
    assert to in letter.changes.lead
    fixed = [COLUMNS[name].get(column, column) for column in FIXED[name]]
    assert not any(point.startswith(f"{column} ") for point in letter.changes.points for column in fixed)
    assert letter.changes.points or "none was found" in letter.changes.lead
    return letter.changes.points


@pytest.mark.slow_cases("adult")
@pytest.mark.parametrize("name", ["adult", "heart_cleveland"])
def test_an_accepted_decision_with_what_would_have_to_change(name):
    words = INCOME if name == "adult" else HEART
    label, to = ("<=50K", ">50K") if name == "adult" else (1, 0)
    decision, row = case(name, True, label)
    found = sepc.recourse(fitted(name)[0], row, to=to, fixed=FIXED[name])
    letter = written(name, decision, words, recourse=found)
    assert len(changes_of(letter, name, words[to])) == (len(found.answers[0].changes) if found.answers else 0)
    assert "No person has looked at this decision so far" in letter.review.lead


@pytest.mark.slow
def test_a_person_has_decided():
    decision, _ = case("adult", True, ">50K")
    letter = written("adult", decision, INCOME, review="did", reviewer="Dr Lang")
    assert "A person, Dr Lang, has looked at your case and made the decision" in letter.review.lead
    assert not letter.changes.lead


@pytest.mark.slow
def test_what_is_not_known_is_told():
    decision, _ = case("adult", True, "<=50K", gap="age")
    letter = written("adult", decision, INCOME)
    assert "We did not have your" in letter.reasons.lead
    assert "age" in letter.reasons.lead
    assert not any(point.startswith("age ") for point in (*letter.reasons.points, *letter.against.points))


def test_a_refused_suggestion_that_a_person_decided_otherwise():
    decision, _ = case("heart_cleveland", False)
    will = written("heart_cleveland", decision, HEART)
    assert "has not been decided yet" in " ".join(str(will).split())
    other = HEART[1 - decision.label]
    did = written("heart_cleveland", decision, HEART, review="did", reviewer="Dr Lang", decided=other)
    assert other in did.decision.lead
    assert f"The model suggested {HEART[decision.label]}" in did.decision.lead
