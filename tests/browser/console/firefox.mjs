// Every page in Firefox, with a broker of its own: a login by the form, then each page and each tab inside pages, in silence, no wider than the window.
//
//     node firefox.mjs BINARY FIREFOX [SCREENSHOTS or -]

import assert from "node:assert/strict";
import { perform } from "./entry.mjs";
import { faultsOf, furnish, HOSTILE, occupy, places } from "./places.mjs";

const [binary, firefox, screenshots] = process.argv.slice(2);
if (!binary || !firefox) {
  console.error("usage: firefox.mjs BINARY FIREFOX [SCREENSHOTS or -]");
  process.exit(2);
}
await perform({ binary, screenshots }, async (harness, broker) => {
  await harness.openFirefox(firefox);
  console.log(`Firefox ${harness.browser.version()}`);
  await furnish(broker);
  const { load, there } = await occupy(broker);

  await harness.scenario("firefox: a login by the form leads to the place of the address, and out again", async (page) => {
    await page.getByLabel("User").fill("guest");
    await page.getByLabel("Password").fill("guest");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    await page.getByRole("img", { name: /^Live/ }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Password").waitFor();
  }, { user: null, hash: "#/queues", allowed: /401/ });

  await harness.scenario("firefox: every page and every tab is shown", async (page, { complaints }) => {
    const look = (tab) => harness.shoot(page, `firefox ${decodeURIComponent(tab).slice(2, 60) || "overview"}`);
    assert.deepEqual(await faultsOf(harness, page, complaints, places(there, HOSTILE.slice(-1)), look), []);
  });

  await harness.scenario("firefox: charts are drawn, and a dialogue has the focus and gives it back", async (page) => {
    await harness.go(page, "#/queues/%2F/loaded");
    await page.getByRole("img", { name: /^Messages in the queue/ }).locator("canvas").waitFor();
    const purge = page.getByRole("button", { name: "Purge" });
    await purge.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Purge the queue?" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.ok(await purge.evaluate((button) => document.activeElement === button));
  });

  await harness.scenario("firefox: the palette finds a queue, and its messages are shown", async (page) => {
    await harness.settled(page);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("orders");
    await page.getByRole("option", { name: /orders/ }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /orders/ }).waitFor();
    await page.getByRole("link", { name: "Messages" }).click();
    await page.getByRole("button", { name: /^Show message/ }).first().click();
    await page.getByRole("dialog").getByRole("region", { name: /^Body/ }).waitFor();
  });
  await load.end();
});
