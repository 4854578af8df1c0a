// Under the pointer a plot says its values, and all plots of the run, and the picture over time, show the same instant.
"use strict";
const instant = (us, digits) => { // as the rest of the page writes it: to the millisecond, or with so many digits of a second
  const least = 10 ** (6 - (digits ?? 3)), says = (v, n) => digits === undefined ? String(Number(v.toFixed(n))) : v.toFixed(n);
  let t = Math.round(us / least) * least;
  if (t < 1e6) return says(t / 1000, Math.max(0, (digits ?? 3) - 3)) + "ms";
  const h = Math.floor(t / 3.6e9); t -= h * 3.6e9;
  const m = Math.floor(t / 6e7); t -= m * 6e7;
  return (h ? h + "h" : "") + (h || m ? m + "m" : "") + says(t / 1e6, digits ?? 3) + "s";
};
// instants are those of one axis, all with as many digits as their milliseconds need, or neighbours to differ.
const instants = (list) => {
  for (let digits = 0; ; digits++) {
    const says = list.map((us) => instant(us, digits)), least = 10 ** (3 - digits);
    if (digits >= 6 || list.every((us, i) => Math.round(us / 1000) % Math.max(1, least) === 0 && says[i] !== says[i - 1])) return says;
  }
};
// lasting says how long so many seconds are, as the tables do: to three significant digits, or in two units.
const lasting = (s) => {
  for (const [below, per, unit] of [[1e-6, 1e9, "ns"], [999.5e-6, 1e6, "µs"], [.9995, 1e3, "ms"], [59.95, 1, "s"]])
    if (s < below) return Number((s * per).toPrecision(3)) + " " + unit;
  const two = (n, of, a, b) => Math.floor(n / of) + " " + a + (n % of ? " " + n % of + " " + b : "");
  const round = Math.round(s), minutes = Math.round(round / 60), hours = Math.round(minutes / 60);
  return round < 3600 ? two(round, 60, "min", "s") : minutes < 1440 ? two(minutes, 60, "h", "min") : two(hours, 24, "d", "h");
};
(() => {
  const plots = [...document.querySelectorAll("svg[data-plot]")].map((svg) => {
    const [x0, x1, end, y0, y1, low, high, unit] = svg.dataset.plot.split(" ");
    const height = svg.viewBox.baseVal.height;
    const hair = document.createElementNS(svg.namespaceURI, "line");
    for (const [k, v] of Object.entries({ class: "hair", y1: height - y0, y2: height - y1, visibility: "hidden" })) hair.setAttribute(k, v);
    svg.append(hair);
    return { svg, hair, x0: +x0, x1: +x1, end: +end, y0: +y0, y1: +y1, low: +low, high: +high, unit };
  });
  if (plots.length === 0) return;
  const reading = document.createElement("div");
  reading.className = "reading";
  reading.hidden = true;
  document.body.append(reading);

  // traces are the lines and dots that the legend names: their colour is their name.
  const traces = (plot) => {
    const names = new Map();
    if (plot.unit === "none") return [];
    for (const li of plot.svg.closest("figure, .under").querySelector(".legend")?.children ?? []) {
      const colour = /\bc-(\S+)/.exec(li.firstElementChild.className);
      if (colour && !/fault|violation|alert|band|hatch|cross/.test(li.firstElementChild.className)) names.set(colour[1], li.textContent.replace(/ \(.*\)$/, ""));
    }
    const found = new Map();
    for (const path of plot.svg.querySelectorAll("path")) {
      const [, how, colour] = /(stroke|fill):var\(--(.+?)\)/.exec(path.getAttribute("style") || "") || [];
      if (!names.has(colour) || colour === "faint") continue;
      const d = path.getAttribute("d"), points = [...d.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map((m) => [+m[1], +m[2]]);
      const radius = /A(-?[\d.]+),/.exec(d);
      if (how === "fill" && radius) points[0][0] -= radius[1]; // a dot's outline begins on its right
      const of = found.get(colour) || { name: names.get(colour), lines: [], dots: [] };
      (how === "fill" ? of.dots : of.lines).push(points);
      found.set(colour, of);
    }
    return [...found.values()];
  };
  const valueOf = (plot, y) => {
    const per = (plot.high - plot.low) / (plot.y1 - plot.y0), v = plot.low + (y - plot.y0) * per;
    if (plot.unit === "log") return lasting(10 ** v);
    const least = 10 ** Math.ceil(Math.log10(per / 100)), said = Math.max(0, Math.round(v / least) * least); // a path says no less
    return plot.unit ? said ? lasting(said) : "0 s" : String(Number(said.toPrecision(3)));
  };
  const at = (trace, x) => {
    for (const line of trace.lines) {
      if (x < line[0][0] || x > line[line.length - 1][0]) continue;
      return line.findLast((p) => p[0] <= x)[1];
    }
    if (trace.lines.length > 0) return undefined;
    const near = trace.dots.map((d) => d[0]).filter((p) => Math.abs(p[0] - x) <= 8).sort((a, b) => Math.abs(a[0] - x) - Math.abs(b[0] - x));
    return near.length > 0 ? near[0][1] : undefined;
  };
  // point shows an instant in all plots; undefined is none.
  const point = (us) => {
    for (const plot of plots) {
      const share = us / 1e6 / plot.end, outside = !(share >= 0 && share <= 1);
      plot.hair.setAttribute("visibility", outside ? "hidden" : "visible");
      if (outside) continue;
      for (const end of ["x1", "x2"]) plot.hair.setAttribute(end, plot.x0 + share * (plot.x1 - plot.x0));
    }
  };
  const tell = (us) => {
    point(us);
    document.dispatchEvent(new CustomEvent("instant", { detail: { at: us, from: plots } }));
  };
  document.addEventListener("instant", (e) => { if (e.detail.from !== plots) point(e.detail.at); });
  for (const plot of plots) {
    plot.svg.addEventListener("pointermove", (e) => {
      const box = plot.svg.getBoundingClientRect();
      const x = (e.clientX - box.left) * plot.svg.viewBox.baseVal.width / box.width;
      const share = (x - plot.x0) / (plot.x1 - plot.x0);
      const outside = share < 0 || share > 1;
      reading.hidden = outside;
      tell(outside ? undefined : share * plot.end * 1e6);
      if (outside) return;
      plot.traces ||= traces(plot);
      const said = plot.traces.map((trace) => [trace.name, at(trace, x)]).filter(([, y]) => y !== undefined);
      reading.textContent = [instant(share * plot.end * 1e6), ...said.map(([name, y]) => `${name}: ${valueOf(plot, y)}`)].join("\n");
      reading.style.left = Math.min(e.clientX + 14, innerWidth - reading.offsetWidth - 4) + "px";
      reading.style.top = Math.min(e.clientY + 14, innerHeight - reading.offsetHeight - 4) + "px";
    });
    plot.svg.addEventListener("pointerleave", () => {
      reading.hidden = true;
      tell(undefined);
    });
  }
})();
