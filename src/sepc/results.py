"""Classes of results, for annotations and `isinstance`; estimators and functions return them."""

from sepc.decisions.kinds import Rule
from sepc.decisions.letter import Letter
from sepc.estimators.repaired.changes import Change
from sepc.estimators.repaired.decisions import RepairedDecision, RepairedDecisions
from sepc.estimators.selective.certificates import Certificates
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.selective.group_comparison import GroupComparison
from sepc.estimators.sep.decisions import SEPDecision, SEPDecisions
from sepc.estimators.sep.fitted import FittedEllipsoid, History, Hyperplane
from sepc.estimators.sep.regions import Regions
from sepc.estimators.stratified.decisions import StratifiedDecision, StratifiedDecisions
from sepc.estimators.stratified.strata import Strata
from sepc.estimators.trusted.decisions import TrustedDecisions
from sepc.estimators.trusted.trust_model import TrustModel
from sepc.io.history import ModelHistory
from sepc.io.inspection import Inspection
from sepc.landscape.figures import LandscapeFigures
from sepc.landscape.overlaps import Overlap
from sepc.looking.findings import Finding, Findings
from sepc.looking.suspects import Suspects
from sepc.model.proofs import Proof, Proofs
from sepc.model.provenance import Provenance
from sepc.model.sep_model import SEPModel
from sepc.model.terms import Term, Terms
from sepc.model.weights import Weights
from sepc.recourses.answers import Answer, FeatureChange
from sepc.reporting.figures import ReportFigures

__all__ = [
    "Answer",
    "Certificates",
    "Change",
    "FeatureChange",
    "Finding",
    "Findings",
    "FittedEllipsoid",
    "GroupComparison",
    "History",
    "Hyperplane",
    "Inspection",
    "LandscapeFigures",
    "Letter",
    "ModelHistory",
    "Overlap",
    "Proof",
    "Proofs",
    "Provenance",
    "Regions",
    "RepairedDecision",
    "RepairedDecisions",
    "ReportFigures",
    "Rule",
    "SEPDecision",
    "SEPDecisions",
    "SEPModel",
    "SelectiveDecisions",
    "Strata",
    "StratifiedDecision",
    "StratifiedDecisions",
    "Suspects",
    "Term",
    "Terms",
    "TrustModel",
    "TrustedDecisions",
    "Weights",
]
