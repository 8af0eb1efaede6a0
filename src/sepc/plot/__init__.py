"""Displays of fitted models and their decisions, in scikit-learn's style; install matplotlib with `sepc[plot]`."""

from sepc.plot.landscape import LandscapeDisplay
from sepc.plot.partition import PartitionDisplay
from sepc.plot.recourse import RecourseDisplay
from sepc.plot.regions import TrustDisplay
from sepc.plot.reliability import ReliabilityDisplay
from sepc.plot.risk import RiskCoverageDisplay
from sepc.plot.weights import WeightsDisplay

__all__ = [
    "LandscapeDisplay",
    "PartitionDisplay",
    "RecourseDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "TrustDisplay",
    "WeightsDisplay",
]
