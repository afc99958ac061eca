// What is around the pages: login, palette, appearance, addresses, and a broker that is away, slow, or takes rights back.

import assert from "node:assert/strict";
import { segment, until } from "./broker.mjs";
import { tabTo } from "./harness.mjs";

/** What a browser itself says of requests that fail while the broker is away, or of a session that has ended. */
const AWAY = /Failed to load resource|net::ERR_/;

export default async function frame(harness, broker) {
  await broker.api("PUT", "/api/users/ann", { password: "ann", tags: "management" });
  await broker.api("PUT", "/api/permissions/%2F/ann", { configure: ".*", write: ".*", read: ".*" });
  await broker.api("PUT", "/api/users/soon", { password: "soon", tags: "monitoring" });

  await harness.scenario("a login leads to the place of the address, and a wrong password is said", async (page) => {
    await page.getByLabel("User").fill("guest");
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Password").fill("guest");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    assert.match(page.url(), /#\/queues\?name=x$/);
    const cookies = await page.context().cookies();
    assert.ok(cookies.every(({ httpOnly, sameSite }) => httpOnly && sameSite === "Strict") && cookies.length === 1);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Password").waitFor();
    assert.deepEqual(await page.context().cookies(), []);
  }, { user: null, hash: "#/queues?name=x", allowed: AWAY });

  await harness.scenario("the page allows no script but the broker's own", async (page) => {
    const answer = await page.request.get(broker.url);
    const policy = answer.headers()["content-security-policy"];
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/);
    assert.match(policy, /base-uri 'none'; form-action 'self'; frame-ancestors 'none'/);
    const script = await page.evaluate(() => document.querySelector("script").src);
    const asset = await page.request.get(script);
    assert.match(asset.headers()["cache-control"], /immutable/);
    const again = await page.request.get(script, { headers: { "if-none-match": asset.headers().etag } });
    assert.equal(again.status(), 304);
    const other = await page.request.get(script.replace(/static\/[^/]+/, "static/0"));
    assert.equal(other.status(), 404);
  });

  await harness.scenario("no page of another origin can have the console within it", async (page, { context }) => {
    const other = await context.browser().newPage();
    await other.setContent(`<iframe src="${broker.url}/"></iframe>`);
    const within = await until("something is in the frame", () => other.frames()[1]?.url());
    await until(`the browser refuses ${within}`, () => /^chrome-error:/.test(other.frames()[1].url()), 5000);
    await other.close();
  });

  await harness.scenario("the palette finds pages and queues by keys alone", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/palette-orders", { durable: true });
    await harness.settled(page);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("palette-ord");
    await page.getByRole("option", { name: /palette-orders/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /palette-orders/ }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("Connections");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Connections" }).waitFor();
  });

  await harness.scenario("tabs are reached by keys alone, and the page gets the focus", async (page) => {
    await harness.settled(page);
    await tabTo(page, "Skip to the page");
    await tabTo(page, "Queues");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  });

  await harness.scenario("an appearance that was chosen stays", async (page) => {
    await harness.settled(page);
    await page.getByRole("button", { name: /^Appearance/ }).click();
    await page.getByRole("button", { name: /^Appearance/ }).click();
    await page.reload();
    await page.getByRole("button", { name: "Appearance: dark" }).waitFor();
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), "dark");
  });

  await harness.scenario("a user sees no tab that leads to nothing for it", async (page) => {
    await harness.settled(page);
    const tabs = await page.getByRole("navigation", { name: "Main" }).getByRole("link").allTextContents();
    assert.ok(tabs.includes("Queues") && !tabs.includes("Trace") && !tabs.includes("Log") && !tabs.includes("Cluster"), tabs.join());
  }, { user: "ann" });

  await harness.scenario("rights that are taken in the middle are said, and the place is kept", async (page) => {
    await harness.settled(page);
    await broker.api("DELETE", "/api/users/soon");
    await page.getByText(/session has ended, or the user's rights/).waitFor();
    await page.getByLabel("User").fill("guest");
    await page.getByLabel("Password").fill("guest");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
  }, { user: "soon", hash: "#/queues", allowed: AWAY });

  await harness.scenario("a broker that is slow is said to be, and is well again", async (page) => {
    await harness.settled(page);
    broker.sleep();
    await page.getByText(/The broker is slow to answer/).waitFor();
    broker.wake();
    await page.getByText(/The broker is slow to answer/).waitFor({ state: "detached" });
  });

  await harness.scenario("a broker that is killed and comes back is said, and the page goes on by itself", async (page) => {
    await harness.settled(page);
    await harness.go(page, "#/queues");
    await broker.stop("SIGKILL");
    await page.getByText(/The broker cannot be reached, or/).waitFor();
    await broker.start();
    await page.getByText(/The broker cannot be reached, or/).waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    await page.getByRole("img", { name: /^Live/ }).waitFor();
  }, { allowed: AWAY });

  await harness.scenario("eight tabs share one stream, and another tab takes over", async (page, { context }) => {
    const tabs = [page];
    while (tabs.length < 8) {
      const tab = await context.newPage();
      await tab.goto(`${broker.url}/#/queues`);
      tabs.push(tab);
    }
    await page.goto(`${broker.url}/#/queues`);
    for (const tab of tabs) await tab.getByRole("img", { name: /^Live/ }).waitFor();
    const streams = async () => (await Promise.all(tabs.map((tab) => tab.isClosed() ? 0 : tab.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("api/live?")).length)))).filter((count) => count > 0).length;
    assert.ok((await streams()) <= 1);
    await page.close();
    await tabs[1].bringToFront();
    await broker.api("PUT", `/api/queues/%2F/${segment("of eight tabs")}`, { durable: true });
    await Promise.all(tabs.slice(1).map((tab) => tab.getByRole("link", { name: "of eight tabs" }).waitFor({ timeout: 30_000 })));
    await until("another tab is live", () => tabs[1].getByRole("img", { name: /^Live/ }).isVisible());
  });
}
