"""Changes of a model: made by one person, judged by the plan, agreed by another, and rolled back in one step."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, Row, RowMapping, Select, func, insert, literal_column, select, update

from sepc_desk.authority import Action, Identity, Thing, require
from sepc_desk.chain import append_to_locked, lock_chain
from sepc_desk.entries import EntryKind, entry, new_id
from sepc_desk.errors import LogChangedError, RequestError
from sepc_desk.models import Model, ModelFolder
from sepc_desk.reading import is_authentic
from sepc_desk.reviewing.transactions import now, writing
from sepc_desk.schema import changes, entries

log = logging.getLogger("sepc_desk")
MOST_LISTED = 30
# Written out, so that PostgreSQL uses the index of entries about changes.
IS_CHANGE = entries.c.kind == literal_column(f"'{EntryKind.CHANGE}'")


class ChangeKind(StrEnum):
    """What a person asked for."""

    AUDIT = "audit"
    REPAIR = "repair"
    VERSION = "version"  # another version that is in the folder of models
    ROLL_BACK = "roll back"
    EMERGENCY = "emergency"  # a command made a version live, and nobody agreed


class LiveBy(StrEnum):
    """How a version went live, by the log."""

    FIRST = "first"
    AGREED = "agreed"
    ROLL_BACK = "rolled back"
    EMERGENCY = "emergency"


class ChangeState(StrEnum):
    """How far a change is."""

    WORKING = "working"
    FAILED = "failed"
    DONE = "done"  # an audit, which changes nothing
    DRAFT = "draft"  # compared with the live version, and not proposed
    PROPOSED = "proposed"
    LIVE = "live"
    REJECTED = "rejected"
    DISCARDED = "discarded"


@dataclass(frozen=True)
class Change:
    """A change of a model.

    Attributes
    ----------
    id, model : str
    kind : ChangeKind
    state : ChangeState
    old_digest : str
    new_digest : str or None
        None for an audit, and while a repair is being made.
    made_by : str
    made_at : int
        Microseconds since 1970.
    audit, comparison, judgement : dict or None
        What an audit found, what would change, and how the plan judged it.
    error : str or None
        What went wrong; of an emergency, the reason that was given.
    proposed_by, decided_by : str or None
    proposed_at, decided_at : int or None
    """

    id: str
    model: str
    kind: ChangeKind
    state: ChangeState
    old_digest: str
    new_digest: str | None
    made_by: str
    made_at: int
    audit: dict[str, Any] | None
    comparison: dict[str, Any] | None
    judgement: dict[str, Any] | None
    error: str | None
    proposed_by: str | None
    proposed_at: int | None
    decided_by: str | None
    decided_at: int | None

    @property
    def is_open(self) -> bool:
        """Whether someone can still act on it."""
        return self.state in (ChangeState.DRAFT, ChangeState.PROPOSED)


def _change(found: RowMapping) -> Change:
    texts = {name: found[name] for name in ("audit", "comparison", "judgement")}
    parsed = {name: None if text is None else orjson.loads(text) for name, text in texts.items()}
    named = {"kind": ChangeKind(found["kind"]), "state": ChangeState(found["state"])}
    return Change(**(dict(found) | parsed | named))


def begin(engine: Engine, model: str, kind: ChangeKind, old: str, caller: str, new: str | None = None) -> Change:
    """A change that is being worked on."""
    with writing(engine) as connection:
        return _begun(connection, model, kind, old, caller, new)


def _begun(
    connection: Connection, model: str, kind: ChangeKind, old: str, caller: str, new: str | None, **more: Any
) -> Change:
    at = now(connection)
    own = new_id(at)
    made = {"id": own, "model": model, "kind": kind, "old_digest": old, "new_digest": new, "made_by": caller}
    connection.execute(insert(changes).values(**made, state=ChangeState.WORKING, made_at=at, **more))
    return known_change(connection, own)


def known_change(connection: Connection, own: str) -> Change:
    """A change; raises if there is none."""
    found = connection.execute(select(changes).where(changes.c.id == own)).mappings().first()
    if found is None:
        raise RequestError(404, "no_such_change", "There is no such change, or it is not yours to see.")
    return _change(found)


def changes_of(connection: Connection, model: str, first: int, last: int) -> list[Change]:
    """The changes of a model that were made in some time, the newest first; at most 30."""
    c = changes.c
    some = select(changes).where(c.model == model, c.made_at >= first, c.made_at < last)
    newest = some.order_by(c.made_at.desc(), c.id).limit(MOST_LISTED)
    return [_change(one) for one in connection.execute(newest).mappings()]


def live_digest(connection: Connection, folder: ModelFolder, model: str) -> str:
    """The version that decides, by the log; before any entry about it, the one that the folder begins with."""
    found = _last_step(connection, model)
    return folder.first_digest(model) if found is None else _version_of(connection, found)


def _last_step(connection: Connection, model: str) -> Row[Any] | None:
    """The newest entry about a version that went live."""
    return connection.execute(_lived(model).order_by(entries.c.place.desc()).limit(1)).first()


def _version_of(connection: Connection, step: Row[Any]) -> str:
    """The version that an entry says went live."""
    if not is_authentic(connection, step):
        raise LogChangedError(f"Place {step.place}, about a version of {step.model}, was not written by the desk.")
    return str(step.about.rpartition(":")[2])


def newest_change(connection: Connection) -> int | None:
    """The place of the newest entry about a change of any model."""
    return connection.execute(select(func.max(entries.c.place)).where(IS_CHANGE)).scalar()


def load_live(engine: Engine, folder: ModelFolder, name: str) -> Model:
    """The version of a model that decides; the log then has which one it began with."""
    _begin_to_live(engine, folder, name)
    with engine.connect() as connection:
        step = _last_step(connection, name)
        assert step is not None
        digest = _version_of(connection, step)
    if step.cause == LiveBy.EMERGENCY:
        log.error("live in an emergency", extra={"models": [name], "digest": digest})
    return folder.load(name, digest)


def _begin_to_live(engine: Engine, folder: ModelFolder, model: str) -> None:
    with engine.connect() as connection:
        if _last_step(connection, model) is not None:
            return
    with writing(engine) as connection:
        lock_chain(connection)
        if _last_step(connection, model) is None:
            about = f"change:first:None:{folder.first_digest(model)}"
            made = entry(EntryKind.CHANGE, "service", model=model, cause=LiveBy.FIRST, about=about)
            append_to_locked(connection, [made])


def former_versions(connection: Connection, model: str) -> list[str]:
    """Digests of versions that can be rolled back to, the latest first.

    These are the versions on which the live one builds, without those that were rolled back, or that nobody agreed to.
    """
    built: list[tuple[str, str]] = []
    for step in connection.execute(_lived(model).order_by(entries.c.place)):
        new, cause = _version_of(connection, step), step.cause
        if cause == LiveBy.ROLL_BACK:
            while built and built[-1][0] != new:
                built.pop()
        else:
            built.append((new, cause))
    live = built[-1][0] if built else None
    return [digest for digest, cause in built[-2::-1] if cause != LiveBy.EMERGENCY and digest != live]


def _lived(model: str) -> Select[Any]:
    """Entries about versions of a model that went live."""
    return select(entries).where(IS_CHANGE, entries.c.model == model, entries.c.cause.in_(list(LiveBy)))


def finish(engine: Engine, own: str, state: ChangeState, **values: Any) -> None:
    """Note what came of the work on a change."""
    texts = {name: orjson.dumps(value).decode() if isinstance(value, dict) else value for name, value in values.items()}
    with writing(engine) as connection:
        at_work = (changes.c.id == own, changes.c.state == ChangeState.WORKING)
        connection.execute(update(changes).where(*at_work).values(state=state, **texts))


def propose(engine: Engine, own: str, caller: str, judgement: dict[str, Any]) -> None:
    """Propose a change that was compared, with the plan's judgement of it."""
    text = orjson.dumps(judgement).decode()
    with writing(engine) as connection:
        lock_chain(connection)
        _step(connection, own, caller, "proposed", ChangeState.DRAFT, ChangeState.PROPOSED, judgement=text)


