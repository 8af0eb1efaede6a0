"""Callers, and what each of them may do."""

from __future__ import annotations

from dataclasses import dataclass

from sepc_desk.errors import RequestError
from sepc_desk.keys import ALL_MODELS, Key
from sepc_desk.settings import ROLES

# The roles that may do each thing; everything else is refused.
DECIDE = frozenset({"program", "owner"})
SEE_CASES = frozenset({"program", "reviewer", "owner", "auditor"})
LIST_CASES = frozenset({"owner", "auditor"})
ERASE = frozenset({"owner"})
SEE_METRICS = frozenset({"monitor", "owner", "auditor"})
REVIEW = frozenset({"reviewer"})
AUDIT = frozenset({"auditor"})
OWN = frozenset({"owner"})


@dataclass(frozen=True)
class Identity:
    """A caller.

    Attributes
    ----------
    caller : str
        As the log has it: "key:3f2a9c10" or "person:ann".
    grants : frozenset of pairs
        Roles, each with the model that it is for; "*" stands for all models.
    is_session : bool
        Whether the caller is known by a cookie, which other sites can make a browser send.
    """

    caller: str
    grants: frozenset[tuple[str, str]]
    is_session: bool = False

    def may(self, roles: frozenset[str], model: str) -> bool:
        """Whether one of these roles is held for a model."""
        return any(role in roles and own in (ALL_MODELS, model) for role, own in self.grants)

    def holds_only(self, role: str, model: str) -> bool:
        """Whether this is the only role held for a model."""
        return {own for own, scope in self.grants if scope in (ALL_MODELS, model)} == {role}

    def require(self, roles: frozenset[str], model: str) -> None:
        """Raise unless one of these roles is held for a model."""
        if not self.may(roles, model):
            which = "all models" if model == ALL_MODELS else f"the model {model!r}"
            needed = " or ".join(sorted(roles))
            raise RequestError(403, "not_allowed", f"This takes the role {needed} for {which}.")


def identity_of_key(key: Key) -> Identity:
    """The identity that a key stands for."""
    return Identity(f"key:{key.id}", frozenset((key.role, model) for model in key.models))


def grants_of_claim(values: object, mapping: dict[str, str]) -> frozenset[tuple[str, str]]:
    """Roles of a person from the values of a claim; values that are not in the mapping give none.

    Without a mapping, values are roles themselves, such as "auditor" or "owner:loans".
    """
    given = [values] if isinstance(values, str) else values if isinstance(values, list) else []
    found = set()
    for value in given:
        text = (mapping.get(value, "") if mapping else value) if isinstance(value, str) else ""
        role, _, model = text.partition(":")
        if role in ROLES:
            found.add((role, model or ALL_MODELS))
    return frozenset(found)
