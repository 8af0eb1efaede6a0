"""Columns that moved are named, the change is guessed where it is simple, and nothing is guessed otherwise."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest

from sepc import SEPClassifier, load, save
from sepc.errors import MovedColumnsError
from sepc.lifecycle import Monitor, audit, repair


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


@cache
def started():
    return Monitor(model(), table(800, 8)[0])


def changes(rows):
    """What a monitor says of the columns of these rows."""
    watching = started().fresh()
    watching.update(rows)
    return watching.column_changes()


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


# What becomes of a column of wards of which some are called "missing".
WARDS = {
    "emptied": lambda own: own.mask(own.index >= 0),
    "constant": lambda own: own.mask(own.index >= 0, "missing"),
    "new category": lambda own: own.mask(own.index % 10 < 4),
    "gaps": lambda own: own.mask(own.index % 5 == 0),
    "": lambda own: own,
}


@pytest.mark.parametrize("gaps", [True, False])
def test_a_category_called_missing_is_no_gap(gaps):
    """Whether training has real gaps or not: gaps are gaps, and the category is a category."""
    rows, y = table(600, 0)
    ward = rows["ward"].replace("east", "missing")
    fitted = SEPClassifier().fit(rows.assign(ward=WARDS["gaps"](ward) if gaps else ward), y)
    new, labels = table(400, 31)
    new["ward"] = new["ward"].replace("east", "missing")
    found = {
        what: audit(fitted, new.assign(ward=change(new["ward"])), labels).columns for what, change in WARDS.items()
    }
    assert found["gaps" if gaps else ""] == ()
    for kind in ("emptied", "constant", *([] if gaps else ["new category"])):
        assert [own.kind for own in found[kind]] == [kind]
    assert found["constant"][0].guess.endswith("always missing")
    if not gaps:
        assert "no value, in 40 %" in found["new category"][0].guess


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
    for seed in range(3):
        rows, y = table(500, 40 + seed, share)
        for labels in (y, model().predict(rows)):
            assert not any(own.is_guessed for own in audit(model(), rows, labels).columns)


def test_few_rows_are_not_compared():
    assert changes(table(10, 1)[0] * 1) == ()


def test_the_clearest_window_of_the_latest_rows_is_found():
    (found,) = changes(pd.concat([table(600, 5)[0], table(150, 6)[0].assign(hours=lambda own: own["hours"] * 60.0)]))
    assert (found.name, found.guess) == ("hours", "multiplied by 60")
    assert found.n_rows < 250


def test_recent_rows_are_bounded():
    watching, sizes = started().fresh(), []
    for _ in range(8):
        watching.update(table(700, 7)[0])
        sizes.append(len(pickle.dumps(watching)))
    assert sizes[7] - sizes[3] < sizes[3] - sizes[0]  # four more updates add less than three did


def test_an_alarm_begins_with_the_column_and_keeps_it_in_a_file():
    watching = started().fresh()
    assert watching.update(table(400, 9)[0]) == []
    rows, _ = table(200, 10)
    alarms = watching.update(rows.assign(hours=rows["hours"] * 60.0))
    assert all(str(alarm).startswith("hours moved: ") for alarm in alarms)
    assert "by 60" in watching.summary().splitlines()[0]
    assert "by 60" in watching.to_html()
    assert Monitor.from_bytes(watching.to_bytes(), model()).alarms == watching.alarms
    watching, (rows, _) = started().fresh(), table(25, 10)
    assert watching.update(rows.assign(hours=rows["hours"].clip(upper=36.0))) == []
    assert [own.kind for own in watching.column_changes()] == ["clipped"]
    assert "But hours moved: " in watching.summary()


def test_merged_monitors_name_the_column():
    workers = [started().fresh(), started().fresh()]
    for seed, worker in enumerate(workers):
        rows, _ = table(100, 20 + seed)
        worker.update(rows.assign(hours=rows["hours"] * 60.0))
    merged = started().merge(*workers)
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
    with pytest.raises(MovedColumnsError, match=r"weight moved: .* 2\.54.*despite_moved_columns"):
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
