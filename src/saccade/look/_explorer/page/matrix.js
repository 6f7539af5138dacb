// The matrix: tiles on a canvas, a cursor on both axes, labels in any script.

import { formatted, visible } from "./data.js";
import { css, inkOn, paint } from "./colours.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./preact.js";

const LABEL = 13; // CSS pixels a row needs for its label
const LEFT = [28, 120]; // CSS pixels of the labels' column, and of the labels' line above, at least and at most
const ABOVE = [28, 96];
const CHOSEN = 4; // CSS pixels of a cell that can hold a mark
const FONT = "12px system-ui, sans-serif";

/** The part of a matrix that is seen: first row and column, and pixels of a cell. */
export function fitted(rows, columns, width, height) {
  const cell = Math.min(Math.max(1e-3, width / columns), Math.max(1e-3, height / rows), 44);
  return { row: 0, column: 0, cell };
}

/** The first level whose cells are at least a device pixel, so that no number is between two pixels. */
export function levelOf(cell, ratio, rows, columns, tile) {
  let level = 0;
  while (cell * ratio * 2 ** level < 0.999 && Math.max(rows, columns) / 2 ** level > tile) level++;
  return level;
}

/** The room that labels need. */
function marginsOf(sheet) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = FONT;
  const widest = (tokens, length) => tokens.slice(0, 1000).reduce((most, token) => Math.max(most, context.measureText(visible(token, length)).width), 0);
  const within = ([least, most], width) => Math.max(least, Math.min(most, Math.ceil(width) + 12));
  return { left: within(LEFT, widest(sheet.rows, 16)), above: within(ABOVE, widest(sheet.columns, 14)) };
}

function limited(view, rows, columns, width, height) {
  const least = Math.min(fitted(rows, columns, width, height).cell, 44);
  const cell = Math.min(96, Math.max(least, view.cell));
  const clamp = (first, count, room) => Math.max(0, Math.min(first, count - room / cell));
  return { cell, row: clamp(view.row, rows, height), column: clamp(view.column, columns, width) };
}

const painted = new WeakMap(); // pieces to canvases, by theme

function canvasOf(piece, top, theme) {
  const key = `${theme} ${top}`;
  const kept = painted.get(piece);
  if (kept?.key === key) return kept.canvas;
  const [height, width] = piece.shape;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  paint(piece.values, top, theme, image.data);
  canvas.getContext("2d").putImageData(image, 0, 0);
  painted.set(piece, { key, canvas });
  return canvas;
}

/** The tiles that a view needs. */
export function tilesOf(view, width, height, sheet, tile, ratio) {
  const [rows, columns] = [sheet.rows.length, sheet.columns.length];
  const level = levelOf(view.cell, ratio, rows, columns, tile);
  const cells = tile * 2 ** level;
  const last = (first, room, count) => Math.floor((Math.min(count, first + room / view.cell) - 1e-9) / cells);
  const tiles = [];
  for (let row = Math.floor(view.row / cells); row <= last(view.row, height, rows); row++)
    for (let column = Math.floor(view.column / cells); column <= last(view.column, width, columns); column++)
      tiles.push({ piece: "tile", level, row, column });
  return tiles;
}

/** A label that is cut, not squeezed, if it is wider than its room. */
function cut(context, label, room) {
  const letters = Array.from(label);
  let text = label;
  while (letters.length && context.measureText(text).width > room) {
    letters.pop();
    text = `${letters.join("")}…`;
  }
  return text;
}

