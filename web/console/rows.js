// Lists that the broker gives as a whole, however long they are: read in pieces, so that a page goes on meanwhile.

import { send } from "./api.js";

/** Letters that are looked at before others have their turn. */
const PIECE_LEN = 65_536;
/** So long may be worked without a pause. */
const WORK_MS = 8;

/** Objects of an array in JSON, as its text comes in. */
export class RowReader {
  text = "";
  /** Where the next row begins, and up to where the text has been looked at. */
  start = 0;
  at = 0;
  depth = 0;
  isString = false;
  isEscaped = false;
  /** Tells one text from another, with its length. */
  hash = 0;
  len = 0;

  /** @param {string} piece @returns {any[]} rows that are complete now */
  push(piece) {
    this.text = this.text.slice(this.start) + piece;
    this.at -= this.start;
    this.start = 0;
    let end = 0;
    let { at, depth, isString, isEscaped, hash } = this;
    for (; at < this.text.length; at += 1) {
      const letter = this.text.charCodeAt(at);
      hash = (Math.imul(hash, 31) + letter) | 0;
      if (isString) {
        // What comes after a backslash ends nothing.
        if (isEscaped) isEscaped = false;
        else if (letter === 0x5c) isEscaped = true;
        else if (letter === 0x22) isString = false;
      } else if (letter === 0x22) isString = true;
      else if (letter === 0x7b || letter === 0x5b) {
        if (depth === 0) this.start = at + 1;
        depth += 1;
      } else if (letter === 0x7d || letter === 0x5d) {
        depth -= 1;
        if (depth === 1) end = at + 1;
      }
    }
    this.len += piece.length;
    Object.assign(this, { at, depth, isString, isEscaped, hash });
    if (end === 0) return [];
    const rows = JSON.parse(`[${this.text.slice(this.start, end).replace(/^\s*,/, "")}]`);
    this.start = end;
    return rows;
  }
}

/** What was read last of an array. @type {WeakMap<any[], string>} */
const known = new WeakMap();

const pause = () => new Promise((resolve) => setTimeout(resolve));

/**
 * Asks for a list. Where nothing has changed it is the same array as before.
 * @param {string} path @param {{ signal?: AbortSignal }} options @param {any[]} [before]
 * @returns {Promise<any[]>}
 */
export async function getRows(path, options, before) {
  const response = await send("GET", path, options);
  const text = await response.text();
  const reader = new RowReader();
  const rows = [];
  let since = performance.now();
  for (let from = 0; from < text.length; from += PIECE_LEN) {
    for (const row of reader.push(text.slice(from, from + PIECE_LEN))) rows.push(row);
    if (performance.now() - since < WORK_MS) continue;
    await pause();
    since = performance.now();
  }
  const mark = `${reader.len} ${reader.hash}`;
  if (before !== undefined && known.get(before) === mark) return before;
  known.set(rows, mark);
  return rows;
}
