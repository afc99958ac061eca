// Connections and channels: who is slow, what they do, and how they are closed.

import assert from "node:assert/strict";
import { segment, until } from "./broker.mjs";

export default async function connections(harness, broker) {
  // More than the two take: what they have prefetched waits in them.
  const load = broker.load("-x", "1", "-y", "2", "-r", "150", "-u", "slow", "-e", "slow", "-t", "direct", "-k", "k", "-q", "20", "-L", "20000", "-c", "10");
  const names = await until("clients are connected", async () => {
    const all = await broker.api("GET", "/api/connections?columns=name,channels");
    return all.length === 3 && all.every(({ channels }) => channels > 0) && all.map(({ name }) => name);
  });
  const consuming = await until("consumers are there", async () => (await broker.api("GET", "/api/consumers")).map((one) => one.channel_details.connection_name)[0]);

  await harness.scenario("who is slow is one sort of connections, by keys alone", async (page) => {
    await harness.settled(page);
    assert.equal(await page.getByRole("table", { name: "Connections" }).getByRole("link").count(), names.length);
    await page.getByRole("button", { name: "Round trip" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("columnheader", { name: "Round trip" }).and(page.locator("[aria-sort=descending]")).waitFor();
    assert.match(page.url(), /sort=network\.round_trip_us&reverse=true/);
    assert.deepEqual(await harness.breaches(page), []);
  }, { hash: "#/connections" });

  await harness.scenario("a consumer that takes long is told from a slow network", async (page) => {
    await harness.settled(page);
    await page.getByText(/^Consumer\. It is the consumer/).waitFor({ timeout: 40_000 });
    await page.getByRole("button", { name: "Watch it: the queue slow" }).click();
    await page.getByText("watched from now on").waitFor();
    const { latency_stages: stages } = await until("the queue is timed", async () => {
      const queue = await broker.api("GET", "/api/queues/%2F/slow?columns=latency_stages");
      return queue.latency_stages?.deliver_to_ack?.messages > 50 && queue;
    });
    assert.ok(stages.deliver_to_ack.p50_us > 10_000, JSON.stringify(stages.deliver_to_ack));
    assert.deepEqual(await harness.breaches(page), []);
  }, { hash: `#/connections/${segment(consuming)}`, width: 375 });

  await harness.scenario("a channel shows its consumers, and numbers that come by themselves", async (page) => {
    await harness.settled(page);
    await page.getByRole("table", { name: "Consumers" }).getByRole("link", { name: "slow" }).waitFor();
    await page.getByRole("img", { name: "Live: numbers come by themselves" }).waitFor();
    const acknowledged = page.locator(".facts div").filter({ hasText: "Acknowledged" });
    const before = await acknowledged.textContent();
    await page.waitForFunction((before) => [...document.querySelectorAll(".facts div")].some((one) => one.textContent?.startsWith("Acknowledged") && one.textContent !== before), before);
    assert.deepEqual(await harness.breaches(page), []);
  }, { hash: `#/channels/${segment(`${consuming} (1)`)}`, colorScheme: "dark" });

  await harness.scenario("users without the tag monitoring see their own connections only, and no buttons of others", async (page) => {
    await broker.api("PUT", "/api/users/walker", { password: "walker", tags: "management" });
    await broker.api("PUT", "/api/permissions/%2F/walker", { configure: "", write: "", read: "" });
    const own = await page.context().browser().newContext();
    await harness.logIn(own, "walker", "walker");
    const other = await own.newPage();
    await other.goto(`${broker.url}/#/connections`);
    await other.getByText("No connection of this user is open").waitFor();
    await own.close();
  });

  await harness.scenario("a connection is closed with a reason, and chosen ones together", async (page) => {
    await harness.settled(page);
    await page.getByRole("button", { name: "Close…" }).click();
    const dialog = page.getByRole("dialog", { name: "Close the connection" });
    await page.keyboard.type("maintenance");
    assert.equal(await dialog.getByLabel("Reason, which the client gets").inputValue(), "maintenance");
    await dialog.getByRole("button", { name: "Close the connection" }).click();
    await page.getByRole("heading", { level: 1, name: "Connections" }).waitFor();
    await until("it is closed", async () => !(await broker.api("GET", "/api/connections?columns=name")).some(({ name }) => name === names[0]));
    await load.end();
    await until("the others are closed", async () => (await broker.api("GET", "/api/connections")).length === 0);
  }, { hash: `#/connections/${segment(names[0])}`, allowed: /status of 404/ });
}
