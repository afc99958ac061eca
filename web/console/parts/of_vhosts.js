// Lists that only monitors may ask for over all virtual hosts at once: others have the virtual hosts that they see asked for one by one.

import { get, isRefusal } from "../api.js";
import { path as pathOf } from "../address.js";
import { useResource } from "../resource.js";
import { may } from "../session.js";

/** Virtual hosts that are asked for one by one at most. */
const VHOST_COUNT_MAX = 50;
/** States change without a person. */
export const STATE_INTERVAL_MS = 3000;

/** @param {string} path @param {{ signal: AbortSignal }} options @returns {Promise<any[]>} */
async function getOfVhosts(path, options) {
  if (may("monitoring")) return get(path, options);
  const vhosts = /** @type {{ name: string }[]} */ (await get("api/vhosts?columns=name", options));
  const none = (/** @type {unknown} */ error) => (isRefusal(error) ? [] : Promise.reject(error));
  return (await Promise.all(vhosts.slice(0, VHOST_COUNT_MAX).map(({ name }) => get(path + pathOf`/${name}`, options).catch(none)))).flat();
}

/** @param {string} path of all; that of one virtual host has its name behind it */
export const useOfVhosts = (path) => useResource(path, STATE_INTERVAL_MS, getOfVhosts);

/** The time that the API says, which is of the whole world. @param {string | undefined} timestamp */
export const since = (timestamp) => timestamp && `${timestamp.replace(" ", "T")}Z`;

/** Asks again, and once more when what was ordered has had an effect. @param {() => unknown} reload */
export function reloadTwice(reload) {
  setTimeout(() => void reload(), 1000);
  return reload();
}
