"""The picture of the tutorial, drawn by the tutorial's own code whenever the pages are built."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

HERE = Path(__file__).parent
PICTURE = "partition.png"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def draw() -> None:
    """Run the tutorial as far as its picture."""
    mpl.use("Agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(None):
        for code in BLOCK.findall((HERE / "tutorial" / "wdbc.md").read_text(encoding="utf-8")):
            exec(code, namespace)
            if Path(PICTURE).exists():
                break
        shutil.copy(PICTURE, HERE / "images" / f"tutorial_{PICTURE}")


if __name__ == "__main__":
    draw()
