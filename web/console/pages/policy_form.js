// The form of a policy. Before it is saved, it is shown what it would change.

import { useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { Form } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { attempt } from "../parts/note.js";
import { choiceOf } from "./permissions.js";
import { aboutKey, APPLY_TO, POLICY_KEYS } from "./policy_keys.js";
import { nounOf, policyPath, previewOf } from "./policy_kinds.js";
import { PolicyPreview } from "./policy_preview.js";

/** @typedef {{ key: string, text: string }} Setting */

/** Settings, as they are entered. @param {Record<string, any>} definition @returns {Setting[]} */
const settingsOf = (definition) => Object.entries(definition).map(([key, value]) => ({ key, text: typeof value === "string" ? value : JSON.stringify(value) }));

/** What was entered, as the API takes it. @param {Setting[]} settings */
function definitionOf(settings) {
  return Object.fromEntries(settings.filter(({ key }) => key.trim() !== "").map(({ key, text }) => [key.trim(), valueOf(key.trim(), text)]));
}

/** @param {string} key @param {string} text */
function valueOf(key, text) {
  const kind = POLICY_KEYS.find((one) => one.key === key)?.kind;
  if (kind === "text") return text;
  if (kind === "boolean") return text === "true";
  if (kind === "number") {
    if (text.trim() === "" || Number.isNaN(Number(text))) throw new Error(`${key} is a number, not “${text}”.`);
    return Number(text);
  }
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * @param {{ kind: import("./policy_kinds.js").PolicyKind, vhosts: string[], known?: import("./policy_kinds.js").Policy, onDone: (vhost: string, name: string) => unknown }} props
 * known: the policy that is changed; absent: one is added
 */
export function PolicyForm({ kind, vhosts, known, onDone }) {
  const [settings, setSettings] = useState(() => settingsOf(known?.definition ?? {}));
  const [seen, setSeen] = useState(/** @type {{ vhost: string, name: string, body: any, preview: any } | null} */ (null));
  const noun = nounOf(kind);
  const look = async (/** @type {any} */ values) => {
    const { vhost, name } = known ?? { vhost: values.vhost ?? vhosts[0] ?? "/", name: values.name };
    const body = { pattern: values.pattern, "apply-to": values["apply-to"] ?? "all", priority: Number(values.priority ?? 0), definition: definitionOf(settings) };
    setSeen({ vhost, name, body, preview: await previewOf(kind, vhost, name, body) });
  };
  const save = async () => {
    if (!seen) return;
    const { vhost, name, body } = seen;
    if (!(await attempt(() => change("PUT", policyPath(kind, vhost, name), body), `The ${noun} ${name} is in force.`))) return;
    setSeen(null);
    if (!known) setSettings([]);
    await onDone(vhost, name);
  };
  const initial = known ? { pattern: known.pattern, "apply-to": known["apply-to"], priority: String(known.priority) } : { pattern: "", priority: "0" };
  return html`
    ${h(Form, {
      label: known ? `Change the ${noun}` : `Add ${kind === "policies" ? "a policy" : "an operator policy"}`, act: "Preview", keeps: true, initial, onSubmit: look, onChange: () => setSeen(null),
      fields: [
        .../** @type {import("../parts/form.js").Field[]} */ (known ? [] : [{ name: "vhost", label: "Virtual host", ...choiceOf(vhosts) }, { name: "name", label: "Name", isRequired: true }]),
        { name: "pattern", label: "Pattern", isRequired: true, placeholder: "^orders\\.", help: "A regular expression that matches anywhere in a name. ^orders$ is one name, .* is all." },
        { name: "apply-to", label: "Apply to", kind: "select", options: APPLY_TO },
        { name: "priority", label: "Priority", kind: "number", help: "If several match, the one with the highest priority applies." },
      ],
      children: h(Definition, { kind, settings, onInput: (now) => (setSettings(now), setSeen(null)) }),
    })}
    ${seen && html`<section aria-label="Preview"><h3>${known ? "What the change does" : "What it does"}</h3>
      ${h(PolicyPreview, { key: JSON.stringify(seen.body), preview: seen.preview, vhost: seen.vhost, more: (after) => previewOf(kind, seen.vhost, seen.name, seen.body, after) })}
      <p class="acts"><button type="button" class="main" onClick=${save}>Save ${noun}</button><button type="button" onClick=${() => setSeen(null)}>Not yet</button></p></section>`}`;
}

/** @param {{ kind: import("./policy_kinds.js").PolicyKind, settings: Setting[], onInput: (settings: Setting[]) => void }} props */
function Definition({ kind, settings, onInput }) {
  const offered = POLICY_KEYS.filter((key) => kind === "policies" || key.isOperators);
  const rows = [...settings, { key: "", text: "" }];
  const set = (/** @type {number} */ index, /** @type {Partial<Setting>} */ part) => {
    const now = rows.map((row, at) => (at === index ? { ...row, ...part } : row));
    onInput(now.filter(({ key, text }) => key !== "" || text !== ""));
  };
  // Arrows choose one key after the other: it is added by a button.
  const [chosen, setChosen] = useState("");
  const add = () => {
    const found = POLICY_KEYS.find(({ key }) => key === chosen);
    if (found && !settings.some(({ key }) => key === chosen)) onInput([...settings, { key: chosen, text: found.options?.[0] ?? (found.kind === "boolean" ? "true" : "") }]);
    setChosen("");
  };
  return html`<fieldset class="choices"><legend>Definition</legend>
    <div class="adding"><label><span>Add a key</span> <select value=${chosen} onChange=${(/** @type {any} */ event) => setChosen(event.currentTarget.value)}><option value="">…</option>${offered.map(({ key, about, of }) => html`<option value=${key}>${key}: ${about}${of ? ` (${of})` : ""}</option>`)}</select></label>
      <button type="button" aria-disabled=${chosen === ""} onClick=${add}>Add key</button></div>
    ${rows.map((row, index) => html`<div class="argument" key=${index}>
      <input aria-label=${`Key ${index + 1}`} value=${row.key} autocomplete="off" spellcheck=${false} placeholder="key" onInput=${(/** @type {any} */ event) => set(index, { key: event.currentTarget.value })} />
      ${h(ValueField, { row, index, onInput: (text) => set(index, { text }) })}
      ${index < settings.length ? html`<button type="button" aria-label=${`Remove ${row.key || `key ${index + 1}`}`} onClick=${() => onInput(settings.filter((_, at) => at !== index))}>✕</button>` : html`<span></span>`}
    </div>${aboutKey(row.key) && html`<p class="about">${row.key}: ${aboutKey(row.key)}</p>`}`)}
  </fieldset>`;
}

/** @param {{ row: Setting, index: number, onInput: (text: string) => void }} props */
function ValueField({ row, index, onInput }) {
  const known = POLICY_KEYS.find(({ key }) => key === row.key);
  const options = known?.options ?? (known?.kind === "boolean" ? ["true", "false"] : undefined);
  const label = `Value of ${row.key || `key ${index + 1}`}`;
  const take = (/** @type {any} */ event) => onInput(event.currentTarget.value);
  if (options) return html`<select aria-label=${label} value=${row.text} onChange=${take}>${(options.includes(row.text) ? options : [row.text, ...options]).map((one) => html`<option value=${one}>${one}</option>`)}</select>`;
  return html`<input aria-label=${label} value=${row.text} inputmode=${known?.kind === "number" ? "numeric" : undefined} autocomplete="off" spellcheck=${false} placeholder=${row.key === "" ? "value" : (known?.kind ?? "JSON or text")} onInput=${take} />`;
}
