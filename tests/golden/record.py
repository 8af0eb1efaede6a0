"""What the public names and commands answered once, and how that is compared with what they answer now.

A scenario is a function without arguments that returns plain values, arrays, texts or decisions. `make golden
BASE=commit` runs all of them on the code of a commit and on this tree; `stored/` holds the answers that CI expects.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SUBJECTS = ("models", "promises", "texts", "tables", "exports", "lifecycle", "commands")
# A row this close to a threshold, or to two labels that are equally likely, may fall on either side elsewhere.
MARGIN = 1e-6
# What differs between days, machines and releases.
MASKS = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "<digest>"),
    (re.compile(r"\b20[2-9]\d-\d\d-\d\d\b"), "<date>"),
    (re.compile(r"(?<=\d)\.?\d* (seconds|minutes)\b|\b\d+(\.\d+)? (ms|s)\b"), "<duration>"),
)

Scenario = Callable[[], Any]
_SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    """Register a function as a scenario under its subject and name."""
    _SCENARIOS[f"{function.__module__.removeprefix('golden_')}.{function.__name__}"] = function
    return function


def scenarios() -> dict[str, Scenario]:
    """All scenarios, by name."""
    for subject in SUBJECTS:
        import_module(f"golden_{subject}")
    return dict(_SCENARIOS)


def answer(function: Scenario) -> Any:
    """What a scenario answers, as JSON holds it; warnings are part of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = plain(function())
    words = sorted({f"{w.category.__name__}: {masked(str(w.message))}" for w in caught if "sepc" in _origin(w)})
    return {"answer": found, "warnings": words} if words else {"answer": found}


def _origin(warning: warnings.WarningMessage) -> str:
    return warning.category.__module__ + " " + warning.filename.rpartition("site-packages")[2]


def plain(value: Any) -> Any:
    """A value as JSON holds it, by its meaning: arrays as lists, decisions as their columns, the rest as its text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return masked(str(value))


def decided(decisions: Any, threshold: Any = None) -> dict[str, Any]:
    """Columns of decisions, with how far each row is from another label or from being accepted."""
    ordered = np.sort(decisions.probabilities, axis=1)
    margin = ordered[:, -1] - ordered[:, -2] if ordered.shape[1] > 1 else np.ones(len(ordered))
    if threshold is not None:
        margin = np.minimum(margin, np.abs(decisions.trust - threshold))
    return {
        "margin": np.nan_to_num(margin, nan=1.0),
        "each": {
            "label": decisions.label,
            "accepted": decisions.accepted,
            "cause": decisions.cause,
            "region": decisions.region,
        },
        "trust": decisions.trust,
        "probabilities": decisions.probabilities,
    }


def masked(words: str) -> str:
    for pattern, instead in MASKS:
        words = pattern.sub(instead, words)
    return words


def differences(before: Any, now: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Where two answers differ, one line each."""
    if isinstance(before, dict) and isinstance(now, dict):
        if before.keys() != now.keys():
            yield f"{place}: has {sorted(now.keys())} instead of {sorted(before.keys())}"
            return
        clear = _clear_rows(before, now)
        for key in before:
            old, new = before[key], now[key]
            if key == "each" and clear is not None:
                old, new = _only(old, clear), _only(new, clear)
            yield from differences(old, new, tolerance, f"{place}.{key}")
    elif isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            yield f"{place}: {len(now)} values instead of {len(before)}"
            return
        for i, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from differences(old, new, tolerance, f"{place}[{i}]")
    elif isinstance(before, float) and isinstance(now, float | int) and not isinstance(now, bool):
        if abs(before - now) > tolerance * max(1.0, abs(before)):
            yield f"{place}: {now!r} instead of {before!r}"
    elif before != now or type(before) is not type(now):
        yield f"{place}: {_first_difference(before, now)}"


def _clear_rows(before: dict[str, Any], now: dict[str, Any]) -> list[int] | None:
    if "margin" not in before or len(before["margin"]) != len(now["margin"]):
        return None
    return [i for i, both in enumerate(zip(before["margin"], now["margin"], strict=True)) if min(both) > MARGIN]


