// What the broker does, while it does it: for administrators.

import { chosenTab, Heading, Tabs } from "../parts/heading.js";
import { h, html } from "../parts/html.js";
import { Busiest } from "../trace/busiest.js";
import { Calls } from "../trace/calls.js";
import { CpuProfile } from "../trace/cpu_profile.js";
import { FlameFiles } from "../trace/flame_files.js";
import { FlightRecorder } from "../trace/flight_recorder.js";
import { Messages } from "../trace/messages.js";
import { SlowRequests } from "../trace/slow_requests.js";
import { TraceFiles } from "../trace/trace_files.js";
import { WallProfile } from "../trace/wall_profile.js";

/** @type {[string, string][]} */
const TABS = [["calls", "Calls"], ["messages", "Messages"], ["files", "Trace files"], ["wall", "Where time goes"], ["cpu", "Processors"], ["flames", "Flame graphs"], ["busiest", "Busiest"], ["slow", "Slow requests"], ["recorder", "Flight recorder"]];

/** @type {Record<string, (props: {}) => any>} */
const SHOWN = { calls: Calls, messages: Messages, files: TraceFiles, wall: WallProfile, cpu: CpuProfile, flames: FlameFiles, busiest: Busiest, slow: SlowRequests, recorder: FlightRecorder };

export default function Trace() {
  const tab = chosenTab(TABS) ?? "calls";
  return html`<${Heading} title="Trace" />${h(Tabs, { label: "Kinds of traces", tabs: TABS })}${h(SHOWN[tab] ?? Calls, { key: tab })}`;
}
