"""What is wrong in a dirty table is found, nothing else is, and a fit says what it should."""

import warnings
from typing import Any

import numpy as np
import pytest
from optional import package_or_skip

import sepc
from sepc import SEPClassifier
from sepc.cli.entry import main

pd = package_or_skip("pandas")

N = 600


def clean(seed=0, n=N):
    """A table in which nothing stands out, though 999 is a value of one column, and most rows of another are 0."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "dose": rng.integers(0, 10, n).astype(float),
            "bed": rng.integers(1, 1000, n).astype(float),
            "lesions": np.where(rng.random(n) < 0.8, 0.0, rng.poisson(3, n)),
            "pulse": rng.normal(70, 9, n).round(2),
            "ward": rng.choice(["north", "south", "west"], n),
        }
    )
    table.loc[:9, "bed"] = 999.0
    return table, np.where(table["age"] + 4 * table["dose"] + rng.normal(0, 20, n) > 72, "sick", "well").astype(object)


def repeated(table, y, rng):
    order = rng.permutation(5 * N)
    return pd.concat([table] * 5, ignore_index=True).iloc[order].reset_index(drop=True), np.tile(y, 5)[order]


def contradicted(table, y, rng):
    again = rng.choice(N, 40, replace=False)
    other = np.where(y[again] == "sick", "well", "sick")
    order = rng.permutation(N + 40)
    both = pd.concat([table, table.iloc[again]], ignore_index=True)
    return both.iloc[order].reset_index(drop=True), np.concatenate([y, other])[order]


def patients(table, y, rng, name="case", write=lambda who: 1000 + who):
    who = rng.permutation(np.repeat(np.arange(N // 5), 5))
    ill = rng.random(N // 5) < 0.5
    return table.assign(**{name: [write(own) for own in who]}), np.where(ill[who], "sick", "well").astype(object)


def some(values, every, other):
    values = np.array(values, dtype=object)
    values[::every] = other
    return values


def with_total(table, y, rng):
    last = table.select_dtypes("number").sum().to_frame().T.assign(ward="Total")
    return pd.concat([table, last], ignore_index=True), np.append(y, "well")


def drifting(table, y, rng):
    return table.assign(pulse=table["pulse"] + np.linspace(0, 20, N)), y


CODES = {"dose": 999.0, "pulse": -999.0, "age": 9999.0}
# For each way to make a table dirty: what it does, and what is found, with a part of what is said of it.
DIRTY: dict[str, tuple[Any, Any]] = {
    "every row five times": (repeated, {"rows": "2,400 of 3,000 rows repeat"}),
    "copies with another label": (contradicted, {"rows": "80 rows have the same values as one with another label"}),
    "an id that repeats": (patients, {"case": "120 different values such as 1000, each in 5 rows"}),
    "an id as text": (
        lambda *given: patients(*given, write=lambda who: f"P{who:04}"),
        {"case": "120 different values such as 'P0"},
    ),
    "an id by its name": (
        lambda table, y, rng: (table.assign(customer_id=rng.integers(0, 200, N) * 37), y),
        {"customer_id": "193 different values such as 37, each in 3 rows on average. An id"},
    ),
    "codes for missing numbers": (
        lambda table, y, rng: (table.assign(**{name: some(table[name], 37, code) for name, code in CODES.items()}), y),
        {name: f"{code:.0f} (17 rows), far from all other values" for name, code in CODES.items()},
    ),
    "labels that mean a gap": (
        lambda table, y, rng: (table, some(some(y, 20, "-"), 33, "N/A")),
        {"labels": "'-' (29 rows) and 'N/A' (19 rows), which may be a missing label"},
    ),
    "labels that are missing": (
        lambda table, y, rng: (table, some(y, 20, None)),
        {"labels": "30 of 600 rows have no label"},
    ),
    "spellings of a label": (
        lambda table, y, rng: (table, some(y, 20, "Sick ")),
        {"labels": "'Sick ' (30 rows) beside 'sick'"},
    ),
    "a code as a label": (
        lambda table, y, rng: (table, some((y == "sick").astype(int), 20, -999).astype(int)),
        {"labels": "-999 (30 rows), far from all other values"},
    ),
    "a column that is the label": (
        lambda table, y, rng: (table.assign(result=(y == "sick") + rng.random(N) / 9), y),
        {"result": "it alone predicts the label of 100 %"},
    ),
    "spellings of a category": (
        lambda table, y, rng: (table.assign(ward=some(table["ward"], 30, "North")), y),
        {"ward": "'North' (20 rows) beside 'north'"},
    ),
    "dates as text": (
        lambda table, y, rng: (
            table.assign(
                day=(pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, N), "D")).strftime("%d.%m.%Y")
            ),
            y,
        ),
        {"day": "Read as dates", "rows": "column 'day' holds dates"},
    ),
    "units in cells": (
        lambda table, y, rng: (table.assign(pulse=[f"{own} bpm" for own in table["pulse"]]), y),
        {"pulse": "Read as numbers (bpm)"},
    ),
    "order in time": (drifting, {"rows": "'pulse' most"}),
    "a constant and an index": (
        lambda table, y, rng: (table.assign(site="main", no=rng.permutation(N)), y),
        {"site": "a constant", "no": "an index"},
    ),
    "a last row of totals": (with_total, {"rows": "the last of 601 rows holds the sums"}),
}


@pytest.mark.parametrize("what", DIRTY)
def test_what_is_wrong_is_found_and_nothing_else(what):
    make, expected = DIRTY[what]
    findings = sepc.look(*make(*clean(), np.random.default_rng(1)))
    said = {finding.about: str(finding) for finding in findings}
    assert sorted(said) == sorted(expected)
    assert len(findings) == len(expected)
    for about, words in expected.items():
        assert words in said[about]


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_in_a_clean_table(seed):
    assert len(sepc.look(*clean(seed))) == 0


def test_equal_rows_of_few_values_and_odd_classes_are_no_findings():
    rng = np.random.default_rng(0)
    answers = pd.DataFrame(rng.integers(0, 3, (2_000, 5)), columns=list("abcde"))
    assert not len(sepc.look(answers, rng.choice(["yes", "no"], 2_000)))
    assert "repeat" in str(sepc.look(pd.concat([answers] * 5), np.tile(rng.choice(["yes", "no"], 2_000), 5)))
    table, y = clean()
    for sick, well in (("+", "-"), ("mild", "none")):
        assert not len(sepc.look(table, np.where(y == "sick", sick, well)))


@pytest.mark.parametrize(
    "what", ["every row five times", "an id that repeats", "codes for missing numbers", "labels that mean a gap"]
)
def test_a_fit_warns_of_what_a_look_finds(what):
    make, expected = DIRTY[what]
    table, y = make(*clean(), np.random.default_rng(1))
    for X in (table, table.drop(columns="ward").to_numpy(dtype=float)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SEPClassifier(fit_rows=200).fit(X, y)
        said = [str(one.message) for one in caught]
        assert len(said) == len(expected)
        for words in expected.values():
            assert any(words.lower() in one.lower() for one in said)


def test_the_command_warns_of_leakage_and_keeps_copies_together(tmp_path, capsys):
    path, model = tmp_path / "t.csv", str(tmp_path / "m.sepc")
    words = ["fit", str(path), "--target", "y", "--output", model, "--test-size", "0.5", "--fit-rows", "200"]

    def said(what):
        table, y = DIRTY[what][0](*clean(), np.random.default_rng(1))
        table.assign(y=y).to_csv(path, index=False)
        assert main(words) == 0
        return capsys.readouterr()

    assert "result: it alone predicts" in said("a column that is the label").err
    copied = said("every row five times")
    # Half of the 600 different rows, five times each.
    assert "1,200 of 1,500" in copied.err
    assert "On 1,500 rows" in copied.out
    assert "(30 rows without" in said("labels that are missing").out
