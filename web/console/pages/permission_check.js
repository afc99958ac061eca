// May this user do that? Each permission that is asked for, what decides it, and why.

import { Form } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { QueueLink } from "../parts/links.js";
import { Note } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useVhosts } from "../parts/vhosts.js";
import { useResource } from "../resource.js";
import { place, setQuery } from "../route.js";
import { may, user as me } from "../session.js";
import { Admin } from "./admin_frame.js";
import { choiceOf } from "./permissions.js";

/** Operations: what each is called, and which names it needs. @type {Record<string, { title: string, names: string[] }>} */
const OPERATIONS = {
  publish: { title: "publish to an exchange", names: ["exchange", "routing_key"] },
  consume: { title: "consume from a queue", names: ["queue"] },
  get: { title: "get single messages of a queue", names: ["queue"] },
  purge: { title: "purge a queue", names: ["queue"] },
  "configure queue": { title: "declare and delete a queue", names: ["queue"] },
  "configure exchange": { title: "declare and delete an exchange", names: ["exchange"] },
  "bind queue": { title: "bind a queue to an exchange, and unbind it", names: ["exchange", "queue", "routing_key"] },
  "bind exchange": { title: "bind an exchange to another one, and unbind it", names: ["exchange", "destination_exchange", "routing_key"] },
};
/** @type {Record<string, import("../parts/form.js").Field>} */
const FIELDS = {
  exchange: { name: "exchange", label: "Exchange", help: "Empty: the default exchange, which leads to the queue that the routing key names." },
  queue: { name: "queue", label: "Queue", isRequired: true },
  destination_exchange: { name: "destination_exchange", label: "Exchange that is bound", isRequired: true },
  routing_key: { name: "routing_key", label: "Routing key" },
};
const ASKED = ["user", "vhost", "operation", "exchange", "queue", "destination_exchange", "routing_key"];

/** The operation that the address says. `configure` and `bind` are about what else it names. @param {Record<string, string>} given */
function operationOf({ operation = "publish", exchange, destination_exchange: destination }) {
  if (operation === "configure") return exchange === undefined ? "configure queue" : "configure exchange";
  if (operation === "bind" || operation === "unbind") return destination === undefined ? "bind queue" : "bind exchange";
  return OPERATIONS[operation] ? operation : "publish";
}

export default function PermissionCheck() {
  const { query } = place.value;
  const isAdministrator = may("administrator");
  const { data: users } = useResource(isAdministrator ? "api/users?columns=name" : null, 60_000);
  const vhosts = useVhosts();
  const given = Object.fromEntries(ASKED.filter((name) => query.has(name)).map((name) => [name, query.get(name) ?? ""]));
  if (!isAdministrator) given["user"] = me.value?.name ?? "";
  const names = isAdministrator ? users?.map((/** @type {any} */ one) => one.name) : [me.value?.name ?? ""];
  return h(Admin, { title: "Permissions check", children: html`
    <p>Whether ${isAdministrator ? "a user" : "you"} may do something, which permissions decide that, and where a message would go. The check changes nothing.</p>
    ${names && vhosts.length > 0 && h(Question, { given, users: names, vhosts })}
    ${query.get("asked") === "yes" && h(Answer, { given })}` });
}

/** @param {{ given: Record<string, string>, users: string[], vhosts: string[] }} props */
function Question({ given, users, vhosts }) {
  const operation = operationOf(given);
  const needed = OPERATIONS[operation]?.names ?? [];
  const first = { user: users[0] ?? "", vhost: vhosts[0] ?? "/" };
  /** @type {import("../parts/form.js").Field[]} */
  const fields = [
    { name: "user", label: "User", ...choiceOf(users) },
    { name: "vhost", label: "Virtual host", ...choiceOf(vhosts) },
    { name: "operation", label: "May it", kind: "select", options: Object.entries(OPERATIONS).map(([id, { title }]) => [id, title]) },
    ...needed.flatMap((name) => FIELDS[name] ?? []),
  ];
  /** @param {any} values @param {string} [asked] */
  const show = (values, asked) => {
    const chosen = { ...first, ...values };
    const named = (OPERATIONS[chosen.operation ?? "publish"]?.names ?? []).map((name) => [name, chosen[name] ?? ""]);
    // An exchange without a name is the default one: the name is asked for all the same.
    setQuery({ ...Object.fromEntries(ASKED.map((name) => [name, undefined])), user: chosen.user, vhost: chosen.vhost, ...Object.fromEntries(named), operation: String(chosen.operation ?? "publish"), asked });
  };
  const submit = async (/** @type {any} */ values) => show(values, "yes");
  return h(Form, { label: "Permissions check", act: "Check", keeps: true, initial: { ...given, operation }, onSubmit: submit, fields, onChange: (values) => values.operation !== operation && show(values) });
}

/** @param {{ given: Record<string, string> }} props */
function Answer({ given }) {
  const operation = operationOf(given);
  const { title = "", names = [] } = OPERATIONS[operation] ?? {};
  const asked = new URLSearchParams({ user: given["user"] ?? "", vhost: given["vhost"] ?? "/", operation: operation.split(" ")[0] ?? "", ...Object.fromEntries(names.map((name) => [name, given[name] ?? ""])) });
  const { data, error } = useResource(`api/permissions/check?${asked}`, 0);
  if (error) return h(Note, { error });
  if (!data) return html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  const { allowed, checks, routes_to: routes, routes_to_count: count = 0 } = data;
  return html`<section aria-label="Answer" aria-live="polite">
    <p class="verdict"><span class=${`badge ${allowed ? "good" : "bad"}`}>${allowed ? "Yes" : "No"}</span> <bdi>${given["user"]}</bdi> ${allowed ? "may" : "may not"} ${title} in <bdi>${given["vhost"]}</bdi>.</p>
    ${h(Plain, { label: "Permissions that decide it", empty: "No permission was checked.", head: ["On", "Name", "Permission", "Pattern", "Allowed", "Why"],
      rows: checks.map((/** @type {any} */ check, /** @type {number} */ index) => ({ key: `${index}`, cells: checkCells(check, given["vhost"] ?? "/") })) })}
    ${Array.isArray(routes) && html`<h2>Where the message would go</h2>
      ${count === 0 ? html`<p>Nowhere: no binding matches. The message would be dropped, or returned if it is mandatory.</p>` : html`<ul>${routes.map((name) => html`<li>${h(QueueLink, { vhost: given["vhost"] ?? "/", name })}</li>`)}</ul>`}
      ${count > routes.length && html`<p class="about">and ${(count - routes.length).toLocaleString("en")} more</p>`}`}
  </section>`;
}

/** What permissions are about. @type {Record<string, string>} */
const RESOURCES = { vhost: "virtual host", topic: "routing key" };

/** @param {any} check @param {string} vhost */
function checkCells({ resource, name, permission, pattern, allowed, exists, reason }, vhost) {
  const shown = resource === "vhost" ? vhost : resource === "exchange" && name === "" ? "(default)" : name;
  return [
    RESOURCES[resource] ?? resource,
    html`<bdi>${shown}</bdi> ${exists === false && html`<span class="badge warn">does not exist</span>`}`,
    permission,
    pattern === null || pattern === undefined ? "–" : pattern === "" ? html`<span class="about">empty: nothing</span>` : h("code", {}, pattern),
    html`<span class=${`badge ${allowed ? "good" : "bad"}`}>${allowed ? "yes" : "no"}</span>`,
    reason ?? (pattern === null || pattern === undefined ? "" : "the pattern matches"),
  ];
}
