"""Turn templates into responses."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import Response

import sepc_desk
from sepc_desk.pages.languages import Language
from sepc_desk.rows import Row

TEMPLATES = Path(__file__).parent / "templates"
# Everything comes from the desk itself, and nothing is written into the page that could run.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@cache
def environment(language: Language) -> Environment:
    """The templates in a language."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    found.install_gettext_translations(language.texts, newstyle=True)  # type: ignore[attr-defined]
    found.filters |= {
        "number": language.number,
        "percent": language.percent,
        "time": language.time,
        "clock": language.clock,
        "day": language.day,
        "age": language.age,
        "cell": lambda value: shown_cell(value, language),
        "json": lambda value: orjson.dumps(value).decode(),
    }
    found.globals |= {"version": sepc_desk.__version__, "language": language}
    return found


def shown_cell(value: Any, language: Language) -> str:
    """A value of a row as people read it."""
    if value is None:
        return language.say("missing")
    if isinstance(value, dict):
        moment = str(value["date"])
        return moment.removesuffix("T00:00:00").replace("T", " ")
    if isinstance(value, bool):
        return language.say("yes") if value else language.say("no")
    return language.number(value, 6) if isinstance(value, int | float) else str(value)


def typed_cell(value: Any) -> str:
    """A value of a row as it stands in a field of a form, in full."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return str(value["date"])
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def html(language: Language, template: str, status: int = 200, **context: Any) -> Response:
    """A page, or a part of one."""
    text = environment(language).get_template(template).render(**context)
    headers = {"Content-Security-Policy": POLICY, "Content-Language": language.code, "Vary": "Accept-Language, Cookie"}
    return Response(text, status, headers, "text/html; charset=utf-8")


def filled(row: Row) -> dict[str, str]:
    """All values of a row as they stand in a form."""
    return {name: typed_cell(value) for name, value in row.items()}
