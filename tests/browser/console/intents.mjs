// What RabbitMQ's own scenarios of its management page are for, in our words, by the files that have them (selenium/test of rabbitmq-server), and the scenario of ours that covers each, or why
// there is none. The suite fails when a scenario that is named here does not exist.

/** What it is for; the scenarios, or `elsewhere`: the suite that tests it without a page, or `not`: why it is not tested. @type {[string, string, string[] | { elsewhere: string } | { not: string }][]} */
export const INTENTS = [
  // Logins with a name and a password.
  ["basic-auth/landing", "without a session a login with a form is shown", ["a login leads to the place of the address, and a wrong password is said"]],
  ["basic-auth/happy-login", "an administrator logs in and sees who it is", ["a login leads to the place of the address, and a wrong password is said", "keys: a login, the appearance, the palette, and the way out"]],
  ["basic-auth/logout", "a user logs out, and a login is asked for", ["a login leads to the place of the address, and a wrong password is said"]],
  ["basic-auth/unauthorized", "a user without a tag is refused with a reason, which can be put away", ["a user without a tag is told at the login that the console is not for it"]],
  ["basic-auth/session-expired", "a session that is over asks for a login, and the page can be used after it", ["a session that is over asks for a login, whether the page is looked at or not, and goes on after it"]],
  ["basic-auth/session-expired-with-no-refresh", "the same where the page does not ask the broker by itself", ["a session that is over asks for a login, whether the page is looked at or not, and goes on after it"]],
  // What users with one tag or another may see.
  ["basic-auth/ac-administrator-without-vhost-permissions", "an administrator without permissions has all tabs, all of Admin, and a choice of all virtual hosts", ["an administrator without permissions has all tabs, the whole menu Admin, and all virtual hosts"]],
  ["basic-auth/ac-monitoring-without-vhost-permissions", "a user with the tag monitoring has all tabs and virtual hosts, and in Admin only what is for it", ["a user with the tag monitoring has its tabs and all virtual hosts, and in Admin nothing of administrators"]],
  ["basic-auth/ac-management", "a user with the tag management opens every tab without an error, and sets no limits of users", ["a user with the tag management opens each of its tabs, and sets no limits"]],
  ["basic-auth/ac-management-without-vhost-permissions", "one without permissions sees little, and no virtual host to choose", ["a user without a virtual host is offered nothing that it may not do"]],
  ["basic-auth/ac-management-with-restricted-vhost", "a virtual host without permissions looks as if it did not exist", ["a virtual host that a user may not use looks like one that does not exist"]],
  ["overview/monitor", "the overview of a monitoring user has counts, nodes and churn, and no definitions", ["the overview of a user with the tag monitoring has counts, nodes and churn"]],
  ["overview/non-monitor", "that of a user with the tag management has counts and nothing of nodes", ["the overview of a user with the tag management has counts, and nothing of nodes"]],
  // A broker that keeps no statistics.
  ["overview/with-basic-stats/monitor", "without statistics the overview of a monitoring user shows what there is", ["every page of a broker without statistics shows what there is, to watcher"]],
  ["overview/with-basic-stats/non-monitor", "and that of a user with the tag management", ["every page of a broker without statistics shows what there is, to manager"]],
  ["channels/with-basic-info/list-channels", "without statistics channels are listed and opened", ["every page of a broker without statistics shows what there is"]],
  ["connections/with-basic-stats/amqp091", "without statistics connections are listed and opened", ["every page of a broker without statistics shows what there is"]],
  ["queuesAndStreams/with-disabled-stats/display-basic-stats", "without statistics all tabs work and a queue has its details and bindings", ["every page of a broker without statistics shows what there is"]],
  ["queuesAndStreams/with-disabled-stats/consumers", "without statistics a queue's consumers are not shown: here they are, from the list of all", ["every page of a broker without statistics shows what there is"]],
  // Connections and channels.
  ["connections/amqp091/list-connections", "a connection is listed and opened, with protocol, limits and channels", ["a connection and its channel are listed, with what they are"]],
  ["channels/list-channels", "a channel is listed and opened, with mode, state, prefetch and counts", ["a connection and its channel are listed, with what they are", "a channel shows its consumers, and numbers that come by themselves"]],
  // Exchanges.
  ["exchanges/add-exchange", "an exchange is added, opened and deleted", ["an exchange of any name and type is added, and found", "an exchange is deleted, and its page says that it is gone"]],
  ["exchanges/management", "those that every virtual host has are counted and listed with their types, one is opened, and columns are chosen", ["the exchanges that every virtual host has are listed with their types and counted, and columns can be chosen"]],
  ["exchanges/paging", "the list has pages of a size that is chosen", ["a list scrolls through all rows until a size of pages is chosen, which all lists and later visits have"]],
  // Queues.
  ["queuesAndStreams/add-classic", "a classic queue is added, found by the filter, and opened", ["a classic queue is added, found, opened with all its parts, and deleted"]],
  ["queuesAndStreams/add-quorum", "a quorum queue is added, found by the filter, and opened", ["a quorum queue is added, found, opened with all its parts, and deleted"]],
  ["queuesAndStreams/list", "queues are counted, and columns are chosen", ["columns of queues can be chosen: counts, bytes and rates among them"]],
  ["queuesAndStreams/paging", "the list has pages of a size that is chosen", ["a list scrolls through all rows until a size of pages is chosen, which all lists and later visits have"]],
  ["queuesAndStreams/display-stats", "the page of a queue has lengths, rates, details, consumers and bindings", ["a classic queue is added, found, opened with all its parts, and deleted", "a quorum queue is added, found, opened with all its parts, and deleted"]],
  ["queuesAndStreams/consumers", "a queue's consumers are on its page", ["of a single active consumer and those that wait it is said which is which, by priority", "consumers of all queues are in one list, and what they hold is on a page of the queue"]],
  ["queuesAndStreams/view-qq-consumers", "a quorum queue with a single active consumer says which one is active, by priority", ["of a single active consumer and those that wait it is said which is which, by priority"]],
  ["queuesAndStreams/delete-messages", "a queue can be deleted from its page", ["a classic queue is added, found, opened with all its parts, and deleted", "keys: several queues are purged and deleted"]],
  ["queuesAndStreams/purge-messages", "a queue can be purged from its page", ["keys: a dialogue has the focus until it is closed, and gives it back"]],
  ["queuesAndStreams/publish-messages", "a message can be published into a queue from its page", ["messages are published into the queue, and got as its mode says"]],
  ["queuesAndStreams/move-messages", "messages are moved by users who may: there by a tag, here by permissions of both queues", ["what matches is moved, and its count is shown before", "a user who may only look has no button that does not work"]],
  ["queuesAndStreams/runtime-metrics", "numbers of a queue's Erlang process", { not: "no Erlang" }],
  ["queuesAndStreams/with-disabled-stats/runtime-metrics", "the same without statistics", { not: "no Erlang" }],
  ["queuesAndStreams/add-stream", "a stream is added and opened", { not: "no streams" }],
  ["queuesAndStreams/autodelete-mqtt-qos0", "a queue of MQTT goes with its client", { not: "no MQTT" }],
  ["queuesAndStreams/view-mqtt-qos", "queues of MQTT are listed", { not: "no MQTT" }],
  ["queuesAndStreams/view-mqtt-qos0", "queues of MQTT for QoS 0 are listed and opened", { not: "no MQTT" }],
  ["connections/amqp10/sessions-for-monitoring-user", "sessions and links of a connection of AMQP 1.0", { not: "no AMQP 1.0" }],
  ["connections/amqp10/session-flow-control", "their flow control", { not: "no AMQP 1.0" }],
  ["connections/with-basic-stats/amqp10", "the same without statistics", { not: "no AMQP 1.0" }],
  ["connections/mqtt/list-connections", "connections of MQTT", { not: "no MQTT" }],
  ["connections/with-basic-stats/mqtt", "the same without statistics", { not: "no MQTT" }],
  // Admin.
  ["vhosts/admin-vhosts", "virtual hosts are found, opened and listed with their tags", ["keys: a virtual host is added, changed, protected and deleted"]],
  ["limits/users", "limits of users are listed, also where there are none", ["keys: limits and parameters are set and cleared"]],
  ["limits/virtual-hosts", "limits of virtual hosts are listed, also where there are none", ["keys: limits and parameters are set and cleared"]],
  ["feature-flags/feature-flags", "feature flags are listed", ["keys: permissions are checked, features are looked at, and the audit log is read"]],
  ["definitions/export", "an administrator downloads all definitions", ["keys: definitions are exported, compared, imported and pruned"]],
  ["definitions/import", "an administrator imports definitions, and what they have is there", ["keys: definitions are exported, compared, imported and pruned", "definitions are compared with the broker before they are imported"]],
  ["definitions/enforce-definition-file-extension", "a setting refuses files whose names do not end in .json", { not: "no such setting: what is no JSON is refused, and what an import would change is shown first" }],
  // OAuth 2: the user begins at the console.
  ["oauth/with-sp-initiated/landing", "the login leads to the provider, without a warning", ["oauth: where names and passwords are refused there is no form for them"]],
  ["oauth/with-sp-initiated/happy-login", "an administrator logs in at the provider", ["oauth: a login at the provider leads to the place of the address, outlives a reload, and ends"]],
  ["oauth/with-sp-initiated/logout", "and logs out", ["oauth: a login at the provider leads to the place of the address, outlives a reload, and ends"]],
  ["oauth/with-sp-initiated/redirection-after-login", "after the login the page is that which was asked for", ["oauth: a login at the provider leads to the place of the address, outlives a reload, and ends"]],
  ["oauth/with-sp-initiated/session-expired", "the session ends after its time", ["a session that is over asks for a login, whether the page is looked at or not, and goes on after it"]],
  ["oauth/with-sp-initiated/token-refresh", "a token is renewed by itself", ["oauth: a token that ends is renewed, and the page stays"]],
  ["oauth/with-sp-initiated/token-endpoint-proxy", "the client's secret does not get into the browser, which asks no foreign host for tokens", ["oauth: the broker's secret is in nothing that the browser gets"]],
  ["oauth/with-sp-initiated/unauthorized", "a user without a tag is told so, and can log in as another", ["oauth: a user without a tag is told that the console is not for it, and another may log in"]],
  ["oauth/with-basic-auth/landing", "both ways to log in are offered", ["oauth: the page of the login offers both ways, and warns of nothing"]],
  ["oauth/with-basic-auth/happy-login", "both ways log in, and outlive a reload", ["oauth: a login at the provider leads to the place of the address, outlives a reload, and ends"]],
  ["oauth/with-basic-auth/unauthorized", "a user without a tag is told so", ["oauth: a user without a tag is told that the console is not for it, and another may log in"]],
  ["oauth/with-idp-down/landing", "a provider that is down is said", ["oauth: a provider that is down is said where there is no other way to log in"]],
  ["oauth/with-basic-auth-idp-down/landing", "a provider that is down is said beside the form", ["oauth: a provider that is down is said, and a name and a password still log in"]],
  ["oauth/with-basic-auth-idp-down/happy-login", "and a name and a password log in", ["oauth: a provider that is down is said, and a name and a password still log in"]],
  // OAuth 2: the user begins at the provider.
  ["oauth/with-idp-initiated/landing", "the login leads to the provider's own page", ["oauth: where logins begin at the provider the button leads there"]],
  ["oauth/with-idp-initiated/oauth-return-to", "after a login the page is that which was asked for last, and a visit to the beginning leads there", ["oauth: a login leads to the place that was asked for last", "oauth: a login at the provider leads to the place of the address, outlives a reload, and ends"]],
  ["oauth/with-idp-initiated/token-expires", "when the token ends a login is asked for", ["oauth: a token that ends and is not renewed ends the session, and the place is kept"]],
  ["oauth/with-idp-initiated/happy-login", "a page of the provider posts a token, which logs in", { not: "refused on purpose: any page could log a browser in as another user (docs/http-api.md)" }],
  ["oauth/with-idp-initiated/logout", "a logout leads to the provider's page", { not: "such a session does not exist here, see above" }],
  ["oauth/with-idp-initiated/unauthorized", "a token without a tag that is posted is refused", { not: "every token that is posted is refused, see above" }],
  ["oauth/with-idp-initiated-via-proxy/happy-login", "a proxy adds the token to each request", { not: "the console takes sessions only; the API takes such a token (tests/api/test_backends.py)" }],
  ["oauth/with-idp-initiated-via-proxy/logout", "a logout behind such a proxy", { not: "see above" }],
  // OAuth 2: several resource servers.
  ["oauth/with-multi-resources/landing", "several resource servers are offered in order", ["oauth: of several resource servers that are not disabled one is chosen by its label"]],
  ["oauth/with-multi-resources/happy-login", "the user logs in for one of them", ["oauth: of several resource servers that are not disabled one is chosen by its label"]],
  ["multi-oauth/with-basic-auth/landing", "two resource servers and the form are offered", ["oauth: of several resource servers that are not disabled one is chosen by its label"]],
  ["multi-oauth/with-basic-auth/landing-with-login-preferences", "a parameter of the address chooses one way to log in, or forces it", { not: "the address chooses no way to log in: each has its button" }],
  ["multi-oauth/with-basic-auth/happy-login", "a name and a password log in beside them", ["oauth: a login at the provider leads to the place of the address, outlives a reload, and ends"]],
  ["multi-oauth/without-basic-auth/landing", "those that are disabled are not offered, nor is the form", ["oauth: of several resource servers that are not disabled one is chosen by its label", "oauth: where names and passwords are refused there is no form for them"]],
  ["multi-oauth/without-basic-auth/happy-login", "the user logs in for one of those that are not disabled", ["oauth: of several resource servers that are not disabled one is chosen by its label"]],
  ["multi-oauth/with-basic-auth-idps-down/landing", "providers that are down are said", ["oauth: a provider that is down is said, and a name and a password still log in"]],
  ["multi-oauth/with-basic-auth-idps-down/happy-login", "and a name and a password log in", ["oauth: a provider that is down is said, and a name and a password still log in"]],
  // Without a page.
  ["prometheus/can-scrape", "a token with the tag monitoring may scrape metrics", { elsewhere: "tests/prometheus/test_listener.py, by a name and a password" }],
  ["prometheus/cannot-scrape", "one without may not", { elsewhere: "tests/prometheus/test_listener.py, by a name and a password" }],
  ["authnz-msg-protocols/amqp10", "clients of AMQP 1.0 log in by each back end", { not: "no AMQP 1.0; logins of AMQP 0-9-1 are in tests/api/test_backends.py" }],
  ["authnz-msg-protocols/mqtt", "clients of MQTT log in by each back end", { not: "no MQTT" }],
];

/** The scenarios that are named and do not exist, and how many intents there are of each kind. @param {Set<string>} names of all scenarios */
export function compare(names) {
  const covered = INTENTS.filter(([, , by]) => Array.isArray(by));
  const missing = covered.flatMap(([intent, , by]) => by.filter((name) => !names.has(name)).map((name) => `${intent}: ${name}`));
  const elsewhere = INTENTS.filter(([, , by]) => "elsewhere" in by).length;
  return { missing, said: `of RabbitMQ's ${INTENTS.length} scenarios ${covered.length} are covered here, ${elsewhere} by other suites, ${INTENTS.length - covered.length - elsewhere} are not, each for a reason` };
}
