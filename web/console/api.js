// Requests to the HTTP API: the same that any program can make.

import { effect, signal } from "../vendor/modules/signals.js";
import { BASE } from "./address.js";

/** A request takes longer than this: the page says that the broker is slow. */
const SLOW_AFTER_MS = 3000;
/** While the broker is away it is asked as often whether it is back. */
const PROBE_INTERVAL_MS = 2000;
/** A request takes longer than this: it is given up. */
const TIMEOUT_MS = 60_000;

/** What a request failed of. */
export class ApiError extends Error {
  /**
   * @param {number} status of HTTP; 0: there was no answer
   * @param {string} reason one sentence
   */
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }

  /** Whether the broker could not be reached, or is not there for anybody just now. */
  get isLost() {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }

  /** Whether the broker said that the user may not see it, or that it is not there. */
  get isRefusal() {
    return this.status === 401 || this.status === 403 || this.status === 404;
  }
}

/** @typedef {"well" | "slow" | "lost"} Reach */

/** How the broker is reached. */
export const reach = signal(/** @type {Reach} */ ("well"));
/** Counts the times when the broker came back: what is shown is asked for again. */
export const returns = signal(0);
/** Counts the answers that no user is logged in. */
export const refusals = signal(0);

/** When requests that wait were sent. @type {Set<number>} */
const waiting = new Set();

function noteSent() {
  const sentAt = performance.now() + Math.random() / 1000;
  waiting.add(sentAt);
  setTimeout(() => waiting.has(sentAt) && reach.value === "well" && (reach.value = "slow"), SLOW_AFTER_MS);
  return sentAt;
}

/** @param {number} sentAt @param {boolean} isThere */
function noteAnswered(sentAt, isThere) {
  waiting.delete(sentAt);
  if (!isThere) {
    reach.value = "lost";
  } else if (reach.value === "lost") {
    reach.value = "well";
    returns.value += 1;
  } else if (![...waiting].some((other) => performance.now() - other > SLOW_AFTER_MS)) {
    reach.value = "well";
  }
}

/** @param {Response} response */
async function problemOf(response) {
  const text = await response.text().catch(() => "");
  try {
    const { reason, error } = JSON.parse(text);
    const said = response.status === 404 && reason === "Not Found" ? "There is no such thing, or this user may not see it." : typeof reason === "string" ? reason : error;
    return new ApiError(response.status, String(said ?? response.statusText));
  } catch {
    return new ApiError(response.status, text.slice(0, 300) || `The broker answered ${response.status} ${response.statusText}.`);
  }
}

/**
 * Makes a request and gives the response, which has been accepted.
 * @param {string} method
 * @param {string} path beneath the broker's page
 * @param {{ body?: unknown, signal?: AbortSignal, isLong?: boolean, headers?: Record<string, string> }} [options] isLong: it takes as long as it takes
 */
export async function send(method, path, { body, signal: given, isLong, headers = {} } = {}) {
  const sentAt = isLong ? 0 : noteSent();
  const limits = [given, isLong ? undefined : AbortSignal.timeout(TIMEOUT_MS)].filter((limit) => limit !== undefined);
  let response;
  try {
    response = await fetch(new URL(path, BASE), {
      method,
      signal: AbortSignal.any(limits),
      credentials: "same-origin",
      headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (given?.aborted) {
      waiting.delete(sentAt);
      throw error;
    }
    if (!isLong) noteAnswered(sentAt, false);
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    throw new ApiError(0, isLate ? "The broker did not answer within a minute." : "The broker cannot be reached.");
  }
  if (!isLong) noteAnswered(sentAt, ![502, 503, 504].includes(response.status));
  if (response.ok) return response;
  if (response.status === 401) refusals.value += 1;
  throw await problemOf(response);
}

/**
 * Asks for something.
 * @param {string} path
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
export async function get(path, options) {
  const response = await send("GET", path, options);
  return response.json();
}

/**
 * Changes something, and gives what was answered, if anything.
 * @param {"POST" | "PUT" | "DELETE"} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
export async function change(method, path, body) {
  const response = await send(method, path, { body: body ?? (method === "DELETE" ? undefined : {}) });
  const text = await response.text();
  return text === "" ? undefined : JSON.parse(text);
}

/** Finds out how the broker is reached. */
export const probe = () => get("api/session").then(() => undefined, () => undefined);

effect(() => {
  if (reach.value !== "lost") return undefined;
  const timer = setInterval(() => void probe(), PROBE_INTERVAL_MS);
  return () => clearInterval(timer);
});

/** Whether what was shown is not there any more, or not for this user any more. @param {unknown} error */
export const isRefusal = (error) => error instanceof ApiError && error.isRefusal;

/** What a person is told of an error. @param {unknown} error */
export const sentenceOf = (error) => (error instanceof Error ? error.message : String(error));
