"""How the page looks, light and dark, on paper and on a phone, and the one script that it has."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fff; --raised: #f6f7f9; --ink: #1b1f24; --quiet: #57606a; --line: #d0d7de; --faint: #e7ebef;
  --accent: #0072b2; --wrong: #d55e00; --wrong-ink: #b04a00; --wrong-under: #f7d9c4; --focus: #0072b2;
  --k0: #0072b2; --k1: #e69f00; --k2: #009e73; --k3: #cc79a7; --k4: #56b4e9; --k5: #d55e00; --k6: #7a6a00;
  --other: #6e7781; --believed: #006e51; --marked: #fff3c4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --raised: #1d2228; --ink: #e6e9ed; --quiet: #a3adb8; --line: #3b444e; --faint: #2a3139;
    --accent: #56b4e9; --wrong: #ff8a3d; --wrong-ink: #ff8a3d; --wrong-under: #5a2f12; --focus: #56b4e9;
    --k0: #4aa3df; --k1: #e69f00; --k2: #2cc295; --k3: #dd93bb; --k4: #9bd4f5; --k5: #ff8a3d; --k6: #f0e442;
    --other: #9aa4af; --believed: #4fd0a5; --marked: #453a10;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif; overflow-wrap: anywhere; }
header, nav, main, footer { max-width: 70rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.25rem; margin: 0 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p { margin: 0 0 .7rem; max-width: 48rem; }
.verdict { font-size: 1.15rem; margin: 0; }
.quiet, figcaption { color: var(--quiet); font-size: .9rem; }
nav { margin-top: 1rem; font-size: .9rem; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; padding: 0; margin: 0; }
a { color: var(--accent); }
section { border-top: 1px solid var(--line); margin-top: 1.8rem; padding-top: 1.3rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .8rem; margin: 0 0 1.2rem; }
.tile { background: var(--raised); border: 1px solid var(--faint); border-radius: 6px; padding: .7rem .9rem; }
.tile dt { color: var(--quiet); font-size: .85rem; }
.tile dd { margin: 0; font-size: 1.45rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tile dd.more { font-size: .85rem; color: var(--quiet); }
.promise { border-left: 4px solid var(--accent); background: var(--raised); padding: .7rem 1rem; margin: 0 0 .7rem; }
.check { border-left: 4px solid var(--believed); background: var(--raised); padding: .7rem 1rem; margin: 0 0 1rem; }
.check.warning { border: 2px solid var(--wrong); border-left-width: 8px; }
.check .sign { font-size: 1.15em; padding-right: .4em; }
.warning .sign, .warning strong { color: var(--wrong-ink); }
.believed .sign { color: var(--believed); }
.promise p:last-child, .check p:last-child { margin: 0; }
.beside { display: flex; flex-wrap: wrap; gap: .4rem 2.5rem; align-items: flex-start; }
.beside > * { max-width: 100%; }
.beside > figure { flex: 1 1 24rem; }
small { display: block; color: var(--quiet); font-size: .85em; font-weight: 400; white-space: nowrap; }
.actions { padding-left: 1.6rem; margin: 0; max-width: 50rem; }
.actions li { margin: 0 0 .6rem; }
#thresholds-tried { border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem; margin: 0 0 1.2rem; }
#thresholds-tried[hidden] { display: none; }
#thresholds-tried label { display: block; font-weight: 600; }
#thresholds-tried input { width: 100%; max-width: 40rem; margin: .5rem 0; accent-color: var(--accent);
  vertical-align: middle; }
#thresholds-tried .tiles { margin: .8rem 0 .5rem; }
.aside { color: var(--quiet); font-size: .9rem; margin: 0 0 .5rem; min-height: 1.4em; }
.filters { display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; align-items: end; margin: 0 0 .6rem; font-size: .9rem; }
.filters label { display: flex; flex-direction: column; color: var(--quiet); max-width: min(16rem, 100%); }
.filters select { font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--other);
  border-radius: 4px; padding: .25rem .4rem; width: 100%; }
.filters button, #thresholds-tried button { font: inherit; font-size: .9rem; color: var(--accent);
  background: var(--paper); border: 1px solid var(--other); border-radius: 4px; padding: .25rem .6rem;
  cursor: pointer; }
td:first-child { min-width: 5rem; }
tr[hidden], .filters button[hidden] { display: none !important; }
.row-list table { width: 100%; }
.row-list td.why { min-width: 15rem; width: 40%; }
td.where { min-width: 9rem; max-width: 14rem; font-size: .95em; }
.bar { display: block; height: .32rem; width: calc(4.5rem * var(--share)); min-width: 1px; margin-left: auto;
  background: var(--accent); }
details { margin: 0 0 1rem; }
summary { cursor: pointer; color: var(--accent); padding: .2rem 0; font-size: .95rem; }
.scroll { overflow-x: auto; margin: 0 0 1rem; max-width: 100%; }
.tall { max-height: 34rem; overflow-y: auto; width: fit-content; border: 1px solid var(--line); border-radius: 6px; }
.tall caption { padding-left: .7rem; padding-top: .4rem; }
.tall thead th { position: sticky; top: 0; }
table { border-collapse: collapse; min-width: min(17rem, 100%); font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .2rem 0 .4rem; }
th, td { padding: .32rem .55rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--faint);
  unicode-bidi: isolate; overflow-wrap: break-word; max-width: 24rem; }
td.why { min-width: 22rem; max-width: 40rem; }
thead th { background: var(--raised); border-bottom: 1px solid var(--line); vertical-align: bottom; }
th.number, td.number { text-align: right; }
td.number { white-space: nowrap; }
td.name { min-width: 8.8rem; }
td.name:first-child { min-width: 15rem; }
td.wrong, td.miss { color: var(--wrong-ink); font-weight: 600; }
td.hit { font-weight: 600; background: var(--raised); }
.fact { display: block; padding-left: .8em; text-indent: -.8em; }
.fact span { color: var(--quiet); }
td.values { min-width: 11rem; max-width: 17rem; }
tr:target td { background: var(--marked); }
tr:target td:first-child { box-shadow: inset 4px 0 var(--ink); }
tr[id] { scroll-margin-top: 4rem; }
tr.leads { cursor: pointer; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-align: inherit; }
th button::after { content: "\\2195"; color: var(--quiet); padding-left: .3em; font-weight: 400; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: var(--ink); }
th[aria-sort=descending] button::after { content: "\\2193"; color: var(--ink); }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
figure { margin: 0 0 1rem; overflow-x: auto; }
figcaption { max-width: 48rem; }
svg { display: block; width: 100%; height: auto; font-size: 12px; }
svg text { fill: var(--ink); font-family: inherit; }
svg .tick { fill: var(--quiet); font-size: 11px; }
svg .axis, svg .note { font-size: 12px; }
svg .over { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); gap: 1rem 2rem; }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: .4rem 1.2rem; }
.frame { fill: none; stroke: var(--line); }
.grid { stroke: var(--faint); }
.curve { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; }
.diagonal { fill: none; stroke: var(--quiet); stroke-dasharray: 5 4; }
.now { stroke: var(--ink); stroke-dasharray: 2 3; }
.here { fill: var(--paper); stroke: var(--ink); stroke-width: 2; }
.whisker { stroke: var(--accent); stroke-width: 1.5; }
.dot { fill: var(--accent); stroke: var(--paper); }
.first { fill: var(--accent); }
.hatch-under { fill: var(--wrong-under); }
.hatch-line { stroke: var(--wrong); stroke-width: 5; }
rect.second { stroke: var(--wrong); stroke-width: .6; }
svg .cell text { font-size: 10px; fill: var(--ink); }
.cell rect { fill: var(--accent); fill-opacity: var(--share); stroke: var(--faint); }
svg .heat text { font-size: 10px; fill: var(--ink); }
.heat.miss rect { fill: var(--wrong); fill-opacity: var(--share); }
.heat.hit rect { fill: var(--accent); fill-opacity: .3; }
.k0 { --own: var(--k0); } .k1 { --own: var(--k1); } .k2 { --own: var(--k2); } .k3 { --own: var(--k3); }
.k4 { --own: var(--k4); } .k5 { --own: var(--k5); } .k6 { --own: var(--k6); } .k-other { --own: var(--other); }
.ellipse { fill: var(--own); fill-opacity: var(--fill); stroke: var(--own); stroke-width: 1.3;
  stroke-opacity: var(--stroke); }
.mark { fill: var(--own); fill-opacity: .85; stroke: var(--own); stroke-width: .8; }
.mark.hollow { fill: var(--paper); stroke-width: 1.2; }
svg .class-name { font-size: 17px; font-weight: 700; paint-order: stroke; stroke: var(--paper); stroke-width: 4px;
  stroke-linejoin: round; pointer-events: none; }
svg a { cursor: pointer; }
.outline { display: none; }
:target > .outline { display: inline; }
.outline use { --fill: .18; --stroke: 1; stroke-width: 2.5; }
.place:target .mark { stroke: var(--ink); stroke-width: 1.6; }
.hit { fill: transparent; }
.halo { fill: none; stroke: var(--paper); stroke-width: 7; }
.halo.inner { stroke: var(--ink); stroke-width: 3.2; }
svg:has(.place:target) .drawn :is(.mark, .cross) { opacity: .13; }
svg:has(.place:target) .class-name { opacity: .45; }
svg:has(.place:target) .drawn .place:target :is(.mark, .cross) { opacity: 1; }
.shown { font-size: .92rem; margin: .3rem 0; }
figure[id] { scroll-margin-top: .5rem; }
.cross { fill: none; stroke: var(--ink); stroke-width: 1.4; }
.term { fill: var(--own); stroke: var(--ink); stroke-width: .6; }
.area { fill: var(--own); fill-opacity: .6; }
.term-line { fill: none; stroke: var(--ink); stroke-width: 1.3; stroke-linejoin: round; }
.density { fill: var(--other); fill-opacity: .55; }
.zero { stroke: var(--quiet); }
footer { color: var(--quiet); font-size: .85rem; padding-top: 1.5rem; padding-bottom: 2.5rem; }
@media (max-width: 40rem) {
  body { font-size: 15px; }
  header, nav, main, footer { padding-left: .9rem; padding-right: .9rem; }
  td.why { min-width: 0; overflow-wrap: anywhere; }
  .cards, .cards caption, .cards tbody, .cards tr, .cards td { display: block; }
  .cards thead { display: none; }
  .cards tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .cards td, .cards td.number { display: inline-block; border: 0; padding: .1rem 1rem .1rem 0; text-align: left;
    white-space: normal; max-width: 100%; min-width: 0; }
  .cards td.why, .cards td.name:first-child { display: block; width: auto; }
  .cards td.why::before, .cards td.name:first-child::before { display: none; }
  .cards small { display: inline; padding-left: .4em; }
  .cards td.values { display: block; }
  .cards td.values::before { display: none; }
  .cards .fact { display: inline-block; padding: 0 .9em 0 0; text-indent: 0; }
  .cards td:empty { display: none; }
  table { font-size: .84rem; }
  th button::after { display: none; }
  small { white-space: normal; }
  th, td { padding: .3rem .38rem; }
  .cards td::before { content: attr(data-head) ": "; color: var(--quiet); font-weight: 400; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --raised: #fff; --ink: #000; --quiet: #333; --line: #999; --faint: #ddd;
    --accent: #0072b2; --wrong: #d55e00; --wrong-ink: #b04a00; --wrong-under: #f7d9c4;
    --k0: #0072b2; --k1: #e69f00; --k2: #009e73;
    --k3: #cc79a7; --k4: #56b4e9; --k5: #d55e00; --k6: #7a6a00; --other: #6e7781; --believed: #006e51;
    --marked: #eee; }
  a { color: inherit; text-decoration: none; }
  body { font-size: 10pt; }
  nav, th button::after, .shown, .filters, .aside, #thresholds-tried { display: none !important; }
  .tall { max-height: none; overflow: visible; border: 0; }
  .scroll, figure { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { padding: .2rem .35rem; }
  td:first-child, td.why, .row-list td.why, td.values, td.where, td.name:first-child { min-width: 0; }
  td.name { min-width: 7rem; }
  .tiles { grid-template-columns: repeat(4, 1fr); }
  .charts { grid-template-columns: 1fr 1fr; }
  .curves { grid-template-columns: 1fr 1fr 1fr; }
  svg { min-width: 0 !important; }
  .bar { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  figure, .tile, tr, .beside > .scroll { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""


# Everything it shows is already in the page, which is complete without it.


SCRIPT = """
"use strict";
function shownText(cell) {
  return cell.firstChild ? cell.firstChild.textContent.trim() : "";
}
function create(name, text) {
  var element = document.createElement(name);
  if (text !== undefined) { element.textContent = text; }
  return element;
}
document.querySelectorAll(".row-list").forEach(function (list, n) {
  var tables = list.querySelectorAll("table"), body = tables[0].tBodies[0], atOnce = body.rows.length;
  if (tables.length > 1) {
    Array.from(tables[1].tBodies[0].rows).forEach(function (row) { body.appendChild(row); });
    list.querySelector("details").remove();
  }
  var bar = create("div"), chosen = [], isOpen = false;
  bar.className = "filters";
  var status = create("p");
  status.setAttribute("role", "status");
  status.className = "aside";
  var all = create("button", "Show all rows");
  all.type = "button";
  function refresh() {
    var rows = Array.from(body.rows), matching = rows.filter(function (row) {
      return chosen.every(function (one) {
        return !one.select.value || shownText(row.cells[one.at]) === one.select.value;
      });
    });
    rows.forEach(function (row) { row.hidden = true; });
    matching.forEach(function (row, i) { row.hidden = !isOpen && i >= atOnce; });
    var n = isOpen ? matching.length : Math.min(atOnce, matching.length);
    status.textContent = n === rows.length ? "All " + n + " listed rows are shown."
      : n + " of " + matching.length + (matching.length === rows.length ? " listed" : " matching") + " rows are shown.";
    all.hidden = !isOpen && matching.length <= atOnce;
    all.textContent = isOpen ? "Show fewer rows" : "Show all " + matching.length + " rows";
    all.setAttribute("aria-expanded", String(isOpen));
  }
  Array.from(tables[0].tHead.rows[0].cells).forEach(function (head, at) {
    if (!head.classList.contains("filter")) { return; }
    var counts = new Map();
    Array.from(body.rows).forEach(function (row) {
      var text = shownText(row.cells[at]);
      if (text) { counts.set(text, (counts.get(text) || 0) + 1); }
    });
    if (counts.size < 2) { return; }
    var label = create("label", head.textContent + " "), select = create("select");
    select.id = "filter-" + n + "-" + at;
    label.htmlFor = select.id;
    var every = create("option", "all");
    every.value = "";
    select.appendChild(every);
    Array.from(counts.keys()).sort(function (a, b) {
      return a.localeCompare(b, undefined, { numeric: true });
    }).forEach(function (text) {
      var option = create("option", text + " (" + counts.get(text) + ")");
      option.value = text;
      select.appendChild(option);
    });
    select.addEventListener("change", refresh);
    chosen.push({ at: at, select: select });
    label.appendChild(select);
    bar.appendChild(label);
  });
  bar.appendChild(all);
  all.addEventListener("click", function () { isOpen = !isOpen; refresh(); });
  list.addEventListener("sorted", refresh);
  function open() {
    var row = document.getElementById(location.hash.slice(1));
    if (!row || !body.contains(row) || !row.hidden) { return; }
    isOpen = true;
    chosen.forEach(function (one) { one.select.value = ""; });
    refresh();
    row.scrollIntoView({ block: "center" });
  }
  window.addEventListener("hashchange", open);
  if (body.rows.length > 1) {
    list.insertBefore(status, list.firstChild);
    list.insertBefore(bar, status);
    refresh();
    open();
  }
});
document.querySelectorAll("table.sortable").forEach(function (table) {
  var body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
  function value(row, i, isNumber) {
    var cell = row.cells[i], given = cell.getAttribute("data-sort");
    if (!isNumber) { return cell.textContent; }
    return given === null || given === "" ? null : parseFloat(given);
  }
  heads.forEach(function (head, i) {
    if (head.classList.contains("why") || head.classList.contains("values")) { return; }
    var button = create("button"), isNumber = head.classList.contains("number");
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
      table.dispatchEvent(new Event("sorted", { bubbles: true }));
    });
  });
});
(function () {
  var box = document.getElementById("thresholds-tried");
  if (!box) { return; }
  var slider = box.querySelector("input"), now = Number(box.dataset.now), n = Number(box.dataset.n);
  function numbers(name) {
    return box.dataset[name] === undefined ? null : box.dataset[name].split(" ").map(Number);
  }
  var at = numbers("at"), accepted = numbers("accepted"), right = numbers("right");
  var low = numbers("low"), high = numbers("high");
  var PERCENT = {style: "percent", maximumFractionDigits: 1};
  function percent(share) { return share.toLocaleString("en", PERCENT).replace("%", "\\u00a0%"); }
  function many(count) { return count.toLocaleString("en"); }
  function tell(name, text) { box.querySelector("[data-told=" + name + "]").textContent = text; }
  function show() {
    var i = Number(slider.value), trust = String(Number(at[i].toPrecision(4)));
    box.querySelector("output").textContent = trust;
    slider.setAttribute("aria-valuetext", "trust of at least " + trust);
    tell("accepted", percent(accepted[i] / n));
    tell("accepted-more", many(accepted[i]) + " of " + many(n) + " rows");
    tell("person", percent(1 - accepted[i] / n));
    tell("person-more", many(n - accepted[i]) + " of " + many(n) + " rows");
    if (right) {
      var highest = percent(high[i] / 1000);
      if (high[i] === 1000 && right[i] < accepted[i]) { highest = "over 99.9\\u00a0%"; }
      tell("right", accepted[i] ? percent(right[i] / accepted[i]) : "\\u2013");
      tell("right-more", accepted[i] ? many(right[i]) + " of " + many(accepted[i]) + "; 95\\u00a0% interval "
        + percent(low[i] / 1000) + " to " + highest : "nothing is accepted");
    }
    var more = accepted[i] - accepted[now], text = "This is the threshold in use.";
    if (i !== now) {
      text = more === 0 ? "As many rows are accepted as now." : many(Math.abs(more)) + (more > 0 ? " more" : " fewer")
        + (Math.abs(more) === 1 ? " row than now is accepted" : " rows than now are accepted");
      if (more && right) {
        var wrong = (accepted[i] - right[i]) - (accepted[now] - right[now]);
        text += wrong === 0 ? ", with as many errors as now." : ", with " + many(Math.abs(wrong))
          + (wrong > 0 ? " more" : " fewer") + (Math.abs(wrong) === 1 ? " error than now." : " errors than now.");
      } else if (more) { text += "."; }
    }
    document.getElementById("threshold-told").textContent = text;
  }
  slider.addEventListener("input", show);
  box.querySelector("button").addEventListener("click", function () { slider.value = now; show(); slider.focus(); });
  box.hidden = false;
  show();
})();
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
