"""Benchmark suites at their smallest size, which more than one test looks at."""

import json
import math
import os
import subprocess
from pathlib import Path

from warm_python import warm_python

ROOT = Path(__file__).parents[1]
# A suite takes a minute at most here; one that waits for ever must not hold up the others.
LONGEST_SECONDS = 300
DATA = Path(os.environ.get("SEPC_DATA_HOME", ROOT.parent / "shared" / "data"))


def run_smallest(name, cwd, *options):
    """Run a suite as a user does, in a directory of its own where its tables are stored."""
    command = [*warm_python(), "-m", "sepc_benchmarks", name, "--smallest", "--output", ".", *options]
    environment = os.environ | {"SEPC_DATA_HOME": str(DATA)}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
    )


def smallest_tables(name, cwd, *options):
    """The tables that a suite printed and stored."""
    done = run_smallest(name, cwd, *options)
    assert done.returncode == 0, done.stderr
    tables = json.loads((cwd / f"{name}.json").read_text())
    assert tables.pop("facts")["versions"]
    assert tables
    for title, records in tables.items():
        assert f"**{title}**" in done.stdout
        assert records
        assert all(math.isfinite(time) and time > 0 for record in records for time in times_of(record))
        header = "| " + " | ".join(dict.fromkeys(name for record in records for name in record)) + " |"
        assert header in done.stdout
    return tables


def times_of(record):
    return [value for name, value in record.items() if name == "ms" or name.startswith("seconds")]
