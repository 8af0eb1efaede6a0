"""What a week of work must show: pages and library agree on the exported log, and every case went to whom it should."""

from __future__ import annotations

from collections import Counter
from html import unescape
from typing import Any

import numpy as np
import orjson
import pandas as pd
import sepc
from redrawing import recomputed
from scipy.stats import binomtest
from sepc.lifecycle import Monitor, audit

from sepc_desk.models import ModelFolder
from sepc_desk.owning.watching import BLOCK
from sepc_desk.reading import contexts_of
from sepc_desk.reviewing.certifying import certificate

CERTIFICATE = {"block": "block", "share": "share", "max_risk": "risk"}
Exports = dict[str, dict[str, pd.DataFrame]]


def check_repair(week: Any, first: str) -> dict[str, bool]:
    """Alarms, audit and comparison as the library gives them, from what was exported when the owner saw them."""
    log, own_cases = week.exported["log"]["square"], week.exported["cases"]["square"]
    live = ModelFolder(week.models).load("square", first).estimator
    decided = log[log["kind"] == "decision"]
    table = pd.DataFrame([orjson.loads(text)["row"] for text in decided["private"]])
    monitor = Monitor(live, table[: week.settings["monitor_rows"]])
    for start in range(week.settings["monitor_rows"], len(table) - BLOCK + 1, BLOCK):
        monitor = Monitor.from_bytes(monitor.to_bytes(), live)
        monitor.update(table[start : start + BLOCK])
    settled = own_cases[
        (own_cases["state"] == "settled") & (own_cases["label"] != "") & (own_cases["purpose"] != "planted")
    ]
    ordered = settled.sort_values(["entered_at", "id"], ascending=[True, False], kind="stable")
    position = {own: i for i, own in enumerate(decided["id"])}
    X = table.iloc[[position[own] for own in ordered["id"]]].reset_index(drop=True)
    found = audit(live, X, np.array([orjson.loads(label) for label in ordered["label"]]))
    label_of = dict(zip(settled["id"], settled["label"], strict=True))
    changes = week.exports()["changes"]["square"]
    new = ModelFolder(week.models).load("square", changes[changes["state"] == "live"]["new_digest"].iloc[0]).estimator
    last = decided[-2000:]
    labels = np.array([orjson.loads(label_of[own]) if own in label_of else None for own in last["id"]], dtype=object)
    compared = sepc.compare(live, new, table.iloc[-2000:].reset_index(drop=True), labels)
    alarms = sorted(alarm.summary() for alarm in monitor.alarms)
    return {
        "alarms": alarms == sorted(unescape(text) for text in week.told["alarms"]),
        "audit": found.summary() == week.told["audit"],
        "comparison": week.told["comparison"].startswith(compared.summary()),
    }


def check_figures(week: Any, found: Exports) -> dict[str, bool]:
    """Figures of the pages beside those of the exported files."""
    told: dict[str, bool] = {}
    week.told["certificates"] = {}
    with week.process.client(week.keys["Ann"]) as client:
        for name in week.names:
            page = client.get(f"/models/{name}").text
            live = ModelFolder(week.models).load(name)
            decided = found["log"][name][found["log"][name]["kind"] == "decision"]
            n_accepted = int((decided["accepted"] == "True").sum())
            told[f"{name}: accepted"] = f"{n_accepted:,} of {len(decided):,}" in page
            own = found["cases"][name]
            own = own[(own["state"] == "settled") & (own["label"] != "") & (own["digest"] == live.digest)]
            for purpose in ("drawn", "refused"):
                some = own[own["purpose"] == purpose]
                k, n = int((some["label"] == some["model_label"]).sum()), len(some)
                if n:
                    low, high = binomtest(k, n).proportion_ci(0.95)
                    text = f"{low:.1%} to {high:.1%} with 95% confidence; {k:,} of {n:,}"
                    told[f"{name}: right among {purpose}"] = text in page
            told |= _certificate(week, name, live, found, page)
    return told


def _certificate(week: Any, name: str, live: Any, found: Exports, page: str) -> dict[str, bool]:
    """Whether desk, page and library have the same certificate, to the last bit."""
    with week.engine.connect() as connection:
        own = certificate(connection, live)
    if own is None:
        week.told["certificates"][name] = None
        return {f"{name}: certificate": "Nothing was drawn for a certificate yet" in page}
    week.told["certificates"][name] = own.summary()
    log = found["log"][name]
    with week.engine.connect() as connection:
        theirs = contexts_of(connection, name, live.digest)
    accepted = log[(log["kind"] == "decision") & (log["accepted"] == "True") & log["context"].isin(theirs)]
    table = pd.DataFrame([orjson.loads(text)["row"] for text in accepted["private"]])
    given = {key: week.settings[f"certificate_{setting}"] for key, setting in CERTIFICATE.items()}
    again = recomputed(live, table, found["cases"][name], **given)
    verdict = "Nothing is certified yet" if not again.is_certified else f"trust of at least {again.threshold:.4g}"
    counts = (
        f"It counts {again.n_labels:,} answers given blind and final, in the order of their draw; {again.n_errors:,}"
    )
    return {
        f"{name}: certificate, by the library": again == own,
        f"{name}: certificate, on the page": verdict in page and counts in page,
    }


def check_cases(week: Any, found: Exports) -> dict[str, Any]:
    """Every refused decision is answered or waits, and nobody answered who was not asked."""
    told: dict[str, Any] = {"refused": 0, "neither answered nor waiting": 0, "answered by someone not asked": 0}
    for name in week.names:
        decided = found["log"][name]
        decided = decided[(decided["kind"] == "decision") & (decided["accepted"] == "False")]
        own = found["cases"][name].set_index("id")
        given, leases = found["answers"][name], found["leases"][name]
        given = given[given["undone_at"] == ""]
        looked = found["readings"][name]
        waiting = set(looked[looked["state"].isin(["open", "taken"])]["case_id"])
        settled = set(own[own["state"] == "settled"].index)
        told["refused"] += len(decided)
        told["neither answered nor waiting"] += len(set(decided["id"]) - settled - waiting)
        asked = set(zip(leases["case_id"], leases["reader"], strict=True))
        told["answered by someone not asked"] += sum(
            (one.case_id, one.reader) not in asked for one in given.itertuples()
        )
        n_answers, n_looks = Counter(given["case_id"]), Counter(looked["case_id"])
        told["answered by someone not asked"] += sum(n > n_looks[own_id] for own_id, n in n_answers.items())
        doubled = given.duplicated(["case_id", "reader"]).sum()
        told["answered by someone not asked"] += int(doubled)
    return told
