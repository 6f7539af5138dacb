// The views over steps: bands of a memory, attention to sound, and the load of experts.

import { formatted, visible } from "./data.js";
import { paint } from "./colours.js";
import { Bars, Legend, Readout, Save, placeOf, usePlane, useWidth } from "./planes.js";
import { movedCell } from "./images.js";
import { html, useLayoutEffect, useRef } from "./preact.js";

const [LEAST, MOST] = [5, 22]; // CSS pixels of a row
const LABEL = 13; // CSS pixels that a name needs
const TALLEST = 280;
const FONT = "12px system-ui, sans-serif";

/** CSS pixels of the names beside rows, narrower on narrow pages. */
export function gutter(width) {
  return Math.round(Math.max(64, Math.min(130, width * 0.22)));
}

function drawCells(canvas, { values, rows, columns, names, top, cell, left, cursor, locked, theme, ratio }) {
  const context = canvas.getContext("2d");
  const styles = getComputedStyle(canvas);
  const [ink, accent, line] = ["--ink", "--accent", "--line"].map((name) => styles.getPropertyValue(name).trim());
  const cells = document.createElement("canvas");
  [cells.width, cells.height] = [columns, rows];
  const image = new ImageData(columns, rows);
  paint(values, top, theme, image.data);
  cells.getContext("2d").putImageData(image, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingEnabled = false;
  const [width, height] = [columns * cell.width, rows * cell.height];
  context.drawImage(cells, left, 0, width, height);
  context.strokeStyle = line;
  context.strokeRect(left + 0.5, 0.5, width - 1, height - 1);
  context.font = FONT;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil((LABEL + 2) / cell.height));
  names.forEach((name, row) => {
    const on = cursor?.row === row;
    if (!on && (row % every || (cursor && cursor.row !== null && Math.abs(cursor.row - row) < every))) return;
    context.fillStyle = on ? accent : ink;
    context.fillText(visible(name, 18), left - 6, Math.max(7, (row + 0.5) * cell.height), left - 8);
  });
  if (!cursor) return;
  context.strokeStyle = accent;
  context.lineWidth = locked ? 3 : 2;
  const x = left + cursor.column * cell.width;
  context.globalAlpha = 0.5;
  context.strokeRect(x, 0, Math.max(2, cell.width), height);
  context.globalAlpha = 1;
  if (cursor.row !== null) context.strokeRect(x, cursor.row * cell.height, Math.max(3, cell.width), Math.max(3, cell.height));
}

/** Rows of numbers over columns that share the width. `onCell(row, column)` is of pointers and keys. */
function Cells({ plane, from = 0, to, names, top, width, share = 1, cursor, locked, theme, label, onCell, onLock, onKeys }) {
  const canvas = useRef(null);
  const rows = to - from;
  const left = gutter(width);
  const cell = { width: ((width - left) * share) / plane.columns, height: Math.max(LEAST, Math.min(MOST, TALLEST / rows)) };
  const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
  const height = Math.max(16, rows * cell.height);
  const inside = cursor && { column: cursor[1], row: cursor[0] >= from && cursor[0] < to ? cursor[0] - from : null };
  useLayoutEffect(() => {
    const values = plane.values.subarray(from * plane.columns, to * plane.columns);
    drawCells(canvas.current, { values, rows, columns: plane.columns, names, top, cell, left, cursor: inside, locked, theme, ratio });
  });
  const cellAt = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const [row, column] = [Math.floor((event.clientY - box.top) / cell.height), Math.floor((event.clientX - box.left - left) / cell.width)];
    return column >= 0 && column < plane.columns && row >= 0 && row < rows ? [from + row, column] : null;
  };
  return html`<canvas
    ref=${canvas}
    class="cells"
    tabindex="0"
    role="application"
    aria-roledescription="matrix"
    aria-label=${`${label}. Arrow keys move the cursor, Enter locks it.`}
    width=${Math.round(width * ratio)}
    height=${Math.round(height * ratio)}
    style=${{ width: `${width}px`, height: `${height}px` }}
    onPointerMove=${(event) => !locked && onCell(cellAt(event))}
    onPointerLeave=${() => !locked && onCell(null)}
    onClick=${(event) => onLock(cellAt(event))}
    onKeyDown=${(event) => onKeys(event, from)}
  ></canvas>`;
}

/** The cursor over a whole sheet, for pointers and keys. */
function cursorOf(sheet, state, set) {
  return {
    onCell: (cell) => set({ cursor: cell }),
    onLock: (cell) => set(cell && !state.locked ? { cursor: cell, locked: true } : { locked: false }),
    onKeys: (event, from) => {
      const next = movedCell(event, state.cursor, sheet.rows.length, sheet.columns.length);
      if (next) set({ cursor: state.cursor ? next : [from, 0] });
      else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        set({ locked: !state.locked && Boolean(state.cursor) });
      } else if (event.key === "Escape") set({ locked: false });
    },
  };
}

/** The place of a label along an axis: those at the ends stay inside. */
function placed(at, share = 1) {
  return { left: `${100 * at * share}%`, transform: `translateX(${-100 * at}%)` };
}

/** Names of columns below cells, as many as fit. */
function Axis({ names, width, share = 1, title }) {
  const left = gutter(width);
  const room = ((width - left) * share) / names.length;
  const longest = Math.min(12, Math.max(...names.map((name) => visible(name, 12).length)));
  const every = Math.max(1, Math.ceil((longest * 7 + 14) / room));
  return html`<div class="axis" style=${{ marginLeft: `${left}px` }} aria-hidden="true">
    ${names.map((name, at) => (at % every ? null : html`<span style=${placed((at + 0.5) / names.length, share)}>${visible(name, 12)}</span>`))}
    <span class="title">${title}</span>
  </div>`;
}

