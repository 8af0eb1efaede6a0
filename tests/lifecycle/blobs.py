"""Two blobs of rows, and a model of the first thousand, for tests of reviews and of files."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from zoo import fitted_once

from sepc import SEPClassifier

X, NUMBERS = make_blobs(6000, centers=[[0, 0], [4, 0]], random_state=0)
Y = np.array(["blue", "red"])[NUMBERS]
DAYS = [slice(1000 * day, 1000 * (day + 1)) for day in range(1, 6)]


@fitted_once
def shared_model(numbers=False):
    """A model whose labels are texts or numbers."""
    return SEPClassifier().fit(X[:1000], (NUMBERS if numbers else Y)[:1000])
