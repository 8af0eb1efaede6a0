"""`SEPClassifier` in a model file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sepc.columns.preparation import Preparation, feature_displays
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.sep.fitted import FittedEllipsoids, History, Regions, RowsUsed
from sepc.io.codec import Node, Reader, Writer, record_from, record_to_node
from sepc.io.estimator_fields import InnerModels, fields_to_node, restore_fields
from sepc.model.edits import Edits
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import FeatureDisplay
from sepc.wording import plain

# Parameters that files of earlier versions lack; a file has them only if they are used.
LATER_PARAMETERS = ("monotone", "monotone_for", "features_alone", "max_features")


def write(classifier: SEPClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier with the history of its fit."""
    preparation, edits = classifier.encoding_, classifier.model_.edits
    prepared = None if preparation is None else record_to_node(preparation, writer.under("preparation"))
    unused = tuple(name for name in LATER_PARAMETERS if getattr(classifier, name) is None)
    return fields_to_node(classifier, without=unused) | {
        "preparation": prepared,
        "model": record_to_node(classifier.model_, writer.under("model")),
        **record_to_node(classifier.ellipsoids_, writer),
        "rows_used": record_to_node(classifier.rows_used_, writer),
        "history": [record_to_node(history, writer) for history in classifier.history_],
        # A model without edits has the same file as ever.
        **({} if edits is None else {"edits": record_to_node(edits, writer.under("edits"))}),
    }


def read(reader: Reader, inner: InnerModels) -> SEPClassifier:
    """Read a classifier."""
    classifier = restore_fields(SEPClassifier(), reader)
    preparation = _preparation_from(reader, classifier)
    part = reader.part("model")
    plain_numbers = (FeatureDisplay(),) * len(part.texts("feature_names"))
    displays = plain_numbers if preparation is None else tuple(feature_displays(preparation))
    model = _with_edits(record_from(SEPModel, part, displays=displays), reader)
    _check_features(reader, model, preparation, classifier.n_features_in_)
    classifier.encoding_ = preparation
    classifier.model_, classifier.classes_ = model, model.classes
    sizes = {"K": model.n_ellipsoids, "g": len(model.placed)}
    classifier.ellipsoids_ = record_from(FittedEllipsoids, reader, sizes, model=model)
    if len(reader.value("history", list)) > len(model.classes):
        raise reader.wrong("has more partitions than classes")
    histories = zip(reader.parts("history"), model.classes, strict=False)
    classifier.history_ = tuple(record_from(History, part, label=plain(label)) for part, label in histories)
    classifier.rows_used_ = record_from(RowsUsed, reader.part("rows_used"))
    classifier.regions_ = Regions(model)
    return classifier


def _with_edits(model: SEPModel, reader: Reader) -> SEPModel:
    """The model with the edits of its file, if there are any; their originals must have the sizes of the model."""
    if not reader.has("edits"):
        return model
    part, weights = reader.part("edits"), model.weights
    if weights is None:
        raise reader.wrong("has edits without weights")
    n_features, n_classes = weights.lines.shape
    sizes = {"d": n_features, "C": n_classes, "K": len(weights.near), "J": len(weights.isolated)}
    edits = record_from(Edits, part, sizes)
    same = ("category_features", "n_categories")
    if not all(np.array_equal(getattr(edits.original, name), getattr(weights, name)) for name in same):
        raise part.wrong("has categories that do not match its model")
    if edits.fixed.max(initial=-1) >= n_features + model.n_codes or len(np.unique(edits.fixed)) < len(edits.fixed):
        raise part.wrong("drops columns that do not exist, or one twice")
    codes = edits.fixed >= n_features
    values, n_known = edits.typical[codes], weights.n_categories[edits.fixed[codes] - n_features]
    if (values < 0).any() or (values > n_known).any() or (values != np.floor(values)).any():
        raise part.wrong("has typical categories that do not exist")
    return replace(model, edits=edits)


def _preparation_from(reader: Reader, classifier: SEPClassifier) -> Preparation | None:
    """The preparation of tables, or None; raises if its columns are not those of the classifier."""
    if not reader.has("preparation"):
        return None
    preparation = record_from(Preparation, reader.part("preparation"))
    if len(preparation.columns) != classifier.n_features_in_:
        raise reader.wrong("has a number of columns that does not match its features")
    names = getattr(classifier, "feature_names_in_", None)
    if names is not None and [column.name for column in preparation.columns] != names.tolist():
        raise reader.wrong("has columns that do not match its feature names")
    return preparation


def _check_features(reader: Reader, model: SEPModel, preparation: Preparation | None, n_columns: int) -> None:
    """Raise if the model's features or categories do not match the preparation."""
    if preparation is None:
        if len(model.feature_names) != n_columns or model.n_codes:
            raise reader.wrong("has a model with a different number of features")
        return
    weights = model.weights
    sizes = [len(categories.values) for categories in preparation.categories.values()]
    if weights is not None and (
        weights.n_categories.tolist() != sizes
        or weights.category_features.tolist() != preparation.category_features.tolist()
    ):
        raise reader.wrong("has a model whose categories do not match its columns")
    if preparation.feature_names != model.feature_names:
        raise reader.wrong("has a model whose features do not match its columns")
