"""Rules R1, R2a, R2b and case 3 on a model small enough to do by hand."""

import numpy as np
import pytest

from sepc import SEPClassifier
from sepc.decisions.kinds import Cause, Rule
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.sep_model import SEPModel
from sepc.model.signature_table import SignatureTable


def intervals(published=False, trust="counts", isolated=(), isolated_owners=()):
    """Intervals [-1, 1] of 'a', [0, 2] and [1.5, 3.5] of 'b' on a line; nobody lies in all three."""
    sets = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)
    counts = np.array([[0, 40], [1, 9], [30, 2], [2, 3]])
    return SEPModel(
        classes=np.array(["a", "b"]),
        class_counts=counts.sum(axis=0),
        feature_names=("x",),
        shift=np.zeros(1),
        scale=np.ones(1),
        centers=np.array([[0.0], [1.0], [2.5]]),
        roots=np.ones((3, 1, 1)),
        owners=np.array([0, 1, 1]),
        is_terminal=np.zeros(3, dtype=bool),
        isolated=np.array(isolated, dtype=float).reshape(-1, 1),
        isolated_owners=np.array(isolated_owners, dtype=np.int64),
        table=SignatureTable(sets, counts),
        slack=1e-9,
        trust=trust,
        published=published,
    )


def at(x, model=None, min_trust=0.9):
    return SEPDecisions.of(model or intervals(), np.array([[x]]), min_trust)[0]


def test_one_ellipsoid_counts_all_rows_in_it():
    decision = at(-0.5)
    assert decision.rule is Rule.SINGLE
    assert decision.counts.tolist() == [32, 5]
    assert decision.region == 2
    assert decision.label == "a"
    # Exactly here lie (30, 2); around, (32, 5); shares 33 and 54 of 87.
    around = (32 + 33 / 87) / 38
    assert decision.trust == pytest.approx((30 + 30 * around) / 62)


def test_an_intersection_with_rows_counts_these():
    decision = at(0.5)
    assert decision.rule is Rule.SHARED
    assert decision.counts.tolist() == [2, 3]
    assert decision.label == "b"
    assert decision.region == 3


def test_an_intersection_without_rows_counts_the_union():
    decision = at(1.75)
    assert decision.rule is Rule.UNION
    assert decision.counts.tolist() == [3, 52]
    assert decision.region == -1
    assert ": between groups of 52 b and 3 a training cases." in decision.why()


def test_outside_the_nearest_ellipsoid_counts_and_fades():
    near, far = at(4.0), at(40.0)
    for decision in (near, far):
        assert decision.rule is Rule.NEAREST
        assert decision.counts.tolist() == [0, 40]
        assert decision.place == 2
        assert decision.region == 4 + 2
    # In [1.5, 3.5] lie 40 rows of 'b', none of them in another interval: exact and wider counts agree.
    assert near.gauge == pytest.approx(1.5)
    assert near.trust > far.trust
    fading = 1 / 1.5**2
    around = (40 * fading + 0.5) / (40 * fading + 1)
    assert near.trust == pytest.approx((40 * fading + 30 * around) / (40 * fading + 30))
    assert far.label == "b"
    assert far.trust == pytest.approx(0.5, abs=0.02)


def test_outside_rows_of_the_nearest_ellipsoid_that_lie_in_others_count_less():
    # Nearest is [-1, 1] at gauge 2: (30, 2) lie in it alone, (32, 5) in all; a quarter of each counts.
    decision = at(-2.0)
    around = (32 / 4 + 0.5) / (37 / 4 + 1)
    assert decision.trust == pytest.approx((30 / 4 + 30 * around) / (32 / 4 + 30))


def test_boundary_rows_are_inside():
    assert at(-1.0).rule is Rule.SINGLE
    assert at(-1.0 - 1e-8).rule is Rule.NEAREST


def test_an_isolated_row_can_be_nearest_and_never_certifies():
    model = intervals(isolated=[[-6.0]], isolated_owners=[1])
    decision = at(-5.0, model)
    assert decision.place == 3
    assert decision.counts.tolist() == [0, 1]
    assert decision.cause is Cause.UNSEEN
    assert "nearest to a single b training case" in decision.why()
    assert at(-6.0, model).trust < 0.95


def test_equally_near_places_are_counted_together():
    model = intervals(isolated=[[-3.0]], isolated_owners=[1])
    decision = at(-2.0, model)
    assert decision.counts.tolist() == [32, 6]


def test_causes_tell_thin_from_overlap():
    model = intervals()
    thin = SEPModel(**{**vars(model), "table": SignatureTable(model.table.memberships, model.table.counts // 10)})
    assert at(2.9, thin, 0.98).cause is Cause.THIN
    assert at(0.5).cause is Cause.OVERLAP
    assert at(2.9).cause is Cause.ACCEPTED


def test_the_paper_gives_the_owner_its_label_even_where_outvoted():
    model = intervals(published=True, trust="published")
    outvoted = SEPModel(**{**vars(model), "owners": np.array([1, 1, 1])})
    assert at(-0.5, outvoted).label == "b"
    assert at(-0.5, intervals()).label == "a"
    assert at(-0.5, model).trust == pytest.approx(33 * 33 / (33 * 33 + 5 * 55))


def test_published_trust_alone_leaves_the_labels():
    rows = np.linspace(-3, 6, 50)[:, None]
    ours, theirs = SEPDecisions.of(intervals(), rows, 0.9), SEPDecisions.of(intervals(trust="published"), rows, 0.9)
    np.testing.assert_array_equal(ours.label, theirs.label)
    assert (theirs.trust[rows[:, 0] > 2.2] == 1).all()


def test_a_row_alone_is_decided_as_among_others():
    rows = np.linspace(-3, 6, 300)[:, None]
    together = SEPDecisions.of(intervals(), rows, 0.9)
    alone = [SEPDecisions.of(intervals(), row[None], 0.9) for row in rows]
    for name in ("label", "trust", "rule", "region", "cause"):
        np.testing.assert_array_equal(getattr(together, name), [getattr(decision, name)[0] for decision in alone])


def test_no_rows_give_no_decisions():
    assert len(SEPDecisions.of(intervals(), np.empty((0, 1)), 0.9)) == 0


def test_a_reason_is_given_even_where_no_feature_stands_out():
    d = 40
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.uniform(-1, 1, (300, d)), rng.uniform(-1, 1, (300, d)) + 9])
    classifier = SEPClassifier().fit(rows, np.repeat(["low", "high"], 300))
    assert "For it: its neighbourhood (" in classifier.decide(np.zeros((1, d)))[0].why()


def test_inside_an_ellipsoid_whose_rows_are_all_elsewhere_is_not_unseen():
    """All rows of [-1, 1] lie in [0, 2] as well, out of reach from -0.9: the row is inside, and none is near."""
    sets = np.array([[0, 0, 1], [0, 1, 0], [1, 1, 0]], dtype=bool)
    table = SignatureTable(sets, np.array([[0, 40], [1, 9], [32, 5]]))
    model = SEPModel(**{**vars(intervals()), "table": table})
    assert at(-0.9, model).rule is Rule.SINGLE
    assert at(-0.9, model).cause is Cause.THIN
    assert at(-2.0, model).cause is Cause.UNSEEN
