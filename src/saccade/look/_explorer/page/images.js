// The views of images: maps over an image, and the path of an eye.

import { formatted, visible } from "./data.js";
import { Matrix } from "./matrix.js";
import { Bars, Readout, Save, Steps, Words, named, placeOf, svgFile, usePlane, useWidth } from "./planes.js";
import { Answers } from "./words.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./preact.js";

const WIDEST = 480; // CSS pixels of an image
const HEAT = [[255, 224, 77, 0], [255, 184, 38, 0.55], [250, 102, 13, 0.8], [217, 13, 26, 0.92]];
const SCALES = ["#ffb000", "#35e0ff", "#ff4fa3", "#8dff6a"]; // the finest first
const BRIGHT = 0.4; // of white over grey pixels
const CLASSES = 5;

/** The colour of a share of the largest number over an image, as [red, green, blue, opacity]. */
export function heatOf(share) {
  const place = Math.max(0, Math.min(1, share)) * (HEAT.length - 1);
  const low = Math.min(Math.floor(place), HEAT.length - 2);
  return HEAT[low].map((from, channel) => from + (HEAT[low + 1][channel] - from) * (place - low));
}

function useImage(address) {
  const [image, setImage] = useState(null);
  useEffect(() => {
    const loaded = new Image();
    loaded.onload = () => setImage(loaded);
    loaded.src = address;
  }, [address]);
  return image;
}

const painted = new WeakMap(); // images and planes to canvases

/** The canvas of something, painted at its first use. */
function canvasOf(key, width, height, paint) {
  if (painted.has(key)) return painted.get(key);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  paint(canvas.getContext("2d"));
  painted.set(key, canvas);
  return canvas;
}

function heatCanvas(plane, top) {
  return canvasOf(plane, plane.columns, plane.rows, (context) => {
    const cells = new ImageData(plane.columns, plane.rows);
    plane.values.forEach((value, at) => {
      const [red, green, blue, alpha] = heatOf(value / top);
      cells.data.set([red, green, blue, 255 * alpha], 4 * at);
    });
    context.putImageData(cells, 0, 0);
  });
}

/** An image in bright grey, on which a map is seen. */
function greyCanvas(image) {
  return canvasOf(image, image.width, image.height, (context) => {
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, image.width, image.height);
    for (let at = 0; at < pixels.data.length; at += 4) {
      const [red, green, blue] = pixels.data.subarray(at, at + 3);
      pixels.data.fill(255 * BRIGHT + (1 - BRIGHT) * (0.299 * red + 0.587 * green + 0.114 * blue), at, at + 3);
    }
    context.putImageData(pixels, 0, 0);
  });
}

/** Draw an image in grey, a map over it, and frames as shares of the image. */
function drawMap(canvas, { image, plane, top, opacity, smooth, frame, cursor, locked, accent }) {
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  context.imageSmoothingEnabled = Math.max(image.width, image.height) > 100;
  context.drawImage(opacity > 0 ? greyCanvas(image) : image, 0, 0, width, height);
  if (plane) {
    context.globalAlpha = opacity;
    context.imageSmoothingEnabled = smooth;
    context.drawImage(heatCanvas(plane, top), 0, 0, width, height);
    context.globalAlpha = 1;
  }
  const framed = ([left, up, right, down], colour, line) => {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(left * width, up * height, (right - left) * width, (down - up) * height);
  };
  if (frame) framed(frame, "#0a7cff", 3);
  if (cursor && plane) {
    const [row, column] = cursor;
    const cell = [column / plane.columns, row / plane.rows, (column + 1) / plane.columns, (row + 1) / plane.rows];
    framed(cell, "#ffffff", locked ? 5 : 4);
    framed(cell, accent, locked ? 3 : 2);
  }
}

