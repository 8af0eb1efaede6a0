"""How often certificates are false when several processes work at one database and are killed.

As `certificates.py`, with the behaviour "all": but draws are models of one PostgreSQL, some of them open at a time.
Several processes take and answer cases of all open draws by the real clock, one process is killed every few seconds,
and another one makes answers final, counts them and looks at the certificates meanwhile. Every certificate is false,
and at most 5 % of draws may have one. --control counts what is lost or undecided as right, which must break the level.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import random
import secrets
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from scipy.stats import binomtest
from sqlalchemy import Engine, delete, func, or_, select
from sqlalchemy.exc import DBAPIError

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from certificates import BEHAVIOURS, LEVEL, OTHER, SETTINGS, count_kindly  # noqa: E402 - found by the line above
from sample_models import model as sample  # noqa: E402
from sample_models import save_models  # noqa: E402
from servers import KEYED, Cluster  # noqa: E402

from sepc_desk.chain import Chain, keep_context  # noqa: E402
from sepc_desk.database import engine_of  # noqa: E402
from sepc_desk.deciding import decide_rows  # noqa: E402
from sepc_desk.entries import EntryKind, entry  # noqa: E402
from sepc_desk.errors import RequestError  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.models import Model, ModelFolder  # noqa: E402
from sepc_desk.reviewing.answering import Given, answer, undo  # noqa: E402
from sepc_desk.reviewing.certifying import certificate, count_answers  # noqa: E402
from sepc_desk.reviewing.enrolling import enrol  # noqa: E402
from sepc_desk.reviewing.leasing import Reader, take  # noqa: E402
from sepc_desk.reviewing.settling import settle  # noqa: E402
from sepc_desk.reviewing.states import Purpose, ReadingState  # noqa: E402
from sepc_desk.reviewing.transactions import now, writing  # noqa: E402
from sepc_desk.rows import typed_row  # noqa: E402
from sepc_desk.schema import answers, cases, leases, readings  # noqa: E402
from sepc_desk.settings import load_settings  # noqa: E402

LEASE_SECONDS, UNDO_SECONDS = 2.0, 0.5
OWN = replace(SETTINGS, lease_seconds=LEASE_SECONDS, undo_seconds=UNDO_SECONDS)
N_DECISIONS = 600
N_OPEN = 50
RISK = 0.21
KILL_SECONDS, LOOK_SECONDS = 2.0, 1.0


def fill(engine: Engine, live: Model, names: list[str]) -> None:
    """Log the same decisions for each of the names."""
    rows = [typed_row(live.columns, sample("loans")[1][i % 300], i) for i in range(N_DECISIONS)]
    decided = decide_rows(live, rows)
    chain = Chain(engine)
    for name in names:
        own = replace(live, name=name)
        keep_context(engine, *own.context)
        chain.append(
            [
                entry(
                    EntryKind.DECISION,
                    "key:1",
                    one.private(row),
                    model=name,
                    context=own.context[0],
                    label=one.label_text,
                    accepted=one.accepted,
                    cause=one.cause,
                )
                for row, one in zip(rows, decided, strict=True)
            ]
        )
    chain.close()


def work(database: str, names: list[str], seed: int) -> None:
    """Take and answer cases of some draws, as careless readers, until killed or left alone."""
    engine = engine_of(load_settings(KEYED, database=database))
    rng = random.Random(seed)
    later: list[tuple[float, Reader, Any, str]] = []
    parent = multiprocessing.parent_process()
    while parent is not None and parent.is_alive():
        reader = Reader(f"person:{rng.randrange(5)}")
        with contextlib.suppress(DBAPIError, RequestError):
            _turn(engine, reader, rng.choice(names), rng, later)
        for due in [one for one in later if one[0] <= time.monotonic()]:
            later.remove(due)
            with contextlib.suppress(DBAPIError, RequestError):
                _answer(engine, due[1], due[2], due[3])


def _turn(engine: Engine, reader: Reader, name: str, rng: random.Random, later: list[Any]) -> None:
    with writing(engine) as connection:
        taken = take(connection, reader, name, now(connection), LEASE_SECONDS)
        if taken is None:
            return
        said = orjson.loads(
            connection.execute(select(cases.c.model_label).where(cases.c.id == taken.case_id)).scalar_one()
        )
    digits = hashlib.sha256(taken.case_id.encode()).digest()
    is_wrong = int.from_bytes(digits[:6], "big") / 2**48 < RISK
    truth = OTHER[said] if is_wrong else said
    shares = BEHAVIOURS["all"]
    done = next((what for what, share in shares.items() if rng.random() < share[0 if is_wrong else 1]), "plain")
    if done == "late":
        later.append((time.monotonic() + 0.6 * LEASE_SECONDS, reader, taken, truth))
    elif done == "undone":
        first = _answer(engine, reader, taken, said)
        with writing(engine) as connection:
            limits = {"undo_seconds": UNDO_SECONDS, "lease_seconds": LEASE_SECONDS}
            again = undo(connection, reader, first, now(connection), **limits)
        _answer(engine, reader, again, truth)
    elif done == "doubled":
        _answer(engine, reader, taken, truth)
        _answer(engine, reader, taken, said)
    elif done != "lost":
        _answer(engine, reader, taken, None if done == "cannot say" else truth)


def _answer(engine: Engine, reader: Reader, taken: Any, label: str | None) -> str:
    with writing(engine) as connection:
        return answer(connection, reader, taken.id, taken.lease, Given(label), now(connection))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.control:
        count_kindly()
    names = [f"draw-{i:03}" for i in range(options.draws)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        live = ModelFolder(save_models(folder / "models", ["loans"])).load("loans")
        cluster = Cluster()
        stack.callback(cluster.remove)
        database = cluster.create("together")
        engine = engine_of(load_settings(KEYED, database=database))
        stack.callback(engine.dispose)
        migrate(engine)
        models = {name: replace(live, name=name) for name in names}
        fill(engine, live, names)
        while enrol(engine, OWN, lambda name, _: models[name]):
            pass
        others = select(cases.c.id).where(cases.c.purpose != Purpose.DRAWN)
        with writing(engine) as connection:
            connection.execute(delete(readings).where(readings.c.case_id.in_(others)))
        n_killed, certified = 0, set[str]()
        for start in range(0, len(names), N_OPEN):
            some = {name: models[name] for name in names[start : start + N_OPEN]}
            own_killed, own_certified = _run(options.processes, database, engine, some)
            n_killed, certified = n_killed + own_killed, certified | own_certified
            print(f"{start + len(some)} draws, {len(certified)} certified", file=sys.stderr, flush=True)
        setting = {"killed": n_killed, "processes": options.processes, "control": options.control}
        found = _found(engine, models, certified) | setting
    print(json.dumps(found))
    if options.output is not None:
        options.output.write_text(json.dumps(found))
    sys.exit(int((found["99 % lower bound"] > LEVEL) != options.control))


def _run(n: int, database: str, engine: Engine, models: dict[str, Model]) -> tuple[int, set[str]]:
    """Let processes work until nothing of these models waits, and look at certificates all the time."""
    # Copies of a process that has imported everything start at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["sepc_desk.migrations.running", "sepc_desk.reviewing.settling", "sepc_desk.reviewing.certifying"]
    )

    def start() -> Any:
        own = context.Process(target=work, args=(database, list(models), secrets.randbits(32)), daemon=True)
        own.start()
        return own

    running = [start() for _ in range(n)]
    n_killed, certified = 0, set[str]()
    next_kill = next_look = time.monotonic() + KILL_SECONDS
    while _waiting(engine, list(models)):
        settle(engine, UNDO_SECONDS)
        if time.monotonic() > next_look:
            count_answers(engine, lambda name, _: models[name])
            certified |= _certified(engine, models)
            next_look = time.monotonic() + LOOK_SECONDS
        if time.monotonic() > next_kill:
            victim = random.randrange(len(running))
            running[victim].kill()
            running[victim].join()
            running[victim] = start()
            n_killed, next_kill = n_killed + 1, time.monotonic() + KILL_SECONDS
        time.sleep(0.2)
    for own in running:
        own.kill()
        own.join()
    return n_killed, certified | _certified(engine, models)


def _waiting(engine: Engine, names: list[str]) -> bool:
    unfinished = or_(
        readings.c.state != ReadingState.FINAL,
        cases.c.is_counted.is_(False),
    )
    some = (
        select(readings.c.id).join(cases, cases.c.id == readings.c.case_id).where(cases.c.model.in_(names), unfinished)
    )
    with engine.connect() as connection:
        return connection.execute(some.limit(1)).first() is not None


def _certified(engine: Engine, models: dict[str, Model]) -> set[str]:
    with engine.connect() as connection:
        found = {name: certificate(connection, own) for name, own in models.items()}
    return {name for name, own in found.items() if own is not None and own.is_certified}


def _found(engine: Engine, models: dict[str, Model], certified: set[str]) -> dict[str, Any]:
    with engine.connect() as connection:
        labels = [certificate(connection, own) for own in models.values()]
        endings = connection.execute(select(leases.c.ending, func.count()).group_by(leases.c.ending)).all()
        n_undone = connection.execute(select(func.count()).where(answers.c.undone_at.is_not(None))).scalar_one()
    n = len(models)
    return {
        "draws": n,
        "certified": len(certified),
        "99 % lower bound": round(float(binomtest(len(certified), n).proportion_ci(0.98).low), 4),
        "mean labels": sum(own.n_labels for own in labels if own is not None) / n,
        "mean errors": sum(own.n_errors for own in labels if own is not None) / n,
        "leases": {str(ending): count for ending, count in endings},
        "undone": n_undone,
    }


if __name__ == "__main__":
    main()
