"""Saving: the old file or the new one, whole; its permissions stay; devices and folders are refused."""

import multiprocessing
import os
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from sepc.io.atomic_files import replacing, write_whole

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions and signals of POSIX")


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def in_new_process(function, *given):
    """The result of a function in a process of its own, since it changes the umask or the current folder."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(function, given)


def saved_with_umask(path, umask):
    os.umask(umask)
    write_whole(path, b"new")
    return mode_of(path), os.umask(umask)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o444])
def test_a_file_that_exists_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "model.sepc"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_whole(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", mode)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002, 0o277])
def test_a_new_file_has_the_usual_permissions_and_the_umask_stays(tmp_path, umask, monkeypatch):
    assert in_new_process(saved_with_umask, tmp_path / "model.sepc", umask) == (0o666 & ~umask, umask)
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask of all threads was changed"))
    write_whole(tmp_path / "other.sepc", b"new")
    # Nobody else can read a file while it is written.
    with replacing(tmp_path / "another.sepc") as temporary:
        assert mode_of(temporary) == 0o600
        Path(temporary).write_bytes(b"new")


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "versions").mkdir()
    path, link, chained = tmp_path / "versions" / "1.sepc", tmp_path / "now.sepc", tmp_path / "model.sepc"
    path.write_bytes(b"old")
    link.symlink_to(Path("versions") / "1.sepc")
    chained.symlink_to("now.sepc")
    write_whole(chained, b"new")
    assert link.is_symlink()
    assert chained.is_symlink()
    assert path.read_bytes() == b"new"
    path.unlink()
    write_whole(link, b"newer")
    assert path.read_bytes() == b"newer"
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["1.sepc", "model.sepc", "now.sepc", "versions"]


def odd_files(folder):
    """A pipe, a socket and, where it may be made, a device; never those of the system, which a wrong save replaces."""
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")  # a whole path may be too long
    with suppress(PermissionError):
        os.mknod(folder / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return sorted(folder.iterdir())


def test_what_is_no_file_is_refused_and_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = odd_files(tmp_path)
    for link, target in (("link", "pipe"), ("one", "other"), ("other", "one")):
        (tmp_path / link).symlink_to(target)
    kinds = [stat.S_IFMT(os.stat(path).st_mode) for path in odd]
    refused = {"link": "pipe", "one": "loop", "nowhere/model.sepc": "nowhere/model.sepc", ".": "folder"}
    for name, said in (refused | {path.name: "pipe" for path in odd}).items():
        with pytest.raises(OSError, match=said):
            write_whole(tmp_path / name, b"new")
    assert [stat.S_IFMT(os.stat(path).st_mode) for path in odd] == kinds
    assert {path.name for path in tmp_path.iterdir()} == {"link", "one", "other", *(path.name for path in odd)}


@pytest.mark.parametrize(
    "name", ["m", "m" * 255, "ü" * 127, os.fsdecode(b"\xff\xfe.sepc"), "-", ".hidden", "two\nlines", " ", "~", "%s*?"]
)
def test_any_name_that_the_system_takes(tmp_path, name):
    write_whole(tmp_path / name, b"old")
    write_whole(os.fsencode(tmp_path / name), b"new")
    assert [os.fsencode(file.name) for file in tmp_path.iterdir()] == [os.fsencode(name)]
    assert (tmp_path / name).read_bytes() == b"new"


def saved_here(folder, name):
    os.chdir(folder)
    write_whole(name, b"new")
    return sorted(str(file) for file in Path().rglob("*"))


@pytest.mark.parametrize("name", ["model.sepc", "./model.sepc", "m" * 255])
def test_a_name_in_the_current_folder(tmp_path, name):
    assert in_new_process(saved_here, tmp_path, name) == [Path(name).name]


def test_file_and_folder_are_on_the_disk_before_and_after_the_name_changes(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(handle):
        done.append(os.readlink(f"/proc/self/fd/{handle}") if Path("/proc/self/fd").exists() else "")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("replace"), replace(*names)))
    write_whole(tmp_path / "model.sepc", b"new")
    assert len(done) == 3
    assert done[1] == "replace"
    if done[0]:
        assert Path(done[0]).name.startswith(".sepc-")
        assert Path(done[2]) == tmp_path.resolve()


def interrupted(path):
    with replacing(path) as temporary:
        Path(temporary).write_bytes(b"half")
        raise KeyboardInterrupt


def test_an_interrupt_while_writing_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "model.sepc"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


def test_many_threads_write_one_file(tmp_path):
    path, texts = tmp_path / "model.sepc", [bytes([65 + i]) * 100_000 for i in range(8)]
    threads = [threading.Thread(target=lambda text=text: [write_whole(path, text) for _ in range(5)]) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in texts
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_killed_processes_leave_a_whole_file(tmp_path):
    """A small part of `sepc_benchmarks.killed_saves`."""
    killed_saves = pytest.importorskip("sepc_benchmarks.killed_saves")
    seen = dict.fromkeys(("first", "second", "unfinished"), 0)
    for i in range(6):  # on a busy machine few kills hit the moment of writing
        (tmp_path / f"{i}").mkdir()
        record = killed_saves.attack(tmp_path / f"{i}", 20)
        assert record["neither"] == 0
        seen = {name: n + record[name] for name, n in seen.items()}
        if all(seen.values()):
            return
    pytest.fail(f"no kill hit the writing of a file: {seen}")
