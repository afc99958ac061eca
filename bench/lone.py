"""Messages that come alone: what one costs the broker, and how long its publisher and its consumer wait."""

import contextlib
import os
import statistics
import subprocess
import sys

from brokers import Turn, chosen, run_tool
from runs import rounds_of, say, selected

# Of RabbitMQ's queues the quorum queue syncs before it confirms, as Warren does.
SYNCED = {"rabbitmq": "--queue-type quorum", "": ""}
LONE = {
    "persistent, 1,000/s, one pair": ("latency", "--rate 1000 --persistent --prefetch 100", SYNCED),
    "persistent, 10,000/s, one pair": ("latency", "--rate 10000 --persistent --prefetch 1000", SYNCED),
    "persistent, one publisher waits": ("lone", "--persistent --prefetch 100", SYNCED),
    "persistent, 20 publishers wait":
        ("lone", "--persistent --prefetch 100 --publishers 20 --consumers 20", SYNCED),
    "transactions of one": ("lone", "--persistent --prefetch 100 --tx-len 1", ""),
    "transactions of ten": ("lone", "--persistent --prefetch 100 --tx-len 10", ""),
    "basic.get and ack": ("gets", "--persistent", ""),
    "transient, one pair, publisher waits": ("lone", "", ""),
    "transient, five pairs, publishers wait": ("lone", "--publishers 5 --consumers 5", ""),
    "dead letters, 1,000/s": ("latency", "--rate 1000 --dead-letters", ""),
    "100 headers of 100 bytes, more than consumers take": ("lone", "--unanswered --headers 100 --size 100 --publishers 2", ""),
}
# What the disk does by itself, as often as the first scenario asks it to.
DISK = "disk, 1,000/s"


@contextlib.contextmanager
def awake():
    """Keeps a processor from being halted, by a process that anything else goes before. To wake a halted one costs a virtual machine more
    than a broker does for a message, and that is charged to the broker; the more it does beside, the less often it happens."""
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.nice(40))
    try:
        yield
    finally:
        spinner.kill()
        spinner.wait()


def run_lone(options, brokers, results):
    with contextlib.nullcontext() if options.halting else awake():
        return measure(options, brokers, results)


def measure(options, brokers, results):
    scenarios = selected(LONE, options)
    for number, broker in rounds_of(brokers, options.rounds or 5):
        with Turn(broker) as turn:
            directory = options.results
            floor = run_tool("disk", "disk", "--dir", directory, "--rate", 1000, "--measure-s", options.measure_s or 4)
            results.add(DISK, broker, number, floor)
            say(f"round {number}, {DISK}: {percentiles(floor['sync'])} ms, {floor['cpu_us_per_sync']:.0f} µs a sync")
            for name, (command, words, queue) in scenarios.items():
                turn.rest()
                seconds = ["--measure-s", str(options.measure_s or 4)] if command != "gets" else []
                words = words.split() + (chosen(queue, broker.name) or "").split()
                result = turn.tool(command, *words, *seconds)
                results.add(name, broker, number, result)
                waits = {kind: percentiles(result[kind]) for kind in ("confirm", "deliver", "get") if kind in result}
                say(f"round {number}, {broker.name}, {name}: {result['cpu_us_per_message']:.1f} µs a message, "
                    + ", ".join(f"{kind} {wait} ms" for kind, wait in waits.items()))
    return lone_table(brokers, scenarios, results)


def percentiles(times):
    return f"{times['p50_ms']:.2f} / {times['p99_ms']:.2f}"


def lone_table(brokers, scenarios, results):
    first = brokers[0]
    floors = [run for broker in brokers for run in results.of(DISK, broker)]
    lines = ["Broker's CPU a message, and p50 / p99 in ms; each the median over the rounds. Answers are confirms, tx.commit-ok or "
             "basic.get-ok. "
             f"The disk alone, written and synced 1,000 times a second beside the resting brokers: {medians(floors, 'sync')} ms, "
             f"{statistics.median(run['cpu_us_per_sync'] for run in floors):.0f} µs a sync.", "",
             f"| scenario | broker | CPU (lowest – highest, µs) | against {first.name} | messages/s | answered | delivered |",
             "|---|---|---|---|---|---|---|"]
    for name in scenarios:
        base = results.median(name, first, "cpu_us_per_message")
        for broker in brokers:
            runs = results.of(name, broker)
            if not runs:
                continue
            costs = [run["cpu_us_per_message"] for run in runs]
            cost = statistics.median(costs)
            rates = [run.get("messages_per_s", run.get("rate_per_s")) for run in runs]
            answer = "get" if "get" in runs[0] else "confirm"
            lines.append("| " + " | ".join([
                name, broker.name, f"{cost:.1f} ({min(costs):.1f} – {max(costs):.1f})",
                f"{cost / base:.2f}" if base and broker is not first else "", f"{statistics.median(rates):,.0f}",
                medians(runs, answer), medians(runs, "deliver") if "deliver" in runs[0] else ""]) + " |")
    return lines


def medians(runs, kind):
    return " / ".join(f"{statistics.median(run[kind][key] for run in runs):.2f}" for key in ("p50_ms", "p99_ms"))
