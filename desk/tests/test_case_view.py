"""What a case page shows, computed: places of values, bars, similar cases, and typed values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sepc
from sample_models import loans, model, save_models

import sepc_desk
from sepc_desk.deciding import Decided
from sepc_desk.errors import RequestError
from sepc_desk.models import Model, ModelFolder
from sepc_desk.pages.case_view import bars_of, telling_columns, values_of
from sepc_desk.pages.forms import chosen_label, typed_values
from sepc_desk.pages.rendering import filled
from sepc_desk.reviewing.feedback import Settled
from sepc_desk.reviewing.usual import Recent
from sepc_desk.rows import Row, typed_row


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    folder = save_models(tmp_path_factory.mktemp("models") / "models", ["loans", "patients", "accounts"])
    return {name: ModelFolder(folder).load(name) for name in ModelFolder(folder).names()}


def _rows(own: Model) -> list[Row]:
    return [typed_row(own.columns, row, i) for i, row in enumerate(model(own.name)[1])]


@pytest.mark.parametrize("name", ["loans", "patients", "accounts"])
def test_values_of_all_kinds_have_a_place(live: dict[str, Model], name: str) -> None:
    own = live[name]
    rows = _rows(own)
    recent = Recent(own, rows, [])
    unusual = 0
    for row in rows:
        for value in values_of(own, row, recent):
            place = value.place
            if value.cell is None:
                assert (value.marker, place.share, place.is_unusual) == (None, None, False)
            elif place.low is not None:
                assert 0 <= value.marker <= 100
                assert (20 <= value.marker <= 80) is (place.low <= place.at <= place.high)
                assert place.is_unusual is not (place.low <= place.at <= place.high)
            else:
                assert 0 < place.share <= 1
            unusual += place.is_unusual
        assert typed_values(own, {f"value:{key}": text for key, text in filled(row).items()}, row) == row
    assert 0 < unusual < 0.12 * len(rows) * len(own.columns)


def test_nothing_is_usual_without_cases(live: dict[str, Model]) -> None:
    own = live["loans"]
    values = values_of(own, _rows(own)[0], Recent(own, [], []))
    assert not any(value.place.is_unusual or value.marker for value in values)


def test_the_most_similar_cases_come_first_and_the_case_itself_does_not(live: dict[str, Model]) -> None:
    own = live["loans"]
    rows = _rows(own)
    settled = [Settled(str(i), row, "paid", "", "refused", 0) for i, row in enumerate(rows)]
    like = Recent(own, rows, settled).like(rows[7], "7")
    assert len(like) == 5
    assert [one.distance for one in like] == sorted(one.distance for one in like)
    assert all(one.row != rows[7] for one in like)
    assert like[0].distance < 0.15


def test_bars_are_as_long_as_their_terms() -> None:
    terms = [(f"t{i}", (-1.0) ** i * i) for i in range(1, 15)]
    bars = bars_of(Decided("paid", True, "ACCEPTED", 0.9, [], 0, terms=terms))
    assert [bar.name for bar in bars][:2] == ["t14", "t13"]
    assert (bars[0].start, bars[0].width) == (50.0, 50.0)
    assert bars[1].start + bars[1].width == 50.0
    assert bars[-1].value == sum(value for _, value in terms[:4])
    assert bars_of(Decided("paid", True, "ACCEPTED", 0.9, [], 0)) == []


def test_columns_that_matter_most_come_first(live: dict[str, Model]) -> None:
    decided = Decided("paid", True, "ACCEPTED", 0.9, [], 0, terms=[("age", -3.0), ("amount", 1.0), ("a rule", 9.0)])
    assert telling_columns(live["loans"], decided)[:2] == ["age", "amount"]


def test_labels_are_those_of_the_model(live: dict[str, Model]) -> None:
    assert chosen_label(live["loans"], '"paid"') == "paid"
    assert chosen_label(live["loans"], "cannot say") is None
    assert chosen_label(live["accounts"], "1") == 1
    for text in ("paid", '"x"', "true", "null", ""):
        with pytest.raises(RequestError, match="does not know"):
            chosen_label(live["accounts"], text)


def test_the_pages_have_the_colours_of_the_report() -> None:
    report = sepc.report(sepc.SEPClassifier().fit(*loans(200)), *loans(200, seed=1)).to_html()
    style = (Path(sepc_desk.__file__).parent / "pages" / "static" / "desk.css").read_text()
    colour = re.compile(r"(--[a-z-]+): (#[0-9a-f]{3,6});")
    own, theirs = colour.findall(style), colour.findall(report)
    assert len(own) > 25
    assert {pair for pair in own if pair[0] != "--on-accent"} - set(theirs) <= {
        ("--ink", "#000"),
        ("--raised", "#fff"),
        ("--quiet", "#333"),
        ("--accent", "#00507d"),
    }
