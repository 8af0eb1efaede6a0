"""What strangers see first: the README in the repository and on a package index, and its picture."""

import re
import sys
import tomllib
from pathlib import Path

from optional import package_or_skip

package_or_skip("hatchling")

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from readme_on_index import readme_on_index  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE = PROJECT["urls"]["Source"]
TARGET = re.compile(r"\]\(([^)\s]+)\)")


def test_it_can_be_read_in_two_minutes():
    assert len(README.split()) <= 550
    assert README.count("![") == 1


def test_every_link_has_an_address_on_an_index():
    shown = readme_on_index(README, SOURCE, "0.1.0")
    assert len(TARGET.findall(README)) == len(TARGET.findall(shown)) > 8
    assert not [target for target in TARGET.findall(shown) if not target.startswith("https://")]


def test_links_on_an_index_lead_to_the_tag_of_the_release():
    text = (
        "[page](docs/a.md#part) and [![name](docs/b.svg)](LICENSE), [top](#top), [elsewhere](https://example.org/c.png)"
    )
    assert readme_on_index(text, "https://github.com/one/two", "0.1.0") == (
        "[page](https://github.com/one/two/blob/v0.1.0/docs/a.md#part) and "
        "[![name](https://raw.githubusercontent.com/one/two/v0.1.0/docs/b.svg)]"
        "(https://github.com/one/two/blob/v0.1.0/LICENSE), [top](#top), [elsewhere](https://example.org/c.png)"
    )
    assert "/blob/main/a.md" in readme_on_index("[a](a.md)", SOURCE, "0.2.0.dev0")


def test_the_picture_is_of_the_code_below_it():
    """`docs/draw_hero.py` runs the first block; the pages show the same block under the same picture."""
    (block,) = re.findall(r"^```python\n.*?^```$", README, re.MULTILINE | re.DOTALL)
    assert README.index("```python") > README.index("decision.png")
    assert block in (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("decision.png")[2]


def test_addresses_are_those_of_the_project():
    """One place names the repository; everything else that does agrees with it."""
    address = re.compile(r"(?:github\.com/([\w-]+)/sepc\b|//([\w-]+)\.github\.io/sepc\b)")
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.*")):
        for owners in address.findall(path.read_text(encoding="utf-8")):
            assert SOURCE.split("/")[3] in owners, path
