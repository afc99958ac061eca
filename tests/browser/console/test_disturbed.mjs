// Every page, and every tab inside pages, while its broker is slow, is killed and comes back, takes rights away, deletes what is shown,
// or loses its leader: each says so, and goes on by itself. All are open at once, by way of a node of a cluster that does not lead.

import assert from "node:assert/strict";
import { Broker, segment, until } from "./broker.mjs";
import { EVERYTHING, furnish, occupy, places, renew, VHOST } from "./places.mjs";
import { Tabs } from "./tabs.mjs";

/** What a browser itself says of requests that fail while the broker is away, or are refused. */
const AWAY = /Failed to load resource|net::ERR_/;

/** Places that show nothing of what `renew` makes: clients of before and what they hold, forms, traces that run, and what never changes. */
const SILENT = /^#\/(connections\/|channels\/|feature-flags|deprecated-features|nodes\/|trace(?!\?tab=files))|\/amq\.default\?|tab=(publish|unacked)/;
/** Places that show new clients. */
const CLIENTS = /^#\/(connections|channels|consumers)$|tab=consumers/;
/** Places for users with some tag. */
const ADMINISTRATORS = /^#\/(admin|users|definitions|audit|trace|log|parameters|dynamic-shovels$|federation-upstreams)/;
const MONITORS = /^#\/(alerts|cluster|nodes)/;
/** Places where a user with the tag management may change nothing. */
const READERS = /^#\/(vhosts|policies|operator-policies|limits|shovels|federation$|dynamic-shovels\/|connections|channels|consumers|feature-flags|deprecated-features)/;
/** Places of objects of the virtual host. */
const OBJECTS = new RegExp(`^#/(queues|exchanges|vhosts|policies|operator-policies|dynamic-shovels)/${VHOST}`);
/** Places of objects that are deleted, and which of them can be made again. */
const DELETED = new RegExp(`^#/((queues/${VHOST}/orders|exchanges/${VHOST}/(events|later)|policies/${VHOST}|operator-policies/${VHOST}|dynamic-shovels/${VHOST}|federation-upstreams/${VHOST}|users/rover)|connections/.|channels/.)`);

// What runs in pages.

