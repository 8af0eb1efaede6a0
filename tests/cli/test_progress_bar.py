"""The progress bar: what it says, and that nobody sees it where no terminal is."""

import io
import os
import pty
import re
import subprocess
import sys
import time

from command_runs import command

from sepc.cli.fitting import RoundNotes
from sepc.cli.progress_bar import ProgressBar, clock
from sepc.partition.sequence import Round


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_has_the_share_or_the_time():
    bar = ProgressBar("scoring rows.csv")
    bar.started = 100.0
    bar.update("4,600 rows", 0.5)
    assert bar.line(now=165.0, width=100) == "scoring rows.csv  [############............]  50 %  4,600 rows"
    assert len(bar.line(now=165.0, width=30)) == 29
    bar.update("4,600 rows")
    assert bar.line(now=165.0, width=100) == "scoring rows.csv  4,600 rows  1:05"


def test_pace_and_time_left():
    bar = ProgressBar("scoring")
    bar.update_rows(10, 40, 0.25)
    assert bar.note == "10 of 40 rows"
    bar.started = time.monotonic() - 30.0
    bar.update_rows(3000, 12_000, 0.25)
    assert bar.note == "3,000 of 12,000 rows, 100 a second, 1:30 left"
    bar.update_rows(3000, None, None)
    assert bar.note == "3,000 rows, 100 a second"


def test_it_wipes_itself(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("sepc.cli.progress_bar.FIRST", 0.01)
    with ProgressBar("fitting") as bar:
        bar.update("round 3")
        while "round 3" not in terminal.getvalue():
            time.sleep(0.01)
    assert terminal.getvalue().endswith("\r\x1b[K")


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


def test_clock():
    assert [clock(seconds) for seconds in (0, 59.9, 61, 3725)] == ["0:00", "0:59", "1:01", "1:02:05"]


def test_rounds_are_seen_on_a_terminal(folder, tmp_path, wdbc):
    """A fit whose standard error is a terminal shows its rounds there, and on standard output only the account."""
    ours, theirs = pty.openpty()
    slow = tmp_path / "slow.parquet"
    wdbc.drop(columns=["id", "ward"]).sample(3_000, replace=True, random_state=0).pipe(shaken).to_parquet(slow)
    words = command("fit", slow, "--target", "target", "--output", tmp_path / "m.sepc", "--n-impure", "0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        seen = read_all(ours)
        out = process.stdout.read().decode()
    assert process.returncode == 0, seen
    assert re.search(r"fitting  round \d+, [\d,]+ rows left  \d:\d\d", seen), seen[-500:]
    assert seen.endswith("\r\x1b[K")
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
