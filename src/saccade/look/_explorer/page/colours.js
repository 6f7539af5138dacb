// Colour scales, those of the pictures, and one for dark pages.

const LIGHT = ["#ffffff", "#e6eaf7", "#b9c6ea", "#7f9bd9", "#4a6dbf", "#27459a", "#141f63", "#0a0b33"];
const AGAINST = ["#ffffff", "#fbe9df", "#f4c7ad", "#e69a72", "#cb6c3d", "#9c4619", "#662a09", "#361302"];
const DARK = ["#14161d", "#1c2740", "#27407a", "#3a63b8", "#6b92dc", "#a3bff0", "#d5e2fb", "#ffffff"];
const DARK_AGAINST = ["#14161d", "#3a2116", "#6b3517", "#a2551f", "#d0824a", "#ecb48d", "#f8ddcb", "#ffffff"];
const STEPS = 256;

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function table(stops) {
  const colours = stops.map(channels);
  const steps = new Uint8Array(STEPS * 3);
  for (let step = 0; step < STEPS; step++) {
    const place = (step / (STEPS - 1)) * (colours.length - 1);
    const low = Math.min(Math.floor(place), colours.length - 2);
    for (let channel = 0; channel < 3; channel++) {
      const [from, to] = [colours[low][channel], colours[low + 1][channel]];
      steps[step * 3 + channel] = Math.round(from + (to - from) * (place - low));
    }
  }
  return steps;
}

const TABLES = { light: [table(LIGHT), table(AGAINST)], dark: [table(DARK), table(DARK_AGAINST)] };

/** The colour of a share of the scale, from -1 to 1, as [red, green, blue]. */
export function colourOf(share, theme) {
  const steps = TABLES[theme][share < 0 ? 1 : 0];
  const at = Math.min(STEPS - 1, Math.round((Math.abs(share) || 0) * (STEPS - 1))) * 3;
  return [steps[at], steps[at + 1], steps[at + 2]];
}

/** The colour as CSS. */
export function css(share, theme) {
  return `rgb(${colourOf(share, theme).join(",")})`;
}

/** The colour of text on a background of colourOf. */
export function inkOn(share, theme) {
  const [red, green, blue] = colourOf(share, theme).map((value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

/** Paint values into an RGBA array. */
export function paint(values, top, theme, pixels) {
  const [above, below] = TABLES[theme];
  const factor = (STEPS - 1) / (top || 1);
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    const steps = value < 0 ? below : above;
    const at = Math.min(STEPS - 1, Math.round(Math.abs(value) * factor)) * 3;
    pixels[index * 4] = steps[at];
    pixels[index * 4 + 1] = steps[at + 1];
    pixels[index * 4 + 2] = steps[at + 2];
    pixels[index * 4 + 3] = Number.isNaN(value) ? 0 : 255;
  }
}
