// Layers × heads: one number a head, in its place or in the order of the numbers.

import { formatted } from "./data.js";
import { css, inkOn } from "./colours.js";
import { html, useEffect, useRef, useState } from "./preact.js";

const MOST = 512; // heads in an ordered list

/** Heads with their numbers, the largest first, those without a number last. */
export function ordered(values, descending = true) {
  const heads = values.flatMap((row, layer) => row.map((value, head) => ({ layer, head, value })));
  const sign = descending ? -1 : 1;
  return heads.sort((a, b) => (a.value === null) - (b.value === null) || sign * (a.value - b.value));
}

/** Names of layers without the end that all of them share, such as ".attention". */
export function shortened(names) {
  const parts = names.map((name) => name.split("."));
  let shared = 0;
  while (names.length > 1 && parts.every((part) => part.length > shared + 1 && part.at(-1 - shared) === parts[0].at(-1 - shared))) shared++;
  return parts.map((part) => part.slice(0, part.length - shared).join("."));
}

function ends(values) {
  const numbers = values.flat().filter((value) => value !== null);
  return [Math.min(...numbers), Math.max(...numbers)];
}

/** The layers in the order of their requests: the open one, then those around it. */
export function nearest(count, layer) {
  return Array.from({ length: count }, (_, at) => at).sort((a, b) => Math.abs(a - layer) - Math.abs(b - layer) || a - b);
}

/** Numbers of the heads by name, layers × heads, null for those that have not arrived. */
function useMeasures(pieces, number, sheet, layer, example) {
  const late = Object.keys(sheet.measures).filter((name) => sheet.measures[name] === null);
  const empty = () => Object.fromEntries(late.map((name) => [name, sheet.layers.map(() => Array(sheet.heads).fill(null))]));
  const [arrived, setArrived] = useState({ of: null, values: {}, missing: 0, failure: "" });
  const fill = async (state, open) => {
    for (const at of nearest(sheet.layers.length, layer)) {
      const piece = await pieces.get({ piece: "measures", sheet: number, layer: at, example });
      if (!open()) return;
      late.forEach((name) => {
        const start = piece.names.indexOf(name) * sheet.heads;
        const numbers = Array.from(piece.values.subarray(start, start + sheet.heads), (value) => (Number.isFinite(value) ? value : null));
        state.values[name] = state.values[name].map((each, index) => (index === at ? numbers : each));
      });
      state.missing--;
      setArrived({ ...state });
    }
  };
  useEffect(() => {
    let open = true;
    const state = { of: sheet, example, values: empty(), missing: sheet.layers.length, failure: "" };
    if (late.length) fill(state, () => open).catch((error) => open && setArrived({ ...state, failure: error.message }));
    return () => {
      open = false;
    };
  }, [sheet, example]);
  const current = arrived.of === sheet && arrived.example === example;
  const known = Object.entries(sheet.measures).filter(([, values]) => values !== null);
  return {
    values: { ...(current ? arrived.values : empty()), ...Object.fromEntries(known.map(([name, values]) => [name, values[example]])) },
    missing: current ? arrived.missing : late.length && sheet.layers.length,
    failure: current ? arrived.failure : "",
  };
}

/** The grid. `onPick(layer, head)` opens a head. */
export function Grid({ pieces, number, sheet, example, measure, order, layer, head, theme, onPick, onMeasure, onOrder }) {
  const table = useRef(null);
  const names = Object.keys(sheet.measures);
  const rows = shortened(sheet.layers);
  const { values: measures, missing, failure } = useMeasures(pieces, number, sheet, layer, example);
  const values = measures[measure] ?? sheet.layers.map(() => Array(sheet.heads).fill(null));
  const [low, high] = ends(values);
  const share = (value) => (value === null ? 0 : high > low ? 0.06 + (0.94 * (value - low)) / (high - low) : 0.5);
  const focused = () => requestAnimationFrame(() => table.current?.querySelector('[tabindex="0"]')?.focus());
  const keys = (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!steps) return;
    const to = [Math.max(0, Math.min(sheet.layers.length - 1, layer + steps[0])), Math.max(0, Math.min(sheet.heads - 1, head + steps[1]))];
    event.preventDefault();
    onPick(...to);
    focused();
  };
  const cell = (at, number, value, text, reached = at === layer && number === head) => html`<button
    class=${at === layer && number === head ? "head on" : "head"}
    tabindex=${reached ? 0 : -1}
    aria-pressed=${at === layer && number === head}
    aria-label=${`${text && `${text}: `}${sheet.layers[at] || "layer"}, head ${number}${value === null ? "" : `, ${measure} ${formatted(value)}`}`}
    title=${`${sheet.layers[at]}, head ${number}${value === null ? "" : `: ${measure} ${formatted(value)}`}`}
    style=${{ background: css(share(value), theme), color: inkOn(share(value), theme) }}
    onClick=${() => onPick(at, number)}
  >
    ${text}
  </button>`;
  const list = () => {
    const heads = ordered(values, order === "largest").slice(0, MOST);
    const chosen = Math.max(0, heads.findIndex((each) => each.layer === layer && each.head === head));
    const along = (event) => {
      const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
      const next = heads[chosen + step];
      if (!step || !next) return;
      event.preventDefault();
      onPick(next.layer, next.head);
      focused();
    };
    return html`<ol class="ordered" aria-label="Heads in order" ref=${table} onKeyDown=${along}>
      ${heads.map(
        (each, at) =>
          html`<li>${cell(each.layer, each.head, each.value, `${each.layer}.${each.head}`, at === chosen)} <span>${each.value === null ? "" : formatted(each.value)}</span></li>`,
      )}
    </ol>`;
  };
  const squares = () =>
    html`<table class="heads" ref=${table} onKeyDown=${keys}>
      <caption class="hidden">A number of each head. Arrow keys move to other heads.</caption>
      <thead>
        <tr>
          <td></td>
          ${Array.from({ length: sheet.heads }, (_, number) => html`<th scope="col">${number}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${values.map(
          (row, at) =>
            html`<tr>
              <th scope="row" title=${sheet.layers[at]}>${rows[at]}</th>
              ${row.map((value, number) => html`<td>${cell(at, number, value, "")}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>`;
  return html`<section class="panel" aria-label="Layers and heads">
    <h2>Layers × heads</h2>
    <div class="controls">
      ${names.length > 0 &&
      html`<label
          >Number
          <select name="measure" value=${measure} onChange=${(event) => onMeasure(event.target.value)}>
            ${names.map((name) => html`<option value=${name}>${name}</option>`)}
          </select></label
        ><label
          >Order
          <select name="order" value=${order} onChange=${(event) => onOrder(event.target.value)}>
            <option value="place">layers × heads</option>
            <option value="largest">largest first</option>
            <option value="smallest">smallest first</option>
          </select></label
        >`}
    </div>
    <div class="scroll" tabindex="0" role="group" aria-label="Heads">${order === "place" || !names.length ? squares() : list()}</div>
    ${Number.isFinite(low) && html`<p class="faint">${measure}: ${formatted(low)} to ${formatted(high)}${missing ? ` so far, ${missing} of ${sheet.layers.length} layers to come` : ""}</p>`}
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
  </section>`;
}
