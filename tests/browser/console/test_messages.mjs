// Messages looked at, taken, published and deleted; favourites and several queues at once.

import assert from "node:assert/strict";

const publish = (broker, queue, payload, properties = {}) =>
  broker.api("POST", "/api/exchanges/%2F/amq.default/publish", { routing_key: queue, payload, payload_encoding: "string", properties: { delivery_mode: 2, ...properties } });

const ready = async (broker, queue) => (await broker.api("GET", `/api/queues/%2F/${queue}?columns=messages_ready`)).messages_ready;

/** A queue with so many messages. */
async function fill(broker, queue, count) {
  await broker.api("PUT", `/api/queues/%2F/${queue}`, { durable: true });
  for (let number = 0; number < count; number += 1) await publish(broker, queue, `message ${number}`);
}

export default async function messages(harness, broker) {
  await harness.scenario("a message is shown whole, in the form that is chosen, and the focus comes back", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/shown", { durable: true });
    await publish(broker, "shown", '{"n":12345678901234567890,"list":[]}', { message_id: "m-1", timestamp: 1764201600, headers: { customer: 7 } });
    await harness.go(page, "#/queues/%2F/shown?tab=messages");
    await page.getByRole("button", { name: "Show message 0-1" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Message 0-1" });
    await dialog.getByRole("region", { name: "Body, JSON" }).getByText('"n": 12345678901234567890').waitFor();
    await dialog.getByRole("button", { name: "Hex" }).click();
    await dialog.getByRole("region", { name: "Body, Hex" }).getByText("00000000  7b 22 6e 22").waitFor();
    for (const text of ["m-1", "customer"]) await dialog.getByText(text, { exact: true }).waitFor();
    assert.deepEqual(await harness.breaches(page), []);
    assert.match(page.url(), /message=0-1/);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Show message 0-1");
  });

  await harness.scenario("those that are chosen are deleted, and no others", async (page) => {
    await fill(broker, "chosen", 120);
    await harness.go(page, "#/queues/%2F/chosen?tab=messages");
    await page.getByText("100 shown, more follow").waitFor();
    for (const id of ["0-2", "0-4"]) await page.getByRole("checkbox", { name: `Choose ${id}`, exact: true }).check();
    await page.getByRole("button", { name: "Delete the 2 chosen…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete messages" }).click();
    await page.getByText(/Deleted: 2 of 2/).waitFor();
    assert.equal(await ready(broker, "chosen"), 118);
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText("18 shown, up to the end").waitFor();
    await page.goBack();
    await page.getByText("100 shown, more follow").waitFor();
  });

  await harness.scenario("to delete many takes the name of the queue, typed", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/much", { durable: true });
    const load = broker.load("-x", "1", "-y", "0", "-u", "much", "-e", "", "-k", "much", "-p", "-C", "1500");
    for (let tries = 0; tries < 200 && (await ready(broker, "much")) < 1500; tries += 1) await page.waitForTimeout(50);
    await load.end();
    await harness.go(page, "#/queues/%2F/much?tab=messages");
    await page.getByRole("button", { name: "Delete all…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete messages?" });
    await dialog.getByText("1,500 messages").waitFor();
    assert.equal(await dialog.getByRole("button", { name: "Delete messages" }).isDisabled(), true);
    await dialog.getByLabel("Type much to go on").fill("much");
    await dialog.getByRole("button", { name: "Delete messages" }).click();
    await page.getByText(/Deleted: 1,500 of 1,500/).waitFor();
    assert.equal(await ready(broker, "much"), 0);
  });

  await harness.scenario("a search that makes no sense shows nothing that could be deleted", async (page) => {
    await harness.go(page, "#/queues/%2F/chosen?tab=messages&older_than=soon");
    await page.getByText("soon is not a duration. Examples: 90s, 10m, 2h, 1d.").waitFor();
    assert.equal(await page.getByRole("group", { name: "What to do with messages" }).count(), 0);
  });

  await harness.scenario("messages are published into the queue, and got as its mode says", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/got", { durable: true });
    await harness.go(page, "#/queues/%2F/got?tab=messages");
    await page.getByText("Publish a message").click();
    const form = page.getByRole("form", { name: "Publish a message" });
    await form.getByLabel("Body", { exact: true }).fill("by hand");
    await form.getByRole("button", { name: "Publish message" }).click();
    await page.getByRole("button", { name: "Show message 0-1" }).waitFor();
    await page.getByText("Get messages").first().click();
    const get = page.getByRole("form", { name: "Get messages" });
    for (const [mode, left] of [["ack_requeue_true", 1], ["ack_requeue_false", 0]]) {
      await get.getByLabel("Ack mode").selectOption(mode);
      await get.getByRole("button", { name: "Get messages" }).click();
      await page.getByRole("region", { name: "Body of message 1, Text" }).getByText("by hand").waitFor();
      for (let tries = 0; tries < 100 && (await ready(broker, "got")) !== left; tries += 1) await page.waitForTimeout(50);
      assert.equal(await ready(broker, "got"), left, mode);
    }
  });

  await harness.scenario("favourites are of exactly that virtual host and name", async (page) => {
    for (const vhost of ["fav1", "fav2"]) {
      await broker.api("PUT", `/api/vhosts/${vhost}`);
      for (const name of ["fav/it", "fav"]) await broker.api("PUT", `/api/queues/${vhost}/${encodeURIComponent(name)}`, { durable: true });
    }
    await harness.go(page, "#/queues?name=fav");
    await page.getByRole("button", { name: "Favourite fav/it in fav2" }).click();
    await page.getByRole("checkbox", { name: "Favourites" }).check();
    await page.getByRole("button", { name: "Favourite fav in fav1" }).waitFor({ state: "detached" });
    await page.reload();
    await harness.settled(page);
    assert.deepEqual(await page.getByRole("button", { name: /^Favourite / }).evaluateAll((all) => all.map((one) => one.getAttribute("aria-label"))), ["Favourite fav/it in fav2"]);
  });

  await harness.scenario("several queues are deleted at once, after the word", async (page) => {
    for (const name of ["bulk-1", "bulk-2", "bulk-3"]) await broker.api("PUT", `/api/queues/%2F/${name}`, { durable: true });
    await harness.go(page, "#/queues?name=%5Ebulk-");
    for (const name of ["bulk-1", "bulk-2"]) await page.getByRole("checkbox", { name: `Choose ${name} in /` }).check();
    await page.getByRole("button", { name: "Delete chosen…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 2 queues?" });
    await dialog.getByText("bulk-2 in /").waitFor();
    await dialog.getByLabel("Type delete to go on").fill("delete");
    await dialog.getByRole("button", { name: "Delete queues" }).click();
    await page.getByText("Deleted: 2 queues.").waitFor();
    // Another vhost may have one of that name.
    const link = (name) => page.locator(`a[href="#/queues/%2F/${name}"]`);
    await link("bulk-1").waitFor({ state: "detached" });
    assert.equal(await link("bulk-3").count(), 1);
  });

  await harness.scenario("numbers of rows come by the stream, while the list is not asked for", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/lively", { durable: true });
    // Lists that are asked for again get no answer: what changes has come by the stream.
    let isSilent = false;
    await page.route(/api\/queues\?/, (route) => (isSilent ? undefined : route.continue()));
    await harness.go(page, "#/queues?name=%5Elively%24");
    await page.getByRole("row", { name: /lively/ }).getByTitle("0 messages").first().waitFor();
    isSilent = true;
    await publish(broker, "lively", "one");
    await page.getByRole("row", { name: /lively/ }).getByTitle("1 messages").first().waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
}
