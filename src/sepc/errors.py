"""Errors and warnings that users may want to catch."""


class NotConvergedWarning(UserWarning):
    """A solver stopped at its round limit; its certificate is looser than asked for."""


class FlatSetWarning(UserWarning):
    """Rows lie in a flat set (a constant or collinear feature); the ellipsoid is given a small thickness there."""


class LeftOutWarning(UserWarning):
    """Columns that are left out (ids, indexes, constants, free text), read as numbers or dates, or in doubt."""


class TrainingRowsWarning(UserWarning):
    """Rows that should be new to a model are among those it was trained on, so it does better on them than it will."""


class BrokenPromiseWarning(UserWarning):
    """A promise does not hold, since a search chose it as the best of several."""


class NoPromiseWarning(UserWarning):
    """No threshold can keep the promise that was asked for, so no row will be accepted."""


class MovedColumnsError(ValueError):
    """Columns of rows for a repair are not as in training, so that a repair would fit models to an error in the data.

    Attributes
    ----------
    columns : tuple of ColumnChange
        The columns, with a guess at what happened to them.
    """

    def __init__(self, message: str, columns: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns


class FormatError(ValueError):
    """A model file is damaged, hostile, of an unknown kind or of a later version; nothing was loaded from it."""


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
