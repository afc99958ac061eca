// Consumers in tables: of all queues, and of one.

import { href } from "../route.js";
import { Figure } from "./figure.js";
import { h, html } from "./html.js";
import { QueueLink, UserLink } from "./links.js";

/** @param {any} consumer */
export const keyOfConsumer = (consumer) => `${consumer.channel_details?.name} ${consumer.consumer_tag}`;
/** What a filter looks at. @param {any} consumer */
export const textOfConsumer = (consumer) => `${consumer.consumer_tag} ${consumer.queue?.name} ${consumer.channel_details?.name} ${consumer.channel_details?.user}`;

/**
 * @param {{ hasQueue?: boolean, more?: import("./table.js").Column<any>[] }} of more: before its arguments
 * @returns {import("./table.js").Column<any>[]}
 */
export const consumerColumns = ({ hasQueue, more = [] }) => [
  ...(hasQueue ? [
    { id: "vhost", title: "Virtual host", sort: "queue.vhost", cell: (/** @type {any} */ one) => h("bdi", {}, one.queue.vhost) },
    { id: "queue", title: "Queue", sort: "queue.name", isMain: true, cell: (/** @type {any} */ one) => h(QueueLink, one.queue) },
  ] : []),
  { id: "tag", title: "Consumer tag", sort: "consumer_tag", isMain: true, cell: (one) => h("bdi", {}, one.consumer_tag) },
  { id: "channel", title: "Channel", sort: "channel_details.name", cell: (one) => html`<a href=${href(["channels", one.channel_details?.name ?? ""])}><bdi>${one.channel_details?.name}</bdi></a>` },
  { id: "user", title: "User", sort: "channel_details.user", cell: (one) => h(UserLink, { name: one.channel_details?.user }) },
  { id: "ack", title: "Acks", about: "manual: a message is done when the consumer acknowledges it; auto: when it is sent", sort: "ack_required", cell: (one) => (one.ack_required ? "manual" : "auto") },
  { id: "prefetch", title: "Prefetch", about: "so many messages may be unacknowledged at a time; 0: any number", sort: "prefetch_count", isNumber: true, isMain: true, cell: (one) => h(Figure, { value: one.prefetch_count }) },
  { id: "active", title: "Active", about: "whether it gets messages; with a single active consumer only one does", sort: "active", cell: (one) => h("span", { class: one.active ? "badge good" : "badge" }, one.active ? "active" : "waits") },
  { id: "status", title: "Activity", about: "blocked: it has as many messages as its prefetch allows", sort: "activity_status", cell: (one) => String(one.activity_status ?? "").replaceAll("_", " ") },
  { id: "exclusive", title: "Exclusive", sort: "exclusive", cell: (one) => (one.exclusive ? "yes" : "no") },
  ...more,
  { id: "arguments", title: "Arguments", cell: (one) => h("bdi", {}, Object.entries(one.arguments ?? {}).map(([of, value]) => `${of}: ${JSON.stringify(value)}`).join(", ")) },
];
