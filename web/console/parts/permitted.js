// What the user may do with an object: asked of the broker, so that no button is shown that leads to a refusal.

import { withQuery } from "../address.js";
import { useResource } from "../resource.js";
import { user } from "../session.js";

/** Permissions change seldom; and the broker checks each request anyway. */
const INTERVAL_MS = 60_000;

/**
 * False once the broker has said so. A broker that cannot say lets every request come, and refuses it in its words.
 * @param {"publish" | "consume" | "configure" | "bind"} operation
 * @param {{ vhost: string, queue?: string, exchange?: string, routing_key?: string }} of
 */
export function usePermitted(operation, of) {
  const { data } = useResource(withQuery("api/permissions/check", { user: user.value?.name, operation, ...of }), INTERVAL_MS);
  return data?.allowed !== false;
}
