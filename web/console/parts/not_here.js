// The page of an object that cannot be shown: it has not come yet, is not there any more, or is not for this user.

import { ApiError } from "../api.js";
import { href } from "../route.js";
import { Heading } from "./heading.js";
import { h, html } from "./html.js";
import { Note } from "./note.js";

/** Whether the broker said that there is no such thing. @param {unknown} error */
export const isMissing = (error) => error instanceof ApiError && error.status === 404;

/** @param {{ error: unknown, kind: string, title: string, above: [string, string[]][] }} props above: where one goes from here */
export function NotHere({ error, kind, title, above }) {
  const [back, path] = above[above.length - 1] ?? ["The overview", []];
  return html`${h(Heading, { kind, title, above })}
    ${error === undefined ? html`<p class="awaited-text" role="status">Asking the broker…</p>`
      : isMissing(error) ? html`<p class="note warning" role="status">There is no such ${kind.toLowerCase()}, or this user may not see it.</p>` : h(Note, { error })}
    ${error !== undefined && html`<p>Go on at <a href=${href(path)}>${back}</a>.</p>`}`;
}
