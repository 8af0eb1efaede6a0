"""Algorithms 1 and 2: pieces are what they claim to be, and the sequence always ends."""

import cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_circles, make_moons

from sepc.partition.sequence import Disjoint, Inseparable, ParallelCut, Settings, Stop, find_cut, partition, separate
from sepc.points.in_memory import ArrayPoints


def asked(d, n_impure=2, published=False, max_rounds=1000, max_ellipsoids=1000, **more):
    return Settings(n_impure, published, max_rounds, max_ellipsoids, np.ones(d), **more)


def overlapping(seed, n_pos=120, n_neg=80, d=2, shift=1.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_pos, d)), rng.standard_normal((n_neg, d)) + shift


def test_classes_far_apart_are_taken_whole():
    pos, neg = overlapping(0, shift=20.0)
    assert isinstance(separate(ArrayPoints(pos), ArrayPoints(neg), asked(2)), Disjoint)
    parts = partition(ArrayPoints(pos), ArrayPoints(neg), asked(2))
    assert parts.stop is Stop.SEPARATED
    assert [ellipsoid.n_own for ellipsoid in parts.ellipsoids] == [120, 80]
    assert [ellipsoid.is_pos for ellipsoid in parts.ellipsoids] == [True, False]


def test_a_cut_points_to_its_own_class_and_turns_around():
    pos, neg = overlapping(1)
    cut = find_cut(ArrayPoints(pos), ArrayPoints(neg), asked(2))
    assert isinstance(cut, ParallelCut)
    assert np.linalg.norm(cut.normal) == pytest.approx(1)
    assert pos.mean(axis=0) @ cut.normal > neg.mean(axis=0) @ cut.normal
    turned = cut.reverse()
    np.testing.assert_array_equal(turned.own_side.contains(neg), neg @ cut.normal <= cut.other_offset)


def test_where_hulls_meet_the_default_cuts_through_the_means_and_the_paper_stops():
    rng = np.random.default_rng(2)
    pos, neg = ArrayPoints(rng.standard_normal((100, 2))), ArrayPoints(0.1 * rng.standard_normal((20, 2)) + 0.05)
    cut = find_cut(pos, neg, asked(2))
    assert isinstance(cut, ParallelCut)
    assert cut.through_means
    assert isinstance(find_cut(pos, neg, asked(2, published=True)), Inseparable)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("n_impure", [0, 2, 0.1])
def test_pieces_are_pure_and_every_row_ends_in_one_of_its_class_or_is_isolated(n_impure, published):
    pos, neg = overlapping(3, d=3)
    settings_ = asked(3, n_impure, published)
    parts = partition(ArrayPoints(pos), ArrayPoints(neg), settings_)
    for piece in parts.ellipsoids:
        if not piece.is_terminal:
            assert piece.n_other <= settings_.n_allowed(piece.n_own)
            assert 3 < piece.n_own <= piece.ellipsoid.contains(pos if piece.is_pos else neg).sum()
    for rows, is_pos, isolated in ((pos, True, parts.isolated_pos), (neg, False, parts.isolated_neg)):
        held = [piece.ellipsoid.contains(rows) for piece in parts.ellipsoids if piece.is_pos == is_pos]
        alone = (rows[:, None, :] == isolated[None, :, :]).all(axis=2).any(axis=1)
        assert (np.any(held, axis=0) | alone).all()


def test_the_default_removes_all_rows_a_piece_covers_and_the_paper_only_the_carved():
    n_more = 0
    for seed in range(3):
        pos, neg = overlapping(seed, d=2)
        default = partition(ArrayPoints(pos), ArrayPoints(neg), asked(2, 10))
        published = partition(ArrayPoints(pos), ArrayPoints(neg), asked(2, 10, published=True))
        covered = int(default.ellipsoids[0].ellipsoid.contains(pos).sum())
        n_more += covered - default.ellipsoids[0].n_own
        assert default.rounds[0].n_pos == len(pos) - covered
        assert published.rounds[0].n_pos == len(pos) - published.ellipsoids[0].n_own
    assert n_more > 0


def test_one_sided_sequences_judge_every_piece_by_the_whole_other_class():
    pos, neg = overlapping(6, d=2)
    parts = partition(ArrayPoints(pos), ArrayPoints(neg), asked(2, 1, is_one_sided=True))
    pieces = [ellipsoid for ellipsoid in parts.ellipsoids if not ellipsoid.is_terminal]
    assert len(pieces) > 2
    assert all(ellipsoid.is_pos for ellipsoid in pieces)
    assert {left.n_neg for left in parts.rounds} == {80}
    for ellipsoid in pieces:
        assert ellipsoid.ellipsoid.contains(neg).sum() == ellipsoid.n_other <= 1


