"""`SEPClassifier` in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.sep.fitted import FittedEllipsoid, History, Hyperplane, regions_of
from sepc.estimators.sep.model_state import model_from, model_to_node
from sepc.io.estimator_fields import fields_to_node, restore_fields
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.writer import Node, Writer
from sepc.model.sep_model import SEPModel
from sepc.plain_values import plain


def write(classifier: SEPClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier with the history of its fit."""
    model, ellipsoids = classifier.model_, classifier.ellipsoids_
    cuts = [cut for ellipsoid in ellipsoids for cut in ellipsoid.cuts]
    writer.put(
        n_cuts=np.array([len(ellipsoid.cuts) for ellipsoid in ellipsoids], dtype=np.int64),
        n_round=np.array([ellipsoid.n_round for ellipsoid in ellipsoids], dtype=np.int64),
        cut_normals=np.array([cut.normal for cut in cuts]).reshape(-1, len(model.feature_names)),
        cut_offsets=np.array([cut.offset for cut in cuts], dtype=np.float64),
        through_means=np.array([cut.through_means for cut in cuts], dtype=bool),
    )
    return fields_to_node(classifier) | {
        "model": model_to_node(model, writer.under("model")),
        "history": [
            {"rows_left": [list(left) for left in history.rows_left], "stopped_because": history.stopped_because}
            for history in classifier.history_
        ],
    }


def read(reader: Reader, inner: InnerModels) -> SEPClassifier:
    """Read a classifier."""
    classifier = restore_fields(SEPClassifier(), reader)
    model = model_from(reader.part("model"))
    if len(model.feature_names) != classifier.n_features_in_:
        raise reader.wrong("has a model with another number of features")
    classifier.model_, classifier.classes_ = model, model.classes
    classifier.ellipsoids_ = _ellipsoids_from(reader, model)
    classifier.history_ = tuple(
        _history_from(part, label) for part, label in zip(reader.parts("history"), model.classes, strict=False)
    )
    classifier.regions_ = regions_of(model)
    return classifier


def _ellipsoids_from(reader: Reader, model: SEPModel) -> tuple[FittedEllipsoid, ...]:
    n_cuts, n_round = (reader.ints(name, model.n_ellipsoids) for name in ("n_cuts", "n_round"))
    total = int(n_cuts.sum())
    normals, offsets = (
        reader.floats("cut_normals", total, len(model.feature_names)),
        reader.floats("cut_offsets", total),
    )
    through_means = reader.bools("through_means", total)
    cuts = [Hyperplane(*cut) for cut in zip(normals, offsets.tolist(), through_means.tolist(), strict=True)]
    ends = np.cumsum(n_cuts)
    return tuple(
        FittedEllipsoid.of(model, k, tuple(cuts[ends[k] - n_cuts[k] : ends[k]]), int(n_round[k]))
        for k in range(model.n_ellipsoids)
    )


def _history_from(reader: Reader, label: Any) -> History:
    left = reader.value("rows_left", list)
    if not all(isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair) for pair in left):
        raise reader.wrong("has rows_left that are not pairs of integers")
    return History(plain(label), tuple((pair[0], pair[1]) for pair in left), reader.text("stopped_because"))
