"""API keys: shown once, stored as hashes.

A key has 256 random bits, so a plain SHA-256 of it cannot be reversed by guessing; slow hashes are for passwords.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass

from sqlalchemy import Engine, insert, select, update

from sepc_desk.errors import SettingError
from sepc_desk.schema import keys
from sepc_desk.settings import ROLES

PREFIX = "sepc"
ALL_MODELS = "*"


@dataclass(frozen=True)
class Key:
    """What the database stores about a key.

    Attributes
    ----------
    id : str
    name : str
    role : str
    models : frozenset of str
        The models that it may be used with; "*" stands for all.
    is_revoked : bool
    """

    id: str
    name: str
    role: str
    models: frozenset[str]
    is_revoked: bool = False


def hash_of(secret: str) -> bytes:
    """The hash of a key, as the database stores it."""
    return hashlib.sha256(secret.encode()).digest()


def create_key(engine: Engine, name: str, models: list[str], role: str = "program") -> str:
    """Create a key; returns it, for the only time."""
    if role not in ROLES:
        raise SettingError(f"{role!r} is not a role; use one of {', '.join(ROLES)}.")
    if not models:
        raise SettingError("Name the models that the key may be used with, or * for all of them.")
    own_id = secrets.token_hex(4)
    secret = f"{PREFIX}_{own_id}_{secrets.token_urlsafe(32)}"
    values = {
        "id": own_id,
        "hash": hash_of(secret),
        "name": name,
        "role": role,
        "models": " ".join(sorted(set(models))),
    }
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(insert(keys).values(**values, created_at=_now()))
    return secret


def revoke_key(engine: Engine, own_id: str) -> None:
    """Refuse a key from now on; running services do so within two seconds."""
    is_own = keys.c.id == own_id
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        found = connection.execute(update(keys).where(is_own, keys.c.revoked_at.is_(None)).values(revoked_at=_now()))
        if found.rowcount == 0:
            raise SettingError(f"There is no active key {own_id}; `sepc-desk keys list` shows all keys.")


def all_keys(engine: Engine) -> dict[bytes, Key]:
    """Every key by its hash."""
    with engine.connect() as connection:
        found = connection.execute(select(keys).order_by(keys.c.created_at)).all()
    return {
        bytes(own.hash): Key(own.id, own.name, own.role, frozenset(own.models.split()), own.revoked_at is not None)
        for own in found
    }


def _now() -> int:
    return time.time_ns() // 1000
