"""What the tables come to: ours beside HGB for every job, and who is quicker than we are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sepc_benchmarks.measure import Records
from sepc_benchmarks.timing.learners import HGB, OURS
from sepc_benchmarks.timing.scoring import BARE, DECIDE, PROBABILITIES

Results = Mapping[str, Records]


@dataclass(frozen=True)
class Job:
    """One thing to do: seconds that each model takes, and how often it is right."""

    name: str
    seconds: dict[str, float]
    accuracy: dict[str, float]

    @property
    def ours(self) -> float:
        """Our seconds."""
        return self.seconds[OURS]

    def record(self) -> dict[str, Any]:
        """Ours beside HGB, and who else is quicker."""
        peers = {name: seconds for name, seconds in self.seconds.items() if name != OURS and seconds < self.ours}
        told = [f"{name} ({_times(self.ours / seconds)})" for name, seconds in sorted(peers.items(), key=_second)]
        gain = {"accuracy, ours - HGB": f"{self.accuracy[OURS] - self.accuracy[HGB]:+.3f}"} if self.accuracy else {}
        times = {OURS: _shown(self.ours), HGB: _shown(self.seconds[HGB]), "ours / HGB": self.ours / self.seconds[HGB]}
        return {"job": self.name} | times | {"quicker than ours": ", ".join(told) or "none"} | gain


def summary(results: Results) -> Records:
    """A line for each job that has been measured."""
    return [job.record() for job in _jobs(results)]


def _jobs(results: Results) -> Iterator[Job]:
    for size in ("1 row", "100 rows", "10,000 rows"):
        seconds = {one["model"]: one[size] / 1e3 for one in results.get("batches", []) if size in one}
        if seconds:
            yield Job(f"decide {size}", _renamed(seconds, DECIDE), {})
    if "bulk" in results:
        name = f"probabilities of {results['bulk'][0]['rows']}"
        yield Job(name, _renamed({one["what"]: one["seconds"] for one in results["bulk"]}, PROBABILITIES), {})
    if "sets mean" in results:
        n_sets = results["sets mean"][0]["data sets"]
        yield Job(f"fit, mean of {n_sets} sets", _column(results["sets mean"], "seconds, mean"), {})
    for n in dict.fromkeys(one["rows"] for one in results.get("rows", [])):
        chosen = [one for one in results["rows"] if one["rows"] == n]
        yield Job(f"fit {n:,} x 10", _column(chosen, "seconds"), _column(chosen, "accuracy"))
    for name in ("letter", "covertype"):
        chosen = results.get(name, [])
        if chosen:
            job = f"fit {name}, {chosen[0]['rows']}, {chosen[0]['classes']} classes"
            yield Job(job, _column(chosen, "seconds to fit"), _column(chosen, "accuracy"))


def _column(records: Records, name: str) -> dict[str, float]:
    return {one["model"]: one[name] for one in records}


def _renamed(seconds: dict[str, float], ours: str) -> dict[str, float]:
    """Without our other ways and the bare products, of which none is a model."""
    peers = {name: value for name, value in seconds.items() if not name.startswith((OURS, BARE))}
    return {OURS: seconds[ours]} | peers


def _second(item: tuple[str, float]) -> float:
    return item[1]


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio < 10 else f"{ratio:.0f}x"


def _shown(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
