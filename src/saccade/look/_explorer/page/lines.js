// Numbers along the text: entropy of each query, attention that each key receives.

import { formatted, visible } from "./data.js";
import { html, useEffect, useState } from "./preact.js";

const [WIDTH, HEIGHT, EDGE] = [720, 96, 4];

/** The points of a polyline: at most two a pixel, the least and the most of each stretch. */
export function outline(values, width = WIDTH, height = HEIGHT) {
  const top = Math.max(1e-30, ...stretches(values, width).map(([, high]) => high));
  const step = width / Math.max(1, values.length);
  const y = (value) => height - EDGE - (value / top) * (height - 2 * EDGE);
  if (values.length <= width) return { top, points: Array.from(values, (value, at) => [(at + 0.5) * step, y(value)]) };
  const parts = stretches(values, width);
  return { top, points: parts.flatMap(([low, high], at) => [[((at + 0.5) * width) / parts.length, y(low)], [((at + 0.5) * width) / parts.length, y(high)]]) };
}

function stretches(values, count) {
  const length = Math.max(1, Math.ceil(values.length / count));
  const parts = [];
  for (let start = 0; start < values.length; start += length) {
    let [low, high] = [Infinity, -Infinity];
    for (let at = start; at < Math.min(values.length, start + length); at++) {
      if (!Number.isFinite(values[at])) continue;
      low = Math.min(low, values[at]);
      high = Math.max(high, values[at]);
    }
    parts.push([low, high]);
  }
  return parts;
}

/** One line over the tokens of an axis. */
export function Line({ name, pieces, request, tokens, at, onPick }) {
  const [piece, setPiece] = useState(null);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    let open = true;
    setPiece(null);
    setFailure("");
    pieces.get({ ...request, piece: "line", name }).then(
      (found) => open && setPiece(found),
      (error) => open && setFailure(error.message),
    );
    return () => {
      open = false;
    };
  }, [JSON.stringify(request), name]);
  if (failure) return html`<p class="error" role="alert">${failure}</p>`;
  const values = piece?.values ?? new Float32Array(0);
  const { top, points } = outline(values);
  const pick = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const index = Math.floor(((event.clientX - box.left) / box.width) * values.length);
    if (piece) onPick(Math.max(0, Math.min(values.length - 1, index)));
  };
  const keys = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    if (!step || !piece) return;
    event.preventDefault();
    onPick(value === null ? 0 : Math.max(0, Math.min(values.length - 1, at + step)));
  };
  const value = at === null || at === undefined || !piece ? null : values[at];
  const x = value === null ? 0 : ((at + 0.5) * WIDTH) / values.length;
  const words = value === null ? `0 to ${formatted(top)}` : `${visible(tokens[at] ?? String(at))}: ${formatted(value)}`;
  return html`<figure class="line" data-name=${name}>
    <figcaption>
      ${name} <span class="faint">${piece ? words : "…"}</span>
    </figcaption>
    <svg
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      tabindex="0"
      role="slider"
      aria-label=${`${name}, ${tokens.length} numbers`}
      aria-valuemin="0"
      aria-valuemax=${Math.max(0, tokens.length - 1)}
      aria-valuenow=${at ?? 0}
      aria-valuetext=${words}
      onClick=${pick}
      onKeyDown=${keys}
    >
      <polyline points=${points.filter((point) => point.every(Number.isFinite)).map((point) => point.map((each) => each.toFixed(2)).join(",")).join(" ")} />
      ${value !== null && html`<line x1=${x} x2=${x} y1="0" y2=${HEIGHT} />`}
    </svg>
  </figure>`;
}
