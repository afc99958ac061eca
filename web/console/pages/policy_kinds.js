// Policies of users and of operators: the same in all but who may change them, what they may set, and where they are.

import { change, sentenceOf } from "../api.js";
import { path as pathOf, withQuery } from "../address.js";
import { ask } from "../parts/dialog.js";
import { h, html } from "../parts/html.js";
import { say } from "../parts/note.js";
import { PolicyPreview } from "./policy_preview.js";

/**
 * @typedef {"policies" | "operator-policies"} PolicyKind
 * @typedef {{ vhost: string, name: string, pattern: string, "apply-to": string, definition: Record<string, any>, priority: number }} Policy
 */

/** @param {PolicyKind} kind */
export const nounOf = (kind) => (kind === "policies" ? "policy" : "operator policy");

/** @param {PolicyKind} kind @param {string} vhost @param {string} name */
export const policyPath = (kind, vhost, name) => (kind === "policies" ? pathOf`api/policies/${vhost}/${name}` : pathOf`api/operator-policies/${vhost}/${name}`);

/**
 * What would change, and the next page of it.
 * @param {PolicyKind} kind @param {string} vhost @param {string} name @param {any} body @param {string} [after]
 */
export const previewOf = (kind, vhost, name, body, after) => change("POST", withQuery(`${policyPath(kind, vhost, name)}/preview`, { after }), body);

/** Asks with what would change, and deletes. True: it is deleted. @param {PolicyKind} kind @param {Policy} policy */
export async function deletePolicy(kind, { vhost, name }) {
  const preview = await previewOf(kind, vhost, name, { delete: true }).catch((error) => void say(sentenceOf(error), "error"));
  if (!preview) return false;
  const isYes = await ask({
    title: `Delete the ${nounOf(kind)} ${name}`, act: "Delete", isHarmful: true, word: (preview.changed_count ?? 0) > 100 ? name : undefined,
    text: html`<p>In the virtual host <bdi>${vhost}</bdi>. What matches gets the next policy that matches, or none.</p>${h(PolicyPreview, { preview, more: (after) => previewOf(kind, vhost, name, { delete: true }, after) })}`,
    run: () => change("DELETE", policyPath(kind, vhost, name)),
  });
  if (isYes) say(`The ${nounOf(kind)} ${name} is deleted.`);
  return isYes;
}
