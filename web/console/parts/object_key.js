// What tells queues and exchanges from all others of their kind: names may have slashes.

/** @param {{ vhost: string, name: string }} object */
export const keyOf = ({ vhost, name }) => `${encodeURIComponent(vhost)}/${encodeURIComponent(name)}`;

/** @param {string} key @returns {{ vhost: string, name: string }} */
export function objectOfKey(key) {
  const [vhost = "", name = ""] = key.split("/").map(decodeURIComponent);
  return { vhost, name };
}
