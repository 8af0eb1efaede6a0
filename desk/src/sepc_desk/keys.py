"""API keys, and sessions of people who have signed in: shown once, stored as hashes.

A key has 256 random bits, so a plain SHA-256 of it cannot be reversed by guessing; slow hashes are for passwords.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Engine, insert, select, update

from sepc_desk.chain import note
from sepc_desk.errors import SettingError
from sepc_desk.schema import keys, sessions
from sepc_desk.settings import ROLES

PREFIX = "sepc"
ALL_MODELS = "*"
# Programs never review and never own a model.
FOR_PEOPLE = frozenset({"reviewer", "owner"})
# The longest name of a person that OpenID Connect allows.
LONGEST_NAME = 255
# What the log says of keys.
CREATED, REVOKED = "key created", "key revoked"
KEY_DAYS, DAY = 365, 86_400_000_000


@dataclass(frozen=True)
class Key:
    """What the database stores about a key.

    Attributes
    ----------
    id : str
    name : str
        Of the person or the program that it belongs to; a person has the same name as at the sign-in.
    role : str
    models : frozenset of str
        The models that it may be used with; "*" stands for all.
    is_revoked : bool
    is_person : bool
        Whether it belongs to a person.
    """

    id: str
    name: str
    role: str
    models: frozenset[str]
    is_revoked: bool = False
    is_person: bool = False


def hash_of(secret: str) -> bytes:
    """The hash of a key, as the database stores it."""
    return hashlib.sha256(secret.encode()).digest()


def create_key(
    engine: Engine,
    name: str,
    models: list[str],
    role: str = "program",
    *,
    is_person: bool | None = None,
    days: int = KEY_DAYS,
    by: str = "command",
) -> str:
    """Create a key of a program or of a person, by default as its role asks for; returns it, for the only time."""
    is_person = role not in ("program", "monitor") if is_person is None else is_person
    if role not in ROLES:
        raise SettingError(f"{role!r} is not a role; use one of {', '.join(ROLES)}.")
    if not models:
        raise SettingError("Name the models that the key may be used with, or * for all of them.")
    if role in FOR_PEOPLE and not is_person:
        raise SettingError(f"Programs cannot have the role {role}; say whose key it is with --person.")
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
        raise SettingError(f"A name has 1 to {LONGEST_NAME} printable characters.")
    own_id = secrets.token_hex(4)
    secret = f"{PREFIX}_{own_id}_{secrets.token_urlsafe(32)}"
    values = {
        "id": own_id,
        "hash": hash_of(secret),
        "name": name,
        "role": role,
        "models": " ".join(sorted(set(models))),
        "is_person": is_person,
        "expires_at": _now() + days * DAY,
    }
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        note(connection, by, CREATED, told(values))
        connection.execute(insert(keys).values(**values, created_at=_now()))
    return secret


def told(key: Mapping[str, Any]) -> str:
    """What the log says of a key: all that it depends on who may do what with it."""
    kept = [key[name] for name in ("id", "name", "role", "models", "is_person", "expires_at")]
    return orjson.dumps([bytes(key["hash"]).hex(), *kept]).decode()


def revoke_key(engine: Engine, own_id: str, by: str = "command") -> None:
    """Refuse a key from now on; running services do so within five seconds, or answer nobody."""
    is_own = keys.c.id == own_id
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        note(connection, by, REVOKED, own_id)
        found = connection.execute(update(keys).where(is_own, keys.c.revoked_at.is_(None)).values(revoked_at=_now()))
        if found.rowcount == 0:
            raise SettingError(f"There is no active key {own_id}; `sepc-desk keys list` shows all keys.")


def all_keys(engine: Engine) -> dict[bytes, Key]:
    """Every key by its hash."""
    with engine.connect() as connection:
        found = connection.execute(select(keys).order_by(keys.c.created_at)).all()
    return {
        bytes(own.hash): Key(
            own.id,
            own.name,
            own.role,
            frozenset(own.models.split()),
            own.revoked_at is not None or (own.expires_at is not None and own.expires_at < _now()),
            own.is_person,
        )
        for own in found
    }


def start_session(engine: Engine, person: str, claims: Any, seconds: float) -> str:
    """Start a session; returns its secret. What the provider says now counts for all sessions of this person."""
    secret, at, said = secrets.token_urlsafe(32), _now(), orjson.dumps(claims).decode()
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        note(connection, f"person:{person}", "signed in", said)
        connection.execute(update(sessions).where(sessions.c.person == person).values(claims=said))
        new = {"hash": hash_of(secret), "person": person, "claims": said, "until": at + int(seconds * 1e6)}
        connection.execute(insert(sessions).values(new))
    return secret


def end_sessions(engine: Engine, person: str, by: str, secret: str | None = None) -> int:
    """End the sessions of a person, or one of them; returns how many there were."""
    own = [sessions.c.person == person, sessions.c.ended_at.is_(None), sessions.c.until > _now()]
    if secret is not None:
        own.append(sessions.c.hash == hash_of(secret))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        note(connection, by, "signed out", person)
        return connection.execute(update(sessions).where(*own).values(ended_at=_now())).rowcount


def open_sessions(engine: Engine) -> dict[bytes, tuple[str, Any]]:
    """The person of every session that has not ended, and what the provider said of them, by the session's hash."""
    is_open = (sessions.c.ended_at.is_(None), sessions.c.until > _now())
    with engine.connect() as connection:
        found = connection.execute(select(sessions).where(*is_open)).all()
    return {bytes(own.hash): (own.person, orjson.loads(own.claims)) for own in found}


def _now() -> int:
    return time.time_ns() // 1000
