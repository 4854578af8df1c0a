// The picture of the run over one axis of time. The page reads without it: the lanes below have the same steps in rows.
"use strict";
(() => {
  const data = document.getElementById("axis-data");
  if (!data) return;
  const axis = JSON.parse(data.textContent);
  const section = data.closest("section");
  const svg = section.querySelector("svg");
  const about = section.querySelector(".axis-step");
  // Sentences of Why stand at their steps, and those that tell of no step in a row above the lanes.
  const path = (axis.path || []).map((p, i) => ({ ...p, n: i + 1 })), told = new Set(path.map((p) => p.s)), between = path.filter((p) => !p.s);
  const LANE = 44, HEAD = 44, TOP = HEAD + (between.length > 0 ? 14 : 0), BAR = 7;
  section.hidden = false;
  for (const a of document.querySelectorAll('a[href="#axis"]')) a.hidden = false;

  const folded = (dt) => Math.log2(1 + dt / 200); // 200 µs: about what a call takes

  const state = { even: false, job: -1, kinds: new Set(["message", "redis", "work", "control"]), from: 0, to: 1, at: -1 };
  let shown = [], times = [], units = [];

  const isShown = (m) => (state.kinds.has(m.k) || told.has(m.s)) && (state.job < 0 || m.j < 0 || m.j === state.job) || m.b !== undefined || m.f !== undefined;

  // arrange lays the shown steps out along the axis. What comes again and again takes less room each time, down to a thirty-second.
  const arrange = () => {
    shown = axis.marks.map((m, i) => [m, i]).filter(([m]) => isShown(m));
    times = [0]; units = [0];
    const before = new Map();
    for (const m of [...shown.map(([m]) => m), ...between].sort((a, b) => a.t - b.t)) {
      const dt = m.t - times[times.length - 1];
      if (dt <= 0) continue;
      const like = `${m.l} ${m.j} ${m.p} ${m.w.replace(/\d+/g, "")} ${Math.round(folded(dt))}`, often = Math.min(32, (before.get(like) || 0) + 1);
      before.set(like, often);
      times.push(m.t);
      units.push(units[units.length - 1] + (state.even ? dt : folded(dt) / (m.b || m.n || told.has(m.s) ? 1 : often)));
    }
    const dt = axis.end - times[times.length - 1];
    if (dt > 0) { times.push(axis.end); units.push(units[units.length - 1] + (state.even ? dt : folded(dt))); }
  };
  const unitOf = (t) => {
    let lo = 0, hi = times.length - 1;
    while (lo < hi) { const mid = (lo + hi + 1) >> 1; if (times[mid] <= t) lo = mid; else hi = mid - 1; }
    if (lo >= times.length - 1) return units[units.length - 1];
    return units[lo] + (units[lo + 1] - units[lo]) * (t - times[lo]) / (times[lo + 1] - times[lo]);
  };
  const timeOf = (unit) => {
    const i = Math.max(1, units.findIndex((u) => u >= unit));
    return times[i - 1] + (times[i] - times[i - 1]) * (unit - units[i - 1]) / (units[i] - units[i - 1]);
  };
  const all = () => units[units.length - 1] || 1;

  const make = (name, attributes, text) => {
    const el = document.createElementNS(svg.namespaceURI, name);
    for (const [k, v] of Object.entries(attributes)) el.setAttribute(k, v);
    if (text !== undefined) el.textContent = text;
    return el;
  };

  // A lane has room for the executions that are under way at once, one under the other.
  const slots = axis.lanes.map(() => 1), slotOf = (s) => Math.min(7, s.n || 0);
  for (const s of axis.spans) if (s.k === "execution") slots[s.l] = Math.max(slots[s.l], 1 + slotOf(s));
  const heights = slots.map((n) => LANE + BAR * (n - 1));
  const tops = [TOP];
  for (const h of heights) tops.push(tops[tops.length - 1] + h);

  let gutter = 110, width = 1000, paper = null; // what was shown before the page was printed
  const x = (unit) => gutter + 12 + (unit - state.from) / (state.to - state.from) * (width - gutter - 24);
  const y = (lane) => tops[lane] + LANE / 2;
  const jobClass = (j) => j < 0 || axis.colour[j] < 0 ? "" : " j" + axis.colour[j];

  const draw = () => {
    width = paper ? 760 : svg.clientWidth || 1000;
    gutter = width < 600 ? 84 : 110;
    const height = tops[axis.lanes.length] + 8;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    svg.replaceChildren();
    const inView = (u) => u >= state.from && u <= state.to;
    const plot = make("g", { "clip-path": "url(#axis-plot)" });
    const clip = make("clipPath", { id: "axis-plot" });
    clip.append(make("rect", { x: gutter, y: 0, width: Math.max(0, width - gutter), height }));
    const arrowhead = make("marker", { id: "axis-head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto-start-reverse" });
    arrowhead.append(make("path", { d: "M0 0L8 4L0 8z" }));
    const defs = make("defs", {});
    defs.append(clip, arrowhead);
    svg.append(defs);
    axis.lanes.forEach((name, i) => {
      if (i % 2 === 0) svg.append(make("rect", { class: "stripe", x: 0, y: tops[i], width, height: heights[i] }));
      svg.append(make("line", { class: "rail", x1: gutter, x2: width, y1: y(i), y2: y(i) }));
      const label = make("text", { class: "lane", x: 6, y: y(i) + 4 }, name.length > 15 ? name.slice(0, 14) + "…" : name);
      label.append(make("title", {}, name));
      svg.append(label);
    });
    ticks(height);
    svg.append(plot);

    for (const s of axis.spans) {
      if (state.job >= 0 && s.j >= 0 && s.j !== state.job) continue;
      const a = unitOf(s.a), b = unitOf(s.b);
      if (b < state.from || a > state.to) continue;
      const below = heights[s.l] - LANE;
      const shape = { fault: [-LANE / 2, heights[s.l]], execution: [8 + BAR * slotOf(s), 6], lock: [15 + below, 3], lease: [19 + below, 2], life: [19 + below, 2] }[s.k];
      const bar = make("rect", { class: "span " + s.k + jobClass(s.j), x: x(a), y: y(s.l) + shape[0], width: Math.max(1, x(b) - x(a)), height: shape[1] });
      bar.append(make("title", {}, `${s.w}: ${instant(s.a)} to ${instant(s.b)}`));
      plot.append(bar);
    }
    for (const r of axis.arrows) {
      const a = axis.marks[r.a], b = axis.marks[r.b];
      if (!isShown(a) || !isShown(b)) continue;
      const ua = unitOf(a.t), ub = unitOf(b.t);
      if (ub < state.from || ua > state.to) continue;
      plot.append(make("line", { class: "arrow" + (r.r ? " again" : "") + jobClass(b.j), x1: x(ua), y1: y(a.l), x2: x(ub), y2: y(b.l), "marker-end": "url(#axis-head)" }));
    }
    const numbered = []; // those of one height that would stand on each other are one
    const number = (n, x, y) => {
      const last = numbered.findLast((other) => other.y === y);
      if (last && x - last.x < 7 * last.says.length + 5) last.says += "," + n;
      else numbered.push({ x, y, says: String(n) });
    };
    for (const p of between) {
      const u = unitOf(p.t);
      if (!inView(u)) continue;
      const at = make("line", { class: "between", x1: x(u), x2: x(u), y1: TOP, y2: height });
      at.append(make("title", {}, p.w));
      plot.append(at);
      number(p.n, x(u), TOP - 3);
    }
    for (const [m, i] of shown) {
      const u = unitOf(m.t);
      if (!inView(u)) continue;
      if (m.b) plot.append(make("line", { class: "broken", x1: x(u), x2: x(u), y1: TOP, y2: height }));
      const kind = m.b ? "violation" : m.f ? "struck" : m.o ? "failed" : m.k === "keeping" && told.has(m.s) ? "told" : m.k;
      const dot = make("circle", { class: "step " + kind + jobClass(m.j) + (i === state.at ? " chosen" : ""), cx: x(u), cy: y(m.l), r: m.b || m.f ? 5.5 : kind === "keeping" ? 2 : kind === "redis" ? 2.8 : 3.8, "data-mark": i });
      dot.append(make("title", {}, `#${m.s} ${instant(m.t)} ${axis.lanes[m.l]}${m.j >= 0 ? " (" + axis.jobs[m.j] + ")" : ""}: ${m.w}${m.f ? ", struck by " + m.f : ""}${m.o ? ": " + m.o : ""}`));
      plot.append(dot);
      for (const p of path) if (p.s === m.s) number(p.n, x(u) - (m.b ? 13 : 0), y(m.l) - 9);
    }
    for (const n of numbered) plot.append(make("text", { class: "number", x: n.x, y: n.y }, n.says));
    hair = make("line", { class: "hair", y1: TOP, y2: height, visibility: "hidden" });
    plot.append(hair);
    if (state.at >= 0) point(axis.marks[state.at].t);
  };

  // point shows an instant that is pointed at in a plot, or whose step is chosen; undefined is none.
  let hair;
  const point = (t) => {
    const u = t === undefined ? -1 : unitOf(t);
    hair.setAttribute("visibility", u >= state.from && u <= state.to ? "visible" : "hidden");
    for (const end of ["x1", "x2"]) hair.setAttribute(end, x(u));
  };
  document.addEventListener("instant", (e) => { if (e.detail.from !== svg) point(e.detail.at); });

  // ticks writes times above the lanes, where there is room, and above those how much time is folded.
  const ticks = (height) => {
    if (!state.even) folds();
    const list = [];
    for (let i = 1; i < times.length; i++) {
      if (units[i] < state.from || units[i] > state.to) continue;
      const at = x(units[i]);
      if ((list.length === 0 || at - list[list.length - 1].at >= 92) && at + 40 < width) list.push({ at, t: times[i] });
    }
    if (list.length === 0) { const middle = (state.from + state.to) / 2; list.push({ at: x(middle), t: Math.round(timeOf(middle)) }); } // nothing happens in sight
    instants(list.map((tick) => tick.t)).forEach((says, i) => {
      svg.append(make("line", { class: "tick", x1: list[i].at, x2: list[i].at, y1: HEAD - 6, y2: height }));
      svg.append(make("text", { class: "time", x: list[i].at, y: HEAD - 10 }, says));
    });
  };

  // folds writes above each quiet stretch how long it is. Stretches whose figures would stand on each other have one for the time from
  // the first to the last.
  const folds = () => {
    const list = [];
    const figure = (f) => {
      f.says = instant(f.dt >= 10000000 ? Math.round(f.dt / 1000000) * 1000000 : Math.round(f.dt / 100000) * 100000);
      f.half = 3 * f.says.length + 2;
      f.at = Math.max(gutter + f.half, Math.min((f.a + f.b) / 2, width - f.half));
      return f;
    };
    for (let i = 1; i < times.length; i++) {
      const a = Math.max(gutter, x(units[i - 1])), b = Math.min(width, x(units[i]));
      if (times[i] - times[i - 1] < 500000 || b <= a) continue;
      let next = figure({ a, b, from: times[i - 1], to: times[i], dt: times[i] - times[i - 1] });
      for (let last; (last = list[list.length - 1]) && next.at - next.half < last.at + last.half; list.pop()) {
        next = figure({ ...next, a: last.a, from: last.from, dt: next.to - last.from });
      }
      list.push(next);
    }
    for (const f of list) {
      const inner = Math.min(4, (f.b - f.a) / 4);
      svg.append(make("line", { class: "fold", x1: f.a + inner, x2: f.b - inner, y1: 16, y2: 16 }));
      svg.append(make("text", { class: "gap", x: f.at, y: 12 }, f.says));
    }
  };

  const view = (from, to) => {
    const span = Math.min(all(), to - from);
    state.from = Math.max(0, Math.min(from, all() - span));
    state.to = state.from + span;
    draw();
  };
  // zoom keeps in its place the chosen step, if it is in sight, and else the middle. It goes no nearer than two instants.
  const zoom = (factor, around) => {
    const chosen = state.at < 0 ? -1 : unitOf(axis.marks[state.at].t);
    const at = around !== undefined ? around : chosen >= state.from && chosen <= state.to ? chosen : (state.from + state.to) / 2;
    const from = at - (at - state.from) * factor, to = at + (state.to - at) * factor;
    if (factor < 1 && units.filter((u) => u >= from && u <= to).length < 2) return;
    view(from, to);
  };
  const pan = (share) => view(state.from + (state.to - state.from) * share, state.to + (state.to - state.from) * share);
  const whole = () => view(0, all());
  // stretch shows the time between two instants, of the job that these are of, if they are of one.
  const stretch = (from, to, on) => {
    const about = new Set(on.map((m) => m.j).filter((j) => j >= 0));
    state.job = about.size === 1 ? [...about][0] : -1;
    jobs.value = String(state.job);
    arrange();
    settle();
    const a = unitOf(from), b = unitOf(to), room = Math.max(state.even ? all() / 5000 : 4, (b - a) * 0.08);
    view(a - room, b + room);
  };
  const toPath = () => stretch(path[0].t, path[path.length - 1].t, axis.marks.filter((m) => told.has(m.s)));
  // begin shows how it came to the first violation; where nobody has looked for that, what was from the first fault on, or all.
  const begin = () => {
    if (path.length > 0) return toPath();
    const broken = axis.marks.filter((m) => m.b), fault = axis.marks.find((m) => m.f);
    if (broken.length > 0 && fault && fault.t < broken[0].t) return stretch(fault.t, broken[0].t, broken);
    arrange();
    whole();
  };

  const line = (name, words, className) => {
    const p = document.createElement(name);
    p.textContent = words;
    if (className) p.className = className;
    return p;
  };
  const followed = axis.jobs.filter((id, j) => axis.colour[j] >= 0);
  // rank puts first what a reader looks for in a record.
  const leading = ["state", "attempts", "worker"];
  const rank = (field) => (leading.indexOf(field) + 1) || leading.length + 1;

  // recordThen is what Redis held of the job after the step, from the changes up to it; undefined if the page has not all.
  const recordThen = (m) => {
    const record = new Map(), key = "job:" + axis.jobs[m.j];
    if (axis.colour[m.j] < 0 || axis.lost && m.s >= axis.lost) return undefined;
    for (const other of axis.marks) {
      if (other.s > m.s) break;
      if (other.x) return undefined;
      for (const c of other.c || []) {
        if (c.k !== key) continue;
        if (c.g && !c.f) record.clear(); else if (c.g) record.delete(c.f); else record.set(c.f, c.v || "");
      }
    }
    return record;
  };
  // messagesThen says of each message about the job where it was after the step: in its stream, and at its consumer.
  const messagesThen = (m) => {
    const then = new Map();
    if (axis.lost && m.s >= axis.lost) return [];
    for (const other of axis.marks) {
      if (other.s > m.s) break;
      for (const t of other.m || []) {
        if (t.w === "stored" && other.j === m.j) then.set(t.i, { delivered: 0 });
        const message = then.get(t.i);
        if (!message) continue;
        message.last = `${t.w} ${t.w === "delivered" ? "to" : "by"} ${axis.lanes[other.l]} at step ${other.s}`;
        if (t.w === "delivered") message.delivered++;
      }
    }
    return [...then].map(([i, message]) => `${axis.messages[i]}: ${message.last}` + (message.delivered > 1 ? `, ${message.delivered} deliveries` : ""));
  };
  // settle lets go of the chosen step once it is no longer among those that are shown.
  const settle = () => {
    if (state.at < 0 || isShown(axis.marks[state.at])) return;
    state.at = -1;
    about.replaceChildren();
    document.dispatchEvent(new CustomEvent("instant", { detail: { from: svg } }));
    if (location.hash.startsWith("#axis-")) history.replaceState(null, "", location.pathname + location.search);
  };
  const choose = (i, bring) => {
    const m = axis.marks[i];
    if (!m) return;
    state.at = i;
    if (!isShown(m)) { state.job = -1; jobs.value = "-1"; state.kinds.add(m.k); sync(); arrange(); }
    const u = unitOf(m.t);
    if (bring && (u < state.from || u > state.to)) { const half = (state.to - state.from) / 2; view(u - half, u + half); } else draw();
    about.replaceChildren(line("h3", `Step ${m.s}, ${instant(m.t)}, ${axis.lanes[m.l]}${m.j >= 0 ? ", " + axis.jobs[m.j] : ""}`));
    about.append(line("p", m.w + (m.p ? ` (${m.p})` : "") + "."));
    if (m.f) about.append(line("p", "Struck by " + m.f + ".", "struck"));
    if (m.o) about.append(line("p", "Its caller was told: " + m.o, "told"));
    for (const b of m.b || []) about.append(line("p", b, "alarm"));
    if (m.c) {
      about.append(line("h4", "It changed"));
      const list = document.createElement("ul");
      for (const c of m.c) list.append(line("li", `${c.k}${c.f ? " " + c.f : ""}${c.g ? " is gone" : c.v ? " = " + c.v : ""}`, "mono"));
      if (m.x) list.append(line("li", `and ${m.x} more`));
      about.append(list);
    }
    if (m.j >= 0) {
      const record = recordThen(m), messages = messagesThen(m);
      if (axis.colour[m.j] < 0) {
        const id = axis.jobs[m.j], number = (id.match(/^job-(\d+)$/) || [])[1];
        about.append(line("p", `The page has records and messages of ${followed.join(", ") || "no job"} only. Those of ${id} are in trace.jsonl${number ? `, and on the page of a plan with about: [${number}]` : ""}.`));
      } else if (!record) about.append(line("p", `The page does not have all that changed the record of ${axis.jobs[m.j]} until then.`));
      if (record && record.size > 0) about.append(line("h4", `The record of ${axis.jobs[m.j]} then`), line("p", [...record].sort((a, b) => rank(a[0]) - rank(b[0])).map(([k, v]) => k + "=" + v).join("  "), "mono"));
      if (messages.length > 0) {
        const list = document.createElement("ul");
        for (const says of messages) list.append(line("li", says));
        about.append(line("h4", `Its messages then`), list);
      }
      if (m.r) about.append(line("h4", `What ${axis.lanes[m.l]} went by`), line("p", `It ${m.r}.`));
    }
    const row = document.getElementById("step-" + m.s);
    const p = document.createElement("p");
    const link = document.createElement("a");
    link.href = row ? "#step-" + m.s : "#axis-" + m.s;
    link.textContent = row ? "its row in the lanes" : "a link to this step";
    p.append(link);
    about.append(p);
    document.dispatchEvent(new CustomEvent("instant", { detail: { at: m.t, from: svg } }));
    if (location.hash !== "#axis-" + m.s) history.replaceState(null, "", "#axis-" + m.s);
  };
  const next = (by) => {
    const order = shown.map(([, i]) => i);
    const now = order.indexOf(state.at);
    choose(order[now < 0 ? (by > 0 ? 0 : order.length - 1) : Math.max(0, Math.min(order.length - 1, now + by))], true);
  };

  const controls = section.querySelector(".axis-controls");
  const button = (text, says, act) => {
    const b = document.createElement("button");
    b.type = "button"; b.textContent = text; b.title = says; b.setAttribute("aria-label", says);
    b.addEventListener("click", act);
    controls.append(b);
  };
  button("−", "Zoom out", () => zoom(1.6));
  button("+", "Zoom in", () => zoom(1 / 1.6));
  button("All", "Show the whole run", whole);
  if (path.length > 0) button("Why", "Show how it came to the first violation", toPath);
  const jobs = document.createElement("select");
  jobs.setAttribute("aria-label", "Job");
  jobs.append(new Option("all jobs", "-1"), ...axis.jobs.map((id, i) => new Option(id.length > 40 ? id.slice(0, 39) + "…" : id, String(i))));
  jobs.addEventListener("change", () => { state.job = Number(jobs.value); arrange(); settle(); whole(); });
  controls.append(jobs);
  const boxes = [];
  const sync = () => { for (const [box, kind] of boxes) box.checked = state.kinds.has(kind); };
  const check = (text, on, act, kind) => {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox"; box.checked = on;
    box.addEventListener("change", () => { act(box.checked); const [a, b] = [state.from / all(), state.to / all()]; arrange(); settle(); view(a * all(), b * all()); });
    label.append(box, " " + text);
    controls.append(label);
    if (kind) boxes.push([box, kind]);
  };
  const kinds = { message: "messages", redis: "Redis", work: "work", control: "harness", keeping: "housekeeping" };
  for (const [kind, text] of Object.entries(kinds)) {
    check(text, state.kinds.has(kind), (on) => { if (on) state.kinds.add(kind); else state.kinds.delete(kind); }, kind);
  }
  check("even time", false, (on) => { state.even = on; });

  const markAt = (event) => { // the nearest step, within a finger's breadth
    const box = svg.getBoundingClientRect();
    const px = (event.clientX - box.left) * width / box.width, py = event.clientY - box.top;
    let best = -1, least = 18 * 18;
    for (const [m, i] of shown) {
      const dx = x(unitOf(m.t)) - px, dy = y(m.l) - py, d = dx * dx + dy * dy;
      if (d < least) { least = d; best = i; }
    }
    return best;
  };
  let drag = null;
  svg.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, from: state.from, to: state.to, moved: false }; });
  svg.addEventListener("pointermove", (e) => {
    if (!drag || Math.abs(e.clientX - drag.x) < 4 && !drag.moved) return;
    if (!drag.moved) svg.setPointerCapture(e.pointerId);
    drag.moved = true;
    const by = (drag.x - e.clientX) / (width - gutter - 24) * (drag.to - drag.from);
    view(drag.from + by, drag.to + by);
  });
  svg.addEventListener("pointerup", (e) => {
    if (drag && !drag.moved) { const i = markAt(e); if (i >= 0) choose(i); }
    drag = null;
  });
  svg.addEventListener("pointercancel", () => { drag = null; });
  svg.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return; // the page scrolls
    e.preventDefault();
    if (!e.ctrlKey) return pan(e.deltaX / width);
    const px = (e.clientX - svg.getBoundingClientRect().left - gutter - 12) / (width - gutter - 24);
    zoom(e.deltaY > 0 ? 1.25 : 0.8, state.from + px * (state.to - state.from));
  }, { passive: false });
  svg.addEventListener("keydown", (e) => {
    const act = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(1 / 1.6), "=": () => zoom(1 / 1.6), "-": () => zoom(1.6),
      "0": whole, Home: whole, w: path.length > 0 ? toPath : undefined, n: () => next(1), p: () => next(-1) }[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  });
  // A link leads to a step of the picture, as to one that has no row in the lanes. The keys are the picture's then.
  const fromHash = () => {
    const [, to, n] = location.hash.match(/^#(axis|step)-(\d+)$/) || [];
    if (!to || to === "step" && document.getElementById("step-" + n)) return;
    const i = axis.marks.findIndex((m) => m.s === Number(n));
    if (i >= 0) choose(i, true); else about.replaceChildren(line("p", `Step ${n} is not on this page.`));
    section.scrollIntoView();
    svg.focus({ preventScroll: true });
  };
  // With the picture there, Why leads into it.
  const marked = new Set(axis.marks.map((m) => m.s));
  for (const a of document.querySelectorAll('[aria-labelledby="why"] a[href^="#step-"]')) {
    const step = Number(a.hash.slice("#step-".length));
    if (marked.has(step)) a.href = "#axis-" + step;
  }
  // On paper nobody moves it: there it shows the whole run.
  addEventListener("beforeprint", () => { paper = { ...state }; state.job = -1; arrange(); whole(); });
  addEventListener("afterprint", () => { const { job, from, to } = paper; paper = null; state.job = job; arrange(); view(from, to); });
  addEventListener("hashchange", fromHash);
  addEventListener("resize", draw);
  begin();
  fromHash();
})();
