// One shovel: what it does, what it is, and what may be changed of it.

import { useState } from "../../vendor/modules/hooks.js";
import { path as pathOf } from "../address.js";
import { Figure, Time } from "../parts/figure.js";
import { Facts, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { isMissing, NotHere } from "../parts/not_here.js";
import { Note } from "../parts/note.js";
import { since, STATE_INTERVAL_MS } from "../parts/of_vhosts.js";
import { Plain } from "../parts/plain.js";
import { useResource } from "../resource.js";
import { go } from "../route.js";
import { may } from "../session.js";
import { Admin } from "./admin_frame.js";
import { ShovelForm } from "./shovel_form.js";
import { ShovelActs, shovelPath, ShovelState } from "./shovel_parts.js";

/** @type {[string, string[]][]} */
const ABOVE = [["Shovel Status", ["shovels"]]];

/** @param {{ values: string[] }} props */
export default function Shovel({ values }) {
  const [vhost = "", name = ""] = values;
  const { data, error, reload } = useResource(shovelPath(vhost, name));
  const { data: shovel, error: unknown, reload: lookAgain } = useResource(`${shovelPath(vhost, name)}/status`, STATE_INTERVAL_MS);
  const mayChange = may("policymaker");
  const reloadBoth = () => Promise.all([reload(), lookAgain()]);
  if (!data || isMissing(error)) return h(NotHere, { error, kind: "Shovel", title: name, above: ABOVE });
  const acts = mayChange && shovel && h(ShovelActs, { shovel, reload: reloadBoth, onDeleted: () => go(["dynamic-shovels"]) });
  return h(Admin, { title: name, kind: "Shovel", above: ABOVE, acts, children: html`
    ${error && h(Note, { kind: "warning", error })}
    ${shovel ? h(Now, { shovel, vhost }) : html`<p class="about">${isMissing(unknown) ? "It does not run yet." : ""}</p>`}
    ${h(Section, { title: "Definition", about: "without passwords", children: h(Plain, { label: "Definition", head: ["Key", "Value"], empty: "It says nothing.",
      rows: Object.entries(data.value).map(([key, value]) => ({ key, cells: [h("code", {}, key), h("code", {}, typeof value === "string" ? value : JSON.stringify(value))] })) }) })}
    ${mayChange && h(Section, { title: "Change the shovel", isClosed: true, children: h(Change, { key: JSON.stringify(data.value), vhost, name, onDone: reloadBoth }) })}` });
}

/** What it does now. @param {{ shovel: import("./shovel_parts.js").Shovel, vhost: string }} props */
function Now({ shovel, vhost }) {
  const count = (/** @type {unknown} */ value) => (typeof value === "number" ? h(Figure, { unit: "messages", value }) : value);
  return html`
    ${shovel.state === "terminated" && h(Note, { children: `It failed, and starts again after its delay: ${shovel.reason}` })}
    ${h(Facts, { facts: [
      ["Virtual host", h("bdi", {}, vhost)], ["State", h(ShovelState, { shovel })], ["Last changed", h(Time, { at: since(shovel.timestamp) })], ["Node", h("bdi", {}, shovel.node)],
      ["Forwarded", count(shovel.forwarded), "messages published since it connected"], ["Pending", count(shovel.pending), "messages that wait for the destination"],
      ["Remaining", count(shovel.remaining), "messages that are to be moved before it deletes itself"], ["Remaining unacked", count(shovel.remaining_unacked), "messages that are still to be taken from the source"],
      ["Connected from", shovel.src_uri && h("code", {}, shovel.src_uri)], ["Connected to", shovel.dest_uri && h("code", {}, shovel.dest_uri)]] })}`;
}

/** What is changed is the whole definition, with its passwords, which are not shown. @param {{ vhost: string, name: string, onDone: () => unknown }} props */
function Change({ vhost, name, onDone }) {
  const { data, error } = useResource(pathOf`api/parameters/shovel/${vhost}/${name}`, 0);
  const [turn, setTurn] = useState(0);
  if (!data) return error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`;
  // A password that has been entered does not stay there.
  return h(ShovelForm, { key: String(turn), vhosts: [vhost], known: data, onDone: () => (setTurn(turn + 1), onDone()) });
}
