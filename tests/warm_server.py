"""A Python process that has imported a lot, and forks one for each client that asks; see `warm_python`.

Usage: python warm_server.py address [module ...]
"""

import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys

WARM = ("sepc.cli", "sepc.model_files", "sepc.lifecycle", "pandas", "pyarrow.parquet")
WARM += tuple(f"sklearn.{name}" for name in ("datasets", "ensemble", "linear_model", "model_selection", "neighbors"))


def next_client(listener):
    """The connection of a client, in a process of its own; None when our standard input has ended."""
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return connection
        connection.close()
    return None


def serve(connection):
    """Fork the process that the client asks for, and tell its exit code; gives its words, in that process only."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    files = socket.recv_fds(connection, len(b"files"), 3)[1]
    talk = connection.makefile("rw", encoding="utf-8")
    asked = json.loads(talk.readline())
    if pid := os.fork():
        for file in files:
            os.close(file)
        with contextlib.suppress(BrokenPipeError):  # a client that was killed
            print(pid, file=talk, flush=True)
            code = os.waitstatus_to_exitcode(end_of(pid, connection))
            print(code if code >= 0 else 128 - code, file=talk, flush=True)
        os._exit(0)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    talk.close()
    connection.close()
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["cwd"])
    return asked["words"]


def end_of(pid, connection):
    """Wait for a process, and end it if its client is gone, since it was killed."""
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if select.select([connection], [], [], 0.02)[0]:
            os.kill(pid, signal.SIGKILL)
            return os.waitpid(pid, 0)[1]
    return ended[1]


def run(first, *words):
    """What `python first *words` runs."""
    if first in ("-m", "-c"):
        name, *words = words
        sys.argv, sys.path[0] = [first, *words], ""
        if first == "-m":
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            exec(name, {"__name__": "__main__"})
        return
    if first == "-":
        sys.argv, sys.path[0] = [first, *words], ""
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
        return
    sys.argv, sys.path[0] = [first, *words], os.path.dirname(first)
    runpy.run_path(first, run_name="__main__")


def main(address, *also):
    for name in (*WARM, *also):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    connection = next_client(listener)
    if connection is not None:
        run(*serve(connection))


if __name__ == "__main__":
    main(*sys.argv[1:])
