"""The only script of the page: a click on a column header sorts a table."""

from __future__ import annotations

import base64
import hashlib

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
"""


def fingerprint() -> str:
    """The script's hash, as a Content-Security-Policy names it: a browser runs this script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
