// Pieces of numbers by the contract of anywidget: requests as messages, answers as buffers.

/** Parse a manifest's answer: length of the JSON (uint32), JSON, float32 numbers. */
export function parsePiece(buffer) {
  const view = buffer instanceof DataView ? buffer : new DataView(buffer.buffer ?? buffer, buffer.byteOffset ?? 0, buffer.byteLength);
  const length = view.getUint32(0, true);
  const head = new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + 4, length));
  const about = JSON.parse(head);
  if (about.error) throw new Error(about.error);
  const start = view.byteOffset + 4 + length;
  const bytes = view.buffer.slice(start, view.byteOffset + view.byteLength);
  return { ...about, values: new Float32Array(bytes) };
}

const PATIENCE = 30000; // milliseconds
const SILENT = "No answer arrived in time. Run the cell or start the server again.";

/** The client of a book: each piece is requested once, and the latest pieces stay in memory. */
export class Pieces {
  constructor(model, limit = 96 * 1024 * 1024) {
    this.model = model;
    this.book = model.get("manifest")?.book; // of a host whose sheets change
    this.limit = limit;
    this.bytes = 0;
    this.cache = new Map();
    this.waiting = new Map();
    this.number = 0;
    this.receive = (message, buffers) => {
      const waits = this.waiting.get(message?.id);
      if (!waits) return;
      this.waiting.delete(message.id);
      try {
        waits.resolve(parsePiece(buffers[0]));
      } catch (error) {
        waits.reject(error);
      }
    };
    model.on("msg:custom", this.receive);
  }

  close() {
    this.model.off?.("msg:custom", this.receive);
  }

  /** Send a request, and return the promise of its answer, which is not kept. */
  ask(request, patience = PATIENCE) {
    return new Promise((resolve, reject) => {
      const id = ++this.number;
      this.waiting.set(id, { resolve, reject });
      setTimeout(() => this.waiting.delete(id) && reject(new Error(SILENT)), patience);
      this.model.send({ id, book: this.book, ...request });
    });
  }

  key(request) {
    return JSON.stringify({ book: this.book, ...request });
  }

  /** Return the promise of a piece. */
  get(request) {
    const key = this.key(request);
    const kept = this.cache.get(key);
    if (kept) {
      this.cache.delete(key);
      this.cache.set(key, kept);
      return kept.promise;
    }
    const entry = { bytes: 0, piece: null, promise: null };
    entry.promise = this.ask(request).then(
      (piece) => {
        entry.piece = piece;
        if (this.cache.get(key) !== entry) return piece;
        entry.bytes = piece.values.byteLength;
        this.bytes += entry.bytes;
        this.trim();
        return piece;
      },
      (error) => {
        this.cache.delete(key);
        throw error;
      },
    );
    this.cache.set(key, entry);
    return entry.promise;
  }

  /** Return a piece that has arrived, or null. */
  arrived(request) {
    return this.cache.get(this.key(request))?.piece ?? null;
  }

  trim() {
    for (const [key, entry] of this.cache) {
      if (this.bytes <= this.limit) break;
      if (!entry.piece) continue;
      this.cache.delete(key);
      this.bytes -= entry.bytes;
    }
  }
}

/** A number as Python's format ".6g" writes it, up to the form of exponents. */
export function formatted(value) {
  if (!Number.isFinite(value)) return String(value);
  const text = value.toPrecision(6);
  return text.includes("e") || !text.includes(".") ? text : text.replace(/\.?0+$/, "");
}

const [JOINERS, SPACES, UNSEEN] = ["\u200c\u200d", /[\t-\r\x1c-\x1f\x85\p{Z}]/u, /\p{C}/u];

/** A token as a label: characters that cannot be seen have stand-ins, as in pictures. Long tokens are cut. */
export function visible(token, length = 40) {
  const seen = (character) => (JOINERS.includes(character) ? character : SPACES.test(character) ? "␣" : UNSEEN.test(character) ? "·" : character);
  const letters = Array.from(String(token).slice(0, 4 * length), seen);
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : letters.join("") || "·";
}
