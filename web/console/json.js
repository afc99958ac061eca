// JSON set out over lines, token by token: numbers of any length, members that are there twice and their order stay as they were written.

/** @param {string} text @returns {string | undefined} undefined: it is no object or list of JSON */
export function formatJson(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  let depth = 0;
  let out = "";
  const line = () => `\n${"  ".repeat(depth)}`;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] ?? "";
    const next = tokens[at + 1];
    if (token === "{" || token === "[") {
      if (next === "}" || next === "]") {
        out += token + next;
        at += 1;
      } else {
        depth += 1;
        out += token + line();
      }
    } else if (token === "}" || token === "]") {
      depth -= 1;
      out += line() + token;
    } else if (token === ",") out += token + line();
    else out += token === ":" ? ": " : token;
  }
  return out;
}
