"""Columns that moved are named, the change is guessed where it is simple, and nothing is guessed otherwise."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from sepc import MovedColumnsError, SEPClassifier, load, save
from sepc.lifecycle import Monitor, audit, repair
from sepc.lifecycle.column_changes.column_rows import column_rows
from sepc.lifecycle.column_changes.comparing import column_changes, latest_changes
from sepc.lifecycle.column_changes.recent_rows import MOST_ROWS, RecentRows


def table(n, seed, share=0.5):
    """Rows of two classes: weights and hours by class, a temperature, a count and a ward."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    rows = pd.DataFrame(
        {
            "weight": np.where(y, rng.normal(82.0, 12.0, n), rng.normal(68.0, 10.0, n)),
            "hours": np.where(y, rng.gamma(20.0, 2.0, n), rng.gamma(12.0, 2.5, n)).round() + 1.0,
            "temperature": rng.normal(36.9, 0.5, n) + 0.3 * y,
            "score": rng.normal(5.0, 1.0, n),
            "ward": rng.choice(["north", "south", "east"], size=n, p=[0.6, 0.3, 0.1]),
        }
    )
    return rows, np.where(y, "ill", "well")


@cache
def model():
    return SEPClassifier().fit(*table(800, 0))


def changes(rows, labels=None):
    return column_changes(column_rows(model().decide(rows), rows, labels))


