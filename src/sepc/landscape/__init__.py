"""A data set before any model: where its classes lie, where they overlap, and what a partition cannot tell apart."""

from sepc.landscape.landscape import Landscape
from sepc.landscape.overlaps import Overlap
from sepc.landscape.summary import LandscapeSummary

__all__ = ["Landscape", "LandscapeSummary", "Overlap"]
