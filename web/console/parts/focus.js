// Where the focus is. Who works by keys goes on from there, so no action may lose it: not one that removes the button that began it, and
// not one that cannot be had just now.

/** What Tab stops at. */
const STOPS = "a[href], button, input, select, textarea, summary, [tabindex='0']";

/** What had the focus last and all that it is in, from the inside to the outside. @type {Element[]} */
let trail = [];

/** @param {Element | null} element */
function trailOf(element) {
  const all = [];
  for (let one = element; one; one = one.parentElement) all.push(one);
  return all;
}

/** Whether nothing has the focus. */
const isLost = () => document.activeElement === null || document.activeElement === document.body;

/** @param {Element | null | undefined} element @returns {boolean} whether it has the focus now */
function take(element) {
  if (!(element instanceof HTMLElement || element instanceof SVGElement)) return false;
  element.focus({ preventScroll: true });
  return document.activeElement === element;
}

const main = () => document.getElementById("main");
/** A page or a dialogue, in which the focus stays. @param {Element} one */
const isWhole = (one) => one.id === "main" || one.tagName === "DIALOG";

/** The nearest of what there still is: the thing itself, a list that it was in, or the heading of its section. @param {Element[]} trail */
function takeNearest(trail) {
  for (const one of trail) {
    if (isWhole(one)) return false;
    if (one.isConnected && take(one === trail[0] || one.matches("[tabindex='0']") ? one : one.matches("details") ? one.querySelector("summary") : null)) return true;
  }
  return false;
}

/** The last stop before the place where something was removed. @param {MutationRecord} record @param {Element} whole */
function takeBefore({ target, nextSibling }, whole) {
  const isBefore = (/** @type {Element} */ stop) => {
    const follows = (/** @type {Node} */ node) => Boolean(stop.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING);
    return nextSibling?.isConnected ? follows(nextSibling) : target.contains(stop) || follows(target);
  };
  const stops = [...whole.querySelectorAll(STOPS)].filter((stop) => isBefore(stop) && /** @type {HTMLElement} */ (stop).tabIndex >= 0 && stop.checkVisibility());
  return take(stops.at(-1));
}

/** What has the focus now: the function gives it back, if it is lost by then. */
export function rememberFocus() {
  const before = trailOf(document.activeElement);
  return () => void (isLost() && (takeNearest(before) || take(main())));
}

/** @param {MutationRecord[]} records */
function keep(records) {
  const [last] = trail;
  if (!last || !isLost() || !document.hasFocus()) return;
  const removed = records.findLast(({ target, removedNodes }) => target.isConnected && [...removedNodes].some((node) => node.contains(last)));
  if (!removed && last.isConnected) return;
  const whole = trail.find(isWhole);
  // A dialogue that has gone gives it back first.
  queueMicrotask(() => void (isLost() && (takeNearest(trail) || (removed && whole?.isConnected && takeBefore(removed, whole)) || take(main()))));
}

/** From now on the focus is kept. */
export function keepFocus() {
  addEventListener("focusin", ({ target }) => {
    trail = trailOf(target instanceof Element ? target : null);
    // Browsers leave what scrolls sideways where it is as soon as a part of it is seen.
    if (target instanceof Element && target.matches("nav a, th button") && target.matches(":focus-visible")) target.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, true);
  // A click beside all controls takes the focus away, and is meant to.
  addEventListener("pointerdown", () => void (trail = []), true);
  // A button that cannot be used just now keeps the focus, which `disabled` would take away.
  addEventListener("click", (event) => {
    if (!(event.target instanceof Element && event.target.closest("[aria-disabled='true']"))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
  new MutationObserver(keep).observe(document.documentElement, { childList: true, subtree: true });
}
