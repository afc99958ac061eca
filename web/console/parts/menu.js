// A menu that opens over what is beneath it, and is closed by Escape or when one goes on.

import { useRef } from "../../vendor/modules/hooks.js";
import { h } from "./html.js";

/** @param {{ title: string, children?: any }} props */
export function Menu({ title, children }) {
  const box = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const close = () => box.current && (box.current.open = false);
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !box.current?.open) return;
    close();
    box.current.querySelector("summary")?.focus();
  };
  const onFocusOut = (/** @type {FocusEvent} */ { relatedTarget }) => void (relatedTarget instanceof Node && !box.current?.contains(relatedTarget) && close());
  return h("details", { class: "menu", ref: box, onKeyDown, onFocusOut }, h("summary", {}, title), children);
}
