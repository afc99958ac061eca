// Shovels: what is asked of them, how they are shown, and what may be done with one.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { h, html } from "../parts/html.js";
import { attempt, say } from "../parts/note.js";
import { reloadTwice } from "../parts/of_vhosts.js";

/** @typedef {{ vhost?: string, name: string, state: string, reason?: string, type: string, [key: string]: any }} Shovel as `/api/shovels` has it */

/** @type {Record<string, [string, string]>} */
const STATES = {
  running: ["good", "it is connected to both ends"],
  starting: ["", "it connects"],
  terminated: ["bad", "it failed, and starts again after its delay"],
  paused: ["warn", "it waits until it is resumed"],
};
/** @type {Record<string, [string, string]>} */
const BLOCKED = { flow: ["warn", "the destination is slower than the source"], blocked: ["bad", "the destination is short of memory or disk"] };

/** @param {{ shovel: Shovel }} props */
export function ShovelState({ shovel: { state, reason, blocked_status: blocked } }) {
  const [kind, about] = STATES[state] ?? ["", ""];
  return html`<span class=${`badge ${kind}`} title=${reason ?? about}>${state}</span>${BLOCKED[blocked] && html`<span class=${`badge ${BLOCKED[blocked][0]}`} title=${BLOCKED[blocked][1]}>${blocked}</span>`}`;
}

/** Where messages are from, or where they go. @param {{ queue?: string, exchange?: string, routingKey?: string, protocol?: string }} props */
export function End({ queue, exchange, routingKey, protocol }) {
  if (protocol === "http") return html`<span>a web server</span>`;
  if (queue !== undefined) return html`<span>queue <bdi>${queue}</bdi></span>`;
  return html`<span>exchange ${exchange === undefined ? html`<i>as published</i>` : html`<bdi>${exchange || "(AMQP default)"}</bdi>`}${routingKey ? html`, key <bdi>${routingKey}</bdi>` : ""}</span>`;
}

/** An end of a shovel. @param {Shovel} shovel @param {"src" | "dest"} of */
export const endOf = (shovel, of) => h(End, { queue: shovel[`${of}_queue`], exchange: shovel[`${of}_exchange`], routingKey: shovel[`${of}_exchange_key`], protocol: shovel[`${of}_protocol`] });

/** @param {Shovel} shovel */
export const nameOf = ({ vhost, name }) => `${name} in ${vhost}`;

/** @param {string} vhost @param {string} name */
export const shovelPath = (vhost, name) => pathOf`api/shovels/vhost/${vhost}/${name}`;

/** Buttons of a dynamic shovel. @param {{ shovel: Shovel, reload: () => unknown, onDeleted?: () => unknown }} props */
export function ShovelActs({ shovel, reload, onDeleted }) {
  const { vhost = "", name, state } = shovel;
  const act = async (/** @type {"PUT" | "DELETE"} */ method, /** @type {string} */ what, /** @type {string} */ done) => {
    await attempt(() => change(method, `${shovelPath(vhost, name)}/${what}`), done);
    await reloadTwice(reload);
  };
  const pause = () => (state === "paused" ? act("PUT", "resume", `The shovel ${name} is resumed.`) : act("PUT", "pause", `The shovel ${name} waits.`));
  const restart = async () => {
    const isYes = await ask({ title: `Restart the shovel ${name}`, act: "Restart", text: html`<p>It connects to both ends anew. Messages that were on their way are sent again.</p>`, run: () => change("DELETE", `${shovelPath(vhost, name)}/restart`) });
    if (!isYes) return;
    say(`The shovel ${name} is restarted.`);
    await reloadTwice(reload);
  };
  const remove = async () => {
    const isYes = await ask({ title: `Delete the shovel ${name}`, act: "Delete", isHarmful: true, text: html`<p>In the virtual host <bdi>${vhost}</bdi>. Messages stay where they are.</p>`, run: () => change("DELETE", shovelPath(vhost, name)) });
    if (!isYes) return;
    say(`The shovel ${name} is deleted.`);
    await (onDeleted ?? reload)();
  };
  const word = state === "paused" ? "Resume" : "Pause";
  return html`<button type="button" aria-label=${`${word} ${nameOf(shovel)}`} onClick=${pause}>${word}</button>${" "}
    ${state !== "paused" && html`<button type="button" aria-label=${`Restart ${nameOf(shovel)}`} onClick=${restart}>Restart</button>`}${" "}
    <button type="button" class="harmful" aria-label=${`Delete ${nameOf(shovel)}`} onClick=${remove}>Delete</button>`;
}
