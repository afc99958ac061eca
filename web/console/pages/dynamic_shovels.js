// Definitions of shovels that are set while the broker runs, as RabbitMQ's page Shovel Management.

import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { uriText } from "../parts/settings.js";
import { useVhosts, VhostChoice } from "../parts/vhosts.js";
import { useResource } from "../resource.js";
import { href, place } from "../route.js";
import { Admin } from "./admin_frame.js";
import { ShovelForm } from "./shovel_form.js";
import { End } from "./shovel_parts.js";

/** An end by a definition. @param {{ value: any, of: "src" | "dest" }} props */
function DefinedEnd({ value, of }) {
  return h("span", { title: uriText(value[`${of}-uri`]) }, h(End, { queue: value[`${of}-queue`], exchange: value[`${of}-exchange`], routingKey: value[`${of}-exchange-key`], protocol: value[`${of}-protocol`] }));
}

/** @param {any} value @param {"src" | "dest"} of */
const uriCell = (value, of) => h("code", { title: uriText(value[`${of}-uri`]) }, uriText(value[`${of}-uri`]));

/** @type {import("../parts/table.js").Column<any>[]} */
const COLUMNS = [
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: ({ vhost }) => h("bdi", {}, vhost) },
  { id: "name", title: "Name", sort: "name", cell: ({ vhost, name }) => html`<a href=${href(["dynamic-shovels", vhost, name])}><bdi>${name}</bdi></a>` },
  { id: "from-uri", title: "Source URI", about: "without its password", cell: ({ value }) => uriCell(value, "src") },
  { id: "from", title: "Source", cell: ({ value }) => h(DefinedEnd, { value, of: "src" }) },
  { id: "to-uri", title: "Destination URI", about: "without its password", cell: ({ value }) => uriCell(value, "dest") },
  { id: "to", title: "Destination", cell: ({ value }) => h(DefinedEnd, { value, of: "dest" }) },
  { id: "ack", title: "Ack mode", sort: "value.ack-mode", cell: ({ value }) => value["ack-mode"] ?? "on-confirm" },
  { id: "end", title: "Auto-delete", about: "when it deletes itself", cell: ({ value }) => String(value["src-delete-after"] ?? value["delete-after"] ?? "never") },
];

export default function DynamicShovels() {
  const { data, error, reload } = useResource("api/parameters/shovel");
  const vhosts = useVhosts();
  const { query } = place.value;
  const chosen = query.get("vhost") ?? "";
  const rows = chosen ? data?.filter((/** @type {any} */ { vhost }) => vhost === chosen) : data;
  return h(Admin, { title: "Shovel Management", children: html`
    <p>A shovel takes messages out of a queue or an exchange, and publishes them at another broker, or at this one. It continues by itself after either end was unreachable. <a href=${href(["shovels"])}>What they do now</a></p>
    ${h(List, { label: "Dynamic shovels", rows, error, columns: COLUMNS, keyOf: ({ vhost, name }) => `${vhost}/${name}`, textOf: ({ name, value }) => `${name} ${value["src-queue"] ?? value["src-exchange"] ?? ""} ${value["dest-queue"] ?? value["dest-exchange"] ?? ""}`, by: "name", height: "60vh",
      empty: "There is no dynamic shovel. Add one below: it starts at once.", tools: h(VhostChoice, { vhosts }) })}
    ${vhosts.length > 0 && h(Section, { title: "Add a shovel", isClosed: data?.length !== 0, isAsked: query.get("add") === "yes", children: h(ShovelForm, { vhosts: chosen ? [chosen, ...vhosts.filter((one) => one !== chosen)] : vhosts, onDone: reload }) })}` });
}
