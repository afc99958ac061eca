// May this user do that? Each permission that is asked for, what decides it, and why.

import { ApiError } from "../api.js";
import { withQuery } from "../address.js";
import { Form } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { Note } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { href, place, setQuery } from "../route.js";
import { Admin } from "./admin_frame.js";
import { choiceOf } from "./permissions.js";

/** Operations, and which names each needs. @type {Record<string, { title: string, names: string[] }>} */
const OPERATIONS = {
  publish: { title: "publish to an exchange", names: ["exchange", "routing_key"] },
  consume: { title: "consume from a queue", names: ["queue"] },
  configure: { title: "declare or delete", names: ["queue", "exchange"] },
  bind: { title: "bind a queue to an exchange", names: ["queue", "exchange", "routing_key"] },
};
const ASKED = ["user", "vhost", "operation", "exchange", "queue", "routing_key"];

export default function PermissionCheck() {
  const { query } = place.value;
  const { data: users } = useResource("api/users?columns=name", 60_000);
  const { data: vhosts } = useResource("api/vhosts?columns=name", 60_000);
  const given = Object.fromEntries(ASKED.filter((name) => query.has(name)).map((name) => [name, query.get(name) ?? ""]));
  const names = (/** @type {any[] | undefined} */ list) => /** @type {string[]} */ ((list ?? []).map((one) => one.name));
  const isAsked = query.get("asked") === "yes";
  return h(Admin, { title: "Permissions check", children: html`
    <p>Whether a user may do something, which permissions decide it, and where a message would go. It does nothing else.</p>
    ${users && vhosts && h(Question, { key: "form", given, users: names(users), vhosts: names(vhosts) })}
    ${isAsked && h(Answer, { given })}` });
}

/** @param {{ given: Record<string, string>, users: string[], vhosts: string[] }} props */
function Question({ given, users, vhosts }) {
  const operation = given["operation"] ?? "publish";
  const needed = OPERATIONS[operation]?.names ?? [];
  const first = { user: users[0] ?? "", vhost: vhosts[0] ?? "/", operation: "publish" };
  /** @type {import("../parts/form.js").Field[]} */
  const fields = [
    { name: "user", label: "User", ...choiceOf(users) },
    { name: "vhost", label: "Virtual host", ...choiceOf(vhosts) },
    { name: "operation", label: "May it", kind: "select", options: Object.entries(OPERATIONS).map(([id, { title }]) => [id, title]) },
    ...(needed.includes("queue") ? [{ name: "queue", label: "Queue" }] : []),
    ...(needed.includes("exchange") ? [{ name: "exchange", label: "Exchange", help: "Empty: the default exchange, which leads to the queue that the routing key names." }] : []),
    ...(needed.includes("routing_key") ? [{ name: "routing_key", label: "Routing key" }] : []),
  ];
  const submit = async (/** @type {any} */ values) => {
    const asked = { ...first, ...values };
    setQuery({ ...Object.fromEntries(ASKED.map((name) => [name, undefined])), ...Object.fromEntries(["user", "vhost", "operation", ...(OPERATIONS[asked.operation]?.names ?? [])].map((name) => [name, asked[name]])), asked: "yes" });
  };
  return h(Form, { label: "Permissions check", act: "Check", keeps: true, initial: given, onSubmit: submit, fields, onChange: (values) => (values.operation ?? "publish") !== operation && setQuery({ operation: values.operation, asked: undefined }) });
}

/** @param {{ given: Record<string, string> }} props */
function Answer({ given }) {
  const { data, error } = useResource(withQuery("api/permissions/check", { ...given }), 0);
  if (error instanceof ApiError && error.status === 404 && !/vhost|user|virtual/i.test(error.message)) return h(Note, { kind: "warning", children: `${error.message}. Either something that was named is not there, or this broker cannot check permissions.` });
  if (error) return h(Note, { error });
  if (!data) return html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  const { allowed, checks = [], routes_to: routes, routes_to_count: count = routes?.length ?? 0 } = data;
  const what = OPERATIONS[given["operation"] ?? "publish"]?.title;
  return html`<section aria-label="Answer" aria-live="polite">
    <p class="verdict"><span class=${`badge ${allowed ? "good" : "bad"}`}>${allowed ? "Yes" : "No"}</span> <bdi>${given["user"]}</bdi> ${allowed ? "may" : "may not"} ${what} in <bdi>${given["vhost"]}</bdi>.</p>
    ${h(Plain, { label: "Permissions that decide it", empty: data.reason ?? "No permission was looked at.", head: ["On", "Name", "Permission", "Pattern", "Allowed", "Why"], rows: checks.map((/** @type {any} */ check, /** @type {number} */ index) => ({ key: `${index}`, cells: [
      check.resource, h("bdi", {}, check.name || "(default)"), check.permission, check.pattern === null || check.pattern === undefined ? "none" : h("code", {}, check.pattern || "(empty)"),
      html`<span class=${`badge ${check.allowed ? "good" : "bad"}`}>${check.allowed ? "yes" : "no"}</span>`, check.reason] })) })}
    ${Array.isArray(routes) && html`<h2>Where the message would go</h2>
      ${count === 0 ? html`<p>Nowhere: no binding matches the routing key. The message would be dropped, or returned if it is mandatory.</p>` : html`<ul>${routes.map((/** @type {any} */ route) => routeOf(route, given["vhost"] ?? "/"))}</ul>`}
      ${count > routes.length && html`<p class="about">and ${(count - routes.length).toLocaleString("en")} more</p>`}`}
  </section>`;
}

/** @param {any} route @param {string} vhost */
function routeOf(route, vhost) {
  const name = typeof route === "string" ? route : route.name;
  return html`<li><a href=${href(["queues", route.vhost ?? vhost, name])}><bdi>${name}</bdi></a></li>`;
}