def judged_as(judgement: str) -> str:
    """What the entry of a proposal says of its judgement."""
    return f":{hashlib.sha256(judgement.encode()).hexdigest()}"


def discard(engine: Engine, own: str, caller: str) -> None:
    """Give up a change that nobody has agreed to, or reject one that another person has proposed."""
    with writing(engine) as connection:
        lock_chain(connection)
        if known_change(connection, own).state == ChangeState.DRAFT:
            before, state = ChangeState.DRAFT, ChangeState.DISCARDED
        else:
            before, state = ChangeState.PROPOSED, ChangeState.REJECTED
        _step(connection, own, caller, state, before, state)


def agree(engine: Engine, folder: ModelFolder, own: str, person: Identity) -> None:
    """Let a proposed change go live; only for another person than the one who proposed it, and if the plan passed."""
    with writing(engine) as connection:
        lock_chain(connection)
        found = known_change(connection, own)
        by = frozenset({found.made_by, found.proposed_by or ""})
        if person.caller in by:
            raise RequestError(
                403, "same_person", "A change goes live when a second person agrees; you proposed this one."
            )
        require(person, Action.AGREE, Thing(found.model, by=by))
        if not (found.judgement or {}).get("passed"):
            raise RequestError(409, "not_passed", "The plan did not pass this change, so it cannot go live.")
        _require_proposal(connection, found)
        _go_live(connection, folder, found, person.caller, LiveBy.AGREED)


