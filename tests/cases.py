"""Data sets that tests share: rows of every awkward kind, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

Draw = Callable[[np.random.Generator, int, int], FloatArray]


def gaussian(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.standard_normal((n, d))


def in_ball(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return on_sphere(rng, n, d) * rng.random((n, 1)) ** (1.0 / d)


def on_sphere(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    rows = rng.standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def heavy_tailed(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.standard_t(1.5, size=(n, d))


def clustered(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    centers = 5.0 * rng.standard_normal((4, d))
    return centers[rng.integers(4, size=n)] + rng.standard_normal((n, d))


def near_degenerate(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) * np.logspace(0.0, -4.0, d) @ rotation


def rank_deficient(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    rank = max(1, d - max(1, d // 3))
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 1.0


def integer_grid(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.integers(0, 4, size=(n, d)).astype(np.float64)


def repeated(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.standard_normal((max(d + 2, n // 5), d))[rng.integers(max(d + 2, n // 5), size=n)]


def far_scales(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    scales = 10.0 ** np.linspace(-6.0, 6.0, d) if d > 1 else np.array([1e12])
    return (rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)) / np.sqrt(d)) + 2.0) * scales


KINDS: dict[str, Draw] = {
    draw.__name__: draw
    for draw in (
        gaussian,
        in_ball,
        on_sphere,
        heavy_tailed,
        clustered,
        near_degenerate,
        rank_deficient,
        integer_grid,
        repeated,
        far_scales,
    )
}


def adversarial(rng: np.random.Generator) -> FloatArray:
    """A small table of a random kind with random damage: repeats, constants, copies, jitter, offsets, wild scales."""
    n, d = int(rng.integers(1, 80)), int(rng.integers(1, 9))
    rows = KINDS[rng.choice(list(KINDS))](rng, n, d)
    for _ in range(rng.integers(0, 4)):
        rows = rng.choice(DAMAGE)(rng, rows)
    return rows


def _repeat_rows(rng: np.random.Generator, rows: FloatArray) -> FloatArray:
    return rows[rng.integers(len(rows), size=len(rows) + int(rng.integers(20)))]


def _make_constant(rng: np.random.Generator, rows: FloatArray) -> FloatArray:
    return np.column_stack([rows, np.full(len(rows), rng.choice([0.0, 1.0, -1e9, 0.1]))])


def _copy_column(rng: np.random.Generator, rows: FloatArray) -> FloatArray:
    noise = rng.choice([0.0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-5]) * rng.standard_normal(len(rows))
    return np.column_stack([rows, rows[:, 0] * rng.choice([1.0, -3.0]) + noise])


def _add_outlier(rng: np.random.Generator, rows: FloatArray) -> FloatArray:
    rows = rows.copy()
    rows[rng.integers(len(rows))] *= 10.0 ** rng.integers(-8, 9)
    return rows


def _shift(rng: np.random.Generator, rows: FloatArray) -> FloatArray:
    return rows + 10.0 ** rng.integers(-3, 7)


def _rescale(rng: np.random.Generator, rows: FloatArray) -> FloatArray:
    scales = 10.0 ** rng.integers(0, 13, size=rows.shape[1])
    return rows / scales.max() * scales


def _magnify(rng: np.random.Generator, rows: FloatArray) -> FloatArray:
    return rows / max(np.abs(rows).max(), 1e-300) * 10.0 ** rng.choice([-300, -150, 150, 300])


DAMAGE = (_repeat_rows, _make_constant, _copy_column, _add_outlier, _shift, _rescale, _magnify)


def round_classes(n: int = 4000, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Two overlapping round classes; the best label is wrong for 7 % of the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.standard_normal((n, 3)) + np.where(y, 0.85, -0.85)[:, None], y


def assert_same_decisions(left: Any, right: Any) -> None:
    """Two decisions on the same rows say the same to the last bit, and are of one type."""
    assert type(left) is type(right)
    for column in ("label", "trust", "accepted", "cause", "probabilities", "region"):
        np.testing.assert_array_equal(getattr(left, column), getattr(right, column), err_msg=column)


def fillings_inside(model: Any, row: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Rows with the missing numbers of a row filled in such that an ellipsoid holds them; half of them on its surface.

    An ellipsoid that holds no such row gives none.
    """
    d = len(model.shift)
    z, missing = (row[:d] - model.shift) / model.scale, np.isnan(row[:d])
    found = [np.empty((0, len(row)))]
    for center, root in zip(model.centers, model.roots, strict=True):
        known = root[:, ~missing] @ (z - center)[~missing]
        q, r = np.linalg.qr(root[:, missing])
        left = 1.0 - np.sum((known - q @ (q.T @ known)) ** 2)
        if left <= 0.0:
            continue
        u = rng.standard_normal((n, missing.sum()))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        u[n // 2 :] *= rng.random((n - n // 2, 1)) ** (1 / missing.sum())
        rows = np.repeat(row[None], n, axis=0)
        inside = center[missing] + np.linalg.solve(r, np.sqrt(left) * u.T - (q.T @ known)[:, None]).T
        rows[:, :d][:, missing] = inside * model.scale[missing] + model.shift[missing]
        found.append(rows)
    return np.concatenate(found)
