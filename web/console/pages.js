// All pages: under which address, for which users, and the file that shows them, which is fetched when one goes there.

/**
 * @typedef {"management" | "monitoring" | "policymaker" | "administrator"} Role
 * @typedef {{ id: string, title: string, role: Role, also?: string[] }} Tab
 * @typedef {{ pattern: string, load: () => Promise<{ default: (props: { values: string[] }) => any }>, title?: string, role?: Role }} Page
 * also: first words of addresses that are beneath the tab. pattern: `:` stands for a value. title: pages that the palette offers.
 */

/** In RabbitMQ's order; ours after them. @type {Tab[]} */
export const TABS = [
  { id: "", title: "Overview", role: "management" },
  { id: "connections", title: "Connections", role: "management" },
  { id: "channels", title: "Channels", role: "management", also: ["consumers"] },
  { id: "exchanges", title: "Exchanges", role: "management", also: ["delayed"] },
  { id: "queues", title: "Queues", role: "management" },
  { id: "admin", title: "Admin", role: "management", also: ["users", "vhosts", "policies", "operator-policies", "operator_policies", "limits", "parameters", "shovels", "dynamic-shovels", "federation", "federation-upstreams", "definitions", "permissions-check", "feature-flags", "deprecated-features", "audit"] },
  { id: "alerts", title: "Alerts", role: "monitoring" },
  { id: "trace", title: "Trace", role: "administrator" },
  { id: "log", title: "Log", role: "administrator" },
  { id: "cluster", title: "Cluster", role: "monitoring", also: ["nodes", "cluster-name"] },
];

/** @type {Page[]} */
export const PAGES = [
  { pattern: "", load: () => import("./pages/overview.js"), title: "Overview" },
  { pattern: "connections", load: () => import("./pages/connections.js"), title: "Connections" },
  { pattern: "connections/:", load: () => import("./pages/connection.js") },
  { pattern: "channels", load: () => import("./pages/channels.js"), title: "Channels" },
  { pattern: "channels/:", load: () => import("./pages/channel.js") },
  { pattern: "consumers", load: () => import("./pages/consumers.js"), title: "Consumers" },
  { pattern: "trace", load: () => import("./pages/trace.js"), title: "Trace and profile", role: "administrator" },
  { pattern: "exchanges", load: () => import("./pages/exchanges.js"), title: "Exchanges" },
  { pattern: "exchanges/:/:", load: () => import("./pages/exchange.js") },
  { pattern: "delayed", load: () => import("./pages/delayed.js"), title: "Delayed messages" },
  { pattern: "queues", load: () => import("./pages/queues.js"), title: "Queues" },
  { pattern: "queues/:/:", load: () => import("./pages/queue.js") },
  { pattern: "admin", load: () => import("./pages/admin.js") },
  { pattern: "users", load: () => import("./pages/users.js"), title: "Users", role: "administrator" },
  { pattern: "users/:", load: () => import("./pages/user.js"), role: "administrator" },
  { pattern: "vhosts", load: () => import("./pages/vhosts.js"), title: "Virtual Hosts" },
  { pattern: "vhosts/:", load: () => import("./pages/vhost.js") },
  { pattern: "policies", load: () => import("./pages/policies.js"), title: "Policies" },
  { pattern: "policies/:/:", load: () => import("./pages/policy.js") },
  { pattern: "operator-policies/:/:", load: async () => ({ default: (await import("./pages/policy.js")).OperatorPolicy }) },
  { pattern: "operator_policies/:/:", load: async () => ({ default: (await import("./pages/policy.js")).OperatorPolicy }) },
  { pattern: "parameters", load: () => import("./pages/parameters.js"), title: "Parameters", role: "policymaker" },
  { pattern: "shovels", load: () => import("./pages/shovels.js"), title: "Shovel Status" },
  { pattern: "dynamic-shovels", load: () => import("./pages/dynamic_shovels.js"), title: "Shovel Management", role: "policymaker" },
  { pattern: "dynamic-shovels/:/:", load: () => import("./pages/shovel.js") },
  { pattern: "federation", load: () => import("./pages/federation.js"), title: "Federation Status" },
  { pattern: "federation-upstreams", load: () => import("./pages/federation_upstreams.js"), title: "Federation Upstreams", role: "policymaker" },
  { pattern: "federation-upstreams/:/:", load: () => import("./pages/federation_upstream.js"), role: "policymaker" },
  { pattern: "definitions", load: () => import("./pages/definitions.js"), title: "Definitions: export, import", role: "administrator" },
  { pattern: "permissions-check", load: () => import("./pages/permission_check.js"), title: "Permissions check: may a user do it?" },
  { pattern: "feature-flags", load: async () => ({ default: (await import("./pages/features.js")).FeatureFlags }), title: "Feature Flags" },
  { pattern: "deprecated-features", load: async () => ({ default: (await import("./pages/features.js")).DeprecatedFeatures }), title: "Deprecated Features" },
  { pattern: "audit", load: () => import("./pages/audit.js"), title: "Audit", role: "administrator" },
  { pattern: "log", load: () => import("./pages/log.js"), title: "Log", role: "administrator" },
  { pattern: "alerts", load: () => import("./pages/alerts.js"), title: "Alerts", role: "monitoring" },
  { pattern: "cluster", load: () => import("./pages/cluster.js"), title: "Cluster", role: "monitoring" },
  { pattern: "cluster-name", load: () => import("./pages/cluster.js"), role: "monitoring" },
  { pattern: "nodes/:", load: () => import("./pages/node.js"), role: "monitoring" },
  { pattern: "limits", load: () => import("./pages/limits.js"), title: "Limits" },
];

/** @param {string[]} path @returns {{ page: Page, values: string[] } | undefined} */
export function pageOf(path) {
  for (const page of PAGES) {
    const words = page.pattern.split("/").filter(Boolean);
    if (words.length !== path.length || !words.every((word, index) => word === ":" || word === path[index])) continue;
    return { page, values: path.filter((_, index) => words[index] === ":") };
  }
  return undefined;
}
