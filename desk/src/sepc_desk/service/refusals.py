"""Responses to requests that are refused or that fail."""

from __future__ import annotations

from sqlalchemy.exc import DataError, SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from sepc_desk.errors import LogChangedError, RequestError
from sepc_desk.service.desk import answer

CODES = {404: "no_such_path", 405: "no_such_method"}


def refused(scope: Scope, error: RequestError) -> Response:
    """The response to a request that is refused; the line about the request names the rule."""
    scope["rule"] = error.code
    told = {"code": error.code, "message": str(error), "column": error.column, "row": error.row}
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    content = {"error": {name: value for name, value in told.items() if value is not None}}
    return answer(content, error.status, headers)


def of_database(error: SQLAlchemyError) -> RequestError:
    """What to tell about an error of the database: that it does not take a value, or that it does not answer."""
    if isinstance(error, DataError):
        return RequestError(422, "unreadable", "A text of this request has characters that cannot be stored.")
    return RequestError(503, "log_unavailable", "The database does not respond; try again.", retry_after=1)


EXPECTED = (RequestError, HTTPException, SQLAlchemyError, LogChangedError)


def response_to(scope: Scope, error: Exception) -> Response | None:
    """What a caller is told about an error; None if it is none of those expected."""
    if isinstance(error, HTTPException):
        scope["rule"] = code = CODES.get(error.status_code, "refused")
        content = {"error": {"code": code, "message": str(error.detail)}}
        return answer(content, error.status_code, dict(error.headers or {}))
    if isinstance(error, SQLAlchemyError):
        error = of_database(error)
    elif isinstance(error, LogChangedError):
        error = RequestError(503, "log_changed", f"{error} Nothing is changed before it is verified.")
    return refused(scope, error) if isinstance(error, RequestError) else None
