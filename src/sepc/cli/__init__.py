"""The `sepc` command."""

from sepc.cli.entry import main

__all__ = ["main"]
