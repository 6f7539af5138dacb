// What the views of pictures share: whole matrices, readouts, steps, bars, and files.

import { formatted, visible } from "./data.js";
import { css, inkOn } from "./colours.js";
import { csvOf, download, svgOf } from "./saving.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./preact.js";

const STEPS = 11; // colours of a legend

/** The place of a state, as a request names it. */
export function placeOf(state) {
  return { sheet: state.sheet, layer: state.layer, head: state.head, example: state.example };
}

/** All numbers of a place, row by row, from tiles. */
export async function wholePlane(pieces, request, sheet, tile) {
  const [rows, columns] = [sheet.rows.length, sheet.columns.length];
  const values = new Float32Array(rows * columns);
  const parts = [];
  for (let row = 0; row * tile < rows; row++) for (let column = 0; column * tile < columns; column++) parts.push({ row, column });
  const found = await Promise.all(parts.map((part) => pieces.get({ ...request, piece: "tile", level: 0, ...part })));
  found.forEach(({ values: cells, shape: [height, width] }, at) => {
    const { row, column } = parts[at];
    for (let line = 0; line < height; line++) values.set(cells.subarray(line * width, (line + 1) * width), (row * tile + line) * columns + column * tile);
  });
  return { values, rows, columns, top: found[0]?.top ?? 1, at: (row, column) => values[row * columns + column], row: (row) => values.subarray(row * columns, (row + 1) * columns) };
}

/** The numbers of a place, null until they are there, and a message of failure. */
export function usePlane(pieces, request, sheet, tile) {
  const key = JSON.stringify(request);
  const [found, setFound] = useState({ key: "", plane: null, failure: "" });
  useEffect(() => {
    let open = true;
    wholePlane(pieces, request, sheet, tile).then(
      (plane) => open && setFound({ key, plane, failure: "" }),
      (error) => open && setFound({ key, plane: null, failure: error.message }),
    );
    return () => {
      open = false;
    };
  }, [key]);
  return found.key === key ? found : { key, plane: null, failure: "" };
}

/** The width of an element, and its ref. */
export function useWidth() {
  const frame = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(frame.current?.clientWidth ?? 0);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return [frame, width];
}

/** The number at the cursor, read aloud as it changes. */
export function Readout({ hint, name, value, more = "", locked }) {
  return html`<p class="readout" aria-live="polite">
    ${value === null || value === undefined ? hint : html`<bdi>${name}</bdi>: <output>${Number.isNaN(value) ? "no number" : formatted(value)}</output> ${more} ${locked ? "(locked)" : ""}`}
  </p>`;
}

/** A slider over steps, with buttons. */
export function Steps({ name, count, at, text, onPick }) {
  if (count < 2) return null;
  return html`<div class="steps" role="group" aria-label=${name}>
    <button onClick=${() => onPick(Math.max(0, at - 1))} disabled=${at === 0} aria-label=${`Previous ${name.toLowerCase()}`}>‹</button>
    <input
      type="range"
      name=${name.toLowerCase()}
      aria-label=${name}
      aria-valuetext=${text}
      min="0"
      max=${count - 1}
      value=${at}
      onInput=${(event) => onPick(Number(event.target.value))}
    />
    <button onClick=${() => onPick(Math.min(count - 1, at + 1))} disabled=${at === count - 1} aria-label=${`Next ${name.toLowerCase()}`}>›</button>
    <span>${at + 1} / ${count}</span>
  </div>`;
}

/** Names with bars from 0 and their numbers; errors are half the length of an interval. */
export function Bars({ name, names, values, errors = [], on, top, onPick }) {
  const numbers = Array.from(values, (value) => (Number.isFinite(value) ? value : 0));
  const most = top ?? Math.max(1e-30, ...numbers.map((value, at) => Math.abs(value) + (errors[at] || 0)));
  const signed = numbers.some((value) => value < 0);
  const share = (value) => Math.min(100, (Math.abs(value) / most) * (signed ? 50 : 100));
  return html`<table class="bars" aria-label=${name}>
    ${names.map(
      (text, at) => html`<tr class=${at === on ? "on" : ""} onClick=${() => onPick?.(at)}>
        <th scope="row"><bdi>${named(text, 48)}</bdi></th>
        <td class="bar">
          <span class=${values[at] < 0 ? "against" : ""} style=${{ width: `${share(numbers[at])}%`, marginLeft: signed ? `${values[at] < 0 ? 50 - share(numbers[at]) : 50}%` : 0 }}></span>
        </td>
        <td class="number">${Number.isFinite(values[at]) ? formatted(values[at]) : "–"}${errors[at] ? ` ± ${formatted(errors[at])}` : ""}</td>
      </tr>`,
    )}
  </table>`;
}

