// Markup as templates, for what has no properties to check: leaves. Components are called by `h`, so that their properties are checked.

import htm from "../../vendor/modules/htm.js";
import { h } from "../../vendor/modules/preact.js";

export const html = htm.bind(h);
export { h };
