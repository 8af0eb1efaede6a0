"""`SEPModel` in a model file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.estimators.sep.row_kinds_state import row_kinds_from, row_kinds_to_node
from sepc.estimators.sep.usual_state import usual_from, usual_to_node
from sepc.estimators.sep.weights_state import weights_from, weights_to_node
from sepc.io.reader import Reader
from sepc.io.values import labels_from, labels_to_node
from sepc.io.writer import Node, Writer
from sepc.model.membership import FARTHEST
from sepc.model.row_kinds import RowKinds
from sepc.model.seen_rows import SeenRows
from sepc.model.sep_model import TRUSTS, SEPModel
from sepc.model.signature_table import SignatureTable
from sepc.model.usual import Spoken
from sepc.model.weights import Weights

# Slack only covers rounding, so sepc never writes more than this.
MOST_SLACK = 1e-3

# Numbers in memory at a time, while ellipsoids are checked: 8 MB.
BLOCK_ENTRIES = 2**20


def model_to_node(model: SEPModel, writer: Writer) -> Node:
    """Write a model."""
    writer.put(
        class_counts=model.class_counts,
        shift=model.shift,
        scale=model.scale,
        centers=model.centers,
        roots=model.roots,
        owners=model.owners,
        is_terminal=model.is_terminal,
        isolated=model.isolated,
        isolated_owners=model.isolated_owners,
        memberships=model.table.memberships,
        counts=model.table.counts,
        **({} if model.seen_rows is None else {"seen_rows": model.seen_rows.hashes}),
    )
    weights, kinds, usual = model.weights, model.row_kinds, model.usual
    return {
        "classes": labels_to_node(model.classes),
        "feature_names": list(model.feature_names),
        "slack": model.slack,
        "trust": model.trust,
        "published": model.published,
        "weights": None if weights is None else weights_to_node(weights, writer.under("weights")),
        "row_kinds": None if kinds is None else row_kinds_to_node(kinds, writer.under("row_kinds")),
        "usual": None if usual is None else usual_to_node(usual, writer.under("usual")),
    }


def model_from(reader: Reader, spoken: Sequence[Spoken] | None) -> SEPModel:
    """Read a model, and check that `fit` could have produced it.

    Its features are spoken of as `spoken` says; None stands for numbers.
    """
    classes, names = labels_from(reader.part("classes")), reader.texts("feature_names")
    n_classes, d = len(classes), len(names)
    spoken = (Spoken(),) * d if spoken is None else spoken
    if len(spoken) != d:
        raise reader.wrong("has other features than its columns give")
    centers = reader.floats("centers", None, d)
    isolated = reader.floats("isolated", None, d)
    shift, scale = reader.floats("shift", d), reader.floats("scale", d)
    model = SEPModel(
        classes=classes,
        class_counts=reader.counts("class_counts", n_classes),
        feature_names=names,
        shift=shift,
        scale=scale,
        centers=centers,
        roots=reader.floats("roots", len(centers), d, d),
        owners=reader.ints("owners", len(centers), below=n_classes),
        is_terminal=reader.bools("is_terminal", len(centers)),
        isolated=isolated,
        isolated_owners=reader.ints("isolated_owners", len(isolated), below=n_classes),
        table=_table_from(reader, len(centers), n_classes),
        slack=reader.number("slack", 0.0, MOST_SLACK),
        trust=reader.text("trust"),
        published=reader.value("published", bool),
        weights=_weights_from(reader, n_classes, d, len(centers), len(isolated)),
        row_kinds=_row_kinds_from(reader, shift, scale, n_classes),
        seen_rows=SeenRows(reader.ints("seen_rows", None, low=-(2**63), below=2**63)),
        usual=usual_from(reader.part("usual"), spoken, n_classes, len(centers)),
    )
    _check(model, reader)
    return model


def _weights_from(reader: Reader, n_classes: int, d: int, n_ellipsoids: int, n_isolated: int) -> Weights | None:
    """The weights, which a model has if and only if ``trust`` is "weights"."""
    if reader.has("weights") is not (reader.text("trust") == "weights"):
        raise reader.wrong("has weights without trust by weights, or trust by weights without them")
    if not reader.has("weights"):
        return None
    return weights_from(reader.part("weights"), n_classes, d, n_ellipsoids, n_isolated)


def _row_kinds_from(reader: Reader, shift: FloatArray, scale: FloatArray, n_classes: int) -> RowKinds | None:
    """The kinds of rows, which only a model with weights has."""
    if not reader.has("row_kinds"):
        return None
    if not reader.has("weights"):
        raise reader.wrong("has kinds of rows without weights")
    return row_kinds_from(reader.part("row_kinds"), shift, scale, n_classes)


def _table_from(reader: Reader, n_ellipsoids: int, n_classes: int) -> SignatureTable:
    memberships = reader.bools("memberships", None, n_ellipsoids)
    if len(memberships) == 0 or not _is_ordered(memberships):
        raise reader.wrong("has a signature table that is empty or not in order")
    return SignatureTable(memberships, reader.counts("counts", len(memberships), n_classes))


def _is_ordered(memberships: BoolArray) -> bool:
    """Whether the rows are distinct and in lexicographic order."""
    above, below = memberships[:-1], memberships[1:]
    differs = above != below
    first = differs.argmax(axis=1) if memberships.shape[1] else np.zeros(len(above), dtype=np.int64)
    return bool(differs.any(axis=1).all() and below[np.arange(len(below)), first].all()) if len(above) else True


def _check(model: SEPModel, reader: Reader) -> None:
    if len(model.feature_names) == 0 or (model.scale <= 0.0).any():
        raise reader.wrong("has no features, or a scale that is not positive")
    if model.trust not in TRUSTS or (model.published and model.trust != "published"):
        raise reader.wrong("computes trust in an unknown way")
    if not np.array_equal(model.table.counts.sum(axis=0), model.class_counts) or model.class_counts.min() < 1:
        raise reader.wrong("has a signature table that does not match its number of training rows")
    if len(model.centers) + len(model.isolated) == 0:
        raise reader.wrong("has neither ellipsoids nor isolated rows")
    if max(np.abs(places).max(initial=0.0) for places in (model.centers, model.isolated)) > FARTHEST:
        raise reader.wrong("has ellipsoids or isolated rows that are impossibly far away")
    if not _has_ellipsoids(model):
        raise reader.wrong("has an invalid ellipsoid: its matrix is singular, or too large for its features")


def _has_ellipsoids(model: SEPModel) -> bool:
    """Whether all ellipsoids are valid, in standardised features and in the user's own."""
    step = max(1, BLOCK_ENTRIES // model.centers.shape[1] ** 2)
    try:
        with np.errstate(all="ignore"):
            places = (model.shift + model.scale * places for places in (model.centers, model.isolated))
            roots = (model.roots[start : start + step] for start in range(0, model.n_ellipsoids, step))
            finite = all(np.isfinite(own).all() for own in places)
            return finite and all(_are_valid(block, model.scale) for block in roots) and bool(np.isfinite(model.reach))
    except (ZeroDivisionError, np.linalg.LinAlgError):
        return False


def _are_valid(roots: FloatArray, scale: FloatArray) -> bool:
    """Whether these roots have an inverse, and neither they nor their inverses are too large to be squared."""
    in_own_features = roots / scale
    sizes = (np.abs(matrix).max(initial=0.0) for matrix in (roots, np.linalg.inv(roots)))
    determinants = (np.linalg.slogdet(matrix).logabsdet for matrix in (roots, in_own_features))
    return (
        all(size <= FARTHEST for size in sizes)
        and bool(np.isfinite(in_own_features).all())
        and all(np.isfinite(logarithms).all() for logarithms in determinants)
    )
