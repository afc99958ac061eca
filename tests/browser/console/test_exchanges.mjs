// Exchanges: bindings as a picture and as a list, messages that are published, and those that wait until they are due.

import assert from "node:assert/strict";
import { segment } from "./broker.mjs";

/** Every letter that could be taken for markup or for a part of an address. */
const NAME = `a/b%2F"'<script>alert(1)</script>`;

const messages = async (broker) => (await broker.api("GET", `/api/delayed/%2F/${segment(NAME)}/messages`)).messages;

export default async function exchanges(harness, broker) {
  await harness.scenario("an exchange of any name and type is added, and found", async (page) => {
    await harness.settled(page);
    const form = page.getByRole("form", { name: "Add an exchange" });
    await form.getByLabel("Name", { exact: false }).first().fill(NAME);
    await form.getByLabel("Type", { exact: true }).selectOption("x-delayed-message");
    await form.getByLabel("Delayed type").selectOption("topic");
    await form.getByLabel("Name of argument 1").fill("x-delayed-release-rate");
    await form.getByLabel("Value of argument 1").fill("100");
    await form.getByLabel("Type of argument 1").selectOption("Number");
    await form.getByRole("button", { name: "Add exchange" }).click();
    await page.getByRole("table", { name: "Exchanges" }).getByRole("link", { name: NAME }).click();
    await page.getByRole("heading", { level: 1, name: `Exchange ${NAME}` }).waitFor();
    const { type, durable, arguments: given } = await broker.api("GET", `/api/exchanges/%2F/${segment(NAME)}`);
    assert.deepEqual([type, durable, given], ["x-delayed-message", true, { "x-delayed-type": "topic", "x-delayed-release-rate": 100 }]);
  }, { hash: "#/exchanges?add=yes" });

  await harness.scenario("bindings are made and removed, and stand in the picture and in the list beside it", async (page) => {
    for (const name of ["mail", "stock"]) await broker.api("PUT", `/api/queues/%2F/${name}`, { durable: true });
    for (const name of ["web", "orders"]) await broker.api("PUT", `/api/exchanges/%2F/${name}`, { type: "topic", durable: true });
    await broker.api("POST", "/api/bindings/%2F/e/orders/q/stock", { routing_key: "new.*" });
    await harness.go(page, `#/exchanges/%2F/${segment(NAME)}?tab=bindings`);
    const form = page.getByRole("form", { name: "Add a binding" });
    for (const [way, other, key] of [["queue", "mail", "k.*"], ["exchange", "orders", "o.#"], ["source", "web", "w"]]) {
      await form.getByLabel("Binding").selectOption(way);
      await form.getByLabel(way === "queue" ? "Queue" : "Exchange", { exact: false }).last().fill(other);
      await form.getByLabel("Routing key").fill(key);
      await form.getByRole("button", { name: "Bind" }).click();
      await page.getByRole("button", { name: `Unbind ${other} ${key}` }).waitFor();
    }
    await page.getByText("The same as a list").click();
    const list = page.locator(".graph-list");
    await list.getByRole("listitem").filter({ hasText: "orders sends to" }).getByText("new.*").waitFor();
    const nodes = await page.locator(".graph .node").allTextContents();
    assert.deepEqual(nodes.sort(), [NAME, "mail", "orders", "stock", "web"].sort());
    assert.deepEqual(await harness.breaches(page), []);
    await page.getByRole("button", { name: "Unbind mail k.*" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unbind" }).click();
    await page.getByRole("button", { name: "Unbind mail k.*" }).waitFor({ state: "detached" });
    const left = await broker.api("GET", `/api/exchanges/%2F/${segment(NAME)}/bindings/source`);
    assert.deepEqual(left.map(({ destination }) => destination), ["orders"]);
  });

  await harness.scenario("a message is published with headers, properties and a body of base64, and it is said whether it was routed", async (page) => {
    await harness.go(page, "#/exchanges/%2F/orders?tab=publish");
    const form = page.getByRole("form", { name: "Publish a message" });
    await form.getByLabel("Routing key").fill("nowhere");
    await form.getByRole("button", { name: "Publish message" }).click();
    await page.getByText("Not routed").waitFor();
    await form.getByLabel("Routing key").fill("new.eu");
    await form.getByLabel("Body", { exact: true }).fill("aGk=");
    await form.getByLabel("The body is entered as").selectOption("base64");
    await form.getByLabel("Name of header 1").fill("customer");
    await form.getByLabel("Value of header 1").fill("5");
    await form.getByLabel("Type of header 1").selectOption("Number");
    await form.getByLabel("Name of property 1").fill("priority");
    await form.getByLabel("Value of property 1").fill("3");
    await form.getByRole("button", { name: "Publish message" }).click();
    await page.getByText("Routed: at least one queue").waitFor();
    const [message] = (await broker.api("GET", "/api/queues/%2F/stock/messages")).messages;
    assert.deepEqual([message.payload, message.properties], ["hi", { delivery_mode: 2, priority: 3, headers: { customer: 5 } }]);
  });

  await harness.scenario("delayed messages are shown, put off, released and cancelled", async (page) => {
    for (let number = 0; number < 6; number += 1) {
      const properties = { headers: { "x-delay": 3_600_000 + number * 1000, number } };
      await broker.api("POST", `/api/exchanges/%2F/${segment(NAME)}/publish`, { routing_key: `k${number % 2}`, properties, payload: `{"number":${number}}`, payload_encoding: "string" });
    }
    await harness.go(page, `#/exchanges/%2F/${segment(NAME)}?tab=delayed`);
    await page.getByText("6 shown").waitFor();
    await page.getByRole("button", { name: /^Show message/ }).first().click();
    await page.getByRole("dialog").getByText('"number": 0').waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Reschedule…" }).click();
    await page.getByRole("dialog").getByLabel("In", { exact: true }).fill("2h");
    await page.getByRole("dialog").getByRole("button", { name: "Reschedule" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal((await messages(broker)).at(-1).properties.headers.number, 0);
    await page.getByRole("checkbox", { name: /^Choose \d/ }).first().check();
    await page.getByRole("button", { name: "Release 1 chosen" }).click();
    await page.getByText("5 shown").waitFor();
    await page.getByLabel("Routing key").fill("k1");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByText(/^[23] shown/).waitFor();
    const count = (await messages(broker)).filter((message) => message.routing_key === "k1").length;
    await page.getByRole("button", { name: "Cancel all that match…" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel all that match" });
    await dialog.getByText(`${count} messages`).waitFor();
    await dialog.getByRole("button", { name: "Keep them" }).click();
    assert.equal((await messages(broker)).length, 5);
    await page.getByRole("button", { name: "Cancel all that match…" }).click();
    await dialog.getByRole("button", { name: "Cancel them" }).click();
    await page.getByText("No message matches").waitFor();
    assert.deepEqual((await messages(broker)).filter((message) => message.routing_key === "k1"), []);
  });

  await harness.scenario("more than can be shown is counted in the picture", async (page) => {
    await broker.api("PUT", "/api/exchanges/%2F/wide", { type: "direct", durable: true });
    for (let number = 0; number < 20; number += 1) {
      await broker.api("PUT", `/api/queues/%2F/wide.${number}`, { durable: true });
      await broker.api("POST", `/api/bindings/%2F/e/wide/q/wide.${number}`, { routing_key: `k${number}` });
    }
    await harness.go(page, "#/exchanges/%2F/wide?tab=bindings");
    await page.getByText("4 more are bound than can be shown here").waitFor();
    await page.getByLabel("Filter bindings from this exchange").fill("k19$");
    await page.getByText("1 of 20").waitFor();
  }, { width: 375 });

  await harness.scenario("of 20,000 bindings the page has those that are seen, and keys lead to the last", async (page) => {
    const bindings = Array.from({ length: 20_000 }, (_, index) => ({ source: "crowded", vhost: "/", destination: "crowd", destination_type: "queue", routing_key: `k${index}`, arguments: {} }));
    await broker.api("PUT", "/api/queues/%2F/crowd", { durable: true });
    await broker.api("PUT", "/api/exchanges/%2F/crowded", { type: "direct", durable: true });
    await broker.api("POST", "/api/definitions", { bindings });
    for (const [hash, label, count] of [["exchanges/%2F/crowded", "Bindings from this exchange", "20,000"], ["queues/%2F/crowd", "Bindings", "20,001"]]) {
      await harness.go(page, `#/${hash}?tab=bindings&sort=routing_key&reverse=true`);
      await page.getByText(count, { exact: true }).waitFor();
      const region = page.getByRole("region", { name: label, exact: true });
      await region.focus();
      await page.keyboard.press("End");
      await region.getByRole("cell", { name: "k0", exact: true }).waitFor();
      assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) <= 2000);
      await page.getByRole("searchbox").first().fill("k19999$");
      await region.getByRole("cell", { name: "k19999", exact: true }).waitFor();
    }
    await broker.api("DELETE", "/api/queues/%2F/crowd");
  });

  await harness.scenario("a user without the rights has no buttons for them", async (page) => {
    await broker.api("PUT", "/api/users/reader", { password: "reader", tags: "management" });
    await broker.api("PUT", "/api/permissions/%2F/reader", { configure: "^$", write: "^$", read: ".*" });
    const own = await page.context().browser().newContext();
    const other = await own.newPage();
    await harness.logIn(own, "reader", "reader");
    await other.goto(`${broker.url}/#/exchanges/%2F/orders`);
    await harness.settled(other);
    await other.getByRole("link", { name: "Publish" }).waitFor({ state: "detached" });
    await other.getByRole("button", { name: "Delete exchange" }).waitFor({ state: "detached" });
    await own.close();
  });

  await harness.scenario("an exchange is deleted, and its page says that it is gone", async (page, { context }) => {
    await harness.go(page, "#/exchanges/%2F/wide");
    const watching = await context.newPage();
    await watching.goto(`${broker.url}/#/exchanges/%2F/wide`);
    await harness.settled(watching);
    await page.getByRole("button", { name: "Delete exchange" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete exchange" }).click();
    await page.getByRole("heading", { level: 1, name: "Exchanges" }).waitFor();
    await watching.getByText("There is no such exchange, or this user may not see it.").waitFor();
  }, { allowed: /status of 404/ });
}
