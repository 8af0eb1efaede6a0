"""Put built pages into the site of all versions, and tell its version switcher.

    python tools/add_to_site.py docs/_build/html site https://sepc-project.github.io/sepc/

A release goes to the folder of its minor version (0.1.3 to `0.1`), a development version to `dev`. The first page of
the site leads to the newest release, or to `dev` before there is one.
"""

from __future__ import annotations

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from packaging.version import Version

DEVELOPMENT = "dev"
FORWARD = '<!DOCTYPE html><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">sepc</a>\n'


def main() -> None:
    pages, site, address = sys.argv[1:]
    print(f"These pages are in {add(Path(pages), Path(site), version('sepc'), address)}")


def add(pages: Path, site: Path, of: str, address: str) -> Path:
    """Replace the pages of one version, and write anew what lists the versions."""
    folder = site / folder_of(of)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pages, folder, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
    (site / ".nojekyll").touch()  # folders that begin with an underscore are shown
    (site / "switcher.json").write_text(json.dumps(versions(site, address), indent=1) + "\n", encoding="utf-8")
    (site / "index.html").write_text(FORWARD.format(newest(site)), encoding="utf-8")
    return folder


def folder_of(of: str) -> str:
    """The folder of a version: the minor release, since patches replace each other."""
    parsed = Version(of)
    return DEVELOPMENT if parsed.is_devrelease else f"{parsed.major}.{parsed.minor}"


def versions(site: Path, address: str) -> list[dict[str, object]]:
    """What the switcher lists: development first if there is any, then releases from the newest on."""
    names = [DEVELOPMENT] * (site / DEVELOPMENT).is_dir() + releases(site)
    return [
        {"version": name, "url": f"{address}{name}/"} | ({"preferred": True} if name == newest(site) else {})
        for name in names
    ]


def newest(site: Path) -> str:
    """The folder that a stranger should see."""
    return next(iter(releases(site)), DEVELOPMENT)


def releases(site: Path) -> list[str]:
    """The folders of releases, the newest first."""
    found = [path.name for path in site.iterdir() if path.is_dir() and path.name[0].isdigit()]
    return sorted(found, key=Version, reverse=True)


if __name__ == "__main__":
    main()
