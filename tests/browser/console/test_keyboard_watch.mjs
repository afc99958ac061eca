// Alerts, traces, the log and the node by keys alone.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { segment, until } from "./broker.mjs";
import { named } from "./harness.mjs";

/** More lines than the page of the log shows at once. */
const LINE_COUNT = 280;
const GONE = /status of 404/;
const CALLS = "keys: traces of calls, of messages and into files are begun and ended";
const FLAMES = "keys: traces of time are flame graphs, which are widened and compared";

export default async function keyboardWatch(harness, broker) {
  await harness.scenario("keys: a rule of alerts is added, changed and deleted", async (page, { keys }) => {
    await harness.settled(page);
    const form = page.getByRole("form", { name: "Add a rule" });
    await keys.finds(/^Name/);
    await page.keyboard.type("typed");
    await keys.choose(named(form, "Watches"), "A message waits");
    await keys.enter(named(form, "Queues"), "^none$");
    await keys.enter(named(form, "Fires above"), "60");
    await keys.choose(named(form, "Severity"), "critical");
    await keys.act(form.getByRole("button", { name: "Add rule" }));
    await keys.act(page.getByRole("button", { name: "Change rule typed" }));
    const change = page.getByRole("form", { name: "Change the rule" });
    await keys.finds("Watches");
    await keys.act(page.getByRole("button", { name: "Leave it as it is" }));
    await keys.finds("Change rule typed");
    await keys.press("Enter");
    await keys.enter(named(change, "Fires above"), "90");
    await keys.press("Enter");
    await change.waitFor({ state: "detached" });
    await until("it is changed", async () => (await broker.api("GET", "/api/alerts/rules/typed")).above === 90);
    await keys.finds("Change rule typed");
    await keys.act(page.getByRole("button", { name: "Delete rule typed" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Delete" }));
    await page.getByRole("button", { name: "Delete rule typed" }).waitFor({ state: "detached" });
    await keys.act(page.getByRole("navigation", { name: "Alerts" }).getByRole("link", { name: "History" }));
    await keys.act(page.getByRole("navigation", { name: "Alerts" }).getByRole("link", { name: "Now" }));
    await page.getByText(/Nothing fires|nothing can fire/).waitFor();
  }, { hash: "#/alerts?tab=rules&add=yes", keyboard: true, allowed: GONE });

  await webhooks(harness, broker);

  const load = [CALLS, FLAMES].some((name) => harness.only.test(name)) ? broker.load("-x", "1", "-y", "1", "-r", "30", "-u", "keys-traced", "-e", "keys-traced", "-t", "direct", "-k", "keyed") : undefined;
  await traces(harness, broker);
  await flames(harness, broker);
  await load?.end();

  await harness.scenario("keys: the log is read, searched and made more talkative", async (page, { keys }) => {
    for (let line = 0; line < LINE_COUNT; line += 1) await broker.api("PUT", "/api/warren/log-level", { level: line % 2 ? "info" : "debug" });
    await page.reload();
    await harness.settled(page);
    const level = page.getByLabel("Log from now on");
    await keys.to(level);
    await keys.press("ArrowDown", "ArrowDown");
    assert.equal(await level.inputValue(), "info", "arrows go from level to level");
    await keys.act(page.getByRole("button", { name: "Change the level" }));
    await page.getByText("The broker logs lines of level info or more severe").waitFor();
    await keys.act(page.getByRole("button", { name: "Earlier lines" }));
    await page.getByText(", paused").waitFor();
    await keys.act(page.getByRole("button", { name: "Later lines" }));
    await keys.finds("Later lines");
    await keys.to(page.getByRole("region", { name: "Lines of the log" }));
    await keys.press("Home");
    await page.waitForFunction(() => document.activeElement?.scrollTop === 0);
    await keys.act(page.getByRole("button", { name: "Go on" }));
    await keys.finds("Pause");
    await keys.choose(page.getByLabel("At least"), "warning");
    await keys.choose(page.getByLabel("At least"), "all");
    await keys.enter(page.getByRole("searchbox", { name: "Search" }), "listen|start");
    await keys.toggle(page.getByRole("checkbox", { name: "Regular expression" }));
    await page.locator("mark").first().waitFor();
  }, { hash: "#/log", keyboard: true });

  await harness.scenario("keys: the node's limits and listeners, and the name of the cluster", async (page, { keys }) => {
    const [{ name }] = await broker.api("GET", "/api/nodes?columns=name");
    await harness.settled(page);
    await keys.act(page.locator("summary", { hasText: /^Name$/ }));
    const cluster = page.getByRole("form", { name: "Name of the cluster" });
    await keys.enter(named(cluster, "Name"), "keyed");
    await keys.press("Enter");
    await until("it is renamed", async () => (await broker.api("GET", "/api/cluster-name")).name === "keyed");
    await page.getByText("keyed", { exact: true }).first().waitFor();
    await keys.act(page.getByRole("table", { name: "Nodes" }).getByRole("link"));
    await page.getByRole("heading", { level: 1, name: `Node ${name}` }).waitFor();
    for (const [label, how, value] of [["Limit of memory", "a share", "0.5"], ["Limit of free disk", "so many bytes", "10MiB"]]) {
      const form = page.getByRole("form", { name: label });
      await keys.choose(named(form, "As"), how);
      await keys.enter(named(form, "Limit"), value);
      await keys.act(form.getByRole("button"));
      await page.getByText(new RegExp(`^The l${label.slice(1)} is in force`)).waitFor();
    }
    await keys.act(page.getByRole("button", { name: "Suspend listeners" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Suspend" }));
    await page.getByText("New connections are refused.").waitFor();
    await keys.finds("Suspend listeners");
    await keys.act(page.getByRole("button", { name: "Resume listeners" }));
    await page.getByText("Clients are served.").waitFor();
    await keys.act(page.getByRole("button", { name: "Are clients served?" }));
    await keys.finds("Are clients served?");
    await broker.api("PUT", "/api/cluster-name", { name });
    assert.match(page.url(), new RegExp(segment(name)));
  }, { hash: "#/cluster", keyboard: true, allowed: /status of 503/ });
}

async function webhooks(harness, broker) {
  await harness.scenario("keys: a webhook is added, tested, changed and deleted", async (page, { keys }) => {
    const told = [];
    const server = createServer((request, answer) => (told.push(request.url), request.resume(), answer.end())).listen(0, "127.0.0.1");
    await until("the webhook listens", () => server.address() !== null);
    await harness.settled(page);
    const form = page.getByRole("form", { name: "Add a webhook" });
    await keys.enter(named(form, "Name"), "hook");
    await keys.enter(named(form, "URL"), `http://127.0.0.1:${server.address().port}/first`);
    await keys.enter(named(form, "Secret"), "s3cret");
    await keys.enter(form.getByLabel("Name of argument 1"), "x-team");
    await keys.enter(form.getByLabel("Value of argument 1"), "one");
    await keys.act(form.getByRole("button", { name: "Add webhook" }));
    await keys.act(page.getByRole("button", { name: "Test webhook hook" }));
    await page.getByText(/accepted a test notice/).waitFor();
    await keys.finds("Test webhook hook");
    await keys.act(page.getByRole("button", { name: "Change webhook hook" }));
    const change = page.getByRole("form", { name: "Change the webhook" });
    await keys.finds(/^URL/);
    await keys.enter(named(change, "URL"), `http://127.0.0.1:${server.address().port}/second`);
    await keys.act(change.getByRole("button", { name: "Change webhook" }));
    await change.waitFor({ state: "detached" });
    await keys.finds("Change webhook hook");
    await keys.act(page.getByRole("button", { name: "Test webhook hook" }));
    await until("it is told there", () => told.includes("/second"));
    await keys.act(page.getByRole("button", { name: "Delete webhook hook" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Delete" }));
    await page.getByRole("button", { name: "Delete webhook hook" }).waitFor({ state: "detached" });
    await keys.to(page.getByRole("link", { name: "Webhooks" }));
    server.close();
    assert.equal(told[0], "/first");
  }, { hash: "#/alerts?tab=webhooks", keyboard: true, allowed: GONE });
}

async function traces(harness) {
  await harness.scenario(CALLS, async (page, { keys }) => {
    await harness.settled(page);
    const tabs = page.getByRole("navigation", { name: "Kinds of traces" });
    await keys.enter(page.getByLabel("Functions", { exact: true }), "amqp::basic.publish");
    await keys.enter(page.getByLabel("Only where"), "routing_key=keyed");
    await keys.enter(page.getByLabel("Calls at most"), "5000");
    await keys.toggle(page.getByLabel("Results and durations, too"));
    await keys.act(page.getByRole("button", { name: "Begin" }));
    await page.getByRole("list", { name: "Calls" }).getByText("amqp::basic.publish").first().waitFor();
    await keys.act(page.getByRole("button", { name: "End" }));
    await page.getByText("Ended by you.").waitFor();
    await keys.act(tabs.getByRole("link", { name: "Messages" }));
    await keys.enter(page.getByRole("textbox", { name: "Queue" }), "keys-traced");
    await keys.enter(page.getByLabel("Events at most"), "10");
    await keys.press("Enter");
    await page.getByRole("list", { name: "What happened to messages" }).getByText("delivered").first().waitFor();
    await page.getByText(/^Ended: /).waitFor();
    await keys.act(tabs.getByRole("link", { name: "Trace files" }));
    const form = page.getByRole("form", { name: "Add a trace" });
    await keys.enter(named(form, "Name"), "keyed");
    await keys.choose(named(form, "Format"), "RabbitMQ's JSON");
    await keys.act(form.getByRole("button", { name: "Add trace" }));
    await keys.act(page.getByRole("button", { name: "End keyed" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "End the trace" }));
    await page.getByText("No trace runs.").waitFor();
    await keys.act(page.getByRole("button", { name: "Delete keyed.log" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Delete the file" }));
    await page.getByText("There are no files yet.").waitFor();
    await keys.act(tabs.getByRole("link", { name: "Busiest" }));
    await keys.choose(page.getByRole("combobox", { name: "Of", exact: true }), "Connections");
    await keys.choose(page.getByRole("combobox", { name: "Most", exact: true }), "Messages");
    await page.getByRole("region", { name: "Busiest" }).waitFor();
    await keys.act(tabs.getByRole("link", { name: "Slow requests" }));
    await keys.enter(page.getByRole("searchbox", { name: "Filter slow requests" }), "api");
    await keys.act(tabs.getByRole("link", { name: "Flight recorder" }));
    await keys.act(page.getByRole("button", { name: "Start" }));
    await page.getByRole("link", { name: "Save what it has now" }).waitFor();
    await keys.finds("Stop");
    await keys.press("Enter");
    await page.getByRole("button", { name: "Start" }).waitFor();
  }, { hash: "#/trace?tab=calls", keyboard: true });
}

async function flames(harness, broker) {
  await harness.scenario(FLAMES, async (page, { keys }) => {
    await harness.settled(page);
    const tabs = page.getByRole("navigation", { name: "Kinds of traces" });
    await keys.enter(page.getByLabel("Functions", { exact: true }), "amqp::*");
    await keys.enter(page.getByLabel("Seconds"), "1");
    await keys.act(page.getByRole("button", { name: "Begin" }));
    await keys.act(page.getByRole("button", { name: "Keep to compare" }));
    const search = page.getByRole("searchbox", { name: "Search in the graph" });
    await keys.enter(search, "publish");
    await keys.act(page.getByRole("button", { name: /^amqp::basic.publish: / }).first());
    await page.getByRole("button", { name: "Show the whole" }).waitFor();
    await keys.act(page.getByRole("button", { name: "Show the whole" }));
    await keys.to(search);
    await keys.act(tabs.getByRole("link", { name: "Processors" }));
    await keys.enter(page.getByLabel("Seconds"), "1");
    await keys.press("Enter");
    await page.getByText(/The profile itself cost|No thread was seen/).first().waitFor();
    await keys.act(tabs.getByRole("link", { name: "Flame graphs" }));
    const file = path.join(broker.folder, "before.folded");
    writeFileSync(file, "amqp::basic.publish;journal::append 70\namqp::basic.publish 30\n");
    const chooser = page.waitForEvent("filechooser");
    await keys.act(page.getByLabel("Open files"));
    await (await chooser).setFiles(file);
    await page.getByRole("button", { name: /^journal::append: / }).waitFor();
    await keys.choose(page.getByLabel("Compare with"), "amqp");
    await page.getByText(/Red takes more/).waitFor();
    await keys.to(page.getByRole("button", { name: /^journal::append: .* before, .* now/ }));
  }, { hash: "#/trace?tab=wall", keyboard: true });
}
