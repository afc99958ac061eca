// One message of a queue, whole.

import { useEffect, useState } from "../../vendor/modules/hooks.js";
import { get, sentenceOf } from "../api.js";
import { path, withQuery } from "../address.js";
import { Dialog } from "../parts/dialog.js";
import { h } from "../parts/html.js";
import { MessageView } from "../parts/message.js";
import { Note } from "../parts/note.js";

/** So much of a body is fetched at first. */
const FIRST_LEN = 65_536;

/** @param {{ vhost: string, name: string, id: string, isUnacked: boolean, ids: string[], onOpen: (id?: string) => void }} props ids: those of the page */
export function MessageDialog({ vhost, name, id, isUnacked, ids, onOpen }) {
  const at = ids.indexOf(id);
  const step = (/** @type {number} */ by, /** @type {string} */ text) => h("button", { type: "button", "aria-disabled": at < 0 || ids[at + by] === undefined, onClick: () => onOpen(ids[at + by]) }, text);
  // It is the same dialogue for all messages: one goes from each to the next without looking for the button again.
  return h(Dialog, { title: `Message ${id}`, isWide: true, onClose: () => onOpen(undefined), children: h("div", {},
    h(Whole, { key: id, vhost, name, id, isUnacked }),
    h("div", { class: "acts" }, step(-1, "Previous message"), step(1, "Next message"))) });
}

/** @param {{ vhost: string, name: string, id: string, isUnacked: boolean }} props */
function Whole({ vhost, name, id, isUnacked }) {
  const [message, setMessage] = useState(/** @type {any} */ (undefined));
  const [error, setError] = useState("");
  const fetchMessage = async (/** @type {number} */ truncate) => {
    try {
      const { messages } = await get(withQuery(path`api/queues/${vhost}/${name}/messages`, { from: id, count: 1, truncate, state: isUnacked ? "unacked" : undefined }));
      if (messages[0]?.id === id) setMessage(messages[0]);
      else setError("This message is no longer in the queue: it was delivered, expired, moved or deleted.");
    } catch (failure) {
      setError(sentenceOf(failure));
    }
  };
  useEffect(() => void fetchMessage(FIRST_LEN), []);
  return h("div", {},
    error && h(Note, { children: error }),
    !message && !error && h("p", { class: "awaited-text", role: "status" }, "Asking the broker…"),
    message && h(MessageView, { message, vhost, queue: name, onWhole: () => void fetchMessage(message.payload_bytes) }));
}
