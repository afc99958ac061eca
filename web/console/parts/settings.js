// Settings by keys, as a form has them and as the API takes them: definitions of shovels and of upstreams. What a form has no field for is entered as
// JSON. URIs may have passwords: none is shown, and a field for one that is left empty leaves it as it is.

/** @typedef {import("./form.js").Field & { isUri?: boolean, isNoKey?: boolean }} Setting isNoKey: a choice of the form, which is no key */
/** @typedef {Record<string, any>} Definition */

const FURTHER = "further";

/** @param {string} placeholder an example @returns {Setting} */
export const furtherField = (placeholder) => ({ name: FURTHER, label: "Further keys", kind: "area", placeholder, help: "JSON: keys that have no field here." });

/** A text as it may be seen: what is before the last @ counts as the user and the password. @param {string} text */
export const withoutPassword = (text) => text.replace(/^([a-z][a-z0-9+.-]*:\/\/[^:@]*):.*@/is, "$1:***@").replace(/([?&]password=)[^&]*/gi, "$1***");

/** The same of all texts in a value. @param {any} value @returns {any} */
export function withoutPasswords(value) {
  if (typeof value === "string") return withoutPassword(value);
  if (Array.isArray(value)) return value.map(withoutPasswords);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutPasswords(one)]));
}

/** One URI or several, as one line that may be seen. @param {unknown} value */
export const uriText = (value) => [value ?? []].flat().map((one) => withoutPassword(String(one))).join(" ");

/** @param {Setting} field @param {any} value as it was entered */
function read(field, value) {
  if (field.kind === "checkbox") return value ? true : undefined;
  const text = String(value ?? field.options?.[0]?.[0] ?? "").trim();
  if (text === "") return undefined;
  // A number, or a word that stands for one.
  if (field.kind === "number" || (field.hints && /^[0-9]+$/.test(text))) return Number(text);
  if (!field.isUri) return text;
  const uris = text.split(/\s+/);
  return uris.length === 1 ? text : uris;
}

/** @param {Setting} field @param {any} value of a definition */
const written = (field, value) => (field.kind === "checkbox" ? value === true : typeof value === "object" ? "" : String(value));

/** What a form begins with. @param {Definition} definition @param {Setting[]} fields @returns {Record<string, any>} */
export function entered(definition, fields) {
  /** @type {Record<string, any>} */
  const values = {};
  /** @type {Definition} */
  const further = {};
  for (const [key, value] of Object.entries(definition)) {
    const field = fields.find(({ name }) => name === key);
    if (field?.isUri) continue;
    const text = field && written(field, value);
    const isShown = field && (!field.options || field.options.some(([one]) => one === text)) && read(field, text) === value;
    if (isShown) values[key] = text;
    else further[key] = value;
  }
  return Object.keys(further).length > 0 ? { ...values, [FURTHER]: JSON.stringify(further, undefined, 1) } : values;
}

/**
 * What was entered, as the API takes it.
 * @param {Record<string, any>} values @param {Setting[]} fields those that are shown @param {Definition} [known] what there is
 */
export function definitionOf(values, fields, known = {}) {
  const pairs = fields.filter(({ name, isNoKey }) => !isNoKey && name !== FURTHER).map((field) => [field.name, read(field, values[field.name]) ?? (field.isUri ? known[field.name] : undefined)]);
  return { ...Object.fromEntries(pairs.filter(([, value]) => value !== undefined)), ...furtherOf(values[FURTHER]) };
}

/** @param {string} [text] @returns {Definition} */
function furtherOf(text = "") {
  if (text.trim() === "") return {};
  try {
    const value = JSON.parse(text);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  } catch {
    // It is told below.
  }
  throw new Error('The further keys are no JSON object, such as {"key": "value"}.');
}