/** Reads and writes of a memory as bands over the same steps. */
export function BandsView({ manifest, sheet, state, set, pieces, theme }) {
  const { plane, failure } = usePlane(pieces, placeOf(state), sheet, manifest.tile);
  const [frame, width] = useWidth();
  const cursor = state.cursor;
  const band = cursor && sheet.bands.find((each) => cursor[0] >= each.from && cursor[0] < each.to);
  return html`<section class="panel" aria-label="Bands">
    <h2>${sheet.title}</h2>
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
    <${Readout}
      hint="Point at a cell, or move with the arrow keys."
      name=${cursor ? `${sheet.rows[cursor[0]]}, step ${visible(sheet.columns[cursor[1]])}` : ""}
      value=${plane && cursor ? plane.at(...cursor) : null}
      more=${cursor ? `(${band?.name}, column ${cursor[1] + 1} of ${sheet.columns.length})` : ""}
      locked=${state.locked}
    />
    <div ref=${frame}>
      ${plane &&
      width > 0 &&
      sheet.bands.map(
        (each) => html`<h3>${each.name} <span class="faint">${formatted(each.low)} to ${formatted(each.top)}</span></h3>
          <${Cells}
            plane=${plane}
            from=${each.from}
            to=${each.to}
            names=${sheet.rows.slice(each.from, each.to).map((name) => (name.startsWith(`${each.name} `) ? name.slice(each.name.length + 1) : name))}
            top=${each.top}
            width=${width}
            cursor=${cursor}
            locked=${state.locked}
            theme=${theme}
            label=${each.name}
            ...${cursorOf(sheet, state, set)}
          />`,
      )}
      ${width > 0 && html`<${Axis} names=${sheet.columns} width=${width} title="step →" />`}
    </div>
    <${Save} sheet=${sheet} plane=${plane} theme=${theme} />
  </section>`;
}

/** Tokens over a spectrum: when each was heard. */
export function SoundView({ manifest, sheet, state, set, pieces, theme }) {
  const { plane, failure } = usePlane(pieces, placeOf(state), sheet, manifest.tile);
  const [frame, width] = useWidth();
  const cursor = state.cursor;
  const span = Math.max(sheet.seconds, sheet.columns.length * sheet.step);
  const left = gutter(width);
  const [heard, shown] = [(sheet.columns.length * sheet.step) / span, sheet.seconds / span];
  const at = cursor ? ((cursor[1] + 0.5) * sheet.step) / span : null;
  const ticks = ticksOf(sheet.start, span, Math.max(2, Math.floor((width - left) / 64)));
  return html`<section class="panel" aria-label="Sound">
    <h2>${sheet.title}</h2>
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
    <${Readout}
      hint="Point at a cell, or move with the arrow keys."
      name=${cursor ? `${visible(sheet.rows[cursor[0]])} at ${secondsOf(sheet, cursor[1])}` : ""}
      value=${plane && cursor ? plane.at(...cursor) : null}
      locked=${state.locked}
    />
    <div ref=${frame}>
      ${width > 0 &&
      html`<div class="spectrum" style=${{ marginLeft: `${left}px` }}>
          <img src=${sheet.image} alt="Spectrum, high frequencies above" style=${{ width: `${100 * shown}%` }} />
          ${at !== null && html`<span class="now" style=${{ left: `${100 * at}%` }}></span>`}
        </div>
        ${plane &&
        html`<${Cells}
          plane=${plane}
          to=${sheet.rows.length}
          names=${sheet.rows}
          top=${plane.top}
          width=${width}
          share=${heard}
          cursor=${cursor}
          locked=${state.locked}
          theme=${theme}
          label="Weights of each token over time"
          ...${cursorOf(sheet, state, set)}
        />`}
        <div class="axis" style=${{ marginLeft: `${left}px` }} aria-hidden="true">
          ${ticks.map((tick) => html`<span style=${placed((tick - sheet.start) / span)}>${formatted(tick)}</span>`)}
          <span class="title">seconds →</span>
        </div>`}
    </div>
    ${plane && html`<${Legend} name=${sheet.scale} low=${plane.values.some((value) => value < 0) ? -plane.top : 0} top=${plane.top} theme=${theme} />`}
    <${Save} sheet=${sheet} plane=${plane} theme=${theme} />
  </section>`;
}

function secondsOf(sheet, column) {
  return `${formatted(sheet.start + column * sheet.step)} to ${formatted(sheet.start + (column + 1) * sheet.step)} s`;
}

/** Round numbers along an axis, at most as many as given. */
export function ticksOf(start, span, most) {
  const size = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((each) => span / each <= most);
  const ticks = [];
  for (let at = Math.ceil(start / step - 1e-9); at * step <= start + span * (1 + 1e-9); at++) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

/** How many tokens each expert of a layer takes, and the sum of its weights. */
export function Load({ manifest, sheet, state, pieces }) {
  const { plane } = usePlane(pieces, placeOf(state), sheet, manifest.tile);
  if (!plane) return null;
  const of = (part) => sheet.columns.map((_, expert) => sheet.rows.reduce((sum, _, token) => sum + part(plane.at(token, expert)), 0));
  return html`<section class="panel" aria-label="Load of experts">
    <h2>Load${sheet.layers[state.layer] ? ` in ${sheet.layers[state.layer]}` : ""}</h2>
    <h3>Tokens that each expert takes</h3>
    <${Bars} name="Tokens that each expert takes" names=${sheet.columns} values=${of((value) => Number(value !== 0))} top=${sheet.rows.length} />
    <h3>Sum of weights</h3>
    <${Bars} name="Sum of weights" names=${sheet.columns} values=${of((value) => value)} />
  </section>`;
}
