"""The tool that follows pages runs their blocks in an empty folder, and tells what does not work as written."""

import os
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
PAGE = """# A page

```python
from pathlib import Path

Path("made.txt").write_text("as " + "log-odds " * 50)
print(os.listdir()) if "os" in globals() else print("new session")
```

```text
new session
```

```sh
pip install nothing-of-this-name
cat made.txt
```

```text
other words
```

```console
exit 1
```
"""


@pytest.fixture
def follow(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    return pytest.importorskip("follow_pages").main


@pytest.fixture
def page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return page


def test_tells_what_is_printed_now(follow, page, capsys):
    assert follow([str(page)]) == 1
    told = capsys.readouterr().out
    assert "2 blocks" in told
    assert "1 print something else" in told
    assert os.listdir(page.parent) == ["page.md"]  # the page has a folder of its own


def test_writes_what_is_printed_now_and_tells_what_fails(follow, page, capsys):
    assert follow([str(page), "--write"]) == 0
    assert page.read_text().count("log-odds") == 51
    assert max(map(len, page.read_text().splitlines())) <= 100
    assert follow([str(page)]) == 0
    for block in ("```python\n1 / 0\n```\n", "```sh\nfalse\n```\n"):
        page.write_text(block)
        assert follow([str(page)]) == 1
        assert "1 failed" in capsys.readouterr().out


def test_finds_no_data_sets_unless_the_page_speaks_of_them(follow, page, monkeypatch):
    monkeypatch.setenv("SEPC_DATA_HOME", "somewhere")
    block = "```python\nimport os\nprint(len(os.environ.get('SEPC_' + 'DATA_HOME', '')))\n```\n\n```text\n{}\n```\n"
    page.write_text(block.format(0))
    assert follow([str(page)]) == 0
    page.write_text("It needs `SEPC_DATA_HOME`.\n\n" + block.format(len("somewhere")))
    assert follow([str(page)]) == 0
