"""A service that decides with models of `sepc` and logs every decision."""

from importlib.metadata import PackageNotFoundError, version


def version_of(package: str) -> str:
    """The version of an installed package; "0+unknown" for one that only lies on the path, as a source folder does."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "0+unknown"


__version__ = version_of("sepc-desk")
