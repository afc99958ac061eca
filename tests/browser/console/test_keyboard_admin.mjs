// The tab Admin by keys alone: users, virtual hosts, policies, limits, parameters, definitions, permissions, and the audit log.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { until } from "./broker.mjs";
import { named } from "./harness.mjs";

const VHOST = "keys-admin";
/** What a browser says of what has been deleted, and of a form that changes the password of a user who is named beside it. */
const GONE = /status of 404|should have \(optionally hidden\) username fields/;

/** Whether the API finds something. */
const isThere = (broker, address) => broker.api("GET", address).then(() => true, () => false);

export default async function keyboardAdmin(harness, broker) {
  await broker.api("PUT", `/api/vhosts/${VHOST}`);
  await broker.api("PUT", `/api/permissions/${VHOST}/guest`, { configure: ".*", write: ".*", read: ".*" });

  await harness.scenario("keys: a user is added, let in, restricted, changed and deleted", async (page, { keys }) => {
    await harness.settled(page);
    const dialog = page.getByRole("dialog");
    const add = page.getByRole("form", { name: "Add a user" });
    await keys.finds(/^Name/);
    await keys.enter(named(add, "Name"), "kim");
    await keys.enter(named(add, "Password"), "one");
    await keys.enter(named(add, "Password again"), "one");
    await keys.toggle(add.getByRole("checkbox", { name: /^monitoring/ }));
    await keys.act(add.getByRole("button", { name: "Add user" }));
    await keys.act(page.getByRole("link", { name: "kim", exact: true }));
    await page.getByRole("heading", { level: 1, name: "User kim" }).waitFor();
    const permissions = page.getByRole("form", { name: "Set permissions" });
    await keys.choose(named(permissions, "Virtual host"), VHOST);
    await keys.enter(named(permissions, "Write"), "^kim-");
    await keys.act(permissions.getByRole("button", { name: "Set permissions" }));
    await keys.act(page.getByRole("button", { name: `Clear permissions of kim in ${VHOST}` }));
    await keys.act(dialog.getByRole("button", { name: "Cancel" }));
    await keys.finds(`Clear permissions of kim in ${VHOST}`);
    assert.equal((await broker.api("GET", "/api/users/kim/permissions"))[0].write, "^kim-");
    await keys.press("Enter");
    await keys.act(dialog.getByRole("button", { name: "Clear" }));
    await page.getByText("No permissions: the user can open no connection.").waitFor();
    await keys.act(page.locator("summary", { hasText: "Topic permissions" }));
    const topics = page.getByRole("form", { name: "Set topic permissions" });
    await keys.choose(named(topics, "Virtual host"), VHOST);
    await keys.enter(named(topics, "Write"), "^eu\\.");
    await keys.press("Enter");
    await keys.act(page.getByRole("button", { name: `Clear topic permissions of kim for amq.topic in ${VHOST}` }));
    await keys.act(dialog.getByRole("button", { name: "Clear" }));
    await page.getByText("No topic permissions: routing keys are not restricted.").waitFor();
    await keys.act(page.locator("summary", { hasText: "Limits" }));
    const limit = page.getByRole("form", { name: "Set a limit of a user" });
    await keys.choose(named(limit, "Limit"), "Channels");
    await keys.enter(named(limit, "Value"), "7");
    await keys.press("Enter");
    await keys.act(page.getByRole("button", { name: "Clear max-channels of kim" }));
    await page.getByText("No limits.").waitFor();
    await keys.to(named(limit, "Value"));
    await keys.act(page.locator("summary", { hasText: "Change the user" }));
    const change = page.getByRole("form", { name: "Change the user" });
    await keys.choose(named(change, "Logs in with"), "a new password, and");
    await keys.enter(named(change, "Password"), "two");
    await keys.enter(named(change, "Password again"), "two");
    await keys.toggle(change.getByRole("checkbox", { name: /^policymaker/ }));
    await keys.act(change.getByRole("button", { name: "Change user" }));
    await until("both passwords and tags are set", async () => (await broker.api("GET", "/api/users/kim")).tags.includes("policymaker"));
    await page.locator(".facts").getByText("policymaker").waitFor();
    await keys.act(page.getByRole("button", { name: "Clear the second password" }));
    await page.getByText("Only one password is valid now.").waitFor();
    await keys.act(page.getByRole("button", { name: "Delete user" }));
    await keys.act(dialog.getByRole("button", { name: "Delete" }));
    await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
    await keys.finds("main");
    await broker.api("PUT", "/api/users/kai", { password: "x", tags: "" });
    await keys.enter(page.getByRole("searchbox", { name: "Filter users" }), "^ka");
    await page.getByText(/^1 of/).waitFor();
    await keys.toggle(page.getByRole("checkbox", { name: "Choose kai" }));
    await keys.act(page.getByRole("button", { name: "Delete the chosen user" }));
    await keys.act(dialog.getByRole("button", { name: "Delete", exact: true }));
    await page.getByRole("link", { name: "kai" }).waitFor({ state: "detached" });
    await keys.to(page.getByRole("searchbox", { name: "Filter users" }));
  }, { hash: "#/users?add=yes", keyboard: true, allowed: GONE });

  await harness.scenario("keys: a virtual host is added, changed, protected and deleted", async (page, { keys }) => {
    await harness.settled(page);
    const add = page.getByRole("form", { name: "Add a virtual host" });
    await keys.enter(named(add, "Name"), "typed");
    await keys.choose(named(add, "Default queue type"), "quorum");
    await keys.act(add.getByRole("button", { name: "Add virtual host" }));
    await keys.act(page.getByRole("link", { name: "typed", exact: true }));
    await page.getByRole("heading", { level: 1, name: "Virtual host typed" }).waitFor();
    await keys.act(page.getByRole("button", { name: "Protect from deletion" }));
    await keys.act(page.getByRole("button", { name: "End the protection from deletion" }));
    await page.getByRole("button", { name: "Delete virtual host" }).waitFor();
    const limit = page.getByRole("form", { name: "Set a limit of a virtual host" });
    await keys.enter(named(limit, "Value"), "9");
    await keys.act(limit.getByRole("button", { name: "Set limit" }));
    await keys.act(page.getByRole("button", { name: "Clear max-connections of typed" }));
    await page.getByText("No limits.").waitFor();
    await keys.act(page.locator("summary", { hasText: "Change the virtual host" }));
    const change = page.getByRole("form", { name: "Change the virtual host" });
    await keys.enter(named(change, "Description"), "by keys");
    await keys.act(change.getByRole("button", { name: "Change virtual host" }));
    await page.getByText("by keys").first().waitFor();
    await keys.act(page.getByRole("button", { name: "Delete virtual host" }));
    await keys.finds("Type typed to go on");
    // What is not typed yet is not done.
    await keys.press("Enter");
    await page.keyboard.type("typed");
    await keys.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Virtual Hosts" }).waitFor();
    assert.equal(await isThere(broker, "/api/vhosts/typed"), false);
    await keys.finds("main");
  }, { hash: "#/vhosts?add=yes", keyboard: true, allowed: GONE });

  for (const [kind, noun, add, tab] of [["policies", "policy", "Add a policy", ""], ["operator-policies", "operator policy", "Add an operator policy", "&tab=operator-policies"]]) {
    await harness.scenario(`keys: an ${noun} is previewed, saved, changed and deleted`.replace("an policy", "a policy"), async (page, { keys }) => {
      await broker.api("PUT", `/api/queues/${VHOST}/ruled`, { durable: true });
      await harness.settled(page);
      const form = page.getByRole("form", { name: add });
      await keys.choose(named(form, "Virtual host"), VHOST);
      await keys.enter(named(form, "Name"), "short");
      await keys.enter(named(form, "Pattern"), "^ruled$");
      await keys.choose(form.getByLabel("Add a key"), "max-length:");
      await keys.act(form.getByRole("button", { name: "Add key" }));
      await keys.enter(form.getByLabel("Value of max-length"), "100");
      await keys.act(form.getByRole("button", { name: "Preview" }));
      const preview = page.getByRole("region", { name: "Preview" });
      await preview.getByText("1 queue").waitFor();
      await keys.act(preview.getByRole("button", { name: `Save ${noun}` }));
      const row = page.getByRole("button", { name: `Delete short of ${VHOST}` });
      await row.waitFor();
      await keys.act(page.getByRole("link", { name: "short", exact: true }));
      await page.getByRole("button", { name: `Delete ${noun}` }).waitFor();
      const change = page.getByRole("form", { name: `Change the ${noun}` });
      await keys.act(change.getByRole("button", { name: "Remove max-length" }));
      await keys.enter(change.getByLabel("Key 1", { exact: true }), "message-ttl");
      await keys.enter(change.getByLabel("Value of message-ttl"), "5000");
      await keys.act(change.getByRole("button", { name: "Preview" }));
      await keys.act(preview.getByRole("button", { name: "Not yet" }));
      await keys.act(change.getByRole("button", { name: "Preview" }));
      await keys.act(preview.getByRole("button", { name: `Save ${noun}` }));
      await until("it is changed", async () => (await broker.api("GET", `/api/${kind}/${VHOST}/short`)).definition["message-ttl"] === 5000);
      await preview.waitFor({ state: "detached" });
      await keys.act(page.getByRole("link", { name: "Policies" }).last());
      if (tab) await keys.act(page.getByRole("link", { name: "Operator policies" }));
      await keys.act(row);
      await page.getByRole("dialog").getByText("message-ttl").first().waitFor();
      await keys.act(page.getByRole("dialog").getByRole("button", { name: "Delete" }));
      await row.waitFor({ state: "detached" });
      await keys.to(page.getByRole("link", { name: "User policies" }));
    }, { hash: `#/policies?add=yes${tab}`, keyboard: true, allowed: GONE });
  }

  await harness.scenario("keys: limits and parameters are set and cleared", async (page, { keys }) => {
    await harness.settled(page);
    const dialog = page.getByRole("dialog");
    const limit = page.getByRole("form", { name: "Set a limit of a virtual host" });
    await keys.choose(named(limit, "Virtual host"), VHOST);
    await keys.choose(named(limit, "Limit"), "Queues");
    await keys.enter(named(limit, "Value"), "1000");
    await keys.press("Enter");
    await keys.act(page.getByRole("button", { name: `Clear max-queues of ${VHOST}` }));
    await page.getByRole("button", { name: `Clear max-queues of ${VHOST}` }).waitFor({ state: "detached" });
    await keys.act(page.getByRole("navigation", { name: "Admin" }).getByRole("link", { name: "Parameters" }));
    await page.getByRole("heading", { level: 1, name: "Parameters" }).waitFor();
    await harness.settled(page);
    await keys.act(page.locator("summary", { hasText: "Add or change" }));
    const runtime = page.getByRole("form", { name: "Add or change a runtime parameter" });
    await keys.enter(named(runtime, "Component"), "vhost-limits");
    await keys.choose(named(runtime, "Virtual host"), VHOST);
    await keys.enter(named(runtime, "Name"), "limits");
    await keys.enter(named(runtime, "Value"), '{"max-queues": 500}');
    await keys.act(runtime.getByRole("button", { name: "Set parameter" }));
    await keys.act(page.getByRole("button", { name: `Delete limits of vhost-limits in ${VHOST}` }));
    await keys.act(dialog.getByRole("button", { name: "Delete" }));
    await page.getByRole("button", { name: `Delete limits of vhost-limits in ${VHOST}` }).waitFor({ state: "detached" });
    await keys.act(page.getByRole("link", { name: "Global parameters" }));
    await harness.settled(page);
    await keys.act(page.locator("summary", { hasText: "Add or change" }));
    const global = page.getByRole("form", { name: "Add or change a global parameter" });
    await keys.enter(named(global, "Name"), "colour");
    await keys.enter(named(global, "Value"), '"red"');
    await keys.act(global.getByRole("button", { name: "Set global parameter" }));
    await keys.act(page.getByRole("button", { name: "Delete colour" }));
    await keys.act(dialog.getByRole("button", { name: "Delete" }));
    await page.getByRole("button", { name: "Delete colour" }).waitFor({ state: "detached" });
    await keys.to(page.getByRole("link", { name: "Runtime parameters" }));
  }, { hash: "#/limits", keyboard: true });

  await harness.scenario("keys: definitions are exported, compared, imported and pruned", async (page, { keys }) => {
    await harness.settled(page);
    await keys.choose(page.getByLabel("Virtual host").first(), VHOST);
    const download = page.waitForEvent("download");
    await keys.act(page.getByRole("link", { name: "Download definitions" }));
    const file = path.join(broker.folder, "definitions.json");
    await (await download).saveAs(file);
    await broker.api("PUT", `/api/queues/${VHOST}/beyond`, { durable: true });
    // The dialogue of the system is not the page's: it is opened by a key, and gives the file.
    const chooser = page.waitForEvent("filechooser");
    await keys.act(page.getByLabel("A file"));
    await (await chooser).setFiles(file);
    const form = page.getByRole("form", { name: "Compare and import" });
    await keys.choose(form.getByLabel("Virtual host"), VHOST);
    await keys.act(form.getByRole("button", { name: "Compare with the broker" }));
    await page.getByRole("region", { name: "Difference" }).getByText("beyond").first().waitFor();
    await keys.act(form.getByRole("button", { name: "Import…" }));
    await keys.act(page.getByRole("dialog").getByRole("button", { name: "Import" }));
    await page.getByText("All of it is imported.").waitFor();
    await keys.act(form.getByRole("button", { name: "See what a prune would delete" }));
    await page.getByRole("region", { name: "Prune" }).getByText("beyond").waitFor();
    await keys.act(page.getByRole("button", { name: "Import and prune…" }));
    await keys.finds("Type prune to go on");
    await page.keyboard.type("prune");
    await keys.press("Enter");
    await until("it is pruned", async () => !(await isThere(broker, `/api/queues/${VHOST}/beyond`)));
    await page.getByRole("heading", { name: /^Deleted/ }).waitFor();
    await keys.to(form.getByRole("button", { name: "See what a prune would delete" }));
    writeFileSync(file, "no JSON");
  }, { hash: "#/definitions", keyboard: true, allowed: GONE });

  await harness.scenario("keys: permissions are checked, features are looked at, and the audit log is read", async (page, { keys }) => {
    await harness.settled(page);
    const check = page.getByRole("form", { name: "Permissions check" });
    await keys.choose(named(check, "User"), "guest");
    await keys.choose(named(check, "Virtual host"), VHOST);
    await keys.choose(named(check, "May it"), "consume");
    await keys.enter(named(check, "Queue"), "any");
    await keys.act(check.getByRole("button", { name: "Check" }));
    await page.getByRole("region", { name: "Answer" }).getByText("Yes", { exact: true }).waitFor();
    const admin = page.getByRole("navigation", { name: "Admin" });
    await keys.act(admin.getByRole("link", { name: "Feature Flags" }));
    await keys.enter(page.getByRole("searchbox", { name: "Filter feature flags" }), "quorum");
    await keys.act(admin.getByRole("link", { name: "Deprecated Features" }));
    await keys.act(page.getByRole("table", { name: "Deprecated features" }).getByRole("button", { name: "State" }));
    await keys.act(admin.getByRole("link", { name: "Audit" }));
    await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
    await keys.enter(page.getByLabel("Event", { exact: true }), "^vhost\\.created");
    await keys.enter(page.getByLabel("Name", { exact: true }), `^${VHOST}$`);
    await keys.press("Enter");
    await page.getByText(/^1 shown/).waitFor();
    await keys.act(page.getByRole("button", { name: "Pause" }));
    await page.getByText("1 shown, paused").waitFor();
    await keys.finds("Go on");
    await keys.press("Enter");
    const more = page.getByRole("button", { name: /^More about vhost.created/ });
    await keys.act(more);
    await page.getByRole("dialog", { name: "vhost.created" }).waitFor();
    await keys.press("Escape");
    await keys.finds(/^More about/);
  }, { hash: "#/permissions-check", keyboard: true });
}
