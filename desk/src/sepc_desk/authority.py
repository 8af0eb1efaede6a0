"""Who may do what: one table, and one function that asks it.

Whoever has several roles may do what any of them gives; nothing depends on a role that someone does not have. What the
table does not give, nobody may do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sepc_desk.errors import RequestError
from sepc_desk.keys import ALL_MODELS, FOR_PEOPLE
from sepc_desk.settings import ROLES


@dataclass(frozen=True)
class Identity:
    """A caller.

    Attributes
    ----------
    caller : str
        As the log has it: "person:ann", whether by a session or by a key of hers, or "key:3f2a9c10" for a program.
    grants : frozenset of pairs
        Roles, each with the model that it is for; "*" stands for all models.
    is_session : bool
        Whether the caller is known by a cookie, which other sites can make a browser send.
    """

    caller: str
    grants: frozenset[tuple[str, str]]
    is_session: bool = False

    @property
    def is_person(self) -> bool:
        """Whether it is a person, and not a program."""
        return self.caller.startswith(PERSON)


PERSON = "person:"


class Action(StrEnum):
    """What callers do, as the documentation says it."""

    DECIDE = "decide, explain and search for recourse"
    SEE_DECISION = "see a decision with its values, label and trust"
    LIST_DECISIONS = "list decisions, without values and trust"
    ERASE = "erase decisions"
    TAKE = "take cases to review"
    ANSWER = "see the values of a case, answer it, give it back, undo an answer"
    ASK = "see what the model says about a case, try other values, search for recourse"
    SEE_REVIEWS = "see figures of reviews"
    SEE_MODEL = "see figures, changes and the weekly digest of a model"
    CHANGE = "audit, repair and compare a model, choose a challenger, propose and discard changes"
    AGREE = "agree to a change, so that it goes live"
    ROLL_BACK = "roll back to the version before"
    AUDIT = "read and export the log, reviews and changes"
    SEE_METRICS = "read `/metrics`"


class Which(StrEnum):
    """Which things of a model a role gives."""

    ALL = "all"
    OWN = "own"
    SHOWN = "label not hidden"
    OWN_SHOWN = "own, label not hidden"
    OTHERS = "of others"


TABLE: Mapping[Action, Mapping[str, Which]] = {
    Action.DECIDE: {"program": Which.ALL, "owner": Which.ALL},
    Action.SEE_DECISION: {
        "program": Which.OWN,
        "reviewer": Which.SHOWN,
        "owner": Which.ALL,
        "auditor": Which.ALL,
    },
    Action.LIST_DECISIONS: {"owner": Which.ALL, "auditor": Which.ALL},
    Action.ERASE: {"owner": Which.ALL},
    Action.TAKE: {"reviewer": Which.ALL},
    Action.ANSWER: {"reviewer": Which.OWN},
    Action.ASK: {"reviewer": Which.OWN_SHOWN},
    Action.SEE_REVIEWS: {"reviewer": Which.OWN, "owner": Which.ALL, "auditor": Which.ALL},
    Action.SEE_MODEL: {"owner": Which.ALL, "auditor": Which.ALL},
    Action.CHANGE: {"owner": Which.ALL},
    Action.AGREE: {"owner": Which.OTHERS},
    Action.ROLL_BACK: {"owner": Which.ALL},
    Action.AUDIT: {"auditor": Which.ALL},
    Action.SEE_METRICS: {"owner": Which.ALL, "auditor": Which.ALL, "monitor": Which.ALL},
}
# A key is not enough for these: someone has to sign in.
SIGNED_IN = frozenset({Action.AGREE, Action.ROLL_BACK})


@dataclass(frozen=True)
class Thing:
    """What someone wants to act on.

    Attributes
    ----------
    model : str
        "*" for what concerns all models.
    by : frozenset of str
        The callers whose it is: who asked for a decision, holds a case, or made and proposed a change.
    is_hidden : bool
        Whether the model's label is hidden from reviewers.
    """

    model: str
    by: frozenset[str] = frozenset()
    is_hidden: bool = False


def may(person: Identity, action: Action, thing: Thing) -> bool:
    """Whether someone may do something: if one of their roles gives it for this thing."""
    if action in SIGNED_IN and not person.is_session:
        return False
    is_own = person.caller in thing.by
    fits = {
        Which.ALL: True,
        Which.OWN: is_own,
        Which.SHOWN: not thing.is_hidden,
        Which.OWN_SHOWN: is_own and not thing.is_hidden,
        Which.OTHERS: not is_own,
    }
    return any(
        model in (ALL_MODELS, thing.model) and fits[TABLE[action][role]]
        for role, model in person.grants
        if role in TABLE[action] and (person.is_person or role not in FOR_PEOPLE)
    )


def require(person: Identity, action: Action, thing: Thing) -> None:
    """Raise unless someone may do something."""
    if may(person, action, thing):
        return
    if action in SIGNED_IN and not person.is_session:
        raise RequestError(403, "not_signed_in", "An API key is not enough for this; sign in with a browser.")
    which = "all models" if thing.model == ALL_MODELS else f"the model {thing.model!r}"
    raise RequestError(403, "not_allowed", f"This takes the role {' or '.join(sorted(TABLE[action]))} for {which}.")


def sees_labels(person: Identity, model: str) -> bool:
    """Whether someone can learn any label of a model by other ways than its review, so that none can be hidden."""
    return may(person, Action.DECIDE, Thing(model)) or may(person, Action.SEE_DECISION, Thing(model, is_hidden=True))


def grants_of_claim(values: object, mapping: dict[str, str]) -> frozenset[tuple[str, str]]:
    """Roles of a person from the values of a claim; values that are not in the mapping give none."""
    given = [values] if isinstance(values, str) else values if isinstance(values, list) else []
    found = set()
    for value in given:
        text = mapping.get(value, "") if isinstance(value, str) else ""
        role, _, model = text.partition(":")
        if role in ROLES:
            found.add((role, model or ALL_MODELS))
    return frozenset(found)
