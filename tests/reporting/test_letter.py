"""The letter to the person that a decision is about."""

import re
from dataclasses import replace

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

import sepc
from sepc import SelectiveClassifier, SEPClassifier, StratifiedClassifier, TrustedClassifier
from sepc.datasets import load
from sepc.datasets import names as available
from sepc.lifecycle import repair

pd = package_or_skip("pandas")

GIVEN = {"organisation": "Heart Clinic", "model": "Heart model 3", "contact": "Dr Ada Lang, +44 20 7946 0000"}
WORDS = {0: "no heart disease", 1: "heart disease"}


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(400, noise=0.3, random_state=0)
    table = pd.DataFrame(X, columns=["age", "chol"])
    table["sex"] = np.where(np.arange(400) % 2, "f", "m")
    return table, y


@pytest.fixture(scope="module")
def classifier(moons):
    return SEPClassifier(min_trust=0.9).fit(*moons)


@pytest.fixture(scope="module")
def decisions(moons, classifier):
    return classifier.decide(moons[0])


def words_in(text):
    return " ".join(text.split())


def check(letter, decision, label, names):
    """Everything that a letter must have, and nothing that a person could not read."""
    text, page = words_in(str(letter)), letter.to_html()
    assert label in text
    for given in ("Heart Clinic", "Heart model 3", "Dr Ada Lang, +44 20 7946 0000"):
        assert given in text
        assert given in page
    assert "counted most towards it" in text
    assert "against it" in text
    assert len(letter.reasons.points) >= 1
    told = [point for point in (*letter.reasons.points, *letter.against.points) if not point.startswith("overall,")]
    assert all(any(point.startswith(str(name)) for name in names) for point in told)
    assert "person" in words_in(letter.review.lead)
    assert ("has not been decided yet" in text) is not decision.accepted
    assert not re.search(r"log-odds|trust|ellipsoid|region|THIN|OVERLAP|UNSEEN|[+-]\d\.\d\b\)", text)
    assert len(text.split()) < 450
    assert max(map(len, str(letter).splitlines())) <= 80


@pytest.mark.slow_cases("adult")
@pytest.mark.parametrize("name", ["adult", "heart_cleveland"])
def test_letters_of_five_cases(name):
    data = load(name) if name in available() else pytest.skip(f"{name} is not there")
    X, y = data.features[:900], data.target[:900]
    model = SEPClassifier(min_trust=0.85).fit(X[::2], y[::2])
    decided = model.decide(X[1::2])
    five = [*np.flatnonzero(decided.accepted)[:3], *np.flatnonzero(~np.asarray(decided.accepted))[:2]]
    assert len(five) == 5
    for i in map(int, five):
        check(decided[i].letter(**GIVEN), decided[i], f"“{decided[i].label}”", X.columns)


def test_the_largest_terms_come_first(classifier, decisions):
    for i in range(0, 400, 40):
        terms, letter = decisions[i].terms(), decisions[i].letter(**GIVEN)
        own = dict(zip(classifier.model_.feature_names, np.asarray(terms.features).ravel(), strict=True))
        named = [point.split()[0] for point in letter.reasons.points if not point.startswith("overall,")]
        if "sex" not in named and max(own.values()) > 0.5:
            assert named[0] == max(own, key=own.get)


def test_what_would_have_to_change(moons, classifier, decisions):
    i = int(np.flatnonzero(decisions.accepted & (decisions.label == 0))[0])
    found = sepc.recourse(classifier, moons[0].iloc[[i]], to=1, fixed=["sex"])
    words = {"chol": "cholesterol in mg/dl", "age": "age in years"}
    letter = decisions[i].letter(**GIVEN, labels=WORDS, recourse=found, columns=words)
    assert letter.changes.lead.startswith("The model would suggest heart disease if all of this were different")
    assert len(letter.changes.points) == len(found.answers[0].changes)
    assert all(point.startswith(tuple(words.values())) for point in letter.changes.points)
    assert "sex" not in " ".join(letter.changes.points)
    with pytest.raises(ValueError, match="about a different row"):
        decisions[i + 1].letter(**GIVEN, recourse=found)
    nowhere = replace(found, answers=())
    assert (
        "Among the changes that are possible, none was found"
        in decisions[i].letter(**GIVEN, recourse=nowhere).changes.lead
    )


@pytest.mark.parametrize(
    ("review", "told"),
    [
        ("asked", "No person has looked at this decision so far."),
        ("will", "A person, Ms Roe, will look at your case and decide."),
        ("did", "A person, Ms Roe, has looked at your case and made the decision."),
    ],
)
def test_it_says_whether_a_person_looks_at_it(decisions, review, told):
    letter = decisions[0].letter(**GIVEN, review=review, reviewer="Ms Roe", decided="you get the loan", labels=WORDS)
    assert told in words_in(str(letter))
    assert ("you get the loan" in str(letter)) is (review != "will")
    assert ("has not been decided yet" in str(letter)) is (review == "will")
    with pytest.raises(ValueError, match="review must be one of 'asked', 'will' and 'did', not"):
        decisions[0].letter(**GIVEN, review="maybe")


def test_a_template_of_ones_own(decisions):
    letter = decisions[0].letter(**GIVEN, person="Ms <b>", reference="A-1", date="1 May")
    assert letter.to_text("$organisation, $date: $reference, $$5") == "Heart Clinic, 1 May: Your reference: A-1, $5\n"
    page = letter.to_html("<h1>$title</h1>$person$reasons")
    assert "<p>Dear Ms &lt;b&gt;,</p>" in page
    assert page.count("<li>") == len(letter.reasons.points)
    with pytest.raises(ValueError, match=r"field \$reason; a letter has .* Did you mean 'reasons'?"):
        letter.to_text("$reason")
    with pytest.raises(ValueError, match=r"Write \$\$ for a dollar sign"):
        letter.to_text("costs 5$ now")


def test_gaps_are_told(moons, classifier):
    row = moons[0].iloc[[3]].assign(chol=np.nan)
    letter = classifier.decide(row)[0].letter(**GIVEN)
    assert "We did not have your chol; the model decided without it." in words_in(str(letter))
    assert not any(point.startswith("chol") for point in letter.reasons.points)


@pytest.mark.parametrize("kind", ["selective", "stratified", "trusted", "counts", "repaired"])
def test_letters_of_every_estimator(moons, classifier, kind):
    table, y = moons
    numbers = table[["age", "chol"]]
    model = {
        "selective": lambda: SelectiveClassifier(SEPClassifier(), 0.3, random_state=0).fit(numbers, y),
        "stratified": lambda: StratifiedClassifier(SEPClassifier(), by="sex", min_rows=50).fit(table, y),
        "trusted": lambda: TrustedClassifier(LogisticRegression(), cv=2).fit(numbers, y),
        "counts": lambda: SEPClassifier(trust="counts").fit(numbers, y),
        "repaired": lambda: repair(classifier, table.assign(age=table["age"] + 0.001), y),
    }[kind]()
    rows = table if kind in ("stratified", "repaired") else numbers
    letter = model.decide(rows[:5])[2].letter(**GIVEN)
    has_reasons = kind not in ("trusted", "counts")
    assert bool(letter.reasons.points) is has_reasons
    assert ("no reasons in terms of individual values" in words_in(str(letter))) is not has_reasons
    assert "Dr Ada Lang" in words_in(str(letter))
