// Opens flame graphs in a real browser, as files, and uses them.
//
//     node tests/browser/flames.mjs FOLDER [SCREENSHOTS]
//
// FOLDER is what the example `sample_flames` of the crate `profile` has written. Prints `ok NAME` or `not ok NAME: why` for each scenario.

import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [folder, screenshots] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
if (!folder || !executablePath) {
  console.error(folder ? "no Chromium found: set CHROMIUM" : "usage: flames.mjs FOLDER [SCREENSHOTS]");
  process.exit(2);
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let failed = 0;

/** Runs one scenario on a graph, which must not ask for anything nor complain. */
async function scenario(name, graph, check) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 700 } });
  const complaints = [];
  const url = pathToFileURL(path.resolve(folder, `${graph}.svg`)).href;
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => request.url() === url || complaints.push(`asked for ${request.url()}`));
  try {
    await page.goto(url);
    await check(page);
    assert.deepEqual(complaints, [], "the browser complained");
    if (screenshots) {
      mkdirSync(screenshots, { recursive: true });
      await page.screenshot({ path: path.join(screenshots, `flame-${name.replaceAll(" ", "-")}.png`) });
    }
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${name}: ${String(error.message ?? error).replaceAll("\n", " | ").slice(0, 600)}`);
  }
  await page.close();
}

/** Name, width and whether it is shown, of each block whose name begins so. */
function blocks(page, start) {
  return page.evaluate((start) =>
    window.flame.blocks.filter((block) => block.name.startsWith(start)).map((block) => ({
      name: block.name,
      written: block.text.textContent,
      width: Math.round(block.rect.getBoundingClientRect().width),
      isFound: block.element.classList.contains("found"),
    })), start);
}

const text = (page, id) => page.evaluate((id) => document.getElementById(id).textContent, id);
const rect = (page, start) => page.locator("g.block", { has: page.locator("title", { hasText: new RegExp(`^${start}`) }) }).first();

for (const graph of ["cpu", "wall", "diff", "empty"]) {
  await scenario(`${graph} opens in silence`, graph, async (page) => {
    assert.equal(await page.evaluate(() => document.documentElement.nodeName), "svg");
    assert.equal(await page.evaluate(() => window.flame.blocks.length > 0), graph !== "empty");
  });
}

await scenario("a block under the mouse says its figures", "cpu", async (page) => {
  await rect(page, "hash").hover();
  assert.equal(await text(page, "says"), "hash: 200 samples, 18.52%");
});

await scenario("hostile names stay names", "cpu", async (page) => {
  const [block] = await blocks(page, "<routing");
  assert.equal(block.name, `<routing::Exchange<'_> as Route>::route & "more"`);
  assert.equal(block.written, block.name);
});

await scenario("what is clicked is widened and the whole comes back", "cpu", async (page) => {
  const [before] = await blocks(page, "hash");
  await rect(page, "hash").click();
  const [after] = await blocks(page, "hash");
  assert.ok(before.width < 230 && after.width === 1180, `${before.width} then ${after.width}`);
  assert.equal((await blocks(page, "journal"))[0].width, 0, "what is not on it nor beneath it is hidden");
  assert.equal((await blocks(page, "tokio::run"))[0].width, 1180, "what is beneath it is as wide");
  await page.locator("#whole").click();
  assert.deepEqual(await blocks(page, "hash"), [before]);
});

await scenario("a search marks functions and says their share", "cpu", async (page) => {
  page.once("dialog", (dialog) => dialog.accept("function_3"));
  await page.locator("#search").click();
  const found = (await blocks(page, "")).filter((block) => block.isFound).map((block) => block.name);
  assert.equal(found.length, 11);
  assert.ok(found.every((name) => name.includes("function_3")));
  // 3 and 30 to 39 of 1,080 samples.
  assert.equal(await text(page, "found"), "11 found, 32.22%");
  await page.locator("#search").click();
  assert.equal((await blocks(page, "")).filter((block) => block.isFound).length, 0);
});

await scenario("a search counts what stands on another once", "cpu", async (page) => {
  await page.evaluate(() => window.flame.search("tokio::run|hash|["));
  assert.equal(await text(page, "found"), "0 found, 0.00%", "what is no expression is looked for as it is");
  await page.evaluate(() => window.flame.search("tokio::run|hash"));
  assert.equal(await text(page, "found"), "2 found, 90.74%");
});

await scenario("what was waited for is named", "wall", async (page) => {
  const [block] = await blocks(page, "lock vhost.topology");
  assert.equal(block.name, "lock vhost.topology, held by import_definitions");
  assert.ok(block.width > 1100);
});

await browser.close();
process.exit(failed === 0 ? 0 : 1);
