"""Classes of results, for annotations and `isinstance`; estimators and functions return them."""

from sepc.decisions.kinds import Rule
from sepc.decisions.letter import Letter
from sepc.estimators.routes import Change, RoutedDecisions, Strata
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.selective.groups import Certificates
from sepc.estimators.selective.promise import Promise
from sepc.estimators.sep.decisions import SEPDecision, SEPDecisions
from sepc.estimators.sep.fitted import FittedEllipsoid, History, Hyperplane, Regions
from sepc.estimators.trusted_decisions import TrustedDecisions, TrustModel
from sepc.io.history import ModelHistory
from sepc.io.inspection import Inspection
from sepc.landscape.landscape import LandscapeFigures, Overlap
from sepc.looking.findings import Finding, Findings
from sepc.looking.suspects import Suspects
from sepc.model.proofs import Proof, Proofs
from sepc.model.provenance import Provenance
from sepc.model.sep_model import SEPModel
from sepc.model.terms import Term, Terms
from sepc.model.weights import Weights
from sepc.recourses.recourse import Answer, FeatureChange
from sepc.reporting.figures import ReportFigures
from sepc.tables.table_file import TableFile

__all__ = [
    "Answer",
    "Certificates",
    "Change",
    "FeatureChange",
    "Finding",
    "Findings",
    "FittedEllipsoid",
    "History",
    "Hyperplane",
    "Inspection",
    "LandscapeFigures",
    "Letter",
    "ModelHistory",
    "Overlap",
    "Promise",
    "Proof",
    "Proofs",
    "Provenance",
    "Regions",
    "ReportFigures",
    "RoutedDecisions",
    "Rule",
    "SEPDecision",
    "SEPDecisions",
    "SEPModel",
    "SelectiveDecisions",
    "Strata",
    "Suspects",
    "TableFile",
    "Term",
    "Terms",
    "TrustModel",
    "TrustedDecisions",
    "Weights",
]
