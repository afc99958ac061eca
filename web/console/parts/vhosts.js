// The virtual host that a list is limited to.

import { useResource } from "../resource.js";
import { place, setQuery } from "../route.js";
import { h } from "./html.js";

/** More than these are entered by name, and not chosen of a list. */
const CHOICES_MAX = 100;

/** Names of the virtual hosts that the user sees. @returns {string[]} */
export function useVhosts() {
  const { data } = useResource("api/vhosts?columns=name", 60_000);
  return Array.isArray(data) ? data.map((/** @type {{ name: string }} */ one) => one.name) : [];
}

/** @param {{ vhosts: string[] }} props */
export function VhostChoice({ vhosts }) {
  const vhost = place.value.query.get("vhost") ?? "";
  const choose = (/** @type {any} */ event) => setQuery({ vhost: event.currentTarget.value });
  if (vhosts.length > CHOICES_MAX) {
    return h("label", {}, "Virtual host ", h("input", { value: vhost, placeholder: "all", autocomplete: "off", spellcheck: false, onChange: choose }));
  }
  const names = vhost === "" || vhosts.includes(vhost) ? vhosts : [vhost, ...vhosts];
  return h("label", {}, "Virtual host ", h("select", { value: vhost, onChange: choose },
    h("option", { value: "" }, "all"), names.map((name) => h("option", { key: name, value: name }, name))));
}
