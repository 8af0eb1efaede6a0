"""The page in a real browser: the slider and the filters, used by a script; needs Chromium.

The environment variable `SEPC_BROWSER` names the program if it is not on the path.
"""

import html
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_blobs, make_moons

from sepc import SelectiveClassifier, SEPClassifier, look, report

pd = package_or_skip("pandas")

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("SEPC_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")]

USED = """
<script>
"use strict";
var told = {}, list = document.querySelector("#review .row-list"), slider = document.getElementById("threshold");
function shown() {
  return Array.from(list.querySelectorAll("tbody tr")).filter(function (row) { return !row.hidden; });
}
function texts(n) { return shown().map(function (row) { return row.cells[n].firstChild.textContent; }); }
function figure(name) { return document.querySelector("[data-told=" + name + "]").textContent; }
function set(value) { slider.value = value; slider.dispatchEvent(new Event("input")); }
told.atFirst = shown().length;
told.now = [figure("accepted-more"), figure("right-more"), figure("person-more")];
set(0);
told.all = [figure("accepted-more"), figure("right-more"), figure("person-more")];
set(slider.max);
told.none = [figure("accepted"), figure("person-more"), slider.getAttribute("aria-valuetext")];
document.querySelector("#thresholds-tried button").click();
told.back = Number(slider.value);
var selects = Array.from(list.querySelectorAll("select"));
told.filters = selects.map(function (one) { return one.labels[0].firstChild.textContent.trim(); });
var cause = selects[told.filters.indexOf("cause")], sex = selects[told.filters.indexOf("sex")];
cause.value = cause.options[1].value;
cause.dispatchEvent(new Event("change"));
list.querySelector(".filters button").click();
told.cause = cause.value;
told.causes = texts(4);
sex.value = "m";
sex.dispatchEvent(new Event("change"));
told.sexes = texts(6);
cause.value = "";
sex.value = "";
sex.dispatchEvent(new Event("change"));
told.open = shown().length;
list.querySelectorAll("th button")[3].click();
told.sorted = shown().map(function (row) { return Number(row.cells[3].textContent); });
told.wide = document.documentElement.scrollWidth;
var pre = document.createElement("pre");
pre.id = "told";
pre.textContent = JSON.stringify(told);
document.body.appendChild(pre);
</script>
"""


