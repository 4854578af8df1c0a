// The table reads without this; it adds fields for somebody's own numbers, and shows the rows that were measured nearest.
"use strict";
(() => {
  const box = document.querySelector(".own");
  if (!box) return;
  box.hidden = false;
  const table = document.querySelector(".advice");
  const rows = [...document.querySelectorAll(".advice tbody tr")];
  const fields = [...box.querySelectorAll("[data-setting]")];
  const said = box.querySelector("output"), command = box.querySelector("code");
  const units = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };

  // amount is a number, a share or a duration in seconds; NaN is none of them.
  const amount = (text) => {
    text = text.trim();
    if (/^[0-9.]+ *%$/.test(text)) return parseFloat(text) / 100;
    if (/^[0-9.]+$/.test(text)) return parseFloat(text);
    if (!/^([0-9.]+(ns|us|µs|ms|s|m|h))+$/.test(text)) return NaN;
    let sum = 0;
    for (const [, n, unit] of text.matchAll(/([0-9.]+)(ns|us|µs|ms|s|m|h)/g)) sum += parseFloat(n) * units[unit];
    return sum;
  };
  const same = (a, b) => a.trim() === b.trim() || Math.abs(amount(a) - amount(b)) <= 1e-9 * Math.abs(amount(a));
  const nearest = (text, values) => {
    const exact = values.find((v) => same(v, text));
    if (exact !== undefined) return exact;
    const x = amount(text), known = values.filter((v) => !Number.isNaN(amount(v)));
    if (Number.isNaN(x) || !known.length) return undefined;
    return known.reduce((best, v) => Math.abs(amount(v) - x) < Math.abs(amount(best) - x) ? v : best);
  };
  // wrong says of a text that it is not what the field takes, or nothing.
  const wrong = (field, text) => {
    const timed = /[a-zµ]/.test(text) || Number(text) === 0, read = !Number.isNaN(amount(text));
    switch (field.dataset.kind) {
      case "duration": return timed && read ? "" : "no duration, such as 30s";
      case "lag": return timed && read || /^(fixed|uniform|normal|lognormal|samples):./.test(text) ? "" : "no lag, such as 5s or lognormal:median=5s:p99=30s";
      case "integer": return /^[0-9]+$/.test(text) ? "" : "no whole number, such as 10";
      case "share": return !/[a-zµ]/.test(text) && read && amount(text) <= 1 ? "" : "no share from 0 to 100 %, such as 20% or 0.2";
    }
    return "";
  };
  // quoted is a word of a command line.
  const quoted = (text) => /^[A-Za-z0-9_.:=%+,/-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";

  const clear = () => {
    for (const row of rows) row.hidden = false;
    table.classList.remove("near");
    said.textContent = "";
    box.querySelector(".ask").hidden = true;
  };
  const show = () => {
    if (fields.every((field) => !field.value.trim())) return clear();
    const off = [], none = [], unread = [], near = new Map();
    let given = JSON.parse(box.dataset.command), own = [];
    for (const field of fields) {
      const values = JSON.parse(field.dataset.values), text = field.value.trim();
      if (!text) continue; // every row will do
      if (wrong(field, text)) unread.push(`${field.dataset.title} ${text} is ${wrong(field, text)}`);
      const value = nearest(text, values);
      if (value === undefined) none.push(`${field.dataset.title} ${text}`);
      else if (!same(value, text)) off.push(`${field.dataset.title} ${text} (the nearest is ${value})`);
      if (field.dataset.axis) near.set(Number(field.dataset.axis), value);
      const taken = [field.dataset.flag, `--grid=${field.dataset.setting}=`, `--set=${field.dataset.setting}=`];
      given = given.filter((word) => !taken.some((flag) => word.startsWith(flag)));
      own.push(field.dataset.flag + text);
    }
    let first = "";
    for (const row of rows) {
      const under = JSON.parse(row.dataset.under);
      row.hidden = none.length + unread.length > 0 || [...near].some(([i, v]) => under[i - 1] !== v);
      if (!row.hidden) first += " " + (off.length ? row.dataset.says.replace(` (${row.dataset.sure})`, "") : row.dataset.says);
    }
    const open = none.length + off.length > 0 && !unread.length;
    table.classList.toggle("near", open); // nothing is sure of what was not measured
    if (unread.length) said.textContent = unread.join("; ") + ".";
    else if (open) said.textContent = `Not measured: ${none.concat(off).join("; ")}.` + (first && " There:" + first);
    else said.textContent = first.trim() || "This page has no room for the row of it; sweep.json has it.";
    command.textContent = ["wavetank", "sweep", ...given, ...own].map(quoted).join(" ");
    box.querySelector(".ask").hidden = !open;
  };
  for (const field of fields) field.addEventListener("input", show);
  box.querySelector("button").addEventListener("click", () => {
    for (const field of fields) field.value = "";
    clear();
  });
})();
