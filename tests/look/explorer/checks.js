// What the tests of the appearance read from a page.

// Texts of canvases, once `watchText` has run.
function watchText() {
  const drawn = (globalThis.drawn = []);
  const fillText = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, room) {
    drawn.push({ font: this.font, colour: this.fillStyle, squeezed: room !== undefined && this.measureText(text).width > room + 0.5 });
    return fillText.call(this, text, x, y, room);
  };
}

function geometry() {
  const shown = (each) => {
    const box = each.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && !each.closest(".hidden") && getComputedStyle(each).visibility !== "hidden";
  };
  const named = (each) => `${each.tagName.toLowerCase()}.${each.className.baseVal ?? each.className} ${each.textContent.trim().slice(0, 30)}`;
  const all = [...document.querySelectorAll(".saccade, .saccade *")].filter(shown);
  const scrolls = (each) => /auto|scroll/.test(getComputedStyle(each).overflow);
  const boxes = new Map();
  const box = (each) => boxes.get(each) ?? boxes.set(each, measured(each)).get(each);
  const measured = (each) => {
    let { left, top, right, bottom } = each.getBoundingClientRect();
    for (let parent = each.parentElement; parent; parent = parent.parentElement)
      if (scrolls(parent) || parent.matches("svg")) {
        const around = parent.getBoundingClientRect();
        [left, top] = [Math.max(left, around.left), Math.max(top, around.top)];
        [right, bottom] = [Math.min(right, around.right), Math.min(bottom, around.bottom)];
      }
    return { left, top, right, bottom };
  };
  const faults = [];
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  for (const each of all) {
    const style = getComputedStyle(each);
    const { left, right } = box(each);
    if (right - left > 0 && (left < -0.5 || right > innerWidth + 0.5)) faults.push(`outside the page: ${named(each)}`);
    const text = each instanceof HTMLElement && [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const clipped = each.scrollWidth > each.clientWidth + 1 && style.overflowX === "hidden" && !each.title;
    const spilled = each.scrollWidth > each.clientWidth + 1 && style.overflowX === "visible" && style.display !== "inline";
    if (text && (clipped || spilled) && each.clientWidth) faults.push(`text is wider than its element: ${named(each)}`);
  }
  const leaves = all.filter((each) => each.matches("h1, h2, h3, p, select, input, button, canvas, svg, figcaption, th, td, caption, .bar, .scale > span, li > span"));
  for (let i = 0; i < leaves.length; i++)
    for (let j = i + 1; j < leaves.length; j++) {
      const [a, b] = [leaves[i], leaves[j]];
      if (a.contains(b) || b.contains(a)) continue;
      const [p, q] = [box(a), box(b)];
      const width = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const height = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (width > 1 && height > 1) faults.push(`overlap: ${named(a)} and ${named(b)}`);
    }
  for (const label of document.querySelectorAll(".saccade label")) {
    const range = document.createRange();
    range.selectNode([...label.childNodes].find((node) => node.nodeType === 3 && node.textContent.trim()));
    const [text, control] = [range.getBoundingClientRect(), label.querySelector("select, input").getBoundingClientRect()];
    const gap = Math.max(control.left - text.right, text.left - control.right);
    const beside = gap >= 0 && gap <= 12 && text.top < control.bottom && text.bottom > control.top;
    if (!beside) faults.push(`a label is not beside its control: ${named(label)}`);
  }
  return faults;
}

function types() {
  const texts = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const elements = [...document.querySelectorAll(".saccade *")].filter((each) => texts(each) && !each.hasAttribute("font-size")); // marks grow with their image
  const scale = (each) => (each.getScreenCTM ? Math.hypot(each.getScreenCTM().a, each.getScreenCTM().b) : 1);
  const size = (each) => `${Math.round(parseFloat(getComputedStyle(each).fontSize) * scale(each) * 10) / 10}px`;
  return { sizes: [...new Set(elements.map(size))], families: [...new Set(elements.map((each) => getComputedStyle(each).fontFamily))], drawn: globalThis.drawn };
}

function colours() {
  const parsed = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const data = ".head, .token, .bar, canvas, svg";
  const elements = [...document.querySelectorAll(".saccade, .saccade *")];
  const ground = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const texts = elements.filter((each) => each.getBoundingClientRect().width && !each.closest(".hidden") && [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  const names = ["color", "backgroundColor", "borderTopColor", "borderLeftColor", "outlineColor", "stroke", "fill"];
  const colours = elements.filter((each) => !each.closest(data)).flatMap((each) => names.map((name) => getComputedStyle(each)[name]));
  const root = getComputedStyle(document.querySelector(".saccade"));
  return {
    pairs: texts.map((each) => [parsed(getComputedStyle(each).color).slice(0, 3), ground(each), each.textContent.trim().slice(0, 30)]),
    borders: elements.filter((each) => each.matches("select, input, .controls button, .tools button")).map((each) => [parsed(getComputedStyle(each).borderTopColor).slice(0, 3), ground(each.parentElement), each.tagName]),
    colours: [...new Set(colours)].map(parsed).filter((colour) => colour.length === 3 || colour[3] > 0),
    named: Object.fromEntries(["ink", "accent", "wrong", "raised"].map((name) => [name, root.getPropertyValue(`--${name}`).trim()])),
    canvas: globalThis.drawn.map((each) => each.colour),
  };
}