def opened(path, width=1200):
    words = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},900",
        "--dump-dom",
        path.as_uri(),
    ]
    return subprocess.run([BROWSER, *words], capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture(scope="module")
def grouped():
    X, y = make_moons(600, noise=0.35, random_state=0)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(sex=np.where(np.arange(600) % 3, "f", "m"))
    labels = np.where(y, "ill", "well")
    model = SEPClassifier(min_trust=0.9).fit(table.loc[::2, ["a", "b"]], labels[::2])
    return report(model, table[1::2], labels[1::2], by="sex")


def scripted(made, script):
    """The page with a script of our own, which its policy would stop."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", made.to_html())
    return page.replace("</body>", f"{script}</body>")


def test_the_policy_lets_the_script_of_the_page_run(grouped, tmp_path):
    grouped.to_html(tmp_path / "page.html")
    page = opened(tmp_path / "page.html")
    assert re.search(r'id="thresholds-tried"(?![^>]*hidden)', page)
    n_accepted = grouped.figures.held_out.n_accepted
    assert f"{n_accepted} of 300 rows" in page[page.index("thresholds-tried") :]
    assert "<select" in page


def test_slider_filters_and_sorting(grouped, tmp_path):
    (tmp_path / "page.html").write_text(scripted(grouped, USED), encoding="utf-8")
    page = opened(tmp_path / "page.html")
    told = json.loads(html.unescape(re.search(r'<pre id="told">(.*?)</pre>', page)[1]))
    figures = grouped.figures
    held_out, review, thresholds = figures.held_out, figures.review, figures.thresholds
    assert told["atFirst"] == 10
    n, n_accepted, n_right = held_out.n_rows, held_out.n_accepted, held_out.n_right_accepted
    assert told["now"][0] == f"{n_accepted} of {n} rows"
    assert told["now"][1].startswith(f"{n_right} of {n_accepted}; 95\u00a0% interval ")
    assert told["now"][2] == f"{n - n_accepted} of {n} rows"
    assert told["all"][0] == "300 of 300 rows"
    assert told["all"][1].startswith(f"{held_out.n_right} of 300; ")
    assert told["none"] == ["0\u00a0%", "300 of 300 rows", "trust of at least 1"]
    assert told["back"] == thresholds.now
    assert {"predicted label", "true label", "cause", "region", "sex"} <= set(told["filters"])
    causes = [row.cause for row in review if row.cause == told["cause"]]
    assert told["causes"] == causes
    assert told["sexes"] == ["m"] * sum(row.cause == told["cause"] and dict(row.groups)["sex"] == "m" for row in review)
    assert told["open"] == len(review)
    assert told["sorted"] == sorted((float(f"{row.trust:.3f}") for row in review), reverse=True)
    assert told["wide"] <= 1200


TABLES = """<script>
addEventListener("load", function () {
  document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  var wide = Array.from(document.querySelectorAll("table")).filter(function (one) {
    return one.getBoundingClientRect().width > one.parentNode.clientWidth + 1;
  });
  parent.document.title = wide.map(function (one) { return one.caption.textContent; }).join("; ") || "none";
});
</script>"""


@pytest.fixture(scope="module")
def with_everything():
    """A report with findings, groups, results by column, four classes with long names and an overlap of classes."""
    X, y = make_blobs(900, centers=4, cluster_std=2.5, random_state=0)
    table = pd.DataFrame(X, columns=["debts at the end of the year", "income"])
    table["profession"] = np.where(np.arange(900) % 3, "self-employed", "civil servant")
    table["customer_since"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(900), "D")
    labels = np.array(["paid in full", "paid in part", "rescheduled", "written off"])[y]
    model = SelectiveClassifier(SEPClassifier(), 0.3, by="profession", random_state=0).fit(table[::2], labels[::2])
    words = {"by": "profession", "findings": look(table, labels), "X_train": table[::2], "y_train": labels[::2]}
    return report(model, table[1::2], labels[1::2], **words)


@pytest.mark.parametrize("width", [390, 1200, 1280])
def test_no_table_is_cut_off(with_everything, tmp_path, width):
    """In a frame, since headless windows are at least 500 pixels wide."""
    page = html.escape(scripted(with_everything, TABLES))
    frame = f'<!DOCTYPE html><title>not seen</title><iframe width="{width}" height="900" srcdoc="{page}"></iframe>'
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    assert "<title>none</title>" in opened(tmp_path / "frame.html", width=1400)


def test_on_paper_no_reason_is_cut_off(tmp_path):
    """With the rules for paper, on a page as wide as A4: the list has three columns more, and fits."""
    X, y = make_moons(600, noise=0.35, random_state=0)
    groups = {name: np.where(np.arange(600) % 3, "the first group", "another") for name in ("ward", "shift", "insurer")}
    table = pd.DataFrame(X, columns=["a", "b"]).assign(**groups)
    model = SEPClassifier(min_trust=0.9).fit(table.loc[::2, ["a", "b"]], np.where(y, "ill", "well")[::2])
    made = report(model, table[1::2], np.where(y, "ill", "well")[1::2], by=list(groups))
    page = scripted(made, WIDTH).replace("@media print", "@media screen")
    assert_no_wider(page, tmp_path, width=794)


WIDTH = "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth;</script>"


def assert_no_wider(page, folder, width):
    (folder / "page.html").write_text(page, encoding="utf-8")
    wide, window = re.search(r"<title>(\d+) of (\d+)</title>", opened(folder / "page.html", width)).groups()
    assert int(wide) <= int(window)


@pytest.mark.parametrize("width", [500, 1200])
def test_nothing_is_wider_than_the_window(grouped, tmp_path, width):
    """Headless windows are at least 500 pixels wide."""
    assert_no_wider(scripted(grouped, WIDTH), tmp_path, width)
