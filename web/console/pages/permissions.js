// What users may do with names and with routing keys of a virtual host: shown, set and cleared, of one user or of one virtual host.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { Note, say } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";

/** @typedef {{ user?: string, vhost?: string }} Of what is given: the other one varies */

/** @param {string} pattern */
const patternText = (pattern) => (pattern === "" ? html`<span class="about" title="an empty pattern matches only the empty name">nothing</span>` : pattern === ".*" ? html`<code title="everything">.*</code>` : h("code", {}, pattern));

/** @param {Of} of @param {string} kind */
const listPath = ({ user, vhost }, kind) => (user !== undefined ? `${pathOf`api/users/${user}`}/${kind}` : `${pathOf`api/vhosts/${vhost ?? ""}`}/${kind}`);

/** @param {Of} of @param {{ user: string, vhost: string }} row */
const otherLink = (of, row) => (of.user !== undefined ? html`<a href=${href(["vhosts", row.vhost])}><bdi>${row.vhost}</bdi></a>` : html`<a href=${href(["users", row.user])}><bdi>${row.user}</bdi></a>`);

/** Names beyond so many are typed, and not chosen from a list. */
export const CHOICE_COUNT_MAX = 100;

/** The field for what varies. @param {Of} of @param {string[]} names @returns {import("../parts/form.js").Field} */
const otherField = (of, names) => ({ ...(of.user !== undefined ? { name: "vhost", label: "Virtual host" } : { name: "user", label: "User" }), ...choiceOf(names) });

/** How one of many names is chosen. @param {string[]} names @returns {Partial<import("../parts/form.js").Field>} */
export const choiceOf = (names) => (names.length > CHOICE_COUNT_MAX ? { isRequired: true } : { kind: "select", options: names.map((name) => [name, name]) });

/** Names of what varies. @param {Of} of */
function useOthers(of) {
  const { data } = useResource(of.user !== undefined ? "api/vhosts?columns=name" : "api/users?columns=name", 60_000);
  return /** @type {string[]} */ ((data ?? []).map((/** @type {any} */ one) => one.name));
}

/** @param {{ of: Of }} props */
export function Permissions({ of }) {
  const { data, error, reload } = useResource(listPath(of, "permissions"));
  const names = useOthers(of);
  const set = async (/** @type {any} */ values) => {
    const { vhost, user } = { vhost: names[0] ?? "", user: names[0] ?? "", ...values, ...of };
    await change("PUT", pathOf`api/permissions/${vhost}/${user}`, { configure: values.configure ?? "", write: values.write ?? "", read: values.read ?? "" });
    say(`The permissions of ${user} in ${vhost} are set.`);
    await reload();
  };
  const clear = async (/** @type {any} */ row) => {
    const isYes = await ask({ title: "Clear permissions", act: "Clear", isHarmful: true, run: () => change("DELETE", pathOf`api/permissions/${row.vhost}/${row.user}`),
      text: html`<p>The user <bdi>${row.user}</bdi> has no access to the virtual host <bdi>${row.vhost}</bdi> now. Its next requests there are refused.</p>` });
    if (!isYes) return;
    say("The permissions are cleared.");
    await reload();
  };
  if (!data) return error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  return html`
    ${h(Plain, { label: "Permissions", empty: of.user !== undefined ? "No permissions: the user can open no connection. Set some for a virtual host." : "No user has access. Set permissions for one.",
      head: [of.user !== undefined ? "Virtual host" : "User", { title: "Configure", about: "names that may be declared and deleted" }, { title: "Write", about: "names that may be published to and bound" }, { title: "Read", about: "names that may be consumed, purged and bound from" }, ""],
      rows: data.map((/** @type {any} */ row) => ({ key: `${row.user}/${row.vhost}`, cells: [otherLink(of, row), patternText(row.configure), patternText(row.write), patternText(row.read),
        html`<button type="button" class="harmful" aria-label=${`Clear permissions of ${row.user} in ${row.vhost}`} onClick=${() => clear(row)}>Clear</button>`] })) })}
    <h3>Set permissions</h3>
    ${names.length > 0 && h(Form, { label: "Set permissions", act: "Set permissions", onSubmit: set, keeps: true, initial: { configure: ".*", write: ".*", read: ".*" }, fields: [
      otherField(of, names),
      { name: "configure", label: "Configure", help: "A regular expression of names that may be declared and deleted. Empty: none." },
      { name: "write", label: "Write", help: "Names that may be published to, and bound." },
      { name: "read", label: "Read", help: "Names that may be consumed, purged, and bound from." },
    ] })}`;
}

/** @param {{ of: Of }} props */
export function TopicPermissions({ of }) {
  const { data, error, reload } = useResource(listPath(of, "topic-permissions"));
  const names = useOthers(of);
  const set = async (/** @type {any} */ values) => {
    const { vhost, user } = { vhost: names[0] ?? "", user: names[0] ?? "", ...values, ...of };
    await change("PUT", pathOf`api/topic-permissions/${vhost}/${user}`, { exchange: values.exchange ?? "", write: values.write ?? "", read: values.read ?? "" });
    say(`The topic permissions of ${user} in ${vhost} are set.`);
    await reload();
  };
  const clear = async (/** @type {any} */ row) => {
    const isYes = await ask({ title: "Clear topic permissions", act: "Clear", isHarmful: true, run: () => change("DELETE", pathOf`api/topic-permissions/${row.vhost}/${row.user}/${row.exchange === "" ? "amq.default" : row.exchange}`),
      text: html`<p>Routing keys of the exchange <bdi>${row.exchange}</bdi> in <bdi>${row.vhost}</bdi> are no longer restricted for the user <bdi>${row.user}</bdi>. Its permissions stay.</p>` });
    if (!isYes) return;
    say("The topic permissions are cleared.");
    await reload();
  };
  if (!data) return error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  return html`
    ${h(Plain, { label: "Topic permissions", empty: "No topic permissions: routing keys are not restricted.",
      head: [of.user !== undefined ? "Virtual host" : "User", "Exchange", { title: "Write", about: "routing keys that may be published with" }, { title: "Read", about: "routing keys that may be bound with" }, ""],
      rows: data.map((/** @type {any} */ row) => ({ key: `${row.user}/${row.vhost}/${row.exchange}`, cells: [otherLink(of, row), h("bdi", {}, row.exchange || "(all)"), patternText(row.write), patternText(row.read),
        html`<button type="button" class="harmful" aria-label=${`Clear topic permissions of ${row.user} for ${row.exchange} in ${row.vhost}`} onClick=${() => clear(row)}>Clear</button>`] })) })}
    <h3>Set topic permissions</h3>
    ${names.length > 0 && h(Form, { label: "Set topic permissions", act: "Set topic permissions", onSubmit: set, keeps: true, initial: { exchange: "amq.topic", write: ".*", read: ".*" }, fields: [
      otherField(of, names),
      { name: "exchange", label: "Exchange", help: "A topic exchange.", isRequired: true },
      { name: "write", label: "Write", help: "A regular expression of routing keys to publish with. {username} and {vhost} stand for the names." },
      { name: "read", label: "Read", help: "Routing keys to bind with." },
    ] })}`;
}
