"""The words that the tables of reviews use."""

from __future__ import annotations

from enum import StrEnum


class Purpose(StrEnum):
    """Why a person looks at a case."""

    REFUSED = "refused"  # the model does not accept its own label
    DRAWN = "drawn"  # an accepted decision, drawn at random for the certificate
    LEAST_TRUSTED = "least trusted"  # an accepted decision that `ReviewQueue` gives in place of a random one
    PLANTED = "planted"  # the right label is known, and measures the reviewers


class CaseState(StrEnum):
    """How far the review of a case is."""

    OPEN = "open"
    DISPUTED = "disputed"  # its readers disagree, and a third one is asked
    SETTLED = "settled"
    ERASED = "erased"  # its values were erased before it was settled


class ReadingState(StrEnum):
    """How far one reader is."""

    OPEN = "open"
    TAKEN = "taken"
    ANSWERED = "answered"  # can still be undone
    FINAL = "final"
    WITHDRAWN = "withdrawn"  # the case was erased


class Ending(StrEnum):
    """How a lease ended."""

    ANSWERED = "answered"
    LOST = "lost"  # its time was over
    RETURNED = "returned"  # the reader gave the case back
    WITHDRAWN = "withdrawn"


class AnswerKind(StrEnum):
    """What a reader answered."""

    LABEL = "label"
    CANNOT_SAY = "cannot say"


class Evidence(StrEnum):
    """What a certificate counts for a case that was drawn; all but ANSWER count as an error of the model."""

    ANSWER = "answer"
    CANNOT_SAY = "cannot say"
    LOST = "lost"
    DISAGREEMENT = "disagreement"
    NOT_BLIND = "not blind"
    ERASED = "erased"


# The readers of a case: the first, the second where two are asked for, and the one who settles a disagreement.
FIRST, SECOND, REFEREE = 1, 2, 3
