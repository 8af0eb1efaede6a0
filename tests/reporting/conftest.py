"""Rows, a model and its report, which tests only read."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from sepc import SEPClassifier, report
from sepc.documents.charts import Linked, Points


@pytest.fixture(scope="session")
def moons():
    """Training rows and labels, and others."""
    X, y = make_moons(600, noise=0.3, random_state=0)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="session")
def classifier(moons):
    return SEPClassifier(min_trust=0.8).fit(*moons[:2])


@pytest.fixture(scope="session")
def decisions(moons, classifier):
    return classifier.decide(moons[2])


@pytest.fixture(scope="session")
def made(moons, classifier):
    return report(classifier, *moons[2:])


@pytest.fixture(scope="session")
def of_many():
    """Rows of twelve classes, their labels, and a report on them."""
    X, y = make_blobs(720, centers=12, n_features=3, cluster_std=2.5, random_state=0)
    names = np.array([f"kind {k}" for k in range(12)])[y]
    model = SEPClassifier(max_ellipsoids=2).fit(X[::2], names[::2])
    return model.predict(X[1::2]), names[1::2], report(model, X[1::2], names[1::2])


@pytest.fixture(scope="session")
def rows_drawn():
    """The places of rows in the picture of a partition, one for each mark, without crosses."""

    def places(figure):
        marks = figure.charts[0].marks
        groups = [one.marks if isinstance(one, Linked) and one.kind == "place" else [one] for one in marks]
        points = [one for own in groups for one in own if isinstance(one, Points) and one.shape != "cross"]
        return [place for one in points for place in zip(one.x, one.y, strict=True)]

    return places
