"use strict";
(() => {
  const place = document.getElementById("assay-side-by-side");
  const items = JSON.parse(document.getElementById("assay-side-by-side-data").textContent);
  const make = (name, text, parent) => {
    const element = document.createElement(name);
    if (text) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };
  const wanted = new URLSearchParams(location.hash.slice(1));
  const choice = (key, label, otherwise) => {
    const holder = make("label", `${label} `, place);
    const select = make("select", "", holder);
    select.setAttribute("aria-label", `Record ${label}`);
    select.style.maxWidth = "100%";
    const groups = new Map();
    items.forEach((item, index) => {
      if (!groups.has(item.group)) {
        const group = make("optgroup", "", select);
        group.label = item.group;
        groups.set(item.group, group);
      }
      make("option", `${item.record}, ${item.date}`, groups.get(item.group)).value = index;
    });
    const known = items.findIndex((item) => item.record === wanted.get(key));
    select.value = known >= 0 ? known : otherwise;
    select.addEventListener("change", show);
    make("span", " ", place);
    return select;
  };
  const earlier = (at) => items.findIndex((item, index) => index > at && item.group === items[at].group);
  const newest = Math.max(0, items.findIndex((_, index) => earlier(index) > 0));
  const first = choice("a", "A", Math.max(earlier(newest), 0) || 1);
  const other = choice("b", "B", newest);
  const command = make("code", "", make("p", "For a verdict: ", place));
  const scroll = make("div", "", place);
  scroll.className = "scroll fit";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Two records");

  const cell = (row, metric) => {
    const td = make("td", metric ? metric.text : "not measured", row);
    td.style.cssText = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums";
    if (!metric || !metric.interval) return;
    const interval = make("span", metric.interval, td);
    interval.className = "interval";
    interval.style.cssText = "display:block;font-size:.87em";
  };
  const word = (text) => (/^[\w.\/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`); // of a shell
  function show() {
    const pair = [items[first.value], items[other.value]];
    command.textContent = `assay compare ${word(pair[0].record)} ${word(pair[1].record)}`;
    history.replaceState(null, "", `#${new URLSearchParams({ a: pair[0].record, b: pair[1].record })}`);
    const table = document.createElement("table");
    const head = make("tr", "", make("thead", "", table));
    make("th", "Metric", head).scope = "col";
    for (const item of pair) {
      const th = make("th", "", head);
      th.scope = "col";
      th.style.textAlign = "right";
      make("a", item.record, th).href = item.page;
    }
    const body = make("tbody", "", table);
    for (const [name, key] of [["Verdict", "verdict"], ["Headline", "headline"], ["Date (UTC)", "date"], ["Workload", "group"]]) {
      const row = make("tr", "", body);
      make("th", name, row).scope = "row";
      for (const item of pair) make("td", item[key], row).style.textAlign = "right";
    }
    const keys = new Set(pair.flatMap((item) => Object.keys(item.metrics)));
    for (const key of keys) {
      const row = make("tr", "", body);
      const either = pair[0].metrics[key] || pair[1].metrics[key];
      make("th", either.title, row).scope = "row";
      for (const item of pair) cell(row, item.metrics[key]);
    }
    scroll.replaceChildren(table);
  }
  show();
})();
