// What the user may do with an object: asked of the broker, so that no button is shown that leads to a refusal.

import { useEffect, useState } from "../../vendor/modules/hooks.js";
import { get } from "../api.js";
import { withQuery } from "../address.js";
import { useResource } from "../resource.js";
import { user } from "../session.js";

/** Permissions change seldom; and the broker checks each request anyway. */
const INTERVAL_MS = 60_000;
/** Queues that are asked about at once. */
const ASKED_MAX = 10;

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

/** @typedef {{ vhost: string, name: string }} Queue */

/**
 * Whether the user may do something with at least one of several queues. Of many only some are asked about.
 * @param {"consume" | "configure"} operation @param {Queue[]} queues
 */
export function useAnyPermitted(operation, queues) {
  const some = queues.slice(0, ASKED_MAX);
  const [isAny, setAny] = useState(true);
  const asked = JSON.stringify([operation, user.value?.name, some]);
  useEffect(() => {
    const ended = new AbortController();
    const ask = (/** @type {Queue} */ { vhost, name }) => get(withQuery("api/permissions/check", { user: user.peek()?.name, operation, vhost, queue: name }), { signal: ended.signal }).then(({ allowed }) => allowed !== false, () => true);
    void Promise.all(some.map(ask)).then((answers) => !ended.signal.aborted && setAny(answers.length === 0 || answers.some(Boolean)));
    return () => ended.abort();
  }, [asked]);
  return isAny;
}
