"""Causes are looked up when asked for, and are the same whichever way somebody gets there."""

import copy
import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import cases
import numpy as np
import pytest
from optional import package_or_skip
from sklearn.tree import DecisionTreeClassifier
from zoo import fitted_once

import sepc
from sepc import Cause, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.decisions.decisions import refuse, rename_features
from sepc.decisions.kinds import Rule
from sepc.model import causes as causes_module
from sepc.model.causes import causes
from sepc.model_files import from_bytes, to_bytes

N = 300
MODELS: dict[str, Any] = {
    "weights": SEPClassifier,
    "counts": lambda: SEPClassifier(trust="counts"),
    "published": lambda: SEPClassifier(trust="published"),
    "trusted": lambda: TrustedClassifier(DecisionTreeClassifier(max_depth=5, random_state=0), cv=2),
    "selective": lambda: SelectiveClassifier(SEPClassifier(), 0.1, random_state=0),
}
NO_GAPS = ("trusted", True)  # its tree takes none
WAYS = {
    "all at once": lambda decisions: decisions.cause,
    "as a frame": lambda decisions: np.array([Cause[name] for name in decisions.to_frame()["cause"]]),
    "row by row": lambda decisions: [decision.cause for decision in decisions],
    "in slices": lambda decisions: np.concatenate([decisions[:100].cause, decisions[100:].cause]),
    "by a mask": lambda decisions: np.where(decisions.accepted, 0, spread_out(decisions, ~decisions.accepted)),
    "in another order": lambda decisions: decisions[np.arange(N)[::-1]].cause[::-1],
    "pickled": lambda decisions: pickle.loads(pickle.dumps(decisions)).cause,
    "copied": lambda decisions: copy.deepcopy(copy.copy(decisions)).cause,
    "replaced": lambda decisions: replace(decisions, by="somebody").cause,
    "renamed": lambda decisions: rename_features(decisions, [f"feature {j}" for j in range(5)]).cause,
    "sliced after looking": lambda decisions: decisions.cause[:0].tolist() + decisions[::-1].cause[::-1].tolist(),
    "with nothing refused": lambda decisions: refuse(decisions, np.zeros(N, dtype=bool), Cause.DRIFTED).cause,
}


def spread_out(decisions, rows):
    found = np.zeros(len(decisions), dtype=np.int64)
    found[rows] = decisions[rows].cause
    return found


def rows_and_labels():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    return cases.clustered(rng, 400, 5) + 1.5 * y[:, None], y


def new_rows(with_gaps=False):
    rng = np.random.default_rng(1)
    rows = rows_and_labels()[0]
    rows = np.concatenate([rows[:200] + 0.3 * rng.normal(size=(200, 5)), 4.0 * rows[200:300]])
    rows[rng.random(rows.shape) < (0.1 if with_gaps else 0.0)] = np.nan
    return rows


@fitted_once
def fitted_by_name(name):
    return MODELS[name]().fit(*rows_and_labels())


@pytest.fixture(params=MODELS)
def fitted(request):
    return fitted_by_name(request.param)


@cache
def all_at_once(name, with_gaps):
    found = fitted_by_name(name).decide(new_rows(with_gaps)).cause
    assert len(set(found.tolist())) > 2
    return found


@pytest.mark.quick_cases(
    "weights-*", "*-False-in slices", "*-False-by a mask", "*-False-pickled", "*-True-in another order"
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "with_gaps"), [(name, gaps) for name in MODELS for gaps in (False, True) if (name, gaps) != NO_GAPS]
)
def test_every_way_gives_the_same_causes(name, way, with_gaps):
    decisions = fitted_by_name(name).decide(new_rows(with_gaps))
    np.testing.assert_array_equal(WAYS[way](decisions), all_at_once(name, with_gaps))


@pytest.mark.parametrize("name", ["weights", "counts", "published"])
def test_they_are_those_of_the_rows(name):
    classifier = fitted_by_name(name)
    decisions, model = classifier.decide(new_rows()), classifier.model_
    looked_up = causes(model, model.standardize(new_rows()), decisions.rule != Rule.NEAREST, classifier.min_trust)
    np.testing.assert_array_equal(decisions.cause, np.where(decisions.accepted, int(Cause.ACCEPTED), looked_up))


def test_rows_with_gaps_have_the_cause_of_their_completion_unless_the_gaps_decide():
    classifier = fitted_by_name("weights")
    decisions = classifier.decide(new_rows(with_gaps=True))
    open_rows = ~decisions.accepted & (decisions.cause != Cause.MISSING)
    assert (decisions.missing.any(axis=1) & open_rows).any()
    again = classifier.decide(decisions.rows[open_rows])
    refused = ~again.accepted
    np.testing.assert_array_equal(again.cause[refused], decisions.cause[open_rows][refused])


def test_nobody_looks_before_somebody_asks(monkeypatch):
    looked = []
    monkeypatch.setattr(causes_module, "causes", lambda *args: looked.append(len(args[1])) or causes(*args))
    classifier = fitted_by_name("weights")
    decisions = classifier.decide(new_rows())
    assert classifier.predict(new_rows()).tolist() == decisions.label.tolist()
    assert len(decisions[decisions.accepted]) + len(decisions[~decisions.accepted]) == N
    assert looked == []
    least = int(decisions.trust.argmin())
    assert decisions[least].cause is not Cause.ACCEPTED
    assert looked == [1]
    assert len(decisions.cause) == len(decisions[1:].cause) + 1
    assert looked == [1, int((~decisions.accepted).sum())]


def test_the_caller_may_use_the_array_again():
    classifier, rows = fitted_by_name("weights"), new_rows()
    wanted, why = classifier.decide(rows).cause, classifier.decide(rows).why(3)
    decisions = classifier.decide(rows)
    rows[:] = 0.0
    np.testing.assert_array_equal(decisions.cause, wanted)
    assert decisions.why(3) == why


def test_after_saving_and_loading(fitted):
    if isinstance(fitted, TrustedClassifier):
        pytest.skip("its tree is of another library")
    np.testing.assert_array_equal(
        from_bytes(to_bytes(fitted)).decide(new_rows()).cause, fitted.decide(new_rows()).cause
    )


def test_on_dask(fitted):
    da = package_or_skip("dask.array")
    lazy = sepc.decide(fitted, da.from_array(new_rows(), chunks=(70, -1))).compute(scheduler="synchronous")
    wanted = [Cause(cause).name for cause in fitted.decide(new_rows()).cause]
    assert lazy["cause"].tolist() == wanted
