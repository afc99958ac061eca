// The virtual host that lists are limited to: the one that was chosen last holds for all of them, and is in their addresses.

import { useEffect } from "../../vendor/modules/hooks.js";
import { useResource } from "../resource.js";
import { place, setQuery } from "../route.js";
import { stored } from "../stored.js";
import { h } from "./html.js";

/** The one that was chosen last; empty: all. */
const chosen = stored("vhost", "", (/** @type {unknown} */ value) => typeof value === "string");

/** More than these are entered by name, and not chosen of a list. */
const CHOICES_MAX = 100;

/** Names of the virtual hosts that the user sees. @returns {string[]} */
export function useVhosts() {
  const { data } = useResource("api/vhosts?columns=name", 60_000);
  return Array.isArray(data) ? data.map((/** @type {{ name: string }} */ one) => one.name) : [];
}

/**
 * The virtual host that a page is limited to: as its address says, else the one that was chosen last, if it still exists.
 * @param {string[]} vhosts those that the user sees; empty as long as they are not known
 */
export function useVhostChosen(vhosts) {
  const { query } = place.value;
  const last = vhosts.length > 1 && vhosts.includes(chosen.value) ? chosen.value : "";
  const vhost = query.get("vhost") ?? last;
  useEffect(() => void (vhost !== "" && !query.has("vhost") && setQuery({ vhost })), [vhost, query]);
  return vhost;
}

/** With the one that is chosen first, for forms that begin with it. @param {string[]} vhosts @param {string} vhost */
export const chosenFirst = (vhosts, vhost) => (vhosts.includes(vhost) ? [vhost, ...vhosts.filter((one) => one !== vhost)] : vhosts);

/** @param {{ vhosts: string[] }} props */
export function VhostChoice({ vhosts }) {
  const vhost = useVhostChosen(vhosts);
  const choose = (/** @type {any} */ event) => {
    chosen.value = event.currentTarget.value;
    setQuery({ vhost: event.currentTarget.value, page: undefined });
  };
  if (vhosts.length > CHOICES_MAX) {
    return h("label", {}, "Virtual host ", h("input", { value: vhost, placeholder: "all", autocomplete: "off", spellcheck: false, onChange: choose }));
  }
  const names = vhost === "" || vhosts.includes(vhost) ? vhosts : [vhost, ...vhosts];
  return h("label", {}, "Virtual host ", h("select", { value: vhost, onChange: choose },
    h("option", { value: "" }, "all"), names.map((name) => h("option", { key: name, value: name }, name))));
}
