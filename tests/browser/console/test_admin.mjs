// Users, policies, definitions, permissions, alerts, the audit log and the log.

import assert from "node:assert/strict";
import { until } from "./broker.mjs";

export default async function admin(harness, broker) {
  await harness.scenario("a user is added, let into a virtual host, and may log in", async (page) => {
    const add = page.getByRole("form", { name: "Add a user" });
    await add.getByLabel("Name", { exact: false }).first().fill("rita");
    await add.getByLabel("Password", { exact: false }).first().fill("rita");
    await add.getByLabel(/^Password again/).fill("rita");
    await add.getByRole("checkbox", { name: /^management/ }).check();
    await add.getByRole("button", { name: "Add user" }).click();
    await page.getByRole("link", { name: "rita" }).click();
    await page.getByRole("form", { name: "Set permissions" }).getByRole("button", { name: "Set permissions" }).click();
    await until("it is let in", async () => (await broker.api("GET", "/api/users/rita/permissions")).length === 1);
    const context = await harness.browser.newContext();
    await harness.logIn(context, "rita", "rita");
    await context.close();
  }, { hash: "#/users?add=yes" });

  await harness.scenario("a policy shows what it would change before it is saved", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/policed-one", { durable: true });
    const form = page.getByRole("form", { name: "Add a policy" });
    await form.getByLabel("Name", { exact: false }).first().fill("brief");
    await form.getByLabel("Pattern", { exact: false }).first().fill("^policed-");
    await form.getByLabel("Add a key").selectOption("max-length");
    await form.getByRole("button", { name: "Add key" }).click();
    await form.getByLabel("Value of max-length").fill("100");
    await form.getByRole("button", { name: "Preview" }).click();
    const preview = page.getByRole("region", { name: "Preview" });
    await preview.getByText("policed-one").first().waitFor();
    assert.deepEqual(await broker.api("GET", "/api/policies/%2F"), []);
    await preview.getByRole("button", { name: "Save policy" }).click();
    await until("it applies", async () => (await broker.api("GET", "/api/queues/%2F/policed-one")).policy === "brief");
  }, { hash: "#/policies?add=yes" });

  await harness.scenario("definitions are compared with the broker before they are imported", async (page) => {
    await harness.settled(page);
    const form = page.getByRole("form", { name: "Compare and import" });
    const document = { queues: [{ name: "imported", vhost: "/", durable: true, auto_delete: false, arguments: {} }] };
    await form.getByLabel("Or the document itself").fill(JSON.stringify(document));
    await page.getByRole("button", { name: "Compare with the broker" }).click();
    await page.getByRole("region", { name: "Difference" }).getByText("imported").first().waitFor();
    await page.getByRole("button", { name: "Import…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: /^Import/ }).click();
    await until("it is there", () => broker.api("GET", "/api/queues/%2F/imported").then(() => true, () => false));
  }, { hash: "#/definitions" });

  await harness.scenario("whether a user may publish is answered with the reason", async (page) => {
    await broker.api("PUT", "/api/users/nosy", { password: "x", tags: "management" });
    await broker.api("PUT", "/api/permissions/%2F/nosy", { configure: "^$", write: "^mine-", read: ".*" });
    await harness.go(page, "#/permissions-check?user=nosy&vhost=%2F&operation=publish&exchange=amq.topic&routing_key=a&asked=yes");
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText(/^No/).first().waitFor();
    await answer.getByText("^mine-").first().waitFor();
  });

  await harness.scenario("a rule of alerts is added, fires, and is shown at once", async (page) => {
    await broker.api("PUT", "/api/queues/%2F/too-long", { durable: true });
    await broker.api("PUT", "/api/alerts/rules/long", { kind: "queue-length", queue: "^too-long$", above: 0 });
    await harness.settled(page);
    await broker.api("POST", "/api/exchanges/%2F/amq.default/publish", { routing_key: "too-long", payload: "x", payload_encoding: "string", properties: {} });
    await page.getByText("too-long").first().waitFor({ timeout: 30_000 });
    await broker.api("DELETE", "/api/alerts/rules/long");
  }, { hash: "#/alerts" });

  await harness.scenario("what is done is in the audit log at once", async (page) => {
    await harness.settled(page);
    await broker.api("PUT", "/api/queues/%2F/audited-queue", { durable: true });
    await page.getByRole("table", { name: "Audit log" }).getByText("audited-queue").first().waitFor();
  }, { hash: "#/audit" });

  await harness.scenario("the log is shown, and searched by a regular expression", async (page) => {
    await page.getByLabel("Search").fill("listen|start");
    await page.getByRole("checkbox", { name: "Regular expression" }).check();
    await page.getByText(/listening|started/).first().waitFor();
  }, { hash: "#/log" });

  await harness.scenario("to delete a virtual host takes its name", async (page) => {
    await broker.api("PUT", "/api/vhosts/doomed");
    await harness.go(page, "#/vhosts/doomed");
    await page.getByRole("button", { name: "Delete virtual host" }).click();
    const dialog = page.getByRole("dialog");
    assert.ok(await dialog.getByRole("button", { name: /^Delete/ }).isDisabled());
    await dialog.getByRole("textbox").fill("doomed");
    await dialog.getByRole("button", { name: /^Delete/ }).click();
    await until("it is gone", () => broker.api("GET", "/api/vhosts/doomed").then(() => false, () => true));
  }, { allowed: /status of 404/ });
}
