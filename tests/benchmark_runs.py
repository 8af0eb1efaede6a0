"""Benchmarks at their smallest size, which more than one test looks at."""

import json
import math
import os
from pathlib import Path

from warm_processes import run_warm, script

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
# A benchmark takes a minute at most here; one that waits for ever must not hold up the others.
LONGEST_SECONDS = 300
DATA = Path(os.environ.get("SEPC_DATA_HOME", ROOT.parent / "shared" / "data"))


def smallest_tables(path, cwd):
    """Run a benchmark as a user does, in a directory of its own; the tables that it printed and saved."""
    environment = {"MPLBACKEND": "Agg", "SEPC_DATA_HOME": str(DATA)}
    words = ["--smallest", "--output", "figures.json"]
    done = run_warm(script, path, *words, cwd=cwd, timeout=LONGEST_SECONDS, **environment)
    assert done.returncode == 0, done.stderr
    tables = json.loads((cwd / "figures.json").read_text())
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
