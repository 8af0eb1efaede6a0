"""Draw the badges of the README from what the repository itself says: versions, licence and measured coverage.

    python tools/draw_badges.py

Pictures that a server draws may say what no longer holds, and show nothing without a network. `tests/test_readme.py`
fails where these are not what this script would draw.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images"
BLUE = "#0b5e8e"
# Width of a character of Verdana 11 on average, and the room beside a text.
CHARACTER, MARGIN = 6.6, 6.0
TEMPLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{name}: {value}">
<title>{name}: {value}</title>
<clipPath id="round"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)">
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
<text x="{name_at}" y="14" textLength="{name_length}">{name}</text>
<text x="{value_at}" y="14" textLength="{value_length}">{value}</text>
</g>
</svg>
"""


def badges() -> dict[str, str]:
    """The pictures by the names of their files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = [text.rpartition(" ")[2] for text in project["classifiers"] if "Python :: 3." in text]
    measured = json.loads((ROOT / "benchmarks" / "results" / "coverage.json").read_text(encoding="utf-8"))["coverage"]
    whole = next(record for record in measured if record["part"] == "all")
    covered = f"{whole['lines, %']:g} % of lines, {whole['branches, %']:g} % of branches"
    return {
        "badge-coverage.svg": badge("coverage", covered, BLUE),
        "badge-python.svg": badge("python", " | ".join(pythons), BLUE),
        "badge-licence.svg": badge("licence", project["license"], BLUE),
    }


def badge(name: str, value: str, colour: str) -> str:
    """Two fields, a name and a value."""
    name_length, value_length = (round(CHARACTER * len(text)) for text in (name, value))
    left, right = name_length + 2 * MARGIN, value_length + 2 * MARGIN
    return TEMPLATE.format(
        name=name,
        value=value,
        colour=colour,
        width=left + right,
        left=left,
        right=right,
        name_at=left / 2,
        value_at=left + right / 2,
        name_length=name_length,
        value_length=value_length,
    )


if __name__ == "__main__":
    for name, picture in badges().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
