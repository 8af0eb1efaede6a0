"""A bill of materials for a fitted model, in the format CycloneDX 1.6: what it was made from and with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sepc.estimators.base import decide_with_trust
from sepc.estimators.unwrapping import classifier_name, unwrap, warn_if_broken
from sepc.io.history import Step
from sepc.model_files import describe, to_bytes
from sepc.reporting.card import WRAP_IT, held_out_figures
from sepc.reporting.facts import facts_of, parameters_of, promise_of
from sepc.wording import counted

SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
SPECIFICATION = "1.6"

PYTHON = "Python"

FAMILY = "generalised additive model with an ellipsoidal partition"
LIMITS = (
    "The model abstains on rows whose trust is below its threshold; labels of such rows are not meant to be used.",
    "Trust and promises hold for rows from the distribution that the model was fitted to and calibrated on.",
)


def bill_of_materials(
    estimator: Any, X: ArrayLike | None = None, y: ArrayLike | None = None, *, name: str | None = None
) -> dict[str, Any]:
    """A machine-learning bill of materials of a fitted model, in the format CycloneDX 1.6.

    It says what `model_card` says, for programs: what the model is, the rows and versions it was made with, the models
    it was made from, its parameters, and its performance on held-out rows if any are given. It has no date and no
    serial number, so the same model gives the same bill.

    Parameters
    ----------
    estimator : SEPClassifier or any other estimator of this library
        Fitted. Something that `save` accepts.
    X, y : rows and their labels, optional
        Held-out rows: none of them may have been used for fitting.
    name : str, optional
        The name of the model; by default that of its class.

    Returns
    -------
    dict
        Write it with ``json.dump``. The hash of the model is that of the file that `save` writes.

    Examples
    --------
    >>> import sepc.lifecycle
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bill = sepc.lifecycle.bill_of_materials(sepc.SEPClassifier().fit(X, y), name="flowers")
    >>> bill["metadata"]["component"]["type"], bill["specVersion"]
    ('machine-learning-model', '1.6')
    """
    check_is_fitted(estimator)
    warn_if_broken(estimator)
    data = to_bytes(estimator)
    contents = describe(data)
    steps = contents.history.steps
    used = [_component(text) for text in dict.fromkeys(text for step in steps for text in step.versions)]
    inside = [_foreign(step) for step in steps if step.is_foreign]
    own = f"sepc-model:{steps[-1].model}"
    figures = [] if X is None or y is None else held_out_figures(decide_with_trust(estimator, X, WRAP_IT), y)
    return {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "machine-learning-model",
                "bom-ref": own,
                "name": name or classifier_name(estimator),
                "version": steps[-1].model,
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}],
                **_pedigree(steps),
                "modelCard": _model_card(estimator, steps, figures),
                "properties": _properties(estimator, contents.format),
            }
        },
        "components": [*used, *inside],
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in (*used, *inside)]}],
    }


def _model_card(estimator: Any, steps: tuple[Step, ...], figures: Iterable[tuple[str, str]]) -> dict[str, Any]:
    facts, kind = dict(facts_of(estimator)), type(unwrap(estimator).classifier).__name__
    classes = ", ".join(map(str, unwrap(estimator).classifier.classes_))
    metrics = [{"type": figure, "value": value, "slice": "held-out rows"} for figure, value in figures]
    return {
        "modelParameters": {
            "approach": {"type": "supervised"},
            "task": "classification",
            "architectureFamily": FAMILY,
            "modelArchitecture": kind,
            "datasets": [_dataset(number, step) for number, step in enumerate(steps, 1) if step.n_rows],
            "inputs": [{"format": f"table with columns {facts['features']}"}],
            "outputs": [
                {"format": f"label, one of {classes}"},
                {"format": "trust, a number from 0 to 1"},
                {"format": "whether the label is accepted, and otherwise the cause"},
            ],
        },
        **({"quantitativeAnalysis": {"performanceMetrics": metrics}} if metrics else {}),
        "considerations": {"technicalLimitations": list(LIMITS)},
    }


def _dataset(number: int, step: Step) -> dict[str, Any]:
    return {
        "type": "dataset",
        "name": f"rows of step {number}",
        "description": f"{step.kind} {step.done} {counted(step.n_rows or 0, 'row')}",
        "contents": {"properties": _named({"rows": str(step.n_rows), "rows-digest": step.rows})},
    }


def _pedigree(steps: tuple[Step, ...]) -> dict[str, Any]:
    """The model that the last step was made from, if it was made from one."""
    parent = steps[-1].parent
    kind = next((step.kind for step in steps if step.model == parent), "model")
    ancestor = {"type": "machine-learning-model", "name": kind, "version": parent}
    return {"pedigree": {"ancestors": [ancestor]}} if parent else {}


def _component(package: str) -> dict[str, Any]:
    """A package of Python, or Python itself, from its name and version."""
    name, _, number = package.partition(" ")
    if name == PYTHON:
        return {"type": "platform", "bom-ref": f"{name}@{number}", "name": name, "version": number}
    purl = f"pkg:pypi/{name.lower()}@{number}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": number, "purl": purl}


def _foreign(step: Step) -> dict[str, Any]:
    return {"type": "machine-learning-model", "bom-ref": f"model:{step.kind}", "name": step.kind}


def _properties(estimator: Any, file_format: int) -> list[dict[str, str]]:
    """What CycloneDX has no field for: the format of the file, facts of the card, the promise and the parameters."""
    facts = {fact.replace(" ", "-"): value for fact, value in facts_of(estimator)}
    promise = {"promise": " ".join(promise_of(estimator))}
    parameters = {f"parameter:{parameter}": value for parameter, value in parameters_of(unwrap(estimator).classifier)}
    return _named({"file-format": str(file_format), **facts, **promise, **parameters})


def _named(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": f"sepc:{name}", "value": value} for name, value in values.items() if value]
