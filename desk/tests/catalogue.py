"""Collect the texts of pages that a catalogue must have; as a script, bring the German catalogue up to date."""

from __future__ import annotations

import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

import sepc_desk

SOURCE = Path(sepc_desk.__file__).parent
GERMAN = SOURCE / "pages" / "locale" / "de" / "LC_MESSAGES" / "desk.po"
# Errors that people see on pages are raised here; those with values of the case in them stay in English.
MODULES = ("pages/*.py", "reviewing/*.py", "owning/*.py", "service/access.py", "exporting.py", "authority.py")
OPTIONS = {"newstyle_gettext": "true"}
HEADER = r"""# German texts of the pages of sepc-desk.
msgid ""
msgstr ""
"Language: de\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=utf-8\n"
"Content-Transfer-Encoding: 8bit\n"

"""


def texts() -> dict[str, list[tuple[str, int]]]:
    """Every text of a page, with the places that have it."""
    found: dict[str, list[tuple[str, int]]] = {}
    for file in sorted((SOURCE / "pages" / "templates").glob("*.html")):
        for line, _, text, _ in babel_extract(io.BytesIO(file.read_bytes()), ("_",), [], OPTIONS):
            found.setdefault(text if isinstance(text, str) else text[0], []).append((file.name, line))
    for file in sorted(one for pattern in MODULES for one in SOURCE.glob(pattern)):
        keywords = {"RequestError": (3,), "say": None}
        for line, text, _, _ in extract("python", io.BytesIO(file.read_bytes()), keywords):
            found.setdefault(str(text), []).append((file.name, line))
    return found


def german() -> Catalog:
    with GERMAN.open("rb") as file:
        return read_po(file, locale="de")


def update() -> None:
    """Add new texts, without a translation, and drop those that no page has any more."""
    before, catalogue = german(), Catalog(locale="de", charset="utf-8")
    for text, places in texts().items():
        known = before.get(text)
        catalogue.add(text, known.string if known else "", locations=[(name, 0) for name, _ in dict(places).items()])
    written = io.BytesIO()
    write_po(written, catalogue, width=110, omit_header=True, sort_output=True, include_lineno=False)
    GERMAN.write_bytes(HEADER.encode() + written.getvalue())


if __name__ == "__main__":
    update()
