// What a node alone is told: how a cluster begins.

import { change } from "../api.js";
import { ask } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { h, html } from "../parts/html.js";
import { leave } from "../session.js";

/** @param {{ node: string }} props */
export function HowAClusterBegins({ node }) {
  const steps = `# In the configuration of this node, then restart it:
warren.cluster.secret_file = /etc/warren/secret

# Run this on each node that joins. The node must be empty.
warren.cluster.secret_file = /etc/warren/secret
warren.cluster.peers.1 = ${node} = HOST:25672

# On each of those:
warren ctl join_cluster ${node}`;
  return html`<div class="empty"><h2>This node is alone</h2>
    <p>Three or five nodes keep everything that is durable on a majority of their disks, and go on when a minority of them is lost. A node alone becomes the first of a cluster as it is, with its data: it needs a secret, a restart, and empty nodes that join it.</p>
    <pre tabindex="0" aria-label="How a cluster begins">${steps}</pre>
    <p>Port 25672 is open between the nodes and to no others. Two nodes are no safer than one, because both must run. With three nodes, one can fail.</p></div>`;
}

/** @param {{ node: string }} props */
export function JoinForm({ node }) {
  const join = async (/** @type {any} */ values) => {
    const isForced = Boolean(values.force);
    const isYes = await ask({
      title: `Join the cluster of ${values.node}`, act: "Join", isHarmful: isForced, word: isForced ? node : undefined,
      text: html`<p>${isForced ? html`<strong>All data of this node is lost</strong>: its messages, queues, users and virtual hosts.` : "This node must be empty, except for what its first start made. Otherwise the cluster refuses it."} It gets what the others have.</p>`,
      run: () => change("POST", "api/warren/cluster/join", { node: values.node, ...(isForced ? { force: true } : {}) }),
    });
    // Another user of the same name is another user.
    if (isYes) leave("This node is in the cluster now, with the users of the cluster. Log in as one of them.");
  };
  return h(Form, { label: "Join a cluster", act: "Join…", onSubmit: join, keeps: true, fields: [
    { name: "node", label: "A node of it", isRequired: true, placeholder: "rabbit@a, or 10.0.0.1:25672", help: "The name of a node in the cluster, or its address (host:port). Both nodes need the same secret." },
    { name: "force", label: "What this node has may be lost", kind: "checkbox" },
  ] });
}
