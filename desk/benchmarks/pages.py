"""How quickly the page of a case comes while 50 reviewers each ask for a page every five seconds.

Each reviewer answers a case, which redirects to the next one, on a desk with two processes and PostgreSQL. Times are
those of the page of the case alone, and of answer and page together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from sample_models import model, save_models  # noqa: E402 - found by the line above
from servers import KEYED, Cluster, DeskProcess  # noqa: E402

from sepc_desk.database import engine_of  # noqa: E402
from sepc_desk.keys import create_key  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.settings import load_settings  # noqa: E402

LEASE = re.compile(r'name="lease" value="(\w+)"')
MODEL = "loans"


class Reviewers:
    """Fifty people at work."""

    def __init__(self, address: str, keys: list[str], every: float) -> None:
        self.address, self.keys, self.every = address, keys, every
        self.page_times: list[float] = []
        self.both_times: list[float] = []
        self.failures: list[str] = []

    async def work(self, seconds: float) -> None:
        """Review for some seconds."""
        until = time.monotonic() + seconds
        await asyncio.gather(*(self._one(i, key, until) for i, key in enumerate(self.keys)))

    async def _one(self, i: int, key: str, until: float) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=self.address, headers=headers, timeout=60) as client:
            await asyncio.sleep(self.every * i / len(self.keys))
            taken = await client.post(f"/review/{MODEL}/next")
            path = taken.headers["location"]
            while time.monotonic() < until:
                started = time.monotonic()
                page = await client.get(path)
                self.page_times.append(time.monotonic() - started)
                lease = LEASE.search(page.text)
                if page.status_code != 200 or lease is None:
                    self.failures.append(f"{page.status_code} {path}")
                    return
                await asyncio.sleep(max(0.0, started + self.every - time.monotonic()))
                started = time.monotonic()
                sent = await client.post(f"{path}/answer", data={"lease": lease[1], "answer": '"paid"'})
                path = sent.headers.get("location", "")
                if sent.status_code != 303 or not path.startswith("/cases/"):
                    self.failures.append(f"{sent.status_code} {path}")
                    return
                self.both_times.append(time.monotonic() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviewers", type=int, default=50)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two pages of a reviewer")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = Cluster()
        stack.callback(cluster.remove)
        database = cluster.create("pages")
        engine = engine_of(load_settings(KEYED, database=database))
        stack.callback(engine.dispose)
        migrate(engine)
        process = DeskProcess(database, save_models(folder / "models", [MODEL]), processes=options.processes)
        stack.callback(process.kill)
        process.wait_ready()
        _decide(process, create_key(engine, "all", ["*"]), options)
        keys = [create_key(engine, f"reviewer {i}", [MODEL], "reviewer") for i in range(options.reviewers)]
        reviewers = Reviewers(process.address, keys, options.every)
        asyncio.run(reviewers.work(options.seconds))
    found: dict[str, Any] = {"failures": len(reviewers.failures), "first failures": reviewers.failures[:5]}
    for name, times in (("page", reviewers.page_times), ("answer", reviewers.both_times)):
        p50, p95, p99 = (round(float(1e3 * x), 1) for x in np.percentile(times, [50, 95, 99]))
        found[name] = {"n": len(times), "p50, ms": p50, "p95, ms": p95, "p99, ms": p99}
    print(json.dumps(found))
    if options.output is not None:
        options.output.write_text(json.dumps(found))


def _decide(process: DeskProcess, key: str, options: argparse.Namespace) -> None:
    """Decide on enough rows that no reviewer runs out of cases, and wait until they are in the queue."""
    n = int(4 * options.reviewers * (options.seconds / options.every + 2))
    rows = model(MODEL)[1]
    with process.client(key) as client:
        for start in range(0, n, len(rows)):
            client.post("/decide", json={"model": MODEL, "rows": rows[: n - start]}).raise_for_status()
    time.sleep(10)


if __name__ == "__main__":
    main()
