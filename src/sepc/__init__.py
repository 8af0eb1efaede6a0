"""Classification with trust: sequential ellipsoidal partitioning, with certificates."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sepc.decisions.decisions import Decision, Decisions
    from sepc.decisions.kinds import Cause
    from sepc.errors import (
        BrokenPromiseWarning,
        FlatSetWarning,
        ForeignModelError,
        FormatError,
        LeftOutWarning,
        MovedColumnsError,
        NoPromiseWarning,
        NotConvergedWarning,
        RefusedLookError,
        SignatureError,
        TrainingRowsWarning,
    )
    from sepc.estimators.base import decide
    from sepc.estimators.decided_rows import rows_digest
    from sepc.estimators.repaired import RepairedClassifier
    from sepc.estimators.selective.costs import Costs
    from sepc.estimators.selective.estimator import SelectiveClassifier
    from sepc.estimators.sep.estimator import SEPClassifier
    from sepc.estimators.stratified import StratifiedClassifier
    from sepc.estimators.trusted import TrustedClassifier
    from sepc.io.signatures import sign, verify
    from sepc.kernels.enclose import enclose
    from sepc.landscape.landscape import Landscape
    from sepc.lifecycle.compare import compare
    from sepc.looking.look import look
    from sepc.looking.suspects import suspects
    from sepc.model.edits import Edit
    from sepc.model_files import inspect, load, save
    from sepc.recourses.asking import recourse
    from sepc.recourses.many_rows import RecourseTable
    from sepc.recourses.recourse import Recourse
    from sepc.reporting.bill_of_materials import bill_of_materials
    from sepc.reporting.card import model_card
    from sepc.reporting.report import Report, report

# The module that defines each public name, imported on first use so that `import sepc` is quick.
_HOME = {
    "BrokenPromiseWarning": "sepc.errors",
    "Cause": "sepc.decisions.kinds",
    "Costs": "sepc.estimators.selective.costs",
    "Decision": "sepc.decisions.decisions",
    "Decisions": "sepc.decisions.decisions",
    "Edit": "sepc.model.edits",
    "FlatSetWarning": "sepc.errors",
    "ForeignModelError": "sepc.errors",
    "FormatError": "sepc.errors",
    "Landscape": "sepc.landscape.landscape",
    "LeftOutWarning": "sepc.errors",
    "MovedColumnsError": "sepc.errors",
    "NoPromiseWarning": "sepc.errors",
    "NotConvergedWarning": "sepc.errors",
    "Recourse": "sepc.recourses.recourse",
    "RecourseTable": "sepc.recourses.many_rows",
    "RefusedLookError": "sepc.errors",
    "RepairedClassifier": "sepc.estimators.repaired",
    "Report": "sepc.reporting.report",
    "SEPClassifier": "sepc.estimators.sep.estimator",
    "SelectiveClassifier": "sepc.estimators.selective.estimator",
    "SignatureError": "sepc.errors",
    "StratifiedClassifier": "sepc.estimators.stratified",
    "TrainingRowsWarning": "sepc.errors",
    "TrustedClassifier": "sepc.estimators.trusted",
    "bill_of_materials": "sepc.reporting.bill_of_materials",
    "compare": "sepc.lifecycle.compare",
    "decide": "sepc.estimators.base",
    "enclose": "sepc.kernels.enclose",
    "inspect": "sepc.model_files",
    "load": "sepc.model_files",
    "look": "sepc.looking.look",
    "model_card": "sepc.reporting.card",
    "recourse": "sepc.recourses.asking",
    "report": "sepc.reporting.report",
    "rows_digest": "sepc.estimators.decided_rows",
    "save": "sepc.model_files",
    "sign": "sepc.io.signatures",
    "suspects": "sepc.looking.suspects",
    "verify": "sepc.io.signatures",
}

__all__ = [
    "BrokenPromiseWarning",
    "Cause",
    "Costs",
    "Decision",
    "Decisions",
    "Edit",
    "FlatSetWarning",
    "ForeignModelError",
    "FormatError",
    "Landscape",
    "LeftOutWarning",
    "MovedColumnsError",
    "NoPromiseWarning",
    "NotConvergedWarning",
    "Recourse",
    "RecourseTable",
    "RefusedLookError",
    "RepairedClassifier",
    "Report",
    "SEPClassifier",
    "SelectiveClassifier",
    "SignatureError",
    "StratifiedClassifier",
    "TrainingRowsWarning",
    "TrustedClassifier",
    "bill_of_materials",
    "compare",
    "decide",
    "enclose",
    "inspect",
    "load",
    "look",
    "model_card",
    "recourse",
    "report",
    "rows_digest",
    "save",
    "sign",
    "suspects",
    "verify",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("sepc.wording").version_of("sepc")
    if name not in _HOME:
        raise AttributeError(f"module 'sepc' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
