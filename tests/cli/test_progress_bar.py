"""The progress bar: what it says, and that nobody sees it where no terminal is."""

import io
import os
import pty
import re
import subprocess
import sys
import time

import pytest
from command_runs import command, wait_for

from sepc.cli.fitting import RoundNotes
from sepc.cli.progress_bar import ProgressBar
from sepc.partition.sequence import Round


class Terminal(io.StringIO):
    def isatty(self):
        return True


def drawn(bar, monkeypatch, pattern):
    """All that a bar has drawn on a terminal, once some of it matches."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("sepc.cli.progress_bar.FIRST", 0.01)
    monkeypatch.setattr(bar, "shown", True)
    with bar:
        wait_for(lambda: re.search(pattern, terminal.getvalue()))
    return terminal.getvalue()


def test_rows_of_how_many_how_fast_and_how_long(monkeypatch):
    pytest.importorskip("tqdm")
    bar = ProgressBar("scoring rows.csv")
    bar.started -= 30.0
    bar.update_rows(3000, None, 0.25)
    drawn(bar, monkeypatch, r"scoring rows.csv:  25%\|.*\| 3.00k/12.0k \[00:30<01:\d\d, [\d.]+ rows/s\]")
    bar = ProgressBar("scoring -")
    bar.update_rows(3000, None, None)
    drawn(bar, monkeypatch, r"scoring -: 3.00k rows \[00:00, .* rows/s\]")


def test_a_note_and_the_time_and_a_line_that_wipes_itself(monkeypatch):
    pytest.importorskip("tqdm")
    bar = ProgressBar("fitting")
    bar.update("round 3")
    assert re.search(r"\r +\r$", drawn(bar, monkeypatch, r"fitting, round 3 \[00:00\]"))


def test_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert drawn(ProgressBar("fitting"), monkeypatch, "") == ""


def test_nothing_is_shown_without_a_terminal(monkeypatch):
    monkeypatch.setattr("sepc.cli.progress_bar.FIRST", 0.01)
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        with ProgressBar("fitting", quiet=quiet):
            time.sleep(0.05)
        assert stream.getvalue() == ""


def test_rounds_in_words():
    bar = ProgressBar("fitting", quiet=True)
    notes = RoundNotes(bar)
    told = []
    for n_left in (900, 500, 1000, 700):
        notes.round_ended(Round(100, n_left - 100))
        told.append(bar.note)
    assert told[:2] == ["round 1, 900 rows left", "round 2, 500 rows left"]
    assert told[2:] == ["partition 2, round 1, 1,000 rows left", "partition 2, round 2, 700 rows left"]


def test_rounds_are_seen_on_a_terminal(folder, tmp_path, wdbc):
    """A fit whose standard error is a terminal shows its rounds there, and on standard output only the account."""
    pytest.importorskip("tqdm")
    ours, theirs = pty.openpty()
    slow = tmp_path / "slow.parquet"
    wdbc.drop(columns=["id", "ward"]).sample(3_000, replace=True, random_state=0).pipe(shaken).to_parquet(slow)
    words = command("fit", slow, "--target", "target", "--output", tmp_path / "m.sepc", "--n-impure", "0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        seen = read_all(ours)
        out = process.stdout.read().decode()
    assert process.returncode == 0, seen
    assert re.search(r"fitting, round \d+, [\d,]+ rows left \[\d\d:\d\d\]", seen), seen[-500:]
    assert re.search(r"\r +\r$", seen)
    assert "rows left" not in out


def shaken(table):
    import numpy as np

    rng = np.random.default_rng(0)
    return table.assign(**{name: table[name] * (1 + 0.1 * rng.normal(size=len(table))) for name in table.columns[:3]})


def read_all(handle):
    seen = b""
    try:
        while data := os.read(handle, 65536):
            seen += data
    except OSError:  # Linux, when the other end is closed
        pass
    os.close(handle)
    return seen.decode()
