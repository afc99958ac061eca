// A cluster that loses its leader while a page is open, by a node that does not lead.

import { Broker, until } from "./broker.mjs";

const AWAY = /Failed to load resource|net::ERR_/;

export default async function cluster(harness, broker) {
  const name = "a cluster loses its leader, and the page goes on by itself, logged in";
  if (!harness.only.test(name)) return;
  const nodes = await Broker.startCluster(broker.binary);
  try {
    const leads = async () => {
      const { leader } = await nodes[0].api("GET", "/api/warren/cluster").catch(() => ({ leader: null }));
      return nodes.find((node) => node.settings["warren.node_name"] === leader);
    };
    const leader = await until("a node leads", leads);
    const other = nodes.find((node) => node !== leader);
    await leader.api("PUT", "/api/queues/%2F/of-the-cluster", { durable: true, arguments: { "x-queue-type": "quorum" } });
    await harness.scenario(name, async (page) => {
      await page.getByRole("link", { name: "of-the-cluster" }).waitFor();
      await leader.stop("SIGKILL");
      await until("another node leads", () => other.api("PUT", "/api/queues/%2F/after-it", { durable: true }).then(() => true, () => false));
      await page.getByRole("link", { name: "after-it" }).waitFor({ timeout: 60_000 });
      await page.getByText(/cannot be reached, or no node leads/).waitFor({ state: "detached" });
      await harness.go(page, "#/cluster");
      await page.getByText(other.settings["warren.node_name"]).first().waitFor();
    }, { url: other.url, hash: "#/queues", allowed: AWAY });
  } finally {
    await Promise.all(nodes.map((node) => node.remove()));
  }
}
