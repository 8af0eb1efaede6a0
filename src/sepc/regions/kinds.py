"""The rules by which a row is decided, and the causes for which it is not accepted."""

from enum import IntEnum


class Rule(IntEnum):
    """Which rule of the paper gave the counts."""

    SINGLE = 1  # R1: in one ellipsoid
    SHARED = 2  # R2a: in several, where training rows lie
    UNION = 3  # R2b: in several, where no training row lies
    NEAREST = 4  # case 3: in none


class Cause(IntEnum):
    """Why a row was not accepted."""

    ACCEPTED = 0
    OVERLAP = 1
    OUTSIDE = 2
    THIN = 3
