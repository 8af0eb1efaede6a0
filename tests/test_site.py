"""The site of all versions and its links: tools that a job runs and nobody watches."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
sys.path.insert(0, str(TOOLS))

from add_to_site import add  # noqa: E402

ADDRESS = "https://example.org/sepc/"


def pages(folder, text="<p id='here'><a href='#here'>up</a></p>"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(text)
    return folder


def listed(site):
    return [(one["version"], one.get("preferred", False)) for one in json.loads((site / "switcher.json").read_text())]


def test_the_site_leads_to_the_newest_release(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    assert add(pages(tmp_path / "built"), site, "0.1.0.dev0", ADDRESS) == site / "dev"
    assert listed(site) == [("dev", True)]
    for version in ("0.9.1", "0.10.0"):  # not in the order of text
        add(pages(tmp_path / "built", version), site, version, ADDRESS)
    assert listed(site) == [("dev", False), ("0.10", True), ("0.9", False)]
    assert 'url=0.10/"' in (site / "index.html").read_text()
    assert [one["url"] for one in json.loads((site / "switcher.json").read_text())][1] == f"{ADDRESS}0.10/"


def test_a_patch_replaces_the_pages_of_its_minor_version(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (pages(tmp_path / "old") / "gone.html").write_text("gone")
    add(tmp_path / "old", site, "0.1.0", ADDRESS)
    add(pages(tmp_path / "new", "newer"), site, "0.1.1", ADDRESS)
    assert listed(site) == [("0.1", True)]
    assert (site / "0.1" / "index.html").read_text() == "newer"
    assert not (site / "0.1" / "gone.html").exists()


def links_of(folder):
    command = [sys.executable, str(TOOLS / "check_links.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_good_links_pass_and_others_are_not_followed(tmp_path):
    text = "<p id='a b'><a href='#a%20b'>a</a><a href='https://example.org/nothing'>b</a><img src='c.png'></p>"
    (pages(tmp_path, text) / "c.png").touch()
    assert links_of(tmp_path) == (0, "1 pages, 2 links within them, 1 to other sites (not followed)\n")
    (tmp_path / "none").mkdir()
    assert links_of(tmp_path / "none")[0] == 1


@pytest.mark.parametrize(
    ("link", "said"),
    [("gone.html", "is not there"), ("#gone", "has no place 'gone'"), ("index.html#no", "has no place")],
)
def test_links_that_lead_nowhere_are_named(tmp_path, link, said):
    pages(tmp_path, f"<a href='{link}'>x</a>")
    code, printed = links_of(tmp_path)
    assert code == 1
    assert f"index.html: {link} {said}" in printed
