// Upstreams of federation and sets of them by keys alone, and what links do: those of this broker, and such as others might have.

import assert from "node:assert/strict";
import { until } from "./broker.mjs";
import { named } from "./harness.mjs";
import { EVERYTHING, HOSTILE } from "./places.mjs";

const VHOST = "federated";
const GONE = /status of 404/;

/** What a page has, also in its fields and on hover. */
const everything = (page) => page.evaluate(() => [document.body.innerHTML, ...[...document.querySelectorAll("input, textarea")].map(({ value }) => value)].join("\n"));

const link = { node: "hare@localhost", vhost: VHOST, type: "exchange", exchange: "orders", upstream_exchange: "orders", upstream: "north", id: "0a1b2c3d", uri: "amqp://north.example", status: "running", timestamp: "2026-11-27 06:27:15", local_connection: "<warren.1>" };
/** Links that a broker might have. */
const LINKS = [
  { ...link, local_channel: { message_stats: { publish_details: { rate: 12.5 } } } },
  { ...link, id: "0a1b2c3e", type: "queue", exchange: undefined, upstream_exchange: undefined, queue: "tasks", upstream_queue: "jobs", status: "error", error: "cannot connect to north.example:5672: Connection refused" },
  ...HOSTILE.map((name, index) => ({ ...link, id: `hostile${index}`, exchange: name, upstream_exchange: name, upstream: name, status: ["starting", "shutdown"][index % 2], error: name })),
];

