// One upstream of federation: where it is, what its links do, and what may be changed of it.

import { Section } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { isMissing, NotHere } from "../parts/not_here.js";
import { Note } from "../parts/note.js";
import { Plain } from "../parts/plain.js";
import { withoutPasswords } from "../parts/settings.js";
import { useResource } from "../resource.js";
import { go } from "../route.js";
import { Admin } from "./admin_frame.js";
import { Links } from "./federation.js";
import { deleteUpstream } from "./federation_upstreams.js";
import { UpstreamForm, upstreamPath } from "./upstream_form.js";

/** @type {[string, string[]][]} */
const ABOVE = [["Federation Upstreams", ["federation-upstreams"]]];

/** @param {{ values: string[] }} props */
export default function FederationUpstream({ values }) {
  const [vhost = "", name = ""] = values;
  const { data, error, reload } = useResource(upstreamPath(vhost, name));
  if (!data || isMissing(error)) return h(NotHere, { error, kind: "Upstream", title: name, above: ABOVE });
  const remove = async () => void ((await deleteUpstream(data)) && go(["federation-upstreams"]));
  const shown = withoutPasswords(data.value);
  return h(Admin, { title: name, kind: "Upstream", above: ABOVE, acts: html`<button type="button" class="harmful" onClick=${remove}>Delete upstream</button>`, children: html`
    ${error && h(Note, { kind: "warning", error })}
    ${h(Section, { title: "Links", children: h(Links, { of: { vhost, upstream: name } }) })}
    ${h(Section, { title: "Definition", about: `in ${vhost}, without passwords`, children: h(Plain, { label: "Definition", head: ["Key", "Value"], rows: Object.entries(shown).map(([key, value]) => ({ key, cells: [h("code", {}, key), h("code", {}, typeof value === "string" ? value : JSON.stringify(value))] })) }) })}
    ${h(Section, { title: "Change the upstream", isClosed: true, children: h(UpstreamForm, { key: JSON.stringify(shown), vhosts: [vhost], known: data, onDone: reload }) })}` });
}
