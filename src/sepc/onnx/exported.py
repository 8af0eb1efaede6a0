"""What the ONNX file says about a model besides its graph: inputs, labels and metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.decisions.kinds import Cause
from sepc.estimators.exported import Exported, type_of_labels
from sepc.onnx.columns import TARGET, ColumnInput, inputs_of
from sepc.plain_values import version_of

# The outputs after the label, in order, and their types.
KINDS = {"probabilities": "DOUBLE", "trust": "DOUBLE", "region": "INT64", "cause": "INT64", "accepted": "BOOL"}

LABEL_KINDS = {str: ("STRING", object), bool: ("BOOL", np.bool_), int: ("INT64", np.int64), float: ("DOUBLE", float)}


def inputs_of_model(exported: Exported, outputs: Collection[str]) -> tuple[ColumnInput, ...]:
    """One input for each column of a table with categories or dates; empty if the rows come as one matrix."""
    preparation = exported.decider.encoding_
    return () if preparation is None else inputs_of(preparation, tuple(outputs))


def facts(exported: Exported, inputs: tuple[ColumnInput, ...]) -> dict[str, str]:
    """The metadata of the file: the version of sepc, and everything else as JSON."""
    least = dict(zip(exported.decider.classes_.tolist(), exported.thresholds.tolist(), strict=True))
    accepted_from = [least.get(label, math.inf) for label in exported.classes.tolist()]
    own = {
        "estimator": exported.name,
        "decider": type(exported.decider).__name__,
        "classes": exported.classes.tolist(),
        "feature_names": list(exported.decider.model_.feature_names),
        "accepted_from_trust": [trust if math.isfinite(trust) else None for trust in accepted_from],
        **({"inputs": [given.facts() for given in inputs]} if inputs else {}),
        **({"remarks": list(exported.remarks)} if exported.remarks else {}),
        "causes": {str(int(cause)): cause.name for cause in Cause if cause is not Cause.DRIFTED},
    }
    return {"sepc_version": version_of("sepc")} | {name: json.dumps(fact) for name, fact in own.items()}


def label_constant(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """The labels as an ONNX constant, and its type; raises TypeError if ONNX has no type for them.

    Examples
    --------
    >>> label_constant(np.array([3, 7], dtype=np.int8))
    (array([3, 7]), 'INT64')
    >>> label_constant(np.array(["no", "yes"]))[1]
    'STRING'
    """
    kind, dtype = LABEL_KINDS[type_of_labels(classes, TARGET)]
    return classes.astype(dtype), kind
