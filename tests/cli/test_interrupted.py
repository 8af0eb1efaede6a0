"""Ctrl-C: one line, exit code 130 and no file, in the middle of a fit and of scoring."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from command_runs import command, interrupt, wait_for
from optional import package_or_skip

pd = package_or_skip("pandas")


@pytest.fixture
def long_words(folder, tmp_path):
    """Commands that would take minutes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60_000, 6)), columns=list("abcdef"))
    table["target"] = np.where(rng.random(60_000) < 0.5, "ja", "nein")
    table.to_parquet(tmp_path / "noise.parquet")
    fitted = [tmp_path / "noise.parquet", "--target", "target", "--output"]
    return {
        "fit": ["fit", *fitted, tmp_path / "out.sepc", "--n-impure", "0"],
        "report": ["report", *fitted, tmp_path / "out.html", "--n-impure", "0"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fit", "report"])
def test_in_the_middle_of_a_fit(name, long_words, tmp_path):
    words = [sys.executable, "-m", "sepc", *map(str, long_words[name])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: cpu_seconds(process.pid) > 4.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "sepc: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["noise.parquet"]


def test_in_the_middle_of_scoring(folder, tmp_path):
    """Rows come through a pipe that stays open, so the command is at work until it is interrupted."""
    header, _, rows = (folder / "wdbc.csv").read_text().partition("\n")
    words = ["score", folder / "model.sepc", "-", "--output", tmp_path / "out.csv"]
    process = subprocess.Popen(
        command(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdin.write(f"{header}\n{rows * 1500}")
    process.stdin.flush()
    wait_for(lambda: any(path.stat().st_size for path in tmp_path.iterdir()))
    interrupt(process)
    assert list(tmp_path.iterdir()) == []


IN_A_CALLBACK = """
import signal, sys, time, weakref
from sepc.cli import entry

class Thing: pass

def lost(reference):
    signal.raise_signal(signal.SIGINT)  # whatever this raises, Python ignores

def run(top, options):
    thing = Thing()
    reference = weakref.ref(thing, lost)
    del thing
    time.sleep(100)
    return 0

entry._run = run
sys.exit(entry.main())
"""


def test_in_a_callback_in_which_python_ignores_exceptions():
    """It once was lost there, and the command went on to its end; it also wakes a command that waits."""
    ran = subprocess.run([sys.executable, "-c", IN_A_CALLBACK], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "sepc: interrupted\n")


def cpu_seconds(pid):
    """How long a process has been at work; more than its imports take means that it is fitting."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0
