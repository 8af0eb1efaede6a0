"""Check the chain: that the service has written every entry, and that none is missing up to the heads kept elsewhere.

What else the database says about keys, answers and changes must be in the log, too.
"""

from __future__ import annotations

import hmac
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Connection, Engine, Row, distinct, func, select

from sepc_desk.chain import MOST_APART, head_of, key_of
from sepc_desk.context import digest_of_context
from sepc_desk.entries import START, Entry, EntryKind, linked, private_digest, seal_of
from sepc_desk.erasing import OLDER, PEOPLE, UNTIL
from sepc_desk.errors import LogChangedError
from sepc_desk.heads import Head, is_genuine, public_key_of, read_heads, signed
from sepc_desk.keys import CREATED, REVOKED, told
from sepc_desk.owning.changes import judged_as
from sepc_desk.reading import BLOCK, DAY, blocks_of, context_by_digest, entry_of
from sepc_desk.reviewing.settling import request_of
from sepc_desk.reviewing.states import CaseState, Purpose
from sepc_desk.schema import answers, cases, changes, entries, keys
from sepc_desk.settings import Settings

# The most findings that are listed; a chain that was tampered with may have one at every place.
MOST_FINDINGS = 20
# Of a file of heads, in bytes.
LONGEST_LINE = 1_000


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
    witnessed : int
        The newest place of which a head was kept elsewhere; 0 without a witness.
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
    witnessed: int = 0
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
    walk = Walk(engine, heads, key)
    for _ in walk.run():
        pass
    return walk.verdict


class Walk:
    """Follows the chain from entry to entry."""

    def __init__(self, engine: Engine, heads: Sequence[Head] = (), key: Ed25519PublicKey | None = None) -> None:
        self.engine, self.verdict = engine, Verdict()
        self.log_key = key_of(engine)
        self.expected: dict[int, Head] = {}
        for head in heads:
            if key is not None and not is_genuine(head, key):
                why = "is not signed with this key: it is forged, or of another log."
                self.verdict.add(f"The head of place {head.place} {why}")
            elif self.expected.setdefault(head.place, head).hash != head.hash:
                self.verdict.add(f"Two heads of place {head.place} differ, so one of them is of another log.")
        self.verdict.witnessed = max(self.expected, default=0)
        self.contexts: set[str] = set()
        self.at = 0
        # Entries without their private part, until an erasure accounts for them.
        self.unaccounted: dict[str, tuple[int, Entry]] = {}
        self.consents: defaultdict[tuple[str | None, str | None], set[str]] = defaultdict(set)
        # What entries say of things that other tables have, too.
        self.events: defaultdict[str, set[str]] = defaultdict(set)
        self.answers: dict[bytes, Entry] = {}
        self.labels: defaultdict[str, set[str | None]] = defaultdict(set)
        self.changes: defaultdict[str, set[tuple[str, str | None]]] = defaultdict(set)

    def run(self) -> Iterator[None]:
        """Check everything, some entries at a time; each time as the log is then."""
        n, after = BLOCK, -(2**62)
        while n == BLOCK:
            with self.engine.connect() as connection:
                if connection.dialect.name == "postgresql":
                    connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                found = next(blocks_of(connection, entries.c.place > after), [])
                for one in found:
                    after = one.place
                    try:
                        self._step(connection, one)
                    except (TypeError, ValueError, ArithmeticError):
                        self.verdict.add(f"Place {one.place} is not an entry.")
                if (n := len(found)) < BLOCK:
                    self._compare(connection)
            yield
        self._finish()

    def _step(self, connection: Connection, found: Row[Any]) -> None:
        verdict, place, own = self.verdict, found.place, entry_of(found)
        verdict.n_entries += 1
        if place != verdict.place + 1:
            first, last = verdict.place + 1, place - 1
            which = f"Place {first} is" if first == last else f"Places {first} to {last} are"
            verdict.add(f"{which} missing.")
        if own.private is not None and own.private_digest != private_digest(own.salt or b"", own.private):
            verdict.add(f"The values at place {place} were changed.")
        seal = bytes(found.seal)
        is_ours = hmac.compare_digest(seal_of(self.log_key, own), seal)
        if not is_ours:
            verdict.add(f"Place {place} was not written with the key of the log, or was changed.")
        if linked(verdict.hash, place, seal) != bytes(found.hash):
            verdict.add(f"Place {place} is not what was written there, or does not follow the place before it.")
        if own.at < self.at - MOST_APART:
            verdict.add(f"Place {place} is older than the place before it.")
        if own.context is not None and own.context not in self.contexts:
            self.contexts.add(own.context)
            content = context_by_digest(connection, own.context)
            if content is None or digest_of_context(content) != own.context:
                verdict.add(f"The context {own.context[:16]} of place {place} is missing, or was changed.")
        if place in self.expected and self.expected.pop(place).hash != bytes(found.hash):
            verdict.add(
                f"Place {place} has another hash than the head kept elsewhere: it, or something before, changed."
            )
        if own.private is None and own.private_digest is not None:
            self.unaccounted[own.id] = (place, own)
        if is_ours:
            self._remember(place, own)
        verdict.place, verdict.hash, self.at = place, bytes(found.hash), own.at

    def _remember(self, place: int, own: Entry) -> None:
        about = own.about or ""
        if own.kind == EntryKind.CONSENT:
            self.consents[(about, own.model)].add(own.caller)
        elif own.kind == EntryKind.ERASURE:
            self._account(place, own)
        elif own.kind == EntryKind.EVENT:
            self.events[own.cause or ""].add(about)
        elif own.kind == EntryKind.ANSWER and own.request_key is not None:
            self.answers[own.request_key] = own
            self.labels[about].add(own.label)
        elif own.kind == EntryKind.CHANGE:
            self.changes[about].add((own.caller, own.cause))

    def _account(self, place: int, own: Entry) -> None:
        """Take an erasure as the reason why values are gone, if two people have asked for it."""
        target, about = own.cause or "", own.about or ""
        if len(self.consents[(target, own.model)]) < PEOPLE:
            self.verdict.add(f"Place {place} says that values were erased, but no two people have asked for it.")
            return
        if about.startswith(UNTIL):
            until = min(int(about.removeprefix(UNTIL)), own.at + MOST_APART - DAY * int(target.removeprefix(OLDER)))
            gone = [i for i, (_, e) in self.unaccounted.items() if e.at < until and own.model in (None, e.model)]
        else:
            both = (self.unaccounted.get(i) for i in about.split())
            gone = [e.id for _, e in filter(None, both) if target in (e.id, e.about)]
        for own_id in gone:
            del self.unaccounted[own_id]
        self.verdict.n_erased += len(gone)

    def _compare(self, connection: Connection) -> None:
        """Compare other tables with the log: what gives authority, or counts as an answer, must be in it."""
        add, execute = self.verdict.add, connection.execute
        if execute(select(func.count() - func.count(distinct(entries.c.id)))).scalar():
            add("Several entries have the same id, so some of them are copies.")
        for key in execute(select(keys)).mappings():
            if told(dict(key)) not in self.events[CREATED]:
                add(f"The log does not say that the key {key['id']} was created as it is.")
            if key["id"] in self.events[REVOKED] and key["revoked_at"] is None:
                add(f"The key {key['id']} was revoked, and is not any more.")
        final = select(answers, cases.c.model).join(cases, cases.c.id == answers.c.case_id)
        final = final.where(answers.c.final_at.is_not(None), cases.c.purpose != Purpose.PLANTED)
        for own in execute(final):
            said = self.answers.pop(request_of(own.id), None)
            if said is None or (said.caller, said.label, said.about) != (own.reader, own.label, own.case_id):
                add(f"The log does not have the answer {own.id} as it is.")
        for left in self.answers.values():
            add(f"An answer about {left.about} is in the log, and not among the answers.")
        settled = (cases.c.state == CaseState.SETTLED, cases.c.purpose != Purpose.PLANTED)
        for own in execute(select(cases.c.id, cases.c.label).where(*settled)):
            if own.label not in self.labels[own.id]:
                add(f"The case {own.id} has a label that no answer in the log has given.")
        for own in execute(select(changes)):
            about = f"change:{own.id}:{own.old_digest}:{own.new_digest}"
            for who, when, more in (
                ("proposed_by", "proposed", judged_as(own.judgement or "")),
                ("decided_by", "decided", ""),
            ):
                person = getattr(own, who)
                if person is not None and person not in {caller for caller, _ in self.changes[about + more]}:
                    add(f"The log does not say that {person} {when} the change {own.id}.")

    def _finish(self) -> None:
        """Note what is missing at the end, and what this check cannot rule out."""
        verdict = self.verdict
        for place, _ in self.unaccounted.values():
            verdict.add(f"The values at place {place} are gone, but no entry records that they were erased.")
        for place in sorted(self.expected):
            verdict.add(
                f"A head kept elsewhere is at place {place}, but the log ends at {verdict.place}: entries were cut off."
            )
        if verdict.witnessed == 0:
            verdict.limits.append(
                "There is no witness: no head was given. So this cannot rule out that the end of the log was cut off, "
                "or that entries were removed or put in another order by someone who can write to the database. Give "
                "heads that were kept elsewhere, or the receipt of an answer."
            )
        else:
            n = max(0, verdict.place - verdict.witnessed)
            verdict.limits.append(
                f"The newest head given is at place {verdict.witnessed}. The {n:,} entries after it were written with "
                "the key of the log, but this cannot rule out that others among or after them were removed."
            )


