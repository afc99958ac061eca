// Shovels: added, watched, paused, changed and deleted, by keys alone; and what users with other tags see of them.

import assert from "node:assert/strict";
import { segment, until } from "./broker.mjs";
import { named } from "./harness.mjs";
import { EVERYTHING } from "./places.mjs";

const VHOST = "shovelled";
const GONE = /status of 404/;
const REFUSED = /status of 400/;

/** What a page has, also in its fields and on hover. */
const everything = (page) => page.evaluate(() => [document.body.innerHTML, ...[...document.querySelectorAll("input, textarea")].map(({ value }) => value)].join("\n"));

async function addUser(broker, name, tags, vhost = VHOST) {
  await broker.api("PUT", `/api/users/${name}`, { password: name, tags });
  await broker.api("PUT", `/api/permissions/${vhost}/${name}`, EVERYTHING);
}

const put = (broker, name, value) => broker.api("PUT", `/api/parameters/shovel/${VHOST}/${segment(name)}`, { value });

export default async function shovels(harness, broker) {
  await broker.api("PUT", `/api/vhosts/${VHOST}`);
  await broker.api("PUT", `/api/permissions/${VHOST}/guest`, EVERYTHING);
  await broker.api("PUT", `/api/queues/${VHOST}/here`, { durable: true });
  const local = `amqp:///${VHOST}`;

  await harness.scenario("keys: a shovel is added, paused, resumed, restarted, changed and deleted", async (page, { keys }) => {
    const state = async () => (await broker.api("GET", `/api/shovels/vhost/${VHOST}/mover/status`)).state;
    await harness.settled(page);
    const dialog = page.getByRole("dialog");
    const add = page.getByRole("form", { name: "Add a shovel" });
    await keys.finds("Virtual host");
    await keys.choose(named(add, "Virtual host"), VHOST);
    await keys.enter(named(add, "Name"), "mover");
    await keys.enter(named(add, "Source URI"), local);
    await keys.enter(named(add, "Source queue"), "here");
    await keys.enter(named(add, "Prefetch count"), "100");
    await keys.enter(named(add, "Destination URI"), `amqp://guest:guest@127.0.0.1:${broker.port}/${VHOST}`);
    await keys.enter(named(add, "Destination queue"), "there");
    await keys.toggle(add.getByRole("checkbox", { name: "Add forwarding headers" }));
    await keys.choose(named(add, "Acknowledgement mode"), "on-publish");
    await keys.enter(named(add, "Further keys"), '{"dest-publish-properties": {"delivery_mode": 2}}');
    await keys.act(add.getByRole("button", { name: "Add shovel" }));
    await keys.act(page.getByRole("link", { name: "mover", exact: true }));
    await page.getByRole("heading", { level: 1, name: "Shovel mover" }).waitFor();
    await page.locator(".facts").getByText("running").waitFor();
    await broker.api("POST", `/api/exchanges/${VHOST}/amq.default/publish`, { routing_key: "here", payload: "x", payload_encoding: "string", properties: {} });
    await until("it is moved", async () => (await broker.api("GET", `/api/shovels/vhost/${VHOST}/mover/status`)).forwarded === 1);
    assert.deepEqual((await broker.api("GET", `/api/parameters/shovel/${VHOST}/mover`)).value, {
      "src-protocol": "amqp091", "src-uri": local, "src-queue": "here", "src-prefetch-count": 100, "dest-protocol": "amqp091", "dest-uri": `amqp://guest:guest@127.0.0.1:${broker.port}/${VHOST}`, "dest-queue": "there",
      "dest-add-forward-headers": true, "ack-mode": "on-publish", "dest-publish-properties": { delivery_mode: 2 } });
    // By itself, without another visit.
    await page.locator(".facts").getByText("1", { exact: true }).first().waitFor();

    await keys.act(page.getByRole("button", { name: `Pause mover in ${VHOST}` }));
    await page.locator(".facts").getByText("paused").waitFor();
    await keys.finds(`Resume mover in ${VHOST}`);
    await keys.press("Enter");
    await page.locator(".facts").getByText("running").waitFor();
    await keys.act(page.getByRole("button", { name: `Restart mover in ${VHOST}` }));
    await keys.act(dialog.getByRole("button", { name: "Cancel" }));
    await keys.finds(`Restart mover in ${VHOST}`);
    await keys.press("Enter");
    await keys.act(dialog.getByRole("button", { name: "Restart" }));
    await page.getByText("The shovel mover is restarted.").waitFor();
    await until("it begins anew", async () => (await broker.api("GET", `/api/shovels/vhost/${VHOST}/mover/status`)).forwarded === 0);

    await keys.act(page.locator("summary", { hasText: "Change the shovel" }));
    const change = page.getByRole("form", { name: "Change the shovel" });
    await keys.enter(named(change, "Destination queue"), "elsewhere");
    await keys.act(change.getByRole("button", { name: "Change shovel" }));
    await page.getByRole("table", { name: "Definition" }).getByText("elsewhere").waitFor();
    const { value } = await broker.api("GET", `/api/parameters/shovel/${VHOST}/mover`);
    assert.equal(value["dest-uri"], `amqp://guest:guest@127.0.0.1:${broker.port}/${VHOST}`, "the password stays");
    await until("it works as before", async () => (await state()) === "running");

    await keys.act(page.getByRole("link", { name: "Shovel Status" }).last());
    await page.getByRole("heading", { level: 1, name: "Shovel Status" }).waitFor();
    await keys.act(page.getByRole("button", { name: `Delete mover in ${VHOST}` }));
    await keys.act(dialog.getByRole("button", { name: "Cancel" }));
    await keys.finds(`Delete mover in ${VHOST}`);
    await keys.press("Enter");
    await keys.act(dialog.getByRole("button", { name: "Delete" }));
    await page.getByRole("button", { name: `Delete mover in ${VHOST}` }).waitFor({ state: "detached" });
    await keys.to(page.getByRole("navigation", { name: "Admin" }).getByRole("link", { name: "Shovel Management" }));
  }, { hash: "#/dynamic-shovels?add=yes", keyboard: true, allowed: GONE });

  await harness.scenario("a shovel that fails says why, and no page shows its password", async (page) => {
    await put(broker, "failing", { "src-uri": local, "src-queue": "here", "dest-uri": ["amqp://guest:hush-hush@127.0.0.1:9", `amqp://guest:hush-hush@127.0.0.1:${broker.port}`], "dest-queue": "there" });
    await page.getByRole("row", { name: "failing" }).getByText(/refuses the login of user 'guest'|cannot connect/).waitFor();
    for (const hash of ["#/shovels", "#/dynamic-shovels", `#/dynamic-shovels/${VHOST}/failing`, "#/parameters"]) {
      await harness.go(page, hash);
      await page.getByText("failing").first().waitFor();
      if (hash.endsWith("failing")) {
        await page.locator("summary", { hasText: "Change the shovel" }).click();
        await page.getByText(/^It failed, and starts again/).waitFor();
        await page.getByRole("form", { name: "Change the shovel" }).waitFor();
      }
      assert.ok(!(await everything(page)).includes("hush-hush"), hash);
    }
    await broker.api("DELETE", `/api/shovels/vhost/${VHOST}/failing`);
  }, { hash: "#/shovels" });

  await harness.scenario("what is wrong with a shovel is said in the API's words, and what was entered stays", async (page) => {
    await harness.settled(page);
    const add = page.getByRole("form", { name: "Add a shovel" });
    await named(add, "Name").fill("wrong");
    await named(add, "Source is").selectOption("exchange");
    await named(add, "Source exchange").fill("amq.topic");
    await named(add, "Source URI").fill("elsewhere://");
    await named(add, "Destination protocol").selectOption("http");
    await named(add, "Destination URI").fill("http://127.0.0.1:9/hook");
    await add.getByRole("button", { name: "Add shovel" }).click();
    await add.getByRole("alert").getByText('"elsewhere://" not a valid URI').waitFor();
    assert.equal(await named(add, "Source URI").inputValue(), "elsewhere://");
    await named(add, "Further keys").fill("no JSON");
    await add.getByRole("button", { name: "Add shovel" }).click();
    await add.getByRole("alert").getByText("The further keys are no JSON object").waitFor();
  }, { hash: "#/dynamic-shovels?add=yes", allowed: REFUSED });

  await put(broker, "seen", { "src-uri": local, "src-queue": "here", "dest-uri": local, "dest-queue": "there" });
  for (const [name, tags, isToSeeButtons] of [["looker", "management", false], ["watcher", "monitoring", false], ["ruler", "policymaker", true]]) {
    await addUser(broker, name, tags);
    await harness.scenario(`a user with the tag ${tags} sees the shovels of its virtual hosts, and ${isToSeeButtons ? "may pause them" : "no button"}`, async (page) => {
      await page.getByRole("link", { name: "seen" }).waitFor();
      const buttons = page.getByRole("main").getByRole("button", { name: `in ${VHOST}` });
      assert.equal(await buttons.count(), isToSeeButtons ? 3 : 0);
      assert.equal(await page.getByRole("link", { name: "Shovel Management" }).count(), isToSeeButtons ? 1 : 0);
      await page.getByRole("link", { name: "seen" }).click();
      await page.getByRole("heading", { level: 1, name: "Shovel seen" }).waitFor();
      await page.locator(".facts").getByText("running").waitFor();
      assert.equal(await buttons.count(), isToSeeButtons ? 3 : 0);
      if (!isToSeeButtons) return;
      await page.getByRole("button", { name: `Pause seen in ${VHOST}` }).click();
      await page.locator(".facts").getByText("paused").waitFor();
      assert.equal(await buttons.count(), 2, "what is paused is not restarted");
      await page.getByRole("button", { name: `Resume seen in ${VHOST}` }).click();
      await page.locator(".facts").getByText("running").waitFor();
    }, { user: name, hash: "#/shovels" });
  }

  await broker.api("PUT", "/api/vhosts/unshovelled");
  await addUser(broker, "beginner", "policymaker", "unshovelled");
  await harness.scenario("where there is no shovel it is said what one does, and where one is added", async (page) => {
    await page.getByText("There is no shovel.").waitFor();
    await page.getByRole("link", { name: "Add a shovel" }).click();
    await page.getByRole("form", { name: "Add a shovel" }).waitFor();
    await page.getByText("There is no dynamic shovel. Add one below").waitFor();
  }, { user: "beginner", hash: "#/shovels" });
}
