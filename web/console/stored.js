// What this browser remembers for a person: appearance, columns, saved filters, favourites. Never anything secret.

import { effect, signal } from "../vendor/modules/signals.js";

const PREFIX = "warren.";

/**
 * A value that outlives the page, and is the same in all tabs.
 * @template T
 * @param {string} name
 * @param {T} otherwise
 * @param {(value: unknown) => value is T} isValid
 */
export function stored(name, otherwise, isValid) {
  const key = PREFIX + name;
  const load = () => {
    try {
      const value = JSON.parse(localStorage.getItem(key) ?? "null");
      return isValid(value) ? value : otherwise;
    } catch {
      return otherwise;
    }
  };
  const value = signal(load());
  effect(() => {
    try {
      localStorage.setItem(key, JSON.stringify(value.value));
    } catch {
      // No room, or forbidden: it lasts as long as the page.
    }
  });
  addEventListener("storage", (event) => void (event.key === key && (value.value = load())));
  return value;
}

/** @param {unknown} value @returns {value is string[]} */
export const areTexts = (value) => Array.isArray(value) && value.every((one) => typeof one === "string");
