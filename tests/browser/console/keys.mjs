// A person without a pointer: Tab, Shift+Tab and what keys do where the focus is. Each stop has to be seen, and no action may lose the focus.

import assert from "node:assert/strict";
import { until } from "./broker.mjs";

/** Rounds in which Tab has to lead to a control: after each it is looked where the focus is. */
const ROUND_COUNT_MAX = 12;

export class Keys {
  constructor(page) {
    this.page = page;
    this.last = "";
  }

  async press(...keys) {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** Tab or Shift+Tab until the control has the focus. */
  async to(control) {
    let told = "";
    for (let round = 0; round < ROUND_COUNT_MAX; round += 1) {
      const look = async () => (await control.elementHandle()).evaluate(wayTo);
      // What lies beneath a dialogue has its turn when that is closed.
      const { count, isBack, here, isLost, fault } = await until(`${control} is beneath no dialogue`, look);
      assert.ok(!isLost || this.last === "", `the focus is lost after ${this.last}`);
      this.last ||= "the page was opened";
      if (count === 0) return assert.equal(fault, "", `${here}: ${fault}`);
      told = here;
      // As if the key was held: no press waits for the one before.
      if (isBack) await this.page.keyboard.down("Shift");
      await Promise.all(Array.from({ length: count }, () => this.page.keyboard.press("Tab")));
      if (isBack) await this.page.keyboard.up("Shift");
    }
    assert.fail(`Tab does not lead to ${control}: it stays at ${told}`);
  }

  /** Does what a key does at the control. */
  async act(control, key = "Enter") {
    await this.to(control);
    this.last = `${key} at ${control}`;
    await this.page.keyboard.press(key);
  }

  /** Turns a checkbox, and does not only press a key. */
  async toggle(control) {
    const was = await control.isChecked();
    await this.act(control, "Space");
    assert.notEqual(await control.isChecked(), was, `${control} is turned`);
  }

  /** Enters a text in place of what is there. */
  async enter(control, text) {
    await this.to(control);
    this.last = `a text in ${control}`;
    await this.press("Control+a", "Delete");
    await this.page.keyboard.type(text);
  }

  /** Chooses what begins with the text, by arrows: what is between has its turn. */
  async choose(control, text) {
    await this.to(control);
    this.last = `the choice of ${text} in ${control}`;
    const steps = await control.evaluate((select, text) => [...select.options].findIndex(({ label }) => label.startsWith(text)) - select.selectedIndex, text);
    for (let step = 0; step < Math.abs(steps); step += 1) await this.press(steps > 0 ? "ArrowDown" : "ArrowUp");
    const chosen = await control.evaluate((select) => select.selectedOptions[0]?.label ?? "");
    assert.ok(chosen.startsWith(text), `${chosen} is chosen, and not ${text}`);
  }

  /** The name of what has the focus. */
  focused() {
    return this.page.evaluate(() => {
      const element = document.activeElement;
      return element === document.body || element?.id === "main" ? (element.id ?? "") : (element?.getAttribute("aria-label") ?? element?.labels?.[0]?.textContent ?? element?.textContent ?? "").trim();
    });
  }

  /** Waits until what has the focus has such a name. */
  async finds(name) {
    let said = "";
    for (let tries = 0; tries < 100; tries += 1) {
      said = await this.focused();
      if (typeof name === "string" ? said === name : name.test(said)) return;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    assert.fail(`${said || "nothing"} has the focus, and not ${name}`);
  }
}

/** In the page: how many stops of Tab lie between the focus and the element; 0: it is there, and what is wrong with how it looks; null: it is
 *  beneath a dialogue. */
function wayTo(element) {
  const root = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
  if (!root.contains(element)) return null;
  const here = document.activeElement ?? document.body;
  const isLost = here === document.body;
  const nameOf = (one) => `${one.tagName.toLowerCase()} ${(one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent ?? "").trim().slice(0, 60)}`;
  if (here === element) return { count: 0, here: nameOf(here), isLost, fault: faultOf(here) };
  const follows = (a, b) => Boolean(a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING);
  const isBack = !isLost && !follows(here, element);
  const [from, to] = isBack ? [element, here] : [here, element];
  const stops = [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility());
  return { count: 1 + stops.filter((one) => one !== to && one !== from && follows(from, one) && follows(one, to)).length, isBack, here: nameOf(here), isLost };

  /** A ring has to be seen, in the window, and beneath nothing else. */
  function faultOf(one) {
    const drawn = one.querySelector(":scope > rect");
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    const hasRing = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) || (drawn && parseFloat(getComputedStyle(drawn).strokeWidth) >= 2);
    if (!one.matches(":focus-visible") || !hasRing) return "no ring of the focus is seen";
    const { left, right, top, bottom } = one.getBoundingClientRect();
    const [x, y] = [(Math.max(left, 0) + Math.min(right, innerWidth)) / 2, (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2];
    const hit = document.elementFromPoint(x, y);
    if (bottom < 0 || right < 0 || top > innerHeight || left > innerWidth || !hit) return "it is out of the window";
    const isOver = one.contains(hit) || hit.contains(one) || hit.closest(".said") !== null;
    return isOver ? "" : `${hit.tagName} ${hit.className} lies over it`;
  }
}
