// Dark or light: as the system has it, until a person chooses.

import { effect } from "../../vendor/modules/signals.js";
import { stored } from "../stored.js";
import { h } from "./html.js";

const CHOICES = /** @type {const} */ (["system", "light", "dark"]);
/** @typedef {typeof CHOICES[number]} Appearance */

/** @type {(value: unknown) => value is Appearance} */
const isAppearance = (value) => CHOICES.some((choice) => choice === value);
export const appearance = stored("appearance", /** @type {Appearance} */ ("system"), isAppearance);

effect(() => {
  if (appearance.value === "system") delete document.documentElement.dataset.appearance;
  else document.documentElement.dataset.appearance = appearance.value;
});

export function chooseNextAppearance() {
  const next = CHOICES[(CHOICES.indexOf(appearance.value) + 1) % CHOICES.length];
  appearance.value = next ?? "system";
}

export function AppearanceButton() {
  const said = { system: "as the system", light: "light", dark: "dark" }[appearance.value];
  const label = `Appearance: ${said}`;
  return h("button", { type: "button", class: "quiet", "aria-label": label, title: label, onClick: chooseNextAppearance },
    { system: "◐", light: "☀", dark: "☾" }[appearance.value]);
}
