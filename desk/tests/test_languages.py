from __future__ import annotations

import re

import pytest
from catalogue import german, texts

from sepc_desk.pages.languages import language, preferred
from sepc_desk.pages.rendering import shown_cell, typed_cell

FIELD = re.compile(r"%\(\w+\)s|%%")


def test_every_text_has_a_translation_with_the_same_fields() -> None:
    catalogue = german()
    known = {str(message.id): message for message in catalogue if message.id}
    assert set(known) == set(texts())
    for text, message in known.items():
        assert message.string, text
        assert not message.fuzzy, text
        assert sorted(FIELD.findall(text)) == sorted(FIELD.findall(str(message.string))), text


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr,en;q=0.5,de;q=0.9", "de"),
        ("fr", "en"),
        ("x" * 5000 + ";q=hm,,;", "en"),
    ],
)
def test_the_browser_chooses_the_language(header: str, code: str) -> None:
    assert preferred(header, "en") == code


def test_numbers_and_times_are_those_of_the_language() -> None:
    english, german_ = language("en"), language("de")
    assert (english.number(8120), german_.number(8120)) == ("8,120", "8.120")
    assert (english.number(0.123456, 3), german_.number(0.123456, 3)) == ("0.123", "0,123")
    assert english.number(1234567.8) == "1,234,568"
    assert (english.number(0.99962), german_.number(0.004567)) == ("0.9996", "0,004567")
    assert (english.percent(0.021, 1), german_.percent(0.5)) == ("2.1%", "50\xa0%")
    assert english.time(1_763_456_400_000_000).endswith("UTC")
    assert (english.age(90_000_000_000), german_.age(3_000_000)) == ("25 hours", "3 Sekunden")


def test_cells_as_people_read_and_type_them() -> None:
    english = language("en")
    shown = [shown_cell(value, english) for value in (None, {"date": "2024-02-01T00:00:00"}, True, 1.5, "own")]
    assert shown == ["missing", "2024-02-01", "yes", "1.5", "own"]
    typed = [typed_cell(value) for value in (None, {"date": "2024-02-01T00:00:00"}, True, 1e-300, 2**53 + 1, "own")]
    assert typed == ["", "2024-02-01T00:00:00", "true", "1e-300", "9007199254740993", "own"]
