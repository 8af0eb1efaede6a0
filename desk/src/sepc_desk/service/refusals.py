"""Responses to requests that are refused or that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sepc_desk.errors import RequestError
from sepc_desk.service.desk import answer

CODES = {404: "no_such_path", 405: "no_such_method"}


def _refused(error: Any) -> Response:
    told = {"code": error.code, "message": str(error), "column": error.column, "row": error.row}
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    content = {"error": {name: value for name, value in told.items() if value is not None}}
    return answer(content, error.status, headers)


def _no_route(error: Any) -> Response:
    code = CODES.get(error.status_code, "refused")
    headers = dict(error.headers or {})
    return answer({"error": {"code": code, "message": str(error.detail)}}, error.status_code, headers)


def _no_database(error: Any) -> Response:
    return _refused(RequestError(503, "log_unavailable", "The database does not respond; try again.", retry_after=1))


RESPONSES: dict[type[Exception], Callable[[Any], Response]] = {
    RequestError: _refused,
    HTTPException: _no_route,
    SQLAlchemyError: _no_database,
}


def response_to(error: Exception) -> Response | None:
    """What a caller is told about an error; None if it is none of those expected."""
    for kind, respond in RESPONSES.items():
        if isinstance(error, kind):
            return respond(error)
    return None
