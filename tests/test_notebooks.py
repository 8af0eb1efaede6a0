"""The notebooks of the examples run, print what they hold, and hold nothing that another run would change."""

import json
import re
from pathlib import Path

import pytest

from sepc.datasets import HOME_VARIABLE

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
PATHS_OF_A_MACHINE = re.compile(r"(/tmp|/home|/root|/work|/Users|[A-Z]:\\\\Users)/|site-packages|ipykernel_\d")
MOST_BYTES_OF_A_PICTURE = 150_000

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def tool(monkeypatch):
    """The tool that runs notebooks; without its packages the test is skipped."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    import run_notebooks

    return run_notebooks


def code_of(path):
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def pictures_of(path):
    outputs = (output for cell in code_of(path) for output in cell["outputs"])
    return [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]


@pytest.mark.slow
@each_notebook
def test_runs_and_prints_what_it_holds(path, tool, monkeypatch, request):
    if HOME_VARIABLE in path.read_text():
        request.getfixturevalue("home")
    else:
        monkeypatch.delenv(HOME_VARIABLE, raising=False)
    stored = tool.read(path)
    assert not list(tool.differences(stored, tool.run(stored))), f"see tools/run_notebooks.py {path}"


@each_notebook
def test_holds_what_a_run_stores_and_nothing_else(path, tool, tmp_path):
    tool.save(tool.tidied(tool.read(path)), tmp_path / path.name)
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


@pytest.mark.slow
def test_tells_cell_by_cell_what_came_out_otherwise(tool, tmp_path, capsys):
    notebook = tool.nbformat.v4.new_notebook(cells=[tool.nbformat.v4.new_code_cell("print(6 * 7)\n6 * 7", id="answer")])
    path = tmp_path / "small.ipynb"
    tool.save(notebook, path)
    assert tool.main([str(path), "--write"]) == 0
    assert tool.main([str(path)]) == 0
    path.write_text(path.read_text().replace("42", "41", 1))
    capsys.readouterr()
    assert tool.main([str(path)]) == 1
    told = capsys.readouterr().out
    assert "answer, stored" in told
    assert "-41\n+42\n" in told
