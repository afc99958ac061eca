// Parameters: those of a component in a virtual host, and those of the whole broker.

import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { Section, Tabs, chosenTab } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { say } from "../parts/note.js";
import { withoutPasswords } from "../parts/settings.js";
import { useVhosts } from "../parts/vhosts.js";
import { useResource } from "../resource.js";
import { Admin } from "./admin_frame.js";
import { choiceOf } from "./permissions.js";

/** @type {[string, string][]} */
const TABS = [["runtime", "Runtime parameters"], ["global", "Global parameters"]];

/** Parameters with pages of their own, which say what they mean. @type {Record<string, [string, string]>} */
const PAGES = { operator_policy: ["Policies", "#/policies?tab=operator-policies"], shovel: ["Shovel Management", "#/dynamic-shovels"], "federation-upstream": ["Federation Upstreams", "#/federation-upstreams"], "federation-upstream-set": ["Federation Upstreams", "#/federation-upstreams?tab=sets"], policy: ["Policies", "#/policies"], "vhost-limits": ["Limits", "#/limits"], "user-limits": ["Limits", "#/limits"] };

export default function Parameters() {
  return h(Admin, { title: "Parameters", children: [
    h("p", { key: "about" }, "Parameters are settings that the broker keeps, and that can be changed while it runs. Policies, limits, shovels, upstreams and alerts have pages of their own."),
    h(Tabs, { key: "tabs", label: "Kinds of parameters", tabs: TABS }),
    chosenTab(TABS) === "global" ? h(Global, { key: "global" }) : h(Runtime, { key: "runtime" }),
  ] });
}

/** @param {string} text */
function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("The value is not JSON. A text needs quotation marks, as in \"text\".");
  }
}

/** @param {any} value */
function shown(value) {
  const text = JSON.stringify(withoutPasswords(value));
  return h("code", { title: text }, text);
}

function Runtime() {
  const { data, error, reload } = useResource("api/parameters", 10_000);
  const names = useVhosts();
  const set = async (/** @type {any} */ values) => {
    const { vhost = names[0] ?? "/", component, name } = values;
    await change("PUT", pathOf`api/parameters/${component}/${vhost}/${name}`, { component, vhost, name, value: valueOf(values.value ?? "") });
    say(`The parameter ${name} is set.`);
    await reload();
  };
  const remove = async (/** @type {any} */ row) => {
    const isYes = await ask({ title: "Delete the parameter", act: "Delete", isHarmful: true, run: () => change("DELETE", pathOf`api/parameters/${row.component}/${row.vhost}/${row.name}`),
      text: html`<p><bdi>${row.name}</bdi> of ${row.component} in the virtual host <bdi>${row.vhost}</bdi>.</p>` });
    if (!isYes) return;
    say("The parameter is deleted.");
    await reload();
  };
  /** @type {import("../parts/table.js").Column<any>[]} */
  const columns = [
    { id: "component", title: "Component", sort: "component", cell: ({ component }) => (PAGES[component] ? html`<a href=${PAGES[component]?.[1]} title=${`on the page ${PAGES[component]?.[0]}`}>${component}</a>` : component) },
    { id: "vhost", title: "Virtual host", sort: "vhost", cell: ({ vhost }) => h("bdi", {}, vhost) },
    { id: "name", title: "Name", sort: "name", cell: ({ name }) => h("bdi", {}, name) },
    { id: "value", title: "Value", cell: ({ value }) => shown(value) },
    { id: "delete", title: "Delete", cell: (row) => (/policy$/.test(row.component) ? html`<a href=${PAGES[row.component]?.[1] ?? "#/policies"}>on its page</a>` : html`<button type="button" class="harmful" aria-label=${`Delete ${row.name} of ${row.component} in ${row.vhost}`} onClick=${() => remove(row)}>Delete</button>`) },
  ];
  return html`
    ${h(List, { label: "Runtime parameters", rows: data, error, columns, keyOf: (row) => `${row.component}/${row.vhost}/${row.name}`, by: "component", height: "60vh", empty: "There is no runtime parameter. Limits, operator policies, shovels and upstreams of federation appear here." })}
    ${names.length > 0 && h(Section, { title: "Add or change a runtime parameter", isClosed: true, children: h(Form, { label: "Add or change a runtime parameter", act: "Set parameter", onSubmit: set, fields: [
      { name: "component", label: "Component", isRequired: true, placeholder: "vhost-limits", help: "vhost-limits, shovel, federation-upstream or federation-upstream-set. Policies have a page of their own." },
      { name: "vhost", label: "Virtual host", ...choiceOf(names) },
      { name: "name", label: "Name", isRequired: true },
      { name: "value", label: "Value", kind: "area", isRequired: true, placeholder: "{\"max-connections\": 100}", help: "JSON. It replaces the whole existing value." },
    ] }) })}`;
}

function Global() {
  const { data, error, reload } = useResource("api/global-parameters", 10_000);
  const set = async (/** @type {any} */ values) => {
    await change("PUT", pathOf`api/global-parameters/${values.name}`, { name: values.name, value: valueOf(values.value ?? "") });
    say(`The global parameter ${values.name} is set.`);
    await reload();
  };
  const remove = async (/** @type {any} */ row) => {
    const isYes = await ask({ title: "Delete the global parameter", act: "Delete", isHarmful: true, text: html`<p><bdi>${row.name}</bdi></p>`, run: () => change("DELETE", pathOf`api/global-parameters/${row.name}`) });
    if (!isYes) return;
    say("The global parameter is deleted.");
    await reload();
  };
  /** @type {import("../parts/table.js").Column<any>[]} */
  const columns = [
    { id: "name", title: "Name", sort: "name", cell: ({ name }) => (name.startsWith("warren-alerts.") ? html`<a href="#/alerts?tab=rules" title="on the page Alerts"><bdi>${name}</bdi></a>` : h("bdi", {}, name)) },
    { id: "value", title: "Value", cell: ({ name, value }) => (name.startsWith("warren-alerts.webhooks.") ? html`<span class="about">not shown: it may have a secret</span>` : shown(value)) },
    { id: "delete", title: "Delete", cell: (row) => html`<button type="button" class="harmful" aria-label=${`Delete ${row.name}`} onClick=${() => remove(row)}>Delete</button>` },
  ];
  return html`
    ${h(List, { label: "Global parameters", rows: data, error, columns, keyOf: (row) => row.name, by: "name", height: "60vh", empty: "There is no global parameter." })}
    ${h(Section, { title: "Add or change a global parameter", isClosed: true, children: h(Form, { label: "Add or change a global parameter", act: "Set global parameter", onSubmit: set, fields: [
      { name: "name", label: "Name", isRequired: true },
      { name: "value", label: "Value", kind: "area", isRequired: true, help: "JSON. A text stands in quotation marks." },
    ] }) })}`;
}
