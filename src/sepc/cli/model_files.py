"""`sepc inspect`, `export`, `sign` and `verify`: commands about a model file alone."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from sepc.cli._messages import InputError, say
from sepc.cli._model_file import load_model, matters_most
from sepc.cli._options import KEY, MODEL, Command, add
from sepc.cli._written_files import check_writable
from sepc.io.atomic_files import replacing
from sepc.tables.files import check_readable

T = TypeVar("T")

# Those of `sepc.sql`, which is not imported just to parse the command.
DIALECTS = ("duckdb", "postgres", "sqlite", "spark")


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    add(parser, *MODEL)
    add(parser, *KEY)
    what = parser.add_mutually_exclusive_group()
    add(what, "--history", "print how the model was made: rows, versions, parents, parameters")
    add(what, "--bill", "print a bill of materials, as CycloneDX 1.6 in JSON")


def _inspect(options: argparse.Namespace) -> None:
    """Print what the model file holds, how it was made, or its bill of materials."""
    check_readable(options.model)
    if options.bill:
        estimator = load_model(options.model, options.key)
        from sepc.reporting.bill_of_materials import bill_of_materials

        bill = bill_of_materials(estimator, name=Path(options.model).stem)
        say(options, json.dumps(bill, indent=2), bill)
        return
    from sepc.model_files import inspect

    contents = _of_file(options.model, lambda path: inspect(path, key=options.key))
    if options.history:
        say(options, str(contents.history), asdict(contents.history))
        return
    importances = _importances(options.model, options.key)
    facts = asdict(contents) | ({"importances": importances} if importances else {})
    del facts["history"]
    say(options, "\n".join(filter(None, [str(contents), matters_most(importances)])), facts)


def _of_file(path: str, read: Callable[[str], T]) -> T:
    """What a function says of a model file; errors name the file."""
    check_readable(path)
    from sepc.errors import FormatError

    try:
        return read(path)
    except FormatError as error:
        raise InputError(f"{path}: {error}") from error


def _importances(path: str, key: str | None) -> dict[str, float]:
    """The importance of each column, largest first; empty if the model has none or cannot be loaded."""
    from sepc.errors import ForeignModelError, FormatError
    from sepc.model_files import load
    from sepc.reporting.facts import importances_of

    try:
        return dict(importances_of(load(path, key=key)))
    except (FormatError, ForeignModelError):
        # The rest of the file's description is still shown.
        return {}


def _add_export(parser: argparse.ArgumentParser) -> None:
    add(parser, *MODEL)
    add(parser, *KEY)
    add(parser, "--output FILE", "the file to write; SQL if it ends with .sql", required=True)
    add(parser, f"--dialect {{{','.join(DIALECTS)}}}", "the SQL dialect to write")
    add(parser, "--table NAME", "the table to decide on, preceded by its schema if any", nargs="+")
    add(parser, "--terms", "also output what each feature adds to the log-odds")


def _export(options: argparse.Namespace) -> None:
    """Write the file and print its size."""
    is_sql = options.output.lower().endswith(".sql")
    if is_sql != (options.dialect is not None) or is_sql != (options.table is not None):
        raise InputError("--dialect and --table are for SQL: give both with an --output that ends with .sql.")
    check_writable(options.output, options.model)
    estimator = load_model(options.model, options.key)
    with replacing(options.output) as path:
        try:
            _write(estimator, Path(path), options)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error
    n_bytes = os.path.getsize(options.output)
    say(options, f"Written to {options.output}, {n_bytes:,} bytes", {"output": options.output, "bytes": n_bytes})


def _write(estimator: Any, path: Path, options: argparse.Namespace) -> None:
    if options.dialect is None:
        from sepc.onnx.exporting import export

        export(estimator, path, terms=options.terms)
    else:
        from sepc.sql import exporting

        statement = exporting.export(estimator, options.dialect, options.table, terms=options.terms)
        path.write_text(statement, encoding="utf-8", newline="\n")


def _add_sign(parser: argparse.ArgumentParser) -> None:
    add(parser, *MODEL)
    add(parser, "--key FILE", "the private key, an elliptic curve key in PEM without a password", required=True)


def _sign(options: argparse.Namespace) -> None:
    """Write the signature beside the file."""
    from sepc.io.signatures import sign

    signature = str(_of_file(options.model, lambda path: sign(path, options.key)))
    say(options, f"Signed; the signature is in {signature}", {"model": options.model, "signature": signature})


def _add_verify(parser: argparse.ArgumentParser) -> None:
    add(parser, "MODEL", "a file that sepc sign has signed")
    add(parser, "--key FILE", "the public key of the signer, in PEM", required=True)


def _verify(options: argparse.Namespace) -> None:
    """Say that the signature is valid, or fail with the reason."""
    from sepc.io.signatures import verify

    _of_file(options.model, lambda path: verify(path, options.key))
    said = f"{options.model} is as it was signed with this key"
    say(options, said, {"model": options.model, "verified": True})


INSPECT = Command("show what is inside a model file", _add_inspect, _inspect)
EXPORT = Command("write a model as an ONNX file or an SQL statement, for programs without Python", _add_export, _export)
SIGN = Command(
    "sign a model file with a private key",
    _add_sign,
    _sign,
    """\
A key pair to sign and verify with:
  openssl ecparam -genkey -name prime256v1 -noout -out private.pem
  openssl ec -in private.pem -pubout -out public.pem""",
)
VERIFY = Command("check the signature of a model file", _add_verify, _verify)
