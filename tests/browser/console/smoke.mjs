// The scenarios that are run where the console is as it was when all of them passed: what a change of the broker would break first.

/** By the area that has them. @type {Record<string, string[]>} */
export const SMOKE = {
  "test_frame.mjs": [
    "a login leads to the place of the address, and a wrong password is said",
    "the page allows no script but the broker's own",
    "a broker that is killed and comes back is said, and the page goes on by itself",
  ],
  "test_queues.mjs": [
    "a queue is added by keys alone and found by a regular expression",
    "messages are browsed and searched, and none is taken",
    "what matches is moved, and its count is shown before",
  ],
  "test_exchanges.mjs": [
    "an exchange of any name and type is added, and found",
    "bindings are made and removed, and stand in the picture and in the list beside it",
    "a message is published with headers, properties and a body of base64, and it is said whether it was routed",
  ],
  "test_messages.mjs": ["messages are published into the queue, and got as its mode says", "numbers of rows come by the stream, while the list is not asked for"],
  "test_admin.mjs": ["a user is added, let into a virtual host, and may log in", "a policy shows what it would change before it is saved"],
  "test_troubles.mjs": ["the overview draws both charts, also after numbers have come by the stream, and tells of unroutable messages"],
  "test_tags.mjs": ["a user with the tag management opens each of its tabs, and sets no limits", "a connection and its channel are listed, with what they are"],
  "test_oauth.mjs": ["oauth: a login at the provider leads to the place of the address, outlives a reload, and ends"],
};

/** What finds these names, and no others. @param {typeof SMOKE} smoke */
export function patternOf(smoke) {
  const escaped = Object.values(smoke).flat().map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return `^(${escaped.join("|")})$`;
}
