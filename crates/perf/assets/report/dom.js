"use strict";
// Elements. Texts become text nodes and never markup, whatever a broker or a queue is called.

/**
 * An element with classes after dots (`"div.card.wide"`) and children; nothing is left out for `null` and `false`.
 *
 * @param {string} description
 * @param {...(Node | string | null | false | undefined)} children
 * @returns {HTMLElement}
 */
function element(description, ...children) {
  const [tag, ...classes] = description.split(".");
  const made = document.createElement(tag);
  if (classes.length > 0) made.className = classes.join(" ");
  for (const child of children) {
    if (child !== null && child !== false && child !== undefined) made.append(child);
  }
  return made;
}

/** @param {string} label @param {() => void} action */
function button(label, action) {
  const made = /** @type {HTMLButtonElement} */ (element("button", label));
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

/**
 * A labelled choice.
 *
 * @param {string} label
 * @param {string[]} options
 * @param {number} chosen
 * @param {(index: number) => void} action
 */
function chooser(label, options, chosen, action) {
  const select = /** @type {HTMLSelectElement} */ (element("select"));
  options.forEach((option, index) => select.add(new Option(option, String(index), index === chosen, index === chosen)));
  select.addEventListener("change", () => action(select.selectedIndex));
  return element("label", label, select);
}

/**
 * A table that scrolls in itself, so that the page need not.
 *
 * @param {string} caption what it shows, for those who cannot see where it stands
 * @param {string[]} head
 * @param {(string | HTMLElement)[][]} rows texts, or cells made elsewhere
 */
function dataTable(caption, head, rows) {
  const isText = (/** @type {number} */ index) => rows.length > 0 && rows[0][index] instanceof HTMLElement && /** @type {HTMLElement} */ (rows[0][index]).classList.contains("text");
  const headRow = element("tr", ...head.map((text, index) => columnHead(text, isText(index))));
  const body = element("tbody");
  for (const row of rows) {
    const cells = row.map((cell, index) => {
      if (typeof cell !== "string") return cell;
      const made = element(index === 0 ? "th" : "td", cell);
      if (index === 0) made.setAttribute("scope", "row");
      return made;
    });
    body.append(element("tr", ...cells));
  }
  const table = element("table", element("thead", headRow), body);
  table.setAttribute("aria-label", caption);
  const scroll = element("div.scroll", table);
  // What scrolls has to be reachable with the keyboard.
  scroll.tabIndex = 0;
  return scroll;
}

/** @param {string} text @param {boolean} isText whether what is below is text, and no number */
function columnHead(text, isText) {
  const head = element(isText ? "th.text" : "th", text);
  head.setAttribute("scope", "col");
  return head;
}

/**
 * Something that is made when it is opened.
 *
 * @param {string} summary
 * @param {boolean} open
 * @param {() => Node} make
 */
function disclosure(summary, open, make) {
  const details = /** @type {HTMLDetailsElement} */ (element("details", element("summary", summary)));
  const fill = () => {
    if (details.open && details.children.length === 1) details.append(make());
  };
  details.addEventListener("toggle", fill);
  details.open = open;
  fill();
  return details;
}

/** A colour of the style sheet, as it is now. @param {string} name */
function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
