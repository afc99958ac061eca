// One virtual host: what flows in it, who may do what there, its limits.

import { useState } from "../../vendor/modules/hooks.js";
import { ApiError, change } from "../api.js";
import { address, path as pathOf, withQuery } from "../address.js";
import { useLive } from "../live.js";
import { Chart, linesOf, ratesOf, samplesOf } from "../parts/chart.js";
import { ask } from "../parts/dialog.js";
import { Figure } from "../parts/figure.js";
import { Facts, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { HistoryChoice, historyQuery } from "../parts/history.js";
import { LatencyStages } from "../parts/latency.js";
import { useHistories } from "../parts/newer.js";
import { attempt, Note, say } from "../parts/note.js";
import { useResource } from "../resource.js";
import { exactly, go, href } from "../route.js";
import { may } from "../session.js";
import { Admin } from "./admin_frame.js";
import { LimitsOf } from "./limit_parts.js";
import { Permissions, TopicPermissions } from "./permissions.js";
import { VhostForm } from "./vhosts.js";

/** @type {[string, string[]][]} */
const ABOVE = [["Virtual Hosts", ["vhosts"]]];

/** What is known of a virtual host: administrators may ask for one, others find it in the list of theirs. @param {string} name */
function useVhost(name) {
  const isAdministrator = may("administrator");
  const { data, ...rest } = useResource(isAdministrator ? `${pathOf`api/vhosts/${name}`}?${historyQuery(["lengths", "msg_rates"])}` : withQuery("api/vhosts", { name: exactly(name), use_regex: true, page: 1, page_size: 10, pagination: true }));
  const found = isAdministrator ? data : data?.items?.find((/** @type {any} */ one) => one.name === name);
  return { ...rest, data: found, isGone: data !== undefined && found === undefined };
}

/** @param {{ values: string[] }} props */
export default function Vhost({ values }) {
  const [name = ""] = values;
  const isAdministrator = may("administrator");
  const { data: answer, error, reload, isGone } = useVhost(name);
  const asked = useHistories(answer);
  const [live, setLive] = useState(/** @type {{ of: any, data: any } | null} */ (null));
  useLive(`vhost:${encodeURIComponent(name)}`, ({ name: event, data: told }) => {
    if (event === "vhost") setLive({ of: asked, data: told });
    // It is gone, or is there again.
    if (event === "gone" || (event === "vhost" && !asked)) void reload();
  });
  const { data: limits, reload: reloadLimits } = useResource(may("monitoring") || asked ? pathOf`api/vhost-limits/${name}` : null);
  const data = asked && { ...asked, ...numbersOf(live?.of === asked ? live?.data : undefined) };
  const frame = (/** @type {any} */ children, /** @type {any} */ acts = undefined) => h(Admin, { title: name, kind: "Virtual host", above: ABOVE, acts, children });
  if (isGone || (error instanceof ApiError && error.status === 404)) return frame(html`<p class="empty">There is no such virtual host, or this user may not see it. <a href="#/vhosts">All virtual hosts</a></p>`);
  if (!data) return frame(error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`);
  const stats = data.message_stats ?? {};
  const own = /** @type {Record<string, number>} */ ((limits ?? [])[0]?.value ?? {});
  const protect = async () => {
    const isProtected = data.protected_from_deletion;
    await attempt(() => change(isProtected ? "DELETE" : "POST", `${pathOf`api/vhosts/${name}`}/deletion/protection`), isProtected ? "The virtual host can be deleted now." : "The virtual host is protected from being deleted.");
    await reload();
  };
  const acts = html`<${HistoryChoice} />${isAdministrator && html`<button type="button" onClick=${protect}>${data.protected_from_deletion ? "End the protection from deletion" : "Protect from deletion"}</button>
    ${!data.protected_from_deletion && html`<button type="button" class="harmful" onClick=${() => remove(name, data)}>Delete virtual host</button>`}`}`;
  return frame(html`
    ${error && h(Note, { kind: "warning", error })}
    ${data.description && html`<p><bdi>${data.description}</bdi></p>`}
    <div class="tiles">
      ${tile("Ready", h(Figure, { unit: "messages", value: data.messages_ready }))}${tile("Unacked", h(Figure, { unit: "messages", value: data.messages_unacknowledged }))}
      ${tile("Published", h(Figure, { unit: "rate", value: stats.publish_details?.rate ?? 0 }))}${tile("Delivered", h(Figure, { unit: "rate", value: stats.deliver_get_details?.rate ?? 0 }))}
      ${tile("From clients", h(Figure, { unit: "byterate", value: data.recv_oct_details?.rate }))}${tile("To clients", h(Figure, { unit: "byterate", value: data.send_oct_details?.rate }))}
    </div>
    <p class="acts">${["queues", "exchanges", "connections", "policies"].map((kind) => html`<a class="button" href=${href([kind], { vhost: name })}>${kind[0]?.toUpperCase()}${kind.slice(1)}</a>`)}
      ${isAdministrator && html`<a class="button" href=${address(withQuery(pathOf`api/definitions/${name}`, { download: `${name.replaceAll(/[^\w.-]+/g, "_")}.json` }))} download>Export definitions</a>`}</p>
    ${data.messages_details?.samples && html`<div class="columns">
      ${h(Section, { title: "Queued messages", children: h(Chart, { title: "Messages", unit: "messages", ...linesOf([["Ready", data.messages_ready_details], ["Unacked", data.messages_unacknowledged_details]], samplesOf, { counters: stats }) }) })}
      ${h(Section, { title: "Message rates", children: data.message_stats ? h(Chart, { title: "Messages a second", unit: "rate", ...linesOf([["Publish", stats.publish_details], ["Confirm", stats.confirm_details], ["Deliver / get", stats.deliver_get_details], ["Ack", stats.ack_details]], ratesOf) }) : h("p", { class: "empty" }, "No message has been published here yet.") })}
    </div>`}
    ${data.latency_stages && h(Section, { title: "Where the latency is", about: "by stage, of the messages of this virtual host", children: h(LatencyStages, { stages: data.latency_stages }) })}
    ${h(Section, { title: "About it", children: h(Facts, { facts: [
      ["Default queue type", data.default_queue_type], ["Tags", (data.tags ?? []).join(", ") || "none"], ["Tracing", data.tracing ? "on" : "off"], ["Protected from deletion", data.protected_from_deletion ? "yes" : "no"],
      ...Object.entries(data.cluster_state ?? {}).map(([node, state]) => [`On ${node}`, state])] }) })}
    ${limits !== undefined && h(Section, { title: "Limits", children: h(LimitsOf, { kind: "vhost", of: name, limits: own, reload: reloadLimits, isReadOnly: !isAdministrator }) })}
    ${isAdministrator && [
      h(Section, { key: "permissions", title: "Permissions", about: "which users may do what here", children: h(Permissions, { of: { vhost: name } }) }),
      h(Section, { key: "topics", title: "Topic permissions", about: "with which routing keys", isClosed: true, children: h(TopicPermissions, { of: { vhost: name } }) }),
      h(Section, { key: "change", title: "Change the virtual host", isClosed: true, children: h(VhostForm, { key: JSON.stringify(asked.metadata), known: asked, onDone: reload }) })]}`, acts);
}

/** Numbers of the stream, without the history that it does not have. @param {any} told */
function numbersOf(told) {
  if (!told) return {};
  const names = ["messages", "messages_ready", "messages_unacknowledged"];
  return Object.fromEntries(names.filter((name) => told[name] !== undefined).map((name) => [name, told[name]]));
}

/** @param {string} name @param {any} data */
async function remove(name, data) {
  const isYes = await ask({
    title: `Delete the virtual host ${name}`, act: "Delete virtual host", isHarmful: true, word: name,
    text: html`<p>All of its queues with ${h(Figure, { unit: "messages", value: data.messages })} messages, exchanges, bindings, policies, permissions and limits are deleted. Its connections are closed.</p>`,
    run: () => change("DELETE", pathOf`api/vhosts/${name}`),
  });
  if (!isYes) return;
  say(`Virtual host ${name} is deleted.`);
  go(["vhosts"]);
}

/** @param {string} title @param {any} figure */
const tile = (title, figure) => html`<div class="tile"><b>${figure}</b><span>${title}</span></div>`;
