"use strict";
// Times are microseconds since the run's start.
const run = JSON.parse(document.getElementById("run").textContent);
const COLOURS = { timeout: "#4c78a8", syscall: "#f58518", records: "#b279a2", log: "#9d755d", signal: "#e45756", process: "#72b7b2", exec: "#54a24b", exit: "#7a7f87" };
const MEANINGS = { timeout: "its time was over", syscall: "at a system call", records: "as many records as it may have", log: "its log was full", signal: "a signal", process: "the app started a process", exec: "exec", exit: "the app's end" };
const SLEEP = "#c9a227", LOST = "#e45756", MERGE = "#59a14f", WAITS = "#8e98a3";

// Each slice: what the app did of it, and what its own process did.
const slices = Object.entries(run.slices).map(([number, life]) => ({ number: +number, ...life }));
const byNumber = new Map(slices.map(slice => [slice.number, slice]));
const appParts = [];   // { from, until, slice }
for (const slice of slices) {
  if (slice.forked && slice.recorded !== null) appParts.push({ from: slice.forked[1], until: slice.recorded, slice });
}
appParts.sort((a, b) => a.from - b.from);
const runs = slices.flatMap(slice => slice.runs.map(([from, until, what]) => ({ from, until, what, slice })));
runs.sort((a, b) => a.from - b.from || a.slice.number - b.slice.number);
for (const slice of slices) slice.ended = Math.max(0, ...slice.runs.map(([, until]) => until));
const merges = slices.filter(slice => slice.merged).map(slice => ({ from: slice.merged[0], until: slice.merged[1], slice }));

// Parts in as many lanes as there are at a time.
function inLanes(parts) {
  const lanes = [];
  for (const part of parts) {
    let lane = lanes.findIndex(row => row[row.length - 1].until <= part.from);
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane].push(part);
  }
  return lanes;
}
// The rows below the app's: the slices, as many as run at a time; or for each processor what has ended on it, of the app and of slices.
const UNKNOWN = -1;
const processorOf = part => part.slice.on?.[1] ?? UNKNOWN, appProcessorOf = part => part.slice.app_on ?? UNKNOWN;
const processors = [...new Set([...runs.map(processorOf), ...appParts.map(appProcessorOf)])].sort((a, b) => a - b);
const byTime = inLanes(runs).map((parts, n) => ({ label: n ? `slices, lane ${n + 1}` : "slices, lane 1", parts }));
const byProcessor = processors.flatMap(processor => {
  const app = appParts.filter(part => appProcessorOf(part) === processor);
  const rows = [...(app.length ? [app] : []), ...inLanes(runs.filter(part => processorOf(part) === processor))];
  return rows.map((parts, n) => ({ label: n ? "" : processor === UNKNOWN ? "not known" : `processor ${processor}`, parts, begins: !n, processor }));
});
const isKnown = processors.some(processor => processor !== UNKNOWN);

