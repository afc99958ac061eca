// Every page, in both appearances and on a phone: in silence, without a breach of accessibility, and no wider than the screen.

import assert from "node:assert/strict";
import { faultsOf, furnish, HOSTILE, occupy, places } from "./places.mjs";

export default async function pages(harness, broker) {
  await furnish(broker);
  const { load, there } = await occupy(broker);
  // All names once, and the longest one everywhere.
  const looks = [["light", 1280, HOSTILE], ["dark", 1280, HOSTILE.slice(-1)], ["light", 375, HOSTILE.slice(-1)]];
  for (const [colorScheme, width, names] of looks) {
    await harness.scenario(`every page in ${colorScheme} at ${width} px`, async (page, { complaints }) => {
      const look = async (tab) => {
        const breaches = await harness.breaches(page);
        await harness.shoot(page, `${colorScheme} ${width} ${decodeURIComponent(tab).slice(2, 60) || "overview"}`);
        return breaches;
      };
      assert.deepEqual(await faultsOf(harness, page, complaints, places(there, names), look), []);
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
