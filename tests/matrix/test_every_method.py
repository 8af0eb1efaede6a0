"""Every public function, method and attribute, for every kind of column, number of classes and model."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Sized
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matrix_cells import COLUMNS, LABELS, MODELS, N_NEW, Cell, alone, cells, flaw, refusal, rows
from sklearn.pipeline import Pipeline

import sepc
import sepc.lifecycle
import sepc.metrics
from sepc import lifecycle, metrics, results

PUBLIC = {
    kind
    for module in (sepc, results, lifecycle)
    for kind in (getattr(module, name) for name in module.__all__)
    if inspect.isclass(kind) and not issubclass(kind, Warning | Exception)
}
# Results some of whose methods take rows of standardised numbers, or other results.
PARTLY = {results.SEPModel, results.Weights, results.TrustModel, results.Answer}
PARTLY |= {lifecycle.ChangedRows, lifecycle.ReviewQueue, lifecycle.Plan}
# Methods that a cell calls by itself, that only other estimators call, or that come from scikit-learn.
ELSEWHERE = {"fit", "fit_like", "fit_after_erasure", "covered", "of", "set_params", "judge"}
ELSEWHERE |= {"with_fitted", "fit_again"}
# What the library may refuse, and why: nothing else may raise.
REFUSALS = r"""
With trust='(counts|published)' (a decision has no terms|columns have no terms)
A model with trust='(counts|published)' has no weights to edit
(The models of strata are edited one by one|Models of strata have regions of their own)
cannot be exported to
The pipeline prepares rows with Codes, which a model file cannot store
Recourse (searches the ellipsoids of one partition|cannot go back through the steps)
(repair needs|Monitor watches) the regions of
has no out-of-fold probabilities; fit (it|an SEPClassifier)
No ellipsoid was found for label
Feature .* is not numeric
keep_rows is False, but there are too few rows for any ellipsoid
Missing values: .* Recourse needs a complete row
There is no feature 'left out.*'. The features are
A SelectiveClassifier cannot be edited
convert dates and durations to numbers first
Fill these cells or leave the rows out
"""
REFUSED = re.compile("|".join(REFUSALS.strip().splitlines()) or "$^")
# Attributes in which a missing value is NaN, and the text of one is no text for people.
MAY_BE_MISSING = {
    "rows",
    "given_rows",
    "features",
    "watched_rows",
    "out_of_fold_",
    "dropped",
    "bound",
    "outcomes",
    "threshold",
    "threshold_",  # infinite where nothing is accepted
    "changes",
}


class Trial:
    """Goes through all that is public in one cell, and keeps what goes wrong."""

    def __init__(self, cell: Cell, folder: Any) -> None:
        self.cell, self.folder, self.faults, self.n_calls, self.seen = cell, folder, [], 0, set()
        X, y = cell.new
        edit = sepc.Edit.drop_feature(X.columns[0]).signed("A. Wu", "few cases", "2026-05-04")
        self.arguments = {
            "X": X, "y": y, "n": 3, "i": 0, "k": 0, "label": y[0], "labels": y, "edits": [edit], "numbers": (),
            "path": folder / "page.html", "others": [],
            "organisation": "Bank", "model": "Loans", "contact": "A. Wu", "author": "A. Wu", "reason": "few cases",
            "date": "2026-05-04", "template": "{labels}",
        }  # fmt: skip

    def call(self, what: str, function: Callable[[], Any]) -> Any:
        """The answer, or None if it is refused; a refusal that is not known, and any other error, are faults."""
        self.n_calls += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = function()
        except Exception as error:  # noqa: BLE001 - any error is to be judged
            said = refusal(error)
            if said is None or not REFUSED.search(said):
                self.faults.append(f"{what} raised {type(error).__name__}: {error}")
            return None
        if (wrong := flaw(answer)) and what.rpartition(".")[2] not in MAY_BE_MISSING:
            self.faults.append(f"{what} {wrong}")
        return answer

    def visit(self, what: str, value: Any, depth: int = 4) -> None:
        """Read every public attribute of an object, call every method, and visit what they give."""
        if isinstance(value, list | tuple) and value:
            value = value[0]
        if type(value) not in PUBLIC or type(value) in self.seen or depth == 0:
            return
        self.seen.add(type(value))
        self.call(f"str of {what}", lambda: str(value) + repr(value))
        if hasattr(value, "_repr_html_") and not hasattr(value, "get_params"):
            self.call(f"HTML of {what}", value._repr_html_)
        for name, member in public_members(value):
            if function := self.of_member(value, name, member):
                self.visit(f"{what}.{name}", self.call(f"{what}.{name}", function), depth - 1)

    def of_member(self, value: Any, name: str, member: Any) -> Callable[[], Any] | None:
        if not callable(member) or isinstance(member, property):
            return lambda: getattr(value, name)
        needed = [
            one for one in inspect.signature(getattr(value, name)).parameters.values()
            if one.default is one.empty and one.kind is not one.VAR_KEYWORD
        ]  # fmt: skip
        unknown = [one.name for one in needed if one.name not in self.arguments]
        n = len(value) if isinstance(value, Sized) else getattr(value, "n_ellipsoids", 1)
        if (unknown and type(value) in PARTLY) or (n == 0 and any(one.name in "ik" for one in needed)):
            return None
        assert not unknown, f"say in Trial.arguments what to give {type(value).__name__}.{name} as {unknown}"
        first = [self.arguments[one.name] for one in needed if one.kind is one.POSITIONAL_OR_KEYWORD]
        first += [one for one in needed if one.kind is one.VAR_POSITIONAL for one in self.arguments[one.name]]
        named = {one.name: self.arguments[one.name] for one in needed if one.kind is one.KEYWORD_ONLY}
        return lambda: getattr(value, name)(*first, **named)


def public_members(value: Any) -> Iterator[tuple[str, Any]]:
    """Public names of an object, except what scikit-learn gives every estimator."""
    own = {name for kind in type(value).__mro__ if kind.__module__.startswith("sepc") for name in vars(kind)}
    own |= {name for name in getattr(value, "__dict__", {}) if not hasattr(value, "get_params") or name.endswith("_")}
    own |= set(getattr(type(value), "__dataclass_fields__", ()))
    if hasattr(value, "get_params"):
        own |= {"score"}
        own -= {"inner", "located_by"}  # models inside may take other columns
        own -= set(value.get_params(deep=False))
    for name in sorted(own - ELSEWHERE):
        member: Any = inspect.getattr_static(value, name, None)
        if not name.startswith("_") and not isinstance(member, classmethod | staticmethod | ModuleType):
            yield name, getattr(member, "func", member) if isinstance(member, type) else member


def functions(trial: Trial, model: Any) -> dict[str, Callable[[], Any]]:
    """A call of every public function that takes a model or a table."""
    (X, y), (old, old_y), folder = trial.cell.new, trial.cell.training, trial.folder
    to = LABELS[trial.cell.n_classes][1]
    decisions = sepc.decide(model, X)
    right = decisions.label == y
    calls = {
        "look": lambda: sepc.look(old, old_y),
        "Landscape": lambda: sepc.Landscape(old, old_y),
        "report": lambda: sepc.report(model, X, y, X_train=old, y_train=old_y),
        "model_card": lambda: sepc.lifecycle.model_card(model, X, y),
        "bill_of_materials": lambda: sepc.lifecycle.bill_of_materials(model, X, y),
        "rows_digest": lambda: sepc.lifecycle.rows_digest(model, X, y),
        "suspects": lambda: sepc.metrics.suspects(model, old_y),
        "compare": lambda: sepc.compare(model, model, X, y),
        "recourse": lambda: sepc.recourse(model, X.iloc[:1], to=to),
        "recourse of a table": lambda: sepc.recourse(model, X[:2], to=to),
        "inspect": lambda: sepc.inspect(saved(model, folder)),
        "audit": lambda: lifecycle.audit(model, X, y),
        "repair": lambda: lifecycle.repair(model, X, y),
        "Monitor": lambda: lifecycle.Monitor(model, X, y),
        "ReviewQueue": lambda: reviewed(trial, model),
        "metrics": lambda: [getattr(metrics, name)(right, decisions.trust) for name in ("aurc", "auroc", "ece")],
    }
    if find_spec("onnx"):
        from sepc.onnx import export as to_onnx

        calls["onnx"] = lambda: to_onnx(model, folder / "model.onnx", terms=True)
    from sepc.sql import export as to_sql

    calls["sql"] = lambda: to_sql(model, "duckdb", "rows", terms=True)
    return calls


def reviewed(trial: Trial, model: Any) -> Any:
    """A queue that has learned labels, and the review it asked for; it needs 300 rows to begin."""
    X, y = rows(trial.cell.columns, trial.cell.n_classes, 300, 2)
    queue = lifecycle.ReviewQueue(model, 5, random_state=0)
    review = queue.choose(X)
    trial.visit("review", review)
    queue.learn(review, y[review.positions])
    return queue


def saved(model: Any, folder: Any) -> Any:
    sepc.save(model, folder / "model.sepc")
    return folder / "model.sepc"


def check_decisions(trial: Trial, model: Any) -> Any:
    """Labels, probabilities, terms, importances and reasons agree with each other, and with the model in a file."""
    X, cell = trial.cell.new[0], trial.cell
    decisions = sepc.decide(model, X)
    assert len(decisions) == N_NEW
    assert set(decisions.label.tolist()) <= set(LABELS[cell.n_classes].tolist())
    np.testing.assert_array_equal(decisions.label, model.predict(X))
    np.testing.assert_array_equal(decisions.probabilities, model.predict_proba(X))
    np.testing.assert_allclose(decisions.probabilities.sum(axis=1), 1.0, atol=1e-9)
    assert ((decisions.trust >= 0.0) & (decisions.trust <= 1.0)).all()
    reasons = decisions.why()
    assert len(reasons) == N_NEW
    assert all(flaw(reason) is None and len(reason) > 10 for reason in reasons), reasons
    if getattr(getattr(decisions, "model", None), "weights", None) is not None:
        terms = decisions.terms()
        named = [sum(value for _, value in one.named()) for one in terms]
        largest = [sum(value for _, value in one.largest(2)) for one in terms]
        np.testing.assert_allclose(named, terms.log_odds, atol=1e-9)
        np.testing.assert_allclose(largest, terms.log_odds, atol=1e-9)
        complete = (terms.fading == 1.0) & ~decisions.missing.any(axis=1)
        p = np.sort(decisions.probabilities[complete], axis=1)
        if complete.any() and getattr(model, "class_weight", None) is None:
            np.testing.assert_allclose(np.log(p[:, -1] / p[:, -2]), terms.log_odds[complete], atol=1e-9)
    if hasattr(model, "feature_importances_"):
        assert model.feature_importances_.shape == (X.shape[1],)
        assert (model.feature_importances_ >= 0.0).all()
    return decisions


def check_file(trial: Trial, model: Any, decisions: Any) -> None:
    path = trial.call("save", lambda: saved(model, trial.folder))
    if path is None:
        return
    inside = {"estimator": model.estimator_} if trial.cell.model == "trusted boosting" else {}
    again = sepc.load(path, **inside).decide(trial.cell.new[0])
    for name in ("label", "trust", "accepted", "cause", "probabilities", "region"):
        np.testing.assert_array_equal(getattr(again, name), getattr(decisions, name), err_msg=name)
    assert again.why() == decisions.why()


def cases() -> list[Any]:
    """Every cell; those are quick that hold every model, and every kind of column with gaps and without."""
    every = [(cell, i // 3 % 3 == i % 3) for i, cell in enumerate(cells())]
    every += [(cell, i == 0) for i, cell in enumerate(alone())]
    return [pytest.param(cell, id=str(cell), marks=[] if quick else pytest.mark.slow) for cell, quick in every]


@pytest.mark.parametrize("cell", cases())
def test_every_public_name_gives_an_answer_or_says_why_not(cell, tmp_path):
    trial = Trial(cell, tmp_path)
    model = trial.call("fit", lambda: cell.fitted)
    if model is not None:
        decisions = check_decisions(trial, model)
        check_file(trial, model, decisions)
        trial.visit("model", model[-1] if isinstance(model, Pipeline) else model)
        trial.visit("decisions", decisions)
        trial.visit("decision", decisions[0])
        for name, function in functions(trial, model).items():
            trial.visit(name, trial.call(name, function))
    assert not trial.faults, f"{len(trial.faults)} of {trial.n_calls} calls:\n" + "\n".join(trial.faults)


def test_the_cells_hold_every_pair():
    every = cells()
    assert {(cell.model, cell.n_classes) for cell in every} == {(model, n) for model in MODELS for n in LABELS}
    kinds = {(one, cell.model) for cell in every for one in cell.columns}
    assert kinds == {(one, model) for one in COLUMNS for model in MODELS}
    assert {(one, cell.n_classes) for cell in every for one in cell.columns} == {
        (one, n) for one in COLUMNS for n in LABELS
    }
    quick = [one.values[0] for one in cases() if not one.marks]
    assert {cell.model for cell in quick} == set(MODELS)
    assert {cell.n_classes for cell in quick} == set(LABELS)
    assert {one for cell in quick for one in cell.columns} == set(COLUMNS)
