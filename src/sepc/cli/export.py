"""`sepc export`: write a model as an ONNX file."""

from __future__ import annotations

import argparse
import os

from sepc.cli.messages import InputError, say
from sepc.cli.model_file import load_model
from sepc.cli.source import check_writable
from sepc.io.atomic_files import replacing

HELP = "write a model as an ONNX file, for programs without Python"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc export`."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    parser.add_argument("--output", required=True, metavar="FILE", help="the ONNX file to write")


def run(options: argparse.Namespace) -> None:
    """Write the ONNX file and print its size."""
    check_writable(options.output, options.model)
    estimator = load_model(options.model)
    from sepc.onnx.exporting import export

    with replacing(options.output) as path:
        try:
            export(estimator, path)
        except TypeError as error:
            raise InputError(str(error)) from error
    n_bytes = os.path.getsize(options.output)
    say(options, f"Written to {options.output}, {n_bytes:,} bytes", {"output": options.output, "bytes": n_bytes})
