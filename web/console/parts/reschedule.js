// When delayed messages are to be due: in a while, or at a time.

import { Dialog } from "./dialog.js";
import { Form } from "./form.js";
import { h } from "./html.js";
import { millisecondsOf } from "./message_filter.js";

/** What the API takes. @typedef {{ due: number } | { delay: number }} When */

/** @param {any} values @returns {When} */
function whenOf({ way = "delay", delay = "", due = "" }) {
  if (way === "delay") return { delay: millisecondsOf(delay) };
  const at = new Date(due).getTime();
  if (Number.isNaN(at)) throw new Error("Say at which time the message is to be due.");
  return { due: at };
}

/** @param {{ title: string, onClose: () => void, onWhen: (when: When) => Promise<unknown> }} props */
export function Reschedule({ title, onClose, onWhen }) {
  return h(Dialog, { title, onClose, children: h(Form, { label: title, act: "Reschedule", keeps: true, onSubmit: async (values) => onWhen(whenOf(values)), fields: [
    { name: "way", label: "Due", kind: "select", options: [["delay", "in a while from now"], ["due", "at a time"]] },
    { name: "delay", label: "In", placeholder: "10m", help: "90s, 10m, 2h, 1d: for “in a while from now”." },
    { name: "due", label: "At", kind: /** @type {any} */ ("datetime-local"), help: "Of this place: for “at a time”." },
  ] }) });
}
