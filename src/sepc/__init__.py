"""Classification with trust: sequential ellipsoidal partitioning, with certificates."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sepc.decisions.decisions import Decision, Decisions
    from sepc.decisions.kinds import Cause, Rule
    from sepc.errors import (
        FlatSetWarning,
        ForeignModelError,
        FormatError,
        LeftOutWarning,
        NotConvergedWarning,
        TrainingRowsWarning,
    )
    from sepc.estimators.base import decide
    from sepc.estimators.repaired.changes import Change
    from sepc.estimators.repaired.decisions import RepairedDecision, RepairedDecisions
    from sepc.estimators.repaired.estimator import RepairedClassifier
    from sepc.estimators.selective.certificates import Certificates
    from sepc.estimators.selective.costs import Costs
    from sepc.estimators.selective.decisions import SelectiveDecisions
    from sepc.estimators.selective.estimator import SelectiveClassifier
    from sepc.estimators.selective.group_comparison import GroupComparison
    from sepc.estimators.sep.decisions import SEPDecision, SEPDecisions
    from sepc.estimators.sep.estimator import SEPClassifier
    from sepc.estimators.sep.fitted import FittedEllipsoid, History, Hyperplane
    from sepc.estimators.sep.regions import Regions
    from sepc.estimators.stratified.decisions import StratifiedDecision, StratifiedDecisions
    from sepc.estimators.stratified.estimator import StratifiedClassifier
    from sepc.estimators.stratified.strata import Strata
    from sepc.estimators.trusted.decisions import TrustedDecisions
    from sepc.estimators.trusted.estimator import TrustedClassifier
    from sepc.estimators.trusted.trust_model import TrustModel
    from sepc.io.inspection import Inspection
    from sepc.kernels.enclose import Enclosure, enclose
    from sepc.kernels.hulls import NearestPoints, nearest_points
    from sepc.kernels.softmax import Softmax, fit_softmax
    from sepc.landscape.figures import LandscapeFigures
    from sepc.landscape.landscape import Landscape
    from sepc.landscape.overlaps import Overlap
    from sepc.model.sep_model import SEPModel
    from sepc.model.terms import Term, Terms
    from sepc.model.weights import Weights
    from sepc.model_files import inspect, load, save
    from sepc.points.in_memory import ArrayPoints, BlockPoints
    from sepc.recourses.answers import Answer, FeatureChange
    from sepc.recourses.recourse import Recourse, recourse
    from sepc.reporting.card import model_card
    from sepc.reporting.figures import ReportFigures
    from sepc.reporting.report import Report, report
    from sepc.shapes.ellipsoid import Ellipsoid
    from sepc.shapes.overlap import are_disjoint, overlap_ratio

# Where each public name lives. It is loaded on first use, so that `import sepc` is quick.
_HOME = {
    "Answer": "sepc.recourses.answers",
    "ArrayPoints": "sepc.points.in_memory",
    "BlockPoints": "sepc.points.in_memory",
    "Cause": "sepc.decisions.kinds",
    "Certificates": "sepc.estimators.selective.certificates",
    "Change": "sepc.estimators.repaired.changes",
    "Costs": "sepc.estimators.selective.costs",
    "Decision": "sepc.decisions.decisions",
    "Decisions": "sepc.decisions.decisions",
    "Ellipsoid": "sepc.shapes.ellipsoid",
    "Enclosure": "sepc.kernels.enclose",
    "FeatureChange": "sepc.recourses.answers",
    "FittedEllipsoid": "sepc.estimators.sep.fitted",
    "FlatSetWarning": "sepc.errors",
    "ForeignModelError": "sepc.errors",
    "FormatError": "sepc.errors",
    "GroupComparison": "sepc.estimators.selective.group_comparison",
    "History": "sepc.estimators.sep.fitted",
    "Hyperplane": "sepc.estimators.sep.fitted",
    "Inspection": "sepc.io.inspection",
    "Landscape": "sepc.landscape.landscape",
    "LandscapeFigures": "sepc.landscape.figures",
    "LeftOutWarning": "sepc.errors",
    "NearestPoints": "sepc.kernels.hulls",
    "NotConvergedWarning": "sepc.errors",
    "Overlap": "sepc.landscape.overlaps",
    "Recourse": "sepc.recourses.recourse",
    "Regions": "sepc.estimators.sep.regions",
    "RepairedClassifier": "sepc.estimators.repaired.estimator",
    "RepairedDecision": "sepc.estimators.repaired.decisions",
    "RepairedDecisions": "sepc.estimators.repaired.decisions",
    "Report": "sepc.reporting.report",
    "ReportFigures": "sepc.reporting.figures",
    "Rule": "sepc.decisions.kinds",
    "SEPClassifier": "sepc.estimators.sep.estimator",
    "SEPDecision": "sepc.estimators.sep.decisions",
    "SEPDecisions": "sepc.estimators.sep.decisions",
    "SEPModel": "sepc.model.sep_model",
    "SelectiveClassifier": "sepc.estimators.selective.estimator",
    "SelectiveDecisions": "sepc.estimators.selective.decisions",
    "Softmax": "sepc.kernels.softmax",
    "Strata": "sepc.estimators.stratified.strata",
    "StratifiedClassifier": "sepc.estimators.stratified.estimator",
    "StratifiedDecision": "sepc.estimators.stratified.decisions",
    "StratifiedDecisions": "sepc.estimators.stratified.decisions",
    "Term": "sepc.model.terms",
    "Terms": "sepc.model.terms",
    "TrainingRowsWarning": "sepc.errors",
    "TrustModel": "sepc.estimators.trusted.trust_model",
    "TrustedClassifier": "sepc.estimators.trusted.estimator",
    "TrustedDecisions": "sepc.estimators.trusted.decisions",
    "Weights": "sepc.model.weights",
    "are_disjoint": "sepc.shapes.overlap",
    "decide": "sepc.estimators.base",
    "enclose": "sepc.kernels.enclose",
    "fit_softmax": "sepc.kernels.softmax",
    "inspect": "sepc.model_files",
    "load": "sepc.model_files",
    "model_card": "sepc.reporting.card",
    "nearest_points": "sepc.kernels.hulls",
    "overlap_ratio": "sepc.shapes.overlap",
    "recourse": "sepc.recourses.recourse",
    "report": "sepc.reporting.report",
    "save": "sepc.model_files",
}

__all__ = [
    "Answer",
    "ArrayPoints",
    "BlockPoints",
    "Cause",
    "Certificates",
    "Change",
    "Costs",
    "Decision",
    "Decisions",
    "Ellipsoid",
    "Enclosure",
    "FeatureChange",
    "FittedEllipsoid",
    "FlatSetWarning",
    "ForeignModelError",
    "FormatError",
    "GroupComparison",
    "History",
    "Hyperplane",
    "Inspection",
    "Landscape",
    "LandscapeFigures",
    "LeftOutWarning",
    "NearestPoints",
    "NotConvergedWarning",
    "Overlap",
    "Recourse",
    "Regions",
    "RepairedClassifier",
    "RepairedDecision",
    "RepairedDecisions",
    "Report",
    "ReportFigures",
    "Rule",
    "SEPClassifier",
    "SEPDecision",
    "SEPDecisions",
    "SEPModel",
    "SelectiveClassifier",
    "SelectiveDecisions",
    "Softmax",
    "Strata",
    "StratifiedClassifier",
    "StratifiedDecision",
    "StratifiedDecisions",
    "Term",
    "Terms",
    "TrainingRowsWarning",
    "TrustModel",
    "TrustedClassifier",
    "TrustedDecisions",
    "Weights",
    "are_disjoint",
    "decide",
    "enclose",
    "fit_softmax",
    "inspect",
    "load",
    "model_card",
    "nearest_points",
    "overlap_ratio",
    "recourse",
    "report",
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
