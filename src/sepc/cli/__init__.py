"""The `sepc` command: parse, call, print."""

from sepc.cli.entry import main

__all__ = ["main"]
