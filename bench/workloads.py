"""The workloads that ship with `warren perf`, against each broker in turn."""

import json
import re
import shlex
import statistics
import subprocess

from brokers import WARREN_TARGET, Turn, chosen
from runs import say, selected

# `settings` and `arguments` may differ by broker, as in bench/run. Of `dq-confirm-multiack` there are two more, in which like
# is compared with like: RabbitMQ's quorum queue syncs before it confirms, its classic queue does not; Warren always does,
# unless told not to.
NO_ARGUMENTS = "--set queues.arguments={}"
WORKLOADS = {
    "low-latency": {},
    "confirm-every-n": {},
    "high-throughput": {},
    "high-scale": {},
    "queue-listing": {"has_management": True},
    "queue-listing-pollers": {"has_management": True},
    "delayed-exchange": {},
    "connection-churn": {},
    "dq-confirm-multiack": {},
    "dq-confirm-multiack, both synced": {"arguments": {"rabbitmq": "--set kind=quorum"}},
    "dq-confirm-multiack, neither synced": {"settings": {"warren": ["warren.confirm_after=write"]}},
    "lqs-confirm-multiack": {},
    "lqs-confirm-multiack, any length": {"arguments": NO_ARGUMENTS},
    "ndq-multiack": {},
    "ndq-multiack, any length": {"arguments": NO_ARGUMENTS},
    "ndq-10q-multiack": {},
    "ndq-10q-multiack, any length": {"arguments": NO_ARGUMENTS},
    "ndq-autoack": {},
    "ndq-autoack, any length": {"arguments": NO_ARGUMENTS},
    "pqs-multiack": {},
    "pqs-multiack, no priorities": {"arguments": NO_ARGUMENTS},
    "resource-churning": {},
    "basic-get": {},
}
# With --measure-s, every workload measures that long, after this.
WARM_UP_S = 3
# What a run may take, all of a sweep: RabbitMQ needs a while to declare 100,000 queues.
RUN_TIMEOUT_S = 2 * 3600
# A broker that does not do what a workload asks for says so when it is declared.
REFUSED = re.compile(r"cannot declare the objects of the run: (?:.*: )?(\d{3} .*)")
COMPLAINT = "warren perf: "
PROGRAM = WARREN_TARGET / "dist" / "warren"
MIB = 2**20


def run_workloads(options, brokers, results):
    workloads = selected(WORKLOADS, options)
    # Whose results are whose: by workload, broker, round.
    files = {}
    for number in range(options.rounds or 3):
        for name, workload in workloads.items():
            for broker in brokers if number % 2 == 0 else brokers[::-1]:
                path = results.path / slug(name) / f"{broker.name}-{number + 1}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                if workload.get("has_management") and not broker.management_url():
                    results.add(name, broker, number + 1, {"refused": "it has no management API"})
                    continue
                settings = chosen(workload.get("settings", {}), broker.name) or []
                with Turn(broker, settings, workload.get("has_management", False)) as turn:
                    turn.rest()
                    complaint = generate(turn, name, workload, path, options)
                keep(results, name, broker, number + 1, path, complaint)
                if path.exists():
                    files.setdefault(name, {}).setdefault(broker.name, []).append(path)
    for name, by_broker in files.items():
        compare(name, [by_broker[broker.name] for broker in brokers if broker.name in by_broker])
    return tables(brokers, results)


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name)


def generate(turn, name, workload, path, options):
    """Runs a workload. What could not be run is returned in words; verdicts that are not good are in the results."""
    words = [PROGRAM, "perf", "run", name.split(",")[0], "-h", f"amqp://127.0.0.1:{turn.broker.port}",
             "--broker-pid", str(turn.pid), "--no-dashboard", "--json", path, "--html", path.with_suffix(".html")]
    words += shlex.split(chosen(workload.get("arguments", ""), turn.broker.name) or "")
    if options.scale != 1:
        words += ["--scale", str(options.scale)]
    if options.measure_s:
        words += ["--set", f"warm_up={WARM_UP_S}s", "--set", f"duration={options.measure_s + WARM_UP_S:g}s"]
    if workload.get("has_management"):
        words += ["--management-url", turn.broker.management_url()]
    try:
        run = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"it did not end within {RUN_TIMEOUT_S} s"
    complaints = [line.removeprefix(COMPLAINT) for line in run.stderr.splitlines() if line.startswith(COMPLAINT)]
    if complaints:
        return complaints[-1]
    return None if path.exists() else f"it ended with {run.returncode} and left no results: {run.stderr.strip()[-300:]}"


def keep(results, name, broker, number, path, complaint):
    """A run of its own for each combination of a sweep."""
    label = name
    for run in json.loads(path.read_text())["runs"] if path.exists() else ():
        label = f"{name}: {run['label']}" if run["label"] else name
        measured = measures(run)
        results.add(label, broker, number, measured)
        rates = f"{measured['published_per_s']:,.0f}/s published, {measured['consumed_per_s']:,.0f}/s consumed"
        latencies = [f", {of} {times} ms" for of in ("consumer", "confirm") if (times := triple(measured, of))]
        say(f"round {number}, {broker.name}, {label}: {rates}, {cell(measured['messages_per_cpu_s'])} messages/CPU-s"
            + "".join(latencies))
    if complaint:
        refused = REFUSED.search(complaint)
        results.add(name, broker, number, {"refused": refused[1]} if refused else {"failed": complaint})
        say(f"round {number}, {broker.name}, {name}: {complaint}")