def _only(columns: dict[str, list[Any]], rows: list[int]) -> dict[str, list[Any]]:
    return {name: [values[i] for i in rows] for name, values in columns.items()}


def _first_difference(before: Any, now: Any) -> str:
    if isinstance(before, str) and isinstance(now, str):
        for old, new in zip(before.splitlines(), now.splitlines(), strict=False):
            if old != new:
                return f"{new!r} instead of {old!r}"
    return f"{str(now)[:200]!r} instead of {str(before)[:200]!r}"


def answers(names: list[str]) -> dict[str, Any]:
    """What the scenarios answer on the code that is imported here; an error is an answer as well."""
    found = {}
    for name, function in scenarios().items():
        if not names or any(name.startswith(start) for start in names):
            try:
                found[name] = answer(function)
            except Exception as error:  # noqa: BLE001 - both sides may refuse alike
                found[name] = {"error": masked(f"{type(error).__name__}: {error}")}
    return found


def stored(subject: str) -> dict[str, Any]:
    """The stored answers of one subject."""
    path = HERE / "stored" / f"{subject}.json"
    kept: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return kept


def accept(names: list[str]) -> None:
    """Store what the scenarios answer now."""
    found = answers(names)
    for subject in SUBJECTS:
        here = {name: value for name, value in found.items() if name.startswith(subject + ".")}
        if failed := [name for name in here if "error" in here[name]]:
            raise SystemExit(f"not stored, since they failed: {[(name, here[name]['error']) for name in failed]}")
        kept = {**(stored(subject) if names else {}), **here}
        if kept:
            text = json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False)
            path = HERE / "stored" / f"{subject}.json"
            path.parent.mkdir(exist_ok=True)
            # Numbers of one list stand in one line.
            path.write_text(re.sub(r"\n\s+(?=[-\d\]])", " ", text) + "\n", "utf-8")


def against(base: str, names: list[str]) -> int:
    """Compare this tree with a commit; returns the number of scenarios that differ."""
    root = HERE.parents[1]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "base")
        subprocess.run(["git", "worktree", "add", "-q", "--detach", tree, base], cwd=root, check=True)
        try:
            runs = [_run(at / "src", Path(folder, name), names) for at, name in ((tree, "before"), (root, "now"))]
            before, now = (json.loads(_finished(*run).read_text("utf-8")) for run in runs)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=root, check=True)
    n_different = 0
    for name in now:
        if found := list(differences(before[name], now[name], 1e-12, name)):
            n_different += 1
            more = [f"and {len(found) - 5} more"] if len(found) > 5 else []
            sys.stdout.write("\n".join([*found[:5], *more]) + "\n")
    sys.stdout.write(f"{len(now)} scenarios, {n_different} differ from {base}\n")
    return n_different


def _run(source: Path, output: Path, names: list[str]) -> tuple[subprocess.Popen[bytes], Path]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{source}{os.pathsep}{HERE.parents[1] / 'benchmarks'}",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-W", "ignore", str(HERE / "record.py"), "--output", str(output), *names]
    return subprocess.Popen(command, env=environment), output


def _finished(process: subprocess.Popen[bytes], output: Path) -> Path:
    if process.wait():
        raise SystemExit("a run of the scenarios failed")
    return output


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only scenarios whose names start so")
    parser.add_argument("--base", help="compare with this commit")
    parser.add_argument("--accept", action="store_true", help="store what the scenarios answer now")
    parser.add_argument("--output", help="write the answers of the code that is imported here to this file")
    options = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    if options.output:
        Path(options.output).write_text(json.dumps(answers(options.names)), "utf-8")
        return 0
    if options.accept:
        accept(options.names)
        return 0
    return 1 if against(options.base or "HEAD", options.names) else 0


if __name__ == "__main__":
    sys.modules["record"] = sys.modules["__main__"]
    sys.exit(main())
