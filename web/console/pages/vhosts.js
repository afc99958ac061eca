// All virtual hosts: what waits in them, how fast messages come and go, which are protected.

import { useCallback } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { useLive } from "../live.js";
import { ColumnChoice, useColumns } from "../parts/columns.js";
import { Figure } from "../parts/figure.js";
import { Form } from "../parts/form.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Filter, useOrder, usePages } from "../parts/list.js";
import { Note, say } from "../parts/note.js";
import { PagedTable } from "../parts/paged_table.js";
import { href, place } from "../route.js";
import { may } from "../session.js";
import { Admin } from "./admin_frame.js";

/** @type {import("../parts/table.js").Column<any>[]} */
const COLUMNS = [
  { id: "name", title: "Name", sort: "name", cell: ({ name }) => html`<a href=${href(["vhosts", name])}><bdi>${name}</bdi></a>` },
  { id: "description", title: "Description", sort: "description", cell: ({ description }) => h("bdi", {}, description) },
  { id: "tags", title: "Tags", about: "labels, without a meaning to the broker", cell: ({ tags = [] }) => tags.map((/** @type {string} */ tag) => h("span", { key: tag, class: "badge" }, tag)) },
  { id: "default_queue_type", title: "Default queue type", about: "of queues that are declared without one", sort: "default_queue_type", cell: (vhost) => vhost.default_queue_type },
  { id: "state", title: "State", cell: ({ protected_from_deletion: isProtected, tracing, cluster_state: state = {} }) => [
    ...Object.entries(state).filter(([, one]) => one !== "running").map(([node, one]) => h("span", { key: node, class: "badge bad" }, `${one} on ${node}`)),
    isProtected && h("span", { key: "protected", class: "badge", title: "it cannot be deleted" }, "protected"), tracing && h("span", { key: "tracing", class: "badge warn", title: "its messages are copied to amq.rabbitmq.trace" }, "traced")] },
  { id: "ready", title: "Ready", about: "messages that wait for a consumer", sort: "messages_ready", isNumber: true, cell: (vhost) => h(Figure, { unit: "messages", value: vhost.messages_ready }) },
  { id: "unacked", title: "Unacked", about: "messages that consumers have and have not acknowledged", sort: "messages_unacknowledged", isNumber: true, cell: (vhost) => h(Figure, { unit: "messages", value: vhost.messages_unacknowledged }) },
  { id: "total", title: "Total", about: "messages, ready and unacked", sort: "messages", isNumber: true, cell: (vhost) => h(Figure, { unit: "messages", value: vhost.messages }) },
  { id: "publish", title: "Publish", about: "messages a second that are published", sort: "message_stats.publish_details.rate", isNumber: true, cell: (vhost) => h(Figure, { unit: "rate", value: vhost.message_stats?.publish_details?.rate ?? 0 }) },
  { id: "deliver", title: "Deliver / get", about: "messages a second that consumers get", sort: "message_stats.deliver_get_details.rate", isNumber: true, cell: (vhost) => h(Figure, { unit: "rate", value: vhost.message_stats?.deliver_get_details?.rate ?? 0 }) },
  { id: "from", title: "From client", about: "bytes a second from clients", sort: "recv_oct_details.rate", isNumber: true, isHidden: true, cell: (vhost) => h(Figure, { unit: "byterate", value: vhost.recv_oct_details?.rate }) },
  { id: "to", title: "To client", about: "bytes a second to clients", sort: "send_oct_details.rate", isNumber: true, isHidden: true, cell: (vhost) => h(Figure, { unit: "byterate", value: vhost.send_oct_details?.rate }) },
];

/** What the API is asked for a column. @type {Record<string, string>} */
const ASKED = {
  state: "protected_from_deletion,tracing,cluster_state", ready: "messages_ready", unacked: "messages_unacknowledged", total: "messages", publish: "message_stats.publish_details.rate",
  deliver: "message_stats.deliver_get_details.rate", from: "recv_oct_details.rate", to: "send_oct_details.rate",
};

export default function Vhosts() {
  const { query } = place.value;
  const name = query.get("name") ?? "";
  const { shown, choice } = useColumns("vhosts", COLUMNS);
  const { order, onOrder } = useOrder("name", false);
  const columns = ["name", ...shown.map(({ id }) => ASKED[id] ?? id)].join(",");
  const list = usePages("api/vhosts", { columns, name, use_regex: name !== "", sort: order.by, sort_reverse: order.isReversed });
  const onSeen = useCallback((/** @type {number} */ start, /** @type {number} */ end) => list.onSeen(start, end), [list.onSeen]);
  useLive("changes", ({ data }) => void (/^vhost\./.test(data?.event ?? "") && list.reload()));
  return h(Admin, { title: "Virtual Hosts", children: html`
    ${h(Filter, { label: "Filter virtual hosts", name: "name", count: list.isThere ? list.count : undefined, all: list.all, children: h(ColumnChoice, { choice, columns: COLUMNS }) })}
    ${list.error !== undefined && h(Note, { error: list.error })}
    ${!list.isThere && list.error === undefined && html`<p class="awaited-text" role="status">Asking the broker…</p>`}
    ${list.isThere && h(PagedTable, { label: "Virtual hosts", columns: shown, count: list.count, rowAt: list.rowAt, keyOf: (vhost) => vhost.name, onSeen, order, onOrder, height: "60vh",
      empty: list.all === 0 ? (may("administrator") ? "There is no virtual host. Add one below." : "This user has permissions in no virtual host. An administrator can set some.") : "No virtual host has such a name. Clear the filter to see all." })}
    ${may("administrator") && h(Section, { title: "Add a virtual host", isClosed: true, isAsked: query.get("add") === "yes", children: h(VhostForm, { onDone: list.reload }) })}` });
}

/** @param {{ known?: any, onDone: () => Promise<void> }} props known: the one that is changed */
export function VhostForm({ known, onDone }) {
  const submit = async (/** @type {any} */ values) => {
    const name = known?.name ?? values.name;
    const type = values.type ?? "";
    await change("PUT", pathOf`api/vhosts/${name}`, { description: values.description ?? "", tags: values.tags ?? "", tracing: Boolean(values.tracing), ...(type === "" ? {} : { default_queue_type: type }) });
    say(known ? `Virtual host ${name} was changed.` : `Virtual host ${name} was created. You have all permissions in it.`);
    await onDone();
  };
  return h(Form, {
    label: known ? "Change the virtual host" : "Add a virtual host", act: known ? "Change virtual host" : "Add virtual host", onSubmit: submit, keeps: Boolean(known),
    initial: known ? { description: known.description, tags: (known.tags ?? []).join(", "), type: known.default_queue_type, tracing: known.tracing } : {},
    fields: [
      .../** @type {import("../parts/form.js").Field[]} */ (known ? [] : [{ name: "name", label: "Name", isRequired: true }]),
      { name: "description", label: "Description" },
      { name: "tags", label: "Tags", help: "Labels, separated by commas." },
      { name: "type", label: "Default queue type", kind: "select", options: [...(known ? [] : [["", "the broker's default"]]), ["classic", "classic"], ["quorum", "quorum"]], help: "Of queues that are declared without a type." },
      { name: "tracing", label: "Tracing", kind: "checkbox", help: "Each message that is published or delivered here is copied to the exchange amq.rabbitmq.trace. That takes processor time and bandwidth." },
    ],
  });
}
