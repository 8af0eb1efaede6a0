"""Errors that a caller or an operator can fix."""

from __future__ import annotations


class SettingError(ValueError):
    """A setting is missing or wrong; the message says which one, and what to set it to."""


class RequestError(Exception):
    """A request that cannot be answered; the message names the caller's own columns and values.

    Attributes
    ----------
    status : int
        The HTTP status.
    code : str
        A name for programs, such as "missing_column".
    column : str or None
        The column that is wrong, if one is.
    row : int or None
        The position of the row that is wrong, from 0.
    retry_after : int or None
        Seconds after which to try again, if that may help.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        column: str | None = None,
        row: int | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.column, self.row, self.retry_after = status, code, column, row, retry_after


class LogUnavailableError(Exception):
    """The log did not confirm a write; what was written may or may not be there."""


class LogChangedError(Exception):
    """The log is not what was written; the message says where."""


class ModelFolderError(ValueError):
    """The folder of models cannot be used; the message says why, and what to do."""
