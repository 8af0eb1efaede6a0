import hashlib
import struct

import numpy as np
import pytest

from sepc.points.in_memory import BlockPoints
from sepc.points.joint_reduction import reduce_each_with
from sepc.points.row_digest import RowDigest, add_sums, as_text, digest_of_rows


def some_rows(n=10_000, d=3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(0, 2, size=n)


LABELS = np.array(["no", "yes"])


def test_blocks_by_class_give_the_digest_of_the_rows_in_memory():
    rows, which = some_rows()
    sums = []
    for k, label in enumerate(LABELS):
        mine = rows[which == k]
        points = BlockPoints([mine[:7], mine[7:7], mine[7:5000], mine[5000:]])
        sums.append(points.reduce(RowDigest(label)))
    assert as_text(add_sums(sums)) == digest_of_rows(rows, LABELS, which)
    assert reduce_each_with([BlockPoints([rows])], [RowDigest("no")]) == [add_sums([RowDigest("no").map(rows)])]


def test_the_order_of_rows_and_the_memory_layout_do_not_matter():
    rows, which = some_rows()
    digest, order = digest_of_rows(rows, LABELS, which), np.random.default_rng(1).permutation(len(rows))
    assert digest_of_rows(rows[order], LABELS, which[order]) == digest
    assert digest_of_rows(np.asfortranarray(rows), LABELS, which) == digest


def changed(rows, which, change):
    rows, which = rows.copy(), which.copy()
    match change:
        case "one value, by the last bit":
            rows[17, 1] = np.nextafter(rows[17, 1], np.inf)
        case "one label":
            which[17] = 1 - which[17]
        case "two labels swapped":
            i, j = np.flatnonzero(which == 0)[0], np.flatnonzero(which == 1)[0]
            which[[i, j]] = which[[j, i]]
        case "a row twice":
            return np.concatenate([rows, rows[:1]]), np.append(which, which[0])
        case "a row less":
            return rows[1:], which[1:]
        case "two columns of a row swapped":
            rows[17, [0, 1]] = rows[17, [1, 0]]
        case "values of a column moved to other rows":
            rows[:2, 0] = rows[1::-1, 0]
        case "signs of two columns":
            rows[17, :2] *= -1
        case "a missing value":
            rows[17, 0] = np.nan
    return rows, which


@pytest.mark.parametrize(
    "change",
    [
        "one value, by the last bit",
        "one label",
        "two labels swapped",
        "a row twice",
        "a row less",
        "two columns of a row swapped",
        "values of a column moved to other rows",
        "signs of two columns",
        "a missing value",
    ],
)
def test_any_change_of_the_rows_changes_the_digest(change):
    rows, which = some_rows()
    other = changed(rows, which, change)
    assert digest_of_rows(other[0], LABELS, other[1]) != digest_of_rows(rows, LABELS, which)


def test_all_missing_values_and_both_zeros_are_equal():
    rows, which = np.array([[np.nan, 0.0], [1.0, 2.0]]), np.array([0, 1])
    other = rows.copy()
    other[0] = -np.frombuffer(np.uint64(0x7FF8000000000001).tobytes(), dtype=np.float64)[0], -0.0
    assert digest_of_rows(other, LABELS, which) == digest_of_rows(rows, LABELS, which)


def test_labels_count_by_their_value_and_type():
    rows, which = some_rows(100)
    digest = digest_of_rows(rows, np.array([0, 1]), which)
    assert digest_of_rows(rows, np.array([0, 1], dtype=np.int8), which) == digest
    assert digest_of_rows(rows, np.array(["0", "1"]), which) != digest
    assert digest_of_rows(rows, np.array(["0", "1"], dtype=object), which) == digest_of_rows(
        rows, np.array(["0", "1"]), which
    )


def step(h):
    """A step of splitmix64, as docs/reference/format.md describes it."""
    h = (h + 0x9E3779B97F4A7C15) % 2**64
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    h = (h ^ h >> 27) * 0x94D049BB133111EB % 2**64
    return h ^ h >> 31


def digest_by_the_page(rows, labels):
    sums = [0, 0]
    for row, label in zip(rows, labels, strict=True):
        h = step(0x53455043)
        for value in row:
            bits = 0x7FF8000000000000 if np.isnan(value) else struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]
            h = step(h ^ bits)
        key = hashlib.blake2b(f"sepc rows 1 {label!r}".encode(), digest_size=8).digest()
        h = step(h ^ int.from_bytes(key, "little"))
        sums[0] += h
        sums[1] += step(h ^ 0xD1B54A32D192ED03)
    return "".join(f"{total % 2**64:016x}" for total in sums)


def test_the_page_about_the_format_tells_how_it_is_computed():
    rows, which = some_rows(200)
    rows[3, 1], rows[5, 2] = np.nan, -0.0
    assert digest_of_rows(rows, LABELS, which) == digest_by_the_page(rows, [str(LABELS[k]) for k in which])
