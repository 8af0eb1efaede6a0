"""Reasons as sentences that fit: each can be shortened step by step, and a reason has at most 60 words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# The most words of a reason, counted at spaces.
MOST_WORDS = 60


class Shorter(NamedTuple):
    """A shorter form of a sentence, and how important it is what gets lost by it."""

    loss: int
    text: str


class Sentence(NamedTuple):
    """A sentence, and shorter forms of it, each shorter than the one before; the last one may be empty."""

    text: str
    shorter: tuple[Shorter, ...] = ()

    def after(self, prefix: str) -> Sentence:
        """The sentence in all its forms after a prefix."""
        return Sentence(f"{prefix}{self.text}", tuple(Shorter(loss, f"{prefix}{text}") for loss, text in self.shorter))


def joined(sentences: Sequence[Sentence], most_words: int = MOST_WORDS) -> str:
    """The sentences in their order; of what does not fit, the least important is lost first.

    Examples
    --------
    >>> first = Sentence("A rather long first sentence.", (Shorter(2, "Short."),))
    >>> second = Sentence("More about it.", (Shorter(1, "More."), Shorter(3, "")))
    >>> joined([first, second], 8), joined([first, second], 6), joined([first, second], 2), joined([first, second], 1)
    ('A rather long first sentence. More about it.', 'A rather long first sentence. More.', 'Short. More.', 'Short.')
    """
    rest = list(sentences)
    while _n_words(rest) > most_words:
        steps = [(own.shorter[0].loss, i) for i, own in enumerate(rest) if own.shorter]
        if not steps:
            break
        _, i = min(steps)
        rest[i] = Sentence(rest[i].shorter[0].text, rest[i].shorter[1:])
    return " ".join(own.text for own in rest if own.text)


def _n_words(sentences: Sequence[Sentence]) -> int:
    return sum(len(own.text.split()) for own in sentences)
