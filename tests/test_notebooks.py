"""The notebooks of the examples run, print what they hold, and hold nothing that another run would change.

With `WRITE_PAGES=1` in the environment, they are stored with what they print now.
"""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from optional import package_or_skip

from sepc.datasets import HOME_VARIABLE

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
PATHS_OF_A_MACHINE = re.compile(r"(/tmp|/home|/root|/work|/Users|[A-Z]:\\\\Users)/|site-packages|ipykernel_\d")
MOST_BYTES_OF_A_PICTURE = 150_000
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path):
    return package_or_skip("nbformat").read(path, as_version=4)


def run(notebook, folder):
    """The notebook with what comes out of it now, from a kernel of this Python in an empty folder."""
    nbclient = package_or_skip("nbclient")
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
    kernel = {"argv": command, "display_name": "Python 3", "language": "python"}
    (folder / "kernels" / "python3").mkdir(parents=True)
    (folder / "kernels" / "python3" / "kernel.json").write_text(json.dumps(kernel))
    client = nbclient.NotebookClient(
        tidied(notebook),
        resources={"metadata": {"path": str(folder)}},
        timeout=300,
        record_timing=False,
        coalesce_streams=True,
    )
    client.create_kernel_manager().kernel_spec_manager.kernel_dirs = [str(folder / "kernels")]
    plain = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    return tidied(client.execute(env=os.environ | plain | {"IPYTHONDIR": str(folder / ".ipython")}))


def tidied(notebook):
    """A copy with nothing in it that another run or another machine would change, but for what the cells give."""
    from_dict = package_or_skip("nbformat").from_dict
    cells = [from_dict(cell | {"metadata": {}}) for cell in notebook.cells]
    for output in (output for cell in cells for output in cell.get("outputs", ()) if "metadata" in output):
        output["metadata"] = {}
    return from_dict(dict(notebook) | {"cells": cells, "metadata": METADATA})


def save(notebook, path):
    path.write_text(package_or_skip("nbformat").writes(notebook) + "\n", encoding="utf-8")


def shown(cell):
    """What a cell gave, as lines: all text, and the kinds of all else."""
    lines = []
    for output in cell.get("outputs", ()):
        lines += output.text.splitlines() if output.output_type == "stream" else []
        for kind, content in sorted(output.get("data", {}).items()):
            lines += [f"[{kind}]", *(content.splitlines() if kind.startswith("text/") else ())]
    return lines


def code_of(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def pictures_of(path):
    outputs = (output for cell in code_of(path) for output in cell["outputs"])
    return [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]


@pytest.mark.slow
@each_notebook
def test_runs_and_prints_what_it_holds(path, monkeypatch, request, tmp_path):
    if HOME_VARIABLE in path.read_text():
        request.getfixturevalue("home")
    else:
        monkeypatch.delenv(HOME_VARIABLE, raising=False)
    stored = read(path)
    fresh = run(stored, tmp_path)
    if os.environ.get("WRITE_PAGES"):
        save(fresh, path)
    else:
        assert [shown(cell) for cell in fresh.cells] == [shown(cell) for cell in stored.cells]


@pytest.mark.slow
def test_a_run_gives_what_comes_out_now(tmp_path):
    new = package_or_skip("nbformat").v4
    notebook = new.new_notebook(cells=[new.new_code_cell("print(6 * 7)\n6 * 8", id="answer")])
    assert shown(run(notebook, tmp_path).cells[0]) == ["42", "[text/plain]", "48"]


@each_notebook
def test_holds_what_a_run_stores_and_nothing_else(path, tmp_path):
    save(tidied(read(path)), tmp_path / path.name)
    assert path.read_text() == (tmp_path / path.name).read_text()
    assert [cell["execution_count"] for cell in code_of(path)] == list(range(1, len(code_of(path)) + 1))


@each_notebook
def test_outputs_name_no_machine_hold_no_warning_and_modest_pictures(path):
    outputs = [output for cell in code_of(path) for output in cell["outputs"]]
    assert not PATHS_OF_A_MACHINE.search(json.dumps([{**one, "data": without_pictures(one)} for one in outputs]))
    assert {one["output_type"] for one in outputs} <= {"stream", "display_data", "execute_result"}
    assert "stderr" not in {one.get("name") for one in outputs}
    sizes = [len(picture) * 3 / 4 for picture in pictures_of(path)]
    assert 0 < max(sizes) < MOST_BYTES_OF_A_PICTURE


def without_pictures(output):
    return {kind: content for kind, content in output.get("data", {}).items() if kind.startswith("text/")}
