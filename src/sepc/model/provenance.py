"""How a fitted model was made: from which rows, with which versions, and from which other model."""

from __future__ import annotations

import platform
import re
from functools import cache

import numpy as np
import scipy
import sklearn

from sepc.plain_values import version_of
from sepc.records import record, text, texts, whole

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
