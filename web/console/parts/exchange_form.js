// What exchanges are, and how one is declared.

import { useState } from "../../vendor/modules/hooks.js";
import { change, sentenceOf } from "../api.js";
import { path } from "../address.js";
import { useResource } from "../resource.js";
import { argumentsOf, Form } from "./form.js";
import { h } from "./html.js";
import { say } from "./note.js";
import { EXCHANGE_ARGUMENTS } from "./queue_arguments.js";

/** Exchanges that AMQP has; the broker says which others there are. */
const TYPES = ["direct", "fanout", "headers", "topic"];

/** Whether every virtual host has it, so that it can be neither declared nor deleted. @param {string} name */
export const isPredeclared = (name) => name === "" || name.startsWith("amq.");

/** Where it delays messages. @param {any} exchange */
export const isDelaying = (exchange) => exchange.type === "x-delayed-message" || exchange.messages_delayed !== undefined;

/** What arguments of exchanges are called in short. @type {Record<string, string>} */
const SHORT = { "alternate-exchange": "AE", "x-delayed-type": "DT", "x-delayed-exchange": "DE", "x-delayed-release-rate": "DR", "x-message-deduplication": "Dedup", "hash-header": "HH", "hash-property": "HP", "x-recent-history-length": "RH" };

/** @param {{ exchange: any }} props */
export function ExchangeFeatures({ exchange }) {
  const { durable, auto_delete, internal, arguments: given = {} } = exchange;
  const badges = /** @type {[string, string][]} */ ([
    ...(durable ? [["D", "durable: it outlives a restart"]] : []),
    ...(auto_delete ? [["AD", "deleted with its last binding"]] : []),
    ...(internal ? [["I", "internal: only other exchanges publish to it"]] : []),
    ...Object.entries(given).map(([name, value]) => [SHORT[name] ?? "Args", `${name}: ${JSON.stringify(value)}`]),
  ]);
  return badges.map(([text, about], index) => h("span", { key: `${index}`, class: "badge", title: about }, text));
}

/** @param {{ vhosts: string[], onAdded: () => Promise<void> }} props */
export function AddExchange({ vhosts, onAdded }) {
  const { data } = useResource("api/overview?columns=exchange_types", 0);
  const types = [...new Set([...TYPES, ...(data?.exchange_types ?? []).filter((/** @type {any} */ one) => one.enabled !== false && !one.internal_purpose).map((/** @type {any} */ one) => /** @type {string} */ (one.name))])];
  const [type, setType] = useState("direct");
  const isMany = vhosts.length > 200;
  const add = async (/** @type {any} */ values) => {
    const { vhost = vhosts[0] ?? "/", name, durable = "true", auto_delete, internal, alternate, delayed_type, args } = values;
    const given = { ...(alternate ? { "alternate-exchange": alternate } : {}), ...(type === "x-delayed-message" ? { "x-delayed-type": delayed_type ?? "direct" } : {}), ...argumentsOf(args) };
    await change("PUT", path`api/exchanges/${vhost}/${name}`, { type, durable: durable === "true", auto_delete: Boolean(auto_delete), internal: Boolean(internal), arguments: given });
    say(`The exchange ${name} is there.`);
    await onAdded().catch((error) => say(sentenceOf(error), "error"));
  };
  return h(Form, { label: "Add an exchange", act: "Add exchange", initial: { type }, onSubmit: add, onChange: (values) => setType(values.type), fields: [
    { name: "vhost", label: "Virtual host", ...(isMany ? { isRequired: true } : { kind: /** @type {const} */ ("select"), options: vhosts.map((one) => [one, one]) }) },
    { name: "name", label: "Name", isRequired: true },
    { name: "type", label: "Type", kind: "select", options: types.map((one) => [one, one]) },
    ...(type === "x-delayed-message" ? [{ name: "delayed_type", label: "Delayed type", kind: /** @type {const} */ ("select"), options: TYPES.map((one) => [one, one]), help: "How it routes a message when it is due." }] : []),
    { name: "durable", label: "Durability", kind: "select", options: [["true", "Durable"], ["false", "Transient"]], help: "A durable exchange outlives a restart of the broker." },
    { name: "auto_delete", label: "Auto delete", kind: "checkbox", help: "The exchange is deleted when the last binding from it is removed." },
    { name: "internal", label: "Internal", kind: "checkbox", help: "Clients cannot publish to it; messages come from other exchanges." },
    { name: "alternate", label: "Alternate exchange", help: "The exchange that gets messages which reach no queue." },
    { name: "args", label: "Arguments", kind: "arguments", hints: EXCHANGE_ARGUMENTS },
  ] });
}
