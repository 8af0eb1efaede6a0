"""Changes of a model: made by one person, judged by the plan, agreed by another, and rolled back in one step."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, RowMapping, insert, select, update

from sepc_desk.chain import append_to_locked, lock_chain
from sepc_desk.entries import EntryKind, entry, new_id
from sepc_desk.errors import RequestError
from sepc_desk.models import ModelFolder
from sepc_desk.reviewing.transactions import now, writing
from sepc_desk.schema import changes

log = logging.getLogger("sepc_desk")
MOST_LISTED = 30


class ChangeKind(StrEnum):
    """What a person asked for."""

    AUDIT = "audit"
    REPAIR = "repair"
    VERSION = "version"  # another version that is in the folder of models
    ROLL_BACK = "roll back"


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


def begin(engine: Engine, model: str, kind: ChangeKind, old: str, caller: str, new: str | None = None) -> str:
    """A change that is being worked on; returns its id."""
    with writing(engine) as connection:
        at = now(connection)
        own = new_id(at)
        connection.execute(
            insert(changes).values(
                id=own,
                model=model,
                kind=kind,
                state=ChangeState.WORKING,
                old_digest=old,
                new_digest=new,
                made_by=caller,
                made_at=at,
            )
        )
    return own


def change_by_id(connection: Connection, own: str) -> Change | None:
    """A change; None if there is none."""
    found = connection.execute(select(changes).where(changes.c.id == own)).mappings().first()
    return None if found is None else _change(found)


def changes_of(connection: Connection, model: str, first: int = 0, last: int = 2**62) -> list[Change]:
    """The changes of a model that were made in some time, the newest first; at most 30."""
    c = changes.c
    some = select(changes).where(c.model == model, c.made_at >= first, c.made_at < last)
    newest = some.order_by(c.made_at.desc(), c.id).limit(MOST_LISTED)
    return [_change(one) for one in connection.execute(newest).mappings()]


def former_versions(connection: Connection, model: str, live: str) -> list[str]:
    """Digests of versions that were live before, the latest first."""
    was_live = (changes.c.model == model, changes.c.state == ChangeState.LIVE)
    found = connection.execute(select(changes.c.old_digest).where(*was_live).order_by(changes.c.decided_at.desc()))
    return [digest for digest in dict.fromkeys(found.scalars()) if digest != live]


def finish(engine: Engine, own: str, state: ChangeState, **values: Any) -> None:
    """Note what came of the work on a change."""
    texts = {name: orjson.dumps(value).decode() if isinstance(value, dict) else value for name, value in values.items()}
    with writing(engine) as connection:
        at_work = (changes.c.id == own, changes.c.state == ChangeState.WORKING)
        connection.execute(update(changes).where(*at_work).values(state=state, **texts))


def propose(engine: Engine, own: str, caller: str, judgement: dict[str, Any]) -> None:
    """Propose a change that was compared, with the plan's judgement of it."""
    text = orjson.dumps(judgement).decode()
    _step(
        engine, own, caller, "proposed", ChangeState.DRAFT, state=ChangeState.PROPOSED, judgement=text, stamp="proposed"
    )


def discard(engine: Engine, own: str, caller: str) -> None:
    """Give up a change that nobody has agreed to, or reject one that another person has proposed."""
    with engine.connect() as connection:
        found = _known(connection, own)
    if found.state == ChangeState.DRAFT:
        _step(engine, own, caller, "discarded", ChangeState.DRAFT, state=ChangeState.DISCARDED, stamp="decided")
    else:
        _step(engine, own, caller, "rejected", ChangeState.PROPOSED, state=ChangeState.REJECTED, stamp="decided")


def agree(engine: Engine, folder: ModelFolder, own: str, caller: str) -> None:
    """Let a proposed change go live; only for another person than the one who proposed it, and if the plan passed."""
    with engine.connect() as connection:
        found = _known(connection, own)
    if caller in (found.proposed_by, found.made_by):
        raise RequestError(403, "same_person", "A change goes live when a second person agrees; you proposed this one.")
    if not (found.judgement or {}).get("passed"):
        raise RequestError(409, "not_passed", "The plan did not pass this change, so it cannot go live.")
    _go_live(engine, folder, found, caller, "agreed", ChangeState.PROPOSED)


def roll_back(engine: Engine, folder: ModelFolder, model: str, to: str, caller: str) -> str:
    """Make a version live again that was live before, in one step; returns the id of this change."""
    live = folder.live_digest(model)
    with engine.connect() as connection:
        if to not in former_versions(connection, model, live):
            raise RequestError(409, "never_live", "Only a version that was live before can be rolled back to.")
    own = begin(engine, model, ChangeKind.ROLL_BACK, live, caller, to)
    with engine.connect() as connection:
        found = _known(connection, own)
    _go_live(engine, folder, found, caller, "rolled back", ChangeState.WORKING)
    return own


def _known(connection: Connection, own: str) -> Change:
    found = change_by_id(connection, own)
    if found is None:
        raise RequestError(404, "no_such_change", "There is no such change, or it is not yours to see.")
    return found


def _go_live(engine: Engine, folder: ModelFolder, found: Change, caller: str, step: str, before: ChangeState) -> None:
    live = folder.live_digest(found.model)
    if live != found.old_digest:
        raise RequestError(
            409, "other_version_live", "Another version has gone live since; compare with that one before you go on."
        )
    assert found.new_digest is not None
    new = found.new_digest
    is_written = False

    def write() -> None:
        nonlocal is_written
        try:
            folder.make_live(found.model, new)
        except OSError as error:
            raise RequestError(
                503, "folder_not_writable", "The service may not write to the folder of models, so nothing changed."
            ) from error
        is_written = True

    try:
        _step(engine, found.id, caller, step, before, state=ChangeState.LIVE, stamp="decided", last=write)
    except BaseException:
        if is_written:
            # The database did not confirm it, so the version before stays live.
            folder.make_live(found.model, live)
        raise
    log.info("version live", extra={"models": [found.model], "digest": new})


def _step(
    engine: Engine,
    own: str,
    caller: str,
    step: str,
    before: ChangeState,
    *,
    stamp: str,
    last: Callable[[], None] | None = None,
    **values: Any,
) -> None:
    """Move a change on, with an entry in the log, in one transaction; `last` runs before it ends."""
    with writing(engine) as connection:
        lock_chain(connection)
        values |= {f"{stamp}_by": caller, f"{stamp}_at": now(connection)}
        moved = update(changes).where(changes.c.id == own, changes.c.state == before).values(**values)
        found = connection.execute(moved.returning(changes.c.model, changes.c.old_digest, changes.c.new_digest)).first()
        if found is None:
            raise RequestError(409, "changed_meanwhile", "Someone else has acted on this change; look at it again.")
        about = f"change:{own}:{found.old_digest}:{found.new_digest}"
        made = entry(EntryKind.CHANGE, caller, model=found.model, cause=step, about=about)
        append_to_locked(connection, [made])
        if last is not None:
            last()
