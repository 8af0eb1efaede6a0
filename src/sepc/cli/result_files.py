"""Write the table of a result to a file of its own."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.messages import InputError
from sepc.cli.source import check_writable
from sepc.io.atomic_files import replacing


def check_result_file(options: argparse.Namespace, *inputs: str) -> None:
    """Raise if the output that the options name, if any, cannot be written."""
    if options.output is not None:
        from sepc.cli.decision_files import STANDARD_OUTPUT, output_format

        check_writable(options.output, *inputs)
        if output_format(options.output) and options.output == STANDARD_OUTPUT:
            raise InputError("--output - is not offered here; give the name of a file, or --json.")


def write_result(result: Any, options: argparse.Namespace) -> str:
    """Write the table of a result where the options ask for it; return a line that says so."""
    if options.output is None:
        return ""
    with replacing(options.output) as path:
        write_frame(result.to_frame(), path, options.output)
    return f"\nWritten to {options.output}"


def write_frame(frame: Any, path: str, name: str) -> None:
    """Write a DataFrame as the format that `name` asks for, with no cell that a spreadsheet would run."""
    import pyarrow as pa

    from sepc.cli.decision_files import DecisionWriter, output_format

    writer = DecisionWriter(path, output_format(name))
    writer.write({str(column): pa.array(frame[column].tolist()) for column in frame.columns})
    writer.close()
