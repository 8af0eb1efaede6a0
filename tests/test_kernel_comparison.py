"""The comparison of kernels with their earlier times fails where one is slower, and only there."""

import json
import subprocess

import pytest
from benchmark_runs import FOLDER, smallest_tables
from warm_python import warm_python

pytestmark = pytest.mark.bench


def compared(path, *options):
    command = [*warm_python(), "-m", "sepc_benchmarks.kernels", "--smallest", "--compare", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_slower_kernel_fails_by_name(tmp_path):
    records = smallest_tables(FOLDER / "kernels.py", tmp_path)["kernels"]
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps({"kernels": records}))
    assert compared(earlier, "--slower", "100").returncode == 0
    records[2]["products"] /= 1000.0
    earlier.write_text(json.dumps({"kernels": records}))
    done = compared(earlier, "--slower", "100")
    assert done.returncode == 1
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["Slower than before", records[2]["kernel"]]
