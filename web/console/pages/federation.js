// Links of federation and what they do, as RabbitMQ's page Federation Status.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { Figure, Time } from "../parts/figure.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { say } from "../parts/note.js";
import { reloadTwice, since, useOfVhosts } from "../parts/of_vhosts.js";
import { useVhosts, VhostChoice } from "../parts/vhosts.js";
import { exchangeSegment, href, place } from "../route.js";
import { may } from "../session.js";
import { Admin } from "./admin_frame.js";

/** @typedef {{ id: string, node: string, vhost: string, type: "exchange" | "queue", upstream: string, status: string, [key: string]: any }} Link */

/** @type {Record<string, [string, string]>} */
const STATES = {
  running: ["good", "it is connected to the upstream"],
  starting: ["", "it connects"],
  error: ["bad", "it failed, and starts again after its delay"],
  shutdown: ["warn", "the upstream has closed it; it starts again after its delay"],
};

/** @param {Link} link */
function stateOf({ status, error }) {
  const [kind, about] = STATES[status] ?? ["", ""];
  return h("span", { class: `badge ${kind}`, title: error ?? about }, status);
}

/** What is fed. @param {Link} link */
const fedOf = (link) => String(link[link.type]);
/** What it is called there. @param {Link} link */
const sourceOf = (link) => String(link[`upstream_${link.type}`]);
/** @param {Link} link */
const nameOf = (link) => `${link.type} ${fedOf(link)} from ${link.upstream} in ${link.vhost}`;

/** @type {import("../parts/table.js").Column<Link>[]} */
const COLUMNS = [
  { id: "vhost", title: "Virtual host", sort: "vhost", cell: ({ vhost }) => h("bdi", {}, vhost) },
  { id: "upstream", title: "Upstream", sort: "upstream", cell: ({ upstream }) => h("bdi", {}, upstream) },
  { id: "fed", title: "Exchange / Queue", about: "the exchange or queue that gets messages, and its name at the upstream", cell: (link) => html`${link.type} <a href=${href([`${link.type}s`, link.vhost, exchangeSegment(fedOf(link))])}><bdi>${fedOf(link)}</bdi></a>${sourceOf(link) !== fedOf(link) && html` from <bdi>${sourceOf(link)}</bdi>`}` },
  { id: "state", title: "State", sort: "status", cell: stateOf },
  { id: "error", title: "Error", about: "why it does not run", sort: "error", cell: ({ error }) => error && h("span", { title: error }, error) },
  { id: "rate", title: "Inbound message rate", about: "messages a second that it publishes here", sort: "local_channel.message_stats.publish_details.rate", isNumber: true, cell: (link) => h(Figure, { unit: "rate", value: link.local_channel?.message_stats?.publish_details?.rate }) },
  { id: "uri", title: "URI", cell: ({ uri }) => h("code", { title: uri }, uri) },
  { id: "since", title: "Last changed", about: "since when it is in this state", sort: "timestamp", cell: ({ timestamp }) => h(Time, { at: since(timestamp), isAgo: true }) },
  { id: "node", title: "Node", sort: "node", cell: ({ node }) => h("bdi", {}, node) },
];

/** @param {Link} link @param {() => unknown} reload */
async function restart(link, reload) {
  const isYes = await ask({ title: "Restart the link", act: "Restart", text: html`<p>${link.type} <bdi>${fedOf(link)}</bdi> from the upstream <bdi>${link.upstream}</bdi>: it connects anew. Messages that were on their way are sent again.</p>`,
    run: () => change("DELETE", pathOf`api/federation-links/vhost/${link.vhost}/${link.id}/${link.node}/restart`) });
  if (!isYes) return;
  say("The link is restarted.");
  await reloadTwice(reload);
}

/** Links of all virtual hosts, or of one upstream. @param {{ of: { vhost: string, upstream: string } | undefined }} props */
export function Links({ of }) {
  const { data, error, reload } = useOfVhosts("api/federation-links");
  const vhosts = useVhosts();
  const mayChange = may("policymaker");
  const chosen = place.value.query.get("vhost") ?? "";
  const rows = data?.filter((/** @type {Link} */ { vhost, upstream }) => (of ? vhost === of.vhost && upstream === of.upstream : chosen === "" || vhost === chosen));
  const acts = { id: "acts", title: "Operations", cell: (/** @type {Link} */ link) => html`<button type="button" aria-label=${`Restart ${nameOf(link)}`} onClick=${() => restart(link, reload)}>Restart</button>` };
  return h(List, { label: "Links", rows, error, columns: mayChange ? COLUMNS.toSpliced(4, 0, acts) : COLUMNS, keyOf: (link) => `${link.vhost}/${link.id}/${link.node}`, textOf: (link) => `${nameOf(link)} ${link.status}`, by: "upstream", height: "60vh",
    tools: !of && h(VhostChoice, { vhosts }), empty: h(Empty, { isOfOne: of !== undefined, mayChange }) });
}

/** @param {{ isOfOne: boolean, mayChange: boolean }} props */
function Empty({ isOfOne, mayChange }) {
  return html`<p>There is no link${isOfOne ? " of this upstream" : mayChange ? "" : " that this user may see"}. An upstream is another broker; a policy with the key <code>federation-upstream</code> or <code>federation-upstream-set</code> says which exchanges and queues it feeds.</p>
    ${mayChange && html`<p class="acts">${!isOfOne && html`<a class="button" href=${href(["federation-upstreams"], { add: "yes" })}>Add an upstream</a>`}<a class="button" href=${href(["policies"], { add: "yes" })}>Add a policy</a></p>`}`;
}

export default function Federation() {
  return h(Admin, { title: "Federation Status", children: h(Links, { of: undefined }) });
}
