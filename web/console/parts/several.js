// Something that is done to several things, one request each.

import { sentenceOf } from "../api.js";
import { say } from "./note.js";

/** Requests under way at a time. */
const AT_ONCE = 4;

/**
 * Does something for each, a few at a time, and says how it went. What fails does not keep the others from being done.
 * @template T
 * @param {T[]} things
 * @param {(thing: T) => Promise<unknown>} act
 * @param {(done: number) => string} said what is said of so many
 * @returns {Promise<T[]>} those for which it failed
 */
export async function forEach(things, act, said) {
  const waiting = [...things];
  /** @type {{ thing: T, error: unknown }[]} */
  const failed = [];
  const work = async () => {
    for (let thing = waiting.shift(); thing !== undefined; thing = waiting.shift()) {
      try {
        await act(thing);
      } catch (error) {
        failed.push({ thing, error });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (failed.length < things.length) say(said(things.length - failed.length));
  if (failed[0]) say(failed.length === 1 ? sentenceOf(failed[0].error) : `It failed for ${failed.length}. The first: ${sentenceOf(failed[0].error)}`, "error");
  return failed.map(({ thing }) => thing);
}
