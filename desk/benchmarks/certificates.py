"""How often certificates are false when readers answer late, lose cases, undo, answer twice or cannot say.

Every draw is a desk of its own: decisions of a real model in the log, a `ReviewQueue` that draws from them, and several
readers whose behaviour depends on whether the model is wrong, as it does in life: wrong cases take longer, are given up
and undone more often. The model is wrong for 21 % of all cases, whatever their trust, and the certificate is to prove
at most 20 %; so every certificate is false, and at most 5 % of draws may have one, whenever one looks. With
--risk 0.05, the same shows how often a true one is found. --control counts what is lost or undecided as right, which
must break the level, or else the readers here are too kind.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import orjson
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from filling import fill  # noqa: E402 - found by the line above
from review_cases import Desk, versions_in  # noqa: E402
from sample_models import save_models  # noqa: E402
from servers import KEYED

from sepc_desk.database import engine_of  # noqa: E402
from sepc_desk.errors import RequestError  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.models import Model  # noqa: E402
from sepc_desk.reviewing import certifying  # noqa: E402
from sepc_desk.reviewing.answering import undo  # noqa: E402
from sepc_desk.reviewing.enrolling import enrol  # noqa: E402
from sepc_desk.reviewing.leasing import Reader  # noqa: E402
from sepc_desk.reviewing.states import Evidence, Purpose  # noqa: E402
from sepc_desk.reviewing.transactions import writing  # noqa: E402
from sepc_desk.settings import Settings, load_settings  # noqa: E402

LEVEL = 0.05
MAX_RISK = 0.20
SETTINGS = Settings(
    second_share=0.0,
    blind_share=0.0,
    planted_share=0.0,
    certificate_block=300,
    certificate_share=0.4,
    certificate_risk=MAX_RISK,
    lease_seconds=100,
    undo_seconds=10,
)
# For each behaviour: how likely a case is dealt with so, if the model is wrong about it and if it is right.
BEHAVIOURS = {
    "late": {"late": (1.0, 0.05)},
    "lost": {"lost": (0.6, 0.01)},
    "undone": {"undone": (0.8, 0.1)},
    "doubled": {"doubled": (1.0, 0.5)},
    "cannot say": {"cannot say": (0.6, 0.01)},
    "all": {
        "lost": (0.4, 0.01),
        "late": (0.3, 0.05),
        "undone": (0.3, 0.05),
        "doubled": (0.3, 0.1),
        "cannot say": (0.3, 0.01),
    },
}
OTHER = {"paid": "late", "late": "paid"}


class Readers:
    """Some readers at one desk."""

    def __init__(self, desk: Desk, behaviour: str, risk: float, seed: int, n: int = 5) -> None:
        self.desk, self.shares, self.risk, self.seed = desk, BEHAVIOURS[behaviour], risk, seed
        self.readers = [Reader(f"person:{i}") for i in range(n)]
        self.rng = Random(seed)
        self.later: list[tuple[int, Reader, Any, str]] = []
        self.is_certified = False

    def truth(self, case: Any) -> str:
        """The right label, which is another one than the model's with a fixed probability."""
        digits = hashlib.sha256(f"{self.seed} {case.id}".encode()).digest()
        said = str(orjson.loads(case.model_label))
        return OTHER[said] if int.from_bytes(digits[:6], "big") / 2**48 < self.risk else said

    def work(self) -> None:
        """Go on until no case is left, and look at the certificate all the time."""
        idle = 0
        while idle < 12:
            n_counted = self.desk.later(self.rng.uniform(5, 15))
            self._answer_later()
            n_done = sum(self._turn(reader) for reader in self.readers)
            idle = 0 if n_done or self.later else idle + 1
            if n_counted:
                self._look()

    def _look(self) -> None:
        with self.desk.engine.connect() as connection:
            found = certifying.certificate(connection, self.desk.model)
        self.is_certified |= found is not None and found.is_certified

    def _turn(self, reader: Reader) -> bool:
        taken = self.desk.take(reader)
        if taken is None:
            return False
        case = self.desk.case(taken.case_id)
        truth, said = self.truth(case), orjson.loads(case.model_label)
        done = self._behave(truth != said)
        if done == "lost":
            pass
        elif done == "late":
            self.later.append((taken.until - 9_000_000, reader, taken, truth))
        elif done == "undone":
            first = self.desk.answer(reader, taken, said)
            with writing(self.desk.engine) as connection:
                again = undo(connection, reader, first, self.desk.at, undo_seconds=10, lease_seconds=100)
            self.desk.answer(reader, again, truth)
        elif done == "doubled":
            self.desk.answer(reader, taken, truth)
            with contextlib.suppress(RequestError):
                self.desk.answer(reader, taken, said)
        else:
            self.desk.answer(reader, taken, None if done == "cannot say" else truth)
        return True

    def _behave(self, is_wrong: bool) -> str:
        for name, shares in self.shares.items():
            if self.rng.random() < shares[0 if is_wrong else 1]:
                return name
        return "plain"

    def _answer_later(self) -> None:
        for due in [one for one in self.later if one[0] <= self.desk.at]:
            self.later.remove(due)
            try:
                self.desk.answer(due[1], due[2], due[3])
            except RequestError:
                continue  # The lease was over after all.


