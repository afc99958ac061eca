// Names, headers, choices and widths that lists and pages have to cope with.

import assert from "node:assert/strict";
import { segment, until } from "./broker.mjs";
import { EVERYTHING } from "./places.mjs";

export default async function names(harness, broker) {
  for (const vhost of ["north", "south"]) {
    await broker.api("PUT", `/api/vhosts/${vhost}`);
    await broker.api("PUT", `/api/permissions/${vhost}/guest`, EVERYTHING);
  }
  await broker.api("PUT", "/api/queues/north/%20", { durable: true });
  await broker.api("PUT", "/api/queues/south/elsewhere", { durable: true });
  await broker.api("POST", "/api/exchanges/north/amq.default/publish", { routing_key: " ", payload: "x", payload_encoding: "string", properties: { headers: { any: 1 } } });
  // What a client of AMQP can say, and the API takes from none.
  const headers = { outer: { inner: null, list: [1, null] }, none: null, bytes: "Not UTF-8, base64 is: //4A" };
  await broker.api("PUT", "/api/users/nowhere", { password: "nowhere", tags: "management" });

  await harness.scenario("a virtual host that is chosen on one page holds for the others, and a queue named by a space can be opened", async (page) => {
    await harness.settled(page);
    await page.getByRole("search").getByRole("combobox", { name: "Virtual host" }).selectOption("north");
    await page.getByRole("link", { name: "elsewhere" }).waitFor({ state: "detached" });
    await harness.go(page, "#/exchanges");
    await until("it is chosen here, too", async () => (await page.getByRole("search").getByRole("combobox", { name: "Virtual host" }).inputValue()) === "north");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Queues" }).click();
    await page.getByRole("link", { name: "␣" }).click();
    await page.getByRole("heading", { level: 1, name: "␣" }).waitFor();
    assert.match(page.url(), /#\/queues\/north\/%20$/);
    await page.route(/\/messages[/?]/, async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      for (const message of answer.messages ?? [answer]) message.properties = { headers };
      await route.fulfill({ response, json: answer });
    });
    await harness.go(page, "#/queues/north/%20?tab=messages");
    await page.getByRole("button", { name: /^Show message/ }).click();
    const shown = await page.getByRole("dialog").getByRole("region", { name: /^Headers/ }).textContent();
    assert.doesNotMatch(shown, /undefined/);
    assert.match(shown, /inner\s*nothing.*list\s*1, nothing.*none\s*void\s*nothing.*bytes\s*bytes\s*3 bytes: \/\/4A/);
    await page.keyboard.press("Escape");
    await harness.go(page, "#/queues");
    await page.getByRole("search").getByRole("combobox", { name: "Virtual host" }).selectOption("");
    await page.getByRole("link", { name: "elsewhere" }).waitFor();
  }, { hash: "#/queues" });

  await harness.scenario("on a phone a list has its counts beside the names, and the current tab is seen", async (page) => {
    await harness.settled(page);
    const isSeen = (locator) => locator.evaluate((element) => {
      const box = element.getBoundingClientRect();
      return box.left >= 0 && box.right <= innerWidth + 1;
    });
    const heads = await page.getByRole("table", { name: "Queues" }).getByRole("columnheader").allTextContents();
    assert.deepEqual(heads.slice(1, 4).map((text) => text.replaceAll(/[▲▼]/g, "")), ["Name", "Ready", "Unacked"]);
    assert.ok(await isSeen(page.getByRole("table", { name: "Queues" }).getByRole("columnheader", { name: "Ready" })));
    for (const [hash, tab] of [["#/queues", "Queues"], ["#/cluster", "Cluster"]]) {
      await harness.go(page, hash);
      assert.ok(await isSeen(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: tab })), tab);
    }
  }, { hash: "#/queues", width: 390 });

  await harness.scenario("consumers of all queues are in one list, and what they hold is on a page of the queue", async (page) => {
    await broker.api("PUT", `/api/queues/%2F/${segment("held here")}`, { durable: true });
    const load = broker.load("-x", "1", "-y", "1", "--predeclared", "-u", "held here", "-q", "7", "-r", "20", "-L", "60000000");
    await page.getByRole("link", { name: "held here" }).waitFor();
    await page.getByRole("searchbox", { name: "Filter consumers" }).fill("held here");
    const row = page.getByRole("table", { name: "Consumers" }).getByRole("row").nth(1);
    assert.match(await row.textContent(), /held here.*7/);
    await page.getByRole("link", { name: "held here" }).click();
    await page.getByRole("link", { name: /^Unacked \(7\)/ }).click();
    await page.getByRole("table", { name: "Messages" }).getByRole("link").first().waitFor();
    assert.equal(await page.getByRole("button", { name: /^Show message/ }).count(), 7);
    await page.getByLabel("Messages of a page").selectOption("20");
    assert.match(page.url(), /size=20/);
    await load.end();
  }, { hash: "#/consumers" });

  await harness.scenario("a user without a virtual host is offered nothing that it may not do", async (page) => {
    await page.getByText("it has no permissions in any virtual host").waitFor();
    assert.equal(await page.getByText("Add a queue").count(), 0);
    await harness.go(page, "#/admin");
    await page.getByRole("heading", { level: 1, name: "Policies" }).waitFor();
    const menu = await page.getByRole("navigation", { name: "Admin" }).getByRole("link").allTextContents();
    assert.deepEqual(menu, ["Policies", "Limits", "Permissions check"]);
  }, { user: "nowhere", hash: "#/queues" });

  await harness.scenario("pages that come and go leave no memory behind", async (page, { context }) => {
    const devtools = await context.newCDPSession(page);
    const round = async () => {
      for (const hash of ["#/", "#/queues", "#/queues/north/%20", "#/connections", "#/exchanges", "#/alerts"]) await harness.go(page, hash);
      await devtools.send("HeapProfiler.collectGarbage");
      return (await devtools.send("Runtime.getHeapUsage")).usedSize;
    };
    await round();
    const first = await round();
    for (let count = 0; count < 6; count += 1) await round();
    const last = await round();
    assert.ok(last < first * 1.25 + 200_000, `${first} bytes became ${last}`);
  });

  await harness.scenario("a page that stays open takes no more memory the longer it is open", async (page, { context }) => {
    const load = broker.load("-x", "1", "-y", "1", "-r", "50", "-u", "stays open", "--queue-args", "x-max-length=1000");
    const devtools = await context.newCDPSession(page);
    // As often as in some minutes, each page asks the broker and shows what it says.
    const stay = async () => {
      for (let look = 0; look < 40; look += 1) {
        await Promise.all([page.waitForResponse((response) => response.url().includes("/api/")), page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")))]);
      }
      await devtools.send("HeapProfiler.collectGarbage");
      return (await devtools.send("Runtime.getHeapUsage")).usedSize;
    };
    await until("a client consumes", async () => (await broker.api("GET", "/api/consumers?columns=queue.name")).some(({ queue }) => queue.name === "stays open"));
    const grown = [];
    for (const hash of ["#/", "#/queues", `#/queues/%2F/${segment("stays open")}`]) {
      await harness.go(page, hash);
      // Small lines of rows have up to sixty numbers.
      for (let round = 0; round < 3; round += 1) await stay();
      // Code that is compiled meanwhile comes and goes: what is there at least counts.
      const least = async () => Math.min(await stay(), await stay(), await stay());
      const first = await least();
      await stay();
      const last = await least();
      if (last > first * 1.1 + 250_000) grown.push(`${hash}: ${first} bytes became ${last}`);
    }
    assert.deepEqual(grown, []);
    // The queue is deleted with its last consumer: its page is left before, that it does not ask for it once more.
    await harness.go(page, "#/");
    await load.end();
  }, { hash: "#/queues" });
  // Lists of others are as long as they were.
  for (const vhost of ["north", "south"]) await broker.api("DELETE", `/api/vhosts/${vhost}`);
  if (harness.only.test("consumers of all queues")) await broker.api("DELETE", `/api/queues/%2F/${segment("held here")}`);
}