function drawLabels(context, sheet, view, size, cursor, { left, above }, { ink, accent, ground }) {
  const every = Math.max(1, Math.ceil(LABEL / view.cell));
  context.font = FONT;
  context.textBaseline = "middle";
  const draw = (tokens, first, room, at, place) => {
    const start = Math.floor(first / every) * every;
    for (let index = start; index < Math.min(tokens.length, first + room / view.cell); index += every)
      if (index !== at) place(index, (index + 0.5 - first) * view.cell, false);
    if (at !== null && at !== undefined) place(at, (at + 0.5 - first) * view.cell, true);
  };
  const row = (index, y, on) => {
    if (y < 0 || y > size.height) return;
    const text = visible(sheet.rows[index], 16);
    if (on) {
      context.fillStyle = ground;
      context.fillRect(0, above + y - LABEL / 2, left - 4, LABEL);
    }
    context.fillStyle = on ? accent : ink;
    context.textAlign = "right";
    context.fillText(cut(context, text, left - 10), left - 6, above + y);
  };
  const column = (index, x, on) => {
    if (x < 0 || x > size.width) return;
    context.save();
    context.translate(left + x, above - 6);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    if (on) {
      context.fillStyle = ground;
      context.fillRect(0, -LABEL / 2, above - 8, LABEL);
    }
    context.fillStyle = on ? accent : ink;
    context.fillText(cut(context, visible(sheet.columns[index], 14), above - 10), 0, 0);
    context.restore();
  };
  draw(sheet.rows, view.row, size.height, cursor?.row, row);
  draw(sheet.columns, view.column, size.width, cursor?.column, column);
}

/** Mark the key that each row of hard attention took. */
function drawChosen(context, drawn, view, size, { left, above }, { accent, ground }) {
  if (!drawn || view.cell < CHOSEN) return;
  const first = Math.floor(view.row);
  drawn.slice(first, first + Math.ceil(size.height / view.cell) + 1).forEach((column, line) => {
    if (column < 0) return;
    context.beginPath();
    context.arc(left + (column + 0.5 - view.column) * view.cell, above + (first + line + 0.5 - view.row) * view.cell, view.cell / 4, 0, 2 * Math.PI);
    context.lineWidth = 3;
    context.strokeStyle = ground;
    context.stroke();
    context.lineWidth = 1.5;
    context.strokeStyle = accent;
    context.stroke();
  });
}

/** Draw what has arrived, and return the number of missing tiles. */
function draw(canvas, { sheet, pieces, request, view, size, margins, cursor, locked, theme, tile, ratio }) {
  const { left, above } = margins;
  const context = canvas.getContext("2d");
  const styles = getComputedStyle(canvas);
  const [ink, accent, line, ground] = ["--ink", "--accent", "--line", "--raised"].map((name) => styles.getPropertyValue(name).trim());
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.save();
  context.beginPath();
  context.rect(left, above, size.width, size.height);
  context.clip();
  context.imageSmoothingEnabled = false;
  let missing = 0;
  for (const part of tilesOf(view, size.width, size.height, sheet, tile, ratio)) {
    const piece = pieces.arrived({ ...request, ...part });
    if (!piece) {
      missing++;
      continue;
    }
    const cells = 2 ** part.level;
    const [height, width] = piece.shape;
    const x = left + (part.column * tile * cells - view.column) * view.cell;
    const y = above + (part.row * tile * cells - view.row) * view.cell;
    context.drawImage(canvasOf(piece, piece.top, theme), x, y, width * cells * view.cell, height * cells * view.cell);
  }
  if (view.cell >= 9) {
    context.strokeStyle = line;
    context.lineWidth = 0.5;
    context.beginPath();
    for (let row = Math.ceil(view.row); row <= Math.min(sheet.rows.length, view.row + size.height / view.cell); row++) {
      context.moveTo(left, above + (row - view.row) * view.cell);
      context.lineTo(left + (sheet.columns.length - view.column) * view.cell, above + (row - view.row) * view.cell);
    }
    for (let column = Math.ceil(view.column); column <= Math.min(sheet.columns.length, view.column + size.width / view.cell); column++) {
      context.moveTo(left + (column - view.column) * view.cell, above);
      context.lineTo(left + (column - view.column) * view.cell, above + (sheet.rows.length - view.row) * view.cell);
    }
    context.stroke();
  }
  drawChosen(context, sheet.drawn?.[request.example]?.[request.layer]?.[request.head], view, size, margins, { accent, ground });
  if (cursor) {
    const side = Math.max(3, view.cell);
    const x = left + (cursor.column - view.column) * view.cell;
    const y = above + (cursor.row - view.row) * view.cell;
    context.strokeStyle = accent;
    context.globalAlpha = 0.45;
    context.lineWidth = 1;
    context.strokeRect(left - 1, y, size.width + 2, side);
    context.strokeRect(x, above - 1, side, size.height + 2);
    context.globalAlpha = 1;
    context.lineWidth = locked ? 3 : 2;
    context.strokeRect(x, y, side, side);
  }
  context.restore();
  drawLabels(context, sheet, view, size, cursor, margins, { ink, accent, ground });
  return missing;
}

