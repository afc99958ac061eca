// Connections, exchanges and delayed messages: closed, bound, published, rescheduled.

import assert from "node:assert/strict";
import { until } from "./broker.mjs";

export default async function objects(harness, broker) {
  await broker.api("PUT", "/api/users/watcher", { password: "watcher", tags: "monitoring" });
  await broker.api("PUT", "/api/permissions/%2F/watcher", { configure: "^$", write: "^$", read: "^$" });

  await harness.scenario("a connection is closed with a reason, by keys alone", async (page) => {
    const load = broker.load("-x", "1", "-y", "0", "-r", "5", "-u", "closing");
    const [connection] = await until("it connects", async () => {
      const found = await broker.api("GET", "/api/connections");
      return found.length > 0 && found;
    });
    await harness.go(page, `#/connections/${encodeURIComponent(connection.name)}`);
    await page.getByRole("button", { name: "Close…" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/^Reason/).fill("maintenance at noon");
    await page.keyboard.press("Enter");
    await until("it is closed", async () => (await broker.api("GET", "/api/connections")).every(({ name }) => name !== connection.name));
    await load.end();
  }, { allowed: /status of 404/ });

  await harness.scenario("an exchange is added, bound, published to, and shows its bindings as a picture and a list", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/new-orders", { durable: true });
    await harness.settled(page);
    const add = page.getByRole("form", { name: "Add an exchange" });
    if (!(await add.isVisible())) await page.getByText("Add an exchange", { exact: true }).first().click();
    await add.getByLabel("Name", { exact: false }).first().fill("shop-events");
    await add.getByLabel("Type", { exact: true }).selectOption("topic");
    await add.getByRole("button", { name: "Add exchange" }).click();
    await page.getByRole("link", { name: "shop-events" }).click();
    await page.getByRole("navigation", { name: "Parts of the page" }).getByRole("link", { name: "Bindings" }).click();
    const bind = page.getByRole("form", { name: "Add a binding" });
    await bind.getByRole("combobox", { name: /^Queue/ }).or(bind.getByRole("textbox", { name: /^Queue/ })).first().fill("new-orders");
    await bind.getByLabel("Routing key").fill("order.#");
    await bind.getByRole("button", { name: "Bind" }).click();
    await page.getByRole("table", { name: "Bindings from this exchange" }).getByText("order.#").waitFor();
    await page.getByRole("navigation", { name: "Parts of the page" }).getByRole("link", { name: "Publish" }).click();
    const publish = page.getByRole("form", { name: "Publish a message" });
    await publish.getByLabel("Routing key").fill("order.new");
    await publish.getByLabel("Body", { exact: true }).fill("hello");
    await publish.getByRole("button", { name: "Publish message" }).click();
    await page.getByText(/routed/i).first().waitFor();
    await until("it is there", async () => (await broker.api("GET", "/api/queues/%2F/new-orders")).messages_ready === 1);
    await publish.getByLabel("Routing key").fill("nowhere");
    await publish.getByRole("button", { name: "Publish message" }).click();
    await page.getByText(/not routed|no queue/i).first().waitFor();
  }, { hash: "#/exchanges" });

  await harness.scenario("delayed messages are listed, rescheduled and cancelled", async (page) => {
    await broker.api("PUT", "/api/exchanges/%2F/reminders", { type: "x-delayed-message", durable: true, arguments: { "x-delayed-type": "direct" } });
    await broker.api("PUT", "/api/queues/%2F/reminded", { durable: true });
    await broker.api("POST", "/api/bindings/%2F/e/reminders/q/reminded", { routing_key: "r" });
    for (const payload of ["first", "second"]) {
      await broker.api("POST", "/api/exchanges/%2F/reminders/publish", { routing_key: "r", payload, payload_encoding: "string", properties: { delivery_mode: 2, headers: { "x-delay": 3_600_000 } } });
    }
    await harness.go(page, "#/exchanges/%2F/reminders?tab=delayed");
    const show = page.getByRole("button", { name: /^Show message/ });
    await show.first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Release now" }).click();
    await until("it is released", async () => (await broker.api("GET", "/api/queues/%2F/reminded")).messages_ready === 1);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Cancel all…" }).click();
    await page.getByRole("dialog").getByText(/1 message/).first().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: /^Cancel (the|1|all|message)/ }).last().click();
    await until("it is cancelled", async () => (await broker.api("GET", "/api/delayed/%2F/reminders/messages")).messages.length === 0);
  });

  await harness.scenario("who only monitors may look at connections and close none", async (page) => {
    await harness.settled(page);
    assert.equal(await page.getByRole("button", { name: /^Close/ }).count(), 0);
  }, { user: "watcher", hash: "#/connections" });
}
