"""Classification with trust: sequential ellipsoidal partitioning, with certificates."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sepc.decisions.decisions import Decision, Decisions
    from sepc.decisions.kinds import Cause, Rule
    from sepc.errors import ForeignModelError, FormatError
    from sepc.estimator.classifier import SEPClassifier
    from sepc.estimators.base import decide
    from sepc.io.files import inspect, load, save
    from sepc.kernels.enclose import Enclosure, enclose
    from sepc.landscape.landscape import Landscape
    from sepc.selective.costs import Costs
    from sepc.selective.repaired import RepairedClassifier
    from sepc.selective.selective import SelectiveClassifier
    from sepc.selective.stratified import StratifiedClassifier
    from sepc.selective.trusted import TrustedClassifier
    from sepc.shapes.ellipsoid import Ellipsoid

_HOME = {
    "Cause": "sepc.decisions.kinds",
    "Costs": "sepc.selective.costs",
    "Decision": "sepc.decisions.decisions",
    "Decisions": "sepc.decisions.decisions",
    "Ellipsoid": "sepc.shapes.ellipsoid",
    "Enclosure": "sepc.kernels.enclose",
    "FormatError": "sepc.errors",
    "Landscape": "sepc.landscape.landscape",
    "RepairedClassifier": "sepc.selective.repaired",
    "Rule": "sepc.decisions.kinds",
    "SEPClassifier": "sepc.estimator.classifier",
    "SelectiveClassifier": "sepc.selective.selective",
    "StratifiedClassifier": "sepc.selective.stratified",
    "TrustedClassifier": "sepc.selective.trusted",
    "decide": "sepc.estimators.base",
    "enclose": "sepc.kernels.enclose",
    "ForeignModelError": "sepc.errors",
    "inspect": "sepc.io.files",
    "load": "sepc.io.files",
    "save": "sepc.io.files",
}

__all__ = [
    "Cause",
    "Costs",
    "Decision",
    "Decisions",
    "Ellipsoid",
    "Enclosure",
    "ForeignModelError",
    "FormatError",
    "Landscape",
    "RepairedClassifier",
    "Rule",
    "SEPClassifier",
    "SelectiveClassifier",
    "StratifiedClassifier",
    "TrustedClassifier",
    "decide",
    "enclose",
    "inspect",
    "load",
    "save",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("sepc")
    if name not in _HOME:
        raise AttributeError(f"module 'sepc' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
