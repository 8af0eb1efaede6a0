"""`sepc-desk verify` and `heads`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sepc_desk.chain import head_of
from sepc_desk.commands.options import add_common, engine_for, settings_of
from sepc_desk.errors import SettingError
from sepc_desk.heads import Head, head_of_receipt, make_keys, public_key_of, read_heads, signed
from sepc_desk.verifying import verify

# Exit codes: the log was changed; and nothing speaks against it, but there is no witness.
FOUND, UNWITNESSED = 3, 4


def add_commands(commands: Any) -> None:
    """Add the commands."""
    verifying = commands.add_parser("verify", help="check the log, and compare it with heads that were kept elsewhere")
    add_common(verifying, run_verify)
    verifying.add_argument("--heads", type=Path, help="a file that `sepc-desk heads sign` wrote, kept elsewhere")
    verifying.add_argument("--public-key", type=Path, help="the public key that the heads must be signed with")
    verifying.add_argument("--receipt", action="append", default=[], help="the receipt of an answer, as PLACE:HASH")

    heads = commands.add_parser("heads", help="create keys, and sign the head of the chain")
    parts = heads.add_subparsers(required=True, metavar="ACTION")
    key = parts.add_parser("key", help="create a private key, and a public key next to it")
    key.add_argument("file", type=Path)
    key.set_defaults(run=make_key)
    sign = parts.add_parser("sign", help="sign the head of the chain, and print it or add it to a file")
    add_common(sign, sign_head)
    sign.add_argument("--key", type=Path, required=True)
    sign.add_argument("--to", type=Path, help="a file to add it to, if possible on another machine")


def run_verify(options: argparse.Namespace) -> int:
    """Check the log."""
    settings = settings_of(options)
    file = options.heads or (Path(settings.witness) if settings.witness else None)
    heads: list[Head] = [head_of_receipt(text) for text in options.receipt]
    key = None if options.public_key is None else public_key_of(options.public_key)
    if options.receipt and options.public_key is not None:
        raise SettingError("Receipts are not signed; check them in a separate run, without --public-key.")
    if file is not None and not options.receipt:
        if key is None and not settings.witness_key:
            raise SettingError(
                "Give the public key of the heads with --public-key; without it, anyone could have written them."
            )
        try:
            heads = read_heads(file.read_text(encoding="utf-8").splitlines())
        except OSError as error:
            raise SettingError(f"{file} cannot be read: {error.strerror}.") from error
        key = key or public_key_of(Path(settings.witness_key + ".pub"))
    with engine_for(options) as engine:
        verdict = verify(engine, heads, key)
    erased = f", {verdict.n_erased:,} of them erased" if verdict.n_erased else ""
    print(f"{verdict.n_entries:,} entries{erased}; the head is {verdict.place}:{verdict.hash.hex()}")
    for finding in verdict.findings:
        print(f"- {finding}")
    if verdict.n_findings > len(verdict.findings):
        print(f"- and {verdict.n_findings - len(verdict.findings):,} more findings")
    if not verdict.is_whole:
        print("The log was changed.")
    elif verdict.witnessed:
        print(f"Every entry up to place {verdict.witnessed}, the newest head, is as it was written.")
    else:
        print("Nothing in the log contradicts itself, but nobody has witnessed what was written.")
    for limit in verdict.limits:
        print(limit)
    return FOUND if not verdict.is_whole else 0 if verdict.witnessed else UNWITNESSED


def make_key(options: argparse.Namespace) -> int:
    """Create the keys for signing heads."""
    try:
        public = make_keys(options.file)
    except FileExistsError:
        raise SettingError(
            f"{options.file} exists already; a key that has signed heads must not be replaced."
        ) from None
    except OSError as error:
        raise SettingError(f"{options.file} cannot be written: {error.strerror}.") from error
    print(
        f"Created {options.file}, which signs, and {public}, which checks. Keep the first secret, on another machine."
    )
    return 0


def sign_head(options: argparse.Namespace) -> int:
    """Sign the head."""
    with engine_for(options) as engine, engine.connect() as connection:
        place, own_hash = head_of(connection)
    if place == 0:
        raise SettingError("The log is empty, so there is no head to sign.")
    head = signed(place, own_hash, datetime.now(UTC).isoformat(timespec="seconds"), options.key)
    if options.to is None:
        print(head.to_line())
    else:
        try:
            with options.to.open("a", encoding="utf-8") as file:
                file.write(head.to_line() + "\n")
        except OSError as error:
            raise SettingError(f"{options.to} cannot be written: {error.strerror}.") from error
        print(f"Added the head of place {place} to {options.to}.")
    return 0
