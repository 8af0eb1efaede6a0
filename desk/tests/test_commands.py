"""The commands, on a log that a service has written."""

from __future__ import annotations

from pathlib import Path

import pytest
import sepc
from filling import fill
from sample_models import model, save_models
from servers import KEYED
from sqlalchemy import select

from sepc_desk.commands.main import main
from sepc_desk.erasing import erase, erase_older
from sepc_desk.schema import changes, entries, planted


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database: str) -> None:
    monkeypatch.setenv("SEPC_DESK_DATABASE", database)
    monkeypatch.setenv("SEPC_DESK_LOG_KEY", KEYED["SEPC_DESK_LOG_KEY"])
    monkeypatch.setenv("SEPC_DESK_MODELS", str(tmp_path / "models"))


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    status = main([str(own) for own in arguments])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_verify_against_signed_heads_and_receipts(engine, tmp_path: Path, capsys) -> None:
    save_models(tmp_path / "models", ["loans"])
    fill(engine, tmp_path / "models", 5, ("loans",))
    key, heads = tmp_path / "key", tmp_path / "heads"
    assert run(capsys, "heads", "key", key)[0] == 0
    assert key.stat().st_mode & 0o777 == 0o600
    assert run(capsys, "heads", "key", key) == (
        2,
        f"sepc-desk: {key} exists already; a key that has signed heads must not be replaced.\n",
    )
    assert run(capsys, "heads", "sign", "--key", key, "--to", heads)[1].startswith("Added the head of place 5")
    status, text = run(capsys, "verify", "--heads", heads, "--public-key", f"{key}.pub")
    assert status == 0
    assert "Every entry up to place 5, the newest head, is as it was written." in text
    assert "cannot rule out that others among or after them were removed" in text
    assert "Give the public key" in run(capsys, "verify", "--heads", heads)[1]
    assert "none cannot be read" in run(capsys, "verify", "--public-key", tmp_path / "none")[1]
    assert "does not contain a key" in run(capsys, "verify", "--public-key", heads)[1]
    assert "does not contain a key" in run(capsys, "heads", "sign", "--key", heads)[1]
    assert "cannot be written" in run(capsys, "heads", "sign", "--key", key, "--to", tmp_path / "none" / "heads")[1]
    receipt = text.splitlines()[0].rpartition(" ")[2]
    assert run(capsys, "verify", "--receipt", receipt)[0] == 0
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.exec_driver_sql("DELETE FROM entries WHERE place = 5")
    assert run(capsys, "verify")[0] == 4
    status, text = run(capsys, "verify", "--heads", heads, "--public-key", f"{key}.pub")
    assert status == 3
    assert "the log ends at 4: entries were cut off" in text
    assert "The log was changed." in text


def test_replay_erase_retention_and_scrub(engine, tmp_path: Path, capsys) -> None:
    save_models(tmp_path / "models", ["loans"])
    fill(engine, tmp_path / "models", 5, ("loans",))
    with engine.connect() as connection:
        case = connection.execute(select(entries.c.id).order_by(entries.c.place)).scalars().first()
    assert run(capsys, "replay", case) == (0, "1 decision: 1 identical to the last bit.\n")
    assert "Name what to replay" in run(capsys, "replay")[1]
    assert "no such decision" in run(capsys, "replay", "0")[1]
    assert "another person must ask for the same" in run(capsys, "erase", case)[1]
    erase_older(engine, 0, "person:ann")
    assert erase(engine, case, "person:ann").n_entries == 1
    assert "nothing left" in run(capsys, "erase", case)[1]
    assert run(capsys, "replay", "--all")[1].startswith("5 decisions: 4 identical to the last bit, 1 erased.")
    assert run(capsys, "retention", "--days", "0")[1].startswith("Erased 4 entries of more than 0 days ago")
    assert run(capsys, "scrub")[0] == 0
    assert run(capsys, "verify")[1].startswith("11 entries, 5 of them erased")


