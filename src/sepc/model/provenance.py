"""How a fitted model was made, and the moments of its features."""

from __future__ import annotations

import platform
import re
from functools import cache

import numpy as np
import scipy
import sklearn

from sepc._typing import FloatArray
from sepc.model.sep_model import SEPModel, even_variance, weighed_places
from sepc.records import record, text, texts, whole
from sepc.wording import version_of

ROW_DIGEST = re.compile(r"([0-9a-f]{32})?")
MODEL_DIGEST = re.compile(r"([0-9a-f]{64})?")
PACKAGE = re.compile(r"[\w.-]{1,40} [\w.+!-]{1,60}")
MOST_VERSIONS = 20


@record
class Provenance:
    """How a fitted estimator was made. It holds no date, so that the same fit gives the same file.

    Attributes
    ----------
    rows : str
        Digest of the rows it was fitted to, calibrated on or repaired with, and of their labels, as `rows_digest` gives
        it; empty if it could not be computed.
    n_rows : int
        The number of these rows.
    versions : tuple of str
        Python and the packages that a fit depends on, each with its version.
    parent : str
        Digest of the model that this one was made from, if that model is not part of it; else empty.
    """

    rows: str = text()
    n_rows: int = whole()
    versions: tuple[str, ...] = texts("v")
    parent: str = text()

    @classmethod
    def now(cls, rows: str, n_rows: int, parent: str = "") -> Provenance:
        """Of something made from these rows by the running Python."""
        return cls(rows, n_rows, running_versions(), parent)

    def flaw(self) -> str | None:
        """What is wrong with values from a file."""
        if not ROW_DIGEST.fullmatch(self.rows) or not MODEL_DIGEST.fullmatch(self.parent):
            return "has a digest that is not hexadecimal, or not of the right length"
        if len(self.versions) > MOST_VERSIONS or not all(map(PACKAGE.fullmatch, self.versions)):
            return "has versions that are not names and numbers"
        return None


@cache
def running_versions() -> tuple[str, ...]:
    """Python and the packages that a fit depends on, each with its version."""
    return (
        f"Python {platform.python_version()}",
        f"sepc {version_of('sepc')}",
        f"numpy {np.__version__}",
        f"scipy {scipy.__version__}",
        f"scikit-learn {sklearn.__version__}",
    )


def mean_and_deviation(model: SEPModel) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of every standardised feature, each of shape (d,)."""
    places, held, mean = weighed_places(model)
    squared = (places - mean) ** 2
    in_ellipsoids = np.sum(np.linalg.inv(model.roots) ** 2, axis=2)
    squared[: model.n_ellipsoids] += even_variance(in_ellipsoids, places.shape[1])
    deviation = np.sqrt(np.average(squared, axis=0, weights=held))
    if model.alone is None:
        return mean, deviation
    deviations = np.ones(len(model.shift))
    if model.usual is not None:
        deviations = model.usual.overall.std(axis=1) / model.scale
    deviations[model.placed] = deviation
    return model.with_alone(mean[np.newaxis])[0], deviations
