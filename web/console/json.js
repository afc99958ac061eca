// JSON set out over lines, token by token: numbers of any length, members that are there twice and their order stay as they were written.

/** Whether a text is an object or a list of JSON. @param {string} text */
export function looksLikeJson(text) {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string} text an object or a list of JSON
 * @param {number} len about so many characters are given
 */
export function formatJson(text, len = Infinity) {
  let depth = 0;
  let out = "";
  const line = () => `\n${"  ".repeat(depth)}`;
  const tokens = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;
  const next = () => tokens.exec(text)?.[0];
  let token = next();
  while (token !== undefined && out.length < len) {
    const following = next();
    if (token === "{" || token === "[") {
      if (following === "}" || following === "]") {
        out += token + following;
        token = next();
        continue;
      }
      depth += 1;
      out += token + line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      out += line() + token;
    } else if (token === ",") out += token + line();
    else out += token === ":" ? ": " : token;
    token = following;
  }
  return { text: out, isAll: token === undefined };
}
