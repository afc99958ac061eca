// Feature flags and deprecated features, as RabbitMQ has them.

import { h } from "../parts/html.js";
import { List } from "../parts/list.js";
import { useResource } from "../resource.js";
import { Admin } from "./admin_frame.js";

/** @param {string} state @param {string} good */
const stateBadge = (state, good) => h("span", { class: `badge ${state === good ? "good" : "warn"}` }, state);

/** @type {import("../parts/table.js").Column<any>[]} */
const FLAG_COLUMNS = [
  { id: "name", title: "Name", sort: "name", cell: ({ name }) => name },
  { id: "state", title: "State", sort: "state", cell: ({ state }) => stateBadge(state, "enabled") },
  { id: "stability", title: "Stability", about: "required: RabbitMQ's version 4.3 works only with it", sort: "stability", cell: ({ stability }) => stability },
  { id: "by", title: "Provided by", sort: "provided_by", isHidden: true, cell: (flag) => flag.provided_by },
];

export function FeatureFlags() {
  const { data, error } = useResource("api/feature-flags", 60_000);
  return h(Admin, { title: "Feature Flags", children: [
    h("p", { key: "about" }, "RabbitMQ's feature flags, for tools that query them. All are always enabled: nothing needs to be done before an upgrade."),
    h(List, { key: "list", label: "Feature flags", rows: data, error, columns: FLAG_COLUMNS.filter((column) => !column.isHidden), keyOf: (row) => row.name, by: "name", empty: "There are none." }),
  ] });
}

/** What each phase means. @type {Record<string, string>} */
const PHASES = {
  permitted_by_default: "it can be used; a later version of RabbitMQ denies it",
  denied_by_default: "it is denied unless the configuration permits it",
  disconnected: "RabbitMQ has removed it",
  removed: "RabbitMQ has removed it",
};

/** @type {import("../parts/table.js").Column<any>[]} */
const DEPRECATED_COLUMNS = [
  { id: "name", title: "Name", sort: "name", cell: ({ name }) => name },
  { id: "state", title: "State", sort: "state", cell: ({ state }) => stateBadge(state, "permitted") },
  { id: "phase", title: "Phase", about: "how far RabbitMQ is with removing it", sort: "deprecation_phase", cell: (row) => h("span", { title: PHASES[row.deprecation_phase] }, String(row.deprecation_phase).replaceAll("_", " ")) },
  { id: "used", title: "In use", about: "whether something here uses it", sort: "isUsed", cell: ({ isUsed }) => (isUsed === undefined ? "–" : isUsed ? "yes" : "no") },
];

export function DeprecatedFeatures() {
  const { data, error } = useResource("api/deprecated-features", 60_000);
  const { data: used } = useResource("api/deprecated-features/used", 60_000);
  const names = used && new Set(used.map((/** @type {any} */ one) => one.name));
  const rows = data?.map((/** @type {any} */ one) => ({ ...one, isUsed: names?.has(one.name) }));
  return h(Admin, { title: "Deprecated Features", children: [
    h("p", { key: "about" }, "What RabbitMQ will remove or has removed, and whether it can be used here. The setting deprecated_features.permit.NAME of the configuration permits or denies one."),
    h(List, { key: "list", label: "Deprecated features", rows, error, columns: DEPRECATED_COLUMNS, keyOf: (row) => row.name, by: "name", empty: "There are none." }),
  ] });
}
