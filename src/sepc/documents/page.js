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
    var text = shownText(row.cells[i]), number = parseFloat(text.replace(/,/g, "").replace(/^[^\d+-]+/, ""));
    return !isNumber ? text : isNaN(number) ? null : number;
  }
  heads.forEach(function (head, i) {
    if (head.classList.contains("why") && !head.classList.contains("filter")) { return; }
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
  var slider = box.querySelector("input"), now = Number(box.dataset.now);
  function numbers(name) {
    return box.dataset[name] === undefined ? null : box.dataset[name].split(" ").map(Number);
  }
  var at = numbers("at"), accepted = numbers("accepted"), right = numbers("right");
  var low = numbers("low"), high = numbers("high"), n = accepted[0];
  var PERCENT = {style: "percent", maximumFractionDigits: 1};
  function percent(share) { return share.toLocaleString("en", PERCENT).replace("%", "\u00a0%"); }
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
      if (high[i] === 1000 && right[i] < accepted[i]) { highest = "over 99.9\u00a0%"; }
      tell("right", accepted[i] ? percent(right[i] / accepted[i]) : "\u2013");
      tell("right-more", accepted[i] ? many(right[i]) + " of " + many(accepted[i]) + "; 95\u00a0% interval "
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
