"""What a recourse says, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sepc.decisions.sentences import Sentence, Shorter, join_sentences
from sepc.recourses.answers import Answer
from sepc.wording import cases_of, decimal, deviations, listed, shown

# Changes that a sentence lists before it counts the rest.
MOST_CHANGES = (6, 4, 3, 2)


class Told(Protocol):
    """What the sentences are about: a `Recourse`."""

    @property
    def to(self) -> Any:
        """The target label."""

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers."""

    @property
    def bound(self) -> float:
        """The lower bound on the cost."""

    @property
    def accepting(self) -> float:
        """The part of it that is about acceptance."""

    @property
    def proof(self) -> Sequence[Any]:
        """The proof of the bound."""

    @property
    def blocking(self) -> tuple[str, ...]:
        """Limits that rule answers out."""

    @property
    def loose(self) -> tuple[str, ...]:
        """Relations that the bound does not fully include."""

    @property
    def is_reachable(self) -> bool:
        """Whether an ellipsoid of the label may be reached."""


def sentences_about(recourse: Told) -> str:
    """The first answer, or why there is none, in at most 60 words."""
    if recourse.answers:
        return join_sentences(_answer(recourse))
    if not recourse.is_reachable:
        return join_sentences(_unreachable(recourse))
    if recourse.bound == recourse.accepting > 0.0:
        least = f"To be accepted as {shown(recourse.to)} takes at least {deviations(recourse.bound)}"
        return join_sentences([Sentence(f"{least}, and no such row was found.")])
    if recourse.bound == 0.0:
        like = f"It is like {cases_of(recourse.to)} already"
        return join_sentences([Sentence(f"{like}, but no change within the limits was found that the model accepts.")])
    least = f"To be like {cases_of(recourse.to)} takes at least {deviations(recourse.bound)}"
    return join_sentences([Sentence(f"{least}, and nothing was found there that the model accepts.")])


def _answer(recourse: Told) -> list[Sentence]:
    answer = recourse.answers[0]
    if not answer.changes:
        return [Sentence(f"It is accepted as {shown(recourse.to)} already.")]
    start = f"To be accepted as {shown(recourse.to)} with trust {decimal(answer.decision.trust)}"
    words = [change.words for change in answer.changes]
    first, *shorter = [f"{start}, change {listed(words, most)}." for most in MOST_CHANGES]
    takes = [] if answer.takes is None else [Sentence(f"This takes {answer.takes}.")]
    return [Sentence(first, tuple(Shorter(2 + i, text) for i, text in enumerate(shorter))), *takes, _cost(recourse)]


def _cost(recourse: Told) -> Sentence:
    """The cost of the first answer, and the proven lower bound."""
    cost, bound, cases = recourse.answers[0].cost, recourse.bound, cases_of(recourse.to)
    is_of_acceptance = bound == recourse.accepting > 0.0
    if f"{cost:.3g}" == f"{bound:.3g}":
        dearer = f"nothing like {cases} that is accepted" if is_of_acceptance else f"nothing like {cases}"
        return Sentence(f"This costs {deviations(cost)}, and {dearer} costs less.")
    if is_of_acceptance:
        return Sentence(f"This costs {deviations(cost)}; acceptance takes at least {bound:.3g}.")
    whole = f"This costs {deviations(cost)}; to be like {cases} takes at least {bound:.3g}, and acceptance the rest."
    return Sentence(whole, (Shorter(1, f"This costs {deviations(cost)}, at least {bound:.3g}."),))


def _unreachable(recourse: Told) -> list[Sentence]:
    cases = cases_of(recourse.to)
    if not recourse.proof:
        return [Sentence(f"Training had too few {cases} to form an ellipsoid.")]
    why = f"since {listed(recourse.blocking, 4)}" if recourse.blocking else "even without limits"
    return [
        Sentence(f"Nothing like {cases} can be reached, {why}."),
        Sentence("This is proved for cases like those of training, not for others that the model may accept."),
    ]
