// The pictures of docs/console.md: `tests/browser/run.py --pictures docs/images/console`. What they show is made here, so that they come out alike.
//
//     node pictures.mjs BINARY FOLDER

import { mkdirSync } from "node:fs";
import path from "node:path";
import { Broker, segment } from "./broker.mjs";
import { Harness } from "./harness.mjs";

const [binary, folder] = process.argv.slice(2);
const broker = await Broker.start(binary);
const harness = new Harness({ broker });
mkdirSync(folder, { recursive: true });

/** A shop with orders, and some that went wrong. */
async function furnish() {
  await broker.api("PUT", "/api/exchanges/%2F/shop", { type: "topic", durable: true });
  await broker.api("PUT", "/api/exchanges/%2F/audit", { type: "fanout", durable: true });
  await broker.api("PUT", "/api/queues/%2F/failed", { durable: true });
  const dead = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "failed" };
  for (const [queue, key, args] of [["orders", "order.#", dead], ["invoices", "order.paid", dead], ["parcels", "order.packed", { ...dead, "x-queue-type": "quorum" }], ["newsletters", "customer.*", {}]]) {
    await broker.api("PUT", `/api/queues/%2F/${queue}`, { durable: true, arguments: args });
    await broker.api("POST", `/api/bindings/%2F/e/shop/q/${queue}`, { routing_key: key });
  }
  await broker.api("PUT", "/api/queues/%2F/everything", { durable: true, arguments: { "x-max-length": 10000 } });
  await broker.api("POST", "/api/bindings/%2F/e/shop/e/audit", { routing_key: "#" });
  await broker.api("POST", "/api/bindings/%2F/e/audit/q/everything", { routing_key: "" });
  for (let number = 4701; number < 4741; number += 1) {
    const properties = { delivery_mode: 2, message_id: String(number), content_type: "application/json", headers: { customer: number % 7, country: ["at", "de", "fr"][number % 3] } };
    const payload = JSON.stringify({ order: number, total: (number % 90) + 9.5, items: [`article-${number % 13}`] });
    await broker.api("POST", "/api/exchanges/%2F/shop/publish", { routing_key: ["order.new", "order.paid", "order.packed", "customer.new"][number % 4], payload, payload_encoding: "string", properties });
  }
  await broker.api("POST", "/api/queues/%2F/orders/get", { count: 3, ackmode: "reject_requeue_false", encoding: "auto" });
}

/** @param {string} name @param {string} hash @param {(page: any) => Promise<unknown>} [act] */
async function take(name, hash, act, options = {}) {
  await harness.scenario(name, async (page) => {
    await harness.settled(page);
    if (!hash.startsWith("#/trace")) await page.getByRole("img", { name: /^Live/ }).waitFor();
    await act?.(page);
    // What is drawn with the second answer is there, too.
    await page.waitForTimeout(1500);
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
  }, { hash, width: 1200, height: 760, ...options });
}

try {
  await harness.open();
  await furnish();
  const load = broker.load("-x", "2", "-y", "2", "-e", "shop", "-t", "topic", "-k", "customer.login", "-u", "logins", "-r", "40", "-p", "-f", "persistent", "-c", "20");
  // Consumers that do not keep up.
  const slow = broker.load("-x", "1", "-y", "2", "-r", "120", "-u", "labels", "-e", "shop", "-t", "topic", "-k", "label.print", "-p", "-f", "persistent", "-c", "20", "-q", "20", "-L", "25000");
  await new Promise((resolve) => setTimeout(resolve, 45_000));
  const [consumer] = (await broker.api("GET", "/api/consumers")).filter(({ queue }) => queue.name === "labels");
  const isJudged = (page) => page.getByRole("note").getByText(/^Consumers?\./).waitFor({ timeout: 40_000 });
  await take("overview", "#/");
  await take("queue", "#/queues/%2F/labels", isJudged, { height: 1000 });
  await take("connection", `#/connections/${segment(consumer.channel_details.connection_name)}`, isJudged, { height: 900 });
  await take("queues", "#/queues");
  await take("messages", "#/queues/%2F/orders?tab=messages&header=country&header_value=de");
  await take("dead-letter", "#/queues/%2F/failed?tab=messages", (page) => page.getByRole("button", { name: /^Show message/ }).first().click(), { colorScheme: "dark" });
  await take("bindings", "#/exchanges/%2F/shop?tab=bindings");
  await take("flames", "#/trace?tab=wall&pattern=amqp::*&seconds=3", async (page) => {
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByRole("button", { name: "Keep to compare" }).waitFor();
  }, { colorScheme: "dark" });
  await load.end();
  await slow.end();
} finally {
  await harness.close();
  await broker.remove();
}
process.exit(harness.failed === 0 ? 0 : 1);
