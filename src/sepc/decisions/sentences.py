"""Reasons as sentences that can be shortened step by step, so that a reason has about 60 words at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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

    Important parts are only dropped above `MOST_AT_ALL` words.

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
