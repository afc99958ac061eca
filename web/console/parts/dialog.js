// Dialogues. One that destroys something names what and how many, and asks for the name where it is much.

import { useLayoutEffect, useRef, useState } from "../../vendor/modules/hooks.js";
import { signal } from "../../vendor/modules/signals.js";
import { sentenceOf } from "../api.js";
import { rememberFocus } from "./focus.js";
import { h } from "./html.js";
import { Note } from "./note.js";

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {any} [text]
 * @property {string} act what the button says
 * @property {boolean} [isHarmful]
 * @property {string} [keep] what the other button says, where Cancel could be taken for the act
 * @property {string} [word] has to be typed before
 * @property {() => Promise<unknown>} [run] done while the dialogue is open, which shows what it fails of
 */

const open = signal(/** @type {{ question: Question, answer: (isYes: boolean) => void } | null} */ (null));

/** Asks, and gives the answer. @param {Question} question @returns {Promise<boolean>} */
export function ask(question) {
  open.peek()?.answer(false);
  return new Promise((resolve) => {
    open.value = {
      question,
      answer: (isYes) => {
        open.value = null;
        resolve(isYes);
      },
    };
  });
}

/** Where questions are asked. */
export function Asked() {
  const asked = open.value;
  return asked && h(QuestionDialog, { key: asked.question.title, ...asked });
}

/** @param {{ question: Question, answer: (isYes: boolean) => void }} props */
function QuestionDialog({ question, answer }) {
  const { title, text, act, isHarmful, keep = "Cancel", word, run } = question;
  const [typed, setTyped] = useState("");
  const [error, setError] = useState("");
  const [isRunning, setRunning] = useState(false);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!run) return answer(true);
    setRunning(true);
    try {
      await run();
      answer(true);
    } catch (failure) {
      setError(sentenceOf(failure));
      setRunning(false);
    }
  };
  return h(Dialog, { title, onClose: () => answer(false), children: h("form", { onSubmit: submit },
    text && h("div", { class: "text" }, text),
    word !== undefined && h("label", { class: "field" }, h("span", {}, `Type ${word} to go on`),
      h("input", { value: typed, autocomplete: "off", spellcheck: false, onInput: (/** @type {any} */ event) => setTyped(event.currentTarget.value) })),
    error && h(Note, { children: error }),
    h("div", { class: "acts" },
      h("button", { type: "button", onClick: () => answer(false) }, keep),
      h("button", { type: "submit", class: isHarmful ? "harmful" : "main", "aria-disabled": isRunning || (word !== undefined && typed !== word) }, act))) });
}

const FIELDS = /** @type {"input"} */ ("input, select, textarea");

/** @param {{ title: string, onClose: () => void, children?: any, isWide?: boolean }} props */
export function Dialog({ title, onClose, children, isWide }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // While it is still in the page: then the browser gives the focus back.
  useLayoutEffect(() => {
    const dialog = element.current;
    const giveBack = rememberFocus();
    dialog?.showModal();
    // What is to be entered is nearer than the button that closes, which comes first.
    dialog?.querySelector(FIELDS)?.focus();
    return () => {
      dialog?.close();
      // What had it may have gone meanwhile.
      queueMicrotask(giveBack);
    };
  }, []);
  const onClick = (/** @type {MouseEvent} */ event) => void (event.target === element.current && onClose());
  return h("dialog", { ref: element, class: isWide ? "wide" : undefined, "aria-label": title, onCancel: (/** @type {Event} */ event) => (event.preventDefault(), onClose()), onClick },
    h("div", { class: "dialog" },
      h("header", {}, h("h2", {}, title), h("button", { type: "button", class: "quiet", "aria-label": "Close", onClick: onClose }, "✕")),
      children));
}