def test_xor_needs_no_noise():
    parts = partition(ArrayPoints(np.array([[0.0, 0], [1, 1]])), ArrayPoints(np.array([[0.0, 1], [1, 0]])), asked(2, 0))
    assert parts.stop is Stop.TOO_FEW
    assert [ellipsoid.is_terminal for ellipsoid in parts.ellipsoids] == [True, True]
    for ellipsoid, rows in zip(parts.ellipsoids, ([[0.0, 0], [1, 1]], [[0.0, 1], [1, 0]]), strict=True):
        assert ellipsoid.ellipsoid.contains(np.array(rows)).all()
        assert not ellipsoid.ellipsoid.contains(np.array(rows)[:, ::-1] * [1, -1] + [0, 1]).any()
        assert ellipsoid.ellipsoid.semi_axes[1] == pytest.approx(1e-6, rel=1e-3)


def test_circles_without_noise_have_coinciding_means_and_end_at_once():
    X, y = make_circles(400, noise=0.0, factor=0.5)
    parts = partition(ArrayPoints(X[y == 0]), ArrayPoints(X[y == 1]), asked(2, 5))
    assert parts.stop is Stop.INSEPARABLE
    assert [ellipsoid.is_terminal for ellipsoid in parts.ellipsoids] == [True, True]


@pytest.mark.parametrize(
    ("limit", "stop"), [({"max_rounds": 3}, Stop.MAX_ROUNDS), ({"max_ellipsoids": 4}, Stop.MAX_ELLIPSOIDS)]
)
def test_limits_are_kept_and_told(limit, stop):
    X, y = make_moons(400, noise=0.3, random_state=0)
    parts = partition(ArrayPoints(X[y == 0]), ArrayPoints(X[y == 1]), asked(2, **limit))
    assert parts.stop is stop
    assert len(parts.rounds) <= limit.get("max_rounds", 1000)
    assert sum(not ellipsoid.is_terminal for ellipsoid in parts.ellipsoids) <= limit.get("max_ellipsoids", 1000) + 1


@st.composite
def awkward_pairs(draw):
    """Heavy overlap, identical classes, one class nested in another, ties everywhere, tiny classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 4))
    n_pos, n_neg = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    kind = cases.KINDS[draw(st.sampled_from(sorted(cases.KINDS)))]
    pos = kind(rng, n_pos, d)
    neg = draw(st.sampled_from(["same kind", "copy", "nested", "shifted"]))
    rows = {
        "same kind": lambda: kind(rng, n_neg, d),
        "copy": lambda: pos.copy(),
        "nested": lambda: pos[rng.integers(len(pos), size=n_neg)] * 0.2,
        "shifted": lambda: kind(rng, n_neg, d) + pos.std(axis=0),
    }[neg]()
    return pos, rows, draw(st.sampled_from([0, 1, 5, 0.05, 0.5])), draw(st.booleans())


@pytest.mark.slow
@settings(max_examples=150)
@given(awkward_pairs())
def test_it_always_ends_and_no_round_but_the_last_is_idle(pair):
    pos, neg, n_impure, published = pair
    wanted = asked(pos.shape[1], n_impure, published)
    parts = partition(ArrayPoints(pos), ArrayPoints(neg), wanted)
    left = [len(pos) + len(neg), *(after.n_pos + after.n_neg for after in parts.rounds)]
    assert (np.diff(left)[:-1] < 0).all()
    assert left[-1] < left[-2] or parts.stop in (Stop.NO_PROGRESS, Stop.INSEPARABLE) if len(left) > 1 else True
    assert len(parts.ellipsoids) + len(parts.isolated_pos) + len(parts.isolated_neg) > 0


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_rows_changes_no_ellipsoid(seed):
    rng = np.random.default_rng(seed)
    pos, neg = overlapping(seed, d=3)
    straight = partition(ArrayPoints(pos), ArrayPoints(neg), asked(3))
    shuffled = partition(ArrayPoints(rng.permutation(pos)), ArrayPoints(rng.permutation(neg)), asked(3))
    assert [piece.is_pos for piece in straight.ellipsoids] == [piece.is_pos for piece in shuffled.ellipsoids]
    for a, b in zip(straight.ellipsoids, shuffled.ellipsoids, strict=True):
        np.testing.assert_allclose(a.ellipsoid.gauge(pos), b.ellipsoid.gauge(pos), atol=1e-6, rtol=1e-6)


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("n_impure", [2, 0.2])
def test_pieces_refused_early_would_have_been_refused(n_impure, monkeypatch):
    pos, neg = (ArrayPoints(rows) for rows in overlapping(7, 900, 700, d=3, shift=0.7))
    early = partition(pos, neg, asked(3, n_impure, max_ellipsoids=12))
    monkeypatch.setattr(Settings, "enclose_few", lambda self, points, other, n_most: self.enclose(points))
    exact = partition(pos, neg, asked(3, n_impure, max_ellipsoids=12))
    assert len(early.ellipsoids) == len(exact.ellipsoids) > 4
    for one, other in zip(early.ellipsoids, exact.ellipsoids, strict=True):
        np.testing.assert_array_equal(one.ellipsoid.center, other.ellipsoid.center)