// How many there are at each time, and the most.
function countsOf(parts) {
  const changes = parts.flatMap(([from, until]) => [[from, 1], [until, -1]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const counts = [[0, 0]];
  let most = 0;
  for (const [time, by] of changes) {
    const count = counts[counts.length - 1][1] + by;
    counts.push([time, count]);
    most = Math.max(most, count);
  }
  return { counts, most };
}
const running = countsOf(runs.map(part => [part.from, part.until]));
// Results are merged in order, one at a time.
const waiting = countsOf(merges.map(({ until, slice }) => [slice.ended, until]));

const text = (id, value) => { document.getElementById(id).textContent = value; };
const time = us => us >= 1e6 ? `${(us / 1e6).toFixed(us >= 1e7 ? 2 : 3)} s` : us >= 1000 ? `${(us / 1000).toFixed(us >= 1e5 ? 0 : us >= 1e4 ? 1 : 2)} ms` : `${us} µs`;
text("tool", run.tool);
text("command", run.command);
const asleep = run.asleep.reduce((sum, [from, until]) => sum + until - from, 0);
const stopped = slices.reduce((sum, { forked }) => sum + (forked ? forked[1] - forked[0] : 0), 0);
const used = slices.reduce((sum, { cpu }) => sum + cpu, 0);
const summary = document.getElementById("summary");
for (const [before, value, behind] of [
  ["", time(run.wall), " in all: the app ran for "], ["", time(run.app), ""],
  [" (", time(asleep), " of it asleep, because as many slices as may were running, "], ["", time(stopped), " at boundaries), the last slice ended "],
  ["", time(Math.max(0, run.wall - run.app)), " behind it. "],
  ["", `${slices.length}`, ` slice${slices.length === 1 ? "" : "s"} (-spmsec ${run.length}), `], ["", `${running.most}`, ` of ${run.limit} at a time on ${run.processors} processor${run.processors === 1 ? "" : "s"}, used `],
  ["", time(used), " of CPU time. Merging took "], ["", time(merges.reduce((sum, { from, until }) => sum + until - from, 0)), ", at most "],
  ["", `${waiting.most}`, " waited for it. Result: "], ["", run.result, "."],
]) {
  const bold = document.createElement("b");
  bold.textContent = value;
  summary.append(before, bold, behind);
}
const legend = document.getElementById("legend");
const kinds = Object.keys(COLOURS).filter(kind => slices.some(slice => slice.boundary === kind));
for (const [colour, what] of [
  ...kinds.map(kind => [COLOURS[kind], `slice, ended: ${MEANINGS[kind]}`]),
  ...(asleep ? [[SLEEP, "the app sleeps: no room for another slice"]] : []),
  ...(runs.some(part => part.what === "counts") ? [["#0000", "outlined: a slice is run to count, and once more"]] : []),
  ...(merges.length ? [[MERGE, "a result is merged"]] : []),
  ...(runs.some(part => part.what === "lost") ? [[LOST, "crossed: a process that was lost, its slice begins again"]] : []),
]) {
  const entry = document.createElement("span"), field = document.createElement("i");
  field.style.background = colour;
  field.style.border = colour === "#0000" ? "1px solid currentColor" : "";
  entry.append(field, what);
  legend.append(entry);
}

const canvas = document.getElementById("canvas"), hint = document.getElementById("hint");
const LEFT = 124, AXIS = 24, APP = 30, GAP = 8, GRAPH = 46, MERGES = 14;
const end = Math.max(run.wall, 1);
let from = 0, until = end, marked = null, kept = null, width = 0;
let rows, LANE, BELOW, HEIGHT;
function lay(which) {
  rows = which;
  LANE = rows.length > 40 ? 9 : rows.length > 16 ? 14 : 20;
  BELOW = AXIS + APP + GAP + rows.length * LANE + 2 * GAP;
  HEIGHT = BELOW + MERGES + 2 * GRAPH + 4;
  document.getElementById("view").textContent = rows === byProcessor ? "by time" : "by processor";
}
lay(isKnown ? byProcessor : byTime);
const x = at => LEFT + (at - from) / (until - from) * (width - LEFT - 8);
const at = px => from + (px - LEFT) / (width - LEFT - 8) * (until - from);
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// The first of sorted parts that ends behind a time. Parts of one row don't overlap.
function firstBehind(parts, when) {
  let low = 0, high = parts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (parts[middle].until < when) low = middle + 1; else high = middle;
  }
  return low;
}

// The last change of how many run that isn't behind a time.
function countAt(counts, when) {
  let low = 0, high = counts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (counts[middle][0] <= when) low = middle; else high = middle - 1;
  }
  return low;
}

// Draws a row's parts that are seen; of those that would be drawn on the same pixel only the first.
function row(pen, parts, top, height, draw) {
  let last = -1, drawn = 0;
  for (let i = firstBehind(parts, from); i < parts.length && parts[i].from <= until; i++) {
    const a = Math.max(x(parts[i].from), LEFT), b = Math.min(x(parts[i].until), width - 8);
    if (b < last + 0.5) continue;
    last = Math.max(b, a + 1);
    draw(parts[i], a, Math.max(b - a, 1), top, height);
    drawn++;
  }
  return drawn;
}

