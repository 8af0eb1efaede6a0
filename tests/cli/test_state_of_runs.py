"""State files: two runs at once lose no row, an interrupted run adds none, and a file may come from anyone."""

import os
import subprocess
import threading
import time

import numpy as np
import pytest
from command_runs import command, complaint, interrupt, run_here, wait_for
from optional import package_or_skip

from sepc import load
from sepc.cli import state_lock
from sepc.cli.messages import InputError
from sepc.cli.model_rows import RowDigest
from sepc.cli.state_files import MOST_RUNS, Record, Run, read_state, write_state
from sepc.cli.state_lock import locked
from sepc.lifecycle import Monitor

pd, pa = package_or_skip("pandas"), package_or_skip("pyarrow")

FEATURES = ["mean radius", "mean texture", "worst area"]


@pytest.fixture
def started(folder, tmp_path, capsys):
    """The words of a monitor that has its reference."""
    words = ["monitor", folder / "model.sepc", "--state", tmp_path / "watch.sepc"]
    assert run_here(capsys, *words, "--reference", folder / "wdbc.csv").code == 0
    return words


def test_runs_at_once_lose_no_row(folder, wdbc, started, tmp_path):
    for i in range(4):
        wdbc[i::4].to_csv(tmp_path / f"part{i}.csv", index=False)
    runs = [
        subprocess.Popen(
            command(*started, tmp_path / f"part{i}.csv"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for i in range(4)
    ]
    for run in runs:
        _, err = run.communicate(timeout=120)
        assert run.returncode in (0, 3), err
    assert Monitor.load(tmp_path / "watch.sepc", load(folder / "model.sepc")).n_rows == len(wdbc)
    assert [path.name for path in tmp_path.iterdir() if "lock" in path.name] == []


def test_others_wait_for_the_lock(tmp_path):
    state, order = str(tmp_path / "state"), []

    def second():
        with locked(state):
            order.append("second")

    with locked(state):
        waiting = threading.Thread(target=second)
        waiting.start()
        time.sleep(0.3)
        order.append("first")
    waiting.join(timeout=10)
    assert order == ["first", "second"]
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_nobody_sees_is_none(tmp_path, monkeypatch):
    """The run before may remove the file between our opening and locking it; the next would make another one."""
    state, lock, take, removed = str(tmp_path / "state"), tmp_path / ".state.lock", state_lock._take, []

    def late(handle):
        if not removed:
            removed.append(lock.unlink())
        return take(handle)

    monkeypatch.setattr(state_lock, "_take", late)
    with locked(state):
        assert lock.exists()


def test_waiting_is_told_and_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sepc.cli.state_lock.TOLD", 0.1)
    monkeypatch.setattr("sepc.cli.state_lock.PATIENCE", 0.5)
    state = str(tmp_path / "state")
    with locked(state), pytest.raises(TimeoutError, match="run this again later"), locked(state):
        pass
    assert capsys.readouterr().err == f"sepc: waiting for another run of sepc that uses {state}\n"


def test_a_killed_run_leaves_no_lock_behind(folder, started, tmp_path, capsys):
    """The file of the lock may stay, but nobody waits for it."""
    process = subprocess.Popen(command(*started, "-"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    lock = tmp_path / ".watch.sepc.lock"
    wait_for(lock.exists)
    process.kill()
    process.wait(timeout=60)
    process.stdin.close()
    assert lock.exists()
    begun = time.monotonic()
    assert run_here(capsys, *started, folder / "wdbc.csv").code in (0, 3)
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


def test_rows_that_cannot_be_used_add_nothing(folder, wdbc, started, tmp_path, capsys, monkeypatch):
    """Also if the bad cell comes in a later block."""
    monkeypatch.setattr("sepc.cli.tables.BATCH_ROWS", 100)
    before = (tmp_path / "watch.sepc").read_bytes()
    table = wdbc.copy()
    table.loc[500, "worst area"] = np.inf
    table.to_parquet(tmp_path / "bad.parquet")
    assert "row 501" in complaint(run_here(capsys, *started, tmp_path / "bad.parquet"))
    assert (tmp_path / "watch.sepc").read_bytes() == before


def test_a_review_that_cannot_be_saved_leaves_nothing(folder, tmp_path, capsys, monkeypatch):
    """An open review without its table would hold up all that come after it."""
    words = ["review", folder / "model.sepc", folder / "wdbc.csv", "--state", tmp_path / "queue.sepc"]

    def full(frame, path, name):
        raise OSError(28, "No space left on device", name)

    monkeypatch.setattr("sepc.cli.review.write_frame", full)
    ran = run_here(capsys, *words, "--budget", "9", "--output", tmp_path / "asked.csv")
    assert "No space left on device" in complaint(ran, code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_state_is_told(folder, started, tmp_path, capsys):
    data = bytearray((tmp_path / "watch.sepc").read_bytes())
    data[-3] ^= 1
    (tmp_path / "watch.sepc").write_bytes(data)
    assert "damaged" in complaint(run_here(capsys, *started))
    (tmp_path / "watch.sepc").write_bytes(b"")
    assert "too short" in complaint(run_here(capsys, *started))


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
def test_a_forged_record_is_refused(node, started, tmp_path, capsys):
    from sepc.io.container import decode, encode

    arrays, content = decode((tmp_path / "watch.sepc").read_bytes())
    (tmp_path / "watch.sepc").write_bytes(encode(arrays, content | {"command": node}))
    line = complaint(run_here(capsys, *started))
    assert any(said in line for said in ("has the wrong type", "is missing", "that the command did not write"))


def test_the_record_does_not_grow_for_ever(started, tmp_path):
    data, record = read_state(str(tmp_path / "watch.sepc"))
    assert len(record.reference) == 32
    record = Record("r", tuple(Run(f"{i:032x}", "rows", i, i) for i in range(MOST_RUNS)))
    record = record.with_run(Run("f" * 32, "rows", 1, 2))
    write_state(str(tmp_path / "watch.sepc"), data, record)
    again = read_state(str(tmp_path / "watch.sepc"))[1]
    assert again == record
    assert (len(again.runs), again.of(f"{0:032x}", "rows")) == (MOST_RUNS, None)
    assert again.of("f" * 32, "rows") == Run("f" * 32, "rows", 1, 2)
    assert again.of("f" * 32, "labels") is None


def test_a_state_that_is_a_pipe(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="a pipe"):
        read_state(str(tmp_path / "pipe"))


def test_a_digest_knows_rows_and_not_blocks():
    rng = np.random.default_rng(0)
    numbers, texts = rng.normal(size=20), np.array([f"t{i % 3}" if i % 4 else None for i in range(20)], dtype=object)

    def digest(*cuts, numbers=numbers, texts=texts, names=("a", "b")):
        own = RowDigest()
        for rows in np.split(np.arange(20), cuts):
            if len(rows):
                own.add(dict(zip(names, (numbers[rows], texts[rows]), strict=True)), texts[rows])
        return own

    assert digest().of_rows() == digest(3, 11).of_rows()
    assert digest().of_labels() == digest(3, 11).of_labels()
    assert digest().n_rows == digest(5).n_rows == 20
    others = [
        digest(numbers=numbers[::-1]),
        digest(texts=texts[::-1]),
        digest(names=("a", "c")),
        digest(texts=np.where(texts == "t0", "t", texts)),
    ]
    assert len({digest().of_rows(), *(other.of_rows() for other in others)}) == 5


def is_idle(pid):
    """Whether a process did nothing for a while: it waits for rows."""
    before = cpu_ticks(pid)
    time.sleep(0.5)
    return cpu_ticks(pid) == before


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
