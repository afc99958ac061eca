// The console: who is here, which page the address says, and what is around it.

import { useEffect, useState } from "../vendor/modules/hooks.js";
import { render } from "../vendor/modules/preact.js";
import { effect } from "../vendor/modules/signals.js";
import { reach } from "./api.js";
import { beginLive } from "./live.js";
import { Login } from "./login.js";
import { pageOf } from "./pages.js";
import { Asked } from "./parts/dialog.js";
import { Boundary } from "./parts/boundary.js";
import { keepFocus } from "./parts/focus.js";
import { Frame } from "./parts/frame.js";
import { h, html } from "./parts/html.js";
import { Said } from "./parts/note.js";
import { Palette } from "./parts/palette.js";
import { place } from "./route.js";
import { may, recognize, user } from "./session.js";

function Console() {
  if (user.value === undefined) return html`<main class="login" id="main"><h1>Warren</h1><p role="status">${reach.value === "lost" ? "The broker cannot be reached. The page tries again by itself." : "Asking the broker…"}</p></main>`;
  if (user.value === null) return h(Login, {});
  return h(Frame, { children: [h(CurrentPage, { key: `page ${JSON.stringify(user.value)}` }), h(Asked, { key: "asked" }), h(Palette, { key: "palette" }), h(Said, { key: "said" })] });
}

/** The page that the address says. For another user, or one with other rights, it begins anew. */
function CurrentPage() {
  const { path } = place.value;
  const found = pageOf(path);
  const [loaded, setLoaded] = useState(/** @type {{ pattern: string, show?: (props: { values: string[] }) => any } | null} */ (null));
  const pattern = found?.page.pattern;
  const load = () => {
    let isWanted = true;
    const take = (/** @type {((props: { values: string[] }) => any) | undefined} */ show) => void (isWanted && setLoaded({ pattern: found?.page.pattern ?? "", show }));
    found?.page.load().then((module) => take(module.default), () => take(undefined));
    // One that comes late is not the page that the address says.
    return () => void (isWanted = false);
  };
  useEffect(load, [pattern]);
  if (!found) return html`<h1>There is no such page</h1><p><a href="#/">The overview</a> leads to all others.</p>`;
  if (found.page.role && !may(found.page.role)) {
    return html`<h1>Not for this user</h1><p>This page is for users with the tag ${found.page.role}.</p>`;
  }
  if (loaded?.pattern !== pattern) return html`<p class="awaited-text" role="status">Loading the page…</p>`;
  const show = loaded?.show;
  if (!show) return html`<h1>The page could not be loaded</h1><p>The broker could not be reached, or now runs another version.</p><p><button type="button" onClick=${() => location.reload()}>Load the console again</button></p>`;
  return h(Boundary, { key: path.join("/"), children: h(show, { key: path.join("/"), values: found.values }) });
}

const root = document.getElementById("console");
if (root) {
  root.replaceChildren();
  render(h(Console, {}), root);
}
keepFocus();
beginLive();
void recognize();
// The page is fetched while the broker is asked who is here.
pageOf(place.peek().path)?.page.load().catch(() => undefined);
// A broker that starts, or a cluster that elects: the first question is asked again.
effect(() => {
  if (user.value !== undefined || reach.value !== "lost") return undefined;
  const timer = setInterval(() => void recognize(), 2000);
  return () => clearInterval(timer);
});
