"""Errors and warnings a user of the library may want to catch by name."""


class NotConvergedWarning(UserWarning):
    """A solver stopped at its round limit; its certificate is looser than asked for."""


class FlatSetWarning(UserWarning):
    """Rows lie in a flat set (a constant or collinear feature); the ellipsoid is given a small thickness there."""


class FormatError(ValueError):
    """A model file is damaged, hostile, of an unknown kind or of a later version; nothing was loaded from it."""
