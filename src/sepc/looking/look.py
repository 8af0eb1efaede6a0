"""A look at a table and its labels before a model is fitted."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sepc.looking.findings import Findings
from sepc.looking.labels import label_findings
from sepc.looking.row_order import row_findings


def look(X: Any, y: ArrayLike | None = None) -> Findings:
    """What stands out in a table and its labels, the worst first."""
    found = [*([] if y is None else label_findings(y)), *row_findings(X, y)]
    return Findings.of(found, len(X), len(X))
