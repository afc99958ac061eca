// What the user may do with an object: asked of the broker, so that no button is shown that leads to a refusal.

import { withQuery } from "../address.js";
import { useResource } from "../resource.js";
import { user } from "../session.js";

/** Permissions change seldom; and the broker checks each request anyway. */
const INTERVAL_MS = 60_000;

/**
 * What the user may do with one end of bindings: read from it, where it is an exchange, as their source; and write to it, as their
 * destination. The other end has permissions of its own.
 * @param {{ vhost: string, exchange?: string, queue?: string }} of
 */
export function useBindingRights({ vhost, exchange, queue }) {
  const ends = queue === undefined ? { exchange, destination_exchange: exchange } : { exchange: "amq.default", queue };
  const { data } = useResource(withQuery("api/permissions/check", { user: user.value?.name, operation: "bind", vhost, ...ends }), INTERVAL_MS);
  const may = (/** @type {string} */ permission) => !(data?.checks ?? []).some((/** @type {any} */ check) => !check.allowed && (check.permission === permission || check.permission === "enter"));
  return { mayRead: queue === undefined && may("read"), mayWrite: may("write") };
}

/**
 * False once the broker has said so. A broker that cannot say lets every request come, and refuses it in its words.
 * @param {"publish" | "consume" | "configure"} operation
 * @param {{ vhost: string, queue?: string, exchange?: string, routing_key?: string }} of
 */
export function usePermitted(operation, of) {
  const { data } = useResource(withQuery("api/permissions/check", { user: user.value?.name, operation, ...of }), INTERVAL_MS);
  return data?.allowed !== false;
}
