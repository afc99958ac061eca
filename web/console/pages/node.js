// One node: its memory and disk, files, listeners, and losses; what operators change of the running process.

import { useState } from "../../vendor/modules/hooks.js";
import { change, send, sentenceOf } from "../api.js";
import { address, path as pathOf } from "../address.js";
import { Chart, linesOf, samplesOf } from "../parts/chart.js";
import { ask } from "../parts/dialog.js";
import { Figure, Time } from "../parts/figure.js";
import { Form } from "../parts/form.js";
import { Facts, Heading, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { isMissing, NotHere } from "../parts/not_here.js";
import { attempt, Note, say } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { may } from "../session.js";
import { alarmsOf } from "./cluster.js";

/** @type {[string, string[]][]} */
const ABOVE = [["Cluster", ["cluster"]]];

/** @param {{ values: string[] }} props */
export default function Node({ values }) {
  const [name = ""] = values;
  const { data, error, reload } = useResource(`${pathOf`api/nodes/${name}`}?node_stats_age=600&node_stats_incr=5`);
  const { data: overview } = useResource("api/overview?columns=node", 10_000);
  if (!data || isMissing(error)) return h(NotHere, { error, kind: "Node", title: name, above: ABOVE });
  const hasFigures = data.mem_used !== undefined;
  // What is changed here is changed at the node that answers, which leads.
  const isHere = overview?.node === name;
  const mayChange = may("administrator") && isHere;
  return html`
    ${h(Heading, { title: name, kind: "Node", above: ABOVE })}
    ${error && h(Note, { kind: "warning", error })}
    <p>${data.running ? html`<span class="badge good">running</span>` : html`<span class="badge bad">not running</span>`}${data.being_drained && html`<span class="badge warn">drained</span>`}${alarmsOf(data)}</p>
    ${overview && !isHere && h(Note, { kind: "hint", children: `The leader, ${overview.node}, answers here. To change limits, listeners or the log of this node, ask the node itself, by the socket in its data directory.` })}
    ${hasFigures && h(Numbers, { node: data })}
    ${hasFigures && html`<div class="columns">
      ${h(Section, { title: "Memory", about: "by what has it", children: h(Memory, { name, node: data, mayChange, reload }) })}
      ${h(Section, { title: "Disk", children: h(Disk, { node: data, mayChange, reload }) })}</div>`}
    ${hasFigures && h(Section, { title: "Listeners", children: h(Listeners, { name, node: data, mayChange }) })}
    ${isHere && h(DataLoss, { mayChange })}
    ${hasFigures && h(Section, { title: "The process", isClosed: true, children: h(Process, { node: data }) })}`;
}

/** @param {{ node: any }} props */
function Numbers({ node }) {
  const of = (/** @type {number} */ used, /** @type {number} */ total, /** @type {string} */ label) => html`${h(Figure, { value: used })} of ${h(Figure, { value: total })} <meter aria-label=${label} min="0" max=${total || 1} high=${0.8 * (total || 1)} value=${used}></meter>`;
  return h(Facts, { facts: [
    ["Up for", h(Figure, { unit: "ms", value: node.uptime })],
    ["File descriptors", of(node.fd_used, node.fd_total, "File descriptors in use"), "open files and sockets"],
    ["Sockets", h(Figure, { value: node.sockets_used })],
    ["Threads", h(Figure, { value: node.proc_used })],
    ["Processors", h(Figure, { value: node.processors })],
    ["Connections opened", h(Figure, { unit: "rate", value: node.connection_created_details?.rate })],
    ["Version", (node.applications ?? []).find((/** @type {any} */ one) => one.name === "rabbit")?.version],
  ] });
}

/** What the parts of memory are called, and what they are. @type {Record<string, string>} */
const OWNERS = {
  connection_readers: "Connections: reading", connection_writers: "Connections: writing", connection_channels: "Channels", connection_other: "Connections: other", queue_procs: "Classic queues", quorum_queue_procs: "Quorum queues",
  plugins: "Delayed messages", metadata_store: "Definitions", metrics: "Statistics and metrics", mgmt_db: "Histories", quorum_ets: "Journal", binary: "Contents of messages", msg_index: "Index of segments", code: "Files, including the program",
  other_system: "Everything else", allocated_unused: "Allocated, not in use",
};

/** @param {{ name: string, node: any, mayChange: boolean, reload: () => Promise<void> }} props */
function Memory({ name, node, mayChange, reload }) {
  const { data } = useResource(`${pathOf`api/nodes/${name}`}/memory`);
  const memory = data?.memory;
  const parts = /** @type {[string, number][]} */ (typeof memory === "object" && memory !== null ? Object.entries(memory).filter(([, value]) => typeof value === "number" && value > 0) : []).sort((a, b) => b[1] - a[1]);
  const total = memory?.total?.[memory?.strategy] ?? node.mem_used;
  const set = async (/** @type {any} */ values) => {
    await change("PUT", "api/warren/memory-limit", limitOf(values));
    say("The limit of memory is in force, until the process ends.");
    await reload();
  };
  return html`
    <p><strong>${h(Figure, { unit: "bytes", value: node.mem_used })}</strong> in use; publishers are blocked above <strong>${h(Figure, { unit: "bytes", value: node.mem_limit })}</strong>.
      <meter aria-label="Memory in use, of the limit" min="0" max=${node.mem_limit || 1} high=${0.8 * (node.mem_limit || 1)} value=${node.mem_used}></meter></p>
    ${parts.length > 0 && h("div", { class: "bar", role: "list", "aria-label": "Memory by owner" }, parts.map(([key, value]) => h("div", { key, role: "listitem" },
      h("span", { title: `RabbitMQ's name: ${key}` }, OWNERS[key] ?? key.replaceAll("_", " ")), h("span", { class: "track", "aria-hidden": "true" }, h("span", { style: { width: `${Math.min(100, (100 * value) / (total || 1))}%` } })), h("b", {}, h(Figure, { unit: "bytes", value })))))}
    ${node.mem_used_details?.samples && h(Chart, { title: "Memory in use, last ten minutes", unit: "bytes", height: 120, ...linesOf([["In use", node.mem_used_details]], samplesOf) })}
    ${mayChange && html`<h3>Change the limit</h3>`}
    ${mayChange && h(Form, { label: "Limit of memory", act: "Change the limit of memory", onSubmit: set, fields: [
      { name: "kind", label: "As", kind: "select", options: [["relative", "a share of the memory"], ["absolute", "so many bytes"]] },
      { name: "value", label: "Limit", isRequired: true, placeholder: "0.6, or 2GiB", help: "A share from 0 to 1, or a size such as 2GiB. It is in force until the process ends." }] })}`;
}

/** @param {any} values */
function limitOf({ kind = "relative", value }) {
  if (kind === "absolute") return { absolute: String(value).trim() };
  const share = Number(value);
  if (Number.isNaN(share)) throw new Error(`The limit is not a number: ${value}`);
  return { relative: share };
}

/** @param {{ node: any, mayChange: boolean, reload: () => Promise<void> }} props */
function Disk({ node, mayChange, reload }) {
  const set = async (/** @type {any} */ values) => {
    await change("PUT", "api/warren/disk-free-limit", limitOf(values));
    say("The limit of free disk is in force, until the process ends.");
    await reload();
  };
  return html`
    <p><strong>${h(Figure, { unit: "bytes", value: node.disk_free })}</strong> free where the data is; publishers are blocked below <strong>${h(Figure, { unit: "bytes", value: node.disk_free_limit })}</strong>.</p>
    ${h(Facts, { facts: [["Data", h("code", {}, node.db_dir)], ["Changes by", h(Figure, { unit: "byterate", value: node.disk_free_details?.rate }), "of the free disk, a second"]] })}
    ${node.disk_free_details?.samples && h(Chart, { title: "Free disk, last ten minutes", unit: "bytes", height: 120, ...linesOf([["Free", node.disk_free_details]], samplesOf) })}
    ${mayChange && html`<h3>Change the limit</h3>`}
    ${mayChange && h(Form, { label: "Limit of free disk", act: "Change the limit of free disk", onSubmit: set, fields: [
      { name: "kind", label: "As", kind: "select", options: [["absolute", "so many bytes"], ["relative", "a multiple of the memory"]] },
      { name: "value", label: "Limit", isRequired: true, placeholder: "2GiB, or 1.5", help: "A size such as 2GiB, or a multiple of the memory. It is in force until the process ends." }].map((field) => /** @type {import("../parts/form.js").Field} */ (field)), initial: { kind: "absolute" } })}`;
}

/** @param {{ name: string, node: any, mayChange: boolean }} props */
function Listeners({ name, node, mayChange }) {
  const { data: overview } = useResource("api/overview?columns=listeners,contexts", 30_000);
  const [state, setState] = useState("");
  const own = (overview?.listeners ?? []).filter((/** @type {any} */ one) => one.node === name);
  // That it answers 503 does not say that the broker is away.
  const check = () => send("GET", "api/health/checks/ready-to-serve-clients", { isLong: true }).then(() => setState("Clients are served."), (error) => setState(sentenceOf(error)));
  const suspend = async () => {
    const isYes = await ask({ title: "Suspend the listeners", act: "Suspend", isHarmful: true, text: html`<p>New AMQP connections are refused, with and without TLS, and over WebSockets, until listeners are resumed or the process ends. Open connections stay. The HTTP API stays.</p>`,
      run: () => change("POST", "api/warren/listeners/suspend") });
    if (isYes) say("New connections are refused.");
    await check();
  };
  const resume = async () => {
    await attempt(() => change("POST", "api/warren/listeners/resume"), "New connections are accepted.");
    await check();
  };
  return html`
    ${h(Plain, { label: "Listeners", empty: "No listener is known.", head: ["Protocol", "Address", { title: "Port", isNumber: true }, "TLS"], rows: [
      ...own.map((/** @type {any} */ one) => ({ key: `${one.protocol} ${one.port} ${one.ip_address}`, cells: [one.protocol, one.ip_address, String(one.port), one.tls ? "yes" : "no"] })),
      ...(own.length > 0 ? [] : (node.contexts ?? []).map((/** @type {any} */ one) => ({ key: `${one.description} ${one.port}`, cells: [one.description, one.ip, String(one.port), "–"] })))] })}
    <p class="acts"><button type="button" onClick=${check}>Are clients served?</button>
      ${mayChange && html`<button type="button" class="harmful" onClick=${suspend}>Suspend listeners</button><button type="button" onClick=${resume}>Resume listeners</button>`}
      <output aria-live="polite">${state}</output></p>`;
}

/** @param {{ mayChange: boolean }} props */
function DataLoss({ mayChange }) {
  const { data, error, reload } = useResource("api/warren/data-loss", 15_000);
  const acknowledge = async () => {
    const isYes = await ask({ title: "Acknowledge the losses", act: "Acknowledge", text: html`<p>The health check passes again, and the alarm ends. The messages stay lost; the files stay, for a repair with warren fsck.</p>`, run: () => change("DELETE", "api/warren/data-loss") });
    if (!isYes) return;
    say("The losses are acknowledged.");
    await reload();
  };
  const files = data?.damaged_files ?? [];
  return h(Section, { title: "Data loss", about: files.length === 0 ? "none" : undefined, isClosed: files.length === 0, children: html`
    ${error && h(Note, { error })}
    ${data && (files.length === 0 ? html`<p>No message was lost to a damaged file, or all losses are acknowledged.</p>` : html`
      <p><strong>${h(Figure, { unit: "messages", value: data.lost_messages })}</strong> messages are lost.</p>
      ${h(Plain, { label: "Damaged files", head: ["File", "What", "Found", "Lost"], rows: files.map((/** @type {any} */ file) => ({ key: file.path, cells: [h("code", {}, file.path), file.what, h(Time, { at: file.found_at }), lostOf(file.lost)] })) })}
      ${mayChange && html`<p class="acts"><button type="button" class="main" onClick=${acknowledge}>Acknowledge the losses</button></p>`}`)}` });
}

/** @param {any} lost */
function lostOf(lost) {
  if (!Array.isArray(lost)) return lost === undefined || lost === null ? "not known" : JSON.stringify(lost);
  return html`<ul class="changes">${lost.map((one) => html`<li>${(one.messages ?? 0).toLocaleString("en")} of <bdi>${one.queue ?? one.exchange ?? "something deleted"}</bdi>${one.vhost !== undefined && html` in <bdi>${one.vhost}</bdi>`}</li>`)}</ul>`;
}

/** @param {{ node: any }} props */
function Process({ node }) {
  return html`${h(Facts, { facts: [
    ["Process", node.os_pid], ["RabbitMQ's version", node.rabbitmq_version], ["Type", node.type], ["Rates", node.rates_mode], ["Log", (node.log_files ?? []).join(", ")], ["Configuration", (node.config_files ?? []).join(", ") || "no file"],
    ["Ways to log in", (node.auth_mechanisms ?? []).filter((/** @type {any} */ one) => one.enabled).map((/** @type {any} */ one) => one.name).join(", ")],
    ["Plugins", (node.enabled_plugins ?? []).join(", ")]] })}
    ${may("administrator") && html`<p><a href=${address("api/config/effective")}>The configuration that is in force</a>, without its secrets.</p>`}`;
}