def send_head(engine: Engine, settings: Settings) -> None:
    """Sign the head of the log and add it to the witness, if enough is new; raises if the log lacks the one before."""
    path = Path(settings.witness)
    last = _last_head(path)
    with engine.connect() as connection:
        place, own_hash = head_of(connection)
        if last is not None:
            there = connection.execute(select(entries.c.hash).where(entries.c.place == last.place)).scalar()
            if there is None or bytes(there) != last.hash:
                raise LogChangedError(f"The log does not have the head of place {last.place} that the witness has.")
    at = datetime.now(UTC)
    if last is not None and place - last.place < settings.witness_entries:
        is_late = at - datetime.fromisoformat(last.at) >= timedelta(seconds=settings.witness_seconds)
        if place == last.place or not is_late:
            return
    if place > 0:
        head = signed(place, own_hash, at.isoformat(timespec="seconds"), Path(settings.witness_key))
        with path.open("a", encoding="utf-8") as file:
            file.write(head.to_line() + "\n")
            file.flush()
            os.fsync(file.fileno())


def witnessed_by(settings: Settings) -> tuple[list[Head], Ed25519PublicKey | None]:
    """The heads that the witness of the settings has, and the key that they are signed with."""
    path = Path(settings.witness)
    if not settings.witness or not path.exists():
        return [], None
    return read_heads(path.read_text(encoding="utf-8").splitlines()), public_key_of(Path(settings.witness_key + ".pub"))


def _last_head(path: Path) -> Head | None:
    """The head in the last line of a file."""
    with path.open("ab+") as file:
        file.seek(max(0, file.tell() - LONGEST_LINE))
        lines = file.read().decode().splitlines()
    return read_heads(lines[-1:])[0] if lines else None
