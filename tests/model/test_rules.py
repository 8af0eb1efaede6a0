"""Rules R1, R2a, R2b and case 3 on a model small enough to do by hand."""

import numpy as np
import pytest
from by_hand import deciding_by, intervals

from sepc import SEPClassifier
from sepc.decisions.kinds import Cause, Rule
from sepc.model.counts import SignatureTable


def at(x, model=None, min_trust=0.9):
    return deciding_by(model or intervals(), min_trust).decide(np.array([[x]]))[0]


def test_one_ellipsoid_counts_all_rows_in_it():
    decision = at(-0.5)
    assert (decision.rule, decision.region, decision.label) == (Rule.SINGLE, 2, "a")
    assert decision.counts.tolist() == [32, 5]
    # Exactly here lie (30, 2); around, (32, 5); shares 33 and 54 of 87.
    around = (32 + 33 / 87) / 38
    assert decision.trust == pytest.approx((30 + 30 * around) / 62)
    # Boundary rows are inside.
    assert at(-1.0).rule is Rule.SINGLE
    assert at(-1.0 - 1e-8).rule is Rule.NEAREST


def test_an_intersection_counts_its_own_rows_or_without_any_the_union():
    decision = at(0.5)
    assert (decision.rule, decision.region, decision.label) == (Rule.SHARED, 3, "b")
    assert decision.counts.tolist() == [2, 3]
    decision = at(1.75)
    assert (decision.rule, decision.region) == (Rule.UNION, -1)
    assert decision.counts.tolist() == [3, 52]
    assert "52 b and 3 a" in decision.why()


def test_outside_the_nearest_ellipsoid_counts_and_fades():
    near, far = at(4.0), at(40.0)
    for decision in (near, far):
        assert (decision.rule, decision.place, decision.region, decision.label) == (Rule.NEAREST, 2, 4 + 2, "b")
        assert decision.counts.tolist() == [0, 40]
    # In [1.5, 3.5] lie 40 rows of 'b', none of them in another interval: exact and wider counts agree.
    assert near.gauge == pytest.approx(1.5)
    fading = 1 / 1.5**2
    around = (40 * fading + 0.5) / (40 * fading + 1)
    assert near.trust == pytest.approx((40 * fading + 30 * around) / (40 * fading + 30))
    assert far.trust == pytest.approx(0.5, abs=0.02)
    # Nearest is [-1, 1] at gauge 2: (30, 2) lie in it alone, (32, 5) in all; a quarter of each counts.
    around = (32 / 4 + 0.5) / (37 / 4 + 1)
    assert at(-2.0).trust == pytest.approx((30 / 4 + 30 * around) / (32 / 4 + 30))


def test_an_isolated_row_can_be_nearest_or_as_near_and_never_certifies():
    model = intervals(isolated=[[-6.0]], isolated_owners=[1])
    decision = at(-5.0, model)
    assert (decision.place, decision.cause) == (3, Cause.UNSEEN)
    assert decision.counts.tolist() == [0, 1]
    assert "a single b training case" in decision.why()
    assert at(-6.0, model).trust < 0.95
    model = intervals(isolated=[[-3.0]], isolated_owners=[1])
    assert at(-2.0, model).counts.tolist() == [32, 6]


def test_causes_tell_thin_from_overlap_and_from_unseen():
    table = intervals().table
    thin = intervals(table=SignatureTable(table.memberships, table.counts // 10))
    assert at(2.9, thin, 0.98).cause is Cause.THIN
    assert at(0.5).cause is Cause.OVERLAP
    assert at(2.9).cause is Cause.ACCEPTED
    # All rows of [-1, 1] lie in [0, 2] as well, out of reach from -0.9: the row is inside, and none is near.
    sets = np.array([[0, 0, 1], [0, 1, 0], [1, 1, 0]], dtype=bool)
    elsewhere = intervals(table=SignatureTable(sets, np.array([[0, 40], [1, 9], [32, 5]])))
    assert (at(-0.9, elsewhere).rule, at(-0.9, elsewhere).cause) == (Rule.SINGLE, Cause.THIN)
    assert at(-2.0, elsewhere).cause is Cause.UNSEEN


def test_the_paper_gives_the_owner_its_label_even_where_outvoted():
    assert at(-0.5, intervals(owners=[1, 1, 1], trust="published")).label == "b"
    assert at(-0.5, intervals(owners=[1, 1, 1])).label == "a"
    assert at(-0.5, intervals(trust="published")).trust == pytest.approx(33 * 33 / (33 * 33 + 5 * 55))
    rows = np.linspace(2.3, 6, 50)[:, None]
    assert (deciding_by(intervals(trust="published")).decide(rows).trust == 1).all()


def test_a_reason_is_given_even_where_no_feature_stands_out():
    d = 40
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.uniform(-1, 1, (300, d)), rng.uniform(-1, 1, (300, d)) + 9])
    classifier = SEPClassifier().fit(rows, np.repeat(["low", "high"], 300))
    assert "its neighbourhood" in classifier.decide(np.zeros((1, d)))[0].why()
