// How the console's list of queues does with very many queues, in a real browser: bench/console starts it.
//
//     node bench/console.mjs URL [USER PASSWORD]
//
// Prints one figure a line, with its bound, and `missed` where it is beyond it. Times are those of the page's own clock. CHROMIUM names the browser,
// if it is not found. playwright-core is taken from tests/browser, or from a folder that NODE_PATH names.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(new URL("../tests/browser/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [url = "http://127.0.0.1:15672", name = "guest", password = "guest"] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

const USABLE_MS = 500;
const FRAME_MS = 50;
const NODES = 2000;
const HEAP = 60;
const TABS = 8;
const ROUND_TRIP_MS = 100;
const COLD_MS = 1500;
/** The list is asked for again each five seconds: so often in ten minutes. */
const REFRESHES = 120;
/** The whole list goes by in so long. */
const SCROLL_MS = 20_000;

let missed = 0;
/** @param {string} what @param {number} value @param {string} unit @param {number} [bound] */
function tell(what, value, unit, bound) {
  const isMissed = bound !== undefined && value > bound;
  if (isMissed) missed += 1;
  console.log(`${what.padEnd(68)} ${value.toFixed(value < 10 ? 1 : 0).padStart(8)} ${unit.padEnd(6)}${bound === undefined ? "" : ` at most ${bound}${isMissed ? "   missed" : ""}`}`);
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
await context.addInitScript(() => {
  globalThis.frames_ = [];
  new PerformanceObserver((list) => globalThis.frames_.push(...list.getEntries().map(({ startTime, duration }) => ({ startTime, duration })))).observe({ type: "long-animation-frame" });
  /** Waits until the table has rows of which all that are seen are there, and `isIt` holds of the first. */
  globalThis.ready = (isIt = () => true) => new Promise((resolve) => {
    const look = () => {
      const rows = [...document.querySelectorAll(".table tbody tr:not(.gap)")];
      const first = rows[0]?.textContent ?? "";
      if (rows.length > 5 && !document.querySelector(".table .awaited") && isIt(first)) return requestAnimationFrame(() => resolve(performance.now()));
      requestAnimationFrame(look);
    };
    look();
  });
});
const newPage = async () => {
  const page = await context.newPage();
  page.on("pageerror", (error) => console.log(`the page failed: ${error}`));
  return page;
};
const longest = (page, from = 0) => page.evaluate((from) => Math.max(0, ...globalThis.frames_.filter(({ startTime }) => startTime >= from).map(({ duration }) => duration)), from);
/**
 * Processor time of the longest task of the page's own thread while something runs: a frame is one task, and other programs of the machine do not
 * count.
 */
const longestTask = async (page, run) => {
  await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline", "__metadata"] });
  const result = await run();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const page_ = traceEvents.filter(({ name }) => name === "FunctionCall").at(-1);
  const tasks = traceEvents.filter((event) => /RunTask$/.test(event.name) && event.pid === page_?.pid && event.tid === page_?.tid && event.tdur !== undefined);
  return { result, longest: Math.max(0, ...tasks.map(({ tdur }) => tdur)) / 1000, all: tasks.reduce((sum, { tdur }) => sum + tdur, 0) / 1000, count: tasks.length };
};
const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

// What the machine itself allows: an empty page.
const empty = await context.newPage();
const idle = await empty.evaluate(async (ms) => {
  const startedAt = performance.now();
  let [before, worst] = [startedAt, 0];
  await new Promise((resolve) => {
    const step = (now) => {
      [worst, before] = [Math.max(worst, now - before), now];
      if (now - startedAt < ms) requestAnimationFrame(step);
      else resolve();
    };
    requestAnimationFrame(step);
  });
  return worst;
}, 5000);
tell("longest time between two frames of an empty page", idle, "ms");
await empty.close();

const page = await newPage();
await page.goto(`${url}/#/`);
await page.locator("h1").waitFor();
const login = page.getByLabel("Password");
await Promise.race([login.waitFor(), page.getByRole("heading", { name: "Overview" }).waitFor()]);
if (await login.isVisible()) {
  await page.getByLabel("User").fill(name);
  await login.fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}
await page.getByRole("heading", { name: "Overview" }).waitFor();
await page.waitForTimeout(2000);

// From another page, and from nothing.
const { result: usable, all: usableTime } = await longestTask(page, () => page.evaluate(async () => {
  const startedAt = performance.now();
  location.hash = "#/queues";
  return (await globalThis.ready()) - startedAt;
}));
tell("usable after a click on Queues", usable, "ms", USABLE_MS);
tell("… of which is processor time of the page", usableTime, "ms", USABLE_MS);
const again = await newPage();
await again.goto(`${url}/#/queues`);
tell("usable after the address was entered", await again.evaluate(() => globalThis.ready()), "ms", USABLE_MS);
await again.close();

// The whole list goes by, frame after frame.
await page.waitForTimeout(1500);
const { result: scrolled, longest: scrollTask, count: taskCount } = await longestTask(page, () => page.evaluate(async (ms) => {
  const box = document.querySelector(".table");
  const height = box.scrollHeight - box.clientHeight;
  const startedAt = performance.now();
  let [before, worst, count, nodes] = [startedAt, 0, 0, 0];
  await new Promise((resolve) => {
    const step = (now) => {
      if (count > 0) worst = Math.max(worst, now - before);
      [before, count] = [now, count + 1];
      box.scrollTop = Math.min(height, (height * (now - startedAt)) / ms);
      if (count % 20 === 0) nodes = Math.max(nodes, document.querySelectorAll("*").length);
      if (now - startedAt < ms) requestAnimationFrame(step);
      else resolve();
    };
    requestAnimationFrame(step);
  });
  const settledAt = performance.now();
  const readyAt = await globalThis.ready();
  return { startedAt, worst, count, nodes, settled: readyAt - settledAt };
}, SCROLL_MS));
if (taskCount === 0) throw new Error("the browser's trace has no tasks of the page");
tell("longest frame while the whole list is scrolled: its processor time", scrollTask, "ms", FRAME_MS);
tell("… as the clock has it, with what other programs take", await longest(page, scrolled.startedAt), "ms");
tell("longest time between two frames meanwhile", scrolled.worst, "ms");
tell("frames a second meanwhile", (scrolled.count * 1000) / SCROLL_MS, "");
tell("the rows are there after the end of scrolling", scrolled.settled, "ms", USABLE_MS);
tell("nodes of the page, the most", Math.max(scrolled.nodes, await nodes(page)), "nodes", NODES);

// Orders and filters.
await page.evaluate(() => (document.querySelector(".table").scrollTop = 0));
await page.evaluate(() => globalThis.ready());
const act = async (what, run, isIt) => {
  const startedAt = await page.evaluate(() => performance.now());
  await run();
  const at = await page.evaluate((isIt) => globalThis.ready(new Function("text", `return ${isIt}`)), isIt);
  tell(what, at - startedAt, "ms", USABLE_MS);
};
const heading = (title) => page.locator(".table th button", { hasText: title });
const field = page.getByLabel("Filter queues");
const firstName = await page.locator(".table tbody tr:not(.gap) a").first().innerText();
await act("sorted by name, the other way round", () => heading("Name").click(), `!text.includes(${JSON.stringify(firstName)})`);
await act("sorted by name again", () => heading("Name").click(), `text.includes(${JSON.stringify(firstName)})`);
await act("sorted by ready messages", () => heading("Ready").click(), "true");
await act("sorted by rates", () => heading("Incoming").click(), "true");
await heading("Name").click();
await page.evaluate(() => globalThis.ready());
await act("filtered by a regular expression", () => field.fill("7[0-4]2$"), "/7[0-4]2/.test(text)");
await act("filtered by one that finds it late", () => field.fill(".*.*9$"), "/9/.test(text)");
await field.fill("");
await page.evaluate(() => globalThis.ready());

// Ten minutes, hurried.
const devtools = await context.newCDPSession(page);
const heap = async (session) => {
  await session.send("HeapProfiler.collectGarbage");
  return (await session.send("Runtime.getHeapUsage")).usedSize / 1024 / 1024;
};
const before = await heap(devtools);
const { longest: refreshTask } = await longestTask(page, async () => {
  for (let refresh = 0; refresh < REFRESHES; refresh += 1) {
    const answer = page.waitForResponse((response) => /api\/queues\?/.test(response.url()), { timeout: 60_000 });
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await answer;
    if (refresh % 10 === 0) await page.evaluate((to) => (document.querySelector(".table").scrollTop = to), (refresh % 7) * 300_000);
    await page.waitForTimeout(30);
  }
});
tell("memory of scripts before", before, "MiB");
tell(`memory of scripts after ${REFRESHES} refreshes`, await heap(devtools), "MiB", HEAP);
tell("longest frame meanwhile: its processor time", refreshTask, "ms", FRAME_MS);
tell("nodes of the page afterwards", await nodes(page), "nodes", NODES);

// Eight tabs at once.
const tabs = [page];
for (let tab = 1; tab < TABS; tab += 1) tabs.push(await newPage());
let streams = 0;
for (const tab of tabs) tab.on("request", (request) => /api\/live/.test(request.url()) && (streams += 1));
const times = await Promise.all(tabs.slice(1).map(async (tab) => {
  await tab.goto(`${url}/#/queues`);
  return tab.evaluate(() => globalThis.ready());
}));
tell(`slowest of ${TABS - 1} more tabs that are opened together`, Math.max(...times), "ms");
await page.waitForTimeout(12_000);
tell("streams that tabs have opened meanwhile", streams, "");
tell("longest frame of all tabs at rest, as the clock has it", Math.max(...(await Promise.all(tabs.map(async (tab) => longest(tab, (await tab.evaluate(() => performance.now())) - 6000))))), "ms");
const heaps = await Promise.all(tabs.map(async (tab) => heap(await context.newCDPSession(tab))));
tell("memory of scripts, of the largest tab", Math.max(...heaps), "MiB", HEAP);
await tabs[3].bringToFront();
const answered = await tabs[3].evaluate(async () => {
  const startedAt = performance.now();
  location.hash = "#/";
  await new Promise((resolve) => requestAnimationFrame(resolve));
  location.hash = "#/queues";
  return (await globalThis.ready()) - startedAt;
});
tell("usable after a click on Queues, with all tabs open", answered, "ms", USABLE_MS);
// A first visit from afar: nothing is cached, and each answer takes so much longer; the connection itself takes it once more.
await Promise.all(tabs.map((tab) => tab.close()));
const far = await browser.newContext({ viewport: { width: 1280, height: 900 }, storageState: await context.storageState() });
for (const hash of ["#/", "#/queues"]) {
  const visitor = await far.newPage();
  const network = await far.newCDPSession(visitor);
  await network.send("Network.enable");
  await network.send("Network.setCacheDisabled", { cacheDisabled: true });
  await network.send("Network.emulateNetworkConditions", { offline: false, latency: ROUND_TRIP_MS, downloadThroughput: -1, uploadThroughput: -1 });
  const startedAt = performance.now();
  await visitor.goto(`${url}/${hash}`);
  await visitor.locator(hash === "#/" ? ".tile" : ".table tbody tr:not(.gap) a").first().waitFor();
  tell(`first visit to ${hash} with ${ROUND_TRIP_MS} ms of round trip`, performance.now() - startedAt + ROUND_TRIP_MS, "ms", COLD_MS);
  await visitor.close();
}
await browser.close();
process.exitCode = missed > 0 ? 1 : 0;
