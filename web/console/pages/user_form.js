// The form of a user: name, how it logs in, its tags.

import { useState } from "../../vendor/modules/hooks.js";
import { change } from "../api.js";
import { path as pathOf } from "../address.js";
import { Form } from "../parts/form.js";
import { h } from "../parts/html.js";
import { say } from "../parts/note.js";
import { TAGS, tagsOf } from "./tags.js";

/** @typedef {{ name: string, tags: string[], password_hash?: string, hashing_algorithm?: string }} User */

/** Ways to log in. @type {string[][]} */
const NEW_WAYS = [["password", "a password"], ["hash", "a password's hash"], ["none", "no password (certificate, or another back end)"]];
const OLD_WAYS = [["keep", "as before"], ["password", "a new password"], ["both", "a new password, and the old one for a while"], ["hash", "a password's hash"], ["none", "no password (certificate, or another back end)"]];
const KNOWN = TAGS.map(([tag]) => tag);

/** @param {{ known?: User, onDone: () => Promise<void> }} props known: the user that is changed; absent: one is added */
export function UserForm({ known, onDone }) {
  const [way, setWay] = useState(known ? "keep" : "password");
  const own = tagsOf(known?.tags);
  const initial = {
    way,
    ...Object.fromEntries(own.filter((tag) => KNOWN.includes(tag)).map((tag) => [`tag ${tag}`, true])),
    others: own.filter((tag) => !KNOWN.includes(tag)).join(", "),
  };
  const submit = async (/** @type {any} */ values) => {
    const name = known?.name ?? values.name;
    if (["password", "both"].includes(values.way) && values.password !== values.again) throw new Error("The two passwords are not the same.");
    const tags = [...KNOWN.filter((tag) => values[`tag ${tag}`]), ...tagsOf(values.others)];
    await change("PUT", pathOf`api/users/${name}`, { ...loginOf(values, known), tags: tags.join(",") });
    say(known ? `User ${name} is changed.` : `User ${name} is there. Permissions say what it may do in which virtual host.`);
    await onDone();
  };
  /** @type {import("../parts/form.js").Field[]} */
  const login = way === "hash"
    ? [{ name: "hash", label: "Hash", isRequired: true, help: "Base64 of 4 bytes of salt and the hash of salt and password." },
      { name: "algorithm", label: "Hashing algorithm", kind: "select", options: ["rabbit_password_hashing_sha256", "rabbit_password_hashing_sha512", "rabbit_password_hashing_md5"].map((one) => [one, one]) }]
    : way === "password" || way === "both"
      ? [{ name: "password", label: "Password", kind: "password", isRequired: true, autocomplete: "new-password" }, { name: "again", label: "Password again", kind: "password", isRequired: true, autocomplete: "new-password" }]
      : [];
  return h(Form, {
    label: known ? "Change the user" : "Add a user", act: known ? "Change user" : "Add user", initial, onSubmit: submit, keeps: Boolean(known),
    onChange: (values) => setWay(values.way),
    fields: [
      .../** @type {import("../parts/form.js").Field[]} */ (known ? [] : [{ name: "name", label: "Name", isRequired: true }]),
      { name: "way", label: "Logs in with", kind: "select", options: known ? OLD_WAYS : NEW_WAYS, help: way === "both" ? "Both are valid until the second one is cleared on the user's page." : undefined },
      ...login,
      ...TAGS.map(([tag, about]) => /** @type {import("../parts/form.js").Field} */ ({ name: `tag ${tag}`, label: tag, kind: "checkbox", help: about })),
      { name: "others", label: "Other tags", help: "Separated by commas. The broker gives them no meaning." },
    ],
  });
}

/** @param {any} values @param {User | undefined} known */
function loginOf(values, known) {
  switch (values.way) {
    case "password": return { password: values.password };
    case "both": return { password: values.password, keep_old_password: true };
    case "hash": return { password_hash: values.hash, hashing_algorithm: values.algorithm ?? "rabbit_password_hashing_sha256" };
    case "keep": return { password_hash: known?.password_hash ?? "", hashing_algorithm: known?.hashing_algorithm };
    default: return { password_hash: "" };
  }
}