/** Arrow keys over rows and columns: the next cell, or null for another key. */
export function movedCell(event, cursor, rows, columns) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return null;
  event.preventDefault();
  if (!cursor) return [0, 0];
  const page = event.shiftKey ? 10 : 1;
  const inside = (value, count) => Math.max(0, Math.min(count - 1, value));
  return [inside(cursor[0] + page * step[0], rows), inside(cursor[1] + page * step[1], columns)];
}

function MapCanvas({ sheet, plane, opacity, smooth, cursor, locked, set, label, node }) {
  const image = useImage(sheet.image);
  const [frame, width] = useWidth();
  const wide = Math.min(WIDEST, Math.max(120, width));
  const high = Math.max(24, Math.round((wide * sheet.size[1]) / sheet.size[0]));
  const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
  useLayoutEffect(() => {
    if (!image || !width) return;
    const accent = getComputedStyle(node.current).getPropertyValue("--accent").trim();
    drawMap(node.current, { image, plane, top: sheet.top, opacity, smooth, frame: label.frame, cursor, locked, accent });
  });
  const cellAt = (event) => {
    const box = node.current.getBoundingClientRect();
    const [row, column] = [((event.clientY - box.top) / box.height) * sheet.rows.length, ((event.clientX - box.left) / box.width) * sheet.columns.length];
    return [Math.max(0, Math.min(sheet.rows.length - 1, Math.floor(row))), Math.max(0, Math.min(sheet.columns.length - 1, Math.floor(column)))];
  };
  const keys = (event) => {
    const next = movedCell(event, cursor, sheet.rows.length, sheet.columns.length);
    if (next) set({ cursor: next });
    else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      set({ locked: !locked && Boolean(cursor) });
    } else if (event.key === "Escape") set({ locked: false });
  };
  return html`<div ref=${frame}>
    <canvas
      ref=${node}
      class="image"
      tabindex="0"
      role="application"
      aria-roledescription="map"
      aria-label=${`Map of ${label.name} over the image. Arrow keys move the cursor, Enter locks it.`}
      width=${Math.round(wide * ratio)}
      height=${Math.round(high * ratio)}
      style=${{ width: `${wide}px`, height: `${high}px` }}
      onPointerMove=${(event) => !locked && set({ cursor: cellAt(event) })}
      onPointerLeave=${() => !locked && set({ cursor: null })}
      onClick=${(event) => set(locked ? { locked: false } : { cursor: cellAt(event), locked: true })}
      onKeyDown=${keys}
    ></canvas>
  </div>`;
}