function label(pen, what, a, w, top, height) {
  if (w < 12) return;
  const needs = pen.measureText(what).width + 6;
  if (w > needs && height >= 12) {
    pen.fillStyle = "#fff";
    pen.fillText(what, a + w / 2 - needs / 2 + 3, top + height / 2 + 4);
  }
}

// Paints when the browser is to show something next.
let isDue = false;
function repaint() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; paint(); });
}

function paint() {
  const scale = window.devicePixelRatio || 1;
  width = canvas.clientWidth;
  canvas.style.height = `${HEIGHT}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(HEIGHT * scale);
  const pen = canvas.getContext("2d"), faint = style("--faint"), line = style("--line"), shade = style("--row");
  pen.scale(scale, scale);
  pen.font = "11px system-ui, sans-serif";
  // The axis.
  const about = (until - from) / Math.max(2, (width - LEFT) / 110), power = 10 ** Math.floor(Math.log10(about));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= about);
  pen.lineWidth = 1;
  for (let tick = Math.ceil(from / step) * step; tick <= until; tick += step) {
    const px = Math.round(x(tick)) + 0.5;
    pen.strokeStyle = line;
    pen.beginPath(); pen.moveTo(px, AXIS - 6); pen.lineTo(px, HEIGHT - 2); pen.stroke();
    pen.fillStyle = faint;
    pen.fillText(time(Math.round(tick)), px + 3, 11);
  }
  const chosen = marked ?? kept;
  const strength = slice => chosen === null || chosen === slice.number ? 1 : 0.35;
  let drawn = 0;
  // The app.
  pen.fillStyle = faint;
  pen.fillText("the app", 4, AXIS + APP / 2 + 4);
  const field = (part, a, w, top, height) => {
    pen.globalAlpha = strength(part.slice);
    pen.fillStyle = COLOURS[part.slice.boundary] ?? WAITS;
    pen.fillRect(a, top, w, height);
    label(pen, part.what ? `${part.slice.number}` : `app ${part.slice.number}`, a, w, top, height);
    pen.globalAlpha = 1;
  };
  drawn += row(pen, appParts, AXIS, APP, field);
  row(pen, run.asleep.map(([a, b]) => ({ from: a, until: b })), AXIS, APP, (part, a, w, top, height) => {
    pen.fillStyle = SLEEP;
    pen.fillRect(a, top + height / 4, w, height / 2);
  });
  // The slices.
  rows.forEach(({ label: what, parts, begins, processor }, n) => {
    const top = AXIS + APP + GAP + n * LANE;
    pen.fillStyle = (processor ?? n) % 2 ? "#0000" : shade;
    pen.fillRect(LEFT, top, width - LEFT - 8, LANE);
    if (begins) {
      pen.fillStyle = line;
      pen.fillRect(0, top, width - 8, 1);
    }
    if (begins || LANE >= 12 || n % 4 === 0) {
      pen.fillStyle = faint;
      pen.fillText(what, 4, top + LANE / 2 + 4);
    }
    drawn += row(pen, parts, top + 1, LANE - 2, (part, a, w, y, height) => {
      if (!part.what) {
        // The app's: a bar, as it isn't a slice's.
        field(part, a, w, y + height / 4, height / 2);
      } else if (part.what === "whole") {
        field(part, a, w, y, height);
        // It began elsewhere.
        if (rows === byProcessor && part.slice.on && part.slice.on[0] !== part.slice.on[1] && w > 3) {
          pen.fillStyle = style("--text");
          pen.fillRect(a, y, 2, height);
        }
      } else {
        pen.globalAlpha = strength(part.slice);
        pen.fillStyle = pen.strokeStyle = part.what === "lost" ? LOST : COLOURS[part.slice.boundary] ?? WAITS;
        pen.strokeRect(a + 0.5, y + 0.5, Math.max(w - 1, 0.5), height - 1);
        if (part.what === "lost") { pen.beginPath(); pen.moveTo(a, y); pen.lineTo(a + w, y + height); pen.stroke(); }
        pen.globalAlpha = 1;
      }
    });
  });
  // What belongs together: the end of the app's part, and the slice's runs.
  const slice = byNumber.get(chosen);
  if (slice) {
    pen.strokeStyle = style("--text");
    rows.forEach(({ parts }, n) => parts.filter(part => part.what && part.slice === slice).forEach(part => {
      const y = AXIS + APP + GAP + n * LANE + LANE / 2;
      pen.beginPath(); pen.moveTo(x(slice.recorded ?? part.from), AXIS + APP); pen.lineTo(x(part.from), y); pen.stroke();
      pen.strokeRect(x(part.from) - 0.5, y - LANE / 2 + 0.5, Math.max(x(part.until) - x(part.from), 1) + 1, LANE - 1);
    }));
    if (slice.forked) pen.strokeRect(x(slice.forked[1]) - 0.5, AXIS - 0.5, Math.max(x(slice.recorded ?? run.app) - x(slice.forked[1]), 1) + 1, APP + 1);
  }
  // The app's end.
  if (run.app >= from && run.app <= until) {
    pen.strokeStyle = style("--text");
    pen.setLineDash([4, 3]);
    pen.beginPath(); pen.moveTo(x(run.app), AXIS); pen.lineTo(x(run.app), HEIGHT - 2); pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = style("--text");
    const what = "the app has ended", room = pen.measureText(what).width;
    pen.fillText(what, Math.min(x(run.app) + 4, width - room - 10), BELOW - 4);
  }
  // Merges.
  pen.fillStyle = faint;
  pen.fillText("merges", 4, BELOW + MERGES / 2 + 4);
  drawn += row(pen, merges, BELOW, MERGES - 2, (part, a, w, top, height) => {
    pen.globalAlpha = strength(part.slice);
    pen.fillStyle = MERGE;
    pen.fillRect(a, top, w, height);
    pen.globalAlpha = 1;
  });
  graph(pen, "running slices", running, COLOURS.timeout, BELOW + MERGES);
  graph(pen, "waiting for merges", waiting, MERGE, BELOW + MERGES + GRAPH);
  Object.assign(document.body.dataset, { drawn, slices: slices.length, merges: merges.length, waiting: waiting.most, processors: rows === byProcessor ? processors.length : 0 });
}

// How many there are at each time: in each column of pixels the most.
function graph(pen, what, { counts, most }, colour, place) {
  const base = place + GRAPH - 2, top = place + 8;
  pen.fillStyle = style("--faint");
  pen.fillText(what, 4, top + 10);
  pen.fillText(`at most ${most}`, 4, top + 24);
  pen.fillStyle = colour;
  pen.globalAlpha = 0.6;
  const columns = new Uint16Array(Math.max(0, Math.ceil(width - LEFT - 8)));
  for (let i = countAt(counts, from); i < counts.length && counts[i][0] <= until; i++) {
    const [when, count] = counts[i], next = counts[i + 1]?.[0] ?? end;
    const a = Math.max(Math.floor(x(when) - LEFT), 0), b = Math.min(x(next) - LEFT, columns.length);
    for (let column = a; column < b; column++) columns[column] = Math.max(columns[column], count);
  }
  columns.forEach((count, column) => {
    const height = (base - top) * count / Math.max(most, 1);
    if (count) pen.fillRect(LEFT + column, base - height, 1, height);
  });
  pen.globalAlpha = 1;
}

function describe(slice) {
  const lines = [`slice ${slice.number}`];
  if (slice.forked) lines.push(`the app comes to its begin at ${time(slice.forked[0])}, is held for ${time(slice.forked[1] - slice.forked[0])}`);
  if (slice.recorded !== null) lines.push(`and to its end at ${time(slice.recorded)}: ${MEANINGS[slice.boundary]}`);
  for (const [a, b, what] of slice.runs) {
    lines.push(`${{ whole: "runs", counts: "is run to count", lost: "ran, and was lost" }[what]} from ${time(a)} to ${time(b)}: ${time(b - a)}`);
  }
  if (slice.recorded !== null && slice.runs.length && slice.runs[0][0] - slice.recorded > 1000) lines.push(`it waited for room for ${time(slice.runs[0][0] - slice.recorded)}`);
  if (slice.app_on !== null) lines.push(`the app was on processor ${slice.app_on} there`);
  if (slice.on) lines.push(slice.on[0] === slice.on[1] ? `began and ended on processor ${slice.on[0]}` : `began on processor ${slice.on[0]}, ended on processor ${slice.on[1]}`);
  lines.push(`CPU time ${time(slice.cpu)}, ${time(slice.boot)} of it until it was ready`);
  if (slice.merged) {
    const [a, b] = slice.merged;
    lines.push(`its result waited for those before it for ${time(Math.max(0, a - slice.ended))}, and was merged from ${time(a)} to ${time(b)}: ${time(b - a)}`);
  }
  return lines.join("\n");
}

function under(px, py) {
  if (px < LEFT) return null;
  const when = at(px), near = (until - from) / (width - LEFT) * 2;
  const places = [[AXIS, APP, appParts], ...rows.map(({ parts }, n) => [AXIS + APP + GAP + n * LANE, LANE, parts]), [BELOW, MERGES, merges]];
  for (const [top, height, parts] of places) {
    if (py < top || py >= top + height) continue;
    const part = parts[firstBehind(parts, when - near)];
    if (part && part.from <= when + near) return part.slice;
  }
  return null;
}

function show(a, b) {
  const least = Math.min(end, 20), length = Math.min(Math.max(b - a, least), end);
  const middle = (a + b) / 2;
  from = Math.min(Math.max(middle - length / 2, 0), end - length);
  until = from + length;
  repaint();
}
function zoom(by, around = (from + until) / 2) {
  show(around - (around - from) * by, around + (until - around) * by);
}
function along(by) { show(from + (until - from) * by, until + (until - from) * by); }

let dragged = null;
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) along(event.deltaX / width);
  else zoom(1.0015 ** event.deltaY, at(event.offsetX));
}, { passive: false });
canvas.addEventListener("pointerdown", event => {
  dragged = { px: event.offsetX, from, until, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", event => {
  if (dragged) {
    const by = (dragged.px - event.offsetX) / (width - LEFT) * (dragged.until - dragged.from);
    dragged.moved ||= Math.abs(dragged.px - event.offsetX) > 3;
    if (dragged.moved) show(dragged.from + by, dragged.until + by);
    return;
  }
  const slice = under(event.offsetX, event.offsetY), before = marked;
  marked = slice ? slice.number : null;
  if (marked !== before) repaint();
  hint.style.display = slice ? "block" : "none";
  if (slice) {
    hint.textContent = describe(slice);
    hint.style.left = `${Math.min(event.clientX + 14, window.innerWidth - hint.offsetWidth - 8)}px`;
    hint.style.top = `${Math.min(event.clientY + 14, window.innerHeight - hint.offsetHeight - 8)}px`;
  }
});
canvas.addEventListener("pointerup", event => {
  if (dragged && !dragged.moved) {
    const slice = under(event.offsetX, event.offsetY);
    kept = slice && slice.number !== kept ? slice.number : null;
    repaint();
  }
  dragged = null;
});
canvas.addEventListener("pointerleave", () => { marked = null; hint.style.display = "none"; repaint(); });
document.addEventListener("keydown", event => {
  if (event.target.id === "number") return;
  const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => show(0, end), ArrowLeft: () => along(-0.2), ArrowRight: () => along(0.2), p: turn };
  keys[event.key]?.();
});
function turn() { lay(rows === byProcessor ? byTime : byProcessor); repaint(); }
document.getElementById("view").onclick = turn;
document.getElementById("view").hidden = !isKnown;
document.getElementById("in").onclick = () => zoom(0.5);
document.getElementById("out").onclick = () => zoom(2);
document.getElementById("all").onclick = () => show(0, end);
document.getElementById("number").oninput = event => {
  const slice = byNumber.get(event.target.value === "" ? -1 : +event.target.value);
  kept = slice ? slice.number : null;
  if (!slice) return repaint();
  const a = slice.forked ? slice.forked[0] : 0, b = Math.max(slice.ended, slice.merged?.[1] ?? 0, slice.recorded ?? a);
  const room = (b - a) * 0.5 + 1000;
  show(a - room, b + room);
};
window.addEventListener("resize", repaint);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
paint();
