// What an operator sees when something is out of order, and when nothing is: charts, banners, verdicts.

import assert from "node:assert/strict";
import { segment, until } from "./broker.mjs";

/** The latest value of a line, as a chart's name has it. */
const latest = (name, line) => Number(name.match(new RegExp(`${line.replaceAll(/[()]/g, "\\$&")}: ([0-9.,]+)`))?.[1].replaceAll(",", "") ?? NaN);

export default async function troubles(harness, broker) {
  // Refused messages come back to where they died: a consumer sends all of them round in circles.
  await broker.api("PUT", "/api/queues/%2F/round", { durable: true, arguments: { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "round" } });
  const load = broker.load("-x", "1", "-y", "1", "-r", "100", "-u", "steady", "-e", "steady", "-t", "direct", "-k", "k");
  const lost = broker.load("-x", "1", "-y", "0", "-r", "50", "-e", "amq.fanout", "-t", "fanout", "-p");
  const circle = broker.load("-x", "0", "-y", "1", "--predeclared", "-u", "round", "-q", "50", "--nack", "-re", "false");
  for (let number = 0; number < 20; number += 1) await broker.api("POST", "/api/exchanges/%2F/amq.default/publish", { routing_key: "round", payload: "x", payload_encoding: "string", properties: {} });
  const [publisher] = await until("a client publishes", async () => {
    const channels = await broker.api("GET", "/api/channels?columns=connection_details,consumer_count,message_stats");
    const found = channels.filter((one) => one.message_stats?.publish > 50 && one.message_stats?.publish_details?.rate > 80);
    return found.length > 0 && found.map(({ connection_details: connection }) => connection.name);
  });

  await harness.scenario("the overview draws both charts, also after numbers have come by the stream, and tells of unroutable messages", async (page) => {
    await harness.settled(page);
    await page.getByRole("img", { name: "Live: numbers come by themselves" }).waitFor();
    const charts = ["Messages in all queues. Ready:", "Messages a second. Publish:"].map((name) => page.getByRole("img", { name }));
    await Promise.all(charts.map((chart) => chart.locator("canvas").waitFor()));
    // The stream tells every five seconds.
    await page.waitForTimeout(6000);
    for (const chart of charts) assert.equal(await chart.locator("canvas").count(), 1);
    assert.ok(latest(await charts[1].getAttribute("aria-label"), "Publish") > 50, await charts[1].getAttribute("aria-label"));
    await until("unroutable messages are told of", async () => /[1-9]/.test(await page.locator(".tile", { hasText: "Unroutable" }).locator("b").textContent()));
    await page.getByRole("region", { name: "Nodes" }).getByRole("link").first().waitFor();
  });

  await harness.scenario("a queue that no page has shown has a history, and is not said to be slow", async (page) => {
    await harness.settled(page);
    const { message_stats: stats } = await broker.api("GET", "/api/queues/%2F/steady?columns=message_stats&msg_rates_age=60&msg_rates_incr=5");
    const samples = stats.publish_details.samples.map(({ sample }) => sample);
    const steps = samples.slice(1).map((sample, index) => (samples[index] - sample) / 5);
    assert.ok(samples.length > 2 && Math.max(...steps) < 300, JSON.stringify(samples));
    await page.getByRole("img", { name: /^Messages a second\. Publish: \d/ }).locator("canvas").waitFor();
    await page.getByRole("note").getByText(/^It is not slow\./).waitFor({ timeout: 30_000 });
    assert.deepEqual(await harness.breaches(page), []);
  }, { hash: "#/queues/%2F/steady" });

  await harness.scenario("dead letters that go round in circles are named on the overview and on the page of their queue", async (page) => {
    await page.getByRole("note").getByText(/Dead letters go round in circles: .* return to the queue round/).waitFor({ timeout: 30_000 });
    await page.getByRole("note").getByRole("link", { name: "The queue" }).click();
    await page.getByRole("heading", { level: 1, name: "round" }).waitFor();
    await page.getByRole("note").getByText(/^Dead letters in circles\./).waitFor({ timeout: 30_000 });
    const details = await page.locator(".section", { hasText: "Details" }).first().textContent();
    assert.match(details, /Rejected, dead lettered/);
    assert.doesNotMatch(details, /Dropped|, lost/);
  });
  await circle.end();

  await harness.scenario("an alarm is a banner on every page, and its publishers are said to be blocked by it", async (page) => {
    await broker.api("PUT", "/api/warren/memory-limit", { absolute: 1 });
    const banners = page.getByRole("region", { name: "Out of order" });
    await banners.getByText(/is short of memory/).waitFor();
    await banners.getByText(/connections? (is|are) blocked|One connection is blocked|connections are blocked/).waitFor();
    assert.deepEqual(await harness.breaches(page), []);
    await harness.go(page, `#/connections/${segment(publisher)}`);
    await page.getByRole("note").getByText(/^The broker\. An alarm blocks it/).waitFor();
    await harness.go(page, "#/alerts");
    await page.getByText("no webhook gets a notice of what the banner above says").waitFor();
    await banners.getByRole("link", { name: "The node" }).click();
    await page.getByRole("heading", { level: 1, name: /^Node/ }).waitFor();
    await broker.api("PUT", "/api/warren/memory-limit", { relative: 0.9 });
    await banners.waitFor({ state: "hidden" });
  }, { hash: "#/users" });
  await load.end();
  await lost.end();

  await harness.scenario("a queue is paused, and goes on", async (page) => {
    await harness.settled(page);
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("dialog", { name: "Pause the queue?" }).getByRole("button", { name: "Pause" }).click();
    await page.getByRole("note").getByText(/^Paused\./).waitFor();
    await page.locator(".facts").getByText("paused", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    assert.equal((await broker.api("GET", "/api/queues/%2F/round")).paused, undefined);
  }, { hash: "#/queues/%2F/round" });
}
