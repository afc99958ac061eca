// All users: how they log in, what their tags give a right to, where they have permissions.

import { useMemo, useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { ask } from "../parts/dialog.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { List } from "../parts/list.js";
import { say } from "../parts/note.js";
import { useResource } from "../resource.js";
import { href, place } from "../route.js";
import { user as me } from "../session.js";
import { Admin } from "./admin_frame.js";
import { aboutTag, tagsOf } from "./tags.js";
import { UserForm } from "./user_form.js";

/** @typedef {{ name: string, tags: string[], password_hash?: string, limits?: Record<string, number>, vhosts: string[] }} Row */

/** @type {import("../parts/table.js").Column<Row>[]} */
const COLUMNS = [
  { id: "name", title: "Name", sort: "name", cell: ({ name }) => html`<a href=${href(["users", name])}><bdi>${name}</bdi></a>` },
  { id: "tags", title: "Tags", about: "what the user may see and change here; nothing without a tag", cell: ({ tags }) => tags.map((tag) => h("span", { key: tag, class: "badge", title: aboutTag(tag) }, tag)) },
  { id: "vhosts", title: "Can access virtual hosts", about: "where it has permissions", sort: "vhosts.length", cell: ({ vhosts }) => (vhosts.length > 0 ? h("bdi", {}, vhosts.join(", ")) : html`<span class="badge warn">none</span>`) },
  { id: "password", title: "Has password", about: "without one it logs in by certificate, or where another back end knows it", cell: ({ password_hash }) => (password_hash ? "yes" : "no") },
  { id: "limits", title: "Limits", cell: ({ limits }) => Object.entries(limits ?? {}).map(([name, value]) => h("span", { key: name, class: "badge" }, `${name} ${value}`)) },
];

export default function Users() {
  const { data, error, reload } = useResource("api/users?columns=name,tags,password_hash,limits");
  const { data: permissions, reload: reloadPermissions } = useResource("api/permissions", 15_000);
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const rows = useMemo(() => {
    /** @type {Map<string, string[]>} */
    const vhosts = new Map();
    for (const { user, vhost } of permissions ?? []) vhosts.set(user, [...(vhosts.get(user) ?? []), vhost]);
    return data?.map((/** @type {any} */ one) => ({ ...one, tags: tagsOf(one.tags), vhosts: vhosts.get(one.name) ?? [] }));
  }, [data, permissions]);
  const done = async () => void (await Promise.all([reload(), reloadPermissions()]));
  const remove = async () => {
    const names = [...chosen];
    const isMe = names.includes(me.value?.name ?? "");
    const isYes = await ask({
      title: names.length === 1 ? "Delete the user" : `Delete ${names.length} users`, act: "Delete", isHarmful: true, word: names.length > 10 ? String(names.length) : undefined,
      text: html`<p><bdi>${names.slice(0, 20).join(", ")}</bdi>${names.length > 20 && ` and ${names.length - 20} more`}</p><p>Their connections are closed. Protected users stay.</p>
        ${isMe && html`<p><strong>The user who is logged in here is among them.</strong></p>`}`,
      run: () => change("POST", "api/users/bulk-delete", { users: names }),
    });
    if (!isYes) return;
    say(names.length === 1 ? "The user is deleted." : `${names.length} users are deleted, but for those that are protected.`);
    setChosen(new Set());
    await done();
  };
  return h(Admin, { title: "Users", children: [
    h(List, { key: "list", label: "Users", rows, error, columns: COLUMNS, keyOf: (row) => row.name, textOf: (row) => `${row.name} ${row.tags.join(" ")}`, by: "name", chosen, onChosen: setChosen, height: "60vh",
      empty: "There is no user. Add one below.",
      tools: chosen.size > 0 && html`<button type="button" class="harmful" onClick=${remove}>Delete ${chosen.size === 1 ? "the chosen user" : `the ${chosen.size} chosen users`}</button>` }),
    h(Section, { key: "add", title: "Add a user", isClosed: place.value.query.get("add") !== "yes" && (rows?.length ?? 2) > 1, children: h(UserForm, { onDone: done }) }),
  ] });
}
