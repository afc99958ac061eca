// Favourites, and filters that a person keeps.

import { useState } from "../../vendor/modules/hooks.js";
import { href, place } from "../route.js";
import { areTexts, stored } from "../stored.js";
import { h, html } from "./html.js";
import { Menu } from "./menu.js";

/** @type {Map<string, import("../../vendor/modules/signals.js").Signal<string[]>>} */
const lists = new Map();

/** Keys of favourites. @param {string} list */
export function favourites(list) {
  const known = lists.get(list) ?? stored(`favourites.${list}`, /** @type {string[]} */ ([]), areTexts);
  lists.set(list, known);
  return known;
}

/** @param {{ list: string, of: string, name?: string }} props of: the key; name: what a person knows it by */
export function FavouriteButton({ list, of, name = of }) {
  const all = favourites(list);
  const is = all.value.includes(of);
  const toggle = () => (all.value = is ? all.value.filter((one) => one !== of) : [...all.value, of]);
  return h("button", { type: "button", class: "star", "aria-pressed": is, "aria-label": `Favourite ${name}`, title: is ? "Remove from favourites" : "Add to favourites", onClick: toggle }, is ? "★" : "☆");
}

/** @typedef {{ title: string, query: Record<string, string> }} SavedFilter */

/** @type {(value: unknown) => value is SavedFilter[]} */
const areFilters = (value) => Array.isArray(value) && value.every((one) => typeof one?.title === "string" && typeof one?.query === "object" && one.query !== null);
/** @type {Map<string, import("../../vendor/modules/signals.js").Signal<SavedFilter[]>>} */
const filters = new Map();

/** @param {{ list: string, names: string[] }} props names: of the query that are kept */
export function SavedFilters({ list, names }) {
  const saved = filters.get(list) ?? stored(`filters.${list}`, /** @type {SavedFilter[]} */ ([]), areFilters);
  filters.set(list, saved);
  const [title, setTitle] = useState("");
  const { path, query } = place.value;
  const now = Object.fromEntries(names.filter((name) => query.get(name)).map((name) => [name, query.get(name) ?? ""]));
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (title.trim() === "") return;
    saved.value = [...saved.value.filter((one) => one.title !== title.trim()), { title: title.trim(), query: now }];
    setTitle("");
  };
  return h(Menu, { title: "Saved filters", children: html`<div>
    <ul>${saved.value.map((one) => html`<li><a href=${href(path, one.query)}>${one.title}</a>
      <button type="button" class="quiet" aria-label=${`Forget the filter ${one.title}`} onClick=${() => (saved.value = saved.value.filter((other) => other !== one))}>✕</button></li>`)}</ul>
    <form class="acts" onSubmit=${save}><input aria-label="Name of the filter" placeholder="name for this view" value=${title} onInput=${(/** @type {any} */ event) => setTitle(event.currentTarget.value)} />
      <button type="submit">Save</button></form></div>` });
}
