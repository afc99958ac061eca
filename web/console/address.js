// Where requests go, whatever prefix the broker is reached under.

/** The folder of the broker's page: this file is `static/VERSION/console/address.js` beneath it. */
export const BASE = new URL("../../../", import.meta.url);

/**
 * A path of the API, in which values are segments: path`api/queues/${vhost}/${queue}`.
 * @param {TemplateStringsArray} words
 * @param {...string} values
 */
export function path(words, ...values) {
  return words.reduce((before, word, index) => before + encodeURIComponent(values[index - 1] ?? "") + word);
}

/**
 * A path with a query. What is undefined or empty is left out.
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined>} query
 */
export function withQuery(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

/** The address of a path of the API, for links. @param {string} path */
export const address = (path) => new URL(path, BASE).href;
