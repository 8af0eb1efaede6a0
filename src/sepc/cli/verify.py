"""`sepc verify`: check the signature of a model file."""

from __future__ import annotations

import argparse

from sepc.cli._messages import InputError, say
from sepc.tables.files import check_readable

HELP = "check the signature of a model file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc verify`."""
    parser.add_argument("model", metavar="MODEL", help="a file that sepc sign has signed")
    parser.add_argument("--key", required=True, metavar="FILE", help="the public key of the signer, in PEM")


def run(options: argparse.Namespace) -> None:
    """Say that the signature is valid, or fail with the reason."""
    check_readable(options.model)
    from sepc.errors import FormatError
    from sepc.io.signatures import verify

    try:
        verify(options.model, options.key)
    except FormatError as error:
        raise InputError(f"{options.model}: {error}") from error
    said = f"{options.model} is as it was signed with this key"
    say(options, said, {"model": options.model, "verified": True})
