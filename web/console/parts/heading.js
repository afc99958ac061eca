// The heading of a page, with the way that leads there and what can be done; and sections.

import { useEffect, useLayoutEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { href, place } from "../route.js";
import { rememberFocus } from "./focus.js";
import { h } from "./html.js";
import { Name } from "./name.js";

/** @param {{ title: string, kind?: string, above?: [string, string[]][], children?: any }} props above: title and path of the pages above */
export function Heading({ title, kind, above = [], children }) {
  useEffect(() => void (document.title = `${kind ? `${kind} ` : ""}${title} · Warren`), [title, kind]);
  return h("div", { class: "heading" },
    above.length > 0 && h("nav", { "aria-label": "Way", class: "way" }, above.map(([text, path]) => h("a", { key: text, href: href(path) }, text))),
    h("h1", {}, kind && h("span", { class: "kind" }, kind, " "), h(Name, { name: title })),
    children && h("div", { class: "acts" }, children));
}

const FIELDS = "input, select, textarea";

/**
 * @param {{ title: string, children?: any, about?: string, isClosed?: boolean, isAsked?: boolean }} props
 * isClosed: until a person opens it, or there is something to see; isAsked: it is open, and its first field has the focus
 */
export function Section({ title, children, about, isClosed, isAsked }) {
  const box = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const [wasOpen, setOpen] = useState(false);
  const isOpen = wasOpen || !isClosed || isAsked;
  // It does not close by itself: what is in it may have the focus.
  useEffect(() => setOpen(Boolean(isOpen)), [isOpen]);
  useLayoutEffect(() => {
    if (!isAsked) return undefined;
    const giveBack = rememberFocus();
    return () => queueMicrotask(giveBack);
  }, [isAsked]);
  useEffect(() => {
    // A new page takes the focus first.
    if (isAsked) queueMicrotask(() => /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector("form")?.querySelector(FIELDS))?.focus());
  }, [isAsked, Boolean(children)]);
  return h("details", { class: "section", open: isOpen, ref: box }, h("summary", {}, h("h2", {}, title), about && h("span", { class: "about" }, about)), h("div", { class: "body" }, children));
}

/** Tabs within a page, which are in the address. @param {{ label: string, tabs: [string, string][], name?: string }} props */
export function Tabs({ label, tabs, name = "tab" }) {
  const { path, query } = place.value;
  const chosen = query.get(name) ?? tabs[0]?.[0];
  return h("nav", { class: "tabs", "aria-label": label }, tabs.map(([id, title], index) =>
    h("a", { key: id, href: href(path, { [name]: index === 0 ? undefined : id }), "aria-current": chosen === id ? "page" : undefined }, title)));
}

/** Pages that belong together, as tabs. @param {{ label: string, pages: [string, string][] }} props first words of their addresses, and titles */
export function PageTabs({ label, pages }) {
  const [here] = place.value.path;
  return h("nav", { class: "tabs", "aria-label": label }, pages.map(([path, title]) => h("a", { key: path, href: href([path]), "aria-current": here === path ? "page" : undefined }, title)));
}

/** The tab that the address says. @param {[string, string][]} tabs @param {string} [name] */
export const chosenTab = (tabs, name = "tab") => place.value.query.get(name) ?? tabs[0]?.[0];

/** Names and values. @param {{ facts: any[][] }} props name, value, and what it is on hover */
export function Facts({ facts }) {
  return h("dl", { class: "facts" }, facts.filter(([, value]) => value !== undefined && value !== null && value !== false).map(([name, value, about]) =>
    h("div", { key: name }, h("dt", { title: about }, name), h("dd", {}, value))));
}
