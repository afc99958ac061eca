// The user who is logged in. A session is a cookie that scripts cannot read; what is known of it is what the API says.

import { computed, effect, signal } from "../vendor/modules/signals.js";
import { ApiError, change, get, refusals } from "./api.js";

/** What a tab does the others learn: they have the same cookie. */
const channel = new BroadcastChannel("warren-session");

/**
 * @typedef {{ name: string, tags: string[] }} User
 * @typedef {{ oauth_enabled?: boolean, oauth_disable_basic_auth?: boolean, oauth_provider_url?: string, oauth_initiated_logon_type?: string }} Ways
 */

/** undefined: not known yet; null: no user is logged in. */
export const user = signal(/** @type {User | null | undefined} */ (undefined));
/** Why the page asks for a login, if there is a reason to tell. */
export const farewell = signal("");

const ROLES = /** @type {const} */ (["administrator", "monitoring", "policymaker", "management"]);

/** @param {{ name: string, tags: string[] | string }} answer @returns {User} */
const userOf = ({ name, tags }) => ({ name, tags: Array.isArray(tags) ? tags : tags.split(",").filter(Boolean) });

/** What the broker says of the session: another user, or other rights. @param {any} answer */
export function take(answer) {
  const now = userOf(answer);
  if (JSON.stringify(now) !== JSON.stringify(user.peek())) user.value = now;
  farewell.value = "";
}

/** Finds out which user is logged in. */
export async function recognize() {
  try {
    take(await get("api/session"));
  } catch (error) {
    // Where the broker is away nothing is known; the page says so and asks again.
    if (error instanceof ApiError && !error.isLost) user.value = null;
  }
}

/** @param {string} name @param {string} password */
export async function logIn(name, password) {
  user.value = userOf(await change("POST", "api/session", { name, password }));
  farewell.value = "";
  channel.postMessage("login");
}

channel.addEventListener("message", () => void recognize());

/** A login is asked for. @param {string} reason why, for the person */
export function leave(reason) {
  [user.value, farewell.value] = [null, reason];
}

export async function logOut() {
  await change("DELETE", "api/session").catch(() => undefined);
  leave("");
}

/** Whether the user has a tag, or one that includes it. @param {typeof ROLES[number]} role */
export function may(role) {
  const tags = user.value?.tags ?? [];
  if (tags.includes("administrator")) return true;
  if (role === "management") return ROLES.some((tag) => tags.includes(tag));
  return tags.includes(role);
}

export const isAdministrator = computed(() => may("administrator"));
export const isMonitor = computed(() => may("monitoring"));

const ENDED = "The session has ended, or the user's rights have changed. Log in to go on where you were.";

/** 401 is also the answer where a right is missing: whether the session goes on, and with which rights, it says itself. */
let isLooking = false;
export async function look() {
  if (isLooking || !user.peek()) return;
  isLooking = true;
  try {
    take(await get("api/session"));
  } catch (error) {
    // Where a login is asked for already, the reason is known better.
    if (error instanceof ApiError && !error.isLost && user.peek()) leave(ENDED);
  }
  isLooking = false;
}

effect(() => {
  if (refusals.value > 0) void look();
});