/** Maps over an image: one for each word of a caption, each read of a question, or each glimpse. */
export function MapsView({ manifest, sheet, state, set, pieces, theme }) {
  const { plane, failure } = usePlane(pieces, placeOf(state), sheet, manifest.tile);
  const [opacity, setOpacity] = useState(0.8);
  const [smooth, setSmooth] = useState(false);
  const node = useRef(null);
  const name = sheet.captions[state.head];
  const value = plane && state.cursor ? plane.at(...state.cursor) : null;
  const svg = () => {
    const [width, height] = [node.current.width, node.current.height];
    const pixels = node.current.toDataURL("image/png");
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><image href="${pixels}" width="${width}" height="${height}"/></svg>`;
  };
  return html`<section class="panel" aria-label="Maps">
    <h2>${sheet.title}</h2>
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
    <${Steps} name="Map" count=${sheet.heads} at=${state.head} text=${name} onPick=${(head) => set({ head })} />
    ${sheet.heads > 1 &&
    html`<${Words} name="Maps" tokens=${sheet.captions} label=${named} at=${state.head} theme=${theme} onPick=${(head, hover) => !hover && set({ head })} />`}
    <div class="controls">
      <label>Opacity <input type="range" name="opacity" min="0" max="1" step="0.05" value=${opacity} onInput=${(event) => setOpacity(Number(event.target.value))} /></label>
      <label><input type="checkbox" name="smooth" checked=${smooth} onChange=${(event) => setSmooth(event.target.checked)} /> Smooth</label>
    </div>
    <${Readout}
      hint="Point at the image, or move with the arrow keys."
      name=${state.cursor ? `${name}, row ${state.cursor[0] + 1}, column ${state.cursor[1] + 1}` : ""}
      value=${value}
      more=${sheet.even && value !== null ? `(${formatted(value / sheet.even)} even shares)` : ""}
      locked=${state.locked}
    />
    <div class="beside">
      <${MapCanvas}
        sheet=${sheet}
        plane=${plane}
        opacity=${opacity}
        smooth=${smooth}
        cursor=${state.cursor}
        locked=${state.locked}
        set=${set}
        label=${{ name, frame: sheet.boxes[state.head] }}
        node=${node}
      />
      <div>
        <img class="small" src=${sheet.image} alt="The image" />
        <p class="legend"><span>${sheet.scale} 0</span> <span class="ramp heat"></span> <span>${formatted(sheet.top)}</span></p>
        ${sheet.marks[state.head] && html`<p class="faint">Framed: row ${sheet.marks[state.head][0] + 1}, column ${sheet.marks[state.head][1] + 1}</p>`}
        ${sheet.question.length > 0 &&
        html`<h3>Question</h3>
          <${Question} sheet=${sheet} theme=${theme} />`}
        ${sheet.answers.length > 0 && html`<${Answers} answers=${sheet.answers} />`}
      </div>
    </div>
    <${Save} sheet=${sheet} plane=${plane} theme=${theme} svg=${svg} />
  </section>`;
}

/** A question, its words coloured by their numbers if there are some. */
function Question({ sheet, theme }) {
  const [at, setAt] = useState(null);
  const value = sheet.words && at !== null ? sheet.words[at] : null;
  return html`<${Words} name="Question" tokens=${sheet.question} values=${sheet.words} top=${sheet.words && Math.max(1e-30, ...sheet.words.map(Math.abs))} at=${at} theme=${theme} onPick=${setAt} />
    ${sheet.words && html`<${Readout} hint="Point at a word of the question." name=${at === null ? "" : visible(sheet.question[at])} value=${value} />`}`;
}

/** Boxes of all scales up to a glimpse, the way between them, and numbers. */
function Path({ sheet, at, onPick, node }) {
  const [width, height] = sheet.size;
  const unit = Math.max(width, height) / 100;
  const middles = sheet.boxes.map(([[left, top, side]]) => [Math.max(0, Math.min(width, left + side / 2)), Math.max(0, Math.min(height, top + side / 2))]);
  const shown = sheet.boxes.slice(0, at + 1);
  return html`<svg ref=${node} class="image path" viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${`The image with glimpses 1 to ${at + 1}`}>
    <image href=${sheet.image} width=${width} height=${height} style="image-rendering: ${Math.max(width, height) > 100 ? "auto" : "pixelated"}" />
    ${shown.map((glimpse, number) =>
      glimpse.map(
        ([x, y, side], scale) =>
          html`<rect x=${x} y=${y} width=${side} height=${side} fill="none" stroke=${SCALES[scale % SCALES.length]} stroke-width=${unit * (scale ? 0.4 : 0.8)} opacity=${number === at ? 1 : 0.35} />`,
      ),
    )}
    <polyline points=${middles.slice(0, at + 1).map((point) => point.join(",")).join(" ")} fill="none" stroke="#d7263d" stroke-width=${unit * 0.6} />
    ${middles.slice(0, at + 1).map(
      ([x, y], number) =>
        html`<g onClick=${() => onPick(number)}>
          <circle cx=${x} cy=${y} r=${unit * 2.6} fill="#d7263d" stroke="#ffffff" stroke-width=${unit * 0.4} opacity=${number === at ? 1 : 0.6} />
          <text x=${x} y=${y + unit * 1.2} text-anchor="middle" font-size=${unit * 3.4} fill="#ffffff">${number + 1}</text>
        </g>`,
    )}
  </svg>`;
}

/** What the eye saw at a glimpse, a patch for each scale, from the strip of all patches. */
function Patches({ sheet, at }) {
  const scales = sheet.boxes[0].length;
  return html`<div class="patches">
    ${Array.from(
      { length: scales },
      (_, scale) => html`<svg viewBox=${`${scale} ${at} 1 1`} role="img" aria-label=${`Glimpse ${at + 1}, scale ${scale + 1}`} style=${{ borderColor: SCALES[scale % SCALES.length] }}>
        <image href=${sheet.patches} width=${scales} height=${sheet.boxes.length} preserveAspectRatio="none" style="image-rendering: pixelated" />
      </svg>`,
    )}
  </div>`;
}

/** The path of an eye, step by step, with the probabilities of classes. */
export function PathView({ manifest, sheet, state, set, pieces, theme }) {
  const request = placeOf(state);
  const { plane, failure } = usePlane(pieces, request, sheet, manifest.tile);
  const node = useRef(null);
  const at = state.cursor ? state.cursor[0] : sheet.rows.length - 1;
  const pick = (row) => set({ cursor: [row, state.cursor?.[1] ?? 0] });
  const order = plane ? Array.from(plane.row(at).keys()).sort((a, b) => plane.at(at, b) - plane.at(at, a)).slice(0, CLASSES) : [];
  const [x, y] = sheet.location[at];
  const value = plane && state.cursor ? plane.at(...state.cursor) : null;
  const view = state.view && { row: state.view[0], column: state.view[1], cell: state.view[2] };
  return html`<section class="panel" aria-label="Path">
    <h2>${sheet.title}</h2>
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
    <${Steps} name="Glimpse" count=${sheet.rows.length} at=${at} text=${sheet.rows[at]} onPick=${pick} />
    <p class="readout" aria-live="polite">
      Glimpse ${at + 1} at x ${formatted(x)}, y ${formatted(y)}<span>${sheet.said[at] === undefined ? "" : `, says ${visible(sheet.said[at])}`}</span>
      ${plane && html`<span>: <bdi>${visible(sheet.columns[order[0]])}</bdi> <output>${formatted(plane.at(at, order[0]))}</output></span>`}
    </p>
    <div class="beside">
      <${Path} sheet=${sheet} at=${at} onPick=${pick} node=${node} />
      <div>
        <h3>Patches</h3>
        <${Patches} sheet=${sheet} at=${at} />
        <h3>Likeliest</h3>
        ${plane && html`<${Bars} name="Likeliest" names=${order.map((label) => sheet.columns[label])} values=${order.map((label) => plane.at(at, label))} top=${1} />`}
      </div>
    </div>
    <h3>Probabilities after each glimpse</h3>
    <${Readout} hint="Point at a cell, or move with the arrow keys." name=${state.cursor ? `${sheet.rows[state.cursor[0]]}, ${visible(sheet.columns[state.cursor[1]])}` : ""} value=${value} locked=${state.locked} />
    <${Matrix}
      sheet=${{ ...sheet, rows: sheet.rows.map((_, number) => String(number + 1)) }}
      pieces=${pieces}
      request=${request}
      tile=${manifest.tile}
      theme=${theme}
      view=${view}
      cursor=${state.cursor && { row: state.cursor[0], column: state.cursor[1] }}
      locked=${state.locked}
      label="Probabilities of classes after each glimpse"
      onView=${(next) => set({ view: next && [next.row, next.column, next.cell] })}
      onCursor=${(cell) => cell && set({ cursor: [cell.row, cell.column] })}
      onLock=${(cell, keep) => set(cell && (keep || !state.locked) ? { cursor: [cell.row, cell.column], locked: true } : { locked: false })}
    />
    <${Save} sheet=${sheet} plane=${plane} theme=${theme} svg=${() => svgFile(node.current, theme)} />
  </section>`;
}
