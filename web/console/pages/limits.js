// Limits of virtual hosts and of users.

import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";
import { may } from "../session.js";
import { Admin } from "./admin_frame.js";
import { clearLimit, LimitForm, limitFigure, limitTitle } from "./limit_parts.js";

export default function Limits() {
  const isAdministrator = may("administrator");
  return h(Admin, { title: "Limits", children: [
    h(Section, { key: "vhosts", title: "Limits of virtual hosts", children: h(LimitTable, { kind: "vhost", isReadOnly: !isAdministrator }) }),
    isAdministrator && h(Section, { key: "users", title: "Limits of users", children: h(LimitTable, { kind: "user", isReadOnly: false }) }),
  ] });
}

/** @param {{ kind: "vhost" | "user", isReadOnly: boolean }} props */
function LimitTable({ kind, isReadOnly }) {
  const isVhost = kind === "vhost";
  const { data, error, reload } = useResource(isVhost ? "api/vhost-limits" : "api/user-limits");
  const { data: all } = useResource(isReadOnly ? null : isVhost ? "api/vhosts?columns=name" : "api/users?columns=name", 60_000);
  if (!data) return error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  const rows = data.flatMap((/** @type {any} */ one) => Object.entries(one.value).map(([limit, value]) => ({ of: isVhost ? one.vhost : one.user, limit, value })));
  const names = /** @type {string[]} */ ((all ?? []).map((/** @type {any} */ one) => one.name));
  return html`
    ${error && h(Note, { error })}
    ${h(Plain, {
      label: isVhost ? "Limits of virtual hosts" : "Limits of users", empty: isVhost ? "No virtual host has limits." : "No user has limits.",
      head: [isVhost ? "Virtual host" : "User", "Limit", { title: "Value", isNumber: true }, ...(isReadOnly ? [] : [""])],
      rows: rows.map((/** @type {any} */ { of, limit, value }) => ({ key: `${limit} ${of}`, cells: [
        isReadOnly ? h("bdi", {}, of) : html`<a href=${href([isVhost ? "vhosts" : "users", of])}><bdi>${of}</bdi></a>`, h("span", { title: limit }, limitTitle(kind, limit)), limitFigure(kind, limit, value),
        ...(isReadOnly ? [] : [html`<button type="button" aria-label=${`Clear ${limit} of ${of}`} onClick=${() => clearLimit(kind, of, limit, reload)}>Clear</button>`])] })) })}
    ${names.length > 0 && html`<h3>Set a limit</h3>`}
    ${names.length > 0 && h(LimitForm, { kind, names, reload })}`;
}
