// Messages that wait or are delayed, and connections, by keys alone.

import assert from "node:assert/strict";
import { until } from "./broker.mjs";
import { named } from "./harness.mjs";

const VHOST = "keys-messages";

const at = (kind, name) => `/api/${kind}/${VHOST}/${name}`;
const publish = (broker, exchange, routing_key, payload, headers = {}) =>
  broker.api("POST", `${at("exchanges", exchange)}/publish`, { routing_key, payload, payload_encoding: "string", properties: { headers } });
const ready = async (broker, queue) => (await broker.api("GET", `${at("queues", queue)}?columns=messages_ready`)).messages_ready;

/** A queue with so many messages, of which each tells its number in a header and in its body. */
async function fill(broker, queue, count) {
  await broker.api("PUT", at("queues", queue), { durable: true });
  for (let number = 0; number < count; number += 1) await publish(broker, "amq.default", queue, `{"number":${number}}`, { number });
}

export default async function keyboardMessages(harness, broker) {
  await broker.api("PUT", `/api/vhosts/${VHOST}`);
  await broker.api("PUT", `/api/permissions/${VHOST}/guest`, { configure: ".*", write: ".*", read: ".*" });

  await harness.scenario("keys: messages are searched, read one after the other, and deleted", async (page, { keys }) => {
    await fill(broker, "read", 6);
    await harness.go(page, `#/queues/${VHOST}/read`);
    await keys.act(page.getByRole("link", { name: "Messages", exact: true }));
    await page.getByText("6 shown").waitFor();
    await keys.act(page.getByRole("heading", { name: "Search", exact: true }).locator("xpath=.."));
    const search = page.getByRole("search", { name: "Search messages" });
    await keys.enter(named(search, "Body contains"), '"number":4');
    await keys.press("Enter");
    await page.getByText("1 shown").waitFor();
    await keys.act(search.getByRole("button", { name: "Clear the search" }));
    await page.getByText("6 shown").waitFor();
    await keys.enter(named(search, "Header"), "number");
    await keys.enter(named(search, "Value of the header"), "2");
    await keys.act(search.getByRole("button", { name: "Search", exact: true }));
    await page.getByText("1 shown").waitFor();
    await keys.act(search.getByRole("button", { name: "Clear the search" }));
    await page.getByText("6 shown").waitFor();
    await keys.act(page.getByRole("button", { name: "Show message 0-1" }));
    for (const number of [2, 3]) {
      await keys.act(page.getByRole("button", { name: "Next message" }));
      await page.getByRole("dialog", { name: `Message 0-${number}` }).getByRole("rowheader", { name: "number" }).waitFor();
      await keys.finds("Next message");
    }
    await keys.act(page.getByRole("button", { name: "Hex" }));
    await page.getByRole("region", { name: "Body, Hex" }).waitFor();
    await keys.press("Escape");
    await keys.finds("Show message 0-1");
    for (const id of ["0-2", "0-4"]) await keys.toggle(page.getByRole("checkbox", { name: `Choose ${id}`, exact: true }));
    await keys.act(page.getByRole("button", { name: "Delete the 2 chosen…" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Delete messages" }));
    await page.getByText(/Deleted: 2 of 2/).waitFor();
    await page.getByText("4 shown").waitFor();
    await keys.act(page.getByRole("status").getByRole("button", { name: "Close" }));
    await page.getByText(/Deleted: 2 of 2/).waitFor({ state: "detached" });
    await keys.act(page.getByRole("button", { name: "Delete all…" }));
    await page.getByRole("dialog").getByText("4 messages").waitFor();
    await keys.press("Escape");
    await keys.finds("Delete all…");
    await keys.press("Enter");
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Delete messages" }));
    await page.getByText("No message waits.").waitFor();
    assert.equal(await ready(broker, "read"), 0);
    await keys.to(page.getByRole("button", { name: "Refresh" }));
  }, { keyboard: true });

  await harness.scenario("keys: messages are moved, sent back, published and got", async (page, { keys }) => {
    await fill(broker, "from", 5);
    await broker.api("PUT", at("queues", "to"), { durable: true });
    await broker.api("PUT", at("queues", "risky"), { durable: true, arguments: { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "from" } });
    await publish(broker, "amq.default", "risky", "doomed");
    await broker.api("POST", `${at("queues", "risky")}/get`, { count: 1, ackmode: "reject_requeue_false", encoding: "auto" });
    await harness.go(page, `#/queues/${VHOST}/from?tab=messages`);
    await page.getByText("6 shown").waitFor();
    await keys.toggle(page.getByRole("checkbox", { name: "Choose 0-1", exact: true }));
    await keys.act(page.getByRole("button", { name: "Move the 1 chosen…" }));
    const move = page.getByRole("dialog").getByRole("form", { name: "Move messages" });
    await keys.finds("Move to");
    await keys.enter(named(move, "Queue"), "to");
    await keys.press("Enter");
    await page.getByText(/Moved: 1 of 1/).waitFor();
    await page.getByText("5 shown").waitFor();
    await keys.act(page.getByRole("heading", { name: "Search", exact: true }).locator("xpath=.."));
    await keys.enter(named(page.getByRole("search", { name: "Search messages" }), "Header"), "number");
    await keys.press("Enter");
    await page.getByText("4 shown").waitFor();
    await keys.act(page.getByRole("button", { name: "Move all that match…" }));
    await page.getByRole("dialog", { name: "Move 4 messages" }).waitFor();
    await keys.choose(named(move, "Move to"), "an exchange");
    await keys.enter(named(move, "Exchange"), "amq.default");
    await keys.enter(named(move, "Routing key"), "to");
    await keys.act(move.getByRole("button", { name: "Move messages" }));
    await page.getByText(/Moved: 4 of 4/).waitFor();
    assert.equal(await ready(broker, "to"), 5);
    await keys.act(page.getByRole("button", { name: "Clear the search" }));
    await page.getByText("1 shown").waitFor();
    await keys.act(page.getByRole("button", { name: "Send all back…" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Send back" }));
    await page.getByText(/Sent back: 1/).waitFor();
    assert.deepEqual([await ready(broker, "from"), await ready(broker, "risky")], [0, 1]);
    await keys.act(page.getByRole("heading", { name: "Publish a message" }).locator("xpath=.."));
    const form = page.getByRole("form", { name: "Publish a message" });
    await keys.enter(named(form, "Body"), "by keys");
    await keys.act(form.getByRole("button", { name: "Publish message" }));
    await page.getByText("1 shown").waitFor();
    await keys.act(page.getByRole("heading", { name: "Get messages" }).locator("xpath=.."));
    const get = page.getByRole("form", { name: "Get messages" });
    await keys.choose(named(get, "Ack mode"), "Automatic ack");
    await keys.act(get.getByRole("button", { name: "Get messages" }));
    await page.getByRole("region", { name: "Body of message 1, Text" }).getByText("by keys").waitFor();
    await until("it is taken", async () => (await ready(broker, "from")) === 0);
  }, { keyboard: true });

  await harness.scenario("keys: delayed messages are rescheduled, released and cancelled", async (page, { keys }) => {
    await broker.api("PUT", at("exchanges", "later"), { type: "x-delayed-message", durable: true, arguments: { "x-delayed-type": "topic" } });
    for (let number = 0; number < 6; number += 1) await publish(broker, "later", `k${number % 2}`, "{}", { "x-delay": 3_600_000 + number * 1000, number });
    const waiting = async () => (await broker.api("GET", `${at("delayed", "later")}/messages`)).messages;
    const ids = (await waiting()).map(({ id }) => id);
    await harness.settled(page);
    await keys.act(page.getByRole("link", { name: "later", exact: true }));
    await page.getByText("6 shown").waitFor();
    await keys.act(page.getByRole("button", { name: `Show message ${ids[0]}`, exact: true }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Reschedule…" }));
    const one = page.getByRole("form", { name: "Reschedule the message" });
    await keys.finds("Due");
    await keys.enter(named(one, "In"), "2h");
    await keys.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await until("it is put off", async () => (await waiting()).at(-1).properties.headers.number === 0);
    for (const id of ids.slice(1, 3)) await keys.toggle(page.getByRole("checkbox", { name: `Choose ${id}`, exact: true }));
    await keys.act(page.getByRole("button", { name: "Reschedule 2 chosen…" }));
    const several = page.getByRole("form", { name: "Reschedule 2 messages" });
    await keys.choose(named(several, "Due"), "at a time");
    await keys.to(named(several, "At"));
    await page.keyboard.type("01022090");
    await keys.press("ArrowRight");
    await page.keyboard.type("0304PM");
    await keys.press("Enter");
    await until("they are put off", async () => (await waiting()).slice(-2).every(({ due }) => new Date(due).getFullYear() === 2090));
    await page.getByRole("button", { name: "Reschedule 2 chosen…" }).waitFor({ state: "detached" });
    await keys.act(page.getByRole("button", { name: `Show message ${ids[3]}`, exact: true }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Cancel the message…" }));
    const question = page.getByRole("dialog", { name: "Cancel the message" });
    await keys.act(question.getByRole("button", { name: "Keep it" }));
    await question.waitFor({ state: "detached" });
    await keys.finds("Cancel the message…");
    await keys.press("Enter");
    await keys.act(question.getByRole("button", { name: "Cancel the message" }));
    await page.getByText("5 shown").waitFor();
    await keys.toggle(page.getByRole("checkbox", { name: `Choose ${ids[4]}`, exact: true }));
    await keys.act(page.getByRole("button", { name: "Release 1 chosen" }));
    await page.getByText("4 shown").waitFor();
    const search = page.getByRole("search", { name: "Search delayed messages" });
    await keys.enter(search.getByLabel("Routing key"), "k1");
    await keys.press("Enter");
    await page.getByText("2 shown").waitFor();
    await keys.act(page.getByRole("button", { name: "Cancel all that match…" }));
    await keys.act(page.getByRole("dialog", { name: "Cancel all that match" }).getByRole("button", { name: "Cancel them" }));
    await page.getByText("No message matches").waitFor();
    assert.deepEqual((await waiting()).map(({ routing_key: key }) => key), ["k0", "k0"]);
    await keys.act(search.getByRole("button", { name: "Clear the search" }));
    await page.getByText("2 shown").waitFor();
  }, { hash: `#/delayed?vhost=${VHOST}`, keyboard: true, allowed: /status of 404/ });

  await connections(harness, broker);
}

async function connections(harness, broker) {
  const name = "keys: connections are closed with a reason, one and several";
  if (!harness.only.test(name)) return;
  const load = broker.load("-x", "2", "-y", "1", "-r", "5", "-u", "keyed");
  const names = async () => (await broker.api("GET", "/api/connections?columns=name,channels")).filter(({ channels }) => channels > 0).map((one) => one.name);
  const all = await until("clients are connected", async () => (await names()).length === 3 && (await names()));
  await harness.scenario(name, async (page, { keys }) => {
    await harness.settled(page);
    await keys.act(page.getByRole("button", { name: "Round trip" }));
    await page.getByRole("columnheader", { name: "Round trip" }).and(page.locator("[aria-sort=descending]")).waitFor();
    await keys.act(page.getByRole("link", { name: all[0], exact: true }));
    await page.getByRole("heading", { level: 1, name: all[0] }).waitFor();
    await keys.choose(page.getByLabel("History"), "last hour");
    await page.getByRole("table", { name: "Channels" }).waitFor();
    await keys.act(page.getByRole("table", { name: "Channels" }).getByRole("link").first());
    await page.getByRole("heading", { level: 1, name: /^Channel/ }).waitFor();
    await harness.go(page, "#/queues/%2F/keyed");
    await keys.act(page.getByRole("button", { name: "Watch this queue" }));
    await keys.act(page.getByRole("button", { name: "Stop watching this queue" }));
    await page.getByRole("button", { name: "Watch this queue" }).waitFor();
    await keys.act(page.getByRole("link", { name: /^Consumers/ }));
    await keys.act(page.getByRole("button", { name: /^Close the connection of consumer/ }));
    await page.getByRole("dialog", { name: "Close the connection" }).waitFor();
    await keys.press("Escape");
    await keys.finds(/^Close the connection of consumer/);
    await harness.go(page, "#/connections");
    await keys.act(page.getByRole("link", { name: all[0], exact: true }));
    await keys.act(page.getByRole("button", { name: "Close…" }));
    const dialog = page.getByRole("dialog", { name: "Close the connection" });
    await keys.finds("Reason, which the client gets");
    await keys.press("Escape");
    await keys.finds("Close…");
    await keys.press("Enter");
    await keys.enter(dialog.getByLabel("Reason, which the client gets"), "maintenance");
    await keys.act(dialog.getByRole("button", { name: "Close the connection" }));
    await page.getByRole("heading", { level: 1, name: "Connections" }).waitFor();
    await until("it is closed", async () => !(await names()).includes(all[0]));
    for (const name of all.slice(1)) await keys.toggle(page.getByRole("checkbox", { name: `Choose ${name}`, exact: true }));
    await keys.act(page.getByRole("button", { name: "Close 2 chosen…" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Close 2 connections" }));
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await keys.to(page.getByRole("searchbox", { name: "Filter connections" }));
  }, { hash: "#/connections", keyboard: true, allowed: /status of 404/ });
  await load.end();
}
