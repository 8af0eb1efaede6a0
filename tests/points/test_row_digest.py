"""The digest of labelled rows: the same for the same rows, another for any others."""

import hashlib
import struct

import numpy as np
import pytest

import sepc
import sepc.lifecycle

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(1_000, 3))
LABELS = np.where(ROWS[:, 0] + RNG.normal(size=1_000) > 0, "yes", "no")


@pytest.fixture(scope="module")
def digest():
    model = sepc.SEPClassifier(trust="counts", max_ellipsoids=2).fit(ROWS, LABELS)

    def of(rows, labels):
        return sepc.lifecycle.rows_digest(model, rows, labels)

    assert of(ROWS, LABELS) == model.provenance_.rows
    return of


def test_order_layout_zeros_and_kinds_of_gaps_do_not_matter(digest):
    wanted, order = digest(ROWS, LABELS), np.random.default_rng(1).permutation(len(ROWS))
    assert digest(ROWS[order], LABELS[order]) == wanted
    assert digest(np.asfortranarray(ROWS), LABELS) == wanted
    rows = np.array([[np.nan, 0.0, 3.0], [1.0, 2.0, 3.0]])
    other = rows.copy()
    other[0, :2] = -np.frombuffer(np.uint64(0x7FF8000000000001).tobytes(), dtype=np.float64)[0], -0.0
    assert digest(other, LABELS[:2]) == digest(rows, LABELS[:2])


def test_labels_count_by_their_value_and_type(digest):
    which = (LABELS == "yes").astype(int)
    assert digest(ROWS, which) == digest(ROWS, which.astype(np.int8))
    assert digest(ROWS, which) != digest(ROWS, which.astype(str))
    assert digest(ROWS, which.astype(str)) == digest(ROWS, which.astype(str).astype(object))


def changed(change):
    rows, labels = ROWS.copy(), LABELS.copy()
    first, second = np.flatnonzero(labels == "no")[0], np.flatnonzero(labels == "yes")[0]
    match change:
        case "one value, by the last bit":
            rows[17, 1] = np.nextafter(rows[17, 1], np.inf)
        case "one label":
            labels[first] = "yes"
        case "two labels swapped":
            labels[[first, second]] = labels[[second, first]]
        case "a row twice":
            return np.concatenate([rows, rows[:1]]), np.append(labels, labels[0])
        case "a row less":
            return rows[1:], labels[1:]
        case "two columns of a row swapped":
            rows[17, [0, 1]] = rows[17, [1, 0]]
        case "values of a column moved to other rows":
            rows[:2, 0] = rows[1::-1, 0]
        case "signs of two columns":
            rows[17, :2] *= -1
        case "a missing value":
            rows[17, 0] = np.nan
    return rows, labels


CHANGES = ("one value, by the last bit", "one label", "two labels swapped", "a row twice", "a row less")
CHANGES += ("two columns of a row swapped", "values of a column moved to other rows", "signs of two columns")


@pytest.mark.parametrize("change", [*CHANGES, "a missing value"])
def test_any_change_of_the_rows_changes_the_digest(digest, change):
    assert digest(*changed(change)) != digest(ROWS, LABELS)


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


def test_the_page_about_the_format_tells_how_it_is_computed(digest):
    rows = ROWS[:200].copy()
    rows[3, 1], rows[5, 2] = np.nan, -0.0
    assert digest(rows, LABELS[:200]) == digest_by_the_page(rows, LABELS[:200].tolist())
