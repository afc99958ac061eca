// One exchange: RabbitMQ's page of an exchange, in tabs.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { partOfObject } from "../live.js";
import { Boundary } from "../parts/boundary.js";
import { ask } from "../parts/dialog.js";
import { isDelaying, isPredeclared } from "../parts/exchange_form.js";
import { Heading, Section, Tabs } from "../parts/heading.js";
import { HistoryChoice, historyQuery } from "../parts/history.js";
import { h, html } from "../parts/html.js";
import { DEFAULT_EXCHANGE } from "../parts/links.js";
import { Note, say } from "../parts/note.js";
import { useNewer } from "../parts/newer.js";
import { isMissing, NotHere } from "../parts/not_here.js";
import { keyOf } from "../parts/object_key.js";
import { usePermitted } from "../parts/permitted.js";
import { PublishForm } from "../parts/publish.js";
import { FavouriteButton } from "../parts/saved.js";
import { useKept, useResource } from "../resource.js";
import { exchangeName, exchangeSegment, go, place } from "../route.js";
import { may } from "../session.js";
import { ExchangeBindings } from "./exchange_bindings.js";
import { DelayedMessages } from "./exchange_delayed.js";
import { ExchangeOverview } from "./exchange_overview.js";
import { ObjectPolicies } from "./queue_policies.js";

/** More messages than this are much: their deletion takes the exchange's name, typed. */
const MUCH = 1000;

/** @param {{ values: string[] }} props */
export default function Exchange({ values: [vhost = "", segment = ""] }) {
  const name = exchangeName(segment);
  const title = name === "" ? DEFAULT_EXCHANGE : name;
  const tab = place.value.query.get("tab") ?? "overview";
  const of = pathOf`api/exchanges/${vhost}/${segment}`;
  const resource = useKept(useResource(`${of}?${historyQuery(["msg_rates"])}`));
  const { error, reload } = resource;
  const exchange = useNewer(partOfObject("exchange", vhost, name), resource);
  const mayConfigure = usePermitted("configure", { vhost, exchange: segment });
  const mayPublish = usePermitted("publish", { vhost, exchange: segment });
  if (!exchange || isMissing(error)) return h(NotHere, { error, kind: "Exchange", title, above: [["Exchanges", ["exchanges"]]] });
  const hasDelayed = may("administrator") && isDelaying(exchange);
  const tabs = /** @type {[string, string][]} */ ([["overview", "Overview"], ["bindings", "Bindings"], ...(mayPublish && !exchange.internal ? [["publish", "Publish"]] : []),
    ...(hasDelayed ? [["delayed", `Delayed messages (${(exchange.messages_delayed ?? 0).toLocaleString("en")})`]] : []), ["policies", "Policies"]]);
  const content = () => {
    switch (tab) {
      case "bindings":
        return h(ExchangeBindings, { vhost, name });
      case "publish":
        return h(Section, { title: "Publish a message", children: h(PublishForm, { vhost, exchange: name, isDelaying: isDelaying(exchange), onPublished: reload }) });
      case "delayed":
        return may("administrator") ? h(DelayedMessages, { vhost, name, exchange, reload }) : html`<p class="empty">Delayed messages are for administrators.</p>`;
      case "policies":
        return h(ObjectPolicies, { kind: "exchange", vhost, name: segment, object: exchange });
      default:
        return h(ExchangeOverview, { exchange });
    }
  };
  return html`
    ${h(Heading, { title, kind: "Exchange", above: [["Exchanges", ["exchanges"]]], children: html`
      ${tab === "overview" && h(HistoryChoice, {})}
      <${FavouriteButton} list="exchanges" of=${keyOf({ vhost, name })} name=${`${title} in ${vhost}`} />
      ${mayConfigure && !isPredeclared(name) && html`<button type="button" class="harmful" onClick=${() => remove(exchange)}>Delete exchange</button>`}` })}
    ${error !== undefined && h(Note, { error })}
    ${h(Tabs, { label: "Parts of the page", tabs })}
    ${h(Boundary, { key: tab, children: content() })}`;
}

/** @param {any} exchange */
async function remove({ vhost, name, messages_delayed: delayed = 0 }) {
  const isDone = await ask({
    title: "Delete the exchange?", act: "Delete exchange", isHarmful: true, word: delayed > MUCH ? name : undefined,
    text: html`<p><bdi>${name}</bdi> is deleted for good, with its bindings${delayed > 0 && html` and <b>${delayed.toLocaleString("en")} delayed ${delayed === 1 ? "message" : "messages"}</b>`}. A client that publishes to it afterwards loses its channel.</p>`,
    run: () => change("DELETE", pathOf`api/exchanges/${vhost}/${exchangeSegment(name)}`),
  });
  if (!isDone) return;
  say(`The exchange ${name} is deleted.`);
  go(["exchanges"]);
}
