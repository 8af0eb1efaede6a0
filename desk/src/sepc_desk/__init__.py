"""A service that decides with models of `sepc` and remembers every decision."""

from importlib.metadata import version

__version__ = version("sepc-desk")
