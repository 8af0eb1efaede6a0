"""`ellipsoids_` is a sequence whose items are built when they are asked for."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from sepc import SEPClassifier
from sepc.results import FittedEllipsoid


@pytest.fixture(scope="module")
def classifier():
    return SEPClassifier(trust="counts").fit(*make_moons(200, noise=0.3, random_state=0))


def test_it_is_a_sequence(classifier):
    found = classifier.ellipsoids_
    assert len(found) == classifier.model_.n_ellipsoids > 3
    assert [one.number for one in found] == list(range(len(found)))
    assert [one.number for one in found[-2:]] == [len(found) - 2, len(found) - 1]
    assert found[-1].number == len(found) - 1
    assert isinstance(found[:2], tuple)
    assert isinstance(found[np.int64(0)], FittedEllipsoid)
    for k in (len(found), -len(found) - 1):
        with pytest.raises(IndexError):
            found[k]


def test_each_has_its_own_cuts_and_rows(classifier):
    found, model = classifier.ellipsoids_, classifier.model_
    assert sum(len(one.cuts) for one in found) == len(found.offsets) > 0
    cuts = [cut for one in found for cut in one.cuts]
    np.testing.assert_array_equal([cut.normal for cut in cuts], found.normals)
    assert [cut.offset for cut in cuts] == found.offsets.tolist()
    assert [cut.through_means for cut in cuts] == found.through_means.tolist()
    for one in found:
        inside = model.table.memberships[:, one.number]
        np.testing.assert_array_equal(one.counts, model.table.counts[inside].sum(axis=0))
        assert one.n_round == found.n_round[one.number]


def test_it_is_shown_as_a_table(classifier):
    shown = repr(classifier.ellipsoids_).splitlines()
    assert shown[0] == f"{len(classifier.ellipsoids_)} ellipsoids, in the order found"
    assert shown[1].split() == ["ellipsoid", "label", "training", "rows", "found", "in", "round", "cuts"]
    assert len(shown) <= 15
