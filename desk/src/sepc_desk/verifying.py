"""Check the chain: that no entry was changed, and that none is missing up to the heads kept elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Engine, Row, select

from sepc_desk.context import digest_of_context
from sepc_desk.entries import START, EntryKind, linked, private_digest
from sepc_desk.erasing import UNTIL
from sepc_desk.heads import Head, is_genuine
from sepc_desk.reading import blocks_of, entry_of
from sepc_desk.schema import contexts

# The most findings that are listed; a chain that was tampered with may have one at every place.
MOST_FINDINGS = 20


@dataclass
class Verdict:
    """The result of a check.

    Attributes
    ----------
    n_entries : int
    place : int
        The last place.
    hash : bytes
        Its hash.
    n_erased : int
        Entries whose private part was erased, as another entry records.
    findings : list of str
        What is wrong, in the order of places.
    n_findings : int
    limits : list of str
        What this check cannot rule out.
    """

    n_entries: int = 0
    place: int = 0
    hash: bytes = START
    n_erased: int = 0
    findings: list[str] = field(default_factory=list)
    n_findings: int = 0
    limits: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return self.n_findings == 0

    def add(self, finding: str) -> None:
        """Note something that is wrong."""
        self.n_findings += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


def verify(engine: Engine, heads: Sequence[Head] = (), key: Ed25519PublicKey | None = None) -> Verdict:
    """Check the whole log, and compare it with heads that were kept elsewhere.

    With a public key, heads must be signed with it.
    """
    verdict = Verdict()
    expected: dict[int, Head] = {}
    for head in heads:
        if key is not None and not is_genuine(head, key):
            verdict.add(f"The head of place {head.place} is not signed with this key: it is forged, or of another log.")
        elif expected.setdefault(head.place, head).hash != head.hash:
            verdict.add(f"Two heads of place {head.place} differ, so one of them is of another log.")
    walk = _Walk(verdict, expected)
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for digest, content in connection.execute(select(contexts.c.digest, contexts.c.content)):
            walk.contexts.add(digest)
            if digest_of_context(content) != digest:
                verdict.add(f"The context {digest[:16]} was changed.")
        for block in blocks_of(connection):
            for found in block:
                walk.step(found)
    walk.finish()
    return verdict


class _Walk:
    """Follows the chain from entry to entry."""

    def __init__(self, verdict: Verdict, expected: dict[int, Head]) -> None:
        self.verdict, self.expected = verdict, expected
        self.newest = max(expected, default=0)
        self.contexts: set[str] = set()
        # Entries without their private part, until an erasure accounts for them: id -> place, time, model.
        self.unaccounted: dict[str, tuple[int, int, str | None]] = {}

    def step(self, found: Row[Any]) -> None:
        verdict, place, own = self.verdict, found.place, entry_of(found)
        verdict.n_entries += 1
        if place != verdict.place + 1:
            first, last = verdict.place + 1, place - 1
            which = f"Place {first} is" if first == last else f"Places {first} to {last} are"
            verdict.add(f"{which} missing.")
        if own.private is not None and own.private_digest != private_digest(own.salt or b"", own.private):
            verdict.add(f"The values at place {place} were changed.")
        if linked(verdict.hash, place, own.kept_digest, own.private_digest) != bytes(found.hash):
            verdict.add(f"Place {place} is not what was written there, or does not follow the place before it.")
        if own.context is not None and own.context not in self.contexts:
            verdict.add(f"The context of place {place} is missing.")
        if place in self.expected and self.expected.pop(place).hash != bytes(found.hash):
            verdict.add(
                f"Place {place} has another hash than the head kept elsewhere: it, or something before, changed."
            )
        self._account(place, own)
        verdict.place, verdict.hash = place, bytes(found.hash)

    def _account(self, place: int, own: Any) -> None:
        if own.private is None and own.private_digest is not None:
            self.unaccounted[own.id] = (place, own.at, own.model)
        if own.kind != EntryKind.ERASURE or own.about is None:
            return
        if own.about.startswith(UNTIL):
            until = int(own.about.removeprefix(UNTIL))
            gone = [i for i, (_, at, m) in self.unaccounted.items() if at < until and own.model in (None, m)]
        else:
            gone = [i for i in own.about.split() if i in self.unaccounted]
        for own_id in gone:
            del self.unaccounted[own_id]
        self.verdict.n_erased += len(gone)

    def finish(self) -> None:
        """Note what is missing at the end, and what this check cannot rule out."""
        verdict = self.verdict
        for place, _, _ in self.unaccounted.values():
            verdict.add(f"The values at place {place} are gone, but no entry records that they were erased.")
        for place in sorted(self.expected):
            verdict.add(
                f"A head kept elsewhere is at place {place}, but the log ends at {verdict.place}: entries were cut off."
            )
        if self.newest == 0:
            verdict.limits.append(
                "No head was given. So this cannot rule out that the end of the log was cut off, or that everything "
                "from some place on was rewritten by someone who can write to the database. Give a head that was "
                "kept elsewhere, or the receipt of an answer."
            )
        elif verdict.place > self.newest:
            verdict.limits.append(
                f"The newest head given is at place {self.newest}. This cannot rule out that the "
                f"{verdict.place - self.newest:,} entries after it were rewritten, or that others followed them."
            )
        else:
            verdict.limits.append(
                f"The newest head given is at place {self.newest}. This cannot rule out that entries followed it."
            )
