"""A report as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib

from sepc.reporting.figures import ReportFigures
from sepc.reporting.markup import Markup, tag
from sepc.reporting.page_style import STYLE
from sepc.reporting.sections import sections_of

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src '{script}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

SCRIPT = """
"use strict";
document.querySelectorAll("table.sortable").forEach(function (table) {
  var body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
  function value(row, i, isNumber) {
    var cell = row.cells[i], given = cell.getAttribute("data-sort");
    if (!isNumber) { return cell.textContent; }
    return given === null || given === "" ? null : parseFloat(given);
  }
  heads.forEach(function (head, i) {
    if (head.classList.contains("why") || head.classList.contains("values")) { return; }
    var button = document.createElement("button"), isNumber = head.classList.contains("number");
    button.type = "button";
    button.title = "Sort by this column";
    while (head.firstChild) { button.appendChild(head.firstChild); }
    head.appendChild(button);
    button.addEventListener("click", function () {
      var was = head.getAttribute("aria-sort");
      var falling = was === null ? isNumber : was === "ascending";
      heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      Array.from(body.rows).map(function (row, at) {
        return { row: row, at: at, key: value(row, i, isNumber) };
      }).sort(function (a, b) {
        if (a.key === null || b.key === null) { return (a.key === null) - (b.key === null) || a.at - b.at; }
        var order = isNumber ? a.key - b.key : a.key.localeCompare(b.key, undefined, { numeric: true });
        return (falling ? -order : order) || a.at - b.at;
      }).forEach(function (one) { body.appendChild(one.row); });
    });
  });
});
document.querySelectorAll("tr[id]").forEach(function (row) {
  var link = row.querySelector("a[href^='#']");
  if (!link) { return; }
  row.classList.add("leads");
  row.addEventListener("click", function (event) {
    if (!event.target.closest("a") && !String(window.getSelection())) { link.click(); }
  });
});
(function () {
  var picture = document.getElementById("picture");
  if (!picture) { return; }
  var status = picture.querySelector(".shown"), hint = status.textContent;
  function show() {
    var shown = document.getElementById(location.hash.slice(1));
    var inside = shown && shown.closest("svg") && picture.contains(shown);
    var title = inside && shown.querySelector("title");
    status.textContent = title ? "Shown: " + title.textContent + ". Click on it, or press Escape, to go back." : hint;
    if (inside) { picture.scrollIntoView({ block: "nearest" }); }
  }
  document.addEventListener("keydown", function (event) {
    var shown = event.key === "Escape" && picture.querySelector(":target a");
    if (shown) { location.hash = shown.getAttribute("href"); }
  });
  window.addEventListener("hashchange", show);
  show();
})();
"""


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
