"""Labels that look alike are named and merged only on request; few rows and numbers that are no classes are found."""

import warnings

import numpy as np
import pytest

import sepc
from sepc import SEPClassifier
from sepc.looking.findings import Severity

HEART = ["Malade"] + ["Sain"] * 3 + ["maladde"] + ["malade"] * 93 + ["sain"] * 113


def rows(n):
    return np.random.default_rng(0).normal(size=(n, 2))


def label_findings(y):
    return [finding for finding in sepc.look(rows(len(y)), np.asarray(y)) if finding.about == "labels"]


def test_spellings_of_one_label_are_named_with_their_counts_and_merged():
    findings = sepc.look(rows(len(HEART)), HEART)
    assert [(finding.severity, finding.seen) for finding in findings] == [
        (Severity.WRONG, "'Sain' (3 rows) beside 'sain' (113 rows)"),
        (Severity.WRONG, "'Malade' (1 row) and 'maladde' (1 row) beside 'malade' (93 rows)"),
    ]
    merged = findings.merged_labels(np.array(HEART))
    assert dict(zip(*np.unique(merged, return_counts=True), strict=True)) == {"malade": 95, "sain": 116}
    assert sepc.look(rows(3)).merged_labels([1, 2, 2]).tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("sick", "sikc", True),
        ("malade", "maladde", True),
        ("very high", "very hgh", True),
        ("benign", "bening", True),
        ("setosa", "setoza", True),
        ("typical", "atypical", False),  # a prefix, no slip
        ("type a", "type b", False),
        ("grade1", "grade2", False),
        ("cat", "car", False),
        ("male", "female", False),
        ("low", "low risk", False),
        ("normal", "mormal", False),  # the price of the first line
    ],
)
def test_one_letter_apart(first, second, alike):
    for rare, often in ((first, second), (second, first)):
        found = label_findings([rare] * 2 + [often] * 60 + ["0"] * 60)
        assert any(finding.severity is Severity.WRONG for finding in found) is alike


def test_frequent_labels_are_two_labels_unless_only_case_or_blanks_differ():
    assert label_findings(["ileum"] * 50 + ["ilium"] * 40) == []
    assert label_findings(["A"] * 50 + ["a"] * 40) == []
    assert len(label_findings(["Yes"] * 50 + ["yes"] * 40 + ["no"] * 80)) == 1
    assert len(label_findings(["yes "] * 50 + ["yes"] * 40 + ["no"] * 80)) == 1


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


def ages():
    rng = np.random.default_rng(0)
    return np.clip(rng.normal(40, 14, size=3_000).round(), 17, 90).astype(int)


@pytest.mark.parametrize(
    ("y", "seen"),
    [
        ([0] * 50 + [1] * 50 + [2] * 4, "2 (4)"),
        (np.arange(100).repeat(12), "100"),
        (np.arange(1000, 1100).repeat(12), "100"),
        (np.arange(40).repeat(20) * 1_003, "40"),
        (ages().astype(str), ""),
    ],
    ids=["few rows", "codes", "codes from 1000", "codes far apart", "numbers as text"],
)
def test_what_may_be_classes_is_doubtful(y, seen):
    (found,) = label_findings(y)
    assert found.severity is Severity.DOUBTFUL
    assert seen in found.seen


@pytest.mark.parametrize("y", [ages(), np.linspace(0, 1, 300), np.random.default_rng(1).permutation(400) * 7])
def test_a_target_of_numbers_is_refused_with_a_remedy(y):
    (found,) = label_findings(y)
    assert found.severity is Severity.WRONG
    with pytest.raises(ValueError, match="regressor"):
        SEPClassifier().fit(rows(len(y)), y)


def test_labels_that_hardly_repeat():
    (found,) = label_findings([f"person {i}" for i in range(90)] + ["person 1"] * 10)
    assert (found.severity, "90" in found.seen) == (Severity.WRONG, True)


def test_a_fit_warns_once_and_names_the_pairs():
    y = np.array(["sick"] * 60 + ["well"] * 60 + ["wel"] * 2 + ["Sick"] * 2)
    X = rows(len(y)) + 3 * (np.char.lower(y) == "sick")[:, None]
    with pytest.warns(UserWarning, match="'Sick'") as caught:
        SEPClassifier().fit(X, y)
    assert [own.filename for own in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SEPClassifier().fit(X, np.char.lower(y) == "sick")
