// The cluster: its nodes, which of them leads, how far each is, and what operators may order.

import { change } from "../api.js";
import { Figure, Time } from "../parts/figure.js";
import { Form } from "../parts/form.js";
import { Facts, Heading, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note, say } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { Warnings } from "../parts/troubles.js";
import { useLive } from "../live.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";
import { may } from "../session.js";
import { orderDrain, orderForget, orderRevive, orderTransfer } from "./cluster_orders.js";
import { HowAClusterBegins, JoinForm } from "./cluster_begins.js";

/** How a node has been told by its alarms. @param {any} node of `/api/nodes` */
export function alarmsOf(node) {
  return /** @type {[string, string][]} */ ([["mem_alarm", "memory alarm"], ["disk_free_alarm", "disk alarm"], ["data_loss_alarm", "data loss"]]).filter(([name]) => node?.[name]).map(([name, text]) => h("span", { key: name, class: "badge bad" }, text));
}

export default function Cluster() {
  const { data, error, reload } = useResource("api/warren/cluster", 3000);
  const { data: nodes } = useResource("api/nodes");
  useLive("changes", ({ data: told }) => void (/^(node|leader)\./.test(told?.event ?? "") && reload()));
  if (!data) return html`${h(Heading, { title: "Cluster" })}${error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`}`;
  const isAlone = data.cluster === null;
  const mayOrder = may("administrator");
  return html`
    ${h(Heading, { title: "Cluster" })}
    ${error && h(Note, { kind: "warning", error })}
    ${data.waiting && h(Note, { kind: "warning", children: typeof data.waiting === "string" ? data.waiting : JSON.stringify(data.waiting) })}
    ${!data.has_majority && h(Note, { children: "This node cannot reach a majority of the nodes. It serves no clients until it can." })}
    ${h(Warnings, {})}
    ${h(Facts, { facts: [
      ["Name", h("bdi", {}, data.name)], ["Nodes", String(data.nodes.length)], ["Leader", data.leader ? nodeLink(data.leader) : "none"],
      !isAlone && ["Majority", data.has_majority ? "reached" : "not reached"], !isAlone && ["Term", h(Figure, { value: data.term, title: "counts elections" }), "counts elections"],
      !isAlone && ["Level", String(data.level), "which features all nodes have"], !isAlone && ["Identity", h("code", {}, data.cluster)],
    ].filter((fact) => Array.isArray(fact)) })}
    ${h(Members, { cluster: data, nodes: nodes ?? [], isAlone, mayOrder, reload })}
    ${isAlone && h(HowAClusterBegins, { node: data.node })}
    ${!isAlone && h(Section, { title: "Links between the nodes", about: "as the node that answers sees them", isClosed: true, children: h(Links, { nodes: data.nodes }) })}
    ${mayOrder && isAlone && h(Section, { title: "Join a cluster", isClosed: true, children: h(JoinForm, { node: data.node }) })}
    ${mayOrder && h(Section, { title: "Name", isClosed: true, children: h(NameForm, { name: data.name, reload }) })}`;
}

/** @param {string} name */
const nodeLink = (name) => html`<a href=${href(["nodes", name])}><bdi>${name}</bdi></a>`;

/** @param {{ cluster: any, nodes: any[], isAlone: boolean, mayOrder: boolean, reload: () => Promise<void> }} props */
function Members({ cluster, nodes, isAlone, mayOrder, reload }) {
  const running = cluster.nodes.filter((/** @type {any} */ node) => node.running).length;
  const needed = Math.floor(cluster.nodes.length / 2) + 1;
  const rows = cluster.nodes.map((/** @type {any} */ node) => ({ key: node.name, cells: [
    nodeLink(node.name),
    html`<span class=${`badge ${node.role === "leader" ? "good" : ""}`}>${node.role ?? "unknown"}</span> ${!node.running && html`<span class="badge bad">not running</span>`}${node.draining && html`<span class="badge warn" title="its clients were disconnected, and it does not lead">drained</span>`}${alarmsOf(nodes.find(({ name }) => name === node.name))}`,
    ...(isAlone ? [] : [behind(node), linkOf(node)]),
    h(Time, { at: node.last_seen_ms, isAgo: true }),
    node.address ?? "–", node.version ?? "–",
    ...(mayOrder && !isAlone ? [h(Orders, { node, cluster, reload })] : []),
  ] }));
  return html`${h(Plain, { label: "Nodes", rows, head: [
    "Node", "State", ...(isAlone ? [] : [{ title: "Behind", about: "what the leader has written and this node has not" }, { title: "Round trip", about: "time from a request to the node until its answer" }]), { title: "Seen", about: "when the node last answered" }, "Address", "Version", ...(mayOrder && !isAlone ? ["Orders"] : [])] })}
    ${!isAlone && html`<p class="about">${running} of ${cluster.nodes.length} run; ${needed} are needed to serve. ${running === needed && cluster.nodes.length > 1 ? "None of those that run may be stopped now." : running > needed ? `${running - needed} of them can be stopped or lost without an outage.` : ""}</p>`}`;
}

/** How far a node is. @param {any} node */
function behind({ log, role }) {
  if (!log) return "–";
  if (role === "leader") return html`<span title=${`${log.committed.toLocaleString("en")} entries are in its log`}>it leads</span>`;
  if (log.lag_entries === 0 && log.lag_bytes === 0) return html`<span class="badge good">nothing</span>`;
  return html`${log.lag_entries.toLocaleString("en")} entries, ${h(Figure, { unit: "bytes", value: log.lag_bytes })}${log.unacknowledged_ms ? html`, for ${h(Figure, { unit: "ms", value: log.unacknowledged_ms })}` : ""}`;
}

/** How far it is to a node, by the links that are up: what was measured before one broke says nothing of now. @param {any} node */
function linkOf({ links = [], running }) {
  const up = running ? links.filter((/** @type {any} */ link) => link.up) : [];
  const trips = up.map((/** @type {any} */ link) => link.round_trip_us).filter((/** @type {any} */ one) => typeof one === "number");
  return h(Figure, { unit: "us", value: trips.length > 0 ? Math.min(...trips) : undefined });
}

/** @param {{ node: any, cluster: any, reload: () => Promise<void> }} props */
function Orders({ node, cluster, reload }) {
  const isLeader = node.name === cluster.leader;
  return html`<span class="acts">
    ${node.running && !isLeader && !node.draining && html`<button type="button" aria-label=${`Make leader ${node.name}`} onClick=${() => orderTransfer(node, reload)}>Make leader</button>`}
    ${node.running && !node.draining && html`<button type="button" aria-label=${`Drain ${node.name}`} onClick=${() => orderDrain(node, isLeader, reload)}>Drain</button>`}
    ${node.draining && html`<button type="button" aria-label=${`Revive ${node.name}`} onClick=${() => orderRevive(node, reload)}>Revive</button>`}
    ${!node.running && !isLeader && html`<button type="button" class="harmful" aria-label=${`Forget ${node.name}`} onClick=${() => orderForget(node, cluster, reload)}>Forget</button>`}</span>`;
}

/** @param {{ nodes: any[] }} props */
function Links({ nodes }) {
  const rows = nodes.flatMap(({ name, links = [] }) => links.map((/** @type {any} */ link) => ({ key: `${name} ${link.lane}`, cells: [
    h("bdi", {}, name), h("span", { title: LANES[link.lane] }, link.lane), html`<span class=${`badge ${link.up ? "good" : ""}`}>${link.up ? "up" : "down"}</span>`,
    h(Figure, { unit: "bytes", value: link.sent }), h(Figure, { unit: "bytes", value: link.received }), h(Figure, { unit: "us", value: link.up ? link.round_trip_us : undefined })] })));
  const number = (/** @type {string} */ title) => ({ title, isNumber: true });
  return h(Plain, { label: "Links between the nodes", empty: "There is none yet.", head: ["To", "Lane", "State", number("Sent"), number("Received"), number("Round trip")], rows });
}

/** What goes over each lane. @type {Record<string, string>} */
const LANES = {
  votes: "elections and heartbeats of the leader", commits: "entries of the journal", files: "files of messages; up only while files are sent", calls: "requests and responses", forward: "connections of clients that are forwarded to the leader; up only while there are some",
};

/** @param {{ name: string, reload: () => Promise<void> }} props */
function NameForm({ name, reload }) {
  const set = async (/** @type {any} */ values) => {
    await change("PUT", "api/cluster-name", { name: values.name });
    say(`The cluster is called ${values.name}.`);
    await reload();
  };
  return h(Form, { key: name, label: "Name of the cluster", act: "Change the name", initial: { name }, keeps: true, onSubmit: set, fields: [{ name: "name", label: "Name", isRequired: true, help: "Clients are told it when they connect; it is a label of metrics." }] });
}
