// Opens reports in a real browser, and looks at what people would see.
//
//     node tests/browser/reports.mjs FOLDER [SCREENSHOTS]
//
// FOLDER is what the example `sample_reports` of the crate `perf` has written. Prints `ok NAME` or `not ok NAME: why` for each
// scenario. With a second folder, pictures of all pages are left there. CHROMIUM names the browser, if it is not found.

import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [folder, screenshots] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
if (!folder || !executablePath) {
  console.error(folder ? "no Chromium found: set CHROMIUM" : "usage: reports.mjs FOLDER [SCREENSHOTS]");
  process.exit(2);
}

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 375, height: 740 };
const PAGES = ["peak", "sweep", "lines", "interrupted", "hostile", "compare", "cut", "sweeps", "tables", "empty"];
const DRAWN = ["peak", "sweep", "lines", "interrupted", "hostile", "compare"];

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let failed = 0;

/** Runs one scenario in a page of its own, which must not ask anybody for anything nor complain of what is not expected. */
async function scenario(name, report, { expected, ...options }, check) {
  const context = await browser.newContext({ viewport: DESKTOP, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const complaints = [];
  const url = pathToFileURL(path.resolve(folder, `${report}.html`)).href;
  page.on("console", (message) => expected?.test(message.text()) || complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    // What the page carries in itself leaves it for nowhere.
    if (request.url() !== url && !/^(data|blob):/.test(request.url())) complaints.push(`asked for ${request.url()}`);
  });
  try {
    await page.goto(url);
    await settled(page);
    await check(page);
    assert.deepEqual(complaints, [], "the browser complained");
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${name}: ${String(error.message ?? error).replaceAll("\n", " | ").slice(0, 600)}`);
  }
  await context.close();
}

/** Charts are drawn in the frame after they have their size. */
async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
}

/** For each chart: its title, and how many different colours its picture has, on the whole and along its axes. */
function charts(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("figure.chart")].map((figure) => {
      const canvas = figure.querySelector("canvas");
      if (canvas === null) return { title: figure.querySelector("h3").textContent, colours: 0, bottom: 0, left: 0 };
      const { width, height } = canvas;
      // A copy: the page's own canvas is not made for being read.
      const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const colours = (x, y, w, h) => {
        const pixels = new Uint32Array(copy.getImageData(x, y, w, h).data.buffer);
        return new Set(pixels).size;
      };
      return {
        title: figure.querySelector("h3").textContent,
        colours: colours(0, 0, width, height),
        bottom: colours(0, height - 45, width, 45),
        left: colours(0, 0, 30, height),
      };
    }),
  );
}

async function assertDrawn(page, least) {
  const drawn = await charts(page);
  assert.ok(drawn.length >= least, `${drawn.length} charts`);
  for (const { title, colours, bottom, left } of drawn) {
    assert.ok(colours > 10, `${title} is blank: ${colours} colours`);
    assert.ok(bottom > 3 && left > 3, `${title} has no axes: ${bottom}, ${left}`);
  }
}

async function assertNoSideways(page) {
  const [content, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= room, `the page is ${content} wide in a window of ${room}`);
}

for (const report of DRAWN) {
  const least = { peak: 12, sweep: 18, lines: 12, interrupted: 8, hostile: 8, compare: 7 }[report];
  await scenario(`${report}_draws_its_charts`, report, {}, (page) => assertDrawn(page, least));
  await scenario(`${report}_draws_in_the_dark`, report, { colorScheme: "dark" }, async (page) => {
    await assertDrawn(page, least);
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = background.match(/\d+/g).map(Number);
    assert.ok(Math.max(...light) < 60, `the page is ${background}`);
  });
}

for (const report of PAGES) {
  await scenario(`${report}_fits_a_phone`, report, { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }, assertNoSideways);
  await scenario(`${report}_fits_a_desk`, report, {}, assertNoSideways);
}

await scenario("key_numbers_and_verdict_come_first", "peak", {}, async (page) => {
  assert.equal(await page.locator(".verdict .word").innerText(), "PASSED");
  const numbers = await page.locator(".numbers").innerText();
  for (const words of ["published", "consumed", "median", "p99", "max", "lost", "duplicate", "out of order", "messages a CPU second", "of this machine's CPU"]) {
    assert.ok(numbers.includes(words), `${words} is missing: ${numbers}`);
  }
  const bottom = await page.locator(".numbers").evaluate((numbers) => numbers.getBoundingClientRect().bottom);
  assert.ok(bottom < 900, `the key numbers end at ${bottom}`);
});

await scenario("interruption_and_bottleneck_are_said", "interrupted", {}, async (page) => {
  const text = await page.locator("main").innerText();
  assert.equal(await page.locator(".verdict .word").innerText(), "FAILED");
  assert.match(text, /Interrupted: the broker closed all connections/);
  assert.match(text, /The generator was the bottleneck: its CPU was 97 % busy/);
  assert.match(text, /Warnings: --heartbeat is ignored/);
});

await scenario("what_was_cut_short_has_not_passed", "cut", {}, async (page) => {
  assert.equal(await page.locator(".verdict .word").innerText(), "CUT SHORT");
  assert.match(await page.locator("main").innerText(), /Interrupted: Ctrl-C/);
});

await scenario("tables_stand_in_for_charts", "tables", {}, async (page) => {
  assert.match(await page.locator("main").innerText(), /No charts: .*make web/);
  assert.equal(await page.locator(".u-wrap").count(), 0);
  const tables = await page.locator("figure table").count();
  assert.ok(tables >= 12, `${tables} tables`);
});

await scenario("empty_results_say_so", "empty", {}, async (page) => assert.match(await page.locator("main").innerText(), /No run: nothing was measured/));

await scenario("hostile_texts_stay_texts", "hostile", {}, async (page) => {
  assert.notEqual(await page.title(), "taken");
  assert.equal(await page.locator("img").count(), 0);
  assert.match(await page.locator("h1").innerText(), /^<\/script><script>/);
});

await scenario("foreign_script_does_not_run", "peak", { expected: /Executing inline (event handler|script) violates/ }, async (page) => {
  await page.evaluate(() => {
    document.body.insertAdjacentHTML("beforeend", "<b onclick=\"document.title='taken'\">x</b>");
    document.body.lastElementChild.click();
    const script = document.createElement("script");
    script.textContent = "document.title = 'taken'";
    document.body.append(script);
  });
  assert.notEqual(await page.title(), "taken");
});

await scenario("pictures_are_png_with_title_and_legend", "peak", {}, async (page) => {
  for (const index of [0, 1, 2]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as PNG" }).nth(index).click()]);
    const bytes = await readFile(await download.path());
    assert.equal(bytes.subarray(1, 4).toString(), "PNG");
    assert.equal(bytes.readUInt32BE(16), 1800, "width");
    assert.ok(bytes.length > 20_000, `${bytes.length} bytes`);
    assert.match(download.suggestedFilename(), /^a-peak-and-what-it-leaves-behind-.*\.png$/);
    if (screenshots) await download.saveAs(path.join(screenshots, `picture-${index}.png`));
  }
});

await scenario("table_behind_a_chart_has_its_values", "peak", {}, async (page) => {
  const figure = page.locator("figure", { has: page.getByRole("heading", { name: "Rates" }) });
  await figure.locator("summary").click();
  // The table is made when it is opened.
  await figure.locator("tbody tr").first().waitFor();
  assert.equal(await figure.locator("tbody tr").count(), 120);
  assert.match(await figure.locator("tbody tr").first().innerText(), /^1 s\s+[\d,]+\/s/);
});

await scenario("line_is_hidden_and_shown_with_the_keyboard", "peak", {}, async (page) => {
  const figure = page.locator("figure", { has: page.getByRole("heading", { name: "Rates" }) });
  const toggle = figure.getByRole("button", { name: /^published/ });
  const blue = () =>
    figure.locator("canvas").evaluate((canvas) => {
      const { width, height } = canvas;
      const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, width, height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) count += data[at] === 0 && data[at + 1] === 114 && data[at + 2] === 178 ? 1 : 0;
      return count;
    });
  const before = await blue();
  assert.ok(before > 50, `${before} blue pixels`);
  await toggle.focus();
  await page.keyboard.press("Enter");
  await settled(page);
  assert.equal(await toggle.getAttribute("aria-pressed"), "false");
  assert.equal(await blue(), 0, "the line is gone");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.equal(await blue(), before);
});

await scenario("axis_can_be_logarithmic", "peak", {}, async (page) => {
  const figure = page.locator("figure", { has: page.getByRole("heading", { name: "Consumer latency" }) });
  const picture = () => figure.locator("canvas").evaluate((canvas) => canvas.toDataURL());
  const before = await picture();
  await figure.getByRole("button", { name: "Linear axis" }).click();
  await settled(page);
  assert.notEqual(await picture(), before);
  await figure.getByRole("button", { name: "Log axis" }).click();
  await settled(page);
  assert.equal(await picture(), before);
});

await scenario("values_at_the_cursor_are_shown", "peak", {}, async (page) => {
  const figure = page.locator("figure", { has: page.getByRole("heading", { name: "Rates" }) });
  await figure.locator(".u-over").hover();
  assert.match(await figure.locator(".legend .value").first().innerText(), /^[\d,]+\/s$/);
});

await scenario("colours_follow_the_system_at_once", "peak", {}, async (page) => {
  const figure = page.locator("figure", { has: page.getByRole("heading", { name: "Rates" }) });
  const picture = () => figure.locator("canvas").evaluate((canvas) => canvas.toDataURL());
  const before = await picture();
  await page.emulateMedia({ colorScheme: "dark" });
  await settled(page);
  assert.notEqual(await picture(), before);
});

await scenario("any_run_of_a_sweep_can_be_chosen", "sweep", {}, async (page) => {
  assert.equal(await page.locator(".runs tbody tr").count(), 18);
  const numbers = page.locator(".numbers");
  const before = await numbers.innerText();
  await page.locator("label", { hasText: /^Run/ }).locator("select").selectOption({ label: "confirm_window=256, publishers=16" });
  assert.notEqual(await numbers.innerText(), before);
  const first = page.locator("figure").first();
  assert.deepEqual(await first.locator(".legend button").allInnerTexts(), ["publishers=1", "publishers=4", "publishers=16"]);
  await page.locator("label", { hasText: "Along the axis" }).locator("select").selectOption({ label: "publishers" });
  assert.equal(await first.locator(".legend button").count(), 6);
});

await scenario("comparison_has_ratios_and_both_curves", "compare", {}, async (page) => {
  assert.match(await page.locator("table[aria-label='Compared numbers']").innerText(), /consumer latency, median\s+436 µs\s+245 µs\s+\(×0.562\)/);
  assert.deepEqual(await page.locator("figure").first().locator(".legend button").allInnerTexts(), ["before", "after"]);
});

await scenario("charts_of_compared_sweeps_are_made_when_opened", "sweeps", {}, async (page) => {
  assert.equal(await page.locator("table[aria-label='Compared numbers']").count(), 18);
  assert.equal(await page.locator("figure").count(), 0);
  await page.locator("summary", { hasText: "Charts" }).first().click();
  await page.locator("figure canvas").first().waitFor();
  await settled(page);
  await assertDrawn(page, 7);
});

await scenario("every_chart_and_table_has_a_name", "peak", {}, async (page) => {
  const nameless = await page.evaluate(() => {
    const named = (node) => Boolean(node.getAttribute("aria-label")?.trim());
    return [...document.querySelectorAll("[role=img], table, section:not(:has(> h2)):not(.card)")].filter((node) => !named(node)).map((node) => node.outerHTML.slice(0, 80));
  });
  assert.deepEqual(nameless, []);
});

if (screenshots) {
  mkdirSync(screenshots, { recursive: true });
  for (const report of PAGES) {
    for (const [name, options] of Object.entries({
      light: { viewport: DESKTOP },
      dark: { viewport: DESKTOP, colorScheme: "dark" },
      phone: { viewport: PHONE, isMobile: true, deviceScaleFactor: 2 },
    })) {
      const page = await browser.newPage(options);
      await page.goto(pathToFileURL(path.resolve(folder, `${report}.html`)).href);
      await settled(page);
      await page.screenshot({ path: path.join(screenshots, `${report}-${name}.png`), fullPage: true });
      await page.close();
    }
  }
}

await browser.close();
process.exit(failed > 0 ? 1 : 0);
