// What all long lists have: pages, for people who want pages.

import assert from "node:assert/strict";

export default async function lists(harness, broker) {
  await broker.api("PUT", "/api/vhosts/paged");
  await broker.api("PUT", "/api/permissions/paged/guest", { configure: ".*", write: ".*", read: ".*" });
  for (let number = 0; number < 45; number += 1) {
    await broker.api("PUT", `/api/queues/paged/page-${String(number).padStart(2, "0")}`, { durable: true });
    await broker.api("PUT", `/api/exchanges/paged/page-${String(number).padStart(2, "0")}`, { type: "fanout", durable: true });
  }

  await harness.scenario("a list scrolls through all rows until a size of pages is chosen, which all lists and later visits have", async (page) => {
    const namesOf = (list) => page.getByRole("table", { name: list }).getByRole("link", { name: /^page-/ }).allTextContents();
    const shows = (list, first, count) => page.waitForFunction(([list, first, count]) => {
      const names = [...document.querySelectorAll(`table[aria-label="${list}"] tbody a`)].map((link) => link.textContent).filter((name) => name.startsWith("page-"));
      return names[0] === first && names.length === count;
    }, [list, first, count]);
    await harness.settled(page);
    const pages = page.getByRole("navigation", { name: "Pages of Queues" });
    assert.equal(await pages.getByLabel("Rows of a page").inputValue(), "0");
    assert.equal(await page.getByRole("table", { name: "Queues" }).getAttribute("aria-rowcount"), "46");
    await pages.getByLabel("Rows of a page").selectOption("20");
    await shows("Queues", "page-00", 20);
    await pages.getByText("Rows 1 to 20 of 45").waitFor();
    assert.equal(await pages.getByRole("button", { name: "Previous page" }).getAttribute("aria-disabled"), "true");
    await pages.getByRole("button", { name: "Next page" }).click();
    await shows("Queues", "page-20", 20);
    assert.match(page.url(), /rows=20/);
    assert.match(page.url(), /page=2/);
    assert.equal(await page.getByRole("table", { name: "Queues" }).getByRole("row", { name: /page-20/ }).getAttribute("aria-rowindex"), "22");
    await pages.getByLabel("Page", { exact: true }).fill("3");
    await pages.getByLabel("Page", { exact: true }).press("Enter");
    await shows("Queues", "page-40", 5);
    assert.equal(await pages.getByRole("button", { name: "Next page" }).getAttribute("aria-disabled"), "true");
    // A link, and another order or filter begins at the first page.
    await page.reload();
    await shows("Queues", "page-40", 5);
    await page.getByLabel("Filter queues").fill("page-[0-3]");
    await shows("Queues", "page-00", 20);
    assert.doesNotMatch(page.url(), /page=\d/);
    // Few rows need no pages.
    await page.getByLabel("Filter queues").fill("page-1");
    await shows("Queues", "page-10", 10);
    assert.equal(await pages.count(), 0);
    // The other lists have the same size, also when the console is opened anew.
    await harness.go(page, "#/exchanges?vhost=paged&name=page-");
    await shows("Exchanges", "page-00", 20);
    assert.match(page.url(), /rows=20/);
    await page.goto(`${broker.url}/#/queues?vhost=paged`);
    await page.reload();
    await shows("Queues", "page-00", 20);
    await pages.getByLabel("Rows of a page").selectOption("all");
    await page.getByRole("table", { name: "Queues" }).and(page.locator("[aria-rowcount='46']")).waitFor();
    await page.waitForFunction(() => !/rows=/.test(location.hash));
    assert.ok((await namesOf("Queues")).length > 20);
    assert.deepEqual(await harness.breaches(page), []);
  }, { hash: "#/queues?vhost=paged" });

  await harness.scenario("a page beyond the end is the last one", async (page) => {
    await page.getByRole("navigation", { name: "Pages of Queues" }).getByText("Rows 41 to 45 of 45").waitFor();
    await page.getByRole("link", { name: "page-44" }).waitFor();
  }, { hash: "#/queues?vhost=paged&rows=20&page=99" });
}
