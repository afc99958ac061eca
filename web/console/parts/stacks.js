// Trees of calls: what a profile of requests answers, folded stacks, and the difference of two.

/**
 * @typedef {object} Frame
 * @property {string} name
 * @property {string} kind `call`, or what was waited for
 * @property {number} count
 * @property {number} total
 * @property {number} own
 * @property {Frame[]} children
 * @property {number} [before] of a difference: the share of the whole that it had before, and `now` after
 * @property {number} [now]
 */

/** @param {string} name @param {string} kind @returns {Frame} */
const frame = (name, kind) => ({ name, kind, count: 0, total: 0, own: 0, children: [] });

/** The tree of an answer of /api/profile/wall, in microseconds. @param {any[]} frames */
export function treeOfWall(frames) {
  const root = frame("all requests", "call");
  const made = frames.map(({ kind, name, holder, count, total_us, own_us }) => {
    const text = holder ? `${name}, held by ${holder}` : name;
    return { ...frame(kind === "call" ? text : `${kind} ${text}`, kind), count, total: total_us, own: own_us };
  });
  frames.forEach(({ parent }, index) => {
    const one = made[index];
    const above = parent === null ? root : made[parent];
    if (one) above?.children.push(one);
    if (one && parent === null) root.total += one.total;
  });
  return root;
}

/** What a name of a folded stack says of itself: a thread, a kind of work, a wait. @param {string} name */
const kindOf = (name) => ({ t: "thread", l: "work", w: "wait" })[name.match(/_\[([tlw])\]$/)?.[1] ?? ""] ?? "call";

/** The tree of folded stacks, one a line: names with `;` between them, and a number. @param {string} text */
export function treeOfFolded(text) {
  const root = frame("all", "call");
  for (const line of text.split("\n")) {
    const cut = line.lastIndexOf(" ");
    const value = Number(line.slice(cut + 1));
    if (cut <= 0 || !Number.isFinite(value)) continue;
    let at = root;
    at.total += value;
    for (const name of line.slice(0, cut).split(";")) {
      let child = at.children.find((one) => one.name === name);
      if (!child) at.children.push((child = frame(name, kindOf(name))));
      child.total += value;
      child.count += 1;
      at = child;
    }
    at.own += value;
  }
  if (root.total === 0) throw new Error("There are no folded stacks in it: each line has names with ; between them, a space and a number.");
  return root;
}

/** The same, as folded stacks. @param {Frame} root */
export function foldedOf(root) {
  /** @type {string[]} */
  const lines = [];
  const walk = (/** @type {Frame} */ one, /** @type {string[]} */ above) => {
    const names = [...above, one.name.replaceAll(/[;\n]/g, ",")];
    if (one.own > 0) lines.push(`${names.join(";")} ${Math.round(one.own)}`);
    for (const child of one.children) walk(child, names);
  };
  for (const child of root.children) walk(child, []);
  return `${lines.join("\n")}\n`;
}

/** What takes more of the whole after than before, and what less. @param {Frame} before @param {Frame} after @returns {Frame} */
export function difference(before, after) {
  const share = (/** @type {Frame | undefined} */ one, /** @type {Frame} */ root) => (one && root.total > 0 ? one.total / root.total : 0);
  const join = (/** @type {Frame | undefined} */ a, /** @type {Frame | undefined} */ b) => {
    const some = b ?? a ?? after;
    const names = new Set([...(b?.children ?? []), ...(a?.children ?? [])].map((child) => child.name));
    const find = (/** @type {Frame | undefined} */ one, /** @type {string} */ name) => one?.children.find((child) => child.name === name);
    /** @type {Frame} */
    const joined = { ...some, before: share(a, before), now: share(b, after), total: Math.max(share(a, before), share(b, after)), own: 0, children: [] };
    joined.children = [...names].map((name) => join(find(a, name), find(b, name)));
    return joined;
  };
  return join(before, after);
}

/** Each function once: how often, with all that it calls, and without; those with most of their own first. @param {Frame} root */
export function tableOf(root) {
  /** @type {Map<string, { name: string, kind: string, count: number, total: number, own: number }>} */
  const rows = new Map();
  const walk = (/** @type {Frame} */ one, /** @type {Set<string>} */ above) => {
    const row = rows.get(one.name) ?? { name: one.name, kind: one.kind, count: 0, total: 0, own: 0 };
    rows.set(one.name, row);
    row.count += one.count;
    row.own += one.own;
    // What calls itself is counted with all that it calls only once.
    if (!above.has(one.name)) row.total += one.total;
    const names = new Set(above).add(one.name);
    for (const child of one.children) walk(child, names);
  };
  for (const child of root.children) walk(child, new Set());
  return [...rows.values()].sort((a, b) => b.own - a.own);
}
