from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from attacks import ATTACKS, UNSEEN_WITHOUT_HEAD
from sqlalchemy import Engine

from sepc_desk.chain import Chain
from sepc_desk.entries import EntryKind, entry
from sepc_desk.erasing import erase, erase_until
from sepc_desk.heads import Head, make_keys, public_key_of, read_heads, signed
from sepc_desk.verifying import verify

# In the weekly run, 100.
N = int(os.environ.get("DESK_ATTACKS", "4"))


def filled(engine: Engine, n: int = 12) -> tuple[list[str], Head]:
    chain = Chain(engine)
    made = [
        entry(
            EntryKind.DECISION,
            "key:1",
            {"row": {"x": i}, "trust": 0.1 * i},
            label='"a"',
            accepted=i % 2 == 0,
            cause="THIN",
        )
        for i in range(n)
    ]
    receipts = chain.append(made)
    receipts += chain.append([entry(EntryKind.ACCESS, "person:ann", about=made[0].id)])
    chain.close()
    return [own.id for own in made], Head(receipts[-1].place, receipts[-1].hash)


class Undone(Exception):
    """Raised to roll an attack back."""


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_is_found_against_a_head_kept_elsewhere(engine: Engine, name: str) -> None:
    _, head = filled(engine)
    n_found = n_told = 0
    for seed in range(N):
        rng = random.Random(seed)
        with engine.connect().execution_options(writes=True) as connection, connection.begin() as attack:
            ATTACKS[name](connection, rng)
            attack.commit()
        n_found += not verify(engine, [head]).is_whole
        n_told += not verify(engine).is_whole
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            connection.exec_driver_sql("DELETE FROM entries")
        _, head = filled(engine)
    assert n_found == N
    assert n_told == (0 if name in UNSEEN_WITHOUT_HEAD else N)


def test_a_forged_head_is_found(engine: Engine, tmp_path: Path) -> None:
    _, head = filled(engine)
    public = public_key_of(make_keys(tmp_path / "own"))
    make_keys(tmp_path / "other")
    rng = random.Random(0)
    genuine = signed(head.place, head.hash, "2026-11-18T00:00:00+00:00", tmp_path / "own")
    assert read_heads([genuine.to_line(), ""]) == [genuine]
    assert verify(engine, [genuine], public).is_whole
    for _ in range(N):
        forged = [
            signed(head.place, rng.randbytes(32), genuine.at, tmp_path / "other"),
            replace(genuine, hash=rng.randbytes(32)),
            replace(genuine, place=rng.randrange(1, head.place)),
            replace(genuine, signature=rng.randbytes(64)),
            replace(genuine, signature=None),
        ]
        assert not any(verify(engine, [one], public).is_whole for one in forged)


def test_what_cannot_be_excluded_is_said(engine: Engine) -> None:
    _, head = filled(engine)
    assert "cannot rule out that the end of the log was cut off" in verify(engine).limits[0]
    assert "cannot rule out that entries followed it" in verify(engine, [head]).limits[0]
    filled(engine)
    assert "the 13 entries after it were rewritten" in verify(engine, [head]).limits[0]


def test_an_erased_log_is_whole_and_only_if_an_entry_says_so(engine: Engine) -> None:
    ids, head = filled(engine)
    assert erase(engine, ids[3], "key:2").n_entries == 1
    assert erase(engine, ids[3], "key:2").n_entries == 0
    verdict = verify(engine, [head])
    assert verdict.is_whole
    assert verdict.n_erased == 1
    assert erase_until(engine, 2**62, "key:2").n_entries == 11
    verdict = verify(engine, [head])
    assert verdict.is_whole
    assert verdict.n_erased == 12


def test_two_heads_of_one_place_that_differ_are_told(engine: Engine) -> None:
    _, head = filled(engine)
    assert "differ" in verify(engine, [head, Head(head.place, bytes(32))]).findings[0]