/** Whether it is said that the broker is slow or away, or with "" that neither is said. */
const says = (text) => (text === "" ? document.querySelector(".reach")?.textContent === "" : document.querySelector(".reach")?.textContent?.includes(text));
/** How much a page shows. */
const amount = () => document.querySelectorAll("main :is(td, dd, li, option, .tile)").length;
/** Whether a page has a text, also in a field; among what is offered in lists only where it has no table. */
const has = (text) => {
  const main = document.querySelector("main");
  const seen = [...main.querySelectorAll("input, textarea")].map(({ value }) => value);
  const isTable = main.querySelector("table") !== null;
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (!isTable || !walker.currentNode.parentElement.closest("option")) seen.push(walker.currentNode.textContent);
  return seen.some((one) => one.includes(text));
};
/** Whether a page of an object says that it is gone, and has a way back; or with false, whether it shows the object. */
const isGone = (is) => {
  const main = document.querySelector("main");
  const says = main.textContent.includes("There is no such");
  return is ? says && [...main.querySelectorAll("p a")].some((link) => /^#\/[a-z-]+(\?[^/]*)?$/.test(link.getAttribute("href"))) : !says && !main.querySelector(".awaited-text, .note.error");
};
/** Whether it says that it is for users with other tags, and shows nothing else. */
const isRefused = () => /for users with the tag|are for administrators/.test(document.querySelector("main").textContent) && !document.querySelector("main :is(td, dd, form)");
/** Whether the page is there, with the tabs of the user. */
const hasTabs = (tabs) => [...document.querySelectorAll("nav[aria-label=Main] a")].map(({ textContent }) => textContent).join() === tabs;
/** Whether nothing of the virtual host is there, but for its name in the heading. */
const showsNothingOf = (vhost) => {
  const main = document.querySelector("main");
  return main.querySelector(`:is(td, dd, li, p) a[href*="/${vhost}"]`) === null && !/order\.#|in an hour/.test(main.textContent) && !main.querySelector(".awaited-text");
};
/** Whether there is nothing to be pressed that changes something. */
const changesNothing = () => document.querySelector("main :is(.harmful, form.form [type=submit])") === null;
/** Whether a login is asked for, with the reason, at the same place. */
const isLogin = (hash) => document.querySelector("main.login [type=password]") !== null && /session has ended, or the user's rights/.test(document.body.textContent) && location.hash === hash;

const TABS = "Overview,Connections,Channels,Exchanges,Queues,Admin";
const TABS_OF = { management: TABS, monitoring: `${TABS},Alerts,Cluster`, administrator: `${TABS},Alerts,Trace,Log,Cluster` };

/** Nodes of a cluster by what they do: one leads, pages are opened by another, clients are at the third. */
async function startCluster(binary) {
  const nodes = await Broker.startCluster(binary);
  const leader = await until("a node leads", async () => {
    const { leader } = await nodes[0].api("GET", "/api/warren/cluster").catch(() => ({ leader: null }));
    return nodes.find((node) => node.settings["warren.node_name"] === leader);
  });
  const [other, third] = nodes.filter((node) => node !== leader);
  return { nodes, leader, other, third };
}

/** A client that takes one message of a queue and keeps it. Gives what asks for the name of its connection, which is another one when it had to connect again. */
function consume(broker) {
  broker.loadIn(VHOST, "-p", "-x", "0", "-y", "1", "-u", "orders", "-q", "1", "-L", "600000000");
  const nameOf = async () => (await broker.api("GET", `/api/consumers/${VHOST}`)).find(({ queue }) => queue.name === "orders")?.channel_details.connection_name;
  return () => nameOf().catch(() => undefined);
}

/** Makes the user of the pages. */
async function addUser(broker) {
  await broker.api("PUT", "/api/users/boss", { password: "boss", tags: "administrator" });
  await permit(broker);
}

const permit = (broker) => broker.api("PUT", `/api/permissions/${VHOST}/boss`, EVERYTHING);

/** Gives the user other tags. A session stays as long as the password does. */
async function setTags(broker, tags) {
  const { password_hash, hashing_algorithm } = await broker.api("GET", "/api/users/boss");
  await broker.api("PUT", "/api/users/boss", { password_hash, hashing_algorithm, tags });
}

/** That what is shown now stays, however old it is. */
async function keeper(tabs) {
  const before = new Map();
  await tabs.each("it is counted", async ({ hash, page }) => void before.set(hash, await page.evaluate(amount)));
  return () => tabs.each("what was shown stays", async ({ hash, page }) => {
    const now = await page.evaluate(amount);
    assert.ok(now >= before.get(hash) / 2, `${now} of ${before.get(hash)}`);
  });
}

async function slow({ other, tabs }) {
  const keep = await keeper(tabs);
  other.sleep();
  await tabs.look();
  await tabs.become("it is said to be slow", says, "is slow to answer");
  await keep();
  other.wake();
  await tabs.become("it is said no more", says, "");
}

async function showNew(tabs, name, client) {
  await tabs.become("what is new is shown", has, name, (hash) => !SILENT.test(hash) && !CLIENTS.test(hash));
  await until("a new client is shown", async () => tabs.are(has, await client(), (hash) => CLIENTS.test(hash)), 60_000);
}

async function killed({ other, leader, third, tabs }) {
  const keep = await keeper(tabs);
  await other.stop("SIGKILL");
  await tabs.look();
  await tabs.become("it is said to be away", says, "cannot be reached, or no node leads");
  await keep();
  // While the processors are busy another node may come to lead.
  await until("there is something new", () => renew(leader, "risen").then(() => true, () => false));
  const client = consume(third);
  await other.start();
  await tabs.become("it is said no more", says, "");
  await showNew(tabs, "risen", client);
}

async function lowered({ leader, tabs }) {
  await setTags(leader, "management");
  await tabs.look();
  await tabs.become("tabs vanish", hasTabs, TABS_OF.management);
  await tabs.become("it is said to be for others", isRefused, undefined, (hash) => ADMINISTRATORS.test(hash) || MONITORS.test(hash));
  await tabs.become("nothing can be pressed in vain", changesNothing, undefined, (hash) => READERS.test(hash));
  await tabs.become("objects are shown on", isGone, false, (hash) => OBJECTS.test(hash));
}

async function closed({ leader, tabs }) {
  await setTags(leader, "management");
  await leader.api("DELETE", `/api/permissions/${VHOST}/boss`);
  await tabs.look();
  await tabs.become("it is said to be gone", isGone, true, (hash) => OBJECTS.test(hash));
  await tabs.become("nothing of it stays", showsNothingOf, VHOST);
  await permit(leader);
  await tabs.look();
  await tabs.become("it is there again", isGone, false, (hash) => OBJECTS.test(hash));
  await setTags(leader, "monitoring");
  await tabs.look();
  await tabs.become("tabs come", hasTabs, TABS_OF.monitoring);
  await tabs.become("pages for this tag are shown again", isGone, false, (hash) => MONITORS.test(hash));
}

/** A login is asked for at each place, and one login is enough for all. */
async function logInAgain({ leader, tabs }) {
  await tabs.look();
  await tabs.become("a login is asked for, with the reason", isLogin, (hash) => (hash === "#/admin" ? "#/users" : hash));
  await addUser(leader);
  const [{ page }] = tabs.tabs;
  await page.getByLabel("User").fill("boss");
  await page.getByLabel("Password").fill("boss");
  await page.keyboard.press("Enter");
  await tabs.become("a login in one tab is one in all", hasTabs, TABS_OF.administrator);
}

async function expelled(stage) {
  await setTags(stage.leader, "monitoring");
  await setTags(stage.leader, "");
  await logInAgain(stage);
}

async function unknown(stage) {
  await stage.leader.api("DELETE", "/api/users/boss");
  await logInAgain(stage);
}

/** Deletes things, and makes them again. */
async function remade({ leader, tabs }, paths, deleted, madeAgain) {
  for (const path of paths) await leader.api("DELETE", `/api/${path}`);
  await tabs.look();
  await tabs.become("it is said to be gone", isGone, true, deleted);
  await furnish(leader);
  await leader.api("PUT", "/api/users/rover", { password: "x", tags: "management" });
  await permit(leader);
  await tabs.look();
  await tabs.become("it is there again", isGone, false, madeAgain);
}

async function deleted(stage) {
  const paths = [`queues/${VHOST}/orders`, `exchanges/${VHOST}/events`, `exchanges/${VHOST}/later`, `policies/${VHOST}/short`, `operator-policies/${VHOST}/cap`, `shovels/vhost/${VHOST}/moves`, `parameters/federation-upstream/${VHOST}/north`, "users/rover", `connections/${segment(stage.there.connection)}`];
  await remade(stage, paths, (hash) => DELETED.test(hash), (hash) => DELETED.exec(hash)?.[2] !== undefined);
}

async function deletedWhole(stage) {
  await remade(stage, [`vhosts/${VHOST}`], (hash) => OBJECTS.test(hash), (hash) => OBJECTS.test(hash));
}

async function election({ harness, leader, other, tabs }) {
  const { context } = await harness.profile({ url: leader.url });
  await harness.logIn(context, "boss", "boss", leader.url);
  const own = new Tabs(harness, context, leader.url);
  await own.open(["#/", "#/queues", "#/cluster"]);
  await leader.stop("SIGKILL");
  await own.look();
  await own.become("it is said to be away", says, "cannot be reached, or no node leads");
  await until("another node leads", () => other.api("PUT", `/api/queues/${VHOST}/after-it`, { durable: true }).then(() => true, () => false));
  await renew(other, "anew");
  await tabs.become("nothing is said any more", says, "");
  await tabs.look();
  // A search in messages is made when a person wants it.
  await tabs.each("it is searched again", ({ page }) => page.getByRole("button", { name: "Refresh" }).click(), (hash) => hash.endsWith("tab=messages") && hash.startsWith("#/queues"));
  // A client of just then may have to connect again, by another name.
  await tabs.become("what is new is shown", has, "anew", (hash) => !SILENT.test(hash) && !CLIENTS.test(hash));
  await tabs.become("the user is logged in", hasTabs, TABS_OF.administrator);
  await leader.start();
  await own.become("nothing is said any more", says, "");
  await own.become("what is new is shown", has, "anew");
  await context.close();
}

/** In this order: the last one changes which node leads. */
const SCENARIOS = [
  ["every page says that its broker is slow, and keeps what it shows", slow],
  ["every page says that its broker was killed, and shows by itself what is new when it is back", killed],
  ["every page of a user whose tag is lowered says so, and has no button that does not work", lowered],
  ["every page of a virtual host says that it is closed to the user now, and shows nothing of it any more", closed],
  ["every page of a user who may not use the console any more asks for a login, and goes on after one in any tab", expelled],
  ["every page of a user who is deleted asks for a login, and keeps its place", unknown],
  ["every page of an object that is deleted says so, with the way back, and goes on when it is made again", deleted],
  ["every page of a virtual host that is deleted says so, and goes on when it is made again", deletedWhole],
  ["every page goes on by itself when the leader is lost, and those of the leader when it is back", election],
];

export default async function disturbed(harness, { binary }) {
  if (!SCENARIOS.some(([name]) => harness.only.test(name))) return;
  const cluster = await startCluster(binary);
  const { nodes, leader, other, third } = cluster;
  try {
    await furnish(leader);
    await addUser(leader);
    await leader.api("PUT", "/api/users/rover", { password: "x", tags: "management" });
    const { there } = await occupy(third);
    const within = await harness.profile({ url: other.url });
    await harness.logIn(within.context, "boss", "boss", other.url);
    const tabs = new Tabs(harness, within.context, other.url);
    await tabs.open([...places(there, []), "#/users/rover"]);
    for (const [name, act] of SCENARIOS) await harness.scenario(name, () => act({ harness, ...cluster, there, tabs }), { within, allowed: AWAY });
    await within.context.close();
  } finally {
    await Promise.all(nodes.map((node) => node.remove()));
  }
}
