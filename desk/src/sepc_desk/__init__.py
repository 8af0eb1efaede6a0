"""A service that decides with models of `sepc` and logs every decision."""

from importlib.metadata import version

__version__ = version("sepc-desk")
