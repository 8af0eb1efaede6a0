"""`sepc export`: a model as an ONNX file."""

from __future__ import annotations

import argparse
import os

from sepc.cli.errors import InputError
from sepc.cli.model_file import loaded
from sepc.cli.output_file import check_writable
from sepc.cli.printing import say
from sepc.io.atomic_files import replacing

HELP = "write a model as an ONNX file, for programs without Python"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    parser.add_argument("--output", required=True, metavar="FILE", help="the ONNX file")


def run(options: argparse.Namespace) -> None:
    """Load, export, and tell the size."""
    check_writable(options.output, options.model)
    estimator = loaded(options.model)
    from sepc.onnx.exporting import export

    with replacing(options.output) as path:
        try:
            export(estimator, path)
        except TypeError as error:
            raise InputError(str(error)) from error
    n_bytes = os.path.getsize(options.output)
    say(options, f"Written to {options.output}, {n_bytes:,} bytes", {"output": options.output, "bytes": n_bytes})
