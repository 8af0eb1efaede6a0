"""How a version goes live: by two people, compared with what is live, and never past the log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2 as httpx
import pytest
import sepc
from conftest import Running
from sample_models import loans, model, save_models
from servers import KEYED, DeskProcess
from signing_in import SignIn
from sqlalchemy import delete, func, insert, select, update

from sepc_desk.commands.main import main
from sepc_desk.keys import create_key
from sepc_desk.models import ModelFolder
from sepc_desk.owning.changes import ChangeKind, ChangeState, begin, finish, propose
from sepc_desk.schema import changes, entries

PASSED = {"passed": True, "title": "", "lines": [], "look": 1, "most": 3, "ledger": "x"}


class Owning(Running):
    """A service on PostgreSQL with three versions of a model, and two owners who have signed in."""

    def __init__(self, process: DeskProcess, database: str, sign_in: SignIn, folder: Path, versions: list[str]) -> None:
        super().__init__(process, database)
        self.folder, self.versions = folder, versions
        self.ann, self.ben = (sign_in.person(process, name, "owner:loans") for name in ("ann", "ben"))

    @property
    def live(self) -> str:
        body = {"model": "loans", "rows": model("loans")[1][:1]}
        return str(self.client.post("/decide", json=body).json()["version"])

    def drafted(self, new: str, by: str = "person:ann") -> str:
        """A change from what is live, compared already."""
        own = begin(self.engine, "loans", ChangeKind.VERSION, self.live, by, new).id
        finish(self.engine, own, ChangeState.DRAFT, comparison={"summary": "", "n_rows": 1, "n_changed": 0})
        return own

    def proposed(self, new: str, by: str = "person:ann") -> str:
        own = self.drafted(new, by)
        propose(self.engine, own, by, PASSED)
        return own

    def agree(self, client: httpx.Client, own: str) -> int:
        return client.post(f"/changes/{own}/agree").status_code

    def back(self, client: httpx.Client, to: str) -> int:
        return client.post("/models/loans/roll-back", data={"version": to}).status_code


@pytest.fixture(scope="module")
def owning(new_database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owning]:
    home, database = tmp_path_factory.mktemp("owning"), new_database("postgresql")
    folder = save_models(home / "models", ["loans"])
    first = ModelFolder(folder).first_digest("loans")
    versions = [first]
    for seed in (1, 2):
        sepc.save(sepc.SEPClassifier().fit(*loans(200, seed)), home / f"{seed}.sepc")
        versions.append(ModelFolder(folder).add("loans", home / f"{seed}.sepc"))
    sign_in = SignIn("loans")
    process = DeskProcess(database, folder, review_seconds=0, **sign_in.settings())
    own = Owning(process.wait_ready(), database, sign_in, folder, versions)
    yield own
    for client in (own.ann, own.ben):
        client.close()
    own.close()
    sign_in.close()


def test_one_person_with_two_credentials_does_not_agree_with_themselves(owning: Owning) -> None:
    first, second, _ = owning.versions
    with owning.process.client(create_key(owning.engine, "ann", ["loans"], "owner")) as key:
        own = owning.proposed(second)
        assert owning.agree(owning.ann, own) == 403
        assert owning.agree(key, own) == 403
        with owning.process.client(create_key(owning.engine, "ben", ["loans"], "owner")) as other:
            assert owning.agree(other, own) == 403, "an approval takes a sign-in"
    assert owning.live == first
    assert owning.agree(owning.ben, own) == 303
    assert owning.live == second
    assert owning.back(owning.ann, first) == 303
    assert owning.live == first
    assert owning.back(owning.ann, second) == 409, "it was rolled back, so it has to be proposed again"
    assert owning.live == first


def test_of_approvals_at_the_same_moment_one_counts(owning: Owning) -> None:
    before, (one, other) = owning.live, owning.versions[1:]
    for _ in range(4):
        proposals = [owning.proposed(one), owning.proposed(other)]
        with ThreadPoolExecutor(2) as pool:
            got = sorted(pool.map(lambda own: owning.agree(owning.ben, own), proposals))
        assert got == [303, 409]
        with owning.engine.connect() as connection:
            states = select(changes.c.state).where(changes.c.id.in_(proposals))
            assert sorted(connection.execute(states).scalars()) == ["live", "proposed"]
        assert owning.back(owning.ann, before) == 303


def test_a_change_that_the_log_does_not_have_does_not_go_live(owning: Owning) -> None:
    live, new = owning.live, owning.versions[2]
    row = {"model": "loans", "kind": "version", "old_digest": live, "new_digest": new, "made_by": "person:ann"}
    row |= {"made_at": 1, "proposed_by": "person:ann", "proposed_at": 2, "judgement": '{"passed": true}'}
    with owning.engine.connect() as connection, connection.begin():
        connection.execute(insert(changes).values(id="forged", state="proposed", **row))
    assert owning.agree(owning.ben, "forged") == 409
    own = owning.drafted(new)
    propose(owning.engine, own, "person:ann", {"passed": False})
    with owning.engine.connect() as connection, connection.begin():
        connection.execute(update(changes).where(changes.c.id == own).values(judgement='{"passed":true}'))
    assert owning.agree(owning.ben, own) == 409
    (owning.folder / "loans" / "live").write_text(new)
    (owning.folder / "loans" / "first").write_text(new)
    with owning.engine.connect() as connection, connection.begin():
        old = connection.execute(select(entries).where(entries.c.cause == "agreed").limit(1)).mappings().one()
        place = connection.execute(select(func.max(entries.c.place))).scalar_one() + 1
        forged = dict(old) | {"place": place, "id": "f", "about": f"change:x:{live}:{new}"}
        connection.execute(insert(entries).values(**forged))
    time.sleep(5)
    assert owning.live == live, "an entry without a valid seal changes nothing"
    assert "model loans" in owning.nobody.get("/health/ready").json()["behind"]
    with owning.engine.connect() as connection, connection.begin():
        connection.execute(delete(entries).where(entries.c.id == "f"))


def test_an_emergency_takes_a_reason_and_is_told(
    owning: Owning, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEPC_DESK_LOG_KEY", KEYED["SEPC_DESK_LOG_KEY"])
    live, new = owning.live, owning.versions[2]
    common = ["--database", owning.database, "--models", str(owning.folder)]
    assert main(["models", "live", "loans", new[:12], *common]) == 2
    assert "another agrees" in capsys.readouterr().err
    assert owning.live == live
    assert main(["models", "live", "loans", new[:12], "--emergency", "nobody is there", *common]) == 0
    until = time.monotonic() + 20
    while owning.live != new:
        assert time.monotonic() < until
        time.sleep(0.2)
    assert "live in an emergency" in owning.process.log.read_text()
    page = owning.ann.get("/models/loans").text
    assert "Emergency, agreed by nobody" in page
    with owning.engine.connect() as connection:
        own = connection.execute(select(entries).order_by(entries.c.place.desc()).where(entries.c.kind == "change"))
        assert own.first().cause == "emergency"
    assert owning.back(owning.ben, live) == 303
