"""Whether a file can be written, asked before the work that makes it."""

from __future__ import annotations

import os
from pathlib import Path

from sepc.cli.errors import InputError


def check_writable(path: str, *inputs: str) -> None:
    """Raise if nothing could be written there, before long work and not after it."""
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise InputError(f"--output {path} is a directory; give the name of a file.")
    if not folder.is_dir():
        raise InputError(f"--output {path}: there is no directory {str(folder)!r}.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"--output {path}: nothing may be written to the directory {str(folder)!r}.")
    for one in inputs:
        if target.exists() and os.path.exists(one) and target.samefile(one):
            raise InputError(f"--output {path} is what is read from; give another name.")
