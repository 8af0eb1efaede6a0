from __future__ import annotations

import math
import struct

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_models import NAMES, model, served

from sepc_desk.columns import Column, Kind
from sepc_desk.deciding import decide_rows
from sepc_desk.errors import RequestError
from sepc_desk.rows import frame_of, typed_row

NUMBER = Column("age", Kind.NUMBER)
CATEGORY = Column("ward", Kind.CATEGORY)
DATE = Column("since", Kind.DATE)
TEXT = Column("amount", Kind.TEXT)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none())
@settings(derandomize=True, max_examples=300)
def test_the_log_keeps_numbers_to_the_last_bit(value: object) -> None:
    row = typed_row([NUMBER, CATEGORY], orjson.loads(orjson.dumps({"age": value, "ward": value})), 0)
    again = orjson.loads(orjson.dumps(row))
    assert type(again["ward"]) is type(value)
    if isinstance(value, float):
        assert struct.pack("d", again["ward"]) == struct.pack("d", value)
    else:
        assert again["ward"] == value


@given(st.text(max_size=50))
@settings(derandomize=True, max_examples=200)
def test_the_log_keeps_text(value: str) -> None:
    try:
        sent = orjson.dumps({"ward": value, "amount": value})
    except orjson.JSONEncodeError:
        return  # lone surrogates are not text
    row = typed_row([CATEGORY, TEXT], orjson.loads(sent), 0)
    assert orjson.loads(orjson.dumps(row)) == {"ward": value, "amount": value}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2024-02-01", "2024-02-01T00:00:00"),
        ("2024-02-01T09:30:00.123456", "2024-02-01T09:30:00.123456"),
        ("2024-02-01T09:30:00+02:00", "2024-02-01T07:30:00"),
        ("2024-02-01T09:30:00Z", "2024-02-01T09:30:00"),
        ("0001-01-01", "0001-01-01T00:00:00"),
    ],
)
def test_dates_are_kept_as_iso_text_in_utc(given: str, kept: str) -> None:
    row = typed_row([DATE], {"since": given}, 0)
    assert row == {"since": {"date": kept}}
    assert frame_of([DATE], [row])["since"][0] == np.datetime64(kept, "us")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (NUMBER, "old", "Column 'age' holds numbers, and row 3 has 'old'. Send a number or null."),
        (NUMBER, [1], "Column 'age' holds numbers, and row 3 has a list."),
        (NUMBER, math.inf, "row 3 has inf"),
        (NUMBER, 2**63, "row 3 has 9223372036854775808"),
        (CATEGORY, {"a": 1}, "Column 'ward' holds categories, and row 3 has an object."),
        (CATEGORY, "x" * 10_001, "longer than 10,000 characters"),
        (DATE, "yesterday", 'Send a date as text, such as "2024-02-01"'),
        (DATE, 20240201, "Column 'since' holds dates, and row 3 has 20240201."),
        (DATE, "0001-01-01T00:00:00+14:00", "Column 'since' holds dates"),
    ],
)
def test_errors_name_the_column_the_row_and_what_to_send(column: Column, value: object, message: str) -> None:
    with pytest.raises(RequestError) as error:
        typed_row([column], {column.name: value}, 3)
    assert message in str(error.value)
    assert (error.value.status, error.value.column, error.value.row) == (422, column.name, 3)


def test_a_missing_column_is_named_with_what_may_be_meant() -> None:
    with pytest.raises(RequestError, match="Row 0 has no column 'mean radius'.*It has 'Mean_Radius'; did you mean"):
        typed_row([Column("mean radius", Kind.NUMBER)], {"Mean_Radius": 1.0}, 0)
    with pytest.raises(RequestError, match="Row 2 is 5; send an object"):
        typed_row([NUMBER], 5, 2)
    assert typed_row([NUMBER, Column("group", Kind.CATEGORY, is_needed=False)], {"age": 1, "bed": 4}, 0) == {"age": 1}


@pytest.mark.parametrize("name", NAMES)
def test_rows_decided_together_are_decided_as_if_alone(name: str) -> None:
    version, rows = served(name), model(name)[1]
    typed = [typed_row(version.columns, row, i) for i, row in enumerate(rows[:40])]
    together = decide_rows(version, typed)
    assert together == [decide_rows(version, [row])[0] for row in typed[:12]] + decide_rows(version, typed[12:])
