// The page of those who have not logged in.

import { useEffect, useRef, useState } from "../vendor/modules/hooks.js";
import { address } from "./address.js";
import { sentenceOf } from "./api.js";
import { h, html } from "./parts/html.js";
import { AppearanceButton } from "./parts/appearance.js";
import { Note } from "./parts/note.js";
import { useResource } from "./resource.js";
import { place, setQuery } from "./route.js";
import { farewell, logIn } from "./session.js";

export function Login() {
  const { data: ways } = useResource("api/auth", 0);
  const [error, setError] = useState("");
  // What the broker says of a login by OAuth 2 that has failed, until another place is gone to.
  const failure = error || place.value.query.get("login_error");
  const [isRunning, setRunning] = useState(false);
  const first = useRef(/** @type {HTMLInputElement | null} */ (null));
  const hasForm = !ways?.oauth_disable_basic_auth;
  useEffect(() => first.current?.focus(), [hasForm]);
  const submit = async (/** @type {any} */ event) => {
    event.preventDefault();
    const values = new FormData(event.currentTarget);
    setRunning(true);
    setQuery({ login_error: undefined });
    try {
      await logIn(String(values.get("name")), String(values.get("password")));
    } catch (problem) {
      setError(sentenceOf(problem));
      setRunning(false);
    }
  };
  const servers = /** @type {any[]} */ (ways?.oauth_resource_servers ?? []);
  const returnTo = encodeURIComponent(location.hash);
  return html`<main class="login" id="main">
    <h1><span class="mark" aria-hidden="true"></span>Warren</h1>
    ${farewell.value && h(Note, { kind: "hint", children: farewell.value })}
    ${failure && h(Note, { children: failure })}
    ${servers.map(({ id, label }) => html`<p key=${id}><a class="button main" href=${address(`api/oauth/login?resource=${encodeURIComponent(id)}&return_to=${returnTo}`)}>${
      servers.length > 1 ? `Log in by OAuth 2: ${label}` : "Log in by OAuth 2"}</a></p>`)}
    ${hasForm && html`<form class="form" aria-label="Log in" onSubmit=${submit}>
      <div class="field"><label for="name">User</label><input id="name" name="name" ref=${first} required autocomplete="username" autocapitalize="none" spellcheck=${false} /></div>
      <div class="field"><label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" /></div>
      <div class="acts"><button type="submit" class="main" aria-disabled=${isRunning}>Log in</button></div>
    </form>`}
    <p class="tools"><${AppearanceButton} /></p>
  </main>`;
}
