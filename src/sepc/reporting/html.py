"""A report as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib

from sepc.reporting.figures import ReportFigures
from sepc.reporting.markup import Markup, tag
from sepc.reporting.page_script import SCRIPT
from sepc.reporting.page_style import STYLE
from sepc.reporting.sections import sections_of

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src '{script}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def page(figures: ReportFigures) -> str:
    """The HTML of the page."""
    sections = [section for section in sections_of(figures) if section[2]]
    links = (tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in sections)
    verdict = figures.verdict.replace(" %", "\u00a0%")
    which = tag("p", f"Held out: {figures.held_out_rows}.".replace(" %", "\u00a0%")) if figures.held_out_rows else None
    header = tag("header", tag("h1", figures.title), tag("p", verdict, class_="verdict"), which)
    body = tag(
        "body",
        header,
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", (tag("section", tag("h2", title), parts, id=name) for name, title, parts in sections)),
        tag("footer", f"Made by {dict(figures.facts)['library']}. This page loads nothing from the network."),
        tag("script", Markup(SCRIPT)),
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(figures.title), body, lang='en')}\n"


def _head(title: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY.format(script=fingerprint())),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )


def fingerprint() -> str:
    """The script's hash, as a Content-Security-Policy names it: a browser runs this script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
