// Where each page of the console is, and a broker with something of everything to show there.

import { segment, until } from "./broker.mjs";

export const VHOST = "shop";

/** Of permissions. */
export const EVERYTHING = { configure: ".*", write: ".*", read: ".*" };

/** Names that do harm where they are not taken as text. */
export const HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", `a/b%2F"'?#&`, "שלום עולם ‮right to left", "🐇🦊 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ‎", "é".repeat(127) + "!"];

/** A broker with something of everything. */
export async function furnish(broker) {
  await broker.api("PUT", `/api/vhosts/${VHOST}`);
  await broker.api("PUT", `/api/permissions/${VHOST}/guest`, EVERYTHING);
  await broker.api("PUT", `/api/exchanges/${VHOST}/events`, { type: "topic", durable: true });
  await broker.api("PUT", `/api/exchanges/${VHOST}/later`, { type: "x-delayed-message", durable: true, arguments: { "x-delayed-type": "direct" } });
  await broker.api("PUT", `/api/queues/${VHOST}/orders`, { durable: true, arguments: { "x-message-ttl": 3600000, "x-dead-letter-exchange": "" , "x-dead-letter-routing-key": "dead" } });
  await broker.api("PUT", `/api/queues/${VHOST}/dead`, { durable: true });
  await broker.api("POST", `/api/bindings/${VHOST}/e/events/q/orders`, { routing_key: "order.#" });
  await broker.api("POST", `/api/bindings/${VHOST}/e/later/q/orders`, { routing_key: "order" });
  await broker.api("PUT", `/api/policies/${VHOST}/short`, { pattern: "^ord", definition: { "max-length": 1000 }, "apply-to": "queues" });
  await broker.api("PUT", `/api/operator-policies/${VHOST}/cap`, { pattern: "^ord", definition: { "max-length": 5000 }, "apply-to": "queues" });
  await putShovel(broker, "moves", "moved");
  await putUpstream(broker, "north");
  await broker.api("PUT", `/api/parameters/federation-upstream-set/${VHOST}/far`, { value: ["north", ...HOSTILE].map((upstream) => ({ upstream })) });
  await broker.api("PUT", `/api/exchanges/${VHOST}/fed`, { type: "fanout", durable: true });
  await broker.api("PUT", `/api/policies/${VHOST}/fed`, { pattern: "^fed$", definition: { "federation-upstream-set": "all" }, "apply-to": "exchanges" });
  for (const name of HOSTILE) {
    await putShovel(broker, name, name, "amqp://me:secret@127.0.0.1:9");
    await putUpstream(broker, name);
    await broker.api("PUT", `/api/queues/${VHOST}/${segment(name)}`, { durable: true });
    await broker.api("PUT", `/api/exchanges/${VHOST}/${segment(name)}`, { type: "fanout", durable: true });
    await broker.api("POST", `/api/bindings/${VHOST}/e/${segment(name)}/q/${segment(name)}`, { routing_key: name.slice(0, 40) });
    await broker.api("PUT", `/api/users/${segment(name)}`, { password: "x", tags: "management" });
    await broker.api("PUT", `/api/policies/${VHOST}/${segment(name)}`, { pattern: "^$", definition: { "max-length": 1 } });
  }
  for (const payload of HOSTILE) {
    const properties = { headers: { payload }, delivery_mode: 2 };
    await broker.api("POST", `/api/exchanges/${VHOST}/events/publish`, { routing_key: "order.new", payload, payload_encoding: "string", properties });
  }
  const properties = { headers: { "x-delay": 3_600_000 }, delivery_mode: 2 };
  await broker.api("POST", `/api/exchanges/${VHOST}/later/publish`, { routing_key: "order", payload: "in an hour", payload_encoding: "string", properties });
}

/** A shovel to a queue: within the broker, or in vain. */
function putShovel(broker, name, queue, uri = `amqp:///${VHOST}`) {
  const value = { "src-uri": `amqp:///${VHOST}`, "src-queue": "to-be-moved", "dest-uri": uri, "dest-queue": queue, "reconnect-delay": 3600 };
  return broker.api("PUT", `/api/parameters/shovel/${VHOST}/${segment(name)}`, { value });
}

/** An upstream that nothing comes from. */
function putUpstream(broker, name, exchange) {
  const value = { uri: "amqp://me:secret@127.0.0.1:9", "reconnect-delay": 3600, ...(exchange ? { exchange } : {}) };
  return broker.api("PUT", `/api/parameters/federation-upstream/${VHOST}/${segment(name)}`, { value });
}