def draw(folder: Path, template: bytes, work: Path, behaviour: str, risk: float, seed: int) -> dict[str, Any]:
    """One desk from its first draw to its last answer."""
    model_of = _versions(folder)
    file = work / f"{behaviour.replace(' ', '-')}-{seed}.db"
    file.write_bytes(template)
    engine = engine_of(load_settings(KEYED, database=f"sqlite:///{file}"))
    desk = Desk(engine, folder, SETTINGS, Random(seed), model_of=model_of)
    while enrol(engine, SETTINGS, model_of, desk.at, desk.rng):
        pass
    desk.leave_only(Purpose.DRAWN)
    readers = Readers(desk, behaviour, risk, seed)
    readers.work()
    with engine.connect() as connection:
        found = certifying.certificate(connection, desk.model)
    engine.dispose()
    for end in ("", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    assert found is not None
    return {"certified": readers.is_certified, "labels": found.n_labels, "errors": found.n_errors}


@cache
def _versions(folder: Path) -> Callable[[str, str], Model]:
    return versions_in(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--behaviour", nargs="+", default=list(BEHAVIOURS))
    parser.add_argument("--risk", type=float, default=0.21)
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--folder", type=Path, help="for the databases; one in memory is quick")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON, beside those it has")
    options = parser.parse_args()
    if options.control:
        count_kindly()
    setting = {"risk": options.risk, "control": options.control}
    results = _known(options.output, setting)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        work = Path(name)
        folder = save_models(work / "models", ["loans"])
        template = _decided(work, folder)
        for behaviour in options.behaviour:
            found = [draw(folder, template, work, behaviour, options.risk, seed) for seed in range(options.draws)]
            n = sum(one["certified"] for one in found)
            low = float(binomtest(n, len(found)).proportion_ci(0.98).low)
            results[behaviour] = {
                "draws": len(found),
                "certified": n,
                "99 % lower bound": round(low, 4),
                "mean labels": sum(one["labels"] for one in found) / len(found),
                "mean errors": sum(one["errors"] for one in found) / len(found),
            }
            print(behaviour, json.dumps(results[behaviour]), flush=True)
            if options.output is not None:
                options.output.write_text(json.dumps(setting | results, indent=1))
    if options.risk > MAX_RISK and not options.control:
        sys.exit(int(any(one["99 % lower bound"] > LEVEL for one in results.values())))


def _known(file: Path | None, setting: dict[str, Any]) -> dict[str, Any]:
    """What a file has of the same setting, by behaviour."""
    if file is None or not file.exists():
        return {}
    known = json.loads(file.read_text())
    same = all(known.get(name) == value for name, value in setting.items())
    return {name: own for name, own in known.items() if name in BEHAVIOURS} if same else {}


def count_kindly() -> None:
    """Let what has no answer count as right, which is wrong."""
    honest = certifying._label

    def kind(own: Any, said: Any, model: Any) -> Any:
        return honest(own, said, model) if own.evidence == Evidence.ANSWER else said

    certifying._label = kind


def _decided(work: Path, folder: Path) -> bytes:
    """A database with decisions, to be copied for each draw."""
    file = work / "decided.db"
    engine = engine_of(load_settings(KEYED, database=f"sqlite:///{file}"))
    migrate(engine)
    fill(engine, folder, 600, ("loans",))
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return file.read_bytes()


if __name__ == "__main__":
    main()