export default async function federation(harness, broker) {
  await broker.api("PUT", `/api/vhosts/${VHOST}`);
  await broker.api("PUT", `/api/permissions/${VHOST}/guest`, EVERYTHING);
  const valueOf = async (component, name) => (await broker.api("GET", `/api/parameters/${component}/${VHOST}/${name}`)).value;

  await harness.scenario("keys: an upstream and a set of upstreams are added, changed and deleted", async (page, { keys }) => {
    await harness.settled(page);
    const dialog = page.getByRole("dialog");
    const add = page.getByRole("form", { name: "Add an upstream" });
    await keys.finds("Virtual host");
    await keys.choose(named(add, "Virtual host"), VHOST);
    await keys.enter(named(add, "Name"), "north");
    await keys.enter(named(add, "URI"), "amqp://me:hush-hush@127.0.0.1:9");
    await keys.choose(named(add, "Acknowledgement mode"), "on-publish");
    await keys.toggle(add.getByRole("checkbox", { name: "Trust User-ID" }));
    await keys.enter(named(add, "Max hops"), "2");
    await keys.choose(named(add, "Queue type"), "quorum");
    await keys.act(add.getByRole("button", { name: "Add upstream" }));
    await keys.act(page.getByRole("link", { name: "north", exact: true }));
    await page.getByRole("heading", { level: 1, name: "Upstream north" }).waitFor();
    const expected = { uri: "amqp://me:hush-hush@127.0.0.1:9", "ack-mode": "on-publish", "trust-user-id": true, "max-hops": 2, "queue-type": "quorum" };
    assert.deepEqual(await valueOf("federation-upstream", "north"), expected);
    await keys.act(page.locator("summary", { hasText: "Change the upstream" }));
    const change = page.getByRole("form", { name: "Change the upstream" });
    await keys.enter(named(change, "Queue"), "jobs");
    assert.ok(!(await everything(page)).includes("hush-hush"), "no password is shown");
    await keys.act(change.getByRole("button", { name: "Change upstream" }));
    await page.getByRole("table", { name: "Definition" }).getByText("jobs").waitFor();
    assert.deepEqual(await valueOf("federation-upstream", "north"), { ...expected, queue: "jobs" });

    await keys.act(page.getByRole("link", { name: "Federation Upstreams" }).last());
    await keys.act(page.getByRole("link", { name: "Upstream sets" }));
    await harness.settled(page);
    const section = page.locator("summary", { hasText: "Add an upstream set" });
    // It is open where there is no set yet; where there are some it has to be opened.
    await section.waitFor();
    if (!(await page.getByRole("form", { name: "Add an upstream set" }).isVisible())) await keys.act(section);
    const set = page.getByRole("form", { name: "Add an upstream set" });
    await keys.choose(named(set, "Virtual host"), VHOST);
    await keys.enter(named(set, "Name"), "both");
    await keys.enter(named(set, "Upstreams"), "north, south");
    await keys.press("Enter");
    await page.getByRole("row", { name: "both" }).getByText("south").waitFor();
    assert.deepEqual(await valueOf("federation-upstream-set", "both"), [{ upstream: "north" }, { upstream: "south" }]);
    await keys.act(page.getByRole("button", { name: `Delete both of ${VHOST}` }));
    await keys.act(dialog.getByRole("button", { name: "Delete" }));
    await page.getByRole("button", { name: `Delete both of ${VHOST}` }).waitFor({ state: "detached" });
    await keys.act(page.getByRole("link", { name: "Upstreams", exact: true }));
    await page.getByRole("row", { name: "north" }).getByText("amqp://me:***@127.0.0.1:9").first().waitFor();
    await keys.act(page.getByRole("button", { name: `Delete north of ${VHOST}` }));
    await keys.act(dialog.getByRole("button", { name: "Cancel" }));
    await keys.finds(`Delete north of ${VHOST}`);
    await keys.press("Enter");
    await keys.act(dialog.getByRole("button", { name: "Delete" }));
    await page.getByRole("button", { name: `Delete north of ${VHOST}` }).waitFor({ state: "detached" });
    await keys.to(page.getByRole("link", { name: "What the links do now" }));
  }, { hash: "#/federation-upstreams?add=yes", keyboard: true, allowed: GONE });

  await harness.scenario("keys: links say what they do and why they fail, and are restarted", async (page, { context, keys }) => {
    const restarted = [];
    let links = [];
    await context.route(/\/api\/federation-links$/, (route) => route.fulfill({ json: links }));
    await context.route(/\/api\/federation-links\/vhost\//, (route) => {
      restarted.push(`${route.request().method()} ${decodeURIComponent(new URL(route.request().url()).pathname)}`);
      return route.fulfill({ status: 204 });
    });
    await harness.go(page, "#/federation");
    // By itself, without another visit.
    links = LINKS;
    const orders = page.getByRole("row", { name: "exchange orders" });
    await orders.getByText("running", { exact: true }).waitFor();
    await orders.getByText("12.5/s").waitFor();
    await page.getByRole("row", { name: "queue tasks from jobs" }).getByText("cannot connect to north.example:5672: Connection refused").waitFor();
    assert.equal(await page.getByRole("table", { name: "Links" }).getByRole("button", { name: /^Restart/ }).count(), LINKS.length);
    await keys.act(page.getByRole("button", { name: `Restart queue tasks from north in ${VHOST}` }));
    const dialog = page.getByRole("dialog", { name: "Restart the link" });
    await keys.act(dialog.getByRole("button", { name: "Cancel" }));
    await keys.finds(`Restart queue tasks from north in ${VHOST}`);
    await keys.press("Enter");
    await keys.act(dialog.getByRole("button", { name: "Restart" }));
    await page.getByText("The link is restarted.").waitFor();
    assert.deepEqual(restarted, [`DELETE /api/federation-links/vhost/${VHOST}/0a1b2c3e/hare@localhost/restart`]);
    await keys.enter(page.getByRole("searchbox", { name: "Filter links" }), "error$");
    await orders.waitFor({ state: "detached" });
    await keys.enter(page.getByRole("searchbox", { name: "Filter links" }), "^");
    await orders.waitFor();
    assert.deepEqual(await harness.breaches(page), []);
    await page.setViewportSize({ width: 375, height: 800 });
    assert.deepEqual(await harness.breaches(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), "it is no wider than the screen");
  }, { hash: "#/limits", keyboard: true });

  await harness.scenario("a link of the broker itself runs, is restarted, and says why it fails", async (page) => {
    const put = (uri) => broker.api("PUT", `/api/parameters/federation-upstream/${VHOST}/near`, { value: { uri } });
    await broker.api("PUT", "/api/vhosts/near");
    await broker.api("PUT", "/api/permissions/near/guest", EVERYTHING);
    await put("amqp:///near");
    await broker.api("PUT", `/api/exchanges/${VHOST}/fed`, { type: "topic", durable: true });
    await broker.api("PUT", `/api/policies/${VHOST}/fed`, { pattern: "^fed$", definition: { "federation-upstream": "near" }, "apply-to": "exchanges" });
    const row = page.getByRole("row", { name: `${VHOST} near exchange fed` });
    await row.getByText("running", { exact: true }).waitFor();
    await row.getByRole("button", { name: `Restart exchange fed from near in ${VHOST}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restart" }).click();
    await page.getByText("The link is restarted.").waitFor();
    await row.getByText("running", { exact: true }).waitFor();
    await put("amqp://me:hush-hush@127.0.0.1:9");
    await row.getByText("error", { exact: true }).waitFor();
    await row.getByText("cannot connect to 127.0.0.1:9").waitFor();
    assert.ok(!(await everything(page)).includes("hush-hush"), "no password is shown");
    for (const path of [`policies/${VHOST}/fed`, `parameters/federation-upstream/${VHOST}/near`]) await broker.api("DELETE", `/api/${path}`);
    await row.waitFor({ state: "detached" });
  }, { hash: "#/federation" });

  await broker.api("PUT", "/api/vhosts/unfederated");
  for (const tags of ["management", "policymaker"]) {
    await broker.api("PUT", `/api/users/fed-${tags}`, { password: `fed-${tags}`, tags });
    await broker.api("PUT", `/api/permissions/unfederated/fed-${tags}`, EVERYTHING);
    await harness.scenario(`where there is no link a user with the tag ${tags} is told what one is`, async (page) => {
      await page.getByText(tags === "policymaker" ? "There is no link." : "There is no link that this user may see.").waitFor();
      if (tags === "management") return assert.equal(await page.getByRole("main").getByRole("link", { name: /^Add|Upstreams/ }).count(), 0);
      await page.getByRole("link", { name: "Add an upstream" }).click();
      await until("there is a form", () => page.getByRole("form", { name: "Add an upstream" }).isVisible());
      await page.getByText("There is no upstream. Add one below").waitFor();
    }, { user: `fed-${tags}`, hash: "#/federation" });
  }
}
