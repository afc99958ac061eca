// Upstreams of federation and sets of them, as RabbitMQ's page Federation Upstreams.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { Section, Tabs, chosenTab } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { say } from "../parts/note.js";
import { uriText } from "../parts/settings.js";
import { useVhosts, VhostChoice } from "../parts/vhosts.js";
import { useResource } from "../resource.js";
import { href, place } from "../route.js";
import { Admin } from "./admin_frame.js";
import { choiceOf } from "./permissions.js";
import { UpstreamForm, upstreamPath } from "./upstream_form.js";

/** @type {[string, string][]} */
const TABS = [["upstreams", "Upstreams"], ["sets", "Upstream sets"]];

/** @typedef {{ vhost: string, name: string, value: any }} Parameter */

export default function FederationUpstreams() {
  return h(Admin, { title: "Federation Upstreams", children: html`
    <p>An upstream is another broker, from which exchanges and queues here get messages. A policy with the key <code>federation-upstream</code>, or <code>federation-upstream-set</code> with a set of several (<code>all</code> is always there), says which ones. <a href=${href(["federation"])}>What the links do now</a></p>
    ${h(Tabs, { label: "Upstreams and sets", tabs: TABS })}
    ${chosenTab(TABS) === "sets" ? h(Sets, { key: "sets" }) : h(Upstreams, { key: "upstreams" })}` });
}

/** Parameters of a component in the virtual host that is chosen, and the virtual hosts in which one may be added. @param {string} component */
function useParameters(component) {
  const { data, error, reload } = useResource(`api/parameters/${component}`);
  const all = useVhosts();
  const chosen = place.value.query.get("vhost") ?? "";
  const rows = /** @type {Parameter[] | undefined} */ (chosen ? data?.filter((/** @type {Parameter} */ { vhost }) => vhost === chosen) : data);
  return { rows, error, reload, isEmpty: data?.length === 0, all, vhosts: chosen ? [chosen, ...all.filter((one) => one !== chosen)] : all };
}

/** Asks, and deletes. True: it is deleted. @param {Parameter} upstream */
export async function deleteUpstream({ vhost, name }) {
  const isYes = await ask({ title: `Delete the upstream ${name}`, act: "Delete", isHarmful: true, text: html`<p>In the virtual host <bdi>${vhost}</bdi>. Its links end, and the queues that they declared at the upstream are deleted.</p>`, run: () => change("DELETE", upstreamPath(vhost, name)) });
  if (isYes) say(`The upstream ${name} is deleted.`);
  return isYes;
}

function Upstreams() {
  const { rows, error, reload, isEmpty, all, vhosts } = useParameters("federation-upstream");
  const remove = async (/** @type {Parameter} */ upstream) => void ((await deleteUpstream(upstream)) && (await reload()));
  /** @type {import("../parts/table.js").Column<Parameter>[]} */
  const columns = [
    { id: "vhost", title: "Virtual host", sort: "vhost", cell: ({ vhost }) => h("bdi", {}, vhost) },
    { id: "name", title: "Name", sort: "name", cell: ({ vhost, name }) => html`<a href=${href(["federation-upstreams", vhost, name])}><bdi>${name}</bdi></a>` },
    { id: "uri", title: "URI", about: "without its password", cell: ({ value }) => h("code", { title: uriText(value.uri) }, uriText(value.uri)) },
    { id: "exchange", title: "Exchange", about: "its name there", cell: ({ value }) => h("bdi", {}, value.exchange ?? "as here") },
    { id: "queue", title: "Queue", about: "its name there", cell: ({ value }) => h("bdi", {}, value.queue ?? "as here") },
    { id: "ack", title: "Ack mode", sort: "value.ack-mode", cell: ({ value }) => value["ack-mode"] ?? "on-confirm" },
    { id: "hops", title: "Max hops", isNumber: true, cell: ({ value }) => String(value["max-hops"] ?? 1) },
    { id: "delete", title: "Delete", cell: (upstream) => html`<button type="button" class="harmful" aria-label=${`Delete ${upstream.name} of ${upstream.vhost}`} onClick=${() => remove(upstream)}>Delete</button>` },
  ];
  return html`
    ${h(List, { label: "Upstreams", rows, error, columns, keyOf: ({ vhost, name }) => `${vhost}/${name}`, textOf: ({ name, value }) => `${name} ${uriText(value.uri)}`, by: "name", height: "60vh", tools: h(VhostChoice, { vhosts: all }), empty: "There is no upstream. Add one below: where the other broker is." })}
    ${vhosts.length > 0 && h(Section, { title: "Add an upstream", isClosed: !isEmpty, isAsked: place.value.query.get("add") === "yes", children: h(UpstreamForm, { vhosts, onDone: reload }) })}`;
}

function Sets() {
  const { rows, error, reload, isEmpty, all, vhosts } = useParameters("federation-upstream-set");
  const remove = async (/** @type {Parameter} */ { vhost, name }) => {
    const isYes = await ask({ title: `Delete the set ${name}`, act: "Delete", isHarmful: true, text: html`<p>In the virtual host <bdi>${vhost}</bdi>. Links of policies that name it end. Its upstreams stay.</p>`, run: () => change("DELETE", pathOf`api/parameters/federation-upstream-set/${vhost}/${name}`) });
    if (!isYes) return;
    say(`The set ${name} is deleted.`);
    await reload();
  };
  const add = async (/** @type {any} */ { vhost = vhosts[0] ?? "/", name, upstreams = "" }) => {
    const value = String(upstreams).split(",").map((one) => one.trim()).filter(Boolean).map((upstream) => ({ upstream }));
    await change("PUT", pathOf`api/parameters/federation-upstream-set/${vhost}/${name}`, { component: "federation-upstream-set", vhost, name, value });
    say(`The set ${name} is set.`);
    await reload();
  };
  /** @type {import("../parts/table.js").Column<Parameter>[]} */
  const columns = [
    { id: "vhost", title: "Virtual host", sort: "vhost", cell: ({ vhost }) => h("bdi", {}, vhost) },
    { id: "name", title: "Name", sort: "name", cell: ({ name }) => h("bdi", {}, name) },
    { id: "upstreams", title: "Upstreams", cell: ({ value }) => [value].flat().map((/** @type {any} */ one, index) => h("span", { key: String(index), class: "badge", title: JSON.stringify(one) }, h("bdi", {}, one?.upstream))) },
    { id: "delete", title: "Delete", cell: (set) => html`<button type="button" class="harmful" aria-label=${`Delete ${set.name} of ${set.vhost}`} onClick=${() => remove(set)}>Delete</button>` },
  ];
  return html`
    ${h(List, { label: "Upstream sets", rows, error, columns, keyOf: ({ vhost, name }) => `${vhost}/${name}`, textOf: ({ name, value }) => `${name} ${JSON.stringify(value)}`, by: "name", height: "60vh", tools: h(VhostChoice, { vhosts: all }), empty: "There is no set of upstreams but all, which has every upstream of its virtual host. Add one below." })}
    ${vhosts.length > 0 && h(Section, { title: "Add an upstream set", isClosed: !isEmpty, children: h(Form, { label: "Add an upstream set", act: "Add set", onSubmit: add, fields: [
      { name: "vhost", label: "Virtual host", ...choiceOf(vhosts) },
      { name: "name", label: "Name", isRequired: true },
      { name: "upstreams", label: "Upstreams", isRequired: true, placeholder: "north, south", help: "Names of upstreams, separated by commas. Other keys of a set can be set on the page Parameters." },
    ] }) })}`;
}
