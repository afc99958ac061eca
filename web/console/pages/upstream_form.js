// The form of an upstream of federation, with the fields that RabbitMQ's has.

import { useState } from "../../vendor/modules/hooks.js";
import { change, get } from "../api.js";
import { path as pathOf } from "../address.js";
import { Form } from "../parts/form.js";
import { h } from "../parts/html.js";
import { say } from "../parts/note.js";
import { definitionOf, entered, furtherField, uriText } from "../parts/settings.js";
import { choiceOf } from "./permissions.js";

/** @typedef {import("../parts/settings.js").Setting} Setting */

/** @param {string} vhost @param {string} name */
export const upstreamPath = (vhost, name) => pathOf`api/parameters/federation-upstream/${vhost}/${name}`;

/** @type {Setting[]} */
const FIELDS = [
  { name: "uri", label: "URI", isUri: true, isRequired: true, placeholder: "amqps://user:password@host/vhost", help: "The address of the other broker. If there are several, separated by spaces, one of them is used." },
  { name: "prefetch-count", label: "Prefetch count", kind: "number", placeholder: "1000", help: "How many messages may be on their way at a time." },
  { name: "reconnect-delay", label: "Reconnect delay", kind: "number", placeholder: "5", help: "Seconds to wait after a failure." },
  { name: "ack-mode", label: "Acknowledgement mode", kind: "select", options: [["on-confirm", "on-confirm: a message is acknowledged there when it is confirmed here; none is lost"], ["on-publish", "on-publish: when it has been published here; some are lost with this broker"], ["no-ack", "no-ack: as it is received; some are lost with a connection"]] },
  { name: "trust-user-id", label: "Trust User-ID", kind: "checkbox", help: "Messages keep their user-id." },
  { name: "exchange", label: "Exchange", placeholder: "as here", help: "Of federated exchanges: the name of the exchange there." },
  { name: "max-hops", label: "Max hops", kind: "number", placeholder: "1", help: "Of federated exchanges: over how many links a message may go." },
  { name: "expires", label: "Expires", kind: "number", placeholder: "never", help: "Of federated exchanges: after how many milliseconds without a link the queue there is deleted." },
  { name: "message-ttl", label: "Message TTL", kind: "number", placeholder: "never", help: "Of federated exchanges: for how many milliseconds messages wait there without a link." },
  { name: "queue-type", label: "Queue type", kind: "select", options: [["", "as usual there"], ["classic", "classic"], ["quorum", "quorum"]], help: "Of federated exchanges: the type of the queue there." },
  { name: "queue", label: "Queue", placeholder: "as here", help: "Of federated queues: the name of the queue there." },
  { name: "consumer-tag", label: "Consumer tag", placeholder: "as usual", help: "Of federated queues: how the consumer there is called." },
  furtherField('{"resource-cleanup-mode": "never"}'),
];

/**
 * @param {{ vhosts: string[], known?: { vhost: string, name: string, value: Record<string, any> }, onDone: () => unknown }} props
 * known: the upstream that is changed; absent: one is added
 */
export function UpstreamForm({ vhosts, known, onDone }) {
  const [turn, setTurn] = useState(0);
  const submit = async (/** @type {any} */ values) => {
    const { vhost, name } = known ?? { vhost: values.vhost ?? vhosts[0] ?? "/", name: values.name };
    // Passwords that stay are those of now.
    const { value: before } = known ? await get(upstreamPath(vhost, name)) : { value: {} };
    await change("PUT", upstreamPath(vhost, name), { component: "federation-upstream", vhost, name, value: definitionOf(values, FIELDS, before) });
    say(`The upstream ${name} is set.`);
    // A password that has been entered does not stay there.
    if (known) setTurn(turn + 1);
    await onDone();
  };
  const fields = FIELDS.map((field) => (known && field.isUri ? { ...field, isRequired: false, placeholder: uriText(known.value[field.name]), help: "Empty: it stays as it is, with its password." } : field));
  return h(Form, {
    key: String(turn), label: known ? "Change the upstream" : "Add an upstream", act: known ? "Change upstream" : "Add upstream", keeps: Boolean(known), onSubmit: submit, initial: known ? entered(known.value, FIELDS) : {},
    fields: [.../** @type {Setting[]} */ (known ? [] : [{ name: "vhost", label: "Virtual host", ...choiceOf(vhosts) }, { name: "name", label: "Name", isRequired: true }]), ...fields],
  });
}
