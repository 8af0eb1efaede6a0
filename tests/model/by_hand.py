"""Models small enough to do by hand, and classifiers that decide by them."""

import numpy as np

from sepc import SEPClassifier
from sepc.model.counts import SignatureTable
from sepc.model.sep_model import SEPModel


def model_of(centers, roots, owners, table, isolated=(), isolated_owners=(), trust="counts"):
    """A model of classes "a" and "b" in the features' own units."""
    d = roots.shape[2]
    return SEPModel(
        classes=np.array(["a", "b"]),
        class_counts=table.counts.sum(axis=0),
        feature_names=tuple(f"x{j}" for j in range(d)),
        shift=np.zeros(d),
        scale=np.ones(d),
        centers=centers,
        roots=roots,
        owners=np.array(owners, dtype=np.int64),
        is_terminal=np.zeros(len(centers), dtype=bool),
        isolated=np.array(isolated, dtype=float).reshape(-1, d),
        isolated_owners=np.array(isolated_owners, dtype=np.int64),
        table=table,
        slack=1e-9,
        trust=trust,
    )


def deciding_by(model, min_trust=0.9):
    """A classifier that decides by this model."""
    classifier = SEPClassifier(min_trust=min_trust, trust=model.trust)
    fitted = {"model_": model, "classes_": model.classes, "n_features_in_": len(model.shift), "encoding_": None}
    for name, value in fitted.items():
        setattr(classifier, name, value)
    return classifier


def intervals(**changes):
    """Intervals [-1, 1] of 'a', [0, 2] and [1.5, 3.5] of 'b' on a line; nobody lies in all three."""
    sets = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)
    table = SignatureTable(sets, np.array([[0, 40], [1, 9], [30, 2], [2, 3]]))
    given = {"owners": [0, 1, 1], "table": table} | changes
    return model_of(np.array([[0.0], [1.0], [2.5]]), np.ones((3, 1, 1)), **given)
