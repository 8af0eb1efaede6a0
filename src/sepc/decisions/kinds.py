"""The rules by which a row is decided, and the causes of abstention."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc.decisions.sentences import Sentence, Shorter

# Only the label and trust matter more.
LOSS_OF_REMEDY = 9


class Rule(IntEnum):
    """The rule of the paper by which a row's counts were found."""

    SINGLE = 1  # R1: in one ellipsoid
    SHARED = 2  # R2a: in several, where training rows lie
    UNION = 3  # R2b: in several, where no training row lies
    NEAREST = 4  # case 3: in none


class Cause(IntEnum):
    """Why a row was not accepted: the cause of abstention."""

    ACCEPTED = 0
    OVERLAP = 1
    UNSEEN = 2
    THIN = 3
    DRIFTED = 4  # only from a monitor: the rows that arrive there have changed
    UNEXPLAINED = 5  # only from models of other libraries, which do not say why
    MISSING = 6  # values are missing, and most ways to impute them would let the row be accepted

    @property
    def meaning(self) -> str:
        """The cause in a few words, such as "nothing like it was seen in training"."""
        return MEANINGS[self]

    @property
    def remedy(self) -> str:
        """What would settle the case, such as "a person should decide"; empty if that depends on the row."""
        return REMEDIES[self]


MEANINGS = {
    Cause.ACCEPTED: "trusted enough",
    Cause.OVERLAP: "cases of other labels lie near it",
    Cause.UNSEEN: "nothing like it was seen in training",
    Cause.THIN: "too little evidence for the trust asked for",
    Cause.DRIFTED: "incoming cases in its region have changed",
    Cause.MISSING: "the missing values would decide it",
    Cause.UNEXPLAINED: "the model does not say why",
}

REMEDIES = {
    Cause.ACCEPTED: "",
    Cause.OVERLAP: "a person should decide",
    Cause.UNSEEN: "check its values, and let a person decide",
    Cause.THIN: "label more cases like it",
    Cause.DRIFTED: "label some of them, and repair the model",
    Cause.MISSING: "",
    Cause.UNEXPLAINED: "a TrustedClassifier around it would",
}


def names_of(kind: type[Rule] | type[Cause], values: ArrayLike) -> NDArray[Any]:
    """Names of many rules or causes at once, as an array of strings."""
    names = np.empty(max(kind) + 1, dtype=object)
    for member in kind:
        names[member] = member.name
    return np.asarray(names[np.asarray(values)])


def verdict(cause: Cause) -> Sentence:
    """Why a row was not accepted, and what would settle it; empty if it was accepted."""
    if cause is Cause.ACCEPTED:
        return Sentence("")
    refused = f"Not accepted ({cause.name}): {cause.meaning}"
    if not cause.remedy:
        return Sentence(f"{refused}.")
    return Sentence(f"{refused}; {cause.remedy}.", (Shorter(LOSS_OF_REMEDY, f"{refused}."),))


def verdict_in_brief(cause: Cause) -> str:
    """The verdict at the end of a one-line reason; empty if the row was accepted."""
    return "" if cause is Cause.ACCEPTED else f" Not accepted ({cause.name})."
