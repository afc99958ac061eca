// Definitions: exported, compared with the broker, imported, and pruned of what they do not have.

import { useState } from "../../vendor/modules/hooks.js";
import { change, sentenceOf } from "../api.js";
import { address, path as pathOf, withQuery } from "../address.js";
import { ask } from "../parts/dialog.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Note, say } from "../parts/note.js";
import { useVhosts } from "../parts/vhosts.js";
import { Admin } from "./admin_frame.js";
import { countOf, Difference, LeftOut, Pruned } from "./definitions_diff.js";

/** More virtual hosts than these are entered by name. */
const CHOICES_MAX = 100;

export default function Definitions() {
  const names = useVhosts();
  return h(Admin, { title: "Definitions", children: [
    h("p", { key: "about" }, "Users, virtual hosts, permissions, parameters, policies, exchanges, queues and bindings, as one JSON document. Documents of RabbitMQ can be imported, and RabbitMQ can import these. Messages are not included."),
    h(Section, { key: "export", title: "Export", children: h(Export, { names }) }),
    h(Section, { key: "import", title: "Compare and import", children: h(Import, { names }) }),
  ] });
}

/** @param {{ names: string[] }} props */
function Export({ names }) {
  const [vhost, setVhost] = useState("");
  const file = `${vhost === "" ? "definitions" : `definitions_${vhost.replaceAll(/[^\w.-]+/g, "_")}`}.json`;
  const link = address(withQuery(vhost === "" ? "api/definitions" : pathOf`api/definitions/${vhost}`, { download: file }));
  return html`<div class="acts"><label class="acts">Of ${h(VhostChoice, { names, value: vhost, onInput: setVhost, otherwise: "everything" })}</label>
    <a class="button main" href=${link} download=${file}>Download definitions</a></div>
    <p class="about">The document contains password hashes, and secrets of webhooks. That of one virtual host contains neither users nor permissions.</p>`;
}

/** @param {{ names: string[], value: string, onInput: (value: string) => void, otherwise: string }} props */
function VhostChoice({ names, value, onInput, otherwise }) {
  const take = (/** @type {any} */ event) => onInput(event.currentTarget.value);
  if (names.length > CHOICES_MAX) return html`<input aria-label="Virtual host" value=${value} placeholder=${otherwise} autocomplete="off" spellcheck=${false} onChange=${take} />`;
  return html`<select aria-label="Virtual host" value=${value} onChange=${take}><option value="">${otherwise}</option>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select>`;
}