def measures(run):
    """What the tables show of a run."""
    summary = run["summary"]
    counts, seconds = summary["counts"], summary["duration_s"]
    usage = (summary["broker"] or {}).get("usage", {})
    # Where nobody consumes, what was published has gone all the way.
    messages = counts["consumed"] or counts["published"]
    result = {
        "published_per_s": counts["published"] / seconds if seconds else 0,
        "consumed_per_s": counts["consumed"] / seconds if seconds else 0,
        "messages_per_cpu_s": messages / usage["cpu_s"] if usage.get("cpu_s") and messages else None,
        "memory_mib": usage["memory"] / MIB if usage.get("memory") else None,
        "remarks": remarks(run),
    }
    for name in ("consumer", "confirm"):
        latency = summary["latencies"][name]
        for key in ("p50", "p99", "max"):
            is_known = latency and latency["percentiles"]["count"]
            result[f"{name}_{key}_ms"] = latency["percentiles"][f"{key}_ns"] / 1e6 if is_known else None
    return result


def remarks(run):
    """What one should know before believing the numbers, and what did not come true."""
    found = [f"{verdict['expected']}: {verdict['measured']}" for verdict in run["verdicts"] if not verdict["passed"]]
    if run["interrupted"]:
        found.append(f"interrupted: {run['interrupted']}")
    if run["summary"]["bottleneck"]:
        found.append("the generator was the bottleneck")
    return found


def compare(name, by_broker):
    """The last round of each broker beside the others', all numbers of it, as a table and as a page with charts."""
    if len(by_broker) < 2:
        return
    last = [paths[-1] for paths in by_broker]
    page = last[0].with_name("comparison.html")
    done = subprocess.run([PROGRAM, "perf", "compare", "--markdown", "--html", page, *last], capture_output=True, text=True)
    if done.returncode:
        say(f"{name} cannot be compared: {done.stderr.strip()}")
        return
    page.with_suffix(".md").write_text(f"# {name}\n\n{done.stdout}")


def tables(brokers, results):
    scenarios = list(dict.fromkeys(run["scenario"] for run in results.runs))
    lines = ["Ratios: so many times what is measured with " + brokers[0].name + ". More is better for rates and messages per "
             "CPU-second, less is better for latencies and memory. Where a workload says how many messages a second there "
             "are, the rate is the same if the broker keeps up. Latencies count from when a message was due.", "",
             "| workload | broker | published/s | consumed/s | messages per broker CPU-second | consumer latency p50 / p99 / max "
             "| confirm latency p50 / p99 / max | broker memory |", "|---|---|---|---|---|---|---|---|"]
    for scenario in scenarios:
        base = medians(results, scenario, brokers[0])
        for broker in brokers[1:]:
            measured = medians(results, scenario, broker)
            if base and measured:
                lines.append("| " + " | ".join([scenario, broker.name, *ratio_cells(measured, base)]) + " |")
            else:
                missing = [other.name for other in (brokers[0], broker) if not medians(results, scenario, other)]
                lines.append(f"| {scenario} | {broker.name} | not compared: see {' and '.join(missing)} below |  |  |  |  |  |")
    lines += ["", "What was measured: medians over the rounds; latencies in ms, broker memory (resident, the most of it) in MiB.", "",
              "| workload | broker | published/s | consumed/s | messages per broker CPU-second | consumer latency p50 / p99 / max "
              "| confirm latency p50 / p99 / max | broker memory | remarks, of the last round |",
              "|---|---|---|---|---|---|---|---|---|"]
    for scenario in scenarios:
        for broker in brokers:
            lines.append("| " + " | ".join([scenario, broker.name, *measured_cells(results, scenario, broker)]) + " |")
    return lines


KEYS = ("published_per_s", "consumed_per_s", "messages_per_cpu_s", "memory_mib",
        *(f"{name}_{key}_ms" for name in ("consumer", "confirm") for key in ("p50", "p99", "max")))


def medians(results, scenario, broker):
    runs = results.of(scenario, broker)
    values = {key: [run[key] for run in runs if run[key] is not None] for key in KEYS}
    return {key: statistics.median(of) if of else None for key, of in values.items()} if runs else None


def ratio_cells(measured, base):
    def ratio(key):
        return f"{measured[key] / base[key]:.2f}" if measured[key] is not None and base[key] else ""

    def ratios(name):
        cells = [ratio(f"{name}_{key}_ms") for key in ("p50", "p99", "max")]
        return " / ".join(cells) if all(cells) else ""

    return [*map(ratio, ("published_per_s", "consumed_per_s", "messages_per_cpu_s")), ratios("consumer"), ratios("confirm"),
            ratio("memory_mib")]


def measured_cells(results, scenario, broker):
    others = [run for run in results.runs if run["scenario"] == scenario and run["broker"] == broker.name
              and run.keys() & {"refused", "failed"}]
    said = [f"**refused**: {run['refused']}" if "refused" in run else f"**failed**: {run['failed']}" for run in others[-1:]]
    measured = medians(results, scenario, broker)
    if not measured:
        return ["", "", "", "", "", "", *(said or ["not run"])]
    remarks = results.of(scenario, broker)[-1]["remarks"]
    return [*(cell(measured[key]) for key in ("published_per_s", "consumed_per_s", "messages_per_cpu_s")),
            triple(measured, "consumer"), triple(measured, "confirm"), cell(measured["memory_mib"]),
            "; ".join([*remarks, *said]).replace("|", "\\|")]


def cell(value):
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def triple(measured, name):
    values = [measured[f"{name}_{key}_ms"] for key in ("p50", "p99", "max")]
    return "" if None in values else " / ".join(f"{value:.3g}" if value < 100 else f"{value:,.0f}" for value in values)
