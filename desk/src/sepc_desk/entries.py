"""Entries of the log, their digests, and how each is linked to the one before.

An entry has a kept part and a private part. The digest of the private part is salted, so that after an erasure, when
the private part and its salt are gone, nobody can find the values by guessing. The hash of an entry covers both
digests, its place and the hash of the entry before.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

# The hash before the first entry.
START = bytes(32)
SALT_BYTES = 32
FORMAT = "sepc-desk 1"


class EntryKind(StrEnum):
    """What an entry records."""

    DECISION = "decision"
    RECOURSE = "recourse"
    ACCESS = "access"
    ERASURE = "erasure"
    ANSWER = "answer"
    CHANGE = "change"


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

    @property
    def kept_digest(self) -> bytes:
        """The digest of what stays after an erasure."""
        kept = [
            FORMAT,
            self.id,
            self.kind,
            self.at,
            self.caller,
            self.model,
            self.context,
            self.label,
            self.accepted,
            self.cause,
            self.about,
            self.request_key.hex() if self.request_key is not None else None,
            self.request_row,
        ]
        return hashlib.sha256(orjson.dumps(kept)).digest()


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


def linked(before: bytes, place: int, kept: bytes, private: bytes | None) -> bytes:
    """The hash of the entry at `place`; the function in PostgreSQL computes the same."""
    return hashlib.sha256(before + place.to_bytes(8, "big") + kept + (private or b"")).digest()


def request_key(caller: str, key: str) -> bytes:
    """The digest by which a repeated request is recognised."""
    return hashlib.sha256(f"{caller}\n{key}".encode()).digest()


def time_of(at: int) -> str:
    """Microseconds since 1970 as ISO text."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