/** @param {{ names: string[] }} props */
function Import({ names }) {
  const [text, setText] = useState("");
  const [file, setFile] = useState(/** @type {{ name: string, text: string } | null} */ (null));
  const [vhost, setVhost] = useState("");
  const [isSkipping, setSkipping] = useState(false);
  const [found, setFound] = useState(/** @type {{ kind: string, data?: any, error?: string } | null} */ (null));
  const [isRunning, setRunning] = useState(false);
  const path = vhost === "" ? "api/definitions" : pathOf`api/definitions/${vhost}`;
  const forget = () => setFound(null);

  const document = () => {
    const given = file?.text ?? text;
    if (given.trim() === "") throw new Error("Choose a file, or paste a document.");
    try {
      return JSON.parse(given);
    } catch (error) {
      throw new Error(`The document is not JSON: ${sentenceOf(error)}`);
    }
  };
  /** Does something with the document, and shows what comes of it. @param {string} kind @param {(body: any) => Promise<any>} act */
  const run = async (kind, act) => {
    setRunning(true);
    try {
      setFound({ kind, data: await act(document()) });
    } catch (error) {
      setFound({ kind, error: sentenceOf(error) });
    }
    setRunning(false);
  };
  const compare = () => run("diff", (body) => change("POST", vhost === "" ? "api/definitions/diff" : `${path}/diff`, body));
  const bring = () => run("imported", async (body) => {
    const isYes = await ask({ title: "Import the definitions", act: "Import", text: html`<p>${vhost === "" ? "Everything in the document" : html`What is in the document, into <bdi>${vhost}</bdi>,`} is added or changed. Nothing is deleted, and queues and exchanges that are there stay as they are.</p>${found?.kind === "diff" && found.data && html`<p>${sumOf(found.data.counts?.added)} to add, ${sumOf(found.data.counts?.changed)} to change.</p>`}` });
    if (!isYes) return found?.kind === "diff" ? found.data : { isCancelled: true };
    const answer = await change("POST", withQuery(path, { skip_unsupported: isSkipping }), body);
    say("The definitions are imported.");
    return { imported: answer ?? {} };
  });
  const dryRun = () => run("prune", (body) => change("POST", withQuery(path, { prune: "dry-run" }), body));
  const prune = () => run("pruned", async (body) => {
    const count = countOf(found?.data?.deleted);
    let answer;
    const isYes = await ask({ title: "Import and prune", act: "Import and prune", isHarmful: true, word: "prune", text: html`<p>The document is imported, and <strong>${count.toLocaleString("en")}</strong> objects that are not in the document are deleted; queues with their messages.</p>`,
      run: async () => (answer = await change("POST", withQuery(path, { prune: "true" }), body)) });
    if (!isYes) return found?.data;
    say("The definitions are imported, and everything else is deleted.");
    return answer;
  });
  const take = async (/** @type {any} */ event) => {
    const [chosen] = event.currentTarget.files ?? [];
    forget();
    setFile(chosen ? { name: chosen.name, text: await chosen.text() } : null);
  };
  return html`<form class="form" aria-label="Compare and import" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), void compare())}>
      <div class="field"><label for="definitions-file">A file</label><input id="definitions-file" type="file" accept=".json,application/json" onChange=${take} /></div>
      ${!file && html`<div class="field"><label for="definitions-text">Or the document itself</label><textarea id="definitions-text" rows="6" spellcheck=${false} value=${text} onInput=${(/** @type {any} */ event) => (setText(event.currentTarget.value), forget())}></textarea></div>`}
      <div class="field"><span>Into</span>${h(VhostChoice, { names, value: vhost, onInput: (value) => (setVhost(value), forget()), otherwise: "the whole broker" })}</div>
      <div class="field checkbox"><input id="definitions-skip" type="checkbox" checked=${isSkipping} onChange=${(/** @type {any} */ event) => setSkipping(event.currentTarget.checked)} /><label for="definitions-skip">Leave out what is not supported</label>
        <p class="help">Streams, and what belongs to RabbitMQ's plugins. Without this, the whole import is refused if the document contains any of them. It cannot be combined with pruning.</p></div>
      <div class="acts"><button type="submit" class="main" aria-disabled=${isRunning}>Compare with the broker</button>
        <button type="button" aria-disabled=${isRunning} onClick=${bring}>Import…</button>
        <button type="button" aria-disabled=${isRunning} onClick=${dryRun}>See what a prune would delete</button></div>
    </form>
    ${found && h(Found, { found, prune, isRunning })}`;
}

/** @param {Record<string, number> | undefined} counts */
const sumOf = (counts) => Object.values(counts ?? {}).reduce((sum, count) => sum + count, 0).toLocaleString("en");

/** @param {{ found: { kind: string, data?: any, error?: string }, prune: () => void, isRunning: boolean }} props */
function Found({ found: { kind, data, error }, prune, isRunning }) {
  if (error !== undefined) return html`<div class="refusal">${error.split("\n").map((line) => h(Note, { children: line }))}</div>`;
  if (!data || data.isCancelled) return null;
  if (data.imported) return h(LeftOut, { names: data.imported.left_out ?? [] });
  if (data.added || data.changed || data.missing) return h(Difference, { diff: data });
  const count = countOf(data.deleted);
  return html`${h(Pruned, { answer: data })}
    ${kind === "prune" && count > 0 && html`<p class="acts"><button type="button" class="harmful" aria-disabled=${isRunning} onClick=${prune}>Import and prune…</button></p>`}`;
}
