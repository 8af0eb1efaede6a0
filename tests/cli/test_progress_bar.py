"""The progress bar: what it says, and that nobody sees it where no terminal is."""

import io
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest
from command_runs import command
from optional import package_or_skip

from sepc.cli import main

pd = package_or_skip("pandas")
HIDDEN = "\x1b]0;t\x07"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def drawn(folder, tmp_path, monkeypatch):
    """All that a command draws on a terminal while it scores 15,000 rows in small blocks."""
    monkeypatch.setattr("sepc.tables.files.BATCH_ROWS", 50)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    table, name = pd.read_csv(folder / "wdbc.csv"), f"rows{HIDDEN}.csv"
    table.sample(15_000, replace=True, random_state=0).to_csv(name, index=False)

    def draw(*words, terminal):
        with open(name, "rb") as file:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
            monkeypatch.setattr(sys, "stderr", terminal)
            assert main(["score", str(folder / "model.sepc"), *(words or [name]), "--output", "out.csv"]) == 0
        return terminal.getvalue()

    return draw


def test_rows_of_how_many_how_fast_and_how_long(drawn):
    """And a line that wipes itself; a name that would act on the terminal does not."""
    pytest.importorskip("tqdm")
    told = drawn(terminal=Terminal())
    assert re.search(r"scoring .*rows.*\.csv: +\d+%\|.*\| [\d.]+k?/\d\d\.\dk \[00:0\d<00:\d\d, [\d.]+k? rows/s\]", told)
    assert re.search(r"\r +\r$", told)
    assert HIDDEN not in told
    told = drawn("-", "--format", "csv", terminal=Terminal())
    assert re.search(r"scoring standard input: [\d.]+k? rows \[00:0\d, [\d.]+k? rows/s\]", told)


def test_nothing_is_shown_without_a_terminal_or_tqdm_or_if_told_so(drawn, monkeypatch):
    assert drawn(terminal=io.StringIO()) == ""
    assert drawn("-", "--format", "csv", "--quiet", terminal=Terminal()) == ""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert drawn(terminal=Terminal()) == ""


def test_rounds_are_seen_on_a_terminal(tmp_path):
    """A fit shows its rounds on standard error, also of a second partition, and on standard output the account."""
    pytest.importorskip("tqdm")
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    table = pd.DataFrame(rng.normal(size=(600, 4)) + y[:, None], columns=list("abcd")).assign(target=y)
    table.to_parquet(tmp_path / "slow.parquet")
    ours, theirs = pty.openpty()
    words = ["fit", tmp_path / "slow.parquet", "--target", "target", "--n-impure", "0", "--output", tmp_path / "m.sepc"]
    with subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        seen = read_all(ours)
        out = process.stdout.read().decode()
    assert process.returncode == 0, seen
    assert re.search(r"fitting, partition \d, round \d+, [\d,]+ rows left \[\d\d:\d\d\]", seen), seen[-500:]
    assert re.search(r"\r +\r$", seen)
    assert "rows left" not in out


def read_all(handle):
    seen = b""
    try:
        while data := os.read(handle, 65536):
            seen += data
    except OSError:  # Linux, when the other end is closed
        pass
    os.close(handle)
    return seen.decode()
