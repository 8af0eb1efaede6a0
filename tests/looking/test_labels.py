"""Labels that look alike are named and merged only on request; few rows and numbers that are no classes are found."""

import warnings

import numpy as np
import pytest

from sepc import SEPClassifier
from sepc.looking.findings import Findings, Severity
from sepc.looking.labels import counted_labels, label_findings, refuse_numbers
from sepc.looking.spelling import are_one_letter_apart

HEART = ["Malade"] + ["Sain"] * 3 + ["maladde"] + ["malade"] * 93 + ["sain"] * 113


def rows(n):
    return np.random.default_rng(0).normal(size=(n, 2))


def test_spellings_of_one_label_are_named_with_their_counts():
    found = label_findings(HEART)
    assert [finding.severity for finding in found] == [Severity.WRONG] * 2
    assert found[0].seen == "'Sain' (3 rows) beside 'sain' (113 rows)"
    assert found[1].seen == "'Malade' (1 row) and 'maladde' (1 row) beside 'malade' (93 rows)"


def test_what_is_named_is_merged_and_nothing_else():
    findings = Findings.of(label_findings(HEART), len(HEART), len(HEART))
    merged = findings.merged_labels(np.array(HEART))
    assert dict(zip(*np.unique(merged, return_counts=True), strict=True)) == {"malade": 95, "sain": 116}
    assert label_findings([]) == []
    assert Findings.of([], 3, 3).merged_labels([1, 2, 2]).tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("first", "second"),
    [("sick", "sikc"), ("malade", "maladde"), ("very high", "very hgh"), ("benign", "bening"), ("setosa", "setoza")],
)
def test_one_letter_apart(first, second):
    assert are_one_letter_apart(first, second)
    assert are_one_letter_apart(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("typical", "atypical"),  # a prefix, no slip
        ("type a", "type b"),
        ("grade1", "grade2"),
        ("cat", "car"),
        ("male", "female"),
        ("low", "low risk"),
        ("normal", "mormal"),  # the price of the first line
        ("sick", "sick"),
    ],
)
def test_not_one_letter_apart(first, second):
    assert not are_one_letter_apart(first, second)


def test_frequent_labels_one_letter_apart_are_two_labels():
    assert label_findings(["ileum"] * 50 + ["ilium"] * 40) == []
    assert label_findings(["A"] * 50 + ["a"] * 40) == []
    assert len(label_findings(["Yes"] * 50 + ["yes"] * 40 + ["no"] * 80)) == 1
    assert len(label_findings(["yes "] * 50 + ["yes"] * 40 + ["no"] * 80)) == 1


def test_labels_with_too_few_rows_to_be_tested():
    (found,) = label_findings([0] * 50 + [1] * 50 + [2] * 4)
    assert found.severity is Severity.DOUBTFUL
    assert found.seen == "a label with fewer than 10 rows: 2 (4)"


@pytest.mark.parametrize(
    "y",
    [
        np.arange(10).repeat(30),  # digits
        np.arange(3, 10).repeat([10, 30, 200, 400, 150, 40, 10]),  # wine quality
        np.arange(1, 27).repeat(20),  # letters as numbers
        np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")).repeat(20),
        np.array([True, False]).repeat(20),
        np.array([1.0, 2.0] * 20, dtype=object),
    ],
)
def test_classes_are_no_numbers(y):
    assert label_findings(y) == []
    refuse_numbers(*counted_labels(y))


def test_many_codes_are_a_finding_and_no_error():
    for y in (np.arange(100).repeat(12), np.arange(1000, 1100).repeat(12), np.arange(40).repeat(20) * 1_003):
        (found,) = label_findings(y)
        assert found.severity is Severity.DOUBTFUL
        refuse_numbers(*counted_labels(y))


def ages():
    rng = np.random.default_rng(0)
    return np.clip(rng.normal(40, 14, size=3_000).round(), 17, 90).astype(int)


@pytest.mark.parametrize("y", [ages(), np.linspace(0, 1, 300), np.random.default_rng(1).permutation(400) * 7])
def test_a_target_of_numbers_is_refused_with_a_remedy(y):
    (found,) = label_findings(y)
    assert found.severity is Severity.WRONG
    with pytest.raises(ValueError, match="amounts, not classes. Bin them, .* or use a regressor"):
        SEPClassifier().fit(rows(len(y)), y)


def test_numbers_given_as_text_are_classes():
    refuse_numbers(*counted_labels(ages().astype(str)))
    assert [finding.severity for finding in label_findings(ages().astype(str))] == [Severity.DOUBTFUL]


def test_labels_that_hardly_repeat():
    (found,) = label_findings([f"person {i}" for i in range(90)] + ["person 1"] * 10)
    assert found.severity is Severity.WRONG
    assert "90 different values in 100 rows" in found.seen


def test_a_fit_warns_once_and_names_the_pairs():
    y = np.array(["sick"] * 60 + ["well"] * 60 + ["wel"] * 2 + ["Sick"] * 2)
    X = rows(len(y)) + 3 * (np.char.lower(y) == "sick")[:, None]
    with pytest.warns(UserWarning, match=r"'Sick' \(like 'sick'\)") as caught:
        SEPClassifier().fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SEPClassifier().fit(X, np.char.lower(y) == "sick")
