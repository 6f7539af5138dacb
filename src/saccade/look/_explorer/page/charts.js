// The views of numbers by name, and of curves.

import { formatted } from "./data.js";
import { Bars, Readout, Save, placeOf, svgFile, usePlane, useWidth } from "./planes.js";
import { ticksOf } from "./bands.js";
import { html, useRef } from "./preact.js";

const [WIDEST, HEIGHT, LEFT, BELOW, TOP] = [860, 300, 64, 40, 10];
const ROOM = 44; // of a tick's label
const LOW = 110; // of the part below a curve
const short = (value) => formatted(Number(value.toPrecision(3)));
const COLOURS = ["var(--accent)", "var(--second)", "#2e9e83", "#8d5fa8", "#b07d1e"];

/** Bars of names, a table for each series. */
export function BarsView({ manifest, sheet, state, pieces, theme }) {
  const { plane, failure } = usePlane(pieces, placeOf(state), sheet, manifest.tile);
  return html`<section class="panel" aria-label="Bars">
    <h2>${sheet.title}</h2>
    ${sheet.note && html`<p class="faint">${sheet.note}</p>`}
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
    ${plane &&
    sheet.columns.map(
      (name, series) => html`<h3>${name || sheet.label}</h3>
        <${Bars} name=${name || sheet.label} names=${sheet.rows} values=${sheet.rows.map((_, row) => plane.at(row, series))} errors=${sheet.errors[series] ?? []} />`,
    )}
    <${Save} sheet=${sheet} plane=${plane} theme=${theme} />
  </section>`;
}

/** A scale from numbers to pixels, linear or logarithmic. */
export function scaleOf(low, high, from, to, log = false) {
  const of = log ? Math.log10 : Number;
  const span = of(high) - of(low) || 1;
  return (value) => from + ((of(value) - of(low)) / span) * (to - from);
}

/** 1, 2 and 5 times powers of ten, as a logarithmic axis has them. */
export function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) for (const factor of [1, 2, 5]) ticks.push(Number((factor * 10 ** power).toPrecision(6)));
  return ticks.filter((tick) => tick >= low && tick <= high);
}

/** Ticks that have room beside the one before. */
function apart(ticks, x) {
  let last = -Infinity;
  return ticks.filter((tick) => x(tick) - last > ROOM && ((last = x(tick)), true));
}

function Axes({ x, y, names, span, range, below, log, width }) {
  const places = log ? apart(logTicks(...span), x) : ticksOf(span[0], span[1] - span[0], Math.max(2, Math.floor(width / 80)));
  return html`<g class="axes">
    ${ticksOf(range[0], range[1] - range[0], 5).map((tick) => html`<line x1=${LEFT} x2=${width - 8} y1=${y(tick)} y2=${y(tick)} /><text x=${LEFT - 6} y=${y(tick) + 4} text-anchor="end">${formatted(tick)}</text>`)}
    ${places.map((tick) => html`<text x=${x(tick)} y=${below + 16} text-anchor="middle">${formatted(tick)}</text>`)}
    <text x=${(LEFT + width) / 2} y=${below + 34} text-anchor="middle">${names[0]}</text>
    <text x="12" y=${(TOP + below) / 2} text-anchor="middle" transform=${`rotate(-90 12 ${(TOP + below) / 2})`}>${names[1]}</text>
  </g>`;
}

function Curve({ sheet, plane, at, onPick, node, width }) {
  const fitted = Boolean(sheet.predicted);
  const span = [Math.min(...sheet.x), Math.max(...sheet.x)];
  const heights = [...plane.values, ...(sheet.points ?? []).map(([, height]) => height), ...(sheet.predicted ?? []).slice(1)].filter(Number.isFinite);
  const [least, most] = [Math.min(...heights), Math.max(...heights)];
  const range = [least, most === least ? least + 1 : most];
  const lower = sheet.weights ?? sheet.slope;
  const bottom = HEIGHT - BELOW;
  const [x, y] = [scaleOf(...span, LEFT, width - 8, sheet.log), scaleOf(...range, bottom, TOP)];
  const line = (row) => sheet.x.map((place, index) => [x(place), y(plane.at(row, index))]).filter((point) => point.every(Number.isFinite));
  const joined = (points) => points.map((point) => point.map((each) => each.toFixed(2)).join(",")).join(" ");
  const pick = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    const distances = sheet.x.map((each) => Math.abs(x(each) - place));
    onPick(distances.indexOf(Math.min(...distances)));
  };
  const rows = fitted ? [0] : sheet.rows.map((_, row) => row);
  const [px, mean, low, high] = sheet.predicted ?? [];
  return html`<svg ref=${node} class="curve" viewBox=${`0 0 ${width} ${lower ? HEIGHT + LOW : HEIGHT}`} role="img" aria-label=${`${sheet.rows.join(", ")} over ${sheet.labels[0]}`} onPointerMove=${pick}>
    <${Axes} x=${x} y=${y} names=${sheet.labels} span=${span} range=${range} below=${bottom} log=${sheet.log} width=${width} />
    ${fitted && html`<polygon class="interval" points=${joined([...line(1), ...line(2).reverse()])} />`}
    ${(sheet.points ?? []).map(([place, height]) => html`<circle class="point" cx=${x(place)} cy=${y(height)} r="3" />`)}
    ${rows.map((row) => html`<polyline points=${joined(line(row))} fill="none" style=${{ stroke: COLOURS[row % COLOURS.length] }} stroke-width="2" />`)}
    ${fitted && html`<line class="predicted" x1=${x(px)} x2=${x(px)} y1=${y(low)} y2=${y(high)} /><rect class="predicted" x=${x(px) - 4} y=${y(mean) - 4} width="8" height="8" />`}
    ${sheet.mark && html`<line class="predicted" x1=${x(sheet.mark[0])} x2=${x(sheet.mark[0])} y1=${TOP} y2=${bottom} />`}
    ${at !== null && html`<line class="cursor" x1=${x(sheet.x[at])} x2=${x(sheet.x[at])} y1=${TOP} y2=${bottom} />`}
    ${lower && html`<${Below} sheet=${sheet} values=${lower} x=${x} width=${width} />`}
  </svg>`;
}