def test_models_are_added_and_go_live_without_a_second_person_only_in_an_emergency(
    engine, tmp_path: Path, capsys
) -> None:
    for name in ("one", "two"):
        fitted = model("loans" if name == "one" else "wdbc")[0]
        sepc.save(fitted, tmp_path / f"{name}.sepc")
        status, text = run(capsys, "models", "add", "loans", tmp_path / f"{name}.sepc")
        assert status == 0
        assert text.endswith("decides.\n" if name == "one" else "propose it at /models/loans.\n")
    listed = run(capsys, "models", "list")[1].splitlines()
    other = next(line.split()[1] for line in listed if "live" not in line)
    for reason in ([], ["--emergency", " "]):
        status, text = run(capsys, "models", "live", "loans", other[:8], *reason)
        assert (status, "another agrees" in text) == (2, True)
    assert run(capsys, "models", "list")[1].splitlines() == listed
    why = ["--emergency", "the live version refuses everything"]
    assert run(capsys, "models", "live", "loans", other[:8], *why)[1].startswith(f"loans {other} is live instead of")
    assert "does not identify one version" in run(capsys, "models", "live", "loans", "ffffffff", *why)[1]
    assert sum("live" in line for line in run(capsys, "models", "list")[1].splitlines()) == 1
    with engine.connect() as connection:
        found = connection.execute(select(entries).where(entries.c.kind == "change").order_by(entries.c.place)).all()
        assert [one.cause for one in found] == ["first", "emergency"]
        assert why[1] in found[1].private
        assert connection.execute(select(changes.c.error)).scalar_one() == why[1]
    (tmp_path / "bad.sepc").write_bytes(b"no model")
    assert "bad.sepc cannot be served" in run(capsys, "models", "add", "loans", tmp_path / "bad.sepc")[1]
    assert "is not a valid model name" in run(capsys, "models", "add", "../x", tmp_path / "one.sepc")[1]


def test_keys_are_shown_once(capsys) -> None:
    secret = run(capsys, "keys", "create", "--program", "portal", "--models", "loans", "wdbc")[1].strip()
    own = secret.split("_")[1]
    assert run(capsys, "keys", "list")[1] == f"{own}  program  loans,wdbc    program  portal\n"
    owner = ("--models", "loans", "--role", "owner")
    assert "Programs cannot have the role owner" in run(capsys, "keys", "create", "--program", "portal", *owner)[1]
    assert "printable" in run(capsys, "keys", "create", "--person", "a\x1eb", *owner)[1]
    assert run(capsys, "keys", "revoke", own)[0] == 0
    assert "no active key" in run(capsys, "keys", "revoke", own)[1]
    assert "revoked" in run(capsys, "keys", "list")[1]


def test_what_is_wrong_is_said_with_the_remedy(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEPC_DESK_DATABASE", "postgresql://postgres@127.0.0.1:1/none")
    assert "The database cannot be reached" in run(capsys, "keys", "list")[1]
    monkeypatch.delenv("SEPC_DESK_DATABASE")
    assert "Set SEPC_DESK_DATABASE" in run(capsys, "keys", "list")[1]


def test_planted_cases_are_added_from_files_and_removed(engine, tmp_path: Path, capsys) -> None:
    save_models(tmp_path / "models", ["loans"])
    table = tmp_path / "known.csv"
    table.write_text("amount,months,income,home,age,status\n8120,15,1557,rent,,late\n3000,20,4000,own,40,paid\n")
    assert run(capsys, "planted", "add", "loans", table, "--label", "status") == (
        0,
        "2 cases of loans are planted.\n",
    )
    lines = tmp_path / "known.jsonl"
    lines.write_text('{"amount": 1, "months": 2, "income": 3, "home": null, "age": 4, "status": "paid"}\n')
    assert run(capsys, "planted", "add", "loans", lines, "--label", "status")[0] == 0
    with engine.connect() as connection:
        rows = connection.execute(select(planted.c.row, planted.c.truth).order_by(planted.c.id)).all()
    first = '{"amount":8120.0,"months":15.0,"income":1557.0,"home":"rent","age":null}'
    assert first in {one.row for one in rows}
    assert sorted(one.truth for one in rows) == ['"late"', '"paid"', '"paid"']
    assert "has no column 'label'" in run(capsys, "planted", "add", "loans", table, "--label", "label")[1]
    table.write_text(table.read_text().replace("3000", "much"))
    assert (
        "Column 'amount' holds numbers, and row 1 has 'much'."
        in run(capsys, "planted", "add", "loans", table, "--label", "status")[1]
    )
    assert run(capsys, "planted", "remove", "loans") == (0, "3 planted cases of loans are removed.\n")
    with engine.connect() as connection:
        assert set(connection.execute(select(planted.c.row)).scalars()) == {"{}"}
