// Exchanges, queues, messages and connections by keys alone: a pointer is a complaint, and so is a focus that is lost or not seen.

import assert from "node:assert/strict";
import { named } from "./harness.mjs";

const VHOST = "keys";
const AWAY = /Failed to load resource|net::ERR_/;
const MANY = 150;

const at = (kind, name) => `/api/${kind}/${VHOST}/${name}`;
const place = (kind, name, query = "") => `#/${kind}/${VHOST}/${name}${query}`;

/** A queue with so many messages, of which each tells its number in a header and in its body. */
async function fill(broker, queue, count) {
  await broker.api("PUT", at("queues", queue), { durable: true });
  for (let number = 0; number < count; number += 1) {
    await broker.api("POST", `/api/exchanges/${VHOST}/amq.default/publish`, { routing_key: queue, payload: `{"number":${number}}`, payload_encoding: "string", properties: { headers: { number } } });
  }
}

const ready = async (broker, queue) => (await broker.api("GET", `${at("queues", queue)}?columns=messages_ready`)).messages_ready;

export default async function keyboard(harness, broker) {
  await broker.api("PUT", `/api/vhosts/${VHOST}`);
  await broker.api("PUT", `/api/permissions/${VHOST}/guest`, { configure: ".*", write: ".*", read: ".*" });

  await harness.scenario("keys: a login, the appearance, the palette, and the way out", async (page, { keys }) => {
    await page.getByLabel("Password").waitFor();
    await keys.enter(page.getByLabel("User"), "guest");
    await keys.enter(page.getByLabel("Password"), "guest");
    await keys.press("Enter");
    await page.getByRole("heading", { name: "Channels", level: 1 }).waitFor();
    await keys.act(page.getByRole("button", { name: /^Appearance/ }));
    await page.getByRole("button", { name: "Appearance: light" }).waitFor();
    await keys.act(page.getByRole("button", { name: "Find…" }));
    await keys.finds("Find a page, an object or something to do");
    await keys.press("Escape");
    await keys.finds("Find…");
    await keys.press("Control+k");
    await page.keyboard.type("add a queue");
    await page.getByRole("option", { name: "Add a queue" }).waitFor();
    await keys.press("Enter");
    await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    await keys.finds("Virtual host");
    await keys.act(page.getByRole("button", { name: "Log out" }));
    await keys.finds("User");
  }, { user: null, hash: "#/channels", allowed: AWAY, keyboard: true });

  await harness.scenario("keys: a dialogue has the focus until it is closed, and gives it back", async (page, { keys }) => {
    await fill(broker, "asked", 1);
    await harness.go(page, place("queues", "asked"));
    await keys.act(page.getByRole("button", { name: "Purge" }));
    const dialog = page.getByRole("dialog", { name: "Purge the queue?" });
    await dialog.waitFor();
    for (let press = 0; press < 8; press += 1) {
      await keys.press(press < 4 ? "Tab" : "Shift+Tab");
      assert.ok(await dialog.evaluate((element) => element.contains(document.activeElement) || document.activeElement === document.body), "the focus stays in the dialogue");
    }
    await keys.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await keys.finds("Purge");
    await keys.press("Enter");
    await keys.act(dialog.getByRole("button", { name: "Cancel" }));
    await keys.finds("Purge");
    await keys.press("Enter");
    await keys.act(dialog.getByRole("button", { name: "Purge" }));
    await dialog.waitFor({ state: "detached" });
    await keys.finds("Purge");
    assert.equal(await ready(broker, "asked"), 0);
    await keys.act(page.getByRole("button", { name: "Delete queue" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Delete queue" }));
    await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    await keys.finds("main");
  }, { keyboard: true, allowed: AWAY });

  await harness.scenario("keys: an exchange is added, bound, published to and deleted", async (page, { keys }) => {
    await fill(broker, "bound", 0);
    await harness.settled(page);
    const add = page.getByRole("form", { name: "Add an exchange" });
    await keys.choose(named(add, "Virtual host"), VHOST);
    await keys.enter(named(add, "Name"), "typed");
    await keys.choose(named(add, "Type"), "topic");
    await keys.toggle(named(add, "Auto delete"));
    await keys.press("Space");
    await keys.enter(add.getByLabel("Name of argument 1"), "alternate-exchange");
    await keys.enter(add.getByLabel("Value of argument 1"), "amq.fanout");
    await keys.act(add.getByRole("button", { name: "Add exchange" }));
    await keys.act(page.getByRole("link", { name: "typed", exact: true }));
    await page.getByRole("heading", { level: 1, name: "Exchange typed" }).waitFor();
    await keys.act(page.getByRole("link", { name: "Bindings" }));
    const bind = page.getByRole("form", { name: "Add a binding" });
    await keys.choose(named(bind, "Binding"), "from this exchange to a queue");
    await keys.enter(named(bind, "Queue"), "bound");
    await keys.enter(named(bind, "Routing key"), "a.*");
    await keys.act(bind.getByRole("button", { name: "Bind" }));
    await page.getByRole("button", { name: "Unbind bound a.*" }).waitFor();
    await keys.act(page.getByText("The same as a list"));
    await keys.act(page.getByRole("link", { name: "Publish" }));
    const publish = page.getByRole("form", { name: "Publish a message" });
    await keys.enter(named(publish, "Routing key"), "a.b");
    await keys.enter(publish.getByLabel("Name of header 1"), "customer");
    await keys.enter(publish.getByLabel("Value of header 1"), "7");
    await keys.choose(publish.getByLabel("Type of header 1"), "Number");
    await keys.enter(publish.getByLabel("Name of property 1"), "priority");
    await keys.enter(publish.getByLabel("Value of property 1"), "3");
    await keys.enter(named(publish, "Body"), "aGk=");
    await keys.choose(named(publish, "The body is entered as"), "base64");
    await keys.act(publish.getByRole("button", { name: "Publish message" }));
    await page.getByText("Routed: at least one queue").waitFor();
    const [message] = (await broker.api("GET", `${at("queues", "bound")}/messages`)).messages;
    assert.deepEqual([message.payload, message.properties], ["hi", { delivery_mode: 2, priority: 3, headers: { customer: 7 } }]);
    await keys.act(page.getByRole("link", { name: "Bindings" }));
    await keys.act(page.getByRole("button", { name: "Unbind bound a.*" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Unbind" }));
    await page.getByRole("button", { name: "Unbind bound a.*" }).waitFor({ state: "detached" });
    await keys.act(page.getByRole("button", { name: "Delete exchange" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Delete exchange" }));
    await page.getByRole("heading", { level: 1, name: "Exchanges" }).waitFor();
    await keys.finds("main");
  }, { hash: `#/exchanges?add=yes&vhost=${VHOST}`, keyboard: true, allowed: AWAY });

  await harness.scenario("keys: a list is filtered, kept, sorted, and read to its end", async (page, { keys }) => {
    for (let number = 0; number < MANY; number += 1) await broker.api("PUT", at("queues", `row-${String(number).padStart(3, "0")}`), {});
    await harness.settled(page);
    const filter = page.getByRole("searchbox", { name: "Filter queues" });
    await keys.enter(filter, "^row-00[1-3]$");
    await page.getByText(/^3 of/).waitFor();
    await keys.act(page.getByText("Saved filters"));
    await keys.enter(page.getByLabel("Name of the filter"), "few");
    await keys.press("Enter");
    await page.getByRole("link", { name: "few" }).waitFor();
    await keys.press("Escape");
    await keys.finds("Saved filters");
    await keys.act(page.getByRole("button", { name: `Favourite row-002 in ${VHOST}` }));
    await keys.toggle(page.getByRole("checkbox", { name: "Favourites", exact: true }));
    await page.getByRole("link", { name: "row-001" }).waitFor({ state: "detached" });
    await keys.toggle(page.getByRole("checkbox", { name: "Favourites", exact: true }));
    await page.getByRole("link", { name: "row-001" }).waitFor();
    await keys.act(page.getByText("Columns", { exact: true }));
    await keys.act(page.getByRole("group", { name: "Columns" }).getByRole("checkbox", { name: "Bytes" }), "Space");
    await page.getByRole("columnheader", { name: "Bytes" }).waitFor();
    // The list beneath is not hidden by a menu that was left open.
    await keys.to(page.getByRole("region", { name: "Queues" }));
    assert.equal(await page.getByRole("group", { name: "Columns" }).isVisible(), false);
    await keys.enter(filter, "^row-");
    await page.getByText(`${MANY} of`).waitFor();
    await keys.act(page.getByRole("button", { name: "Name", exact: true }));
    await page.getByRole("columnheader", { name: "Name" }).and(page.locator("[aria-sort=descending]")).waitFor();
    await page.getByRole("link", { name: `row-${MANY - 1}` }).waitFor();
    await keys.to(page.getByRole("checkbox", { name: `Choose row-${MANY - 2} in ${VHOST}` }));
    await keys.press("End");
    await page.getByRole("link", { name: "row-000" }).waitFor();
    // The row that had the focus is not in the page any more: the list has it, and goes on.
    await keys.finds("Queues");
    await keys.act(page.getByRole("link", { name: "row-000" }));
    await page.getByRole("heading", { level: 1, name: "Queue row-000" }).waitFor();
    await harness.go(page, "#/queues");
    await keys.act(page.getByText("Saved filters"));
    await keys.act(page.getByRole("link", { name: "few" }));
    await page.getByText(/^3 of/).waitFor();
  }, { hash: `#/queues?vhost=${VHOST}`, keyboard: true });

  await harness.scenario("keys: several queues are purged and deleted", async (page, { keys }) => {
    for (const name of ["bulk-1", "bulk-2", "bulk-3"]) await fill(broker, name, 1);
    await harness.settled(page);
    for (const name of ["bulk-1", "bulk-2"]) await keys.toggle(page.getByRole("checkbox", { name: `Choose ${name} in ${VHOST}` }));
    for (const [word, act, said] of [["purge", "Purge", "Purged: 2 queues."], ["delete", "Delete", "Deleted: 2 queues."]]) {
      await keys.act(page.getByRole("button", { name: `${act} chosen…` }));
      await keys.finds(`Type ${word} to go on`);
      await page.keyboard.type(word);
      await keys.act(page.getByRole("dialog").getByRole("button", { name: `${act} queues` }));
      await page.getByText(said).waitFor();
      if (word === "purge") for (const name of ["bulk-1", "bulk-2"]) await keys.toggle(page.getByRole("checkbox", { name: `Choose ${name} in ${VHOST}` }));
    }
    await page.getByRole("link", { name: "bulk-1" }).waitFor({ state: "detached" });
    assert.equal(await ready(broker, "bulk-3"), 1);
    await keys.act(page.getByRole("link", { name: "bulk-3" }));
    await page.getByRole("heading", { level: 1, name: "Queue bulk-3" }).waitFor();
    await keys.act(page.getByRole("link", { name: "Bindings" }));
    const bind = page.getByRole("form", { name: "Add a binding to this queue" });
    await keys.enter(named(bind, "From exchange"), "amq.direct");
    await keys.enter(named(bind, "Routing key"), "k");
    await keys.press("Enter");
    await keys.act(page.getByRole("button", { name: "Unbind amq.direct k" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Unbind" }));
    await page.getByRole("button", { name: "Unbind amq.direct k" }).waitFor({ state: "detached" });
    await keys.to(page.getByRole("button", { name: "Bind" }));
  }, { hash: `#/queues?vhost=${VHOST}&name=%5Ebulk-`, keyboard: true, allowed: AWAY });
}
