// "Get messages", as RabbitMQ has it: they are taken out of the queue, and may be put back.

import { useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { path } from "../address.js";
import { Form } from "../parts/form.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { MessageView } from "../parts/message.js";
import { Note } from "../parts/note.js";

const TRUNCATE = 65_536;
const MODES = [["ack_requeue_true", "Nack message requeue true"], ["ack_requeue_false", "Automatic ack"], ["reject_requeue_true", "Reject requeue true"], ["reject_requeue_false", "Reject requeue false"]];

/** @param {{ vhost: string, name: string, onGot: () => Promise<void> }} props */
export function GetMessages({ vhost, name, onGot }) {
  const [got, setGot] = useState(/** @type {any[] | null} */ (null));
  const take = async (/** @type {any} */ { ackmode = "ack_requeue_true", encoding = "auto", count = "1" }) => {
    setGot(await change("POST", path`api/queues/${vhost}/${name}/get`, { ackmode, encoding, count: Number(count), truncate: TRUNCATE }));
    await onGot();
  };
  return html`
    ${h(Note, { kind: "warning", children: "Getting messages removes them from the queue, and those that are put back are marked as redelivered. The list above shows messages without that." })}
    ${h(Form, { label: "Get messages", act: "Get messages", keeps: true, onSubmit: take, initial: { count: "1" }, fields: [
      { name: "ackmode", label: "Ack mode", kind: "select", options: MODES, help: "Requeue true puts them back; Automatic ack removes them; Reject requeue false removes them, or sends them where dead letters go." },
      { name: "encoding", label: "Encoding", kind: "select", options: [["auto", "Auto string / base64"], ["base64", "base64"]] },
      { name: "count", label: "Messages", kind: "number", isRequired: true },
    ] })}
    <div aria-live="polite">${got !== null && got.length === 0 && html`<p class="empty">The queue is empty.</p>`}
      ${got?.map((message, index) => h(Section, { key: String(index), title: `Message ${index + 1}`, about: `${message.message_count} remained in the queue`, children: h(MessageView, { message, vhost, queue: name, label: `message ${index + 1}` }) }))}</div>`;
}
