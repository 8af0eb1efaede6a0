"""Whether a case is ever given to two readers at once, with processes that are killed in the middle of their work.

Several processes take cases for 50 readers and answer them, give them back, or let their time run out; one process is
killed every few seconds and another one started. In the end, no two leases of a reading may overlap in time, every
lease that a process was told of must be in the database, no reading may have two answers, and no case two answers of
one reader.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, func, insert, select
from sqlalchemy.exc import DBAPIError

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from servers import KEYED, Cluster  # noqa: E402 - found by the line above

from sepc_desk.database import engine_of  # noqa: E402
from sepc_desk.errors import RequestError  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.reviewing.answering import Given, answer  # noqa: E402
from sepc_desk.reviewing.leasing import Reader, give_back, take  # noqa: E402
from sepc_desk.reviewing.states import CaseState, Purpose, ReadingState  # noqa: E402
from sepc_desk.reviewing.transactions import now, writing  # noqa: E402
from sepc_desk.schema import answers, cases, leases, readings  # noqa: E402
from sepc_desk.settings import load_settings  # noqa: E402

MODEL = "loans"
N_READERS = 50
BLOCK = 5_000
LEASE_SECONDS = 1.0


def wait_in_line(engine: Engine, n: int) -> None:
    """Let cases wait, a tenth of them for two readers."""
    for start in range(0, n, BLOCK):
        some = range(start, min(start + BLOCK, n))
        new = [
            {
                "id": f"{i:032x}",
                "model": MODEL,
                "digest": "",
                "purpose": Purpose.REFUSED,
                "cause": "",
                "model_label": '"paid"',
                "decided_at": i,
                "entered_at": i,
                "is_blind": False,
                "n_readers": 2 if i % 10 == 0 else 1,
                "state": CaseState.OPEN,
                "is_counted": False,
            }
            for i in some
        ]
        looks = [
            {"case_id": one["id"], "model": MODEL, "turn": turn, "is_blind": False, "entered_at": one["entered_at"]}
            | {"state": ReadingState.OPEN}
            for one in new
            for turn in range(1, int(str(one["n_readers"])) + 1)
        ]
        with writing(engine) as connection:
            connection.execute(insert(cases), new)
            connection.execute(insert(readings), looks)


def work(database: str, told: str, seed: int) -> None:
    """Take cases until killed, left alone, or until none is left; writes down each lease that it was told of."""
    engine = engine_of(load_settings(KEYED, database=database))
    rng = random.Random(seed)
    idle, parent = 0, multiprocessing.parent_process()
    with Path(told).open("a", buffering=1) as file:
        while idle < 20 and parent is not None and parent.is_alive():
            reader = Reader(f"person:{rng.randrange(N_READERS)}")
            try:
                idle = 0 if _one(engine, reader, rng, file) else idle + 1
            except DBAPIError:
                time.sleep(0.05)  # Two processes for one reader at once; the index let the other one through.
            if idle:
                time.sleep(LEASE_SECONDS / 4)


def _one(engine: Engine, reader: Reader, rng: random.Random, file: Any) -> bool:
    with writing(engine) as connection:
        taken = take(connection, reader, MODEL, now(connection), LEASE_SECONDS)
    if taken is None:
        return False
    file.write(f"{taken.lease} {taken.id}\n")
    chance = rng.random()
    if chance < 0.35:
        return True  # Its time will run out.
    with writing(engine) as connection:
        at = now(connection)
        if chance < 0.5:
            give_back(connection, reader, taken.id, taken.lease, at)
        else:
            try:
                answer(connection, reader, taken.id, taken.lease, Given("paid"), at)
            except RequestError:
                return True  # Its time was over.
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leases", type=int, default=100_000, help="stop when so many have been given")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--kind", choices=["postgresql", "sqlite"], default="postgresql")
    parser.add_argument("--kill-seconds", type=float, default=2.0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if options.kind == "postgresql":
            cluster = Cluster()
            stack.callback(cluster.remove)
            database = cluster.create("leases")
        else:
            database = f"sqlite:///{folder / 'desk.db'}"
        engine = engine_of(load_settings(KEYED, database=database))
        stack.callback(engine.dispose)
        migrate(engine)
        # Half of the leases end with an answer, and a tenth of the cases need two.
        wait_in_line(engine, int(options.leases * 0.5))
        n_killed = _run(options, database, folder, engine)
        found = _checked(engine, folder) | {"killed": n_killed, "processes": options.processes, "kind": options.kind}
    print(json.dumps(found))
    if options.output is not None:
        options.output.write_text(json.dumps(found))
    sys.exit(int(any(found[name] for name in found if name.startswith("wrong"))))


def _run(options: argparse.Namespace, database: str, folder: Path, engine: Engine) -> int:
    """Run processes, and kill one now and then; returns how many were killed."""
    # Copies of a process that has imported everything start at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["servers", "sepc_desk.migrations.running", "sepc_desk.reviewing.answering"])
    seeds = iter(range(10**6))
    n_killed, running = 0, []

    def start() -> Any:
        seed = next(seeds)
        own = context.Process(target=work, args=(database, str(folder / f"told-{seed}"), seed))
        own.start()
        return own

    running = [start() for _ in range(options.processes)]
    while _count(engine, leases) < options.leases:
        time.sleep(options.kill_seconds)
        victim = random.randrange(len(running))
        if running[victim].is_alive():
            running[victim].kill()
            running[victim].join()
            n_killed += 1
        running[victim] = start()
    for own in running:
        own.kill()
        own.join()
    return n_killed


def _count(engine: Engine, table: Any) -> int:
    with engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _checked(engine: Engine, folder: Path) -> dict[str, Any]:
    told = [line.split() for file in folder.glob("told-*") for line in file.read_text().splitlines() if " " in line]
    with engine.connect() as connection:
        given = connection.execute(select(leases).order_by(leases.c.reading, leases.c.taken_at)).all()
        live = connection.execute(select(answers.c.reading, answers.c.case_id, answers.c.reader)).all()
    known = {one.token for one in given}
    overlapping = 0
    for before, after in zip(given, given[1:], strict=False):
        end = before.until if before.ended_at is None else before.ended_at
        overlapping += before.reading == after.reading and after.taken_at < end
    return {
        "leases": len(given),
        "told": len(told),
        "answers": len(live),
        "lost": sum(one.ending == "lost" for one in given),
        "given back": sum(one.ending == "returned" for one in given),
        "wrong: overlapping": overlapping,
        "wrong: told and not kept": sum(len(one) == 2 and len(one[0]) == 32 and one[0] not in known for one in told),
        "wrong: told twice": len(told) - len({one[0] for one in told}),
        "wrong: two answers to a reading": len(live) - len({one.reading for one in live}),
        "wrong: one reader twice on a case": len(live) - len({(one.case_id, one.reader) for one in live}),
    }


if __name__ == "__main__":
    main()
