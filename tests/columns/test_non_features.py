"""Ids are found whatever the order of the rows, and nothing is taken for one that a person would keep."""

import uuid

import numpy as np
import pytest
from optional import package_or_skip

from sepc.columns.kinds import Kind, guess_non_feature, kinds_of

pd = package_or_skip("pandas")

RNG = np.random.default_rng(0)
N = 600


def why(values):
    (column,) = kinds_of(pd.DataFrame({"it": values}), (), ())
    return column.why


@pytest.mark.parametrize(("share", "kind"), [(0.5, int), (0.6, float), (0.8, str), (1.0, int), (1.0, str)])
def test_whole_numbers_that_fill_most_of_a_range_are_an_id_in_any_order(share, kind):
    numbers = np.random.default_rng(1).permutation(np.arange(1000, 2000))[: int(1000 * share)]
    assert why(numbers.astype(kind)) == ("an index" if share == 1.0 and kind is not str else "an id")


def drawn(n, share):
    """So many different whole numbers that fill this share of their range."""
    inner = np.random.default_rng(1).permutation(np.arange(1, round(n / share) - 1))[: n - 2]
    return 5000 + np.array([0, *inner, round(n / share) - 1])


@pytest.mark.parametrize(
    ("n", "share", "seems"),
    [
        (600, 0.42, "an id"),
        (600, 0.38, ""),
        (100, 0.42, "an id"),
        (99, 0.9, ""),  # too few for an id, and too many gaps for an index
        (99, 0.97, "an index"),
        (20, 1.0, "an index"),
        (19, 1.0, ""),
    ],
)
def test_how_many_rows_and_how_full_a_range_it_takes(n, share, seems):
    assert why(drawn(n, share)) == seems


@pytest.mark.parametrize(
    ("n_different", "text", "seems"),
    [
        (320, "came {} times and left", "free text"),
        (280, "came {} times and left", ""),
        (550, "K-{:05}", "an id"),
        (530, "K-{:05}", ""),
    ],
)
def test_how_many_different_texts_it_takes(n_different, text, seems):
    assert why([text.format(i % n_different) for i in range(N)]) == seems


IDS = {
    "uuid": [str(uuid.UUID(int=int(i))) for i in RNG.integers(0, 2**60, N)],
    "hex": [f"{i:012x}" for i in RNG.integers(0, 2**47, N)],
    "counter": [f"K-{i:05}" for i in RNG.permutation(N)],
    "a few twice": [f"K-{max(i, 20):05}" for i in RNG.permutation(N)],
    "digits": [f"{i:06}" for i in RNG.permutation(N)],
}


def test_codes_that_hardly_repeat_are_an_id_and_other_text_is_free_text():
    assert {name: why(values) for name, values in IDS.items()} == dict.fromkeys(IDS, "an id")
    names = [f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}son" for i in range(N)]
    assert why([*names, names[0]]) == "free text"
    notes = [f"came {i} times and left" for i in range(6_000)]
    assert why([*notes, *notes[:3]]) == "free text"


KEPT = {
    "amount": np.round(RNG.lognormal(7, 1, N)),
    "price": RNG.lognormal(7, 1, N).round(2),
    "weight of a person in a census": RNG.integers(12_000, 1_500_000, N),
    "year": RNG.integers(1950, 2024, N),
    "a row a year": np.arange(1880, 2020),
    "age": RNG.integers(0, 100, N),
    "seconds since 1970": 1_700_000_000 + np.sort(RNG.permutation(1000)[:N]),
    "a step of ten": np.arange(N) * 10,
    "a step of two": RNG.permutation(np.arange(0, 2 * N, 2)),
    "some missing": np.where(np.arange(N) % 9 == 0, np.nan, np.arange(N)),
    "one value twice": np.maximum(np.arange(N), 1),
    "few rows": RNG.permutation(np.arange(100))[:60],
    "category": RNG.choice([f"K-{i:05}" for i in range(300)], N),
}


def test_what_a_person_would_keep_is_kept_and_times_that_may_number_the_rows_are_in_doubt():
    assert {name: why(values) for name, values in KEPT.items()} == dict.fromkeys(KEPT, "")
    for name in ("a row a year", "seconds since 1970"):
        (column,) = kinds_of(pd.DataFrame({"it": KEPT[name]}), (), ())
        assert column.kind is Kind.NUMBER
        assert "may be times" in column.seen
        assert column.doubt


def test_whole_numbers_beyond_doubles_are_ids_or_in_doubt():
    ids = RNG.integers(2**62, 2**63 - 1, N)
    nanoseconds = 1_700_000_000_000_000_000 + RNG.integers(0, 10**15, N)
    table = pd.DataFrame(
        {"id": ids, "customer": RNG.choice(ids[:40], N), "at": nanoseconds, "x": RNG.random(N) * 1e300}
    )
    columns = kinds_of(table, (), ())
    assert [own.why for own in columns] == ["an id", "", "", ""]
    assert "they may be ids" in columns[1].seen
    assert "categorical_features" in columns[1].doubt
    assert "nanoseconds since 1970" in columns[2].seen
    assert columns[3].doubt == ""
    assert [own.why for own in kinds_of(table, ["id"], ["customer"])] == [""] * 4


def test_a_sample_shows_ids_but_no_constants():
    ids = np.random.default_rng(2).permutation(np.arange(100_000.0))[:4_000]
    assert guess_non_feature(ids).why == ""
    assert guess_non_feature(ids, share=0.04).why == "an id"
    assert (
        guess_non_feature(np.zeros(500), share=0.04).why
        == guess_non_feature(np.full(500, np.nan), share=0.04).why
        == ""
    )
    assert guess_non_feature(np.zeros(500)).why == "a constant"


def test_a_column_of_lists_is_refused_in_words():
    table = pd.DataFrame({"tags": [["a", "b"], ["c"]] * 20})
    with pytest.raises(ValueError, match="lists"):
        kinds_of(table, (), ())
