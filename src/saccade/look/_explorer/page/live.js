// Texts of the reader, and the page as a file.

import { download } from "./saving.js";
import { html, useState } from "./preact.js";

const LIVE_PATIENCE = 35000; // milliseconds, above the limit of a server
const PAGE_PATIENCE = 600000;

/** A field for a text. `onManifest(manifest, sheet)` has the sheets of the text, from this index on. */
export function Live({ pieces, onManifest }) {
  const [text, setText] = useState("");
  const [waits, setWaits] = useState(false);
  const [failure, setFailure] = useState("");
  const send = async (event) => {
    event.preventDefault();
    if (waits) return;
    setWaits(true);
    setFailure("");
    try {
      const { manifest, sheet } = await pieces.ask({ piece: "live", text }, LIVE_PATIENCE);
      onManifest(manifest, sheet);
    } catch (error) {
      setFailure(error.message);
    }
    setWaits(false);
  };
  return html`<form class="live" onSubmit=${send}>
    <label>Text <input name="live" dir="auto" autocomplete="off" placeholder="Type an input of the model" value=${text} onInput=${(event) => setText(event.target.value)} /></label>
    <button aria-disabled=${waits}>${waits ? "Computing…" : "Show"}</button>
    ${failure && html`<span class="error" role="alert">${failure}</span>`}
  </form>`;
}

/** The button that saves the page with its numbers as a file. */
export function SavePage({ pieces }) {
  const [waits, setWaits] = useState(false);
  const [failure, setFailure] = useState("");
  const save = async () => {
    if (waits) return;
    setWaits(true);
    setFailure("");
    try {
      const { name, values } = await pieces.ask({ piece: "page" }, PAGE_PATIENCE);
      download(name, values, "text/html");
    } catch (error) {
      setFailure(error.message);
    }
    setWaits(false);
  };
  return html`<span class="page"
    ><button name="page" aria-disabled=${waits} onClick=${save} title="Save the page with its numbers as a file">${waits ? "Saving…" : "Save HTML"}</button>
    ${failure && html`<span class="error" role="alert">${failure}</span>`}</span
  >`;
}
