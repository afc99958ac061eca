// A message, shown whole: what it is, its properties, its headers, how it died, its body.

import { href } from "../route.js";
import { BodyView } from "./body.js";
import { DeathPath } from "./deaths.js";
import { isBytes, Value } from "./fields.js";
import { Figure, Time } from "./figure.js";
import { Facts } from "./heading.js";
import { h } from "./html.js";
import { ExchangeLink } from "./links.js";

/** What a property is beside its value. @type {Record<string, (value: any) => any>} */
const SHOWN = {
  timestamp: (value) => (typeof value === "number" ? h(Time, { at: value * 1000 }) : String(value)),
  delivery_mode: (value) => (value === 2 ? "2 (persistent)" : `${value} (transient)`),
  expiration: (value) => h("span", { title: `${value} milliseconds` }, `${value} ms`),
};

/** Headers that the path of its deaths tells already. */
const isOfDeath = (/** @type {string} */ name) => name === "x-death" || /^x-(first|last)-death-/.test(name);

/**
 * @param {{ message: any, vhost: string, queue?: string, label?: string, onWhole?: () => unknown }} props message: as the API has it when one browses or gets;
 * label: tells it from others of the page;
 * queue: in which it is; onWhole: fetches all of a body of which only the beginning is there
 */
export function MessageView({ message, vhost, queue, label, onWhole }) {
  const { headers = {}, ...properties } = message.properties ?? {};
  const deaths = headers["x-death"];
  const others = Object.entries(headers).filter(([name]) => !(Array.isArray(deaths) && isOfDeath(name)));
  const text = (/** @type {unknown} */ value) => h(Value, { value, depth: 0 });
  return h("div", { class: "message" },
    h(Facts, { facts: [
      ["Exchange", h(ExchangeLink, { vhost, name: message.exchange })],
      ["Routing key", text(message.routing_key)],
      ["Entered the queue", message.entered && h("span", {}, h(Time, { at: message.entered }), " (", h(Time, { at: message.entered, isAgo: true }), ")")],
      ["Due", message.due && h("span", {}, h(Time, { at: message.due }))],
      ["Redelivered", message.redelivered === undefined ? undefined : message.redelivered ? "yes: it may have been delivered before" : "no"],
      ["Body", h(Figure, { unit: "bytes", value: message.payload_bytes })],
      ["Durable", message.durable === undefined ? undefined : message.durable ? "yes" : "no"],
      ["Id", message.id && h("code", {}, message.id), "of the message in its queue"],
      ["Held by", message.held_by && h(Holder, { holder: message.held_by })],
    ] }),
    h("h3", {}, "Properties"),
    Object.keys(properties).length === 0 ? h("p", { class: "about" }, "None.")
      : h(Facts, { facts: Object.entries(properties).map(([name, value]) => [name, SHOWN[name]?.(value) ?? text(value)]) }),
    h("h3", {}, "Headers"),
    others.length === 0 ? h("p", { class: "about" }, Array.isArray(deaths) ? "None but those of its deaths." : "None.") : h(Headers, { headers: others, label }),
    Array.isArray(deaths) && h("div", {}, h("h3", {}, "How it died"), h(DeathPath, { deaths, vhost, here: queue })),
    h("h3", {}, "Body"),
    h(BodyView, { body: message, label, name: `${queue ?? "message"}-${message.id ?? ""}.${extensionOf(properties.content_type)}`, onWhole }));
}

/** @param {{ headers: [string, unknown][], label?: string }} props */
function Headers({ headers, label }) {
  return h("div", { class: "scrolled", tabIndex: 0, role: "region", "aria-label": label ? `Headers of ${label}` : "Headers" }, h("table", { class: "plain" },
    h("thead", {}, h("tr", {}, ["Name", "Type", "Value"].map((title) => h("th", { key: title, scope: "col" }, title)))),
    h("tbody", {}, headers.map(([name, value]) => h("tr", { key: name }, h("th", { scope: "row" }, h("bdi", {}, name)),
      h("td", {}, kindOf(value)), h("td", { class: "mono" }, h(Value, { value, depth: 0 })))))));
}

/** @param {unknown} value */
function kindOf(value) {
  if (value === null) return "void";
  if (isBytes(value)) return "bytes";
  if (Array.isArray(value)) return "list";
  return { string: "text", number: "number", boolean: "true or false", object: "table" }[/** @type {string} */ (typeof value)] ?? typeof value;
}

/** Who has a message that is not acknowledged yet. @param {{ holder: any }} props */
export function Holder({ holder }) {
  const { connection, channel, consumer_tag } = holder;
  const name = typeof channel === "number" ? `${connection} (${channel})` : String(channel ?? connection);
  return h("span", {}, consumer_tag ? h("span", {}, "consumer ", h("bdi", {}, consumer_tag), ", ") : "basic.get, ", h("a", { href: href(["channels", name]) }, h("bdi", {}, name)));
}

/** @param {unknown} type */
const extensionOf = (type) => (/json/.test(String(type)) ? "json" : /^text|xml/.test(String(type)) ? "txt" : "bin");
