"""What a promise for another mix of regions rests on, in a model file."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from sepc.estimators.selective.shift_check import ShiftCheck
from sepc.estimators.selective.shift_control import Shift
from sepc.io.reader import Reader
from sepc.io.writer import Node, Writer

COUNTS = ("n_planning", "n_target", "n_target_accepted", "n_target_uncovered", "n_unpaired")


def shift_to_node(shift: Shift | None, writer: Writer) -> Node | None:
    """Write regions, counts and the check."""
    if shift is None:
        return None
    writer.put(regions=shift.regions)
    return {name: getattr(shift, name) for name in COUNTS} | {"check": asdict(shift.check)}


def shift_from(reader: Reader) -> Shift:
    """Read regions, counts and the check."""
    regions = reader.ints("regions", None)
    if (np.diff(regions) <= 0).any():
        raise reader.wrong("has regions that are not in order")
    counts = {name: reader.integer(name, below=2**63) for name in COUNTS}
    if counts["n_target"] < max(1, counts["n_target_accepted"] + counts["n_target_uncovered"]):
        raise reader.wrong("counts more target rows than there are")
    part = reader.part("check")
    n_tests = part.integer("n_tests", low=1)
    check = ShiftCheck(part.text("column"), part.number("p_value", 0.0, 1.0), n_tests, part.value("is_sign", bool))
    return Shift(regions, **counts, check=check)
