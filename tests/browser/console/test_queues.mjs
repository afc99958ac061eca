// Queues and what waits in them: added, searched, browsed, moved, redriven, deleted.

import assert from "node:assert/strict";

const publish = (broker, queue, payload, headers = {}) =>
  broker.api("POST", "/api/exchanges/%2F/amq.default/publish", { routing_key: queue, payload, payload_encoding: "string", properties: { delivery_mode: 2, headers } });

const ready = async (broker, queue) => (await broker.api("GET", `/api/queues/%2F/${queue}`)).messages_ready;

export default async function queues(harness, broker) {
  await broker.api("PUT", "/api/users/looker", { password: "looker", tags: "monitoring" });
  await broker.api("PUT", "/api/permissions/%2F/looker", { configure: "^$", write: "^$", read: "^$" });

  await harness.scenario("a queue is added by keys alone and found by a regular expression", async (page) => {
    await page.goto(`${broker.url}/#/queues?add=yes`);
    await harness.settled(page);
    const form = page.getByRole("form", { name: "Add a queue" });
    await form.getByLabel("Name", { exact: false }).first().focus();
    await page.keyboard.type("orders-eu");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "orders-eu" }).waitFor();
    for (const name of ["orders-us", "returns"]) await broker.api("PUT", `/api/queues/%2F/${name}`, { durable: true });
    await page.getByLabel("Filter queues").fill("^orders-");
    await page.getByRole("link", { name: "orders-us" }).waitFor();
    await page.getByRole("link", { name: "returns" }).waitFor({ state: "detached" });
    assert.match(page.url(), /name=%5Eorders-/);
  });

  await harness.scenario("a queue that is refused is said in the API's words", async (page) => {
    const form = page.getByRole("form", { name: "Add a queue" });
    await form.getByLabel("Name", { exact: false }).first().fill("amq.mine");
    await form.getByRole("button", { name: "Add queue" }).click();
    await form.getByRole("alert").getByText("Access refused.").waitFor();
  }, { hash: "#/queues?add=yes", allowed: /status of 40/ });

  await harness.scenario("messages are browsed and searched, and none is taken", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/parcels", { durable: true });
    for (let number = 0; number < 5; number += 1) await publish(broker, "parcels", `{"number":${number}}`, { customer: number });
    await harness.go(page, "#/queues/%2F/parcels?tab=messages&body=%22number%22%3A3");
    await page.getByRole("button", { name: /^Show message/ }).click();
    await page.getByRole("dialog").getByText("customer").waitFor();
    await page.keyboard.press("Escape");
    const { messages_ready: count, message_stats: stats = {} } = await broker.api("GET", "/api/queues/%2F/parcels");
    assert.deepEqual([count, stats.deliver_get ?? 0, stats.redeliver ?? 0], [5, 0, 0]);
  });

  await harness.scenario("what matches is moved, and its count is shown before", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/express", { durable: true });
    await harness.go(page, "#/queues/%2F/parcels?tab=messages&header=customer&header_value=2");
    await page.getByRole("button", { name: "Move all that match…" }).click();
    const dialog = page.getByRole("dialog", { name: "Move 1 message" });
    await dialog.getByLabel("Queue", { exact: false }).last().fill("express");
    await dialog.getByRole("button", { name: "Move messages" }).click();
    // Nothing matches any more, and what has been done is still told.
    await page.getByText("No message").first().waitFor();
    await page.getByText(/Moved: 1/).waitFor();
    assert.equal(await ready(broker, "express"), 1);
    assert.equal(await ready(broker, "parcels"), 4);
  });

  await harness.scenario("dead letters go back to where they died", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/graveyard", { durable: true });
    await broker.api("PUT", "/api/queues/%2F/risky", { durable: true, arguments: { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "graveyard" } });
    await publish(broker, "risky", "doomed");
    await broker.api("POST", "/api/queues/%2F/risky/get", { count: 1, ackmode: "reject_requeue_false", encoding: "auto" });
    await harness.go(page, "#/queues/%2F/graveyard?tab=messages");
    await page.getByRole("button", { name: "Send all back…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send back" }).click();
    await page.getByText(/Sent back: 1/).waitFor();
    assert.deepEqual([await ready(broker, "graveyard"), await ready(broker, "risky")], [0, 1]);
  });

  await harness.scenario("to delete says what and how many first, and cancelling deletes nothing", async (page) => {
    await harness.go(page, "#/queues/%2F/parcels?tab=messages");
    await page.getByRole("button", { name: "Delete all…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete messages?" });
    await dialog.getByText("4 messages").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await ready(broker, "parcels"), 4);
    await page.getByRole("button", { name: "Delete all…" }).click();
    await dialog.getByRole("button", { name: "Delete messages" }).click();
    await page.getByText(/Deleted: 4/).waitFor();
    assert.equal(await ready(broker, "parcels"), 0);
  });

  await harness.scenario("a queue that is deleted meanwhile is said to be gone, with the way back", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/fleeting", { durable: true });
    await harness.go(page, "#/queues/%2F/fleeting");
    await broker.api("DELETE", "/api/queues/%2F/fleeting");
    await page.getByText("There is no such queue, or this user may not see it.").waitFor();
    await page.getByRole("navigation", { name: "Way" }).getByRole("link", { name: "Queues" }).waitFor();
  }, { allowed: /status of 404/ });

  await harness.scenario("a user who may only look has no button that does not work", async (page) => {
    await harness.settled(page);
    for (const name of [/^Purge/, /^Delete queue/]) assert.equal(await page.getByRole("button", { name }).count(), 0, String(name));
  }, { user: "looker", hash: "#/queues/%2F/parcels", allowed: /status of 40/ });
}
