// What the page is given: results as `docs/formats/perf-results.md` describes them, and how to show them.

interface Results {
  schema: number;
  version: string;
  name: string;
  description: string;
  command: string[];
  workload: string | null;
  started_at: string;
  seed: number;
  machine: { system: string; processor: string; processors: number; memory: number };
  broker: { uris: string[]; product: string; version: string; variant: string | null; platform: string } | null;
  agents: string[];
  generator_processors: number;
  runs: Run[];
  warnings: string[];
}

interface Run {
  label: string;
  variables: Record<string, number | string>;
  phases: Phase[];
  samples: Sample[];
  summary: Summary;
  interrupted: string | null;
  verdicts: { expected: string; measured: string; passed: boolean }[];
}

interface Phase {
  name: string;
  start_s: number;
  end_s: number;
}

interface Sample {
  end_s: number;
  duration_s: number;
  counts: Counts;
  consumer_latency: Percentiles | null;
  consumer_latency_sent: Percentiles | null;
  confirm_latency: Percentiles | null;
  confirm_latency_sent: Percentiles | null;
  lateness: Percentiles | null;
  backlog: number;
  connections: number;
  blocked: number;
  users: number;
  generator: Usage;
  broker: BrokerUsage | null;
  probes: Record<string, Percentiles>;
}

interface Counts {
  published: number;
  published_bytes: number;
  confirmed: number;
  nacked: number;
  returned: number;
  consumed: number;
  consumed_bytes: number;
  redelivered: number;
  sent_wire_bytes: number;
  received_wire_bytes: number;
  connections_opened: number;
  connections_lost: number;
  churned: number;
  scripts_done: number;
  scripts_failed: number;
  requests_failed: number;
}

interface BrokerUsage {
  usage: Usage;
  ready: number | null;
  unacked: number | null;
}

interface Usage {
  cpu_s: number | null;
  memory: number | null;
  disk_read: number | null;
  disk_written: number | null;
  network_in: number | null;
  network_out: number | null;
}

interface Percentiles {
  count: number;
  min_ns: number;
  mean_ns: number;
  p50_ns: number;
  p75_ns: number;
  p90_ns: number;
  p95_ns: number;
  p99_ns: number;
  p999_ns: number;
  p9999_ns: number;
  max_ns: number;
}

interface Distribution {
  percentiles: Percentiles;
  curve: [number, number][];
}

interface SequenceCounts {
  out_of_order: number;
  duplicate: number;
  redelivered: number;
  lost: number;
}

interface Summary {
  duration_s: number;
  counts: Counts;
  latencies: Record<"consumer" | "consumer_sent" | "confirm" | "confirm_sent" | "lateness", Distribution | null>;
  probes: Record<string, Distribution>;
  sequence: { is_complete: boolean; incomplete_because: string | null; total: SequenceCounts; publishers: { publisher: string; counts: SequenceCounts }[] };
  generator: Usage;
  broker: BrokerUsage | null;
  bottleneck: string | null;
}

/** Results beside each other, in words and numbers that are ready to show. */
interface Comparison {
  names: string[];
  runs: { label: string; indexes: (number | null)[]; rows: ComparisonRow[] }[];
  unmatched: string[];
  notes: string[];
}

interface ComparisonRow {
  group: string;
  metric: string;
  shown: (string | null)[];
  values: (number | null)[];
  ratios: (number | null)[];
  better: "higher" | "lower" | null;
}

interface PageData {
  names: string[];
  results: Results[];
  comparison: Comparison | null;
  /** How many intervals each sample stands for, at most; 1 if none was put together with others. */
  thinned: number;
}

/** What an axis of values shows. */
interface Unit {
  /** On the axis, short. */
  tick: (value: number) => string;
  /** In legends and tables. */
  full: (value: number) => string;
  /** Steps that the axis may have. */
  steps?: number[];
}

interface Line {
  label: string;
  /** 1 to 8: a colour of the style sheet. */
  colour: number;
  values: (number | null)[];
  dashed?: boolean;
  /** In pixels; 2 unless said otherwise. A wide line is seen below a narrow one. */
  width?: number;
}

interface ChartSpec {
  title: string;
  note?: string;
  x: { label: string; values: number[]; unit: Unit; isLog?: boolean; range?: [number, number]; ticks?: number[] };
  unit: Unit;
  lines: Line[];
  phases?: Phase[];
  /** Whether each value is marked. */
  points?: boolean;
  /** Whether the reader may choose between a linear and a logarithmic axis, and which comes first. */
  scale?: "linear" | "log";
  /** Charts with the same key show the same moment. */
  sync?: string;
  wide?: boolean;
  /** Names the run in pictures. */
  subtitle: string;
}
