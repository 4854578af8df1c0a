// The table reads without this; it adds a search, a choice of outcomes, and an order by any column.
"use strict";
(() => {
  const table = document.querySelector("table.entries");
  if (!table) return;
  const body = table.tBodies[0], rows = [...body.rows];
  const finder = document.querySelector(".finder");
  finder.hidden = false;

  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "Search";
  search.setAttribute("aria-label", "Search the reports");
  const outcomes = document.createElement("select");
  outcomes.setAttribute("aria-label", "Outcome");
  const outcome = (row) => row.querySelector(".badge").textContent.replace(/^[\d,]+ /, "");
  outcomes.append(new Option("every outcome", ""), ...[...new Set(rows.map(outcome))].map((o) => new Option(o, o)));
  const count = document.createElement("span");
  count.className = "note";
  count.setAttribute("role", "status");
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = outcomes.value && outcome(row) !== outcomes.value || !words.every((w) => text.includes(w));
      if (!row.hidden) n++;
    }
    count.textContent = n === rows.length ? "" : `${n} of ${rows.length}`;
  };
  search.addEventListener("input", find);
  outcomes.addEventListener("change", find);
  finder.append(search, outcomes, count);

  const value = (row, i) => row.cells[i].dataset.sort || row.cells[i].textContent.trim().replace(/,(?=\d{3})/g, "");
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      rows.sort((a, b) => compare(value(a, i), value(b, i)) * (up ? 1 : -1));
      body.append(...rows);
    });
    head.replaceChildren(button);
  });
})();
