"""Columns that are computed when asked for: once, for the rows asked for, and never for nothing."""

import copy
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sepc.decisions.decisions import Decisions, refuse
from sepc.decisions.deferred import Deferred
from sepc.decisions.kinds import Cause
from sepc.decisions.row_wise import given_fields, replace_columns


def doubled(calls, numbers):
    calls.append(len(numbers))
    return 2 * numbers


def deferred(numbers):
    calls = []
    return Deferred(partial(doubled, calls), np.array(numbers)), calls


def test_a_column_is_computed_once():
    column, calls = deferred([1, 2, 3])
    assert calls == []
    assert column.values.tolist() == [2, 4, 6]
    assert column.values is column.values
    assert calls == [3]


@pytest.mark.parametrize("rows", [slice(1, None), np.array([False, True, True]), np.array([1, 2])])
def test_fewer_rows_are_computed_alone(rows):
    column, calls = deferred([1, 2, 3])
    assert column[rows].values.tolist() == [4, 6]
    assert calls == [2]


def test_fewer_rows_of_a_computed_column_are_looked_up():
    column, calls = deferred([1, 2, 3])
    assert column.values[0] == 2
    assert column[1:].tolist() == [4, 6]
    assert calls == [3]


def test_a_column_may_be_computed_from_another():
    column, calls = deferred([1, 2, 3])
    summed = Deferred(np.add, column, np.array([10, 20, 30]))
    assert summed[:2].values.tolist() == [12, 24]
    assert calls == [2]


def test_what_is_pickled_is_an_array():
    column, _ = deferred([1, 2, 3])
    for copied in (pickle.loads(pickle.dumps(column)), copy.deepcopy(column)):
        assert isinstance(copied, np.ndarray)
        assert copied.tolist() == [2, 4, 6]


def refused_for(calls, cause):
    calls.append(len(cause))
    return np.asarray(cause)


@pytest.fixture
def decisions():
    calls, cause = [], np.array([int(Cause.ACCEPTED), int(Cause.THIN), int(Cause.OVERLAP)])
    own = Decisions(
        classes=np.array(["a", "b"]),
        label=np.array(["a", "b", "b"]),
        trust=np.array([0.99, 0.6, 0.5]),
        accepted=np.array([True, False, False]),
        cause=Deferred(partial(refused_for, calls), cause),
        probabilities=np.array([[0.99, 0.01], [0.4, 0.6], [0.5, 0.5]]),
        region=np.array([0, 1, 1]),
    )
    return own, calls


def test_nothing_but_the_cause_needs_the_cause(decisions):
    own, calls = decisions
    assert len(own[1:][[0]]) == len(own[:1]) == 1
    assert replace_columns(own, by="somebody").by == "somebody"
    assert own[0].label == "a"
    refuse(own, np.array([True, False, False]), Cause.DRIFTED)
    assert calls == []


def test_one_decision_looks_up_one_cause(decisions):
    own, calls = decisions
    assert own[1].cause is Cause.THIN
    assert calls == [1]


def test_rows_are_refused_for_another_cause(decisions):
    own, calls = decisions
    without = refuse(own, np.array([True, False, True]), Cause.DRIFTED)
    assert without.accepted.tolist() == [False, False, False]
    assert without[2].cause is Cause.DRIFTED
    assert calls == [1]
    assert without.cause.tolist() == [Cause.DRIFTED, Cause.THIN, Cause.DRIFTED]
    assert own.cause.tolist() == [Cause.ACCEPTED, Cause.THIN, Cause.OVERLAP]


def test_dataclasses_and_copies_see_an_ordinary_field(decisions):
    own, calls = decisions
    assert replace(own, by="somebody").cause.tolist() == own.cause.tolist()
    assert pickle.loads(pickle.dumps(own)).cause.tolist() == own.cause.tolist()
    assert copy.copy(own).cause is own.cause
    assert calls == [3]
    with pytest.raises(TypeError, match="cause"):
        Decisions(**{name: value for name, value in given_fields(own).items() if name != "cause"})
    with pytest.raises(AttributeError):
        own.cause = np.zeros(3)
