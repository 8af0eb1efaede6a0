"""What one decision costs: processor time here and in PostgreSQL, bytes in the table, its indexes and the WAL."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from sqlalchemy import text

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from filling import fill  # noqa: E402 - found by the line above
from sample_models import save_models  # noqa: E402
from servers import KEYED, Cluster  # noqa: E402

from sepc_desk.database import engine_of  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.models import ModelFolder  # noqa: E402
from sepc_desk.owning.watching import watch  # noqa: E402
from sepc_desk.replaying import replay  # noqa: E402
from sepc_desk.reviewing.enrolling import enrol  # noqa: E402
from sepc_desk.settings import Settings, load_settings  # noqa: E402
from sepc_desk.verifying import verify  # noqa: E402

MODEL = "wdbc"


def seconds_of_postgres(cluster: Cluster) -> float:
    """Processor time of all processes of the cluster, also of those that have ended."""
    main = int((cluster.data / "postmaster.pid").read_text().splitlines()[0])
    ticks = 0
    for own in Path("/proc").glob("[0-9]*/stat"):
        try:
            parts = own.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(parts[1]) == main or own.parent.name == str(main):
            ticks += int(parts[11]) + int(parts[12])
        if own.parent.name == str(main):
            ticks += int(parts[13]) + int(parts[14])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=20_000)
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 32, 256])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = save_models(Path(name) / "models", [MODEL])
        cluster = Cluster(shared_buffers="256MB", max_wal_size="2GB")
        try:
            for group in options.groups:
                engine = engine_of(load_settings(KEYED, database=cluster.create(f"desk{group}")))
                migrate(engine)
                print(
                    json.dumps(measured(engine, cluster, folder, group, options.decisions // (10 if group == 1 else 1)))
                )
                engine.dispose()
        finally:
            cluster.remove()


def measured(engine, cluster: Cluster, folder: Path, group: int, n: int) -> dict[str, float]:
    with engine.connect() as connection:
        before = connection.execute(text("SELECT pg_current_wal_lsn()")).scalar()
    own, theirs, started = time.process_time(), seconds_of_postgres(cluster), time.perf_counter()
    fill(engine, folder, n, (MODEL,), group)
    own, theirs = time.process_time() - own, seconds_of_postgres(cluster) - theirs
    wall = time.perf_counter() - started
    with engine.connect() as connection:
        wal = connection.execute(text(f"SELECT pg_current_wal_lsn() - '{before}'::pg_lsn")).scalar_one()
        table, whole = connection.execute(
            text("SELECT pg_table_size('entries'), pg_total_relation_size('entries')")
        ).one()
    checked = time.process_time()
    assert verify(engine).is_whole
    checked = time.process_time() - checked
    again = time.process_time()
    assert replay(engine, ModelFolder(folder)).n_identical == n
    again = time.process_time() - again
    later, load = time.process_time(), cache(ModelFolder(folder).load)
    while enrol(engine, Settings(), load) + watch(engine, Settings(), load):
        pass
    later = time.process_time() - later
    return {
        "rows a group": group,
        "decisions": n,
        "desk, ms": round(1e3 * own / n, 3),
        "PostgreSQL, ms": round(1e3 * theirs / n, 3),
        "a second, alone": round(n / wall),
        "table, bytes": round(table / n),
        "indexes, bytes": round((whole - table) / n),
        "WAL, bytes": round(float(wal) / n),
        "verify, ms": round(1e3 * checked / n, 3),
        "replay, ms": round(1e3 * again / n, 3),
        "reviews and alarms, ms": round(1e3 * later / n, 3),
    }


if __name__ == "__main__":
    main()
