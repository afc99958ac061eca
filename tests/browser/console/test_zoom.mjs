// Every page at a zoom of 200 %: half the width in pixels of CSS, each of them two by two. Nothing of what it has at 100 % is lost, nothing is wider than the window, and Tab leads
// to all controls.

import assert from "node:assert/strict";
import { furnish, occupy, places, tabsOf } from "./places.mjs";

/** What a page has: its controls, in the order of Tab, and the words that say what things are. Rows of tables are left out: more of them are seen in a larger window. */
function contentOf() {
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest("tbody, .u-wrap, .legend, [role=status], .said");
  const nameOf = (one) => (one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent ?? "").trim().replaceAll(/[\d.,]+\s?\w*/g, "#").slice(0, 60);
  const all = (selector) => [...document.querySelectorAll(selector)].filter(isShown);
  const controls = all("a[href], button, input, select, textarea, summary").filter((one) => one.tabIndex >= 0);
  const words = all("h1, h2, h3, th, dt, label, figcaption");
  return { controls: controls.map((one) => `${one.tagName.toLowerCase()} ${nameOf(one)}`).sort(), words: [...new Set(words.map(nameOf))].sort() };
}

/** Goes by Tab through a page that begins anew; gives the stops that were not wholly seen, and how many there were. */
async function stopsOf(page, most) {
  await page.evaluate(() => (document.activeElement?.blur(), document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute("tabindex")));
  const hidden = [];
  const seen = new Set();
  for (let step = 0; step < most; step += 1) {
    await page.keyboard.press("Tab");
    const { id, name, fault } = await page.evaluate(async () => {
      // What has the focus is scrolled to.
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const one = document.activeElement;
      if (!one || one === document.body) return { id: "", name: "", fault: "" };
      globalThis.stops ??= new Map();
      if (!globalThis.stops.has(one)) globalThis.stops.set(one, String(globalThis.stops.size));
      const { left, right, top, bottom } = one.getBoundingClientRect();
      // A table is wider than the window, and scrolls by itself: it has to be begun within it.
      const isWide = one.matches(".table, pre, .lines, .flame, .scrolled");
      // Nor can a name be seen as a whole that is wider than the window.
      const isLong = right - left > innerWidth - 40;
      const isOut = (left < -1 && !isLong) || top < -1 || (!isWide && !isLong && right > innerWidth + 1) || (!isWide && bottom > innerHeight + 1 && bottom - top < innerHeight);
      return { id: globalThis.stops.get(one), name: `${one.tagName.toLowerCase()} ${(one.getAttribute("aria-label") ?? one.textContent ?? "").trim().slice(0, 40)}`, fault: isOut ? `${Math.round(left)}..${Math.round(right)}, ${Math.round(top)}..${Math.round(bottom)}` : "" };
    });
    if (id === "" || seen.has(id)) break;
    seen.add(id);
    if (fault) hidden.push(`${name} at ${fault}`);
  }
  return { hidden, count: seen.size };
}

export default async function zoom(harness, broker) {
  const NAME = "every page at a zoom of 200 % has all that it has at 100 %, within the window";
  if (!harness.only.test(NAME)) return;
  await furnish(broker);
  const { load, there } = await occupy(broker);
  const large = await harness.profile({ width: 1280, height: 860 });
  await harness.logIn(large.context, "guest", "guest");
  const whole = await large.context.newPage();
  await whole.goto(`${broker.url}/`);
  await harness.scenario(NAME, async (page) => {
    const wrong = [];
    for (const hash of places(there, [])) {
      await harness.go(whole, hash);
      await harness.go(page, hash);
      for (const tab of await tabsOf(page, hash)) {
        if (tab !== hash) await Promise.all([harness.go(whole, tab), harness.go(page, tab)]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (wide > 0) wrong.push(`${tab}: ${wide} px wider than the window`);
        // What comes with the next answer comes to both.
        const missing = async () => {
          const [at100, at200] = await Promise.all([whole.evaluate(contentOf), page.evaluate(contentOf)]);
          return ["controls", "words"].flatMap((kind) => at100[kind].filter((one) => !at200[kind].includes(one)));
        };
        let lost = await missing();
        for (let tries = 0; lost.length > 0 && tries < 20; tries += 1) {
          await page.waitForTimeout(300);
          lost = await missing();
        }
        if (lost.length > 0) wrong.push(`${tab}: lost ${lost.slice(0, 5).join(", ")}`);
      }
    }
    assert.deepEqual(wrong, []);
  }, { width: 640, height: 430, deviceScaleFactor: 2 });

  await harness.scenario(`${NAME}: Tab leads to each control, which is seen then`, async (page) => {
    const wrong = [];
    for (const hash of ["#/", "#/queues", "#/queues/shop/orders", "#/queues/shop/orders?tab=messages", "#/exchanges/shop/events?tab=bindings", "#/users/guest", "#/policies", "#/cluster"]) {
      await page.goto(`${broker.url}/${hash}`);
      await page.reload();
      await harness.settled(page);
      const controls = await page.evaluate(() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter((one) => one.tabIndex >= 0 && one.checkVisibility()).length);
      const { hidden, count } = await stopsOf(page, 400);
      if (count < Math.min(controls, 60)) wrong.push(`${hash}: Tab leads to ${count} of ${controls}`);
      if (hidden.length > 0) wrong.push(`${hash}: ${hidden.slice(0, 3).join(" / ")}`);
    }
    assert.deepEqual(wrong, []);
  }, { width: 640, height: 430, deviceScaleFactor: 2 });
  await large.context.close();
  await load.end();
}
