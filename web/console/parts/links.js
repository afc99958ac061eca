// Names of objects that lead to their pages, for users who may see these.

import { exchangeSegment, href } from "../route.js";
import { may } from "../session.js";
import { h } from "./html.js";
import { Name } from "./name.js";

/** How the exchange without a name is called. */
export const DEFAULT_EXCHANGE = "(AMQP default)";

/** @param {{ name: string | null | undefined }} props */
export function UserLink({ name }) {
  if (!name) return null;
  return may("administrator") ? h("a", { href: href(["users", name]) }, h("bdi", {}, name)) : h("bdi", {}, name);
}

/** @param {{ name: string | null | undefined }} props */
export function VhostLink({ name }) {
  if (!name) return null;
  return h("a", { href: href(["vhosts", name]) }, h("bdi", {}, name));
}

/** @param {{ vhost: string, name: string }} props */
export function QueueLink({ vhost, name }) {
  return h("a", { href: href(["queues", vhost, name]) }, h(Name, { name }));
}

/** @param {{ vhost: string, name: string }} props */
export function ExchangeLink({ vhost, name }) {
  return h("a", { href: href(["exchanges", vhost, exchangeSegment(name)]) }, h(Name, { name: name === "" ? DEFAULT_EXCHANGE : name }));
}
