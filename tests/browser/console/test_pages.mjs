// Every page, in both appearances and on a phone: in silence, without a breach of accessibility, and no wider than the screen.

import assert from "node:assert/strict";
import { furnish, HOSTILE, occupy, places, tabsOf } from "./places.mjs";

export default async function pages(harness, broker) {
  await furnish(broker);
  const { load, there } = await occupy(broker);
  // All names once, and the longest one everywhere.
  const looks = [["light", 1280, HOSTILE], ["dark", 1280, HOSTILE.slice(-1)], ["light", 375, HOSTILE.slice(-1)]];
  for (const [colorScheme, width, names] of looks) {
    await harness.scenario(`every page in ${colorScheme} at ${width} px`, async (page, { complaints }) => {
      const breaches = [];
      for (const hash of places(there, names)) {
        await harness.go(page, hash);
        for (const tab of await tabsOf(page, hash)) {
          if (tab !== hash) await harness.go(page, tab);
          const title = await page.locator("h1").first().textContent();
          if (/no such page|could not be fetched|failed/i.test(title)) breaches.push(`${tab}: ${title}`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          if (wide > 0) breaches.push(`${tab}: ${wide} px wider than the screen`);
          for (const breach of await harness.breaches(page)) breaches.push(`${tab}: ${breach}`);
          await harness.shoot(page, `${colorScheme} ${width} ${decodeURIComponent(tab).slice(2, 60) || "overview"}`);
        }
        if (complaints.length > 0) breaches.push(`${hash}: ${complaints.splice(0).join(" / ").slice(0, 300)}`);
      }
      assert.deepEqual(breaches, []);
    }, { colorScheme, width });
  }

  await harness.scenario("every page says that the broker is away, and goes on by itself", async (page, { context }) => {
    const silent = [];
    for (const hash of places(there, HOSTILE.slice(-1))) {
      await harness.go(page, hash);
      const away = page.getByText(/The broker cannot be reached, or no node leads/);
      await context.setOffline(true);
      // What a page asks for from time to time, it asks for when it is seen.
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await away.waitFor().catch(() => silent.push(hash));
      const title = await page.locator("h1").first().textContent();
      if (/failed/i.test(title ?? "")) silent.push(`${hash}: ${title}`);
      await context.setOffline(false);
      await away.waitFor({ state: "detached" });
      await harness.settled(page);
    }
    assert.deepEqual(silent, []);
  }, { allowed: /Failed to load resource|net::ERR_/ });
  await load.end();
}
