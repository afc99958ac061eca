// Shovels and what they do, as RabbitMQ's page Shovel Status.

import { Figure, Time } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { since, useOfVhosts } from "../parts/of_vhosts.js";
import { useVhosts, VhostChoice } from "../parts/vhosts.js";
import { href, place } from "../route.js";
import { may } from "../session.js";
import { Admin } from "./admin_frame.js";
import { endOf, ShovelActs, ShovelState } from "./shovel_parts.js";

/** @typedef {import("./shovel_parts.js").Shovel} Shovel */

/** A number, or a word. @param {unknown} value */
const countOf = (value) => (typeof value === "string" ? value : h(Figure, { unit: "messages", value }));

/** @type {import("../parts/table.js").Column<Shovel>[]} */
const COLUMNS = [
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: ({ vhost }) => h("bdi", {}, vhost ?? "–") },
  { id: "name", title: "Name", sort: "name", cell: ({ vhost, name }) => (vhost === undefined ? html`<bdi>${name}</bdi> <span class="badge" title="set in the configuration: it cannot be changed here">static</span>` : html`<a href=${href(["dynamic-shovels", vhost, name])}><bdi>${name}</bdi></a>`) },
  { id: "state", title: "State", sort: "state", cell: (shovel) => h(ShovelState, { shovel }) },
  { id: "reason", title: "Reason", about: "why it failed", sort: "reason", cell: ({ reason }) => reason && h("span", { title: reason }, reason) },
  { id: "source", title: "Source", cell: (shovel) => h("span", { title: shovel.src_uri }, endOf(shovel, "src")) },
  { id: "destination", title: "Destination", cell: (shovel) => h("span", { title: shovel.dest_uri }, endOf(shovel, "dest")) },
  { id: "forwarded", title: "Forwarded", about: "messages published since it connected", sort: "forwarded", isNumber: true, cell: ({ forwarded }) => countOf(forwarded) },
  { id: "pending", title: "Pending", about: "messages that wait for the destination", sort: "pending", isNumber: true, cell: ({ pending }) => countOf(pending) },
  { id: "remaining", title: "Remaining", about: "messages that are to be moved before it deletes itself", sort: "remaining", isNumber: true, cell: ({ remaining }) => countOf(remaining) },
  { id: "since", title: "Last changed", about: "since when it is in this state", sort: "timestamp", cell: ({ timestamp }) => h(Time, { at: since(timestamp), isAgo: true }) },
];

export default function Shovels() {
  const { data, error, reload } = useOfVhosts("api/shovels");
  const vhosts = useVhosts();
  const chosen = place.value.query.get("vhost") ?? "";
  const mayChange = may("policymaker");
  const rows = chosen ? data?.filter((/** @type {Shovel} */ { vhost }) => vhost === chosen) : data;
  const acts = { id: "acts", title: "Operations", cell: (/** @type {Shovel} */ shovel) => (shovel.vhost === undefined ? "–" : h(ShovelActs, { shovel, reload })) };
  const columns = mayChange ? COLUMNS.toSpliced(3, 0, acts) : COLUMNS;
  return h(Admin, { title: "Shovel Status", children: html`
    ${h(List, { label: "Shovels", rows, error, columns, keyOf: ({ vhost, name }) => `${vhost ?? ""}/${name}`, textOf, by: "name", height: "60vh", tools: h(VhostChoice, { vhosts }),
      empty: html`<p>There is no shovel${mayChange ? "" : " that this user may see"}. A shovel takes messages out of a queue or an exchange, and publishes them at another broker, or at this one.</p>${mayChange && html`<p><a class="button" href=${href(["dynamic-shovels"], { add: "yes" })}>Add a shovel</a></p>`}` })}` });
}

/** @param {Shovel} shovel */
const textOf = (shovel) => [shovel.name, shovel.state, shovel.src_queue, shovel.src_exchange, shovel.dest_queue, shovel.dest_exchange].filter(Boolean).join(" ");
