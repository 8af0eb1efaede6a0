"""Recourse in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sepc.decisions.sentences import Sentence, Shorter, joined
from sepc.wording import cases_of, decimal, deviations, listed, shown

if TYPE_CHECKING:
    from sepc.recourses.recourse import Recourse

# Changes that a sentence lists before it counts the rest.
MOST_CHANGES = (6, 4, 3, 2)


def sentences_about(recourse: Recourse) -> str:
    """The first answer, or why there is none, in at most 60 words."""
    if recourse.answers:
        return joined(_answer(recourse))
    if not recourse.is_reachable:
        return joined(_unreachable(recourse))
    least = f"To be like {cases_of(recourse.to)} takes at least {deviations(recourse.bound)}"
    return joined([Sentence(f"{least}, and nothing was found there that the model accepts.")])


def _answer(recourse: Recourse) -> list[Sentence]:
    answer = recourse.answers[0]
    if not answer.changes:
        return [Sentence(f"It is accepted as {shown(recourse.to)} already.")]
    start = f"To be accepted as {shown(recourse.to)} with trust {decimal(answer.decision.trust)}"
    words = [change.words for change in answer.changes]
    first, *shorter = [f"{start}, change {listed(words, most)}." for most in MOST_CHANGES]
    return [Sentence(first, tuple(Shorter(2 + i, text) for i, text in enumerate(shorter))), _cost(recourse)]


def _cost(recourse: Recourse) -> Sentence:
    """What the first answer costs, beside what was proved that it must."""
    cost, bound, cases = recourse.answers[0].cost, recourse.bound, cases_of(recourse.to)
    if f"{cost:.3g}" == f"{bound:.3g}":
        return Sentence(f"This costs {deviations(cost)}, and nothing like {cases} costs less.")
    whole = f"This costs {deviations(cost)}; to be like {cases} takes at least {bound:.3g}, and acceptance the rest."
    return Sentence(whole, (Shorter(1, f"This costs {deviations(cost)}, at least {bound:.3g}."),))


def _unreachable(recourse: Recourse) -> list[Sentence]:
    cases = cases_of(recourse.to)
    if not recourse.proof:
        return [Sentence(f"Training had too few {cases} to tell what others like them are.")]
    why = f"since {listed(recourse.blocking, 4)}" if recourse.blocking else "whatever limits are given up"
    return [
        Sentence(f"Nothing like {cases} can be reached, {why}."),
        Sentence("This is proved for cases like those of training, not for others that the model may accept."),
    ]
