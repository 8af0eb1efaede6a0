"""Regions in words, wherever audits and repairs speak of them."""

from __future__ import annotations

from collections.abc import Callable

from sepc.decisions.decisions import Decisions
from sepc.estimators.partition_behind import partition_behind
from sepc.model.names import region_name


def region_namer(decisions: Decisions) -> Callable[[int], str]:
    """A function that gives the name of a region of the model behind these decisions."""
    partition = partition_behind(decisions)
    return unnamed if partition is None else lambda region: region_name(partition.model, region)


def unnamed(region: int) -> str:
    """What to call a region if no partition tells where it lies."""
    return f"region {region}"
