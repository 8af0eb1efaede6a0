"""Percentages, lists and names: once for all of the library, and never 100 % for less."""

import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_layers import MODULES, SOURCE

from sepc.cards import brief
from sepc.wording import (
    AS_SET,
    calendar_day,
    cases_of,
    check_number,
    columns_of,
    counted,
    deviations,
    did_you_mean,
    floored_percent,
    interval,
    json_value,
    listed,
    log_odds,
    name_of,
    numbers,
    p_in_short,
    percent,
    points,
    printable,
    quantity,
    short,
    shown,
    visible,
    with_counts,
    with_number,
)

# Where else a percentage could be made: a format of Python's own, or a hundredfold.
OWN_PERCENTAGE = re.compile(r"%\}|\b100(?:\.0)?\s*\*|\*\s*100(?:\.0)?\b")
SHARES = st.floats(0.0, 1.0)
DIGITS = st.integers(0, 4)


def number_in(text):
    """The number a percentage names, as a share."""
    return Decimal(re.fullmatch(r"(?:over |under )?(\d+(?:\.\d+)?) %", text)[1]) / 100


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.0, 1, "0 %"),
        (-0.0, 1, "0 %"),
        (1e-9, 1, "under 0.1 %"),
        (0.001, 1, "0.1 %"),
        (0.667, 1, "66.7 %"),
        (0.9996, 1, "over 99.9 %"),
        (1.0, 1, "100 %"),
        (np.float32(0.5), 1, "50 %"),
        (1.0004, 1, "over 100 %"),
        (2.345e30, 1, f"2345{'0' * 29} %"),
        (float("nan"), 1, "nan %"),
        (0.874, 0, "87 %"),
        (0.996, 0, "over 99 %"),
        (0.004, 0, "under 1 %"),
        (0.99996, 2, "over 99.99 %"),
        (0.99999, AS_SET, "99.999 %"),
        (0.00002, AS_SET, "0.002 %"),
        (0.1 + 0.2, AS_SET, "30 %"),
    ],
)
def test_percentages_by_hand(share, digits, text):
    assert percent(share, digits) == text
    assert digits != 1 or percent(share) == text


@given(SHARES, DIGITS)
@example(np.nextafter(1.0, 0.0), 0)
@example(5e-324, 4)
def test_only_all_is_all_and_only_nothing_is_nothing(share, digits):
    text = percent(share, digits)
    assert (text == "100 %") == (share == 1.0)
    assert (text == "0 %") == (share == 0.0)
    exact, number = Decimal(share), number_in(text)
    if text.startswith("over"):
        assert number < exact
    elif text.startswith("under"):
        assert number > exact
    else:
        assert abs(number - exact) <= Decimal("0.005") / 10**digits + Decimal("1e-15")


@given(SHARES, DIGITS)
def test_a_floored_percentage_never_says_more(share, digits):
    text = floored_percent(share, digits)
    assert (text == "100 %") == (share == 1.0)
    assert 0 <= Decimal(repr(share)) - number_in(text) < Decimal("0.01") / 10**digits


@given(SHARES, SHARES, DIGITS)
def test_an_interval_holds_its_ends(one_end, other_end, digits):
    low, high = sorted((one_end, other_end))
    first, last = interval(low, high, digits).split(" to ")
    assert first.startswith("under") or number_in(first) <= Decimal(repr(low))
    assert last.startswith("over") or number_in(last) >= Decimal(repr(high))
    assert (first == "0 %") == (low == 0.0)
    assert (last == "100 %") == (high == 1.0)


def test_no_other_module_makes_percentages():
    for path in set(MODULES) - {SOURCE / "wording.py"}:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not OWN_PERCENTAGE.search(line), f"{path}:{number} makes a percentage; use sepc.wording.percent."


def test_counts_lists_and_names():
    assert [counted(n, "row") for n in (0, 1, 2, 1200)] == ["0 rows", "1 row", "2 rows", "1,200 rows"]
    assert counted(3, "class", "classes") == "3 classes"
    assert [listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed((str(i) for i in range(2000)), most=2) == "0, 1 and 1,998 more"
    assert [listed("abc", most=n) for n in (1, 2, 3)] == ["a and 2 more", "a, b and 1 more", "a, b and c"]
    assert with_counts(np.array(["a", "b"]), np.array([1, 2000])) == "a (1), b (2,000)"
    assert with_counts(range(20), range(20)).endswith("5 (5), … 14 more")
    assert [shown(label) for label in (np.str_("a"), np.int64(2), np.bool_(True), 0.5)] == ["'a'", "2", "True", "0.5"]
    assert visible("a\u2028b\x9b") == "a b\\x9b"
    assert short("x" * 100, 9) == "xxxx…xxxx"
    assert name_of(np.str_("two\nlines" + "x" * 100)) == f"two lines{'x' * 31}…{'x' * 39}"
    assert (name_of(np.int64(2020)), columns_of("漢字 e\u0301")) == ("2020", 6)
    assert floored_percent(0.57) == "57 %"  # 1000 * 0.57 is 569.9999999999999
    assert floored_percent(0.97299) == "97.2 %"


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ([points(0.0612), points(-0.02)], ["+6.1", "-2.0"]),
        ([interval(0.97299, 0.9996), interval(0.0, 0.03101)], ["97.2 % to over 99.9 %", "0 % to 3.2 %"]),
        (did_you_mean(["Glucose", "heigth", "ward"], ["glucose", "height"]), " Did you mean 'glucose' and 'height'?"),
        (printable("one\ntwo, \x1b[31mred"), "one\ntwo, \\x1b[31mred"),
        ([numbers([0.5, 2.0]), numbers(range(30))], ["(0.5, 2)", "(0, 1, 2, 3, … 26 more)"]),
        ([with_number("a", 3), with_number("a (b)", 3)], ["a (region 3)", "a (b; region 3)"]),
        ([p_in_short(0.03), p_in_short(0.03, "= "), p_in_short(1e-12, "= ")], ["0.03", "= 0.03", "< 0.0001"]),
        ([log_odds(value) for value in (1.25, -0.04, 0.001, -0.0)], ["+1.2", "-0.04", "0.0", "0.0"]),
        ([deviations(1.0), deviations(1.4142)], ["1 deviation", "1.41 deviations"]),
        ([quantity(value) for value in (1020.0, 1234.56, 33.514, 0.13472)], ["1,020", "1,235", "33.5", "0.135"]),
        ([quantity(value) for value in (-2e-9, 3e17)], ["-2e-09", "3e+17"]),
        (calendar_day(20_000.4), "2024-10-04"),
        ([cases_of("benign"), cases_of(3, " like it")], ["benign cases", "cases of 3 like it"]),
        ([brief(np.eye(30)), brief(np.array([0.5, 2.0])), brief(("a",))], ["(30, 30) array", "[0.5, 2]", "('a',)"]),
    ],
)
def test_numbers_and_phrases_by_hand(made, text):
    assert made == text


def test_values_for_json_and_limits_of_numbers():
    assert json_value({"trust": np.array([0.5, np.nan]), 3: ("a", np.int64(1))}) == {
        "trust": [0.5, None],
        "3": ["a", 1],
    }
    with pytest.raises(ValueError, match=r"max_risk is the text '0.02'; it must be a number above 0 and below 1."):
        check_number("max_risk", "0.02", above=0, below=1)