PLANTED = {
    "by 60": ("hours", "factor", lambda own: own * 60.0),
    "by 1,000": ("weight", "factor", lambda own: own * 1000.0),
    "by 2.54": ("weight", "factor", lambda own: own * 2.54),
    "by 0.4536": ("weight", "factor", lambda own: own * 0.45359237),
    "by a factor in no list": ("hours", "factor", lambda own: own * 5.3),
    "shift": ("weight", "shift", lambda own: own + 30.0),
    "Fahrenheit": ("temperature", "fahrenheit", lambda own: own * 1.8 + 32.0),
    "sign": ("score", "sign", lambda own: -own),
    "emptied": ("score", "emptied", lambda own: own * np.nan),
    "constant": ("hours", "constant", lambda own: own * 0.0 + 40.0),
    "rounded": ("weight", "rounded", lambda own: (own / 10.0).round() * 10.0),
    "clipped above": ("hours", "clipped", lambda own: own.clip(upper=36.0)),
    "clipped below": ("weight", "clipped", lambda own: own.clip(lower=72.0)),
    "new category": ("ward", "new category", lambda own: own.where(own.index % 4 > 0, "west")),
    "renamed": ("ward", "renamed", lambda own: own.str.upper()),
    "emptied categories": ("ward", "emptied", lambda own: own.where(own == "")),
    "one category": ("ward", "constant", lambda own: own.where(own == "south", "south")),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_change_is_guessed_and_told_in_words(what):
    name, kind, change = PLANTED[what]
    rows, _ = table(500, 1)
    found = changes(rows.assign(**{name: change(rows[name])}))
    assert [(own.name, own.kind) for own in found] == [(name, kind)]
    assert str(found[0]).startswith(f"{name} moved: ")
    assert found[0].guess in str(found[0])
    assert found[0].evidence in str(found[0])
    assert found[0].after < 0.12


@cache
def with_missing(is_given):
    """A model of wards of which some are called "missing", and some are real gaps if `is_given`."""
    rows, y = table(600, 0)
    wards = rows["ward"].replace("east", "missing").mask(rows.index % 5 == 0 if is_given else rows.index < 0)
    return SEPClassifier().fit(rows.assign(ward=wards), y)


def told_missing(ward, is_given):
    fitted = with_missing(is_given)
    new = table(400, 31)[0]
    new = new.assign(ward=ward(new["ward"].replace("east", "missing"), new.index))
    return column_changes(column_rows(fitted.decide(new), new))


def emptied(own, index):
    return own.mask(index >= 0)


def with_gaps(own, index):
    return own.mask(index % 5 == 0)


def always_missing(own, index):
    return own.mask(index >= 0, "missing")


def partly_empty(own, index):
    return own.mask(index % 10 < 4)


@pytest.mark.parametrize("is_given", [True, False])
def test_a_category_called_missing_is_no_gap(is_given):
    """Whatever training has: gaps are gaps, and the category is a category."""
    usual = with_gaps if is_given else lambda own, index: own
    assert told_missing(usual, is_given) == ()
    assert [own.kind for own in told_missing(emptied, is_given)] == ["emptied"]
    (constant,) = told_missing(always_missing, is_given)
    assert (constant.kind, constant.guess) == ("constant", "constant: always missing")
    (gaps,) = told_missing(partly_empty, False)
    assert gaps.guess == "a new category, no value, in 40 % of the rows"


def test_two_columns_swapped_name_one_another():
    rows, _ = table(500, 2)
    found = changes(rows.assign(weight=rows["hours"], hours=rows["weight"]))
    assert {(own.name, own.kind, own.detail) for own in found} == {
        ("weight", "swapped", "hours"),
        ("hours", "swapped", "weight"),
    }


def test_the_guess_says_how_much():
    rows, _ = table(500, 3)
    (factor,) = changes(rows.assign(hours=rows["hours"] * 60.0))
    assert factor.guess == "multiplied by 60"
    assert factor.evidence.startswith("divided by 60 it is like training (distance 0.0")
    (divided,) = changes(rows.assign(weight=rows["weight"] / 1000.0))
    assert divided.guess == "divided by 1,000"
    (shift,) = changes(rows.assign(weight=rows["weight"] - 30.0))
    assert shift.amount == pytest.approx(-30.0, abs=2.0)
    (renamed,) = changes(rows.assign(ward=rows["ward"].str.upper()))
    assert renamed.detail == "north is now NORTH, south is now SOUTH and east is now EAST"


def test_a_change_of_the_shape_is_told_without_a_guess():
    rows, _ = table(500, 4)
    rng = np.random.default_rng(0)
    (found,) = changes(rows.assign(score=rng.choice([3.0, 5.0, 7.5], size=500) + rng.normal(0.0, 0.1, 500)))
    assert (found.name, found.kind, found.guess, found.evidence) == ("score", "unknown", "", "")


def test_nothing_moves_without_a_change():
    assert [changes(table(300, seed)[0]) for seed in range(10, 30)] == [()] * 20


@pytest.mark.parametrize("share", [0.05, 0.95])
def test_another_class_mix_is_no_guess(share):
    for seed in range(5):
        rows, y = table(500, 40 + seed, share)
        assert not any(own.is_guessed for own in (*changes(rows), *changes(rows, y)))


def test_few_rows_and_models_without_what_is_usual_are_not_compared():
    assert changes(table(10, 1)[0] * 1) == ()
    assert column_changes(None) == latest_changes(None) == ()


def test_the_clearest_window_of_the_latest_rows_is_found():
    rows = pd.concat([table(600, 5)[0], table(150, 6)[0].assign(hours=lambda own: own["hours"] * 60.0)])
    found = latest_changes(column_rows(model().decide(rows), rows))
    assert [(own.name, own.guess) for own in found] == [("hours", "multiplied by 60")]
    assert found[0].n_rows < 250


def test_recent_rows_are_bounded():
    recent = RecentRows()
    rows, _ = table(700, 7)
    for _ in range(5):
        recent = recent.add(column_rows(model().decide(rows), rows))
    assert len(recent.batches) == 3
    assert len(recent.together()) == MOST_ROWS
    assert RecentRows().add(None).together() is None


def test_an_alarm_begins_with_the_column_and_keeps_it_in_a_file():
    watching = Monitor(model(), table(800, 8)[0])
    assert watching.update(table(400, 9)[0]) == []
    rows, _ = table(200, 10)
    alarms = watching.update(rows.assign(hours=rows["hours"] * 60.0))
    assert all(str(alarm).startswith("hours moved: ") for alarm in alarms)
    assert "Probably multiplied by 60" in watching.summary().splitlines()[0]
    assert "multiplied by 60" in watching.to_html()
    assert Monitor.from_bytes(watching.to_bytes(), model()).alarms == watching.alarms


def test_a_change_without_an_alarm_is_in_the_summary():
    watching = Monitor(model(), table(800, 8)[0])
    rows, _ = table(25, 10)
    assert watching.update(rows.assign(hours=rows["hours"].clip(upper=36.0))) == []
    assert [own.kind for own in watching.column_changes()] == ["clipped"]
    assert watching.summary().startswith("No alarm after 25 rows. But hours moved: ")


def test_merged_monitors_name_the_column():
    start = Monitor(model(), table(800, 8)[0])
    workers = [start.fresh(), start.fresh()]
    for seed, worker in enumerate(workers):
        rows, _ = table(100, 20 + seed)
        worker.update(rows.assign(hours=rows["hours"] * 60.0))
    merged = start.merge(*workers)
    assert merged.alarms[0].columns[0].guess == "multiplied by 60"


def test_an_audit_begins_with_the_column(tmp_path):
    save(model(), tmp_path / "model.sepc")
    rows, y = table(600, 11)
    found = audit(load(tmp_path / "model.sepc"), rows.assign(weight=rows["weight"] * 2.2046226218), y)
    assert found.columns[0].guess == "multiplied by 2.205"
    assert found.summary().startswith("weight moved: ")
    assert audit(model(), rows, y).columns == ()


def test_a_repair_of_moved_columns_stops_and_goes_on_when_told_to():
    rows, y = table(600, 12)
    moved = rows.assign(weight=rows["weight"] * 2.54)
    with pytest.raises(
        MovedColumnsError, match=r"weight moved: .* Probably multiplied by 2\.54.*despite_moved_columns"
    ):
        repair(model(), moved, y)
    told = repair(model(), moved, y, regions=[], despite_moved_columns=True)
    assert (told.predict(moved) == model().predict(moved)).all()
    assert (repair(model(), rows, y, regions=[]).predict(rows) == model().predict(rows)).all()


def whole_numbers(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return pd.DataFrame({"a": rng.integers(1, 6, n) + 2 * y, "b": rng.integers(0, 4, n)}).astype(float), y


def test_a_move_of_a_size_that_does_not_matter_stops_no_repair():
    fitted = SEPClassifier().fit(*whole_numbers(1500, 0))
    rows, y = whole_numbers(1500, 1)
    assert audit(fitted, rows + 0.001, y).columns == ()
    repair(fitted, rows + 0.001, y, regions=[])
    moved = audit(fitted, rows.assign(a=rows["a"] + 0.5), y).columns
    assert [own.name for own in moved] == ["a"]
    with pytest.raises(MovedColumnsError, match=r"a moved: median .* deviations\)"):
        repair(fitted, rows.assign(a=rows["a"] + 2.0), y, regions=[])


@pytest.mark.slow
def test_two_hundred_streams_without_a_change_give_no_guess():
    for seed in range(1000, 1200):
        assert not any(own.is_guessed for own in changes(table(400, seed)[0]))
