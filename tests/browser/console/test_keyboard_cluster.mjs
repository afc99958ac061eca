// Orders to the nodes of a cluster by keys alone.

import { Broker, until } from "./broker.mjs";

const AWAY = /Failed to load resource|net::ERR_/;
const DRAINED = "keys: a node of a cluster is drained and revived";
const FORGOTTEN = "keys: a node of a cluster that is gone is forgotten";

export default async function keyboardCluster(harness, broker) {
  if (![DRAINED, FORGOTTEN].some((name) => harness.only.test(name))) return;
  const nodes = await Broker.startCluster(broker.binary);
  try {
    const leader = await until("a node leads", async () => {
      const { leader } = await nodes[0].api("GET", "/api/warren/cluster").catch(() => ({ leader: null }));
      return nodes.find((node) => node.settings["warren.node_name"] === leader);
    });
    const [third] = nodes.filter((node) => node !== leader);
    const of = third.settings["warren.node_name"];
    const options = { url: leader.url, hash: "#/cluster", allowed: AWAY, keyboard: true };

    await harness.scenario(DRAINED, async (page, { keys }) => {
      await harness.settled(page);
      for (const [order, next] of [["Drain", "Revive"], ["Revive", "Drain"]]) {
        await keys.act(page.getByRole("button", { name: `${order} ${of}` }));
        await keys.act(page.getByRole("dialog", { name: `${order} ${of}` }).getByRole("button", { name: order }));
        await page.getByRole("button", { name: `${next} ${of}` }).waitFor({ timeout: 30_000 });
      }
    }, options);

    await third.stop("SIGKILL");
    await harness.scenario(FORGOTTEN, async (page, { keys }) => {
      await harness.settled(page);
      await page.getByRole("button", { name: `Forget ${of}` }).waitFor({ timeout: 30_000 });
      await keys.act(page.getByRole("button", { name: `Forget ${of}` }));
      await keys.finds(`Type ${of} to go on`);
      await page.keyboard.type(of);
      await keys.press("Enter");
      await page.getByText(`${of} is not in the cluster any more.`).waitFor();
      await page.getByRole("button", { name: `Forget ${of}` }).waitFor({ state: "detached" });
      await keys.to(page.locator("summary", { hasText: "Links between the nodes" }));
    }, options);
  } finally {
    await Promise.all(nodes.map((node) => node.remove()));
  }
}
