// Names as they are seen: one without letters is still something that a person can see and click.

import { h } from "./html.js";

/** Spaces of a name that has nothing else, as marks. @param {string} name */
export const seenName = (name) => (name !== "" && name.trim() === "" ? name.replaceAll(/\s/gu, "␣") : name);

/** One of few letters is made as wide as a finger needs. @param {{ name: string | null | undefined }} props */
export const Name = ({ name }) => h("bdi", { class: (name ?? "").length < 3 ? "short" : undefined }, seenName(name ?? ""));
