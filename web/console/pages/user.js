// One user: its tags, how it logs in, where it has which permissions, its limits.

import { ApiError, change } from "../api.js";
import { path as pathOf } from "../address.js";
import { ask } from "../parts/dialog.js";
import { Facts, Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { attempt, Note, say } from "../parts/note.js";
import { useResource } from "../resource.js";
import { exactly, go, href } from "../route.js";
import { user as me } from "../session.js";
import { Admin } from "./admin_frame.js";
import { LimitsOf } from "./limit_parts.js";
import { Permissions, TopicPermissions } from "./permissions.js";
import { aboutTag, tagsOf } from "./tags.js";
import { UserConnections } from "./user_connections.js";
import { UserForm } from "./user_form.js";

/** @type {[string, string[]][]} */
const ABOVE = [["Users", ["users"]]];

/** @param {{ values: string[] }} props */
export default function User({ values }) {
  const [name = ""] = values;
  const { data, error, reload } = useResource(pathOf`api/users/${name}`);
  const frame = (/** @type {any} */ children, /** @type {any} */ acts = undefined) => h(Admin, { title: name, kind: "User", above: ABOVE, acts, children });
  if (error instanceof ApiError && error.status === 404) return frame(html`<p class="empty">There is no such user. <a href="#/users">All users</a></p>`);
  if (!data) return frame(error ? h(Note, { error }) : html`<p class="awaited-text" role="status">Asking the broker…</p>`);
  const tags = tagsOf(data.tags);
  const isProtected = tags.includes("protected");
  const remove = async () => {
    const isYes = await ask({
      title: `Delete the user ${name}`, act: "Delete", isHarmful: true, word: name === me.value?.name ? name : undefined,
      text: html`<p>Its connections are closed, and its permissions and limits are deleted.</p>${name === me.value?.name && html`<p><strong>This is your own user.</strong></p>`}`,
      run: () => change("DELETE", pathOf`api/users/${name}`),
    });
    if (!isYes) return;
    say(`User ${name} is deleted.`);
    go(["users"]);
  };
  const clearSecond = async () => {
    await attempt(() => change("PUT", pathOf`api/users/${name}`, { password_hash: data.password_hash, hashing_algorithm: data.hashing_algorithm, tags: tags.join(","), second_password_hash: "" }), "Only one password is valid now.");
    await reload();
  };
  const acts = !isProtected && html`<button type="button" class="harmful" onClick=${remove}>Delete user</button>`;
  return frame(html`
    ${error && h(Note, { kind: "warning", error })}
    ${isProtected && h(Note, { kind: "hint", children: "This user is protected: it cannot be changed or deleted over HTTP. Operators on the host can do it, with warren ctl --data-dir." })}
    ${h(Facts, { facts: [
      ["Tags", tags.length > 0 ? tags.map((tag) => h("span", { key: tag, class: "badge", title: aboutTag(tag) }, tag)) : "none: it cannot use this console or the HTTP API"],
      ["Logs in with a password", data.password_hash ? "yes" : "no"],
      ["Hashing algorithm", data.password_hash && String(data.hashing_algorithm).replace("rabbit_password_hashing_", ""), data.hashing_algorithm],
    ] })}
    ${tags.length > 0 && html`<ul>${tags.map((tag) => html`<li><strong>${tag}</strong>: ${aboutTag(tag)}</li>`)}</ul>`}
    <p class="acts"><a class="button" href=${href(["permissions-check"], { user: name })}>What may this user do?</a>
      <a class="button" href=${href(["audit"], { user: exactly(name) })}>What this user did</a></p>
    ${h(Section, { title: "Permissions", about: "in which virtual host, on which names", children: h(Permissions, { of: { user: name } }) })}
    ${h(Section, { title: "Topic permissions", about: "with which routing keys", children: h(TopicPermissions, { of: { user: name } }), isClosed: true })}
    ${h(Section, { title: "Limits", children: h(LimitsOf, { kind: "user", of: name, limits: data.limits ?? {}, reload }), isClosed: Object.keys(data.limits ?? {}).length === 0 })}
    ${h(Section, { title: "Connections", children: h(UserConnections, { name }) })}
    ${!isProtected && h(Section, { title: "Change the user", about: "password and tags", isClosed: true, children: [
      h(UserForm, { key: `${data.password_hash} ${tags.join(",")}`, known: { ...data, tags }, onDone: reload }),
      h("h3", { key: "second" }, "Second password"),
      h("p", { key: "about" }, "While a password is being replaced, two can be valid. Clear the old one when the last client uses the new one."),
      h("p", { key: "act" }, h("button", { type: "button", onClick: clearSecond }, "Clear the second password"))] })}`, acts);
}
