// The view of a text coloured by numbers, a row for each head, query or class.

import { formatted, visible } from "./data.js";
import { Bars, Legend, Readout, Save, Words, placeOf, usePlane } from "./planes.js";
import { html, useRef } from "./preact.js";

const MOST = 8; // of the largest numbers

/** The largest numbers by magnitude, with the places of their words. */
export function largest(values, count = MOST) {
  const order = Array.from(values, (value, at) => at).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
  return order.slice(0, count);
}

/** A text coloured by numbers. */
export function WordsView({ manifest, sheet, state, set, pieces, theme }) {
  const { plane, failure } = usePlane(pieces, placeOf(state), sheet, manifest.tile);
  const panel = useRef(null);
  const [row, at] = state.cursor ?? [0, null];
  const low = plane && plane.values.some((value) => value < 0) ? -plane.top : 0;
  const pick = (next, index, hover) => {
    if (hover && state.locked) return;
    set({ cursor: [next, index], locked: hover ? false : !(state.locked && next === row && index === at) });
  };
  const turn = (next) => {
    const to = Math.max(0, Math.min(sheet.rows.length - 1, next));
    set({ cursor: [to, at ?? 0] });
    requestAnimationFrame(() => panel.current?.querySelectorAll(".words")[to]?.querySelector(".on")?.focus());
  };
  return html`<section class="panel" aria-label="Words" ref=${panel}>
    <h2>${sheet.title}</h2>
    ${sheet.note && html`<p class="faint">${sheet.note}</p>`}
    ${failure && html`<p class="error" role="alert">${failure}</p>`}
    <${Readout}
      hint="Point at a word, or move with the arrow keys."
      name=${at === null ? "" : `${sheet.rows[row] ? `${sheet.rows[row]}, ` : ""}${visible(sheet.columns[at])}`}
      value=${plane && at !== null ? plane.at(row, at) : null}
      locked=${state.locked}
    />
    ${sheet.image && html`<img class="small" src=${sheet.image} alt="The image" />`}
    ${sheet.rows.map(
      (name, number) => html`${name && html`<h3>${name}</h3>`}
        <${Words}
          name=${name || "Words"}
          tokens=${sheet.columns}
          values=${plane?.row(number)}
          top=${plane?.top}
          at=${number === row ? at : null}
          theme=${theme}
          onPick=${(index, hover) => pick(number, index, hover)}
          onRow=${(step) => turn(number + step)}
        />`,
    )}
    ${plane && html`<${Legend} name=${sheet.scale ?? "weight"} low=${low} top=${plane.top} even=${sheet.even} theme=${theme} />`}
    ${sheet.answers?.length > 0 && html`<${Answers} answers=${sheet.answers} />`}
    ${plane &&
    html`<details>
      <summary>Largest numbers${sheet.rows[row] ? ` of ${sheet.rows[row]}` : ""}</summary>
      <ol class="largest">
        ${largest(plane.row(row)).map((index) => html`<li><bdi>${visible(sheet.columns[index])}</bdi> ${formatted(plane.at(row, index))}</li>`)}
      </ol>
    </details>`}
    <${Save} sheet=${{ ...sheet, rows: sheet.rows.map((name) => name || sheet.scale || "weight") }} plane=${plane} theme=${theme} />
  </section>`;
}

/** The likeliest answers with their probabilities. */
export function Answers({ answers }) {
  return html`<h3>Answers</h3>
    <${Bars} name="Answers" names=${answers.map((each) => each.answer)} values=${answers.map((each) => each.probability)} top=${1} />`;
}
