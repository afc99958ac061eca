// Which exchanges and queues are before and behind an exchange, in layers, as far as can be shown.

/**
 * @typedef {{ source: string, destination: string, destination_type: string, routing_key: string, arguments: Record<string, unknown> }} Binding
 * @typedef {{ id: string, kind: "exchange" | "queue", name: string, layer: number, row: number }} Node
 * @typedef {{ from: Node, to: Node, keys: string[], count: number }} Edge keys: some of their keys
 * @typedef {{ nodes: Node[], edges: Edge[], layers: Node[][], more: number, unfollowed: number }} Graph
 * more: objects beyond those that are shown; unfollowed: exchanges that are shown without what is behind them
 */

/** Layers behind the exchange. */
export const DEPTH_MAX = 3;
/** Objects of a layer. */
export const LAYER_LEN_MAX = 16;
/** So many names are put in the order of people; more would take long. */
const COLLATED_MAX = 1000;
const names = new Intl.Collator("en", { numeric: true });
/** Keys of an edge that are kept. */
const KEYS_MAX = 20;

/** @param {string} kind @param {string} name */
const idOf = (kind, name) => `${kind} ${name}`;

/** What stands on a binding. @param {Binding} binding */
function keyOf({ routing_key: key, arguments: given = {} }) {
  const written = Object.entries(given).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
  return [key, written].filter(Boolean).join(" ");
}

/**
 * The other ends of bindings, each once, with how many lead there.
 * @param {Binding[]} bindings @param {"source" | "destination"} by
 * @returns {{ kind: "exchange" | "queue", name: string, count: number }[]}
 */
function endsOf(bindings, by) {
  // Exchanges first: something is behind them.
  const counts = { exchange: /** @type {Map<string, number>} */ (new Map()), queue: /** @type {Map<string, number>} */ (new Map()) };
  for (const binding of bindings) {
    const of = counts[by === "source" || binding.destination_type === "exchange" ? "exchange" : "queue"];
    of.set(binding[by], (of.get(binding[by]) ?? 0) + 1);
  }
  return /** @type {const} */ (["exchange", "queue"]).flatMap((kind) => {
    const all = [...counts[kind].keys()];
    all.sort(all.length <= COLLATED_MAX ? names.compare : undefined);
    return all.map((name) => ({ kind, name, count: counts[kind].get(name) ?? 0 }));
  });
}

/** Writes on edges what stands on their bindings. @param {Edge[]} edges @param {Binding[]} bindings @param {"source" | "destination"} by */
function addKeys(edges, bindings, by) {
  const byEnd = new Map(edges.map((edge) => [by === "source" ? edge.from.id : edge.to.id, edge]));
  if (byEnd.size === 0) return;
  for (const binding of bindings) {
    const edge = byEnd.get(idOf(by === "source" || binding.destination_type === "exchange" ? "exchange" : "queue", binding[by]));
    if (edge && edge.keys.length < KEYS_MAX) edge.keys.push(keyOf(binding));
  }
}

/** Names of exchanges that are to be asked for, behind some bindings. @param {Binding[]} from @returns {string[]} */
export const exchangesBehind = (from) => endsOf(from.filter(({ destination_type: type }) => type === "exchange"), "destination").slice(0, LAYER_LEN_MAX).map(({ name }) => name);

/**
 * @param {string} name of the exchange in the middle
 * @param {Binding[]} to those that bring messages to it
 * @param {Map<string, Binding[]>} from those that take messages from exchanges, by their names; those of the middle among them
 * @returns {Graph}
 */
export function layersOf(name, to, from) {
  /** @type {Map<string, Node>} */
  const nodes = new Map();
  /** @type {Edge[]} */
  const edges = [];
  /** @type {Node[][]} */
  const layers = [];
  let [more, unfollowed] = [0, 0];
  const place = (/** @type {"exchange" | "queue"} */ kind, /** @type {string} */ ofName, /** @type {number} */ layer) => {
    const known = nodes.get(idOf(kind, ofName));
    if (known) return known;
    const others = (layers[layer] ??= []);
    if (others.length >= LAYER_LEN_MAX) return undefined;
    const node = { id: idOf(kind, ofName), kind, name: ofName, layer, row: others.length };
    others.push(node);
    nodes.set(node.id, node);
    return node;
  };
  const middle = place("exchange", name, 0);
  if (!middle) return { nodes: [], edges, layers, more, unfollowed };
  for (let layer = 0; layer <= DEPTH_MAX; layer += 1) {
    for (const node of layers[layer] ?? []) {
      if (node.kind === "queue") continue;
      const bindings = from.get(node.name);
      if (!bindings || layer === DEPTH_MAX) {
        unfollowed += 1;
        continue;
      }
      /** @type {Edge[]} */
      const own = [];
      for (const { kind, name: destination, count } of endsOf(bindings, "destination")) {
        const end = place(kind, destination, layer + 1);
        if (end) own.push({ from: node, to: end, keys: [], count });
        else more += 1;
      }
      addKeys(own, bindings, "destination");
      edges.push(...own);
    }
  }
  // What is before it, unless it is behind it too: then its line leads back.
  layers.unshift([]);
  for (const node of nodes.values()) node.layer += 1;
  /** @type {Edge[]} */
  const before = [];
  for (const { name: source, count } of endsOf(to, "source")) {
    const known = nodes.get(idOf("exchange", source));
    const node = known ?? place("exchange", source, 0);
    if (!node) more += 1;
    else if (!edges.some((edge) => edge.from === node && edge.to === middle)) before.push({ from: node, to: middle, keys: [], count });
  }
  addKeys(before, to, "source");
  edges.push(...before);
  if (layers[0]?.length === 0) {
    layers.shift();
    for (const node of nodes.values()) node.layer -= 1;
  }
  arrange(layers, edges);
  return { nodes: layers.flat(), edges, layers, more, unfollowed };
}

/** Each object comes near to what leads to it, so that few lines cross. @param {Node[][]} layers @param {Edge[]} edges */
function arrange(layers, edges) {
  for (const [index, layer] of layers.entries()) {
    if (!layer || index === 0) continue;
    const middles = new Map(layer.map((node) => {
      const rows = edges.filter((edge) => edge.to === node && edge.from.layer < index).map((edge) => edge.from.row);
      return [node, rows.length > 0 ? rows.reduce((sum, row) => sum + row, 0) / rows.length : 0];
    }));
    layer.sort((a, b) => (middles.get(a) ?? 0) - (middles.get(b) ?? 0) || a.row - b.row);
    for (const [row, node] of layer.entries()) node.row = row;
  }
}
