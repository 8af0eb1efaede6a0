"""The changelog names the version, in order, and everything that users call."""

import re
import tomllib
from datetime import date
from importlib.metadata import version
from pathlib import Path

from packaging.version import Version

import sepc

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
RELEASE = re.compile(r"\[?(?P<version>[^\s\[\]]+)\]? - (?P<date>\d{4}-\d{2}-\d{2})")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def headings(level):
    return re.findall(rf"^{'#' * level} (.+)$", CHANGELOG, re.MULTILINE)


def releases():
    """Version and date of every section but the first if that is for what is not released."""
    sections = [heading for heading in headings(2) if heading != "Unreleased"]
    found = [RELEASE.fullmatch(heading) for heading in sections]
    assert all(found), f"sections read '## 1.2.3 - 2026-01-31': {sections}"
    return [(Version(match["version"]), date.fromisoformat(match["date"])) for match in found]


def test_this_version_has_a_section():
    first = headings(2)[0]
    if Version(DECLARED).is_prerelease:
        assert first == "Unreleased"
    else:
        assert first == "Unreleased" or first.startswith(f"{DECLARED} - ")
        assert Version(DECLARED) in [version for version, _ in releases()]


def test_releases_are_in_order_the_newest_first():
    versions, dates = [version for version, _ in releases()], [day for _, day in releases()]
    assert "Unreleased" not in headings(2)[1:]
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)
    assert all(version <= Version(DECLARED) for version in versions)
    assert set(headings(3)) <= KINDS


def test_fragments_have_names_that_towncrier_reads():
    fragments = [path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    kinds = "|".join(kind.lower() for kind in KINDS)
    for path in fragments:
        assert re.fullmatch(rf"\+[a-z0-9-]+\.({kinds})\.md", path.name), path.name
        text = path.read_text(encoding="utf-8")
        assert text.strip()
        assert not text.startswith(("-", "*")), f"{path.name} has a dash, which the changelog adds"


CALLED = [name for name in sepc.__all__ if name.islower() or name.endswith("Classifier")]


FRAGMENTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "changelog.d").glob("+*.md"))


def test_every_function_and_classifier_is_mentioned():
    missing = [name for name in CALLED if not re.search(rf"`(sepc\.)?{name}\b", CHANGELOG + FRAGMENTS)]
    assert not missing, "CHANGELOG.md or changelog.d must mention them"


def test_the_installed_package_is_this_version():
    assert Version(version("sepc")) == Version(DECLARED)
    assert getattr(sepc, "__version__", version("sepc")) == version("sepc")
