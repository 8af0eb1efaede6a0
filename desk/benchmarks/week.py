"""A week of work on a desk: three models, 20 reviewers, drift on the fourth day, and a repair that two people agree on.

A day is a round: decisions come, and reviewers work until nothing waits. Some cases are answered in a real Chromium,
the others by HTTP through the same forms. On the fourth day one corner of a model changes its label, and more cases
come from there. On the last day but one, an owner sees the alarm, audits, repairs and proposes in Chromium, and another
one agrees. In the end everything is read from the auditor's exports and computed again with the library: pages and
library must agree to the last digit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import pickle
import random
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import orjson
import pandas as pd
import sepc
from sqlalchemy import select

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browsing import chromium, context_of  # noqa: E402 - found by the line above
from owned_models import CORNER, PLAN, square  # noqa: E402
from sample_models import loans, rows_of, wdbc  # noqa: E402
from servers import KEYED, Cluster, DeskProcess  # noqa: E402
from signing_in import SignIn  # noqa: E402
from week_checks import Record, summary  # noqa: E402

from sepc_desk.commands.main import main as command  # noqa: E402
from sepc_desk.database import engine_of  # noqa: E402
from sepc_desk.keys import create_key  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.models import ModelFolder  # noqa: E402
from sepc_desk.owning.changes import load_live  # noqa: E402
from sepc_desk.owning.watching import BLOCK  # noqa: E402
from sepc_desk.reading import contexts_of  # noqa: E402
from sepc_desk.reviewing.certifying import certificate  # noqa: E402
from sepc_desk.reviewing.planting import plant  # noqa: E402
from sepc_desk.rows import typed_row  # noqa: E402
from sepc_desk.schema import answers, cases, entries, monitors, readings, review_progress  # noqa: E402
from sepc_desk.schema import planted as planted_table  # noqa: E402
from sepc_desk.settings import load_settings  # noqa: E402

NAMES = ("square", "loans", "wdbc")
DRIFT_DAY = 4
# Milliseconds that a page may take on a machine that has other work.
PATIENCE = 600_000
LEASE = re.compile(r'name="lease" value="(\w+)"')
SETTINGS = {
    "review_seconds": 0.3,
    "undo_seconds": 1.0,
    "lease_seconds": 600.0,
    "blind_share": 0.2,
    "second_share": 0.1,
    "planted_share": 0.03,
    "certificate_block": 300,
    # Reviewers err in a tenth of cases, so a smaller risk could never be proved. A larger one is proved so soon that no
    # accepted decision would be drawn any more when cases change.
    "certificate_risk": 0.17,
}


class World:
    """What comes, and what is right."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.right: dict[tuple[str, str], Any] = {}
        X, y = wdbc()
        self.cells = X[1::2].reset_index(drop=True), y[1::2]

    def rows(self, name: str, n: int, day: int) -> list[dict[str, Any]]:
        """Rows of a day; their right labels are kept."""
        seed = int(self.rng.integers(2**31))
        if name == "square":
            has_drifted = day >= DRIFT_DAY
            table, labels = square(n, seed, corner=CORNER if has_drifted else 0.0, changed=has_drifted)
        elif name == "loans":
            table, labels = loans(n, seed)
        else:
            some = np.random.default_rng(seed).integers(len(self.cells[0]), size=n)
            table, labels = self.cells[0].iloc[some], self.cells[1][some]
        rows = rows_of(table)
        for row, label in zip(rows, labels.tolist(), strict=True):
            self.right[name, _key(row)] = label
        return rows


def _key(row: dict[str, Any]) -> str:
    return json.dumps([float(value) if isinstance(value, int | float) else value for value in row.values()])


