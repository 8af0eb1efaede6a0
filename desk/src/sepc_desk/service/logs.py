"""Logs as JSON lines, without values of cases and without secrets."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from traceback import walk_tb

# What a line may contain besides time, level and event; anything else is dropped.
KNOWN: tuple[str, ...] = ("route", "method", "status", "ms", "request", "error", "models", "person", "kind")
KNOWN += ("task", "caller", "address", "rule")


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; for an exception with its type and traceback, but without its message, which may contain values."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name.startswith(("sepc_desk", "uvicorn")) else record.name,
        }
        line |= {name: getattr(record, name) for name in KNOWN if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            places = walk_tb(record.exc_info[2])
            line["trace"] = [f"{frame.f_code.co_filename.rpartition('/')[2]}:{number}" for frame, number in places]
        return json.dumps(line, default=str)


def log_as_json(level: str) -> None:
    """Write the logs of the desk and of uvicorn to standard error, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("sepc_desk", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
