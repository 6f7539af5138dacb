// The host of a server: pieces by requests to where the page came from.

import { Model, packed } from "./file.js";

/** Open the page of a server. */
export async function openServer(render, el) {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const headers = { "x-saccade-token": token, "content-type": "application/json" };
  const ask = async (path, request) => {
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(request ?? {}) }).catch((error) => {
      throw new Error(`The explorer's server does not answer (${error.message}). Start it again.`);
    });
    if (answer.ok) return answer;
    const about = await answer.json().catch(() => ({}));
    throw new Error(about.error ?? `The explorer's server answered ${answer.status}. Start it again.`);
  };
  const manifest = await (await ask("manifest")).json();
  const piece = async (request) => {
    try {
      return new DataView(await (await ask(request.piece === "live" ? "live" : "piece", request)).arrayBuffer());
    } catch (error) {
      return packed({ error: error.message }, []);
    }
  };
  return render({ model: new Model(manifest, piece), el });
}
