"""Every benchmark runs at its smallest size; examples are run by `make docs`."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parents[1]
BENCHMARKS = [path for path in sorted((ROOT / "benchmarks").glob("*.py")) if "\ndef main(" in path.read_text()]
# A benchmark takes a minute at most here; one that waits for ever must not hold up the others.
LONGEST_SECONDS = 300
DATA = Path(os.environ.get("SEPC_DATA_HOME", ROOT.parent / "shared" / "data"))


def run(script, *options, cwd):
    """Run a script as a user does, in a directory of its own, and give what it printed."""
    command = [sys.executable, str(script), *options]
    environment = os.environ | {"MPLBACKEND": "Agg", "SEPC_DATA_HOME": str(DATA)}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def times_of(record):
    return [value for name, value in record.items() if name == "ms" or name.startswith("seconds")]


def test_there_are_benchmarks():
    assert len(BENCHMARKS) > 5


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda path: path.stem)
def test_benchmark_prints_and_saves_its_tables(script, tmp_path):
    printed = run(script, "--smallest", "--output", "figures.json", cwd=tmp_path)
    tables = json.loads((tmp_path / "figures.json").read_text())
    assert tables.pop("facts")["versions"]
    assert tables
    for title, records in tables.items():
        assert f"**{title}**" in printed
        assert records
        assert all(math.isfinite(time) and time > 0 for record in records for time in times_of(record))
        header = "| " + " | ".join(dict.fromkeys(name for record in records for name in record)) + " |"
        assert header in printed
