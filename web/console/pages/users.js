// All users: how they log in, what their tags give a right to, where they have permissions.

import { useCallback, useMemo, useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { useLive } from "../live.js";
import { ask } from "../parts/dialog.js";
import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Filter, useOrder, usePages } from "../parts/list.js";
import { Note, say } from "../parts/note.js";
import { PagedTable } from "../parts/paged_table.js";
import { useResource } from "../resource.js";
import { href, place } from "../route.js";
import { user as me } from "../session.js";
import { Admin } from "./admin_frame.js";
import { aboutTag, tagsOf } from "./tags.js";
import { UserForm } from "./user_form.js";

/** @typedef {{ name: string, tags: string[], password_hash?: string, limits?: Record<string, number> }} Row */

/** Beyond so many users it is not looked up where each has permissions. */
const LOOKED_UP_MAX = 2000;

/** @param {Map<string, string[]> | undefined} vhosts by user @returns {import("../parts/table.js").Column<Row>[]} */
const columnsOf = (vhosts) => [
  { id: "name", title: "Name", sort: "name", cell: ({ name }) => html`<a href=${href(["users", name])}><bdi>${name}</bdi></a>` },
  { id: "tags", title: "Tags", about: "what the user may see and change here; nothing without a tag", cell: ({ tags }) => tagsOf(tags).map((tag) => h("span", { key: tag, class: "badge", title: aboutTag(tag) }, tag)) },
  { id: "vhosts", title: "Can access virtual hosts", about: "where it has permissions", cell: ({ name }) => accessOf(vhosts, name) },
  { id: "password", title: "Has password", about: "a user without one logs in by certificate, or through another back end", cell: ({ password_hash }) => (password_hash ? "yes" : "no") },
  { id: "limits", title: "Limits", cell: ({ limits }) => Object.entries(limits ?? {}).map(([name, value]) => h("span", { key: name, class: "badge" }, `${name} ${value}`)) },
];

/** @param {Map<string, string[]> | undefined} vhosts @param {string} name */
function accessOf(vhosts, name) {
  if (!vhosts) return "–";
  const own = vhosts.get(name) ?? [];
  return own.length > 0 ? h("bdi", { title: own.slice(0, 50).join(", ") }, own.slice(0, 50).join(", ")) : html`<span class="badge warn">none</span>`;
}

export default function Users() {
  const { query } = place.value;
  const name = query.get("name") ?? "";
  const { order, onOrder } = useOrder("name", false);
  const list = usePages("api/users", { columns: "name,tags,password_hash,limits", name, use_regex: name !== "", sort: order.by, sort_reverse: order.isReversed });
  const isLookedUp = list.all <= LOOKED_UP_MAX;
  const { data: permissions, reload: reloadPermissions } = useResource(list.isThere && isLookedUp ? "api/permissions" : null, 15_000);
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const columns = useMemo(() => {
    /** @type {Map<string, string[]>} */
    const vhosts = new Map();
    for (const { user, vhost } of permissions ?? []) {
      const own = vhosts.get(user);
      if (own) own.push(vhost);
      else vhosts.set(user, [vhost]);
    }
    return columnsOf(permissions && vhosts).filter(({ id }) => id !== "vhosts" || isLookedUp);
  }, [permissions, isLookedUp]);
  const onSeen = useCallback((/** @type {number} */ start, /** @type {number} */ end) => list.onSeen(start, end), [list.onSeen]);
  useLive("changes", ({ data }) => void (/^user\.(created|deleted|tags\.set)$/.test(data?.event ?? "") && list.reload()));
  const done = async () => void (await Promise.all([list.reload(), reloadPermissions()]));
  const remove = async () => {
    const names = [...chosen];
    const isMe = names.includes(me.value?.name ?? "");
    const isYes = await ask({
      title: names.length === 1 ? "Delete the user" : `Delete ${names.length} users`, act: "Delete", isHarmful: true, word: names.length > 10 ? String(names.length) : undefined,
      text: html`<p><bdi>${names.slice(0, 20).join(", ")}</bdi>${names.length > 20 && ` and ${names.length - 20} more`}</p><p>Their connections are closed. Protected users stay.</p>
        ${isMe && html`<p><strong>Your own user is among them.</strong></p>`}`,
      run: () => change("POST", "api/users/bulk-delete", { users: names }),
    });
    if (!isYes) return;
    say(names.length === 1 ? "The user is deleted." : `${names.length} users are deleted, except protected ones.`);
    setChosen(new Set());
    await done();
  };
  return h(Admin, { title: "Users", children: [
    h(Filter, { key: "filter", label: "Filter users", name: "name", count: list.isThere ? list.count : undefined, all: list.all, children: chosen.size > 0 && html`<button type="button" class="harmful" onClick=${remove}>Delete ${chosen.size === 1 ? "the chosen user" : `the ${chosen.size} chosen users`}</button>` }),
    list.error !== undefined && h(Note, { key: "error", error: list.error }),
    !list.isThere && list.error === undefined && h("p", { key: "awaited", class: "awaited-text", role: "status" }, "Asking the broker…"),
    list.isThere && h(PagedTable, { key: "list", label: "Users", columns, count: list.count, rowAt: list.rowAt, keyOf: (row) => row.name, onSeen, order, onOrder, chosen, onChosen: setChosen, height: "60vh",
      empty: list.all === 0 ? "There is no user. Add one below." : "No user has such a name. Clear the filter to see all." }),
    h(Section, { key: "add", title: "Add a user", isClosed: true, isAsked: query.get("add") === "yes", children: h(UserForm, { onDone: done }) }),
  ] });
}
