// The connections of a user.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { Figure } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { VhostLink } from "../parts/links.js";
import { Note, say } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";

/** @param {{ name: string }} props */
export function UserConnections({ name }) {
  const path = pathOf`api/connections/username/${name}`;
  const { data, error, reload } = useResource(`${path}?columns=name,vhost,state,channels`, 10_000);
  const close = async () => {
    const isYes = await ask({ title: data.length === 1 ? "Close the connection" : `Close ${data.length} connections`, act: "Close", isHarmful: true, word: data.length > 10 ? String(data.length) : undefined,
      text: html`<p>All connections of the user <bdi>${name}</bdi> are closed. Its clients may connect again.</p>`, run: () => change("DELETE", path) });
    if (!isYes) return;
    say(`The connections of ${name} are closed.`);
    await reload();
  };
  if (!data) return error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  return html`${h(Plain, { label: "Connections", empty: "It has no connection now.", head: ["Name", "Virtual host", "State", { title: "Channels", isNumber: true }],
    rows: data.map((/** @type {any} */ one) => ({ key: one.name, cells: [html`<a href=${href(["connections", one.name])}><bdi>${one.name}</bdi></a>`, h(VhostLink, { name: one.vhost }), one.state, h(Figure, { value: one.channels })] })) })}
    ${data.length > 0 && html`<p class="acts"><button type="button" class="harmful" onClick=${close}>Close all connections</button></p>`}`;
}
