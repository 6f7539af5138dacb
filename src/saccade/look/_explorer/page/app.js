// The explorer: state, layout, and the views of each kind of sheet.

import { Pieces, formatted, visible } from "./data.js";
import { Matrix, Tokens } from "./matrix.js";
import { Grid } from "./grid.js";
import { Line } from "./lines.js";
import { Live, SavePage } from "./live.js";
import { csvOf, download, numbersOf, region, svgOf } from "./saving.js";
import { WordsView } from "./words.js";
import { MapsView, PathView } from "./images.js";
import { BandsView, Load, SoundView } from "./bands.js";
import { BarsView, CurveView } from "./charts.js";
import { html, render as mount, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./preact.js";

const MOST_HEADS = 2048; // in the list of a comparison
const LONG = 512; // tokens beyond which the text is shown around the cursor alone

/** The state with every entry in its range, whatever a URL holds. */
export function checked(state, manifest) {
  const whole = (value, count, least = 0) => (Number.isInteger(value) && value >= least && value < count ? value : Math.max(0, least));
  const sheet = whole(state.sheet, manifest.sheets.length);
  const about = manifest.sheets[sheet];
  const names = Object.keys(about.measures);
  const pair = (value) =>
    Array.isArray(value) && Number.isInteger(value[0]) && Number.isInteger(value[1]) && value[0] >= 0 && value[1] >= 0 && value[0] < about.rows.length && value[1] < Math.max(1, about.columns.length) ? value : null; // lines alone have no columns
  const view = Array.isArray(state.view) && state.view.length === 3 && state.view.every((value) => Number.isFinite(value)) && state.view[2] > 0 ? state.view : null;
  const minus = Array.isArray(state.minus) && state.minus.length === 3 && state.minus.every((value) => Number.isInteger(value) && value >= 0) ? state.minus : null;
  const other = minus && manifest.sheets[minus[0]];
  const alike = other?.matrix && other.rows.length === about.rows.length && other.columns.length === about.columns.length;
  return {
    sheet,
    layer: whole(state.layer, about.layers.length),
    head: whole(state.head, about.heads),
    example: whole(state.example, about.examples),
    measure: names.includes(state.measure) ? state.measure : (names[0] ?? ""),
    order: ["place", "largest", "smallest"].includes(state.order) ? state.order : "place",
    cursor: pair(state.cursor),
    locked: Boolean(state.locked && pair(state.cursor)),
    view,
    minus: alike && minus[1] < other.layers.length && minus[2] < other.heads ? minus : null,
    compare: state.compare === "beside" ? "beside" : "difference",
    theme: ["light", "dark"].includes(state.theme) ? state.theme : "system",
  };
}

function useTheme(wanted) {
  const query = useMemo(() => globalThis.matchMedia?.("(prefers-color-scheme: dark)"), []);
  const [dark, setDark] = useState(Boolean(query?.matches));
  useEffect(() => {
    const change = () => setDark(query.matches);
    query?.addEventListener("change", change);
    return () => query?.removeEventListener("change", change);
  }, []);
  return wanted === "system" ? (dark ? "dark" : "light") : wanted;
}

function Select({ name, value, options, onPick }) {
  if (options.length < 2) return null;
  return html`<label
    >${name}
    <select name=${name.toLowerCase()} value=${value} onChange=${(event) => onPick(Number(event.target.value))}>
      ${options.map((text, index) => html`<option value=${index}>${text}</option>`)}
    </select></label
  >`;
}

/** The latest row or column of a place. `exact` if it is the one at the cursor, not the one before. */
function useRow(pieces, request, part, at) {
  const [latest, setLatest] = useState({ key: "", piece: null });
  const key = JSON.stringify([request, part, at]);
  useLayoutEffect(() => {
    let open = true;
    const keep = (piece) => open && setLatest({ key, piece });
    if (at === null || at === undefined) keep(null);
    else pieces.get({ ...request, piece: part, at }).then(keep, () => keep(null));
    return () => {
      open = false;
    };
  }, [key]);
  return { ...latest.piece, exact: latest.key === key };
}

/** Tokens around a place, all if they are few. */
function around(tokens, at) {
  if (tokens.length <= LONG) return [0, tokens];
  const from = Math.max(0, Math.min(tokens.length - LONG, (at ?? 0) - LONG / 2));
  return [from, tokens.slice(from, from + LONG)];
}

function Attention({ manifest, sheet, state, set, pieces, theme }) {
  const request = { sheet: state.sheet, layer: state.layer, head: state.head, example: state.example };
  const beside = state.minus && state.compare === "beside";
  if (state.minus && !beside) request.minus = state.minus;
  const other = beside && { sheet: state.minus[0], layer: state.minus[1], head: state.minus[2], example: Math.min(state.example, manifest.sheets[state.minus[0]].examples - 1) };
  const cursor = state.cursor && { row: state.cursor[0], column: state.cursor[1] };
  const row = useRow(pieces, request, "row", sheet.matrix ? cursor?.row : null);
  const column = useRow(pieces, request, "column", sheet.matrix ? cursor?.column : null);
  const otherRow = useRow(pieces, other || request, "row", sheet.matrix && other ? cursor?.row : null);
  const at = (line) => (line.exact && line.values && cursor ? formatted(line.values[cursor.column]) : "…");
  const title = `${sheet.title}, ${sheet.layers[state.layer] || "layer 0"}, head ${state.head}`;
  const view = state.view && { row: state.view[0], column: state.view[1], cell: state.view[2] };
  const seen = useRef(null);
  const [failure, setFailure] = useState("");
  const point = (cell) => set({ cursor: cell && [cell.row, cell.column] });
  const save = async (form) => {
    setFailure("");
    try {
      const { view: shown, size, canvas } = seen.current;
      const part = region(shown, size, sheet);
      const name = `${sheet.title} ${state.layer}.${state.head}`.replace(/[^\p{L}\p{N}]+/gu, "-");
      if (form === "png") return canvas.toBlob((blob) => download(`${name}.png`, blob));
      const { parts, top } = await numbersOf(pieces, request, part);
      if (form === "csv") download(`${name}.csv`, csvOf(parts, sheet, part), "text/csv");
      else download(`${name}.svg`, svgOf(parts, sheet, part, top, theme, title), "image/svg+xml");
    } catch (error) {
      setFailure(error.message);
    }
  };
  const [rowsFrom, rowTokens] = around(sheet.rows, cursor?.row);
  const [columnsFrom, columnTokens] = around(sheet.columns, cursor?.column);
  const grid = useMemo(
    () => html`<${Grid}
      pieces=${pieces}
      number=${state.sheet}
      sheet=${sheet}
      example=${state.example}
      measure=${state.measure}
      order=${state.order}
      layer=${state.layer}
      head=${state.head}
      theme=${theme}
      onPick=${(layer, head) => set({ layer, head })}
      onMeasure=${(measure) => set({ measure })}
      onOrder=${(order) => set({ order })}
    />`,
    [sheet, pieces, state.sheet, state.example, state.measure, state.order, state.layer, state.head, theme],
  ); // movements of the cursor draw no heads
  const compare = useMemo(() => html`<${Compare} manifest=${manifest} state=${state} sheet=${sheet} set=${set} />`, [manifest, sheet, state.minus, state.compare]);
  return html`<div class=${sheet.layers.length * sheet.heads > 1 ? "split" : "single"}>
    ${sheet.layers.length * sheet.heads > 1 &&
    grid}
    <section class="panel" aria-label="Alignment">
      <h2>${sheet.layers[state.layer] ? `${sheet.layers[state.layer]}, head ${state.head}` : sheet.title}</h2>
      <div class="controls">
        <${Select} name="Layer" value=${state.layer} options=${sheet.layers} onPick=${(layer) => set({ layer })} />
        <${Select} name="Head" value=${state.head} options=${Array.from({ length: sheet.heads }, (_, i) => String(i))} onPick=${(head) => set({ head })} />
        <${Select} name="Example" value=${state.example} options=${Array.from({ length: sheet.examples }, (_, i) => String(i))} onPick=${(example) => set({ example })} />
        ${compare}
      </div>
      ${sheet.note && html`<p class="faint">${sheet.note}</p>`}
      ${sheet.drawn && html`<p class="faint">A circle marks the key that a row took.</p>`}
      ${sheet.matrix &&
      html`<p class="readout" aria-live="polite">
          ${!cursor
            ? "Point at a cell, or move with the arrow keys."
            : html`<bdi>${visible(sheet.rows[cursor.row])}</bdi> → <bdi>${visible(sheet.columns[cursor.column])}</bdi>:
                ${" "}<output>${at(row)}</output>
                ${other && html`${" and "}<output>${at(otherRow)}</output>`}
                ${sheet.drawn?.[state.example][state.layer][state.head][cursor.row] === cursor.column ? " (taken)" : ""}
                ${state.locked ? " (locked)" : ""}`}
        </p>
        <div class=${other ? "pair" : ""}>
          ${[[request, sheet], ...(other ? [[other, manifest.sheets[other.sheet]]] : [])].map(
            ([place, shown], number) => html`<div>
              ${other && html`<h3>${shown.layers[place.layer] || shown.title}, head ${place.head}</h3>`}
              <${Matrix}
                sheet=${shown}
                pieces=${pieces}
                request=${place}
                tile=${manifest.tile}
                theme=${theme}
                view=${view}
                cursor=${cursor}
                locked=${state.locked}
                seen=${number ? null : seen}
                label=${number ? `${shown.title}, ${shown.layers[place.layer]}, head ${place.head}` : title}
                onView=${(next) => set({ view: next && [next.row, next.column, next.cell] })}
                onCursor=${point}
                onLock=${(cell, keep) => set(cell && (keep || !state.locked) ? { cursor: [cell.row, cell.column], locked: true } : { locked: false })}
              />
            </div>`,
          )}
        </div>
        <div class="tools" role="group" aria-label="Save">
          Save ${["svg", "png", "csv"].map((form) => html`<button onClick=${() => save(form)}>${form.toUpperCase()}</button>`)}
        </div>
        ${failure && html`<p class="error" role="alert">${failure}</p>`}
        <h3>Attended by ${cursor ? html`<bdi>${visible(sheet.rows[cursor.row])}</bdi>` : "…"}</h3>
        <${Tokens}
          name="Keys"
          tokens=${columnTokens}
          from=${columnsFrom}
          values=${row.values}
          top=${row.top}
          at=${cursor?.column}
          theme=${theme}
          onPick=${(index, hover) => !(hover && state.locked) && set({ cursor: [cursor?.row ?? 0, index] })}
        />
        <h3>Attending to ${cursor ? html`<bdi>${visible(sheet.columns[cursor.column])}</bdi>` : "…"}</h3>
        <${Tokens}
          name="Queries"
          tokens=${rowTokens}
          from=${rowsFrom}
          values=${column.values}
          top=${column.top}
          at=${cursor?.row}
          theme=${theme}
          onPick=${(index, hover) => !(hover && state.locked) && set({ cursor: [index, cursor?.column ?? 0] })}
        />`}
      ${sheet.lines.map((name) => {
        const along = name === "received" ? "column" : "row";
        const tokens = along === "column" ? sheet.columns : sheet.rows;
        const pick = (index) => set({ cursor: along === "column" ? [cursor?.row ?? 0, index] : [index, cursor?.column ?? 0] });
        return html`<${Line} name=${name} pieces=${pieces} request=${{ ...request, minus: undefined }} tokens=${tokens} at=${cursor?.[along]} onPick=${pick} />`;
      })}
    </section>
  </div>`;
}

/** The other head of a difference: same shape, any sheet. */
function Compare({ manifest, state, sheet, set }) {
  const places = manifest.sheets.flatMap((each, number) =>
    each.matrix && each.rows.length === sheet.rows.length && each.columns.length === sheet.columns.length
      ? each.layers.flatMap((layer, at) => Array.from({ length: each.heads }, (_, head) => [number, at, head]))
      : [],
  );
  if (places.length < 2) return null;
  const name = ([number, layer, head]) => {
    const each = manifest.sheets[number];
    return `${manifest.sheets.length > 1 ? `${number + 1}: ` : ""}${each.layers[layer] || "layer 0"}, head ${head}`;
  };
  return html`<label
    >Compare with
    <select name="minus" value=${state.minus ? state.minus.join(",") : ""} onChange=${(event) => set({ minus: event.target.value ? event.target.value.split(",").map(Number) : null })}>
      <option value="">nothing</option>
      ${places.slice(0, MOST_HEADS).map((place) => html`<option value=${place.join(",")}>${name(place)}</option>`)}
      ${places.length > MOST_HEADS && html`<option disabled>${places.length - MOST_HEADS} more heads are not listed</option>`}
    </select></label
    >${state.minus &&
    html`<label
      >as
      <select name="compare" value=${state.compare} onChange=${(event) => set({ compare: event.target.value })}>
        <option value="difference">difference</option>
        <option value="beside">side by side</option>
      </select></label
    >`}`;
}

function Explorer({ model, pieces }) {
  const [manifest, setManifest] = useState(model.get("manifest"));
  const [state, setState] = useState(() => checked(model.get("state") ?? {}, manifest));
  const latest = useRef(state);
  const about = useRef(manifest);
  latest.current = state;
  const theme = useTheme(state.theme);
  const set = (part) => {
    const next = checked({ ...latest.current, ...part }, about.current);
    if (part.sheet !== undefined && part.sheet !== latest.current.sheet) Object.assign(next, checked({ ...next, cursor: null, view: null, minus: null, locked: false }, about.current));
    if (JSON.stringify(next) === JSON.stringify(latest.current)) return;
    latest.current = next;
    setState(next);
    model.set("state", next);
    model.save_changes();
  };
  const adopt = (next) => {
    pieces.book = next.book;
    about.current = next;
    setManifest(next);
    setState((latest.current = checked(latest.current, next)));
  };
  const open = (next, sheet) => {
    adopt(next);
    set({ sheet, cursor: null, view: null, minus: null, locked: false });
  };
  useEffect(() => {
    const changed = () => {
      const next = checked(model.get("state") ?? {}, about.current);
      if (JSON.stringify(next) !== JSON.stringify(latest.current)) setState((latest.current = next));
    };
    const replaced = () => adopt(model.get("manifest"));
    model.on("change:state", changed);
    model.on("change:manifest", replaced);
    return () => {
      model.off?.("change:state", changed);
      model.off?.("change:manifest", replaced);
    };
  }, []);
  const sheet = manifest.sheets[state.sheet];
  return html`<div class="saccade" data-theme=${theme}>
    <header>
      <h1>${visible(manifest.title, 80).replaceAll("␣", " ")}</h1>
      <${SavePage} pieces=${pieces} />
      <label
        >Theme
        <select name="theme" value=${state.theme} onChange=${(event) => set({ theme: event.target.value })}>
          ${["system", "light", "dark"].map((name) => html`<option value=${name}>${name}</option>`)}
        </select></label
      >
    </header>
    ${manifest.live && html`<${Live} pieces=${pieces} onManifest=${open} />`}
    ${manifest.sheets.length > 1 &&
    html`<nav aria-label="Sheets">
      <${Select} name="Sheet" value=${state.sheet} options=${manifest.sheets.map((each, at) => `${at + 1}: ${visible(each.title, 60).replaceAll("␣", " ")}`)} onPick=${(at) => set({ sheet: at })} />
    </nav>`}
    <${VIEWS[sheet.kind] ?? Attention} key=${`${manifest.book} ${state.sheet}`} manifest=${manifest} sheet=${sheet} state=${state} set=${set} pieces=${pieces} theme=${theme} />
  </div>`;
}

/** The view of each kind of sheet. */
const VIEWS = {
  attention: Attention,
  experts: (props) => html`<${Load} ...${props} /><${Attention} ...${props} />`,
  words: WordsView,
  maps: MapsView,
  path: PathView,
  bands: BandsView,
  sound: SoundView,
  bars: BarsView,
  curve: CurveView,
};

/** The contract of anywidget: draw a model into an element, and return the end. */
export function render({ model, el }) {
  const manifest = model.get("manifest");
  if (manifest?.format !== FORMAT) {
    failed(el, new Error(`Expected a page of format ${FORMAT}, got ${manifest?.format}. Write it again with this version.`));
    return () => mount(null, el);
  }
  const pieces = new Pieces(model);
  mount(html`<${Explorer} model=${model} pieces=${pieces} />`, el);
  return () => {
    mount(null, el);
    pieces.close();
  };
}

/** Draw an error in the place of the explorer. */
export function failed(el, error) {
  mount(html`<div class="saccade"><p class="error" role="alert">${error.message}</p></div>`, el);
}

const FORMAT = 1;
