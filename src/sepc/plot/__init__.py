"""Displays of fitted models and their decisions, in scikit-learn's style; install matplotlib with `sepc[plot]`."""

from sepc.plot._landscape import LandscapeDisplay
from sepc.plot._partition import PartitionDisplay
from sepc.plot._recourse import RecourseDisplay
from sepc.plot._trust import ReliabilityDisplay, RiskCoverageDisplay, TrustDisplay
from sepc.plot._weights import WeightsDisplay

__all__ = [
    "LandscapeDisplay",
    "PartitionDisplay",
    "RecourseDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "TrustDisplay",
    "WeightsDisplay",
]