def _require_proposal(connection: Connection, found: Change) -> None:
    """Raise unless the log has the proposal as the table has it, with its judgement."""
    text = connection.execute(select(changes.c.judgement).where(changes.c.id == found.id)).scalar_one()
    said = {"caller": found.proposed_by, "cause": "proposed", "about": _about(found) + judged_as(text)}
    own = select(entries).where(IS_CHANGE, *(entries.c[name] == value for name, value in said.items()))
    if not any(is_authentic(connection, one) for one in connection.execute(own)):
        raise RequestError(409, "not_in_log", "The log has no such proposal, so this change cannot go live.")


def roll_back(engine: Engine, folder: ModelFolder, model: str, to: str, caller: str) -> None:
    """Make a version live again on which the live one builds, in one step."""
    with writing(engine) as connection:
        lock_chain(connection)
        if to not in former_versions(connection, model):
            raise RequestError(409, "never_live", "Only a version that was live before can be rolled back to.")
        live = live_digest(connection, folder, model)
        made = _begun(connection, model, ChangeKind.ROLL_BACK, live, caller, to)
        _go_live(connection, folder, made, caller, LiveBy.ROLL_BACK)


def go_live_in_emergency(engine: Engine, folder: ModelFolder, model: str, to: str, caller: str, reason: str) -> str:
    """Make a version live that nobody has agreed to; the log keeps the reason. Returns the version before."""
    _begin_to_live(engine, folder, model)
    with writing(engine) as connection:
        lock_chain(connection)
        live = live_digest(connection, folder, model)
        made = _begun(connection, model, ChangeKind.EMERGENCY, live, caller, to, error=reason)
        _go_live(connection, folder, made, caller, LiveBy.EMERGENCY, {"reason": reason})
    return live


def _go_live(
    connection: Connection,
    folder: ModelFolder,
    found: Change,
    caller: str,
    by: LiveBy,
    private: dict[str, Any] | None = None,
) -> None:
    """Let a change go live, if it was compared with what is live now; the chain is locked."""
    if live_digest(connection, folder, found.model) != found.old_digest:
        raise RequestError(
            409, "other_version_live", "Another version has gone live since; compare with that one before you go on."
        )
    if found.new_digest not in folder.versions(found.model):
        raise RequestError(409, "no_version", "The file of this version is not in the folder of models.")
    before = ChangeState.PROPOSED if by is LiveBy.AGREED else ChangeState.WORKING
    _step(connection, found.id, caller, by, before, ChangeState.LIVE, private=private)
    log.info("version live", extra={"models": [found.model], "digest": found.new_digest})


def _about(found: Any) -> str:
    return f"change:{found.id}:{found.old_digest}:{found.new_digest}"


def _step(
    connection: Connection,
    own: str,
    caller: str,
    step: str,
    before: ChangeState,
    after: ChangeState,
    *,
    judgement: str | None = None,
    private: dict[str, Any] | None = None,
) -> None:
    """Move a change on, with an entry in the log, while the chain is locked."""
    stamp = "proposed" if after is ChangeState.PROPOSED else "decided"
    values = {"state": after, f"{stamp}_by": caller, f"{stamp}_at": now(connection)}
    values |= {} if judgement is None else {"judgement": judgement}
    moved = update(changes).where(changes.c.id == own, changes.c.state == before).values(**values)
    c = changes.c
    found = connection.execute(moved.returning(c.id, c.model, c.old_digest, c.new_digest)).first()
    if found is None:
        raise RequestError(409, "changed_meanwhile", "Someone else has acted on this change; look at it again.")
    about = _about(found) + ("" if judgement is None else judged_as(judgement))
    made = entry(EntryKind.CHANGE, caller, private, model=found.model, cause=step, about=about)
    append_to_locked(connection, [made])