/** The colours of numbers from `low` to `top`. */
export function Legend({ name, low, top, theme, even }) {
  const stops = Array.from({ length: STEPS }, (_, step) => css((low + ((top - low) * step) / (STEPS - 1)) / top, theme));
  return html`<p class="legend">
    <span>${name}</span> <span>${formatted(low)}</span>
    <span class="ramp" style=${{ background: `linear-gradient(90deg, ${stops.join(", ")})` }}></span> <span>${formatted(top)}</span>
    ${even ? html`<span>${formatted(even)} if all were alike</span>` : ""}
  </p>`;
}

/** A name as a label: its spaces are no part of a token. */
export function named(text, length) {
  return visible(text, length).replaceAll("␣", " ");
}

/** Words coloured by their numbers. Arrow keys move to other words and to other rows. */
export function Words({ name, tokens, values, top, at, theme, onPick, onRow, label = visible }) {
  const keys = (event) => {
    const right = getComputedStyle(event.currentTarget).direction === "rtl" ? -1 : 1;
    const step = { ArrowLeft: -right, ArrowRight: right, Home: -tokens.length, End: tokens.length }[event.key];
    const row = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step && !(row && onRow)) return;
    event.preventDefault();
    if (row) return onRow(row);
    const next = Math.max(0, Math.min(tokens.length - 1, (at ?? 0) + step));
    onPick(next);
    event.currentTarget.querySelectorAll("button")[next]?.focus();
  };
  const latest = useRef(onPick);
  latest.current = onPick;
  const button = (index, on, first) => {
    const share = values ? values[index] / (top || 1) : 0;
    return html`<button
      class=${on ? "token on" : "token"}
      tabindex=${first ? 0 : -1}
      style=${values ? { background: css(share, theme), color: inkOn(share, theme) } : {}}
      title=${values ? formatted(values[index]) : ""}
      data-value=${values ? values[index] : ""}
      aria-pressed=${on}
      onClick=${() => latest.current(index, false)}
      onPointerEnter=${() => latest.current(index, true)}
    >
      ${label(tokens[index])}
    </button>`;
  };
  const source = values?.buffer ?? values; // rows of a plane are other views of one buffer at each call
  const buttons = useMemo(() => tokens.map((_, index) => button(index, false, false)), [tokens, source, values?.byteOffset, top, theme]);
  const shown = buttons.slice(); // those that stay as they are cost nothing
  if (tokens.length) shown[at ?? 0] = button(at ?? 0, at !== null && at !== undefined, true);
  return html`<p class="tokens words" dir="auto" aria-label=${name} onKeyDown=${keys}>${shown}</p>`;
}

async function pngOf(svg) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error("The picture could not be drawn. Save an SVG."));
      image.src = address;
    });
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Buttons that save a view; without `svg`, its matrix is drawn as cells. */
export function Save({ sheet, plane, theme, svg }) {
  const [failure, setFailure] = useState("");
  const whole = { rows: [0, sheet.rows.length], columns: [0, sheet.columns.length] };
  const parts = () => sheet.rows.map((_, row) => plane.row(row));
  const save = async (form) => {
    setFailure("");
    try {
      const name = sheet.title.slice(0, 60).replace(/[^\p{L}\p{N}]+/gu, "-");
      if (form === "csv") return download(`${name}.csv`, csvOf(parts(), sheet, whole), "text/csv");
      const text = svg ? svg() : svgOf(parts(), sheet, whole, plane.top, theme, sheet.title);
      download(`${name}.${form}`, form === "svg" ? text : await pngOf(text), "image/svg+xml");
    } catch (error) {
      setFailure(error.message);
    }
  };
  return html`<div class="tools" role="group" aria-label="Save">
      Save ${["svg", "png", "csv"].map((form) => html`<button disabled=${!plane} onClick=${() => save(form)}>${form.toUpperCase()}</button>`)}
    </div>
    ${failure && html`<p class="error" role="alert">${failure}</p>`}`;
}

/** The SVG of an element as a file of its own, with the colours it has now. */
export function svgFile(node, theme) {
  const copy = node.cloneNode(true);
  const [from, to] = [[node, ...node.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((element, at) => {
    const styles = getComputedStyle(element);
    for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "opacity"]) to[at].setAttribute(name, styles.getPropertyValue(name));
  });
  const { width, height } = node.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", Math.round(width));
  copy.setAttribute("height", Math.round(height));
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const [x, y, wide, high] = (node.getAttribute("viewBox") ?? `0 0 ${width} ${height}`).split(" ");
  for (const [name, value] of Object.entries({ x, y, width: wide, height: high, fill: theme === "dark" ? "#14161d" : "#ffffff" })) paper.setAttribute(name, value);
  copy.insertBefore(paper, copy.firstChild);
  return new XMLSerializer().serializeToString(copy);
}
