// Traces and profiles in the page, against a broker under load.

import assert from "node:assert/strict";

export default async function trace(harness, broker) {
  const load = broker.load("-x", "1", "-y", "1", "-r", "30", "-u", "traced");

  await harness.scenario("calls are shown while they happen, and the limit ends it", async (page) => {
    await page.getByLabel("Functions", { exact: true }).fill("amqp::basic.publish");
    await page.getByLabel("Calls at most").fill("5");
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByText(/Ended: .*5 calls/).waitFor();
    const lines = await page.getByRole("list", { name: "Calls" }).getByRole("listitem").allTextContents();
    assert.ok(lines.some((line) => line.includes("amqp::basic.publish") && line.includes("routing_key")), lines.join(" | "));
    assert.match(page.url(), /pattern=amqp/);
  }, { hash: "#/trace?tab=calls" });

  await harness.scenario("a pattern that means nothing is refused in the API's words", async (page) => {
    await page.getByLabel("Functions", { exact: true }).fill("no::such");
    await page.getByRole("button", { name: "Begin" }).click();
    await page.getByRole("alert").getByText(/no trace point has such a name/).waitFor();
  }, { hash: "#/trace?tab=calls", allowed: /status of 400/ });

  await harness.scenario("what becomes of messages of a queue is shown", async (page) => {
    await page.getByRole("textbox", { name: "Queue" }).fill("traced");
    await page.getByLabel("Events at most").fill("20");
    await page.getByRole("button", { name: "Begin" }).click();
    const list = page.getByRole("list", { name: "What happened to messages" });
    await list.getByText("delivered").first().waitFor();
    await list.getByText("acked").first().waitFor();
  }, { hash: "#/trace?tab=messages" });

  await harness.scenario("a profile of requests is a flame graph that is used by keys, and two are compared", async (page) => {
    for (const round of [1, 2]) {
      await page.getByLabel("Functions", { exact: true }).fill("amqp::*");
      await page.getByLabel("Seconds").fill("1");
      await page.getByRole("button", { name: "Begin" }).click();
      await page.getByRole("button", { name: "Keep to compare" }).waitFor();
      const block = page.getByRole("button", { name: /^amqp::basic.publish: / }).first();
      await block.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Show the whole" }).click();
      await page.getByRole("button", { name: "Keep to compare" }).click();
      // Titles have the time of the day, to the second.
      if (round === 1) await page.waitForFunction((at) => new Date().toLocaleTimeString() !== at, await page.evaluate(() => new Date().toLocaleTimeString()));
    }
    await page.getByRole("link", { name: "Flame graphs" }).click();
    await page.getByLabel("Show").selectOption({ index: 1 });
    await page.getByLabel("Compare with").selectOption({ index: 2 });
    await page.getByText(/Red takes more/).waitFor();
    await page.getByRole("button", { name: /^amqp::basic.publish: .* before, .* now/ }).first().waitFor();
    assert.deepEqual(await harness.breaches(page), []);
  }, { hash: "#/trace?tab=wall" });

  await harness.scenario("a trace into a file is begun, read and ended", async (page) => {
    await harness.settled(page);
    const form = page.getByRole("form", { name: "Add a trace" });
    await form.getByLabel("Name").fill("of-the-page");
    await form.getByRole("button", { name: "Add trace" }).click();
    await page.getByRole("button", { name: "End of-the-page" }).waitFor();
    await page.getByRole("link", { name: "of-the-page.log" }).waitFor();
    await page.getByRole("button", { name: "End of-the-page" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End the trace" }).click();
    await page.getByText("The trace of-the-page has ended.").waitFor();
    await page.getByRole("button", { name: "Delete of-the-page.log" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete the file" }).click();
    await page.getByText("There are no files yet.").waitFor();
  }, { hash: "#/trace?tab=files" });

  await harness.scenario("the flight recorder is started, and what it has is offered", async (page) => {
    await page.getByRole("button", { name: "Start" }).click();
    const link = page.getByRole("link", { name: "Save what it has now" });
    await link.waitFor();
    const recording = await page.request.get(await link.evaluate((element) => element.href));
    assert.ok(Array.isArray((await recording.json()).traceEvents));
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Start" }).waitFor();
  }, { hash: "#/trace?tab=recorder" });

  await load.end();
}
