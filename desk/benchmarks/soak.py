"""Send half of the load that the desk can take for half an hour, and see whether memory grows or a request fails.

The full rate is measured first: 32 clients with one row a request, on PostgreSQL. wrk then waits before each request so
that about half of that arrives. Memory of the processes that answer is read every ten seconds.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from load import MODEL, desk, measure, resident, script_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from sample_models import model, save_models  # noqa: E402 - found by the line above
from servers import Cluster  # noqa: E402

CLIENTS = 32
EVERY_SECONDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store, rows = save_models(folder / "models", [MODEL]), model(MODEL)[1]
        cluster = Cluster(shared_buffers="256MB")
        try:
            with desk(store, cluster.create("desk"), rows, options.processes) as (address, path, bodies, key, process):
                script = script_of(folder, bodies[1], path, key)
                full = measure(address, script, CLIENTS, 20)
                wait = 2 * CLIENTS / full["a second"] * 1000 - full["p50, ms"]
                script.write_text(script.read_text() + f"function delay() return {wait:.0f} end\n")
                command = ["wrk", "-t2", f"-c{CLIENTS}", f"-d{options.minutes}m", "--latency", "--timeout", "30s"]
                sender = subprocess.Popen(
                    [*command, "-s", str(script), address], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
                )
                memory, others = [], []
                while sender.poll() is None:
                    memory.append(resident(process.workers()))
                    others.append(resident(process.others()))
                    time.sleep(EVERY_SECONDS)
                out = sender.stdout.read() if sender.stdout else ""
        finally:
            cluster.remove()
    found = judge(full, out) | grown(memory, "memory") | grown(others, "memory of other processes")
    print(json.dumps(found), flush=True)
    if options.output:
        options.output.write_text(json.dumps({"soak": found}, indent=1) + "\n")
    return 0 if found["errors"] == 0 and found["memory, growth"] <= 0.05 else 1


def judge(full: dict[str, float], out: str) -> dict[str, float]:
    """The rates, and what failed."""
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    lost = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", out)
    return {
        "full load, a second": full["a second"],
        "this load, a second": float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]),  # type: ignore[index]
        "errors": (int(bad[1]) if bad else 0) + (sum(map(int, lost.groups())) if lost else 0),
    }


def grown(memory: list[float], what: str) -> dict[str, float]:
    """The memory of the last third beside that of the second sixth."""
    sixth = len(memory) // 6
    early, late = median(memory[sixth : 2 * sixth]), median(memory[-2 * sixth :])
    return {
        f"{what}, minutes 5 to 10, MB": round(early, 1),
        f"{what}, last ten minutes, MB": round(late, 1),
        f"{what}, growth": round(late / early - 1, 4),
    }


if __name__ == "__main__":
    sys.exit(main())