/** The colours with the numbers at their ends. */
function Scale({ ends: { low, top }, theme }) {
  const stops = Array.from({ length: 9 }, (_, at) => css(low + ((1 - low) * at) / 8, theme));
  return html`<span class="scale" role="img" aria-label=${`Colours from ${formatted(low * top)} to ${formatted(top)}`}>
    <span>${formatted(low * top)}</span><span class="bar" style=${{ background: `linear-gradient(to right, ${stops.join(", ")})` }}></span><span>${formatted(top)}</span>
  </span>`;
}

/**
 * The matrix of a place. `onCursor(cell)` and `onLock(cell)` report {row, column} or null.
 */
export function Matrix({ sheet, pieces, request, tile, theme, view: given, cursor, locked, onView, onCursor, onLock, label, seen, maxHeight = 640 }) {
  const canvas = useRef(null);
  const frame = useRef(null);
  const [width, setWidth] = useState(0);
  const [arrivals, setArrivals] = useState(0);
  const [failure, setFailure] = useState("");
  const [rows, columns] = [sheet.rows.length, sheet.columns.length];
  const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(160, frame.current?.clientWidth ?? 0));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const margins = useMemo(() => marginsOf(sheet), [sheet]);
  const { left, above } = margins;
  const room = { width: Math.max(60, width - left - 2), height: maxHeight - above };
  const whole = fitted(rows, columns, room.width, room.height);
  const view = limited(given ?? whole, rows, columns, room.width, room.height);
  const size = {
    width: Math.min(room.width, Math.ceil(columns * view.cell)),
    height: Math.min(room.height, Math.ceil(rows * view.cell)),
  };
  useEffect(() => {
    if (!width) return;
    let open = true;
    setFailure("");
    for (const part of tilesOf(view, size.width, size.height, sheet, tile, ratio)) {
      const wanted = { ...request, ...part };
      if (pieces.arrived(wanted)) continue;
      pieces.get(wanted).then(
        () => open && setArrivals((count) => count + 1),
        (error) => open && setFailure(error.message),
      );
    }
    return () => {
      open = false;
    };
  }, [JSON.stringify(request), width, view.row, view.column, view.cell]);
  useLayoutEffect(() => {
    if (!width || !canvas.current) return;
    const missing = draw(canvas.current, { sheet, pieces, request, view, size, margins, cursor, locked, theme, tile, ratio });
    Object.assign(canvas.current.dataset, { missing, left, above, ...view });
    if (seen) seen.current = { view, size, canvas: canvas.current };
  });

  const ends = tilesOf(view, size.width, size.height, sheet, tile, ratio).map((part) => pieces.arrived({ ...request, ...part })).find(Boolean);
  const cellAt = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - above) / view.cell + view.row);
    const column = Math.floor((event.clientX - box.left - left) / view.cell + view.column);
    const inside = event.clientX - box.left >= left && event.clientY - box.top >= above;
    return inside && row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
  };
  const zoom = (factor, around) => {
    const cell = limited({ ...view, cell: view.cell * factor }, rows, columns, room.width, room.height).cell;
    const at = around ?? { row: view.row + size.height / view.cell / 2, column: view.column + size.width / view.cell / 2 };
    const place = (center, first) => center - ((center - first) * view.cell) / cell;
    onView(limited({ cell, row: place(at.row, view.row), column: place(at.column, view.column) }, rows, columns, room.width, room.height));
  };
  useEffect(() => {
    const node = canvas.current;
    const wheel = (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.25 : 0.8, cellAt(event) ?? undefined);
    };
    node.addEventListener("wheel", wheel, { passive: false });
    return () => node.removeEventListener("wheel", wheel);
  });
  const drag = useRef(null);
  const down = (event) => {
    drag.current = { x: event.clientX, y: event.clientY, view, moved: false };
    canvas.current.setPointerCapture?.(event.pointerId);
  };
  const move = (event) => {
    const from = drag.current;
    if (from && Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4) from.moved = true;
    if (from?.moved) {
      const row = from.view.row - (event.clientY - from.y) / view.cell;
      const column = from.view.column - (event.clientX - from.x) / view.cell;
      onView(limited({ cell: view.cell, row, column }, rows, columns, room.width, room.height));
    } else if (!locked) onCursor(cellAt(event));
  };
  const up = (event) => {
    const moved = drag.current?.moved;
    drag.current = null;
    if (!moved) onLock(cellAt(event));
  };
  const show = (cell) => {
    const inside = (index, first, room) => {
      const last = first + room / view.cell - 1;
      return index < first ? index : index > last ? index - room / view.cell + 1 : first;
    };
    const next = { ...view, row: inside(cell.row, view.row, size.height), column: inside(cell.column, view.column, size.width) };
    if (next.row !== view.row || next.column !== view.column) onView(limited(next, rows, columns, room.width, room.height));
  };
  const keys = (event) => {
    const at = cursor ?? { row: 0, column: 0 };
    const page = event.shiftKey ? 10 : 1;
    const steps = { ArrowUp: [-page, 0], ArrowDown: [page, 0], ArrowLeft: [0, -page], ArrowRight: [0, page] };
    if (steps[event.key]) {
      const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
      const [down, right] = cursor ? steps[event.key] : [0, 0];
      const cell = { row: clamp(at.row + down, rows), column: clamp(at.column + right, columns) };
      show(cell);
      locked ? onLock(cell, true) : onCursor(cell);
    } else if (event.key === "Enter" || event.key === " ") onLock(locked ? null : at);
    else if (event.key === "Escape") onLock(null);
    else if (event.key === "+" || event.key === "=") zoom(1.5, cursor ?? undefined);
    else if (event.key === "-") zoom(1 / 1.5, cursor ?? undefined);
    else if (event.key === "0") onView(null);
    else return;
    event.preventDefault();
  };
  return html`<div class="matrix" ref=${frame}>
    <canvas
      ref=${canvas}
      tabindex="0"
      role="application"
      aria-roledescription="matrix"
      aria-label=${`${label}. Arrow keys move the cursor, Enter locks it, plus and minus zoom, 0 shows everything.`}
      width=${Math.round((left + size.width + 2) * ratio)}
      height=${Math.round((above + size.height + 2) * ratio)}
      style=${{ width: `${left + size.width + 2}px`, height: `${above + size.height + 2}px`, touchAction: given ? "none" : "pan-y" }}
      onPointerDown=${down}
      onPointerMove=${move}
      onPointerUp=${up}
      onPointerCancel=${() => (drag.current = null)}
      onPointerLeave=${() => !locked && !drag.current && onCursor(null)}
      onKeyDown=${keys}
    ></canvas>
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
    <div class="tools" role="group" aria-label="Zoom">
      <button onClick=${() => zoom(1.5)} title="Zoom in (+)" aria-label="Zoom in">+</button>
      <button onClick=${() => zoom(1 / 1.5)} title="Zoom out (−)" aria-label="Zoom out">−</button>
      <button onClick=${() => onView(null)} title="Show everything (0)">All</button>
      ${ends && html`<${Scale} ends=${ends} theme=${theme} />`}
    </div>
  </div>`;
}

/** Tokens coloured by their numbers: the text as people read it. */
export function Tokens({ tokens, values, top, at, theme, name, onPick, from = 0 }) {
  const list = useRef(null);
  const inside = at >= from && at < from + tokens.length ? at : from;
  const keys = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    onPick?.(Math.max(from, Math.min(from + tokens.length - 1, inside + step)));
    requestAnimationFrame(() => list.current?.querySelector('[tabindex="0"]')?.focus());
  };
  return html`<div class="tokens" dir="auto" role="group" aria-label=${name} ref=${list} onKeyDown=${keys}>
    ${tokens.map((token, index) => {
      const share = values ? values[index + from] / (top || 1) : 0;
      const colour = values ? { background: css(share, theme), color: inkOn(share, theme) } : {};
      return html`<button
        class=${index + from === at ? "token on" : "token"}
        style=${colour}
        tabindex=${index + from === inside ? 0 : -1}
        title=${values ? formatted(values[index + from]) : ""}
        aria-pressed=${index + from === at}
        onClick=${() => onPick?.(index + from)}
        onPointerEnter=${() => onPick?.(index + from, true)}
      >
        ${visible(token)}
      </button>`;
    })}
  </div>`;
}
