"""Entries of the log, their digests, and how each is linked to the one before.

An entry has a kept part and a private part. The digest of the private part is salted, so that after an erasure, when
the private part and its salt are gone, nobody can find the values by guessing. The seal of an entry authenticates the
kept part and this digest with a key that the database does not have. The hash of an entry covers the seal, its place
and the hash of the entry before.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

import orjson

# The hash before the first entry.
START = bytes(32)
SALT_BYTES = 32
FORMAT = "sepc-desk 2"


class EntryKind(StrEnum):
    """What an entry records."""

    DECISION = "decision"
    RECOURSE = "recourse"
    ACCESS = "access"
    CONSENT = "consent"
    ERASURE = "erasure"
    ANSWER = "answer"
    CHANGE = "change"
    # Who may do what, and what else was done to the service: `cause` says what happened, and `about` to what.
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the log.

    Attributes
    ----------
    id : str
    kind : EntryKind
    at : int
        Microseconds since 1970, UTC.
    caller : str
        The key or the person that asked, such as "key:3f2a" or "person:ann".
    model : str or None
    context : str or None
        The digest of what else the decision depends on.
    label : str or None
        The label as JSON.
    accepted : bool or None
    cause : str or None
    about : str or None
        What an access or an erasure refers to: the ids of other entries, a day, or a time.
    request_key : bytes or None
        The digest of the caller and its Idempotency-Key.
    request_row : int or None
        The position of the row in the request.
    private : str or None
        What an erasure removes, as JSON: the row, trust, probabilities, region, reason and terms.
    salt, private_digest : bytes or None
    """

    id: str
    kind: str
    at: int
    caller: str
    model: str | None = None
    context: str | None = None
    label: str | None = None
    accepted: bool | None = None
    cause: str | None = None
    about: str | None = None
    request_key: bytes | None = None
    request_row: int | None = None
    private: str | None = None
    salt: bytes | None = None
    private_digest: bytes | None = None


FIELDS = tuple(own.name for own in fields(Entry))


def entry(kind: EntryKind, caller: str, private: Mapping[str, Any] | None = None, **kept: Any) -> Entry:
    """A new entry, with an id, the time, and a salted digest of its private part if it has one."""
    at = time.time_ns() // 1000
    own = {"id": new_id(at), "kind": kind.value, "at": at, "caller": caller, **kept}
    if private is None:
        return Entry(**own)
    text, salt = orjson.dumps(private).decode(), os.urandom(SALT_BYTES)
    return Entry(**own, private=text, salt=salt, private_digest=private_digest(salt, text))


def new_id(at: int) -> str:
    """An id that sorts by time and cannot be guessed: 48 bits of milliseconds and 80 random ones."""
    return f"{at // 1000:012x}{os.urandom(10).hex()}"


def private_digest(salt: bytes, text: str) -> bytes:
    """The digest of a private part."""
    return hashlib.sha256(salt + text.encode()).digest()


def seal_of(key: bytes, own: Entry) -> bytes:
    """What only those who have the key of the log can make for an entry: an HMAC-SHA-256 of all that stays of it."""
    kept = [
        FORMAT,
        own.id,
        own.kind,
        own.at,
        own.caller,
        own.model,
        own.context,
        own.label,
        own.accepted,
        own.cause,
        own.about,
        own.request_key and own.request_key.hex(),
        own.request_row,
        own.private_digest and own.private_digest.hex(),
    ]
    inner, outer = _keyed(key)
    inner, outer = inner.copy(), outer.copy()
    inner.update(orjson.dumps(kept))
    outer.update(inner.digest())
    seal: bytes = outer.digest()
    return seal


@lru_cache(maxsize=4)
def _keyed(key: bytes) -> tuple[Any, Any]:
    """The two hashes of HMAC, which have read the key already: `hmac` itself takes twice as long."""
    block = (hashlib.sha256(key).digest() if len(key) > 64 else key).ljust(64, b"\0")
    return hashlib.sha256(bytes(one ^ 0x36 for one in block)), hashlib.sha256(bytes(one ^ 0x5C for one in block))


def linked(before: bytes, place: int, seal: bytes) -> bytes:
    """The hash of the entry at `place`; the function in PostgreSQL computes the same."""
    return hashlib.sha256(before + place.to_bytes(8, "big") + seal).digest()


def request_key(caller: str, key: str) -> bytes:
    """The digest by which a repeated request is recognised."""
    return hashlib.sha256(f"{caller}\n{key}".encode()).digest()


def time_of(at: int) -> str:
    """Microseconds since 1970 as ISO text."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
