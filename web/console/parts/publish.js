// A form that publishes one message over an exchange.

import { useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { path } from "../address.js";
import { exchangeSegment } from "../route.js";
import { argumentsOf, Form } from "./form.js";
import { h } from "./html.js";
import { Note, say } from "./note.js";

/** @type {[string, string][]} */
const PROPERTIES = [
  ["content_type", "such as application/json"], ["content_encoding", "such as gzip"], ["priority", "a number"], ["correlation_id", "of the request that this answers"], ["reply_to", "a queue for answers"],
  ["expiration", "time to live in milliseconds"], ["message_id", ""], ["timestamp", "a number: seconds since 1970"], ["type", ""], ["user_id", "the user who publishes"], ["app_id", ""], ["cluster_id", ""],
];
/** @type {[string, string][]} */
const HEADERS = [["x-delay", "a number: for how many milliseconds an exchange that delays keeps it"], ["CC", "a list: further routing keys"], ["BCC", "the same, which receivers do not see"], ["x-deduplication-header", "the header that identifies duplicates"]];
/** Properties whose values are numbers of JSON. */
const NUMBERS = ["priority", "timestamp", "delivery_mode"];

/**
 * What the fields mean, as the API takes it.
 * @param {Record<string, any>} values @param {string} routingKey
 */
export function publicationOf({ key, mode = "2", headers, properties, payload = "", encoding = "string" }, routingKey) {
  const given = Object.entries(argumentsOf(properties)).map(([name, value]) => [name, NUMBERS.includes(name) ? Number(value) : name === "expiration" ? String(value) : value]);
  return { routing_key: key ?? routingKey, payload, payload_encoding: encoding, properties: { delivery_mode: Number(mode), headers: argumentsOf(headers), ...Object.fromEntries(given) } };
}

/**
 * @param {{ vhost: string, exchange: string, queue?: string, isDelaying?: boolean, onPublished?: () => unknown }} props
 * queue: published into this one, by the default exchange; isDelaying: the exchange may keep the message
 */
export function PublishForm({ vhost, exchange, queue, isDelaying, onPublished }) {
  const [isRouted, setRouted] = useState(/** @type {boolean | undefined} */ (undefined));
  const publish = async (/** @type {any} */ values) => {
    setRouted(undefined);
    const { routed } = await change("POST", path`api/exchanges/${vhost}/${exchangeSegment(exchange)}/publish`, publicationOf(values, queue ?? ""));
    if (queue === undefined) setRouted(routed);
    else if (routed) say("The message has been published.");
    else say(`The message was published, and reached no queue: ${queue} is deleted.`, "error");
    await onPublished?.();
  };
  /** @type {import("./form.js").Field[]} */
  const fields = [
    ...(queue === undefined ? [{ name: "key", label: "Routing key" }] : []),
    { name: "mode", label: "Delivery mode", kind: "select", options: [["2", "2: persistent"], ["1", "1: transient"]] },
    { name: "headers", label: "Headers", one: "header", kind: "arguments", hints: HEADERS },
    { name: "properties", label: "Properties", one: "property", kind: "arguments", hints: PROPERTIES },
    { name: "payload", label: "Body", kind: "area" },
    { name: "encoding", label: "The body is entered as", kind: "select", options: [["string", "text"], ["base64", "base64"]] },
  ];
  return h("div", {},
    h(Form, { label: "Publish a message", act: "Publish message", fields, keeps: true, onSubmit: publish }),
    h("div", { "aria-live": "polite" }, isRouted !== undefined && h(Note, { kind: isRouted ? "hint" : "warning", children: RESULTS[`${isRouted}${Boolean(isDelaying)}`] })));
}

/** What became of it: whether it was routed, and whether the exchange delays. @type {Record<string, string>} */
const RESULTS = {
  truefalse: "Routed: at least one queue took the message.",
  falsefalse: "Not routed: the message was published, but reached no queue. No binding matches its routing key and headers.",
  truetrue: "Routed: a queue took the message, or would take it now if it were due.",
  falsetrue: "Not routed: no queue would take the message now. If it has the header x-delay, it waits, and is routed when it is due.",
};