class Week:
    """A desk, its people and its models."""

    def __init__(self, options: argparse.Namespace, stack: ExitStack) -> None:
        self.options, self.world = options, World(options.seed)
        self.home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = Cluster()
        stack.callback(cluster.remove)
        self.database = cluster.create("week")
        self.models = self.home / "models"
        self.engine = engine_of(load_settings(KEYED, database=self.database))
        stack.callback(self.engine.dispose)
        migrate(self.engine)
        self._add_models()
        n_reference = max(200, options.decisions // 3 // 7 * 2)
        self.settings = SETTINGS | {"monitor_rows": n_reference, "certificate_share": options.certificate_share}
        sign_in = SignIn(*NAMES)
        stack.callback(sign_in.close)
        self.process = DeskProcess(
            self.database, self.models, processes=options.processes, **self.settings, **sign_in.settings()
        )
        stack.callback(self.process.kill)
        self.process.wait_ready()
        new = {"program": "portal", "auditor": "auditor"}
        self.keys = {who: create_key(self.engine, name, ["*"], who) for who, name in new.items()}
        self.owners = {name: sign_in.person(self.process, name, "owner") for name in ("Ann", "Ben")}
        self.reviewers = [
            (create_key(self.engine, f"reviewer {i}", ["*"], "reviewer"), 0.2 * i / (options.reviewers - 1))
            for i in range(options.reviewers)
        ]
        self.rng = random.Random(options.seed)
        self.n_browser = self.n_http = 0
        self.in_browser = 0.0
        self.told: dict[str, Any] = {}
        self.classes = {name: ModelFolder(self.models).load(name).classes for name in NAMES}

    def _add_models(self) -> None:
        self.models.mkdir()
        X, y = wdbc()
        fitted = {
            "square": sepc.SEPClassifier().fit(*square(600, 0)),
            "loans": sepc.SEPClassifier().fit(*loans(600)),
            "wdbc": sepc.SEPClassifier().fit(X[::2], y[::2]),
        }
        for name, model in fitted.items():
            file = self.home / f"{name}.sepc"
            sepc.save(model, file)
            ModelFolder(self.models).add(name, file)
            live = ModelFolder(self.models).load(name)
            known = self.world.rows(name, 20, 1)
            labels = [self.world.right[name, _key(row)] for row in known]
            plant(self.engine, live, [typed_row(live.columns, row, 0) for row in known], labels, "command:week")

    def decide(self, day: int) -> None:
        """Let the decisions of a day come."""
        n = self.options.decisions // (len(NAMES) * self.options.days)
        with self.process.client(self.keys["program"]) as client:
            for name in NAMES:
                rows = self.world.rows(name, n, day)
                for start in range(0, len(rows), 100):
                    body = {"model": name, "rows": rows[start : start + 100]}
                    client.post("/decide", json=body).raise_for_status()
        self._until_read()

    def _until_read(self) -> None:
        """Wait until the log was read for cases."""
        while True:
            with self.engine.connect() as connection:
                last = connection.execute(
                    select(entries.c.place)
                    .where(entries.c.kind == "decision")
                    .order_by(entries.c.place.desc())
                    .limit(1)
                ).scalar_one()
                if (connection.execute(select(review_progress.c.place)).scalar() or 0) >= last:
                    return
            time.sleep(0.2)

    def label_of(self, reading: int, error: float) -> str:
        """What a reviewer answers, as the button has it: the right label, or another one now and then."""
        with self.engine.connect() as connection:
            own = connection.execute(
                select(cases.c.model, cases.c.planted, entries.c.private, planted_table.c.row)
                .join(readings, readings.c.case_id == cases.c.id)
                .join(entries, entries.c.id == cases.c.id, isouter=True)
                .join(planted_table, planted_table.c.id == cases.c.planted, isouter=True)
                .where(readings.c.id == reading)
            ).one()
        row = orjson.loads(own.row) if own.planted else orjson.loads(own.private)["row"]
        right = self.world.right[own.model, _key(row)]
        others = [label for label in self.classes[own.model] if label != right]
        return orjson.dumps(self.rng.choice(others) if self.rng.random() < error else right).decode()

    def review(self, browser: Any, day: int) -> None:
        """Let reviewers work until nothing waits: some in the browser, then all by HTTP."""
        wanted = self.options.browser_cases * day // self.options.days
        # Each of them answers several cases before another one comes.
        n_people = min(len(self.reviewers), max(1, (wanted - self.n_browser) // 5))
        for i in range(n_people):
            key, error = self.reviewers[(day * 7 + i) % len(self.reviewers)]
            self._review_in_browser(browser, key, error, math.ceil((wanted - self.n_browser) / (n_people - i)))
        for _ in range(200):
            # The browser has the event loop of this thread.
            with ThreadPoolExecutor(1) as other:
                other.submit(asyncio.run, self._review_by_http()).result()
            while self._n_undoable():
                time.sleep(0.3)
            if self._n_open() == 0:
                self._until_counted()
                return
        raise RuntimeError("The queue does not become empty.")

    def _n_undoable(self) -> int:
        """Answers that are not final yet; a third reader may be asked when they are."""
        with self.engine.connect() as connection:
            given = (answers.c.final_at.is_(None), answers.c.undone_at.is_(None))
            return len(connection.execute(select(answers.c.id).where(*given)).all())

    def _until_counted(self) -> None:
        """Wait until certificates have counted all answers, and nothing that is read changes any more."""
        uncounted = (cases.c.evidence.is_not(None), cases.c.is_counted.is_(False), cases.c.review.is_not(None))
        while True:
            with self.engine.connect() as connection:
                is_waiting = connection.execute(select(cases.c.id).where(*uncounted).limit(1)).first() is not None
                waiting = connection.execute(select(monitors.c.state, monitors.c.n_waiting)).all()
            due = [n >= (self.settings["monitor_rows"] if state is None else BLOCK) for state, n in waiting]
            if not is_waiting and not any(due):
                return
            time.sleep(0.2)

    def _n_open(self) -> int:
        with self.engine.connect() as connection:
            return len(connection.execute(select(readings.c.id).where(readings.c.state.in_(["open", "taken"]))).all())

    def _review_in_browser(self, browser: Any, key: str, error: float, n: int) -> None:
        if n == 0 or self.in_browser > self.options.browser_seconds:
            return
        started = time.monotonic()
        context = context_of(browser, self.process.address, key)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        done = 0
        for name in self.rng.sample(NAMES, len(NAMES)):
            page.goto("/review")
            page.locator(f'form[action="/review/{name}/next"] button').click()
            while done < n and "/cases/" in page.url:
                before = page.url
                label = self.label_of(int(before.rpartition("/")[2]), error)
                page.locator(f"form.answer button[value={json.dumps(label)}]").click()
                page.wait_for_url(lambda url, before=before: url != before)
                done += 1
            if done >= n and "/cases/" in page.url:
                page.get_by_role("button", name="Give the case back").click()
                break
        self.n_browser += done
        context.close()
        self.in_browser += time.monotonic() - started

    async def _review_by_http(self) -> int:
        people = self.rng.sample(self.reviewers, len(self.reviewers))
        done = await asyncio.gather(*(self._review_one(key, error) for key, error in people))
        self.n_http += sum(done)
        return sum(done)

    async def _review_one(self, key: str, error: float) -> int:
        """One reviewer, until no case waits for them."""
        done = 0
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=self.process.address, headers=headers, timeout=600) as client:
            for name in self.rng.sample(NAMES, len(NAMES)):
                path = (await client.post(f"/review/{name}/next")).headers["location"]
                while path.startswith("/cases/"):
                    page = await client.get(path)
                    lease = LEASE.search(page.text)
                    assert lease is not None, page.text[:500]
                    label = self.label_of(int(path.rpartition("/")[2]), error)
                    sent = await client.post(f"{path}/answer", data={"lease": lease[1], "answer": label})
                    assert sent.status_code == 303, sent.text[:500]
                    path, done = sent.headers["location"], done + 1
        return done

    def own(self, browser: Any) -> None:
        """See the alarm, audit, repair and propose as one owner, and agree as another, all in the browser."""
        plan, rows = self.home / "plan.toml", self.home / "judged.csv"
        table, side = square(800, 77, corner=CORNER, changed=True)
        plan.write_text(PLAN.format(draw=800, margin=0.02))
        table.assign(side=side).to_csv(rows, index=False)
        common = ["--models", str(self.models), "--database", self.database]
        assert command(["plans", "set", "square", str(plan), str(rows), "--label", "side", *common]) == 0
        context = context_of(browser, self.process.address, self.owners["Ann"])
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto("/models/square")
        for _ in range(100):
            if page.get_by_text("What comes has changed").count():
                break
            page.wait_for_timeout(500)
            page.reload()
        else:
            raise RuntimeError("There is no alarm; it takes more decisions.")
        self.told["alarms"] = page.locator("section:has(#alarms) li").all_inner_texts()
        self.exported = self.exports()
        page.get_by_role("button", name="Audit the model").click()
        page.wait_for_url("**/changes/*")
        self.told["audit"] = page.locator("section:has(#audit) pre").text_content()
        page.get_by_role("button", name="Make a repair").click()
        page.locator("#changed").wait_for()
        self.told["comparison"] = page.locator("section:has(#changed) pre").text_content()
        address = page.url
        page.get_by_role("button", name="Let the plan judge it").click()
        page.get_by_text("goes live when a second person agrees").wait_for()
        assert page.get_by_role("button", name="Agree").count() == 0
        self.told["plan"] = page.locator("section:has(#judged) .verdict").inner_text()
        context.close()
        context = context_of(browser, self.process.address, self.owners["Ben"])
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(address)
        page.get_by_role("button", name="Agree: make it live").click()
        page.get_by_text("went live").wait_for()
        context.close()

    def record(self, first: str) -> Record:
        """All that the checks need."""
        pages = {name: self.owners["Ann"].get(f"/models/{name}").text for name in NAMES}
        live = {name: load_live(self.engine, ModelFolder(self.models), name) for name in NAMES}
        with self.engine.connect() as connection:
            certificates = {name: certificate(connection, own) for name, own in live.items()}
            contexts = {name: contexts_of(connection, name, own.digest) for name, own in live.items()}
        counts = {"answers in Chromium": self.n_browser, "answers by HTTP": self.n_http}
        return Record(
            self.settings,
            self.models,
            first,
            self.exported,
            self.exports(),
            self.told,
            pages,
            certificates,
            contexts,
            {name: own.digest for name, own in live.items()},
            counts | {"seconds in Chromium": round(self.in_browser)},
        )

    def exports(self) -> dict[str, dict[str, pd.DataFrame]]:
        """Everything an auditor can export, by kind and model."""
        found: dict[str, dict[str, pd.DataFrame]] = {}
        today = datetime.now(UTC).date()
        with self.process.client(self.keys["auditor"]) as client:
            for what in ("log", "cases", "readings", "answers", "leases", "changes"):
                for name in NAMES:
                    parts = []
                    for day in (today - timedelta(days=1), today):
                        answer = client.get(f"/audit/export/{what}.csv", params={"model": name, "day": day.isoformat()})
                        answer.raise_for_status()
                        parts.append(pd.read_csv(StringIO(answer.text), dtype=str, keep_default_na=False))
                    found.setdefault(what, {})[name] = pd.concat(parts, ignore_index=True)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--browser-cases", type=int, default=1_000)
    parser.add_argument("--reviewers", type=int, default=20)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--certificate-share", type=float, default=0.2, help="larger, if few decisions come")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--browser-seconds", type=float, default=math.inf, help="after them, all goes by HTTP")
    parser.add_argument("--record", type=Path, help="keep what the checks read in this file")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    started = time.monotonic()
    with ExitStack() as stack:
        week = Week(options, stack)
        browser = stack.enter_context(chromium())
        first = ModelFolder(week.models).first_digest("square")
        for day in range(1, options.days + 1):
            week.decide(day)
            week.review(browser, day)
            print(f"day {day}: {week.n_browser} in Chromium, {week.n_http} by HTTP, {time.monotonic() - started:.0f} s")
            if day == options.days - 1:
                week.own(browser)
        record = week.record(first)
        record.counts["seconds"] = round(time.monotonic() - started)
        if options.record is not None:
            kept = options.record.with_suffix(".models")
            shutil.copytree(week.models, kept, dirs_exist_ok=True)
            options.record.write_bytes(pickle.dumps(replace(record, models=kept)))
        told = summary(record)
    print(json.dumps(told, indent=1))
    if options.output is not None:
        options.output.write_text(json.dumps(told, indent=1))
    sys.exit(0 if told["is as it should be"] else 1)


if __name__ == "__main__":
    main()
