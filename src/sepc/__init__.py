"""Classification with trust: sequential ellipsoidal partitioning, with certificates."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sepc.decisions.decisions import Decision as Decision
    from sepc.decisions.decisions import Decisions as Decisions
    from sepc.decisions.kinds import Cause as Cause
    from sepc.estimators.base import decide as decide
    from sepc.estimators.routed import RoutedClassifier as RoutedClassifier
    from sepc.estimators.selective.costs import Costs as Costs
    from sepc.estimators.selective.estimator import SelectiveClassifier as SelectiveClassifier
    from sepc.estimators.sep.estimator import SEPClassifier as SEPClassifier
    from sepc.estimators.trusted import TrustedClassifier as TrustedClassifier
    from sepc.kernels.enclose import enclose as enclose
    from sepc.landscape.landscape import Landscape as Landscape
    from sepc.lifecycle.compare import compare as compare
    from sepc.looking.look import look as look
    from sepc.model.edits import Edit as Edit
    from sepc.model_files import inspect as inspect
    from sepc.model_files import load as load
    from sepc.model_files import save as save
    from sepc.recourses.asking import recourse as recourse
    from sepc.recourses.many_rows import RecourseTable as RecourseTable
    from sepc.recourses.recourse import Recourse as Recourse
    from sepc.reporting.report import Report as Report
    from sepc.reporting.report import report as report
    from sepc.tables.table_file import read_table as read_table

# The module that defines each public name, imported on first use so that `import sepc` is quick.
_HOME = {
    "Cause": "sepc.decisions.kinds",
    "Costs": "sepc.estimators.selective.costs",
    "Decision": "sepc.decisions.decisions",
    "Decisions": "sepc.decisions.decisions",
    "Edit": "sepc.model.edits",
    "Landscape": "sepc.landscape.landscape",
    "Recourse": "sepc.recourses.recourse",
    "RecourseTable": "sepc.recourses.many_rows",
    "Report": "sepc.reporting.report",
    "RoutedClassifier": "sepc.estimators.routed",
    "SEPClassifier": "sepc.estimators.sep.estimator",
    "SelectiveClassifier": "sepc.estimators.selective.estimator",
    "TrustedClassifier": "sepc.estimators.trusted",
    "compare": "sepc.lifecycle.compare",
    "decide": "sepc.estimators.base",
    "enclose": "sepc.kernels.enclose",
    "inspect": "sepc.model_files",
    "load": "sepc.model_files",
    "look": "sepc.looking.look",
    "read_table": "sepc.tables.table_file",
    "recourse": "sepc.recourses.asking",
    "report": "sepc.reporting.report",
    "save": "sepc.model_files",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("sepc.wording").version_of("sepc")
    if name == "errors":
        return importlib.import_module("sepc.errors")
    if name not in _HOME:
        raise AttributeError(f"module 'sepc' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
