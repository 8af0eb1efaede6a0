"""Check every link within built pages: the file is there, and so is the place on it.

    python tools/check_links.py docs/_build/html

Addresses of other sites are only counted: nothing is fetched.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Written by the theme's search on the page it makes.
MADE_BY_SCRIPTS = {"search.html"}
# Where the theme keeps its files, a template among them.
NO_PAGES = "_static"


class Page(HTMLParser):
    """The links and the places of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        for name, value in attributes:
            if value and (name == "id" or (name == "name" and tag == "a")):
                self.places.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html")) if NO_PAGES not in path.parts}
    broken, n_inside, n_outside = [], 0, 0
    for path, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme or link.startswith("//"):
                n_outside += 1
                continue
            n_inside += 1
            if why := what_is_wrong(link, path, pages):
                broken.append(f"{path.relative_to(folder)}: {link} {why}")
    print(f"{len(pages)} pages, {n_inside} links within them, {n_outside} to other sites (not followed)")
    if broken or not pages:
        sys.exit("\n".join([*broken, f"{len(broken)} links lead nowhere"]))


def what_is_wrong(link: str, path: Path, pages: dict[Path, Page]) -> str:
    """Why a link leads nowhere, or nothing."""
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "is not there"
    place = unquote(parts.fragment)
    if place and target in pages and target.name not in MADE_BY_SCRIPTS and place not in pages[target].places:
        return f"has no place {place!r}"
    return ""


if __name__ == "__main__":
    main()
