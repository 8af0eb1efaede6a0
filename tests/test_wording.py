"""Percentages, lists and names: once for all of the library, and never 100 % for less."""

import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_layers import MODULES, SOURCE

from sepc.wording import (
    AS_SET,
    columns_of,
    counted,
    floored_percent,
    interval,
    listed,
    name_of,
    percent,
    short,
    shown,
    visible,
    with_counts,
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
