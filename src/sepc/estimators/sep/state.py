"""`SEPClassifier` in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.sep.fitted import FittedEllipsoid, History, Hyperplane, regions_of
from sepc.estimators.sep.model_state import model_from, model_to_node
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.shell import fill_shell, shell_to_node
from sepc.io.writer import Node, Writer
from sepc.model.sep_model import SEPModel


def write(classifier: SEPClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier with the story of its fit."""
    model, ellipsoids = classifier.model_, classifier.ellipsoids_
    cuts = [cut for one in ellipsoids for cut in one.cuts]
    writer.put(
        n_cuts=np.array([len(one.cuts) for one in ellipsoids], dtype=np.int64),
        n_round=np.array([one.n_round for one in ellipsoids], dtype=np.int64),
        cut_normals=np.array([cut.normal for cut in cuts]).reshape(-1, len(model.feature_names)),
        cut_offsets=np.array([cut.offset for cut in cuts], dtype=np.float64),
        through_means=np.array([cut.through_means for cut in cuts], dtype=bool),
    )
    return shell_to_node(classifier) | {
        "model": model_to_node(model, writer.under("model")),
        "history": [
            {"rows_left": [list(left) for left in one.rows_left], "stopped_because": one.stopped_because}
            for one in classifier.history_
        ],
    }


def read(reader: Reader, inner: InnerModels) -> SEPClassifier:
    """Read a classifier."""
    classifier = fill_shell(SEPClassifier(), reader)
    model = model_from(reader.part("model"))
    if len(model.feature_names) != classifier.n_features_in_:
        raise reader.wrong("has a model of another number of features")
    classifier.model_, classifier.classes_ = model, model.classes
    classifier.ellipsoids_ = _ellipsoids_from(reader, model)
    classifier.history_ = tuple(
        _history_from(part, label) for part, label in zip(reader.parts("history"), model.classes, strict=False)
    )
    classifier.regions_ = regions_of(model)
    return classifier


def _ellipsoids_from(reader: Reader, model: SEPModel) -> tuple[FittedEllipsoid, ...]:
    k = model.n_ellipsoids
    n_cuts, n_round = reader.ints("n_cuts", k), reader.ints("n_round", k)
    total = int(n_cuts.sum())
    normals, offsets = (
        reader.floats("cut_normals", total, len(model.feature_names)),
        reader.floats("cut_offsets", total),
    )
    through_means = reader.bools("through_means", total)
    cuts = [Hyperplane(*cut) for cut in zip(normals, offsets.tolist(), through_means.tolist(), strict=True)]
    ends = np.cumsum(n_cuts)
    return tuple(
        FittedEllipsoid(
            number=i,
            label=model.classes[model.owners[i]],
            ellipsoid=model.ellipsoid(i),
            counts=model.place_counts[i],
            cuts=tuple(cuts[ends[i] - n_cuts[i] : ends[i]]),
            n_round=int(n_round[i]),
            is_terminal=bool(model.is_terminal[i]),
        )
        for i in range(k)
    )


def _history_from(reader: Reader, label: Any) -> History:
    left = reader.value("rows_left", list)
    if not all(isinstance(one, list) and len(one) == 2 and all(type(n) is int for n in one) for one in left):
        raise reader.wrong("has rows left that are no pairs of numbers")
    return History(label, tuple((one[0], one[1]) for one in left), reader.text("stopped_because"))
