"""Plain Python instead of NumPy, and what JSON can hold."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from sepc.plain_values import json_fields, json_value, plain


@dataclass
class Inner:
    share: float
    rows: tuple


class Speaks:
    def to_dict(self):
        return {"said": np.float32(0.5)}


@dataclass
class Outer:
    inner: Inner
    more: dict
    own: Speaks


@pytest.mark.parametrize(
    ("value", "expected"),
    [(np.str_("a"), "a"), (np.bool_(True), True), (np.int8(-3), -3), (np.float64(0.1), 0.1), ("a", "a"), (None, None)],
)
def test_values_of_numpy_become_those_of_python(value, expected):
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_records_become_what_json_holds():
    made = json_fields(Outer(Inner(np.nan, (np.int64(1), np.inf)), {3: np.arange(2)}, Speaks()))
    assert made == {"inner": {"share": None, "rows": [1, None]}, "more": {"3": [0, 1]}, "own": {"said": 0.5}}
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_what_json_does_not_know_stays():
    assert json_value([Inner, complex(1, 2)]) == [Inner, complex(1, 2)]
    assert json_value(np.array(["a", np.str_("b")], dtype=object)) == ["a", "b"]
