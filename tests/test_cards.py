"""A card is short and clean whatever it is given, as text and as HTML."""

from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sepc.cards import MOST_COLUMNS, MOST_LINES, Card, ShownAsCard, ShownInLists, ShownOnOneLine, brief
from sepc.wording import decimal

HOSTILE = [
    "two\nlines",
    "\x1b[31mred",
    "x" * 10_000,
    "<script>alert(1)</script>",
    "👩‍👩‍👧‍👦" * 50,
    "\u202eright to left",
    "日本語" * 40,
]


class Tags(HTMLParser):
    """Follows the tags of a page: all are closed in order, and none loads or runs anything."""

    def __init__(self, page):
        super().__init__()
        self.open, self.words = [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in {"div", "table", "tbody", "tr", "td", "th"}
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data.replace("\u00a0", " "))


def table(n_rows, n_facts=1, note=""):
    facts = tuple((f"fact {i}", str(i)) for i in range(n_facts))
    return Card("Title", facts, ("row", "name"), tuple((str(i), "name") for i in range(n_rows)), note)


@given(st.one_of(st.integers(0, 20), st.just(1000)), st.one_of(st.integers(0, 20), st.just(40)), st.booleans())
def test_a_card_has_at_most_fifteen_lines(n_rows, n_facts, has_note):
    note = "see .rows" if has_note else ""
    text = table(n_rows, n_facts, note).text()
    assert len(text.splitlines()) <= MOST_LINES
    assert note in text
    assert not text.endswith("\n")


def test_what_is_left_out_is_said():
    assert table(1000).text().splitlines()[-2:] == ["    9  name", "  … 990 more"]
    assert table(1000, note="see .rows").text().splitlines()[-1] == "  … 990 more. see .rows"
    assert table(0, n_facts=40).text().splitlines()[-1] == "  …        27 more"
    assert Card("One", (("fact", "1"),)).text() == "One\n  fact  1"
    assert Card("One", note="More in .rows").text() == "One\n  More in .rows"


def test_numbers_stand_on_the_right_and_text_on_the_left():
    head = ("n", "share", "label", "mixed")
    rows = (("7", "above 99.9 %", "a", "1"), ("1,234", "5.0 %", "long", "no"), ("-2", "nan", "", "3"))
    assert Card("T", (), head, rows).text().splitlines()[1:] == [
        "      n         share  label  mixed",
        "      7  above 99.9 %  a      1",
        "  1,234         5.0 %  long   no",
        "     -2           nan         3",
    ]
    assert Card("T", (), head, rows).html().count("text-align:right") == 2 * 4
    lines = Card("T", (), ("name", "n"), (("日本", "1"), ("ab", "2"))).text().splitlines()
    assert lines[1:] == ["  name  n", "  日本  1", "  ab    2"]


def test_a_table_too_wide_loses_width_before_columns():
    cells = tuple("x" * 40 for _ in range(4))
    lines = Card("T", (), tuple("abcd"), (cells,)).text().splitlines()
    assert all(len(line) <= MOST_COLUMNS for line in lines)
    assert lines[1].split() == list("abcd")
    many = Card("T", (), tuple(map(str, range(40))), (tuple("x" * 40 for _ in range(40)),)).text().splitlines()
    assert all(len(line) <= MOST_COLUMNS for line in many)


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:12]))
def test_hostile_names_do_no_harm(name):
    card = Card(name, ((name, name), ("fine", "1")), (name, "n"), ((name, "1"), ("a", "2")), name)
    lines = card.text().splitlines()
    assert len(lines) == 8
    assert all(len(line) <= MOST_COLUMNS for line in lines)
    assert "\x1b" not in card.text()
    assert "\u202e" not in card.text()
    page = card.html()
    assert "<script" not in page
    assert len(page) < 10_000
    assert "1" in Tags(page).words


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=16), st.text(), st.text())
def test_any_text_makes_a_card(facts, title, note):
    card = Card(title, tuple(facts), ("a", "b"), tuple(facts), note)
    assert len(card.text().splitlines()) <= MOST_LINES
    Tags(card.html())


def test_html_says_what_the_text_says():
    card = table(1000, n_facts=3, note="see .rows")
    words = Tags(card.html()).words
    assert words[:3] == ["Title", "fact 0", "0"]
    assert words[-1] == "… 992 more. see .rows"
    assert [word for line in card.text().splitlines() for word in line.split()] == " ".join(words).split()


def test_an_object_shows_its_card_and_its_title_in_a_list():
    class Listed(ShownInLists):
        def _card(self):
            return Card("two\nlines " + "x" * 1000, (("n", "1"),))

    @dataclass(frozen=True, repr=False)
    class Shown(ShownAsCard):
        n: int

        def _card(self):
            return Card("Shown", (("n", str(self.n)),))

    assert repr(Shown(3)) == str(Shown(3)) == "Shown\n  n  3"
    assert Tags(Shown(3)._repr_html_()).words == ["Shown", "n", "3"]
    with pytest.raises(NotImplementedError):
        repr(ShownAsCard())
    text = repr([Listed(), Listed()])
    assert text.startswith("[<two lines xxx")
    assert (len(text.splitlines()), len(text) < 300) == (1, True)
    assert "n" in Tags(Listed()._repr_html_()).words


def test_arrays_on_one_line_are_told_by_their_shape():
    @dataclass(frozen=True, eq=False, repr=False)
    class Solved(ShownOnOneLine):
        root: object
        center: object
        gap: object = np.float64(1e-9)
        owner: object = None

    assert repr(Solved(np.eye(3), np.array([1.0, 0.5]), owner=Solved(1, 2))) == (
        "Solved(root=(3, 3) array, center=[1, 0.5], gap=1e-09, owner=<Solved>)"
    )
    assert brief(["a", np.str_("b"), True, None]) == "['a', 'b', True, None]"
    assert brief((1.5,)) == "(1.5,)"
    assert brief(tuple(range(1000))) == "1,000 items"
    assert brief(np.array(2.5)) == "2.5"
    assert brief("two\nlines") == r"'two\nlines'"
    assert len(brief("x" * 1000)) < 50


def test_only_one_is_one_and_only_nothing_is_nothing():
    texts = [decimal(value) for value in (0.0, 1e-9, 0.875, 0.99999, 1.0)]
    assert texts == ["0.000", "< 0.001", "0.875", "> 0.999", "1.000"]
