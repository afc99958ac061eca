// All pages of the console at once, each in a tab of its own, all of one user: what happens to the broker happens to all of them.

import assert from "node:assert/strict";
import { tabsOf } from "./places.mjs";

/** Tabs that are opened at a time. */
const AT_ONCE = 4;
const TIMEOUT_MS = 60_000;

const everywhere = () => true;

export class Tabs {
  constructor(harness, context, url) {
    Object.assign(this, { harness, context, url, tabs: [] });
    context.setDefaultTimeout(TIMEOUT_MS);
  }

  /** Opens places, and the tabs that are inside these pages. */
  async open(hashes) {
    const waiting = [...hashes];
    const known = new Set(hashes);
    const work = async () => {
      for (let hash = waiting.shift(); hash !== undefined; hash = waiting.shift()) {
        const page = await this.context.newPage();
        await page.goto(`${this.url}/${hash}`);
        await this.harness.settled(page);
        for (const inside of await tabsOf(page, hash)) if (!known.has(inside)) waiting.push(inside), known.add(inside);
        this.tabs.push({ hash, page });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /** What `check` asks in pages becomes true, at all places or some. It runs there, with an argument or that of the place. */
  async become(what, check, argument, of = everywhere) {
    await this.each(what, ({ page, hash }) => page.waitForFunction(check, typeof argument === "function" ? argument(hash) : argument, { polling: 100, timeout: TIMEOUT_MS }), of);
  }

  /** Whether it is so now at all places or some. */
  async are(check, argument, of = everywhere) {
    const answers = await Promise.all(this.tabs.filter(({ hash }) => of(hash)).map(({ page }) => page.evaluate(check, argument)));
    return argument !== undefined && answers.every(Boolean);
  }

  /** Does something in all tabs, or those of some places, and says where it failed. */
  async each(what, act, of = everywhere) {
    const chosen = this.tabs.filter(({ hash }) => of(hash));
    assert.ok(chosen.length > 0, `${what}: at no place`);
    const wrong = (await Promise.all(chosen.map((tab) => act(tab).then(() => [], (error) => [[tab, error]])))).flat();
    if (wrong.length === 0) return;
    const [{ page }, error] = wrong[0];
    const shown = await page.evaluate(() => document.body.innerText.replaceAll(/\s+/g, " ").slice(0, 300)).catch(() => "");
    assert.fail(`not at ${wrong.length} of ${chosen.length} places: ${what}: ${wrong.map(([{ hash }]) => hash).join(" ")} (the first: ${String(error.message).split("\n")[0]}; it shows: ${shown})`);
  }

  /** What a page asks for from time to time, it asks for when it is seen. */
  async look() {
    await this.each("it is looked at", ({ page }) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))));
  }
}