/** Where each page is, given what there is, and names to show. */
export function places({ connection, node }, names) {
  return [
    "#/", "#/connections", `#/connections/${segment(connection)}`, "#/channels", `#/channels/${segment(`${connection} (1)`)}`, "#/exchanges",
    `#/exchanges/${VHOST}/events`, `#/exchanges/${VHOST}/later`, `#/exchanges/${VHOST}/amq.default`, "#/delayed", "#/queues", `#/queues/${VHOST}/orders`,
    ...names.flatMap((name) => [`#/queues/${VHOST}/${segment(name)}`, `#/exchanges/${VHOST}/${segment(name)}`, `#/users/${segment(name)}`, `#/dynamic-shovels/${VHOST}/${segment(name)}`, `#/federation-upstreams/${VHOST}/${segment(name)}`]),
    "#/admin", "#/users", "#/users/guest", "#/vhosts", `#/vhosts/${VHOST}`, "#/policies", `#/policies/${VHOST}/short`, `#/operator-policies/${VHOST}/cap`, "#/limits", "#/parameters", "#/shovels", "#/dynamic-shovels", `#/dynamic-shovels/${VHOST}/moves`, "#/federation", "#/federation-upstreams", `#/federation-upstreams/${VHOST}/north`, "#/definitions", "#/permissions-check", "#/feature-flags",
    "#/deprecated-features", "#/audit", "#/alerts", "#/trace", "#/log", "#/cluster", `#/nodes/${segment(node)}`,
  ];
}

/** Has something new of every kind there is. Pages show its name. */
export async function renew(broker, name) {
  await broker.api("PUT", `/api/vhosts/${VHOST}`, { description: name });
  await broker.api("PUT", `/api/vhosts/${name}`);
  await broker.api("PUT", `/api/permissions/${name}/guest`, EVERYTHING);
  await broker.api("PUT", `/api/vhost-limits/${name}/max-queues`, { value: 50 });
  await broker.api("PUT", `/api/users/${name}`, { password: "x", tags: "management" });
  await broker.api("PUT", `/api/queues/${VHOST}/${name}`, { durable: true });
  await broker.api("PUT", `/api/exchanges/${VHOST}/${name}`, { type: "x-delayed-message", durable: true, arguments: { "x-delayed-type": "direct" } });
  for (const source of ["events", "later"]) await broker.api("POST", `/api/bindings/${VHOST}/e/${source}/q/orders`, { routing_key: name });
  for (const kind of ["policies", "operator-policies"]) await broker.api("PUT", `/api/${kind}/${VHOST}/${name}`, { pattern: "^(orders|events|later)$", priority: 9, definition: { "max-length": 2000 } });
  for (const kind of [`policies/${VHOST}/short`, `operator-policies/${VHOST}/cap`]) await broker.api("PUT", `/api/${kind}`, { pattern: `^(orders|${name})$`, definition: { "max-length": 1000 } });
  for (const shovel of ["moves", name]) await putShovel(broker, shovel, name);
  for (const upstream of ["north", name]) await putUpstream(broker, upstream, name);
  await broker.api("PUT", `/api/parameters/federation-upstream-set/${VHOST}/${name}`, { value: [{ upstream: name }] });
  await broker.api("PUT", `/api/global-parameters/${name}`, { value: 1 });
  await broker.api("PUT", `/api/alerts/webhooks/${name}`, { url: "http://127.0.0.1:9/" });
  await broker.api("PUT", `/api/alerts/rules/${name}`, { kind: "queue-length", queue: `^${name}$`, above: 0 });
  await broker.api("PUT", "/api/cluster-name", { name });
  const publish = (exchange, key, headers) =>
    broker.api("POST", `/api/exchanges/${VHOST}/${exchange}/publish`, { routing_key: key, payload: name, payload_encoding: "string", properties: { headers: { ...headers, name }, delivery_mode: 2 } });
  await publish("amq.default", name);
  await publish("amq.default", "orders");
  await publish("later", "order", { "x-delay": 3_600_000 });
}

/** Clients that publish and consume while it is looked at; and what has no name of ours: one of their connections, and the node. */
export async function occupy(broker) {
  const load = broker.load("-x", "1", "-y", "1", "-r", "20", "-u", "loaded", "--queue-args", "x-max-length=1000");
  const connection = await until("a client consumes", async () => (await broker.api("GET", "/api/consumers")).find(({ queue }) => queue.name === "loaded")?.channel_details?.connection_name);
  const { node } = await broker.api("GET", "/api/overview?columns=node");
  return { load, there: { connection, node } };
}

/** The tabs inside a page that is shown, or the page itself where it has none. */
export async function tabsOf(page, hash) {
  const tabs = await page.locator("nav.tabs a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  return tabs.length > 0 ? tabs : [hash];
}

/**
 * What is the matter with pages, each with the tabs inside it: what they say of themselves, how wide they are, and what the browser complains
 * of. `look` does and finds more at each: what it returns are faults.
 * @param {(tab: string) => Promise<string[] | void>} [look]
 */
export async function faultsOf(harness, page, complaints, hashes, look = async () => []) {
  const faults = [];
  for (const hash of hashes) {
    await harness.go(page, hash);
    for (const tab of await tabsOf(page, hash)) {
      if (tab !== hash) await harness.go(page, tab);
      const title = await page.locator("h1").first().textContent();
      if (/no such page|could not be loaded|failed/i.test(title)) faults.push(`${tab}: ${title}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) faults.push(`${tab}: ${wide} px wider than the window`);
      for (const fault of (await look(tab)) ?? []) faults.push(`${tab}: ${fault}`);
    }
    if (complaints.length > 0) faults.push(`${hash}: ${complaints.splice(0).join(" / ").slice(0, 300)}`);
  }
  return faults;
}
