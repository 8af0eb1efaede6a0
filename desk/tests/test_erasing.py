"""After an erasure the bytes of the case are nowhere in the files of the database."""

from __future__ import annotations

from pathlib import Path

import pytest
from servers import KEYED, Cluster
from sqlalchemy import select

from sepc_desk.chain import Chain
from sepc_desk.database import engine_of
from sepc_desk.entries import EntryKind, entry
from sepc_desk.erasing import erase, erase_older, scrub
from sepc_desk.errors import RequestError
from sepc_desk.schema import entries
from sepc_desk.settings import load_settings
from sepc_desk.verifying import verify

SECRETS = [b"Zaphod Beeblebrox", b"0.98765432101234", b"41.424344454647", b"because of the towel"]


def secret_case() -> dict[str, object]:
    return {
        "row": {"name": "Zaphod Beeblebrox", "size": 41.424344454647},
        "trust": 0.98765432101234,
        "reason": "because of the towel",
    }


def files_with(folder: Path, secret: bytes) -> list[str]:
    return [str(file) for file in folder.rglob("*") if file.is_file() and secret in file.read_bytes()]


def fill(engine, case: dict[str, object], n: int = 400) -> tuple[str, bytes]:
    """A case among others; returns its id and salt."""
    chain = Chain(engine)
    own = entry(EntryKind.DECISION, "key:1", case, model="m", label='"a"', accepted=True, cause="ACCEPTED")
    about = entry(EntryKind.RECOURSE, "key:1", case, model="m", about=own.id)
    others = [entry(EntryKind.DECISION, "key:1", {"row": {"x": i}}, model="m", label='"a"') for i in range(n)]
    chain.append([*others[: n // 2], own, about, *others[n // 2 :]])
    chain.close()
    assert own.salt is not None
    return own.id, own.salt


def test_postgresql(new_database, cluster: Cluster) -> None:
    engine = engine_of(load_settings(KEYED, database=new_database("postgresql")))
    case, salt = fill(engine, secret_case())
    cluster.execute("ANALYZE", engine.url.database)
    cluster.execute("CHECKPOINT")
    assert all(files_with(cluster.data, secret) for secret in SECRETS)
    erase(engine, case, "person:ann")
    assert erase(engine, case, "person:bob").n_entries == 2
    scrub(engine)
    cluster.execute("CHECKPOINT")
    for secret in [*SECRETS, salt]:
        assert files_with(cluster.data, secret) == []
    assert verify(engine).is_whole
    engine.dispose()


def test_sqlite(new_database) -> None:
    database = new_database("sqlite")
    folder = Path(database.removeprefix("sqlite:///")).parent
    engine = engine_of(load_settings(KEYED, database=database))
    case, salt = fill(engine, secret_case())
    assert all(files_with(folder, secret) for secret in SECRETS)
    erase(engine, case, "person:ann")
    assert erase(engine, case, "person:bob").n_entries == 2
    scrub(engine)
    for secret in [*SECRETS, salt]:
        assert files_with(folder, secret) == []
    assert verify(engine).is_whole
    engine.dispose()


def test_label_and_acceptance_stay_and_the_rest_goes(engine) -> None:
    case, _ = fill(engine, secret_case(), 4)
    for who in ("person:ann", "person:bob"):
        erase(engine, case, who)
    with engine.connect() as connection:
        found = connection.execute(select(entries).where(entries.c.id == case)).one()
    assert (found.label, found.accepted, found.cause) == ('"a"', True, "ACCEPTED")
    assert found.private is None
    assert found.salt is None


def test_retention_keeps_what_is_younger_and_other_models(engine) -> None:
    fill(engine, secret_case(), 4)
    chain = Chain(engine)
    chain.append([entry(EntryKind.DECISION, "key:1", {"row": {}}, model="other")])
    chain.close()
    for who in ("person:ann", "person:bob"):
        assert erase_older(engine, 1, who).n_entries == 0
    assert erase_older(engine, 0, "person:ann", "m").is_waiting
    assert erase_older(engine, 0, "person:bob", "m").n_entries == 6
    assert verify(engine).is_whole
    assert erase_older(engine, 0, "person:ann").is_waiting
    assert erase_older(engine, 0, "person:bob").n_entries == 1
    assert verify(engine).is_whole


def test_what_does_not_exist_cannot_be_erased(engine) -> None:
    with pytest.raises(RequestError, match="There is no decision"):
        erase(engine, "0" * 32, "key:2")
