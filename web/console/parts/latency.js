// Where messages spend their time, stage by stage.

import { Figure } from "./figure.js";
import { h, html } from "./html.js";

/** @type {[string, string, string][]} */
const STAGES = [
  ["socket_to_route", "Socket to route", "If long: a rate limit, flow control, or a slow authorization back end."],
  ["route_to_commit", "Route to commit", "If long: the disk; in a cluster the other nodes."],
  ["commit_to_confirm", "Commit to confirm", "If long: the publisher does not read."],
  ["enqueue_to_deliver", "Enqueue to deliver", "If long: a backlog, too few consumers, a small prefetch, or a consumer that does not read."],
  ["deliver_to_ack", "Deliver to ack", "If long: the network to the consumer, or its work on each message."],
];

/** @param {{ stages: any }} props */
export function LatencyStages({ stages }) {
  const rows = STAGES.filter(([name]) => stages?.[name]?.messages > 0);
  if (rows.length === 0) return html`<p class="empty">Nothing has been measured lately. Stages appear as soon as messages flow.</p>`;
  const longest = Math.max(...rows.map(([name]) => stages[name].p99_us));
  return html`<div class="scrolled" tabindex="0" role="region" aria-label="Latency by stage"><table class="plain">
    <thead><tr><th scope="col">Stage</th><th scope="col" class="number">Messages</th><th scope="col" class="number">Mean</th><th scope="col" class="number">Median</th><th scope="col" class="number">99 %</th><th scope="col" class="number">Longest</th><th scope="col">Share of 99 %</th></tr></thead>
    <tbody>${rows.map(([name, title, about]) => {
      const { messages, mean_us, p50_us, p99_us, max_us } = stages[name];
      return html`<tr><th scope="row" title=${about}>${title}</th><td class="number">${h(Figure, { unit: "messages", value: Math.round(messages) })}</td>
        ${[mean_us, p50_us, p99_us, max_us].map((value) => html`<td class="number">${h(Figure, { unit: "us", value })}</td>`)}
        <td><meter min="0" max=${longest || 1} value=${p99_us} aria-label=${`${title}: share of the longest stage`}></meter></td></tr>`;
    })}</tbody></table></div>
    <p class="about">Of the last ${Math.round(stages.recent_seconds ?? 0)} seconds, from a sample.</p>`;
}
