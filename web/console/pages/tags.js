// Tags of users, and what they give a right to.

/** @type {[string, string][]} */
export const TAGS = [
  ["administrator", "everything: users, vhosts, permissions, policies, the log, the cluster"],
  ["monitoring", "to see the nodes, and connections and channels of all users"],
  ["policymaker", "what management gives, and policies and parameters of its vhosts"],
  ["management", "this console, and what the user's permissions allow in its vhosts"],
  ["protected", "cannot be changed or deleted over HTTP: only operators on the host can do that"],
];

/** @param {string} tag */
export const aboutTag = (tag) => TAGS.find(([name]) => name === tag)?.[1] ?? "a tag without a meaning to the broker";

/** Tags, as the API gives them. @param {string[] | string | undefined} tags */
export const tagsOf = (tags) => (Array.isArray(tags) ? tags : (tags ?? "").split(",").map((tag) => tag.trim()).filter(Boolean));
