// The host of a server: pieces by requests to where the page came from.

import { Model } from "./file.js";

/** Open the page of a server. */
export async function openServer(render, el) {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const headers = { "x-saccade-token": token, "content-type": "application/json" };
  const ask = async (path, request) => {
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(request ?? {}) });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    return answer;
  };
  const failed = (error) => {
    const head = new TextEncoder().encode(JSON.stringify({ error: `The explorer's server does not answer (${error.message}). Start it again.` }));
    const bytes = new Uint8Array(4 + head.length);
    new DataView(bytes.buffer).setUint32(0, head.length, true);
    bytes.set(head, 4);
    return new DataView(bytes.buffer);
  };
  const manifest = await (await ask("manifest")).json();
  const piece = async (request) => {
    try {
      return new DataView(await (await ask("piece", request)).arrayBuffer());
    } catch (error) {
      return failed(error);
    }
  };
  return render({ model: new Model(manifest, piece), el });
}
