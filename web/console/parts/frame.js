// What is around every page: the tabs in RabbitMQ's order, the state of the connection, the user.

import { useEffect, useRef } from "../../vendor/modules/hooks.js";
import { get, reach } from "../api.js";
import { isLive } from "../live.js";
import { follow } from "../resource.js";
import { TABS } from "../pages.js";
import { href, place } from "../route.js";
import { logOut, may, take, user } from "../session.js";
import { AppearanceButton } from "./appearance.js";
import { h, html } from "./html.js";
import { isPaletteOpen } from "./palette.js";
import { Banners } from "./troubles.js";

const SESSION_INTERVAL_MS = 15_000;

/** @param {{ children?: any }} props */
export function Frame({ children }) {
  // Also a page that asks for nothing learns that the broker is away, that the session has ended, or that the user has other rights.
  useEffect(() => follow((signal) => get("api/session", { signal }), ({ data }) => data && take(data), SESSION_INTERVAL_MS).end, []);
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const here = place.value.path.join("/");
  // A new page is read from its beginning, also by readers of screens. Not at first: then the page itself is announced.
  const before = useRef(here);
  useEffect(() => {
    if (before.current === here) return;
    before.current = here;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [here]);
  const skip = (/** @type {Event} */ event) => (event.preventDefault(), main.current?.focus());
  return h("div", { class: "frame" },
    html`<a class="skip" href="#main" onClick=${skip}>Skip to the page</a>`,
    h(Header, {}),
    h(ReachNote, {}),
    h(Banners, {}),
    h("main", { id: "main", ref: main, tabIndex: -1 }, children));
}

function Header() {
  const [tab] = place.value.path;
  const current = useRef(/** @type {HTMLElement | null} */ (null));
  // Where the tabs are wider than the screen, the current one is brought into sight.
  useEffect(() => {
    const link = /** @type {HTMLElement | null | undefined} */ (current.current?.querySelector("[aria-current]"));
    const box = link?.closest("nav");
    if (link && box) box.scrollLeft = link.offsetLeft - box.offsetLeft - (box.clientWidth - link.offsetWidth) / 2;
  }, [tab]);
  const shown = TABS.filter(({ role }) => may(role));
  return h("header", { class: "top" },
    html`<a class="brand" href="#/"><span class="mark" aria-hidden="true"></span>Warren</a>`,
    h("nav", { "aria-label": "Main", ref: current }, h("ul", {}, shown.map(({ id, title, also }) => h("li", { key: id || "overview" },
      h("a", { href: href(id ? [id] : []), "aria-current": (tab ?? "") === id || also?.includes(tab ?? "") ? "page" : undefined }, title))))),
    h("div", { class: "tools" },
      h("span", { class: isLive.value ? "live is" : "live", role: "img", "aria-label": isLive.value ? "Live: numbers come by themselves" : "Not live: numbers are asked for",
        title: isLive.value ? "Live: numbers come by themselves" : "Not live: the page asks for numbers from time to time" }),
      h("button", { type: "button", class: "quiet", title: "Find a page or an object (Ctrl+K)", onClick: () => (isPaletteOpen.value = true) }, "Find…"),
      h(AppearanceButton, {}),
      h("span", { class: "user", title: user.value?.tags.join(", ") }, user.value?.name),
      h("button", { type: "button", class: "quiet", onClick: logOut }, "Log out")));
}

function ReachNote() {
  const text = {
    well: "",
    slow: "The broker is slow to answer. What is shown may be old.",
    lost: "The broker cannot be reached, or no node leads. What is shown is old; the page tries again by itself.",
  }[reach.value];
  return h("div", { class: `reach ${reach.value}`, role: "status", "aria-live": "polite" }, text);
}
