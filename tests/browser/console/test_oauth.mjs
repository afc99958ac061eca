// Logins by OAuth 2, at a provider of the tests' own; sessions that end; and users whom the console is not for.

import assert from "node:assert/strict";
import { Broker, until } from "./broker.mjs";
import { Provider } from "./provider.mjs";

const SECRET = "hush-of-the-console";
const ALL = "warren.configure:*/*/* warren.read:*/*/* warren.write:*/*/*";
const USERS = { ada: `warren.tag:administrator ${ALL}`, mona: `warren.tag:monitoring ${ALL}`, nobody: ALL };
/** What a browser says of a session that is not there, and of a provider that is another host. */
const ELSEWHERE = /Failed to load resource|net::ERR_|asked for http:\/\/127\.0\.0\.1/;

export default async function oauth(harness, { binary }) {
  const provider = await new Provider(USERS).start();
  const settings = {
    "auth_backends.1": "oauth2", "auth_backends.2": "internal", "auth_oauth2.resource_server_id": "warren", "auth_oauth2.issuer": provider.url, "management.oauth_enabled": "true",
    "management.oauth_client_id": "console", "management.oauth_client_secret": SECRET, "management.oauth_scopes": "openid", "management.oauth_disable_basic_auth": "false",
  };
  const brokers = [];
  const start = async (more) => {
    const broker = await Broker.start(binary, { ...settings, ...more });
    brokers.push(broker);
    return broker;
  };
  const button = (page) => page.getByRole("link", { name: "Log in by OAuth 2" });
  const heading = (page, name) => page.getByRole("heading", { name, level: 1 }).waitFor();
  /** Logs in at the provider. */
  const enter = async (page, who) => {
    await button(page).click();
    await page.getByLabel("Who").fill(who);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  const logOut = async (page) => {
    await page.getByRole("button", { name: "Log out" }).click();
    await button(page).waitFor();
  };
  const byName = async (page) => {
    await page.getByLabel("User").fill("guest");
    await page.getByLabel("Password").fill("guest");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
  };

  try {
    // Those that wait for a session to end wait while others run.
    const brief = await start({ "management.login_session_timeout": 1 });
    const both = await start({});
    const options = (broker, hash = "") => ({ user: null, url: broker.url, hash, allowed: ELSEWHERE });
    const at = Date.now();
    const waiting = await harness.profile({ url: brief.url });
    if (harness.only.test("a session that is over")) {
      for (const who of ["guest", "ada"]) {
        const page = await waiting.context.newPage();
        await page.goto(`${brief.url}/#/queues`);
        if (who === "guest") {
          await byName(page);
          await heading(page, "Queues");
        }
      }
    }

    await harness.scenario("oauth: the page of the login offers both ways, and warns of nothing", async (page) => {
      await button(page).waitFor();
      await page.getByRole("button", { name: "Log in", exact: true }).waitFor();
      assert.equal(await page.getByRole("alert").count(), 0);
      assert.deepEqual(await harness.breaches(page), []);
    }, options(both));

    await harness.scenario("oauth: a login at the provider leads to the place of the address, outlives a reload, and ends", async (page, { context }) => {
      await enter(page, "ada");
      await heading(page, "Exchanges");
      assert.match(page.url(), /#\/exchanges\?name=amq$/);
      await page.getByText("ada").first().waitFor();
      await page.reload();
      await heading(page, "Exchanges");
      await logOut(page);
      assert.deepEqual((await context.cookies(both.url)).filter(({ name }) => !/oauth/.test(name)), []);
      // A visit to the beginning leads to the beginning.
      await page.goto(`${both.url}/#/`);
      await enter(page, "mona");
      await heading(page, "Overview");
      assert.equal(await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Trace" }).count(), 0);
      await logOut(page);
      await byName(page);
      await heading(page, "Overview");
      await page.reload();
      await heading(page, "Overview");
    }, options(both, "#/exchanges?name=amq"));

    await harness.scenario("oauth: a login leads to the place that was asked for last", async (page) => {
      await page.goto(`${both.url}/#/exchanges`);
      await page.goto(`${both.url}/#/queues`);
      await enter(page, "ada");
      await heading(page, "Queues");
    }, options(both));

    await harness.scenario("oauth: a user without a tag is told that the console is not for it, and another may log in", async (page) => {
      await enter(page, "nobody");
      await page.getByRole("alert").getByText(/the user may not use the console/).waitFor();
      await page.goto(`${both.url}/#/`);
      assert.equal(await page.getByRole("alert").count(), 0);
      await enter(page, "ada");
      await heading(page, "Overview");
    }, options(both));

    await harness.scenario("oauth: the broker's secret is in nothing that the browser gets", async (page) => {
      const said = [];
      page.on("response", async (response) => said.push(await response.text().catch(() => ""), response.url()));
      await page.reload();
      await enter(page, "ada");
      await heading(page, "Overview");
      assert.ok(provider.secrets.includes(SECRET), "the provider gets it");
      assert.ok(said.length > 4 && said.every((text) => !text.includes(SECRET)), "the browser does not");
    }, options(both));

    await harness.scenario("oauth: a token that ends is renewed, and the page stays", async (page) => {
      Object.assign(provider, { refreshes: true, lifeS: 8, refreshed: 0 });
      await enter(page, "ada");
      await heading(page, "Overview");
      await until("it is renewed twice", () => provider.refreshed >= 2, 40_000);
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Connections" }).click();
      await heading(page, "Connections");
    }, options(both));

    await harness.scenario("oauth: a token that ends and is not renewed ends the session, and the place is kept", async (page) => {
      Object.assign(provider, { refreshes: false, lifeS: 6 });
      await enter(page, "ada");
      await heading(page, "Channels");
      await page.getByText(/session has ended/).waitFor({ timeout: 40_000 });
      provider.lifeS = 600;
      await enter(page, "ada");
      await heading(page, "Channels");
    }, options(both, "#/channels"));

    {
      const alone = await start({ "management.oauth_disable_basic_auth": "true" });
      await harness.scenario("oauth: where names and passwords are refused there is no form for them", async (page) => {
        await button(page).waitFor();
        assert.equal(await page.getByLabel("Password").count(), 0);
        await enter(page, "ada");
        await heading(page, "Overview");
      }, options(alone));

      const led = await start({ "management.oauth_initiated_logon_type": "idp_initiated", "management.oauth_provider_url": provider.url });
      await harness.scenario("oauth: where logins begin at the provider the button leads there", async (page) => {
        await button(page).waitFor();
        assert.equal(await page.getByRole("alert").count(), 0);
        await button(page).click();
        await page.getByRole("heading", { name: "The provider" }).waitFor();
        assert.equal(new URL(page.url()).origin, provider.url);
      }, options(led));

      const several = await start({
        "management.oauth_resource_servers.1.id": "off", "management.oauth_resource_servers.1.disabled": "true", "management.oauth_resource_servers.2.id": "warren", "management.oauth_resource_servers.2.oauth_client_id": "console",
        "management.oauth_resource_servers.3.id": "later", "management.oauth_resource_servers.3.oauth_client_id": "later",
        "management.oauth_resource_servers.3.label": "The later one",
      });
      await harness.scenario("oauth: of several resource servers that are not disabled one is chosen by its label", async (page) => {
        const ways = page.getByRole("link", { name: /^Log in by OAuth 2: / });
        await ways.first().waitFor();
        assert.deepEqual(await ways.allTextContents(), ["Log in by OAuth 2: warren", "Log in by OAuth 2: The later one"]);
        await page.getByRole("button", { name: "Log in", exact: true }).waitFor();
        await ways.last().click();
        await page.getByLabel("Who").fill("ada");
        await page.getByRole("button", { name: "Sign in" }).click();
        await heading(page, "Overview");
      }, options(several));

      const down = await new Provider(USERS).start();
      const lost = await start({ "auth_oauth2.issuer": down.url });
      const alsoLost = await start({ "auth_oauth2.issuer": down.url, "management.oauth_disable_basic_auth": "true" });
      await down.stop();
      await harness.scenario("oauth: a provider that is down is said, and a name and a password still log in", async (page) => {
        await button(page).click();
        await page.getByRole("alert").getByText(/the provider's metadata could not be read/).waitFor();
        await byName(page);
        await heading(page, "Overview");
        assert.doesNotMatch(page.url(), /login_error/);
      }, options(lost));
      await harness.scenario("oauth: a provider that is down is said where there is no other way to log in", async (page) => {
        await button(page).click();
        await page.getByRole("alert").getByText(/the provider's metadata could not be read/).waitFor();
        await page.getByLabel("Password").waitFor({ state: "detached" });
      }, options(alsoLost));
      await harness.scenario("oauth: the place that was asked for outlives logins that fail, and is opened when the provider is back", async (page) => {
        for (let time = 0; time < 2; time += 1) {
          await Promise.all([page.waitForResponse(/api\/oauth\/login/), button(page).click()]);
          await page.getByRole("alert").getByText(/the provider's metadata could not be read/).waitFor();
          assert.match(page.url(), /#\/exchanges\?name=amq&login_error=[^&]*$/);
        }
        await down.start(down.port);
        await enter(page, "ada");
        await heading(page, "Exchanges");
        assert.match(page.url(), /#\/exchanges\?name=amq$/);
        await down.stop();
      }, options(alsoLost, "#/exchanges?name=amq"));
    }

    await harness.scenario("a session that is over asks for a login, whether the page is looked at or not, and goes on after it", async () => {
      const [page, other] = waiting.context.pages();
      await page.waitForTimeout(Math.max(0, 61_000 - (Date.now() - at)));
      for (const one of [page, other]) await one.getByText(/session has ended/).waitFor({ timeout: 30_000 });
      await byName(page);
      await heading(page, "Queues");
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Connections" }).click();
      await heading(page, "Connections");
      await heading(other, "Queues");
    }, { within: waiting, allowed: ELSEWHERE });
    await waiting.context.close();
  } finally {
    for (const broker of brokers) await broker.remove();
    await provider.stop();
  }
}
