// What users with one tag or another see: tabs, the menu Admin, virtual hosts, parts of pages; and what the lists have that every broker has.

import assert from "node:assert/strict";
import { Broker, segment, until } from "./broker.mjs";
import { EVERYTHING, faultsOf, furnish, occupy, places } from "./places.mjs";
import { named } from "./harness.mjs";

const BASIC_TABS = ["Overview", "Connections", "Channels", "Exchanges", "Queues", "Admin"];
const REFUSED = /Failed to load resource: the server responded with a status of 40/;

/** Pages for which a user needs neither permissions nor a tag beyond management. */
const PLACES_OF_ALL = ["#/", "#/connections", "#/channels", "#/exchanges", "#/queues", "#/admin"];

const tabs = (page) => page.getByRole("navigation", { name: "Main" }).getByRole("link").allTextContents();
const menu = (page) => page.getByRole("navigation", { name: "Admin" }).getByRole("link").allTextContents();
const vhosts = (page) => page.getByRole("search").getByRole("combobox", { name: "Virtual host" }).locator("option").allTextContents();

export default async function tags(harness, broker) {
  await broker.api("PUT", "/api/vhosts/barred");
  await broker.api("PUT", "/api/queues/barred/probe", { durable: true });
  for (const [name, tags] of [["chief", "administrator"], ["watcher", "monitoring"], ["manager", "management"], ["tagless", ""]]) await broker.api("PUT", `/api/users/${name}`, { password: name, tags });
  for (const name of ["manager", "tagless"]) await broker.api("PUT", `/api/permissions/%2F/${name}`, EVERYTHING);

  await harness.scenario("a user without a tag is told at the login that the console is not for it", async (page) => {
    await page.getByLabel("User").fill("tagless");
    await page.getByLabel("Password").fill("tagless");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").getByText(/management/i).waitFor();
    assert.deepEqual(await page.context().cookies(), []);
    // It is no dialogue that has to be closed: another user logs in at once.
    await page.getByLabel("User").fill("chief");
    await page.getByLabel("Password").fill("chief");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  }, { user: null, allowed: REFUSED });

  await harness.scenario("an administrator without permissions has all tabs, the whole menu Admin, and all virtual hosts", async (page) => {
    await harness.settled(page);
    assert.deepEqual(await tabs(page), [...BASIC_TABS, "Alerts", "Trace", "Log", "Cluster"]);
    await harness.go(page, "#/users");
    const options = await menu(page);
    for (const one of ["Users", "Virtual Hosts", "Policies", "Limits", "Shovel Status", "Shovel Management", "Federation Status", "Federation Upstreams", "Feature Flags", "Definitions"]) assert.ok(options.includes(one), `${one}: ${options}`);
    await harness.go(page, "#/queues");
    await until("both virtual hosts are offered", async () => ["all", "/", "barred"].every(async (one) => (await vhosts(page)).includes(one)));
    assert.ok((await vhosts(page)).includes("barred"));
  }, { user: "chief", allowed: REFUSED });

  await harness.scenario("a user with the tag monitoring has its tabs and all virtual hosts, and in Admin nothing of administrators", async (page) => {
    await harness.settled(page);
    assert.deepEqual(await tabs(page), [...BASIC_TABS, "Alerts", "Cluster"]);
    await harness.go(page, "#/admin");
    const options = await until("the menu is there", async () => (await menu(page)).length > 0 && (await menu(page)));
    for (const one of ["Policies", "Limits"]) assert.ok(options.includes(one), `${one}: ${options}`);
    for (const one of ["Users", "Definitions", "Audit"]) assert.ok(!options.includes(one), `${one}: ${options}`);
    await harness.go(page, "#/queues");
    await until("virtual hosts are offered", async () => (await vhosts(page)).includes("barred"));
  }, { user: "watcher", allowed: REFUSED });

  await harness.scenario("a user with the tag management opens each of its tabs, and sets no limits", async (page) => {
    await harness.settled(page);
    assert.deepEqual(await tabs(page), BASIC_TABS);
    for (const tab of BASIC_TABS) {
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: tab }).click();
      await harness.settled(page);
      assert.equal(await page.locator("main .note.error").count(), 0, tab);
    }
    await harness.go(page, "#/limits");
    await page.getByRole("heading", { name: "Limits of virtual hosts" }).first().waitFor();
    assert.equal(await page.getByText("Limits of users").count(), 0);
    assert.equal(await page.getByText("Set a limit").count(), 0);
  }, { user: "manager" });

  await harness.scenario("a virtual host that a user may not use looks like one that does not exist", async (page) => {
    for (const vhost of ["barred", "nowhere"]) {
      await page.goto(`${broker.url}/#/queues/${vhost}/probe`);
      await page.getByText("There is no such queue, or this user may not see it.").waitFor();
      assert.equal(await page.getByRole("dialog").count(), 0);
    }
  }, { user: "manager", allowed: REFUSED });

  await harness.scenario("the overview of a user with the tag monitoring has counts, nodes and churn", async (page) => {
    await harness.settled(page);
    for (const name of ["Connections", "Channels", "Exchanges", "Queues", "Consumers"]) assert.match(await page.locator(".tile", { hasText: name }).first().textContent(), /\d/, name);
    await page.getByRole("region", { name: "Nodes" }).getByRole("table").waitFor();
    await page.getByRole("heading", { name: "Churn" }).first().waitFor();
    assert.equal(await page.getByText(/(Export|Import) definitions/).count(), 0);
  }, { user: "watcher" });

  await harness.scenario("the overview of a user with the tag management has counts, and nothing of nodes", async (page) => {
    await harness.settled(page);
    for (const name of ["Exchanges", "Queues"]) assert.match(await page.locator(".tile", { hasText: name }).first().textContent(), /\d/, name);
    assert.equal(await page.getByRole("region", { name: "Nodes" }).count(), 0);
    assert.equal(await page.getByText(/(Export|Import) definitions/).count(), 0);
  }, { user: "manager" });

  await harness.scenario("the exchanges that every virtual host has are listed with their types and counted, and columns can be chosen", async (page) => {
    await harness.go(page, "#/exchanges?vhost=barred");
    const rows = page.getByRole("table", { name: "Exchanges" }).getByRole("row");
    await until("they are listed", async () => (await rows.count()) === 8);
    const texts = (await rows.allTextContents()).slice(1);
    for (const [name, type] of [["amq.direct", "direct"], ["amq.fanout", "fanout"], ["amq.headers", "headers"], ["amq.match", "headers"], ["amq.rabbitmq.trace", "topic"], ["amq.topic", "topic"]]) {
      assert.ok(texts.some((text) => text.includes(name) && text.includes(type)), `${name}: ${texts}`);
    }
    assert.equal(await page.getByRole("search").locator("output").textContent(), "7");
    await page.getByText("Columns", { exact: true }).click();
    const columns = await page.getByRole("group", { name: "Columns" }).locator("label").allTextContents();
    for (const one of ["Type", "Features", "Policy", "Message rate in", "Message rate out"]) assert.ok(columns.includes(one), `${one}: ${columns}`);
    await page.getByRole("group", { name: "Columns" }).getByRole("checkbox", { name: "Policy" }).uncheck();
    await page.getByRole("columnheader", { name: "Policy" }).waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "amq.fanout" }).click();
    await page.getByRole("heading", { level: 1, name: /amq\.fanout/ }).waitFor();
  });

  await harness.scenario("columns of queues can be chosen: counts, bytes and rates among them", async (page) => {
    await harness.settled(page);
    await page.getByText("Columns", { exact: true }).click();
    const columns = await page.getByRole("group", { name: "Columns" }).locator("label").allTextContents();
    for (const one of ["Type", "Features", "Policy", "Consumers", "Consumer capacity", "State", "Ready", "Unacked", "Total", "Bytes", "Incoming", "Deliver / get", "Ack"]) assert.ok(columns.includes(one), `${one}: ${columns}`);
  }, { user: "manager", hash: "#/queues" });

  for (const type of ["classic", "quorum"]) {
    await harness.scenario(`a ${type} queue is added, found, opened with all its parts, and deleted`, async (page) => {
      const name = `added ${type}`;
      const form = page.getByRole("form", { name: "Add a queue" });
      await named(form, "Virtual host").selectOption("/");
      await named(form, "Type").selectOption(type);
      await named(form, "Name").fill(name);
      await form.getByRole("button", { name: "Add queue" }).click();
      await page.getByLabel("Filter queues").fill(`^${name}$`);
      const row = page.getByRole("table", { name: "Queues" }).getByRole("row", { name: new RegExp(name) });
      await until("it is listed", async () => new RegExp(`/.*${name}.*${type}.*(running|idle)`).test(await row.textContent().catch(() => "")));
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      for (const part of ["Queued messages", "Message rates", "Details"]) await page.getByRole("heading", { name: part }).first().waitFor();
      const parts = await page.getByRole("navigation", { name: "Parts of the page" }).getByRole("link").allTextContents();
      for (const part of ["Overview", "Messages", "Consumers (0)", "Bindings"]) assert.ok(parts.includes(part), `${part}: ${parts}`);
      await page.getByRole("button", { name: "Purge" }).waitFor();
      await harness.go(page, `#/queues/%2F/${segment(name)}?tab=messages`);
      await page.getByText("Publish a message").waitFor();
      // RabbitMQ moves messages by a shovel, which takes a tag; here a permission of both queues does.
      await harness.go(page, `#/queues/%2F/${segment(name)}`);
      await page.getByRole("button", { name: "Delete queue" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete queue" }).click();
      await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    }, { user: "manager", hash: "#/queues?add=yes", allowed: REFUSED });
  }

  await broker.api("PUT", "/api/queues/%2F/one%20at%20a%20time", { durable: true, arguments: { "x-queue-type": "quorum", "x-single-active-consumer": true } });
  await harness.scenario("of a single active consumer and those that wait it is said which is which, by priority", async (page) => {
    const consume = (...more) => broker.load("-x", "0", "-y", "1", "--predeclared", "-u", "one at a time", ...more);
    await page.getByText("No program takes messages out of this queue.").waitFor();
    const rows = page.getByRole("table", { name: "Consumers" }).getByRole("row");
    const states = async () => (await rows.allTextContents()).slice(1).map((text) => [/x-priority: ?10/.test(text), /single.active/.test(text)]);
    const plain = consume();
    await until("the first is active", async () => JSON.stringify(await states()) === "[[false,true]]");
    const prior = consume("-ca", "x-priority=10");
    await until("the one with the higher priority is active", async () => JSON.stringify((await states()).sort()) === "[[false,false],[true,true]]");
    await page.getByRole("link", { name: "Consumers (2)" }).waitFor();
    await plain.end();
    const late = consume();
    await until("a later one waits", async () => JSON.stringify((await states()).sort()) === "[[false,false],[true,true]]");
    await Promise.all([prior.end(), late.end()]);
  }, { hash: "#/queues/%2F/one%20at%20a%20time?tab=consumers" });

  await harness.scenario("a connection and its channel are listed, with what they are", async (page) => {
    const startedAt = Date.now() - 50;
    const load = broker.load("-x", "1", "-y", "0", "-r", "5", "-u", "of a connection");
    // A load declares what it needs over a connection of its own, which it closes before it publishes.
    const connection = await until("its client publishes", async () => {
      const publishers = (await broker.api("GET", "/api/channels")).filter((one) => one.message_stats?.publish > 0).map((one) => one.connection_details.name);
      const all = await broker.api("GET", "/api/connections?columns=name,connected_at");
      return all.find((one) => one.connected_at >= startedAt && publishers.includes(one.name))?.name;
    });
    await page.getByRole("link", { name: connection }).click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    await harness.settled(page);
    const facts = async () => Object.fromEntries((await page.locator(".facts div").evaluateAll((all) => all.map((one) => [one.querySelector("dt")?.textContent.trim(), one.querySelector("dd")?.textContent.trim()]))));
    const ofConnection = await facts();
    assert.equal(ofConnection.User, "guest");
    assert.equal(ofConnection.Protocol, "AMQP 0-9-1");
    for (const name of ["Connected", "Heartbeat", "Frames up to", "Channels"]) assert.ok(ofConnection[name], `${name}: ${JSON.stringify(ofConnection)}`);
    await page.getByRole("table", { name: "Channels" }).getByRole("link").first().click();
    await page.getByRole("heading", { level: 1, name: /Channel/ }).waitFor();
    await harness.settled(page);
    const ofChannel = await facts();
    assert.ok(ofChannel.Connection.includes(connection) && ofChannel.User === "guest" && ofChannel.State, JSON.stringify(ofChannel));
    for (const name of ["Mode", "Prefetch", "Unacked", "Unconfirmed", "Uncommitted", "Uncommitted acks"]) assert.ok(name in ofChannel, `${name}: ${JSON.stringify(ofChannel)}`);
    await page.getByText("It has no consumer").waitFor();
    // The channel goes with its client: its page is left before, that it does not ask for it once more.
    await harness.go(page, "#/");
    await load.end();
  }, { hash: "#/connections" });

  const WITHOUT = "every page of a broker without statistics shows what there is";
  if (!harness.only.test(WITHOUT)) return;
  const silent = await Broker.start(broker.binary, { "management.disable_stats": "true" });
  try {
    await furnish(silent);
    const { load, there } = await occupy(silent);
    for (const [name, tags] of [["watcher", "monitoring"], ["manager", "management"]]) await silent.api("PUT", `/api/users/${name}`, { password: name, tags });
    await silent.api("PUT", "/api/permissions/%2F/manager", EVERYTHING);
    for (const user of ["guest", "watcher", "manager"]) {
      await harness.scenario(user === "guest" ? WITHOUT : `${WITHOUT}, to ${user}`, async (page, { complaints }) => {
        const look = async () => {
          const shown = await page.locator("main").textContent();
          return shown.match(/.{0,20}(undefined|NaN).{0,20}/)?.slice(0, 1);
        };
        const hashes = user === "guest" ? [...places(there, []), "#/queues/%2F/loaded"] : PLACES_OF_ALL;
        assert.deepEqual(await faultsOf(harness, page, complaints, hashes, look), []);
        if (user !== "guest") return;
        await harness.go(page, "#/queues/%2F/loaded?tab=consumers");
        await page.getByRole("table", { name: "Consumers" }).getByRole("link").first().waitFor();
      }, { user, url: silent.url });
    }
    await load.end();
  } finally {
    await silent.remove();
  }
}
