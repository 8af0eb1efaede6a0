"""Files that a command writes: a check that they can be written, and a result as a page or as a table."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from sepc.cli._messages import InputError
from sepc.io.atomic_files import replacing

PAGE, TABLES = ".html", (".csv", ".parquet")


def check_writable(path: str, *inputs: str, option: str = "--output") -> None:
    """Raise if the output cannot be written, or is one of the inputs; called before any long work."""
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise InputError(f"{option} {path} is a directory; give the name of a file.")
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no directory {str(folder)!r}.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: the directory {str(folder)!r} is not writable.")
    for name in inputs:
        if target.exists() and os.path.exists(name) and target.samefile(name):
            raise InputError(f"{option} {path} is also an input; give a different name.")


def check_result_file(options: argparse.Namespace, *inputs: str, endings: tuple[str, ...] = (PAGE, *TABLES)) -> None:
    """Raise if the output that the options name, if any, cannot be written."""
    if options.output is not None:
        check_writable(options.output, *inputs)
        if not options.output.lower().endswith(endings):
            named = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
            raise InputError(f"--output {options.output}: the name must end in {named}.")


def write_result(result: Any, options: argparse.Namespace) -> str:
    """Write a result to --output, if given, as a page or a table; return a line that says so."""
    if options.output is None:
        return ""
    with replacing(options.output) as path:
        if options.output.lower().endswith(PAGE):
            result.to_html(path)
        else:
            write_frame(result.to_frame(), path, options.output)
    return f"\nWritten to {options.output}"


def write_frame(frame: Any, path: str, name: str) -> None:
    """Write a DataFrame as CSV or Parquet, by the end of `name`; no cell of CSV can run as a formula."""
    import pyarrow as pa

    from sepc.cli.decision_files import DecisionWriter, output_format

    writer = DecisionWriter(path, output_format(name))
    writer.write({str(column): pa.array(frame[column].tolist()) for column in frame.columns})
    writer.close()
