// The form of a shovel, with the fields that RabbitMQ's has, and those of a web server as the destination.

import { useState } from "../../vendor/modules/hooks.js";
import { change, get } from "../api.js";
import { path as pathOf } from "../address.js";
import { Form } from "../parts/form.js";
import { h } from "../parts/html.js";
import { say } from "../parts/note.js";
import { definitionOf, entered, furtherField, uriText } from "../parts/settings.js";
import { choiceOf } from "./permissions.js";

/** @typedef {import("../parts/settings.js").Setting} Setting */
/** @typedef {Record<string, any>} Values */

const URIS = "amqp:// is this broker, amqp:///vhost another virtual host of it, amqps://user:password@host/vhost another broker with TLS. If there are several, separated by spaces, the first that answers is used.";
const QUEUE_OR_EXCHANGE = [["queue", "a queue"], ["exchange", "an exchange"]];

/** What is entered, where these choices were made. @param {Values} values @returns {Setting[]} */
export function shovelFields(values) {
  const isFromExchange = values.from === "exchange";
  /** @type {Setting[]} */
  const source = [
    { name: "src-protocol", label: "Source protocol", kind: "select", options: [["amqp091", "AMQP 0-9-1"], ["local", "local: within this broker, without a connection"]] },
    { name: "src-uri", label: "Source URI", isUri: true, isRequired: true, placeholder: "amqp://", help: URIS },
    { name: "from", label: "Source is", kind: "select", options: QUEUE_OR_EXCHANGE, isNoKey: true },
    .../** @type {Setting[]} */ (isFromExchange ? [
      { name: "src-exchange", label: "Source exchange", isRequired: true, help: "A queue of the shovel's own is bound to it. It is deleted when the shovel's connection ends." },
      { name: "src-exchange-key", label: "Source routing key", help: "Of the binding." }] : [
      { name: "src-queue", label: "Source queue", isRequired: true, help: "The shovel declares it, durable, if it does not exist." }]),
    { name: "src-prefetch-count", label: "Prefetch count", kind: "number", placeholder: "1000", help: "How many messages may be on their way at a time." },
    { name: "src-delete-after", label: "Auto-delete", placeholder: "never", hints: [["never", "it stays until it is deleted"], ["queue-length", "after so many messages as the queue has at the start"]], help: "When the shovel deletes itself: never, queue-length (as many messages as the queue has at the start), or after so many messages." },
  ];
  /** @type {Setting[]} */
  const destination = [
    { name: "dest-protocol", label: "Destination protocol", kind: "select", options: [["amqp091", "AMQP 0-9-1"], ["local", "local: within this broker, without a connection"], ["http", "HTTP: a web server gets each message as a POST"]] },
    { name: "dest-uri", label: "Destination URI", isUri: true, isRequired: true, placeholder: values["dest-protocol"] === "http" ? "https://host/path" : "amqp://" },
    .../** @type {Setting[]} */ (values["dest-protocol"] === "http" ? [
      { name: "dest-timeout", label: "Timeout", kind: "number", placeholder: "30", help: "Seconds to wait for an answer." },
      { name: "dest-refused", label: "Messages that it refuses", kind: "select", options: [["retry", "are tried again"], ["dead-letter", "are dead-lettered, where their queue has a dead-letter exchange, or else dropped"]] },
    ] : [
      { name: "to", label: "Destination is", kind: "select", options: QUEUE_OR_EXCHANGE, isNoKey: true },
      ...(values.to === "exchange" ? [
        { name: "dest-exchange", label: "Destination exchange", placeholder: "as published" },
        { name: "dest-exchange-key", label: "Destination routing key", placeholder: "as published" }] : [
        { name: "dest-queue", label: "Destination queue", isRequired: true, help: "The shovel declares it, durable, if it does not exist." }]),
      { name: "dest-add-forward-headers", label: "Add forwarding headers", kind: "checkbox", help: "The header x-shovelled says by which shovels a message came." },
      { name: "dest-add-timestamp-header", label: "Add a timestamp header", kind: "checkbox", help: "x-shovelled-timestamp tells when." },
    ]),
  ];
  return [...source, ...destination,
    { name: "reconnect-delay", label: "Reconnect delay", kind: "number", placeholder: "1", help: "Seconds to wait after a failure. 0: until it is restarted." },
    { name: "ack-mode", label: "Acknowledgement mode", kind: "select", options: [["on-confirm", "on-confirm: a message is acknowledged when the destination has confirmed it; none is lost"], ["on-publish", "on-publish: when it has been sent; some are lost with a broker"], ["no-ack", "no-ack: as it is received; some are lost with a connection"]] },
    furtherField('{"dest-publish-properties": {"delivery_mode": 2}}'),
  ];
}

/** What was chosen where a definition is known. @param {Values} definition @returns {Values} */
export const choicesOf = (definition) => ({
  from: "src-exchange" in definition ? "exchange" : "queue",
  to: "dest-queue" in definition || Object.keys(definition).length === 0 ? "queue" : "exchange",
  "dest-protocol": definition["dest-protocol"],
});

/**
 * @param {{ vhosts: string[], known?: { vhost: string, name: string, value: Values }, onDone: () => unknown }} props
 * known: the shovel that is changed; absent: one is added
 */
export function ShovelForm({ vhosts, known, onDone }) {
  const [choices, setChoices] = useState(() => choicesOf(known?.value ?? {}));
  const fields = shovelFields(choices).map((field) => (known && field.isUri ? { ...field, isRequired: false, placeholder: uriText(known.value[field.name]), help: "Empty: it stays as it is, with its password." } : field));
  const submit = async (/** @type {Values} */ values) => {
    const { vhost, name } = known ?? { vhost: values.vhost ?? vhosts[0] ?? "/", name: values.name };
    const path = pathOf`api/parameters/shovel/${vhost}/${name}`;
    // Passwords that stay are those of now.
    const { value: before } = known ? await get(path) : { value: {} };
    await change("PUT", path, { component: "shovel", vhost, name, value: definitionOf(values, fields, before) });
    say(`The shovel ${name} is set, and starts.`);
    if (!known) setChoices(choicesOf({}));
    await onDone();
  };
  return h(Form, {
    label: known ? "Change the shovel" : "Add a shovel", act: known ? "Change shovel" : "Add shovel", keeps: Boolean(known), onSubmit: submit, onChange: setChoices,
    initial: known ? { ...choices, ...entered(known.value, shovelFields(choices)) } : {},
    fields: [.../** @type {Setting[]} */ (known ? [] : [{ name: "vhost", label: "Virtual host", ...choiceOf(vhosts) }, { name: "name", label: "Name", isRequired: true }]), ...fields],
  });
}
