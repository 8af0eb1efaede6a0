"""Errors and warnings that users may want to catch."""

__all__ = [
    "BrokenPromiseWarning",
    "FlatSetWarning",
    "ForeignModelError",
    "FormatError",
    "LeftOutWarning",
    "MovedColumnsError",
    "NoPromiseWarning",
    "NotConvergedWarning",
    "RefusedLookError",
    "SignatureError",
    "TrainingRowsWarning",
]


class NotConvergedWarning(UserWarning):
    """A solver stopped at its round limit; its certificate is looser than requested."""


class FlatSetWarning(UserWarning):
    """Rows lie in a flat set (a constant or collinear feature); the ellipsoid is given a small thickness there."""


class LeftOutWarning(UserWarning):
    """Columns were left out (ids, indexes, constants, free text), read as numbers or dates, or are in doubt."""


class TrainingRowsWarning(UserWarning):
    """Some supposedly new rows are training rows, so scores on them are optimistic."""


class BrokenPromiseWarning(UserWarning):
    """A promise does not hold, because a search chose it as the best of several."""


class NoPromiseWarning(UserWarning):
    """No threshold can keep the requested promise, so no row will be accepted."""


class MovedColumnsError(ValueError):
    """Columns of the rows for a repair differ from training, so a repair would fit models to a data error.

    Attributes
    ----------
    columns : tuple of ColumnChange
        The columns, with a guess at what happened to them.
    """

    def __init__(self, message: str, columns: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns


class RefusedLookError(ValueError):
    """A change plan does not allow this look at its rows; nothing was judged, and no look was spent.

    The table is not the one that was fixed beforehand, a model was trained on it, all candidates were judged, or the
    ledger was changed.
    """


class FormatError(ValueError):
    """A model file is damaged, hostile, of an unknown kind or of a later version; nothing was loaded from it."""


class SignatureError(ValueError):
    """A model file is not signed, was changed after it was signed, or was signed with another key."""


class ForeignModelError(ValueError):
    """A file was saved around a model of another library, and `load` was not given that same model.

    Attributes
    ----------
    kind : str
        The class of the model that the file was saved with, as in "sklearn.pipeline.Pipeline".
    argument : str
        The argument of `load` that takes it: "estimator" or "transformer".
    """

    def __init__(self, message: str, kind: str = "", argument: str = "estimator") -> None:
        super().__init__(message)
        self.kind = kind
        self.argument = argument
