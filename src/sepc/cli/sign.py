"""`sepc sign`: sign a model file."""

from __future__ import annotations

import argparse

from sepc.cli._messages import InputError, say
from sepc.tables.files import check_readable

HELP = "sign a model file with a private key"
EXAMPLE = """\
A key pair to sign and verify with:
  openssl ecparam -genkey -name prime256v1 -noout -out private.pem
  openssl ec -in private.pem -pubout -out public.pem"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc sign`."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    parser.add_argument(
        "--key", required=True, metavar="FILE", help="the private key, an elliptic curve key in PEM without a password"
    )


def run(options: argparse.Namespace) -> None:
    """Write the signature beside the file."""
    check_readable(options.model)
    from sepc.errors import FormatError
    from sepc.io.signatures import sign

    try:
        signature = str(sign(options.model, options.key))
    except FormatError as error:
        raise InputError(f"{options.model}: {error}") from error
    say(options, f"Signed; the signature is in {signature}", {"model": options.model, "signature": signature})
