// What is around the pages of the tab Admin: a menu at the side with what RabbitMQ's has for a user with these tags. Links lead to the other
// pages, too, which show what the API lets the user see.

import { Heading } from "../parts/heading.js";
import { h } from "../parts/html.js";
import { href, place } from "../route.js";
import { may } from "../session.js";

/** @type {{ path: string, title: string, role: import("../pages.js").Role, also?: string }[]} */
export const ADMIN = [
  { path: "users", title: "Users", role: "administrator" },
  { path: "vhosts", title: "Virtual Hosts", role: "administrator" },
  { path: "policies", title: "Policies", role: "management", also: "operator-policies" },
  { path: "limits", title: "Limits", role: "management" },
  { path: "parameters", title: "Parameters", role: "policymaker" },
  { path: "shovels", title: "Shovel Status", role: "monitoring" },
  { path: "dynamic-shovels", title: "Shovel Management", role: "policymaker" },
  { path: "federation", title: "Federation Status", role: "monitoring" },
  { path: "federation-upstreams", title: "Federation Upstreams", role: "policymaker" },
  { path: "definitions", title: "Definitions", role: "administrator" },
  { path: "permissions-check", title: "Permissions check", role: "management" },
  { path: "feature-flags", title: "Feature Flags", role: "administrator" },
  { path: "deprecated-features", title: "Deprecated Features", role: "administrator" },
  { path: "audit", title: "Audit", role: "administrator" },
];

/** @param {{ title: string, kind?: string, above?: [string, string[]][], acts?: any, children?: any }} props */
export function Admin({ title, kind, above, acts, children }) {
  const [here] = place.value.path;
  const entries = ADMIN.filter(({ role }) => may(role));
  return h("div", { class: "admin" },
    h("nav", { "aria-label": "Admin" }, h("ul", {}, entries.map(({ path, title: text, also }) =>
      h("li", { key: path }, h("a", { href: href([path]), "aria-current": path === here || also === here ? "page" : undefined }, text))))),
    h("div", {}, h(Heading, { title, kind, above, children: acts }), children));
}
