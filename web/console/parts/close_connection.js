// Connections are closed with a reason, which their clients are told.

import { useState } from "../../vendor/modules/hooks.js";
import { send } from "../api.js";
import { path } from "../address.js";
import { user, may } from "../session.js";
import { Dialog } from "./dialog.js";
import { h } from "./html.js";
import { forEach } from "./several.js";

/** Letters of a reason that a client is told. */
const REASON_LEN_MAX = 200;

/** Whether the user may close a connection: its own, or as an administrator any. @param {{ user?: string }} connection */
export const mayClose = (connection) => may("administrator") || (connection.user !== undefined && connection.user === user.value?.name);
/** Whether the user may close all connections that it sees. */
export const mayCloseAll = () => may("administrator") || !may("monitoring");

/** @param {{ names: string[], onClose: () => void, onDone?: (left: string[]) => void }} props onDone: with those that are still there */
export function CloseConnections({ names, onClose, onDone }) {
  const [reason, setReason] = useState("");
  const [isRunning, setRunning] = useState(false);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setRunning(true);
    const headers = reason.trim() === "" ? undefined : { "x-reason": reason.trim() };
    const left = await forEach(names, (name) => send("DELETE", path`api/connections/${name}`, { headers }),
      (count) => (count === 1 ? "The connection is closed." : `${count.toLocaleString("en")} connections are closed.`));
    onDone?.(left);
    onClose();
  };
  const title = names.length === 1 ? "Close the connection" : `Close ${names.length.toLocaleString("en")} connections`;
  return h(Dialog, { title, onClose, children: h("form", { onSubmit: submit },
    h("div", { class: "text" },
      h("p", {}, names.length === 1 ? h("bdi", {}, names[0]) : `${names.slice(0, 5).join(", ")}${names.length > 5 ? ` and ${(names.length - 5).toLocaleString("en")} more` : ""}`),
      h("p", {}, "Messages that their consumers have not acknowledged go back to their queues. Most clients connect again by themselves.")),
    h("label", { class: "field" }, h("span", {}, "Reason, which the client gets"),
      h("input", { value: reason, maxLength: REASON_LEN_MAX, pattern: "[ -~]*", title: "ASCII letters only: the reason is sent in an HTTP header.", placeholder: "Closed via management plugin", autocomplete: "off",
        onInput: (/** @type {any} */ event) => setReason(event.currentTarget.value) })),
    h("div", { class: "acts" },
      h("button", { type: "button", onClick: onClose }, "Cancel"),
      h("button", { type: "submit", class: "harmful", "aria-disabled": isRunning }, title))) });
}
