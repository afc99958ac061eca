// Limits of a virtual host or of a user: shown, set and cleared.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { Figure } from "../parts/figure.js";
import { Form } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { attempt, say } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { choiceOf } from "./permissions.js";

/** @typedef {{ name: string, title: string, about: string, unit: import("../parts/figure.js").Unit }} Limit */

/** @type {Record<"vhost" | "user", Limit[]>} */
export const LIMITS = {
  vhost: [
    { name: "max-connections", title: "Connections", about: "Further connections are refused.", unit: "count" },
    { name: "max-queues", title: "Queues", about: "Further queues are refused.", unit: "count" },
    { name: "max-publish-rate", title: "Messages a second", about: "Publishers are slowed down to this rate. Only Warren has it.", unit: "rate" },
    { name: "max-publish-bytes-rate", title: "Bytes a second", about: "Bytes of bodies: publishers are slowed down to this rate. Only Warren has it.", unit: "byterate" },
  ],
  user: [
    { name: "max-connections", title: "Connections", about: "Further connections are refused.", unit: "count" },
    { name: "max-channels", title: "Channels", about: "Counted over all connections; further channels are refused.", unit: "count" },
  ],
};

/** @param {"vhost" | "user"} kind @param {string} of @param {string} limit */
const pathOfLimit = (kind, of, limit) => (kind === "vhost" ? pathOf`api/vhost-limits/${of}/${limit}` : pathOf`api/user-limits/${of}/${limit}`);

/** @param {"vhost" | "user"} kind @param {string} name @param {unknown} value */
export const limitFigure = (kind, name, value) => h(Figure, { unit: LIMITS[kind].find((limit) => limit.name === name)?.unit ?? "count", value, title: typeof value === "number" && value < 0 ? "a negative limit is none" : undefined });

/** @param {"vhost" | "user"} kind @param {string} name */
export const limitTitle = (kind, name) => LIMITS[kind].find((limit) => limit.name === name)?.title ?? name;

/**
 * @param {"vhost" | "user"} kind @param {string} of @param {string} limit @param {() => Promise<void>} reload
 */
export async function clearLimit(kind, of, limit, reload) {
  await attempt(() => change("DELETE", pathOfLimit(kind, of, limit)), `${limitTitle(kind, limit)}: the limit is cleared.`);
  await reload();
}

/** Of one of them. @param {{ kind: "vhost" | "user", of: string, limits: Record<string, number>, reload: () => Promise<void>, isReadOnly?: boolean }} props */
export function LimitsOf({ kind, of, limits, reload, isReadOnly }) {
  return html`
    ${h(Plain, { label: "Limits", empty: "No limits.", head: ["Limit", { title: "Value", isNumber: true }, ...(isReadOnly ? [] : [""])], rows: Object.entries(limits).map(([name, value]) => ({ key: name, cells: [
      h("span", { title: name }, limitTitle(kind, name)), limitFigure(kind, name, value),
      ...(isReadOnly ? [] : [html`<button type="button" aria-label=${`Clear ${name} of ${of}`} onClick=${() => clearLimit(kind, of, name, reload)}>Clear</button>`])] })) })}
    ${!isReadOnly && h(LimitForm, { kind, names: [of], reload })}`;
}

/** @param {{ kind: "vhost" | "user", names: string[], reload: () => Promise<void> }} props */
export function LimitForm({ kind, names, reload }) {
  const label = kind === "vhost" ? "Set a limit of a virtual host" : "Set a limit of a user";
  const set = async (/** @type {any} */ values) => {
    const { of = names[0] ?? "", limit = LIMITS[kind][0]?.name ?? "", value } = values;
    await change("PUT", pathOfLimit(kind, of, limit), { value: Number(value) });
    say(`The limit of ${of} is set.`);
    await reload();
  };
  return h(Form, { label, act: "Set limit", onSubmit: set, fields: [
    .../** @type {import("../parts/form.js").Field[]} */ (names.length > 1 ? [{ name: "of", label: kind === "vhost" ? "Virtual host" : "User", ...choiceOf(names) }] : []),
    { name: "limit", label: "Limit", kind: "select", options: LIMITS[kind].map(({ name, title, about }) => [name, `${title} (${name}): ${about}`]) },
    { name: "value", label: "Value", kind: "number", isRequired: true, help: "0: none at all." },
  ] });
}
