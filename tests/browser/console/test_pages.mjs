// Every page, in both appearances and on a phone: in silence, without a breach of accessibility, and no wider than the screen.

import assert from "node:assert/strict";
import { segment } from "./broker.mjs";

const VHOST = "shop";

/** Names that do harm where they are not taken as text. */
export const HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", `a/b%2F"'?#&`, "שלום עולם ‮right to left", "🐇🦊 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ‎", "é".repeat(127) + "!"];

/** A broker with something of everything. */
async function furnish(broker) {
  await broker.api("PUT", `/api/vhosts/${VHOST}`);
  await broker.api("PUT", `/api/permissions/${VHOST}/guest`, { configure: ".*", write: ".*", read: ".*" });
  await broker.api("PUT", `/api/exchanges/${VHOST}/events`, { type: "topic", durable: true });
  await broker.api("PUT", `/api/exchanges/${VHOST}/later`, { type: "x-delayed-message", durable: true, arguments: { "x-delayed-type": "direct" } });
  await broker.api("PUT", `/api/queues/${VHOST}/orders`, { durable: true, arguments: { "x-message-ttl": 3600000, "x-dead-letter-exchange": "" , "x-dead-letter-routing-key": "dead" } });
  await broker.api("PUT", `/api/queues/${VHOST}/dead`, { durable: true });
  await broker.api("POST", `/api/bindings/${VHOST}/e/events/q/orders`, { routing_key: "order.#" });
  await broker.api("POST", `/api/bindings/${VHOST}/e/later/q/orders`, { routing_key: "order" });
  await broker.api("PUT", `/api/policies/${VHOST}/short`, { pattern: "^ord", definition: { "max-length": 1000 }, "apply-to": "queues" });
  for (const name of HOSTILE) {
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

/** Where each page is, given what there is, and names to show. */
function places(connection, names) {
  return [
    "#/", "#/connections", `#/connections/${segment(connection)}`, "#/channels", `#/channels/${segment(`${connection} (1)`)}`, "#/exchanges",
    `#/exchanges/${VHOST}/events`, `#/exchanges/${VHOST}/later`, `#/exchanges/${VHOST}/amq.default`, "#/queues", `#/queues/${VHOST}/orders`,
    ...names.flatMap((name) => [`#/queues/${VHOST}/${segment(name)}`, `#/exchanges/${VHOST}/${segment(name)}`, `#/users/${segment(name)}`]),
    "#/admin", "#/users", "#/users/guest", "#/vhosts", `#/vhosts/${VHOST}`, "#/policies", "#/limits", "#/parameters", "#/definitions", "#/permissions-check", "#/feature-flags",
    "#/deprecated-features", "#/audit", "#/alerts", "#/trace", "#/log", "#/cluster",
  ];
}

export default async function pages(harness, broker) {
  await furnish(broker);
  const load = broker.load("-x", "1", "-y", "1", "-r", "20", "-u", "loaded", "--queue-args", "x-max-length=1000");
  let connection = "";
  for (let tries = 0; tries < 100 && !connection; tries += 1) {
    connection = (await broker.api("GET", "/api/connections"))[0]?.name ?? "";
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // All names once, and the longest one everywhere.
  const looks = [["light", 1280, HOSTILE], ["dark", 1280, HOSTILE.slice(-1)], ["light", 375, HOSTILE.slice(-1)]];
  for (const [colorScheme, width, names] of looks) {
    await harness.scenario(`every page in ${colorScheme} at ${width} px`, async (page, { complaints }) => {
      const breaches = [];
      for (const hash of places(connection, names)) {
        await harness.go(page, hash);
        const tabs = await page.locator("nav.tabs a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
        for (const tab of tabs.length > 0 ? tabs : [hash]) {
          if (tab !== hash) await harness.go(page, tab);
          const title = await page.locator("h1").first().textContent();
          if (/no such page|could not be fetched|failed/i.test(title)) breaches.push(`${tab}: ${title}`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          if (wide > 0) breaches.push(`${tab}: ${wide} px wider than the screen`);
          for (const breach of await harness.breaches(page)) breaches.push(`${tab}: ${breach}`);
          await harness.shoot(page, `${colorScheme} ${width} ${decodeURIComponent(tab).slice(2, 60) || "overview"}`);
        }
        if (complaints.length > 0) breaches.push(`${hash}: ${complaints.splice(0).join(" / ").slice(0, 300)}`);
      }
      assert.deepEqual(breaches, []);
    }, { colorScheme, width });
  }

  await harness.scenario("every page says that the broker is away, and goes on by itself", async (page, { context }) => {
    const silent = [];
    for (const hash of places(connection, HOSTILE.slice(-1))) {
      await harness.go(page, hash);
      const away = page.getByText(/The broker cannot be reached, or no node leads/);
      await context.setOffline(true);
      // What a page asks for from time to time, it asks for when it is seen.
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await away.waitFor().catch(() => silent.push(hash));
      const title = await page.locator("h1").first().textContent();
      if (/failed/i.test(title ?? "")) silent.push(`${hash}: ${title}`);
      await context.setOffline(false);
      await away.waitFor({ state: "detached" });
      await harness.settled(page);
    }
    assert.deepEqual(silent, []);
  }, { allowed: /Failed to load resource|net::ERR_/ });
  await load.end();
}
