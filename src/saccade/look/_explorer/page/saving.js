// What is seen as files: SVG, PNG, CSV.

import { formatted, visible } from "./data.js";
import { css } from "./colours.js";

const CELL = 16; // of an SVG's cells
const MOST = 40000; // cells of an SVG

/** Text of XML without characters that XML lacks. */
export function escaped(text) {
  const clean = Array.from(String(text), (character) => {
    const code = character.codePointAt(0);
    const allowed = code === 9 || code === 10 || (code >= 32 && code < 0xd800) || (code >= 0xe000 && code < 0xfffe) || code > 0xffff;
    return allowed ? character : "·";
  }).join("");
  return clean.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The rows and columns of a view, as first and end. */
export function region(view, size, sheet) {
  const [rows, columns] = [sheet.rows.length, sheet.columns.length];
  if (!view) return { rows: [0, rows], columns: [0, columns] };
  const part = (first, count) => [Math.max(0, Math.floor(first)), count];
  const [top, left] = [part(view.row, rows)[0], part(view.column, columns)[0]];
  return { rows: [top, Math.min(rows, Math.ceil(view.row + size.height / view.cell))], columns: [left, Math.min(columns, Math.ceil(view.column + size.width / view.cell))] };
}

/** The numbers of a region, row by row. */
export async function numbersOf(pieces, request, { rows, columns }) {
  const parts = [];
  let top = 1;
  for (let row = rows[0]; row < rows[1]; row++) {
    const piece = await pieces.get({ ...request, piece: "row", at: row });
    top = piece.top;
    parts.push(piece.values.slice(columns[0], columns[1]));
  }
  return { parts, top };
}

const quoted = (text) => `"${String(text).replaceAll('"', '""')}"`;

/** CSV (RFC 4180): columns in the first line, a row's name before its numbers. */
export function csvOf(parts, sheet, { rows, columns }) {
  const lines = [["", ...sheet.columns.slice(...columns)].map(quoted).join(",")];
  parts.forEach((values, index) => lines.push([quoted(sheet.rows[rows[0] + index]), ...Array.from(values, String)].join(",")));
  return `${lines.join("\r\n")}\r\n`;
}

/** SVG with a rectangle and its number for each cell. */
export function svgOf(parts, sheet, { rows, columns }, top, theme, title) {
  const [height, width] = [rows[1] - rows[0], columns[1] - columns[0]];
  if (height * width > MOST) throw new Error(`SVG: expected at most ${MOST} cells, got ${height * width}. Zoom in, or save a PNG.`);
  const [ink, paper] = theme === "dark" ? ["#e8eaf2", "#14161d"] : ["#22223a", "#ffffff"];
  const [left, above] = [130, 110];
  const text = (x, y, token, more) => `<text x="${x}" y="${y}" ${more}>${escaped(visible(token))}</text>`;
  const cells = parts.flatMap((values, row) =>
    Array.from(values, (value, column) => {
      const place = `x="${left + column * CELL}" y="${above + row * CELL}"`;
      const words = `${visible(sheet.rows[rows[0] + row])} → ${visible(sheet.columns[columns[0] + column])}: ${formatted(value)}`;
      return `<rect ${place} width="${CELL}" height="${CELL}" fill="${css(value / top, theme)}" data-value="${value}"><title>${escaped(words)}</title></rect>`;
    }),
  );
  const names = [
    ...sheet.rows.slice(...rows).map((token, row) => text(left - 6, above + row * CELL + 12, token, 'text-anchor="end"')),
    ...sheet.columns.slice(...columns).map((token, column) => {
      const [x, y] = [left + column * CELL + 12, above - 6];
      return text(x, y, token, `transform="rotate(-90 ${x} ${y})"`);
    }),
  ];
  const box = [left + width * CELL + 10, above + height * CELL + 10];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${box[0]}" height="${box[1]}" viewBox="0 0 ${box[0]} ${box[1]}" font-family="system-ui, sans-serif" font-size="12" fill="${ink}">`,
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="${paper}"/>`,
    ...cells,
    ...names,
    "</svg>",
  ].join("\n");
}

/** Give a file to the user. */
export function download(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
