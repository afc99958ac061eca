// Scenarios: each in a browser's profile of its own, which must not complain, nor ask any other host, nor break a rule of accessibility where
// that is looked at.

import assert from "node:assert/strict";
import { readFileSync, existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import playwright from "playwright-core";
import { Keys } from "./keys.mjs";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The rules of WCAG 2.2 AA. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const STEP_TIMEOUT_MS = 15_000;

export class Harness {
  constructor({ broker, screenshots, only }) {
    Object.assign(this, { broker, screenshots, only: only ? new RegExp(only) : /./ });
    this.failed = 0;
    this.passed = 0;
    /** Of all scenarios, also of those that do not run. @type {Set<string>} */
    this.names = new Set();
  }

  async open() {
    const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
    this.browser = await playwright.chromium.launch({ executablePath, args: ["--no-sandbox"] });
  }

  /** The same with a Firefox as it is installed, by WebDriver BiDi. */
  async openFirefox(executablePath) {
    this.browser = await playwright._bidiFirefox.launch({ executablePath });
  }

  async close() {
    await this.browser?.close();
  }

  /** What scenarios need could not be had. */
  miss(error) {
    console.log(`not ok: ${error.stack ?? error}`);
    this.failed += 1;
  }

  /** A profile of the browser, and what the browser complains of in it. */
  async profile({ url = this.broker.url, width = 1280, height = 860, colorScheme = "light", deviceScaleFactor } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, deviceScaleFactor, colorScheme, reducedMotion: "reduce" });
    context.setDefaultTimeout(STEP_TIMEOUT_MS);
    const complaints = [];
    const watch = (page) => {
      page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
      page.on("pageerror", (error) => complaints.push(String(error.stack ?? error)));
      page.on("dialog", (dialog) => (complaints.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
      page.on("request", (request) => request.url().startsWith(`${url}/`) || complaints.push(`asked for ${request.url()}`));
    };
    context.on("page", watch);
    return { context, complaints };
  }

  /** Runs one scenario. `allowed`: complaints that belong to what it does, such as a broker that is away. `url`: of
   *  another broker than the usual one. `keyboard`: only keys may act. `within`: a profile that has been there before
   *  and stays, with its own pages. */
  async scenario(name, check, { user = "guest", password = user, width, height, colorScheme, deviceScaleFactor, allowed = /^$/, hash = "", url = this.broker.url, keyboard = false, within } = {}) {
    this.names.add(name);
    if (!this.only.test(name)) return;
    const { context, complaints } = within ?? (await this.profile({ url, width, height, colorScheme, deviceScaleFactor }));
    complaints.splice(0);
    if (keyboard) await watchPointers(context, complaints);
    const page = within ? context.pages()[0] : await context.newPage();
    const startedAt = performance.now();
    const taken = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    try {
      if (!within) {
        if (user) await this.logIn(context, user, password, url);
        await page.goto(`${url}/${hash}`);
      }
      await check(page, { context, complaints, keys: new Keys(page) });
      assert.deepEqual(complaints.filter((complaint) => !allowed.test(complaint)), [], "the browser complained");
      this.passed += 1;
      console.log(`ok ${name} (${taken()})`);
    } catch (error) {
      this.failed += 1;
      const said = String(error.message ?? error).replaceAll("\n", " | ").slice(0, 1200);
      console.log(`not ok ${name} (${taken()}): ${said}${complaints.length ? ` [the browser: ${complaints.slice(0, 3).join(" / ").slice(0, 500)}]` : ""}`);
      await this.shoot(page, `failed ${name}`);
    }
    if (!within) await context.close();
    // A scenario that failed may have left it asleep or stopped.
    await this.broker.ensure();
  }

  /** A session, without the login page. */
  async logIn(context, name, password, url = this.broker.url) {
    const answer = await context.request.post(`${url}/api/session`, { data: { name, password }, headers: { origin: url } });
    assert.equal(answer.status(), 201, `POST /api/session → ${answer.status()} ${await answer.text()}`);
  }

  async shoot(page, name) {
    if (!this.screenshots) return;
    mkdirSync(this.screenshots, { recursive: true });
    await page.screenshot({ path: path.join(this.screenshots, `console-${name.replaceAll(/[^\w]+/g, "-")}.png`) }).catch(() => undefined);
  }

  /** Breaches of the rules of accessibility, as text. */
  async breaches(page) {
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules, resultTypes: ["violations"] }), RULES);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary?.split("\n")[1]?.trim() ?? ""})`).join("; ")}`);
  }

  /** The page has what it shows: nothing is awaited any more. */
  async settled(page) {
    await page.waitForFunction(() => document.querySelector("main:not(.login) h1") && !document.querySelector(".awaited-text, .awaited, .starting"), undefined, { polling: 50 });
  }

  /** Goes to a place of the console. */
  async go(page, hash) {
    await page.evaluate((hash) => (location.hash = hash), hash);
    await this.settled(page);
  }
}

/** Complains of what a pointer does in any page, and of clicks and values that come without a key. */
async function watchPointers(context, complaints) {
  await context.exposeFunction("tellUnkeyed", (what) => complaints.push(`not by keys: ${what}`));
  await context.addInitScript(() => {
    const tell = ({ type, target }) => void globalThis.tellUnkeyed(`${type} at ${target?.tagName} ${target?.textContent?.slice(0, 40)}`);
    for (const type of ["pointermove", "pointerdown", "mousedown", "touchstart", "wheel"]) addEventListener(type, (event) => event.isTrusted && tell(event), { capture: true, passive: true });
    // Enter and Space click, too, without a pointer.
    addEventListener("click", (event) => (!event.isTrusted || event.detail > 0 || event.pointerType !== "") && tell(event), true);
    let hasKey = false;
    addEventListener("keydown", () => (hasKey = true), true);
    addEventListener("input", (event) => {
      if ((!event.isTrusted || !hasKey) && event.target?.type !== "file") tell(event);
      hasKey = false;
    }, true);
  });
}

/** The names of what has the focus, key by key of Tab, until it is there. Nothing is clicked. */
export async function tabTo(page, name, most = 120) {
  for (let step = 0; step < most; step += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const label = element?.labels?.[0]?.textContent;
      return (element?.getAttribute("aria-label") ?? label ?? element?.textContent ?? "").trim();
    });
    if (typeof name === "string" ? focused === name : name.test(focused)) return;
  }
  assert.fail(`Tab does not lead to ${name} within ${most} steps`);
}

/** The field with this label, whether it is required or not: that it is, is no part of its name. */
export const named = (scope, label) => scope.getByLabel(label, { exact: true });
