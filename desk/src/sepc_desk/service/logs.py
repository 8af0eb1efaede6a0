"""Logs as JSON lines, without values of cases and without secrets."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

# What a line may contain besides time, level and event; anything else is dropped.
KNOWN = ("route", "method", "status", "ms", "request", "error", "models", "person", "kind")


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
            line["trace"] = _places(record.exc_info[2])
        return json.dumps(line, default=str)


def _places(trace: object) -> list[str]:
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code  # type: ignore[attr-defined]
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}")  # type: ignore[attr-defined]
        trace = trace.tb_next  # type: ignore[attr-defined]
    return places


def log_as_json(level: str) -> None:
    """Write the logs of the desk and of uvicorn to standard error, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("sepc_desk", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
