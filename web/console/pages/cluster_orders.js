// What operators order a cluster to do. Each says before what becomes of clients and data.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { html } from "../parts/html.js";
import { say } from "../parts/note.js";

/** @param {import("../parts/dialog.js").Question} question @param {string} done @param {() => Promise<void>} reload */
async function order(question, done, reload) {
  if (!(await ask(question))) return;
  say(done);
  await reload();
  // What the node that answers sees of the others is a moment behind the order.
  setTimeout(() => void reload(), 1500);
}

/** @param {{ name: string }} node @param {() => Promise<void>} reload */
export const orderTransfer = ({ name }, reload) => order({
  title: `Make ${name} the leader`, act: "Make leader",
  text: html`<p>All connections of clients are closed once, and clients connect again. Transient messages and exclusive queues are lost. Confirmed persistent messages are kept. A node that is behind cannot become the leader.</p>`,
  run: () => change("POST", "api/warren/cluster/transfer", { node: name }),
}, `${name} leads.`, reload);

/** @param {{ name: string }} node @param {boolean} isLeader @param {() => Promise<void>} reload */
export const orderDrain = ({ name }, isLeader, reload) => order({
  title: `Drain ${name}`, act: "Drain",
  text: html`<p>${isLeader ? "Another node becomes the leader, which closes all connections once." : "Clients that are connected to it are disconnected."} It takes no new clients until it is revived. You can stop it then.</p>`,
  run: () => change("POST", "api/warren/cluster/drain", { node: name }),
}, `${name} is drained. You can stop it; revive it when it runs again.`, reload);

/** @param {{ name: string }} node @param {() => Promise<void>} reload */
export const orderRevive = ({ name }, reload) => order({
  title: `Revive ${name}`, act: "Revive", text: html`<p>It takes clients again.</p>`,
  run: () => change("POST", "api/warren/cluster/revive", { node: name }),
}, `${name} takes clients again.`, reload);

/** @param {{ name: string }} node @param {any} cluster @param {() => Promise<void>} reload */
export const orderForget = ({ name }, cluster, reload) => order({
  title: `Forget ${name}`, act: "Forget", isHarmful: true, word: name,
  text: html`<p>It is removed from the cluster, which then has ${cluster.nodes.length - 1} nodes. To bring it back, empty its directory and let it join.</p>`,
  run: () => change("DELETE", pathOf`api/warren/cluster/nodes/${name}`),
}, `${name} is removed from the cluster.`, reload);
