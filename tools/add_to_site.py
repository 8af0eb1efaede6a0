"""Put built pages into the site of all versions, and tell its version switcher.

    python tools/add_to_site.py docs/_build/html site --address https://sepc-project.github.io/sepc/

A release goes to the folder of its minor version (0.1.3 to `0.1`), a development version to `dev`. The first page of
the site leads to the newest release, or to `dev` before there is one.
"""

from __future__ import annotations

import argparse
import json
import shutil
from importlib.metadata import version
from pathlib import Path

from packaging.version import Version

DEVELOPMENT = "dev"
FORWARD = (
    '<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">sepc</a>\n'
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, help="what `make docs` built")
    parser.add_argument("site", type=Path, help="the folder of all versions")
    parser.add_argument("--address", required=True, help="where the site is shown")
    parser.add_argument("--version", default=version("sepc"), help="of these pages; by default the installed one")
    options = parser.parse_args()
    folder = add(options.pages, options.site, options.version, options.address)
    print(f"{options.version} is in {folder}")


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


def releases(site: Path) -> list[str]:
    """The folders of releases, the newest first."""
    found = [path.name for path in site.iterdir() if path.is_dir() and path.name[0].isdigit()]
    return sorted(found, key=Version, reverse=True)


def newest(site: Path) -> str:
    """The folder that a stranger should see."""
    return next(iter(releases(site)), DEVELOPMENT)


def versions(site: Path, address: str) -> list[dict[str, object]]:
    """What the switcher lists: development first if there is any, then releases from the newest on."""
    names = [*([DEVELOPMENT] if (site / DEVELOPMENT).is_dir() else []), *releases(site)]
    return [
        {"version": name, "url": f"{address}{name}/"} | ({"preferred": True} if name == newest(site) else {})
        for name in names
    ]


if __name__ == "__main__":
    main()
