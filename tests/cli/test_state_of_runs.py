"""State files: two runs at once lose no row, an interrupted run adds none, and a file may come from anyone."""

import fcntl
import os
import subprocess
import time

import numpy as np
import pytest
from command_runs import command, interrupt, wait_for
from optional import package_or_skip

from sepc import SEPClassifier, load
from sepc.io.container import decode, encode
from sepc.lifecycle import Monitor

pd, pa = package_or_skip("pandas"), package_or_skip("pyarrow")

FEATURES = ["mean radius", "mean texture", "worst area"]


@pytest.fixture
def started(folder, tmp_path, run):
    """The words of a monitor that has its reference."""
    words = ["monitor", folder / "model.sepc", "--state", tmp_path / "watch.sepc"]
    assert run(*words, "--reference", folder / "wdbc.csv").code == 0
    return words


def test_runs_at_once_lose_no_row(folder, wdbc, started, tmp_path):
    for i in range(4):
        wdbc[i::4].to_csv(tmp_path / f"part{i}.csv", index=False)
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    runs = [subprocess.Popen(command(*started, tmp_path / f"part{i}.csv"), **silent) for i in range(4)]
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode in (0, 3), err
    assert Monitor.load(tmp_path / "watch.sepc", load(folder / "model.sepc")).n_rows == len(wdbc)
    assert [path.name for path in tmp_path.iterdir() if "lock" in path.name] == []


def test_a_lock_that_nobody_sees_is_none(folder, started, tmp_path, run, monkeypatch):
    """The run before may remove the file between our opening and locking it; the next would make another one."""
    lock, take, decide, seen = tmp_path / ".watch.sepc.lock", fcntl.flock, SEPClassifier.decide, []

    def late(handle, how):
        if not seen:
            seen.append(lock.unlink())
        return take(handle, how)

    def noted(model, X, **more):
        seen.append(lock.exists())
        return decide(model, X, **more)

    monkeypatch.setattr(fcntl, "flock", late)
    monkeypatch.setattr(SEPClassifier, "decide", noted)
    assert run(*started, folder / "wdbc.csv").code in (0, 3)
    assert seen[:2] == [None, True]


def test_waiting_is_told_and_ends(folder, started, tmp_path, run, monkeypatch):
    """For a clock that runs three thousand times as fast, ten minutes are soon over."""
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: 3_000.0 * clock())
    with (tmp_path / ".watch.sepc.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ran = run(*started, folder / "wdbc.csv")
    assert (ran.code, ran.out) == (1, "")
    waiting, given_up = ran.err.splitlines()
    assert "waiting" in waiting
    assert str(started[-1]) in waiting
    assert "again later" in given_up


def test_a_killed_run_leaves_no_lock_behind(folder, started, tmp_path, run):
    """The file of the lock may stay, but nobody waits for it."""
    process = subprocess.Popen(command(*started, "-"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    lock = tmp_path / ".watch.sepc.lock"
    wait_for(lock.exists)
    process.kill()
    process.wait(timeout=60)
    process.stdin.close()
    assert lock.exists()
    begun = time.monotonic()
    assert run(*started, folder / "wdbc.csv").code in (0, 3)
    assert time.monotonic() - begun < 30.0
    assert not lock.exists()


def test_an_interrupted_run_adds_nothing(folder, started, tmp_path):
    """Rows come through a pipe that stays open, so the command is at work until it is interrupted."""
    before = (tmp_path / "watch.sepc").read_bytes()
    header, _, rows = (folder / "wdbc.csv").read_text().partition("\n")
    process = subprocess.Popen(
        command(*started, "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdin.write(f"{header}\n{rows * 300}")
    process.stdin.flush()
    wait_for((tmp_path / ".watch.sepc.lock").exists)
    wait_for(lambda: is_idle(process.pid))
    interrupt(process)
    assert [path.name for path in tmp_path.iterdir()] == ["watch.sepc"]
    assert (tmp_path / "watch.sepc").read_bytes() == before


def test_rows_that_cannot_be_used_add_nothing(folder, wdbc, started, tmp_path, refused, monkeypatch):
    """Also if the bad cell comes in a later block."""
    monkeypatch.setattr("sepc.tables.files.BATCH_ROWS", 100)
    before = (tmp_path / "watch.sepc").read_bytes()
    table = wdbc.copy()
    table.loc[500, "worst area"] = np.inf
    table.to_parquet(tmp_path / "bad.parquet")
    assert "row 501" in refused(*started, tmp_path / "bad.parquet")
    assert (tmp_path / "watch.sepc").read_bytes() == before


def test_a_review_that_cannot_be_saved_leaves_nothing(folder, tmp_path, refused, monkeypatch):
    """An open review without its table would hold up all that come after it."""
    words = ["review", folder / "model.sepc", folder / "wdbc.csv", "--state", tmp_path / "queue.sepc"]

    def full(path, schema, **options):
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter", full)
    line = refused(*words, "--budget", "9", "--output", tmp_path / "asked.parquet", code=1)
    assert "No space" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "node",
    [
        {"reference": 3, "runs": []},
        {"reference": "x"},
        {"reference": "x", "runs": [["d", "rows", 0]]},
        {"reference": "x", "runs": [["d", "rows", -1, 2]]},
        {"reference": "x", "runs": [["d", "rows", 3, 2]]},
        {"reference": "x", "runs": [[1, "rows", 1, 2]]},
    ],
)
def test_a_forged_record_is_refused(node, started, tmp_path, refused):
    arrays, content = decode((tmp_path / "watch.sepc").read_bytes())
    (tmp_path / "watch.sepc").write_bytes(encode(arrays, content | {"command": node}))
    line = refused(*started)
    assert any(said in line for said in ("wrong type", "missing", "did not write"))


def test_a_state_that_is_damaged_empty_or_a_pipe_is_told(started, tmp_path, refused):
    state = tmp_path / "watch.sepc"
    data = bytearray(state.read_bytes())
    data[-3] ^= 1
    state.write_bytes(data)
    assert "damaged" in refused(*started)
    state.write_bytes(b"")
    assert "too short" in refused(*started)
    state.unlink()
    os.mkfifo(state)
    assert "a pipe" in refused(*started)


def test_the_record_does_not_grow_for_ever(folder, started, tmp_path, run):
    """Ten thousand runs are remembered, the latest ones."""
    state = tmp_path / "watch.sepc"
    arrays, content = decode(state.read_bytes())
    known = content["command"] | {"runs": [[f"{i:032x}", "rows", 0, 0] for i in range(10_000)]}
    state.write_bytes(encode(arrays, content | {"command": known}))
    assert run(*started, folder / "wdbc.csv").code in (0, 3)
    runs = decode(state.read_bytes())[1]["command"]["runs"]
    assert len(runs) == 10_000
    assert runs[:-1] == known["runs"][1:]
    assert len(runs[-1][0]) == len(content["command"]["reference"]) == 32
    assert run(*started, folder / "wdbc.csv").out.startswith("569 rows were counted before")


def is_idle(pid):
    """Whether a process did nothing for a while: it waits for rows."""
    before = cpu_ticks(pid)
    time.sleep(0.5)
    return cpu_ticks(pid) == before


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
