"""Classification with trust: sequential ellipsoidal partitioning, with certificates."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sepc.estimator.classifier import SEPClassifier
    from sepc.kernels.enclose import Enclosure, enclose
    from sepc.selective.forest import SEPForestClassifier
    from sepc.selective.selective import SelectiveClassifier
    from sepc.shapes.ellipsoid import Ellipsoid

_HOME = {
    "Ellipsoid": "sepc.shapes.ellipsoid",
    "Enclosure": "sepc.kernels.enclose",
    "SEPClassifier": "sepc.estimator.classifier",
    "SEPForestClassifier": "sepc.selective.forest",
    "SelectiveClassifier": "sepc.selective.selective",
    "enclose": "sepc.kernels.enclose",
}

__all__ = ["Ellipsoid", "Enclosure", "SEPClassifier", "SEPForestClassifier", "SelectiveClassifier", "enclose"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'sepc' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