/** Weights of known points as lines, or the slope, below a curve. */
function Below({ sheet, values, x, width }) {
  const [least, most] = [Math.min(0, ...values), Math.max(1e-30, ...values)];
  const y = scaleOf(least, most, HEIGHT + LOW - 10, HEIGHT + 14);
  const name = sheet.weights ? "weight" : "slope";
  return html`<g>
    <text x="12" y=${HEIGHT + LOW / 2} text-anchor="middle" transform=${`rotate(-90 12 ${HEIGHT + LOW / 2})`}>${name}</text>
    <text x=${LEFT - 6} y=${y(most) + 4} text-anchor="end">${short(most)}</text>
    <text x=${LEFT - 6} y=${y(least) + 4} text-anchor="end">${short(least)}</text>
    <line class="zero" x1=${LEFT} x2=${width - 8} y1=${y(0)} y2=${y(0)} />
    ${sheet.weights
      ? sheet.points.map(([place], at) => html`<line class="weight" x1=${x(place)} x2=${x(place)} y1=${y(0)} y2=${y(values[at])} />`)
      : html`<polyline points=${sheet.x.map((place, at) => `${x(place).toFixed(2)},${y(values[at]).toFixed(2)}`).join(" ")} fill="none" style=${{ stroke: COLOURS[0] }} />`}
  </g>`;
}

/** Curves over a quantity, and the fit of a regression with the weights of known points. */
export function CurveView({ manifest, sheet, state, set, pieces, theme }) {
  const { plane, failure } = usePlane(pieces, placeOf(state), sheet, manifest.tile);
  const node = useRef(null);
  const [frame, width] = useWidth();
  const at = state.cursor?.[1] ?? null;
  const pick = (index) => set({ cursor: [0, Math.max(0, Math.min(sheet.x.length - 1, index))] });
  const near = at === null || !sheet.weights ? null : sheet.points.reduce((best, [x], index) => (Math.abs(x - sheet.x[at]) < Math.abs(sheet.points[best][0] - sheet.x[at]) ? index : best), 0);
  const others = plane && at !== null ? sheet.rows.slice(1).map((name, row) => `${name} ${formatted(plane.at(row + 1, at))}`) : [];
  if (near !== null) others.push(`weight of the nearest point ${formatted(sheet.weights[near])}`);
  if (at !== null && sheet.slope) others.push(`slope ${formatted(sheet.slope[at])}`);
  const keys = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (!step) return;
    event.preventDefault();
    pick((at ?? 0) + step * (event.shiftKey ? 10 : 1));
  };
  return html`<section class="panel" aria-label="Curve">
    <h2>${sheet.title}</h2>
    ${sheet.note && html`<p class="faint">${sheet.note}</p>`}
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
    <${Readout}
      hint="Point at the curve, or move with the arrow keys."
      name=${at === null ? "" : `${sheet.labels[0]} ${sheet.columns[at]}, ${sheet.rows[0]}`}
      value=${plane && at !== null ? plane.at(0, at) : null}
      more=${others.length ? `(${others.join(", ")})` : ""}
    />
    <div ref=${frame} tabindex="0" role="group" aria-label="Curve. Arrow keys move the cursor." onKeyDown=${keys}>
      ${plane && width > 0 && html`<${Curve} sheet=${sheet} plane=${plane} at=${at} onPick=${pick} node=${node} width=${Math.min(WIDEST, width)} />`}
    </div>
    <${Save} sheet=${sheet} plane=${plane} theme=${theme} svg=${() => svgFile(node.current, theme)} />
  </section>`;
}
