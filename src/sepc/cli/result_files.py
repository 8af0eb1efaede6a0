"""Write a result to a file of its own: a page to look at, or a table."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.messages import InputError
from sepc.cli.source import check_writable
from sepc.io.atomic_files import replacing

PAGE, TABLES = ".html", (".csv", ".parquet")


def check_result_file(options: argparse.Namespace, *inputs: str, endings: tuple[str, ...] = (PAGE, *TABLES)) -> None:
    """Raise if the output that the options name, if any, cannot be written."""
    if options.output is not None:
        check_writable(options.output, *inputs)
        if not options.output.lower().endswith(endings):
            *first, last = endings
            raise InputError(f"--output {options.output}: the name must end in {', '.join(first)} or {last}.")


def write_result(result: Any, options: argparse.Namespace) -> str:
    """Write a result as a page or as a table where the options ask for it; return a line that says so."""
    if options.output is None:
        return ""
    with replacing(options.output) as path:
        if options.output.lower().endswith(PAGE):
            result.to_html(path)
        else:
            write_frame(result.to_frame(), path, options.output)
    return f"\nWritten to {options.output}"


def write_frame(frame: Any, path: str, name: str) -> None:
    """Write a DataFrame as the format that `name` asks for, with no cell that a spreadsheet would run."""
    import pyarrow as pa

    from sepc.cli.decision_files import DecisionWriter, output_format

    writer = DecisionWriter(path, output_format(name))
    writer.write({str(column): pa.array(frame[column].tolist()) for column in frame.columns})
    writer.close()
