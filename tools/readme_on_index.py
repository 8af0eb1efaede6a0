"""A build hook that gives the package index a README whose links and pictures work there.

In the repository links are relative, so that they work in a clone, in a fork and on every branch. An index shows the
file alone: there they lead to the tag of the version that is built, or to `main` while that is a development version.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# The target of a link or a picture, unless it has an address or is on the page.
RELATIVE = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)[^)\s]+(?=\))")
PICTURES = (".png", ".svg")


class ReadmeOnIndex(MetadataHookInterface):
    """Sets `readme`, which pyproject.toml declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling before anything is built."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        shown = readme_on_index(text, metadata["urls"]["Source"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}


def readme_on_index(text: str, repository: str, version: str) -> str:
    """The text with an address for every relative link and picture."""
    revision = "main" if "dev" in version else f"v{version}"
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/")

    def with_address(target: re.Match[str]) -> str:
        base = f"{raw}/{revision}" if target[0].endswith(PICTURES) else f"{repository}/blob/{revision}"
        return f"{base}/{target[0]}"

    return RELATIVE.sub(with_address, text)
