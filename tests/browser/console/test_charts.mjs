// Where the lines of charts begin: where something is known, and not with zeros before that; and that a change of the leader empties none of them.

import assert from "node:assert/strict";
import { Broker, segment, until } from "./broker.mjs";

const PUBLISHED = { payload: "x", payload_encoding: "string", properties: { delivery_mode: 2 } };
/** Samples are five seconds apart, and the one before may belong to a line. */
const SLACK_S = 11;

async function fill(broker, queue, count) {
  await broker.api("PUT", `/api/queues/%2F/${queue}`, { durable: true });
  for (let number = 0; number < count; number += 1) await broker.api("POST", "/api/exchanges/%2F/amq.default/publish", { routing_key: queue, ...PUBLISHED });
}

const chart = (page, name) => page.getByRole("img", { name });
/** Since when the lines of a chart are drawn. */
const since = async (page, name) => Number(await chart(page, name).getAttribute("data-since"));

/** Waits until a chart says what it is to say last. */
async function says(page, name, what) {
  await until(`${name} says ${what}`, async () => (await chart(page, name).getAttribute("aria-label").catch(() => ""))?.includes(what));
}

export default async function charts(harness, broker) {
  await harness.scenario("lines of lengths begin when the queue was made, whether it has been used or not", async (page) => {
    const madeAt = Date.now() / 1000;
    await fill(broker, "young", 3);
    await fill(broker, "idle", 0);
    await harness.go(page, "#/queues/%2F/young");
    await says(page, /^Messages in the queue/, "Ready: 3");
    await until("its history begins", async () => (await since(page, /^Messages in the queue/)) >= madeAt - SLACK_S);
    await harness.go(page, "#/queues/%2F/idle");
    await says(page, /^Messages in the queue/, "Ready: 0");
    await until("its history begins", async () => (await since(page, /^Messages in the queue/)) >= madeAt - SLACK_S);
  });

  const NAME = "charts keep what they have shown when the leader changes, and begin with no spike at the new one";
  if (!harness.only.test(NAME)) return;
  const nodes = await Broker.startCluster(broker.binary);
  const [first, second] = nodes;
  try {
    const nameOf = (node) => node.settings["warren.node_name"];
    const leads = (node) => until(`${nameOf(node)} leads`, async () => (await node.api("GET", "/api/warren/cluster").catch(() => ({}))).leader === nameOf(node) && (await node.api("GET", "/api/queues").then(() => true, () => false)));
    const { leader } = await until("a node leads", () => first.api("GET", "/api/warren/cluster").then((said) => said.leader && said, () => undefined));
    if (leader !== nameOf(first)) await first.api("POST", "/api/warren/cluster/transfer", { node: nameOf(first) });
    await leads(first);
    await fill(first, "kept", 30);
    await harness.scenario(NAME, async (page, { context }) => {
      const places = [["#/queues/%2F/kept", /^Messages in the queue/], ["#/", /^Messages in all queues/], ["#/vhosts/%2F", /^Messages\. /]];
      const pages = [page, await context.newPage(), await context.newPage()];
      for (const [index, [hash]] of places.entries()) await pages[index].goto(`${second.url}/${hash}`);
      for (const [index, [, name]] of places.entries()) await says(pages[index], name, "Ready: 30");
      // Some samples of the first leader.
      await page.waitForTimeout(11_000);
      const before = await Promise.all(places.map(([, name], index) => since(pages[index], name)));
      const movedAt = Date.now() / 1000;
      await first.api("POST", "/api/warren/cluster/transfer", { node: nameOf(second) });
      await leads(second);
      await page.waitForTimeout(12_000);
      for (const [index, [hash, name]] of places.entries()) {
        await says(pages[index], name, "Ready: 30");
        assert.equal(await since(pages[index], name), before[index], hash);
      }
      // A page that is opened now has what the new leader knows.
      for (const [hash, name] of places) {
        const opened = await context.newPage();
        await opened.goto(`${second.url}/${hash}`);
        await says(opened, name, "Ready: 30");
        assert.ok((await since(opened, name)) >= movedAt - SLACK_S, `${hash}: ${await since(opened, name)} is before ${movedAt}`);
        await opened.close();
      }
      // Forms act on the node that answers, so the page of another has none.
      for (const [node, count] of [[second, 1], [first, 0]]) {
        await harness.go(page, `#/nodes/${segment(nameOf(node))}`);
        await page.getByText("File descriptors", { exact: true }).waitFor();
        if (count === 0) await page.getByText(`The leader, ${nameOf(second)}, answers here.`).waitFor();
        await until("its forms are as they should be", async () => (await page.getByRole("button", { name: "Change the limit of memory" }).count()) === count);
      }
    }, { url: second.url, allowed: /Failed to load resource|net::ERR_/ });
  } finally {
    await Promise.all(nodes.map((node) => node.remove()));
  }
}
