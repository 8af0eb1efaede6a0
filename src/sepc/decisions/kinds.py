"""The rules by which a row is decided, the causes of abstention, and reasons as sentences of limited length."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The most words in a reason, and the most if shortening it would lose something important.
MOST_WORDS, MOST_AT_ALL = 60, 80
# A part with at least this loss is important.
IMPORTANT = 8


class Shorter(NamedTuple):
    """A shorter form of a sentence, and how important what it leaves out is."""

    loss: int
    text: str


class Sentence(NamedTuple):
    """A sentence, and shorter forms of it, each shorter than the one before; the last one may be empty."""

    text: str
    shorter: tuple[Shorter, ...] = ()

    def after(self, prefix: str) -> Sentence:
        """The sentence, in all its forms, after a prefix."""
        return Sentence(f"{prefix}{self.text}", tuple(Shorter(loss, f"{prefix}{text}") for loss, text in self.shorter))


class Reason(NamedTuple):
    """The reasons for a decision without the verdict: as sentences, and as one line."""

    sentences: tuple[Sentence, ...]
    brief: str

    def after(self, prefix: str) -> Reason:
        """The reason in both lengths after a prefix."""
        first, *others = self.sentences
        return Reason((first.after(prefix), *others), f"{prefix}{self.brief}")

    def with_sentence(self, text: str) -> Reason:
        """The reason with one more sentence at the end, which the one-line form leaves out."""
        return Reason((*self.sentences, Sentence(text)), self.brief)


def join_sentences(sentences: Sequence[Sentence], most_words: int = MOST_WORDS) -> str:
    """Join sentences in their order; if they do not fit, the least important parts are dropped first.

    Examples
    --------
    >>> first = Sentence("A rather long first sentence.", (Shorter(2, "Short."),))
    >>> second = Sentence("More about it.", (Shorter(1, "More."), Shorter(3, "")))
    >>> [join_sentences([first, second], most_words) for most_words in (8, 6, 2, 1)]
    ['A rather long first sentence. More about it.', 'A rather long first sentence. More.', 'Short. More.', 'Short.']
    """
    rest = list(sentences)
    n_words = [len(sentence.text.split()) for sentence in rest]
    while sum(n_words) > most_words:
        steps = [(sentence.shorter[0].loss, i) for i, sentence in enumerate(rest) if sentence.shorter]
        loss, i = min(steps, default=(IMPORTANT, -1))
        if i < 0 or (loss >= IMPORTANT and sum(n_words) <= MOST_AT_ALL):
            break
        rest[i] = Sentence(rest[i].shorter[0].text, rest[i].shorter[1:])
        n_words[i] = len(rest[i].text.split())
    return " ".join(sentence.text for sentence in rest if sentence.text)


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
