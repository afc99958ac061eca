// What is shown, as the address says it. Everything that a person chooses (a filter, an order, a tab) is in the address, so that a link
// leads another person to the same view.

import { signal } from "../vendor/modules/signals.js";

/** @typedef {{ path: string[], query: URLSearchParams }} Place */

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} hash @returns {Place} */
export function placeOf(hash) {
  const text = hash.replace(/^#\/?/, "");
  const cut = text.indexOf("?");
  const path = (cut < 0 ? text : text.slice(0, cut)).split("/").filter((word) => word !== "");
  return { path: path.map(decoded), query: new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1)) };
}

export const place = signal(placeOf(location.hash));

/**
 * The address of a place.
 * @param {string[]} path
 * @param {Record<string, string | undefined>} [query] what is empty is left out
 */
export function href(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** @param {string[]} path @param {Record<string, string | undefined>} [query] */
export function go(path, query) {
  location.hash = href(path, query);
}

/**
 * Changes a part of the query. The way back leads to the place before, not to each letter of a filter.
 * @param {Record<string, string | undefined>} changes undefined or empty: not any more
 */
export function setQuery(changes) {
  const { path, query } = place.peek();
  const now = { ...Object.fromEntries(query), ...changes };
  const hash = href(path, now);
  history.replaceState(null, "", hash);
  place.value = placeOf(hash);
}

addEventListener("hashchange", () => (place.value = placeOf(location.hash)));

/** The name of the default exchange in paths, as RabbitMQ has it. @param {string} name */
export const exchangeSegment = (name) => (name === "" ? "amq.default" : name);
/** @param {string} segment */
export const exchangeName = (segment) => (segment === "amq.default" ? "" : segment);

/** The pattern that finds a name and no other, for filters in addresses. @param {string} name */
export const exactly = (name) => `^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
