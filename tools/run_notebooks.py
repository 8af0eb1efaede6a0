"""Run the notebooks in examples/notebooks from top to bottom, and compare what they print with what they hold.

Each runs in a kernel of this Python, in an empty folder, with one thread. Text must be the same to the letter; of
pictures only that there is one. A notebook that speaks of `SEPC_DATA_HOME` reads a data set there.

    python tools/run_notebooks.py [--write] [examples/notebooks/drift.ipynb ...]

`--write` stores what came out, with no more metadata than needed: where nothing changed, the file stays the same.
"""

import argparse
import difflib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from traitlets import default

NOTEBOOKS = Path(__file__).parents[1] / "examples" / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Seconds that a cell may take on a busy machine.
PATIENCE = 300


class KernelOfThisPython(AsyncKernelManager):
    """Starts the kernel of the Python that runs, whatever else may be installed as "python3"."""

    @default("kernel_spec_manager")
    def _no_folder_to_look_in(self) -> KernelSpecManager:
        return KernelSpecManager(kernel_dirs=[])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="by default all in examples/notebooks")
    parser.add_argument("--write", action="store_true", help="store what comes out in the notebooks")
    options = parser.parse_args(arguments)
    paths = options.notebooks or sorted(NOTEBOOKS.glob("*.ipynb"))
    went_well = [told(path, options.write) for path in paths]
    return int(not all(went_well))


def told(path: Path, write: bool) -> bool:
    """Run a notebook and tell how it went; whether all of it worked, and came out as stored unless that is renewed."""
    start, stored = time.perf_counter(), read(path)
    try:
        fresh = run(stored)
    except CellExecutionError as error:
        print(f"{os.path.relpath(path)}: failed\n{error}", flush=True)
        return False
    lines = list(differences(stored, fresh))
    outcome = "as stored" if not lines else "stored anew" if write else "not as stored"
    print(f"{os.path.relpath(path)}: {time.perf_counter() - start:.1f} s, {outcome}", flush=True)
    if write:
        save(fresh, path)
    else:
        print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
    return write or not lines


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def save(notebook: NotebookNode, path: Path) -> None:
    nbformat.validate(notebook)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def run(notebook: NotebookNode) -> NotebookNode:
    """The notebook with what comes out of it now, tidied."""
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "IPYTHONDIR": str(Path(folder, ".ipython"))}
        environment |= {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        client = NotebookClient(
            tidied(notebook),
            kernel_manager_class=KernelOfThisPython,
            resources={"metadata": {"path": folder}},
            timeout=PATIENCE,
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=ERROR"],  # it warns that other users of this machine might listen
        )
        return tidied(client.execute(env=environment))


def tidied(notebook: NotebookNode) -> NotebookNode:
    """A copy with nothing in it that another run or another machine would change, but for what the cells give."""
    cells = [nbformat.from_dict(cell | {"metadata": {}}) for cell in notebook.cells]
    for cell in cells:
        for output in cell.get("outputs", ()):
            if "metadata" in output:
                output["metadata"] = {}
    return nbformat.from_dict(dict(notebook) | {"cells": cells, "metadata": METADATA})


def differences(stored: NotebookNode, fresh: NotebookNode) -> Iterator[str]:
    """Lines that say where what came out is not what is stored."""
    for before, after in zip(stored.cells, fresh.cells, strict=True):
        if before.cell_type == "code":
            yield from difflib.unified_diff(
                shown(before), shown(after), f"{before.id}, stored", f"{before.id}, now", lineterm="", n=1
            )


def shown(cell: NotebookNode) -> list[str]:
    """What a cell gave, as lines: all text, and the kinds of all else."""
    lines: list[str] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            lines += [f"[{output.name}]", *output.text.splitlines()]
        for kind, content in sorted(output.get("data", {}).items()):
            lines += [f"[{kind}]", *(content.splitlines() if kind.startswith("text/") else ())]
    return lines


if __name__ == "__main__":
    sys.exit(main())
