// Orders to the nodes of a cluster by keys alone.

import assert from "node:assert/strict";
import { truncateSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { Broker, segment, until } from "./broker.mjs";
import { named } from "./harness.mjs";

const AWAY = /Failed to load resource|net::ERR_/;
const DRAINED = "keys: a node of a cluster is drained and revived";
const LED = "keys: a node of a cluster is made the leader";
const FORGOTTEN = "keys: a node of a cluster that is gone is forgotten";
const JOINED = "keys: a node alone joins a cluster";
const LOST = "keys: a loss of data is acknowledged";

/** The least that a broker takes, so that messages are moved to files. */
const SMALL = { "warren.journal.bound": "8MiB", "warren.journal.file_size": "1MiB", "warren.chunks.bound": "8MiB" };

export default async function keyboardCluster(harness, { binary }) {
  const isWanted = (...names) => names.some((name) => harness.only.test(name));
  if (isWanted(DRAINED, LED, FORGOTTEN)) await within(await Broker.startCluster(binary), (nodes) => order(harness, nodes));
  if (isWanted(JOINED)) {
    const { nodes, address } = await Broker.startStrangers(binary);
    await within(nodes, () => join(harness, nodes, address));
  }
  if (isWanted(LOST)) await within([await Broker.start(binary, SMALL)], ([broker]) => lose(harness, broker));
}

/** Removes the nodes at the end. */
async function within(nodes, act) {
  try {
    await act(nodes);
  } finally {
    await Promise.all(nodes.map((node) => node.remove()));
  }
}

async function order(harness, nodes) {
  const leader = await until("a node leads", async () => {
    const { leader } = await nodes[0].api("GET", "/api/warren/cluster").catch(() => ({ leader: null }));
    return nodes.find((node) => node.settings["warren.node_name"] === leader);
  });
  const [third] = nodes.filter((node) => node !== leader);
  const [from, of] = [leader, third].map((node) => node.settings["warren.node_name"]);
  const options = { url: leader.url, hash: "#/cluster", allowed: AWAY, keyboard: true };

  await harness.scenario(DRAINED, async (page, { keys }) => {
    await harness.settled(page);
    for (const [order, next] of [["Drain", "Revive"], ["Revive", "Drain"]]) {
      await keys.act(page.getByRole("button", { name: `${order} ${of}` }));
      await keys.act(page.getByRole("dialog", { name: `${order} ${of}` }).getByRole("button", { name: order }));
      await page.getByRole("button", { name: `${next} ${of}` }).waitFor({ timeout: 30_000 });
    }
  }, options);

  await harness.scenario(LED, async (page, { keys }) => {
    await harness.settled(page);
    for (const [next, before] of [[of, from], [from, of]]) {
      const dialog = page.getByRole("dialog", { name: `Make ${next} the leader` });
      const button = page.getByRole("button", { name: `Make leader ${next}` });
      await keys.act(button);
      await keys.act(dialog.getByRole("button", { name: "Cancel" }));
      await keys.finds(`Make leader ${next}`);
      await keys.press("Enter");
      await keys.act(dialog.getByRole("button", { name: "Make leader" }));
      await page.getByText(`${next} leads.`).waitFor();
      await button.waitFor({ state: "detached" });
      await page.getByRole("button", { name: `Make leader ${before}` }).waitFor();
      await page.getByRole("row", { name: next }).getByText("leader", { exact: true }).waitFor();
      // What had the focus is gone, and Tab goes on beside it.
      await keys.to(page.getByRole("button", { name: `Drain ${next}` }));
    }
  }, options);

  await third.stop("SIGKILL");
  await harness.scenario(FORGOTTEN, async (page, { keys }) => {
    await harness.settled(page);
    await page.getByRole("button", { name: `Forget ${of}` }).waitFor({ timeout: 30_000 });
    await page.getByRole("region", { name: "Out of order" }).getByText(`${of} does not run, or cannot be reached`).waitFor();
    const cells = (node) => page.getByRole("table", { name: "Nodes", exact: true }).getByRole("row", { name: node }).getByRole("cell").allTextContents();
    assert.equal((await cells(of))[2], "–", "how far it is to a node that does not run is not known");
    assert.equal((await cells(from))[1], "it leads");
    await keys.act(page.getByRole("button", { name: `Forget ${of}` }));
    await keys.finds(`Type ${of} to go on`);
    await page.keyboard.type(of);
    await keys.press("Enter");
    await page.getByText(`${of} is removed from the cluster.`).waitFor();
    await page.getByRole("button", { name: `Forget ${of}` }).waitFor({ state: "detached" });
    await keys.to(page.locator("summary", { hasText: "Links between the nodes" }));
  }, options);
}

async function join(harness, [first, second], address) {
  await first.api("PUT", "/api/queues/%2F/kept", { durable: true });
  await harness.scenario(JOINED, async (page, { keys }) => {
    await harness.settled(page);
    await keys.act(page.locator("summary", { hasText: "Join a cluster" }));
    const form = page.getByRole("form", { name: "Join a cluster" });
    await keys.enter(named(form, "A node of it"), address);
    await keys.press("Enter");
    await keys.act(page.getByRole("dialog", { name: `Join the cluster of ${address}` }).getByRole("button", { name: "Join" }));
    await page.getByText("This node is in the cluster now, with the users of the cluster. Log in as one of them.").waitFor();
    await keys.finds("User");
    await keys.enter(page.getByLabel("User"), "guest");
    await keys.enter(page.getByLabel("Password"), "guest");
    await keys.press("Enter");
    const table = page.getByRole("table", { name: "Nodes" });
    for (const node of [first, second]) await table.getByRole("link", { name: node.settings["warren.node_name"] }).waitFor();
    await form.waitFor({ state: "detached" });
    await keys.to(page.locator("summary", { hasText: "Links between the nodes" }));
    await keys.act(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Queues" }));
    await page.getByRole("link", { name: "kept" }).waitFor();
  }, { url: second.url, hash: "#/cluster", allowed: AWAY, keyboard: true });
}

async function lose(harness, broker) {
  await cutMessages(broker);
  const { node } = await broker.api("GET", "/api/overview?columns=node");
  await harness.scenario(LOST, async (page, { keys }) => {
    await harness.settled(page);
    const dialog = page.getByRole("dialog", { name: "Acknowledge the losses" });
    await page.getByRole("table", { name: "Damaged files" }).getByText("of cut in /").waitFor();
    await keys.act(page.getByRole("button", { name: "Acknowledge the losses" }));
    await keys.press("Escape");
    await keys.finds("Acknowledge the losses");
    await keys.press("Enter");
    await keys.act(dialog.getByRole("button", { name: "Acknowledge" }));
    await page.getByText("The losses are acknowledged.").waitFor();
    await page.getByText("No message was lost to a damaged file, or all losses are acknowledged.").waitFor();
    await until("the health check passes", () => broker.api("GET", "/api/health/checks/data-loss").then(() => true, () => false));
    await keys.to(page.locator("summary", { hasText: "Data loss" }));
  }, { url: broker.url, hash: `#/nodes/${segment(node)}`, keyboard: true });
}

/** Has a broker lose messages: a file of theirs ends early, and the broker finds that out as a client asks for them. */
async function cutMessages(broker) {
  await broker.api("PUT", "/api/queues/%2F/cut", { durable: true });
  const fill = broker.load("-p", "-u", "cut", "-y", "0", "-x", "1", "-s", "12000", "-C", "2000", "-c", "100", "-f", "persistent");
  await until("all messages are there", async () => (await broker.api("GET", "/api/queues/%2F/cut")).messages === 2000);
  await fill.end();
  const folder = path.join(broker.folder, "data", "segments");
  const segments = readdirSync(folder).filter((name) => name.endsWith(".segment")).sort();
  const file = path.join(folder, segments[0]);
  truncateSync(file, Math.floor(statSync(file).size / 2));
  const drain = broker.load("-p", "-u", "cut", "-y", "1", "-x", "0");
  await until("a loss is told", async () => (await broker.api("GET", "/api/warren/data-loss")).lost_messages > 0);
  await drain.end();
}
