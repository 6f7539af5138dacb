// The host of a file: the numbers are in the page, compressed.

import { parsePiece } from "./data.js";

const TEXT = new TextEncoder();

async function unpacked(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** A message as of Python: length of the JSON, JSON, float32 numbers. */
export function packed(about, values) {
  let head = TEXT.encode(JSON.stringify(about));
  if (head.length % 4) head = TEXT.encode(JSON.stringify(about) + " ".repeat(4 - (head.length % 4)));
  const buffer = new ArrayBuffer(4 + head.length + 4 * values.length);
  new DataView(buffer).setUint32(0, head.length, true);
  new Uint8Array(buffer, 4, head.length).set(head);
  new Float32Array(buffer, 4 + head.length).set(values);
  return new DataView(buffer);
}

/** Half the size, each cell the number of the largest magnitude, as in Python. */
export function halved({ rows, columns, values }) {
  const [height, width] = [Math.ceil(rows / 2), Math.ceil(columns / 2)];
  const half = new Float32Array(height * width);
  for (let row = 0; row < height; row++)
    for (let column = 0; column < width; column++) {
      let [most, least] = [-Infinity, Infinity];
      for (let r = 2 * row; r < Math.min(rows, 2 * row + 2); r++)
        for (let c = 2 * column; c < Math.min(columns, 2 * column + 2); c++) {
          most = Math.max(most, values[r * columns + c]);
          least = Math.min(least, values[r * columns + c]);
        }
      half[row * width + column] = most >= -least ? most : least;
    }
  return { rows: height, columns: width, values: half };
}

function scaleOf(values, columns) {
  let [peak, low] = [0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    peak = Math.max(peak, Math.abs(value));
    low = Math.min(low, value);
  }
  const top = (0.5 < peak && peak <= 1) || !peak ? 1 : peak;
  return { top: Math.max(top, low < 0 ? 0 : Math.min(1, 4 / columns)), low: low < 0 ? -1 : 0 };
}

/** A book whose numbers are in memory, with the pieces of the one in Python. */
export class FileBook {
  constructor(manifest, numbers) {
    this.manifest = manifest;
    this.numbers = numbers;
    this.kept = new Map();
  }

  plane(sheet, { layer, head, example }) {
    const about = this.manifest.sheets[sheet];
    const [rows, columns] = [about.rows.length, about.columns.length];
    const number = (example * about.layers.length + layer) * about.heads + head;
    const start = about.data.matrix + number * rows * columns;
    return { rows, columns, values: this.numbers.subarray(start, start + rows * columns) };
  }

  levels(request) {
    const key = JSON.stringify([request.sheet, request.layer, request.head, request.example, request.minus]);
    if (this.kept.has(key)) return this.kept.get(key);
    let first = this.plane(request.sheet, request);
    if (request.minus) {
      const [sheet, layer, head] = request.minus;
      const example = Math.min(request.example, this.manifest.sheets[sheet].examples - 1);
      const other = this.plane(sheet, { layer, head, example });
      first = { ...first, values: first.values.map((value, at) => value - other.values[at]) };
    }
    const levels = [first];
    while (Math.max(levels.at(-1).rows, levels.at(-1).columns) > this.manifest.tile) levels.push(halved(levels.at(-1)));
    const entry = { levels, ends: scaleOf(first.values, first.columns) };
    this.kept.set(key, entry);
    if (this.kept.size > 4) this.kept.delete(this.kept.keys().next().value);
    return entry;
  }

  /** The page itself, as it was before anything was drawn. */
  page() {
    const copy = document.documentElement.cloneNode(true);
    copy.querySelector("#explorer").replaceChildren();
    const content = TEXT.encode(`<!doctype html>\n${copy.outerHTML}\n`);
    const bytes = new Uint8Array(content.length + ((4 - (content.length % 4)) % 4)).fill(10); // line ends
    bytes.set(content);
    const name = this.manifest.title.replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").slice(0, 40);
    return packed({ name: `${name || "page"}.html` }, new Float32Array(bytes.buffer));
  }

  piece(request) {
    if (request.piece === "page") return this.page();
    const about = this.manifest.sheets[request.sheet];
    if (request.piece === "line") {
      const length = request.name === "received" ? about.columns.length : about.rows.length;
      const number = (request.example * about.layers.length + request.layer) * about.heads + request.head;
      const start = about.data.lines[request.name] + number * length;
      return packed({ shape: [length] }, this.numbers.subarray(start, start + length));
    }
    const { levels, ends } = this.levels(request);
    const { rows, columns, values } = levels[request.piece === "tile" ? request.level : 0];
    if (request.piece === "row") return packed({ shape: [columns], ...ends }, values.slice(request.at * columns, (request.at + 1) * columns));
    if (request.piece === "column") return packed({ shape: [rows], ...ends }, Float32Array.from({ length: rows }, (_, row) => values[row * columns + request.at]));
    const side = this.manifest.tile;
    const [top, left] = [request.row * side, request.column * side];
    const [height, width] = [Math.min(side, rows - top), Math.min(side, columns - left)];
    const tile = new Float32Array(height * width);
    for (let row = 0; row < height; row++) tile.set(values.subarray((top + row) * columns + left, (top + row) * columns + left + width), row * width);
    return packed({ shape: [height, width], ...ends }, tile);
  }
}

/** The parts of anywidget's model that the explorer uses, with the state in the URL. */
export class Model {
  constructor(manifest, answer) {
    this.values = { manifest, state: Model.stateOf(location.hash) };
    this.answer = answer;
    this.listeners = new Map();
    this.waits = null;
    addEventListener("hashchange", () => {
      this.values.state = Model.stateOf(location.hash);
      this.emit("change:state");
    });
  }

  static stateOf(hash) {
    try {
      const state = JSON.parse(decodeURIComponent(hash.slice(1)) || "{}");
      return state && typeof state === "object" ? state : {};
    } catch {
      return {};
    }
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    this.values[name] = value;
  }

  save_changes() {
    clearTimeout(this.waits);
    this.waits = setTimeout(() => {
      try {
        history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(this.values.state))}`);
      } catch {
        // a frame within a notebook has no URL of its own
      }
    }, 100);
  }

  on(name, listener) {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }

  off(name, listener) {
    this.listeners.set(name, (this.listeners.get(name) ?? []).filter((each) => each !== listener));
  }

  emit(name, ...values) {
    for (const listener of this.listeners.get(name) ?? []) listener(...values);
  }

  send(message) {
    const { id, ...request } = message;
    Promise.resolve(this.answer(request)).then((buffer) => this.emit("msg:custom", { id }, [buffer]));
  }
}

/** Open the page of a file. */
export async function openFile(render, el) {
  const open = async () => {
    const manifest = JSON.parse(new TextDecoder().decode(await unpacked("manifest")));
    return [manifest, new Float32Array(await unpacked("numbers"))];
  };
  const [manifest, numbers] = await open().catch((error) => {
    throw new Error(`The file is damaged (${error.message}). Save it again.`);
  });
  const book = new FileBook(manifest, numbers);
  return render({ model: new Model(manifest, (request) => book.piece(request)), el });
}
