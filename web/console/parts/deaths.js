// The way of a dead letter: where it died, of what, how often, until it came here.

import { href } from "../route.js";
import { Time } from "./figure.js";
import { h } from "./html.js";
import { Name } from "./name.js";

/** @type {Record<string, string>} */
const REASONS = {
  rejected: "Rejected by a consumer", expired: "Expired", maxlen: "Dropped because the queue was too long", delivery_limit: "Given up after too many deliveries",
};

/** @param {{ deaths: unknown, vhost: string, here?: string }} props deaths: the header x-death, the last death first; here: the queue in which it is now */
export function DeathPath({ deaths, vhost, here }) {
  if (!Array.isArray(deaths) || deaths.length === 0) return null;
  const link = (/** @type {unknown} */ name) => h("a", { href: href(["queues", vhost, String(name)]) }, h(Name, { name: String(name) }));
  return h("ol", { class: "deaths", "aria-label": "Where it died" },
    [...deaths].reverse().map((death, index) => h("li", { key: String(index) },
      h("b", {}, REASONS[death?.reason] ?? String(death?.reason)), " in ", link(death?.queue),
      death?.count > 1 ? `, ${death.count} times` : "", ", ", typeof death?.time === "number" ? h(Time, { at: death.time * 1000 }) : h(Time, { at: death?.time }),
      h("div", { class: "about" }, "It had come by ", death?.exchange ? h("bdi", {}, `the exchange ${death.exchange}`) : "the default exchange",
        " with the key ", h("bdi", { class: "mono" }, (Array.isArray(death?.["routing-keys"]) ? death["routing-keys"] : []).join(", ") || "(empty)")))),
    here !== undefined && h("li", { key: "here" }, "Now in ", link(here)));
}
