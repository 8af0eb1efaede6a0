"""What a week of work must show: pages and library agree on the exported log, and every case went to whom it should.

`week.py --record FILE` keeps what these checks read, and `week_checks.py FILE` makes them again.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections import Counter
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
import sepc
from scipy.stats import binomtest
from sepc.lifecycle import Certificate, Monitor, audit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from redrawing import recomputed  # noqa: E402 - found by the line above

from sepc_desk.models import ModelFolder  # noqa: E402
from sepc_desk.owning.watching import BLOCK  # noqa: E402

CERTIFICATE = {"block": "block", "share": "share", "max_risk": "risk"}
Exports = dict[str, dict[str, pd.DataFrame]]


@dataclass
class Record:
    """What is left of a week.

    Attributes
    ----------
    settings : dict
        Those of the desk.
    models : Path
        The folder of models.
    first : str
        The version of the square before its repair.
    exported, found : dict
        What an auditor exported when the owner saw the alarm, and in the end: tables by kind and model.
    told : dict
        What the pages showed to the owner.
    pages : dict
        The page of each model in the end.
    certificates : dict
        The certificate of each model in the end, by the desk.
    contexts : dict
        The contexts of the live version of each model.
    live : dict
        The digest of the live version of each model.
    counts : dict
        How many answers were given, and how.
    """

    settings: dict[str, Any]
    models: Path
    first: str
    exported: Exports
    found: Exports
    told: dict[str, Any]
    pages: dict[str, str]
    certificates: dict[str, Certificate | None]
    contexts: dict[str, list[str]]
    live: dict[str, str]
    counts: dict[str, Any]


def summary(week: Record) -> dict[str, Any]:
    """Everything that a week shows."""
    decided = [int((log["kind"] == "decision").sum()) for log in week.found["log"].values()]
    told = {
        "decisions": sum(decided),
        **week.counts,
        "cases": check_cases(week.found),
        "equal": check_repair(week) | check_figures(week),
        "certificates": {name: str(own) for name, own in week.certificates.items()},
        "plan": week.told["plan"],
        "alarms": week.told["alarms"][:3],
    }
    is_right = told["cases"]["neither answered nor waiting"] == told["cases"]["answered by someone not asked"] == 0
    return told | {"is as it should be": is_right and all(told["equal"].values())}


def check_repair(week: Record) -> dict[str, bool]:
    """Alarms, audit and comparison as the library gives them, from what was exported when the owner saw them."""
    log, own_cases = week.exported["log"]["square"], week.exported["cases"]["square"]
    live = ModelFolder(week.models).load("square", week.first).estimator
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
    changes = week.found["changes"]["square"]
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


def check_figures(week: Record) -> dict[str, bool]:
    """Figures of the pages beside those of the exported files."""
    told: dict[str, bool] = {}
    for name, page in week.pages.items():
        live = ModelFolder(week.models).load(name, week.live[name])
        decided = week.found["log"][name][week.found["log"][name]["kind"] == "decision"]
        n_accepted = int((decided["accepted"] == "True").sum())
        told[f"{name}: accepted"] = f"{n_accepted:,} of {len(decided):,}" in page
        own = week.found["cases"][name]
        own = own[(own["state"] == "settled") & (own["label"] != "") & (own["digest"] == live.digest)]
        for purpose in ("drawn", "refused"):
            some = own[own["purpose"] == purpose]
            k, n = int((some["label"] == some["model_label"]).sum()), len(some)
            if n:
                low, high = binomtest(k, n).proportion_ci(0.95)
                text = f"{low:.1%} to {high:.1%} with 95% confidence; {k:,} of {n:,}"
                told[f"{name}: right among {purpose}"] = text in page
        told |= _certificate(week, name, live)
    return told


def _certificate(week: Record, name: str, live: Any) -> dict[str, bool]:
    """Whether desk, page and library have the same certificate, to the last bit."""
    own, page, log = week.certificates[name], week.pages[name], week.found["log"][name]
    if own is None:
        return {f"{name}: certificate": "Nothing was drawn for a certificate yet" in page}
    is_own = log["context"].isin(week.contexts[name])
    accepted = log[(log["kind"] == "decision") & (log["accepted"] == "True") & is_own]
    table = pd.DataFrame([orjson.loads(text)["row"] for text in accepted["private"]])
    given = {key: week.settings[f"certificate_{setting}"] for key, setting in CERTIFICATE.items()}
    again = recomputed(live, table, week.found["cases"][name], **given)
    verdict = "Nothing is certified yet" if not again.is_certified else f"trust of at least {again.threshold:.4g}"
    n, n_errors = f"{again.n_labels:,}", f"{again.n_errors:,}"
    counts = f"It counts {n} answers given blind and final, in the order of their draw; {n_errors}"
    return {
        f"{name}: certificate, by the library": again == own,
        f"{name}: certificate, on the page": verdict in page and counts in page,
    }


def check_cases(found: Exports) -> dict[str, Any]:
    """Every refused decision is answered or waits, and nobody answered who was not asked."""
    told: dict[str, Any] = {"refused": 0, "neither answered nor waiting": 0, "answered by someone not asked": 0}
    for name in found["log"]:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    with parser.parse_args().record.open("rb") as file:
        print(json.dumps(summary(pickle.load(file)), indent=1))


if __name__ == "__main__":
    main()
