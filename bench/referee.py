"""Whether `warren perf` tells the truth: PerfTest, given the same command, is the neutral referee; `bench latency`, which
shares no code with either, is the second one. And what it costs to generate load, against a broker that does nothing.
"""

import json
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from brokers import TOOL, Turn, answers, go_before_others
from generators import PERFTEST, WARREN_PERF, generate
from runs import median_cell, rounds_of, say, yes

RATE_PER_S, SIZE = 5000, 1024
COMMAND = f"-x 1 -y 1 -s {SIZE} -r {RATE_PER_S} -c 100 -u referee"
# What consumers do: for PerfTest's command line, and for bench's own.
ACKS = {"auto-ack": ("-a", "0"), "acks": ("-q 100", "100")}
# The JVM needs a while until it has compiled what is hot.
WARM_UP_S, MEASURE_S = 8, 8
# What is promised.
RATES_DIFFER_MAX = 0.05
COST_MIN = 5
# Medians agree when they differ by at most this share, or by so little that it is a timer's.
MEDIANS_DIFFER_MAX, MEDIANS_DIFFER_MAX_MS = 0.25, 0.1

SINK_SIZES = {16: "16 bytes", 1024: "1 KiB"}
SINK_DIRECTIONS = {"publishing": ("-x 1 -y 0", "sent"), "consuming": ("-x 0 -y 1 -a", "received")}
LOOPBACK = "loopback"


def run_referee(options, brokers, results):
    rounds, measure_s = options.rounds or 3, int(options.measure_s or MEASURE_S)
    is_chosen = re.compile(options.only or "").search
    for number, broker in rounds_of(brokers, rounds):
        for acks in filter(is_chosen, ACKS):
            with Turn(broker) as turn:
                for generator in in_turn([PERFTEST, WARREN_PERF, "bench latency"], number):
                    turn.rest()
                    result = measure(turn, generator, acks, measure_s)
                    results.add(f"{acks}, {generator}", broker, number, result)
                    say(f"round {number}, {broker.name}, {acks}, {generator}: " + said(result))
    chosen = [(size, direction) for size in SINK_SIZES for direction in SINK_DIRECTIONS
              if is_chosen(sink_name(size, direction))]
    sink = Sink(options.port)
    for number in range(1, rounds + 1) if chosen else ():
        result = tool("loopback")
        results.add(LOOPBACK, sink, number, result)
        say(f"round {number}, raw loopback: {result['bytes_per_s'] / 1e6:,.0f} MB/s")
        for size, direction in chosen:
            for generator in in_turn([PERFTEST, WARREN_PERF], number):
                result = sink.measure(generator, size, direction, measure_s)
                results.add(f"{sink_name(size, direction)}, {generator}", sink, number, result)
                say(f"round {number}, {sink_name(size, direction)}, {generator}: {result['per_cpu_s']:,.0f} "
                    f"messages/CPU-s, {result['per_s']:,.0f}/s")
    lines = []
    if any(map(is_chosen, ACKS)):
        lines += agreement_table(brokers, results) + [""] + latency_table(brokers, results) + [""]
    return lines + (cost_table(sink, chosen, results) if chosen else [])


def in_turn(generators, number):
    """Every other round goes the other way round."""
    return generators if number % 2 else generators[::-1]


def measure(turn, generator, acks, measure_s):
    ours, theirs = ACKS[acks]
    if generator not in (PERFTEST, WARREN_PERF):
        result = turn.tool("latency", "--size", str(SIZE), "--rate", str(RATE_PER_S), "--prefetch", theirs,
                           "--warm-up-s", "2", "--measure-s", str(measure_s))
        return {f"{name}_{key}": result[kind][key] for name, kind in (("consumer", "deliver"), ("confirm", "confirm"))
                for key in ("p50_ms", "p99_ms")}
    return generated(generator, turn.broker.port, [*COMMAND.split(), *ours.split()], measure_s)


def generated(generator, port, words, measure_s):
    """What a generator's lines say, and for `warren perf` what is in its results."""
    if generator == PERFTEST:
        return generate(generator, port, words, WARM_UP_S, measure_s)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        words = [*words, "--warm-up", str(WARM_UP_S), "--json", str(path)]
        result = generate(generator, port, words, WARM_UP_S, measure_s)
        summary = json.loads(path.read_text())["runs"][0]["summary"]
    for name in ("consumer", "confirm"):
        for since, suffix in (("due", ""), ("sent", "_sent")):
            latency = summary["latencies"][name + suffix]
            for key in ("p50", "p99") if latency else ():
                result[f"{name}_{since}_{key}_ms"] = latency["percentiles"][f"{key}_ns"] / 1e6
    wire_bytes = summary["counts"]["sent_wire_bytes"] + summary["counts"]["received_wire_bytes"]
    return {**result, "wire_bytes_per_s": wire_bytes / summary["duration_s"], "bottleneck": summary["bottleneck"]}


def said(result):
    rates = f"{result['sent_per_s']:,.0f}/s sent, {result['received_per_s']:,.0f}/s received, " if "sent_per_s" in result else ""
    name = next(key for key in ("consumer_due_p50_ms", "consumer_p50_ms") if key in result)
    return f"{rates}consumer latency {result[name]:.3f} ms in the median"


def agreement_table(brokers, results):
    lines = [f"### The same command: `{COMMAND}`", "",
             "`sent` and `received` are messages/s. Latencies are medians in ms. PerfTest counts from when a message was sent, "
             "and so does the first number of `warren perf`; the second counts from when it was due.", "",
             "| broker | consumer | generator | sent | received | consumer latency | confirm latency "
             f"| rates differ by | at most {RATES_DIFFER_MAX:.0%} |", "|---|---|---|---|---|---|---|---|---|"]
    for broker in brokers:
        for acks in ACKS:
            def median(generator, key):
                return results.median(f"{acks}, {generator}", broker, key)

            if median(PERFTEST, "sent_per_s") is None or median(WARREN_PERF, "sent_per_s") is None:
                continue
            for generator in (PERFTEST, WARREN_PERF):
                rates = [median(generator, key) for key in ("sent_per_s", "received_per_s")]
                cells = [broker.name, acks, generator, *(f"{rate:,.0f}" for rate in rates)]
                if generator == PERFTEST:
                    cells += [f"{median(generator, f'{name}_p50_ms'):.3f}" for name in ("consumer", "confirm")] + ["", ""]
                else:
                    cells += [f"{median(generator, f'{name}_sent_p50_ms'):.3f} / {median(generator, f'{name}_due_p50_ms'):.3f}"
                              for name in ("consumer", "confirm")]
                    bases = [median(PERFTEST, key) for key in ("sent_per_s", "received_per_s")]
                    differ = max(abs(rate / base - 1) for rate, base in zip(rates, bases))
                    cells += [f"{differ:.1%}", yes(differ <= RATES_DIFFER_MAX)]
                lines.append("| " + " | ".join(cells) + " |")
    return lines


def latency_table(brokers, results):
    lines = [f"### The same load by `bench latency`: {RATE_PER_S:,} messages/s of 1 KiB", "",
             "p50 / p99 in ms, from when a message was due. Medians agree when they differ by at most "
             f"{MEDIANS_DIFFER_MAX:.0%} or {MEDIANS_DIFFER_MAX_MS} ms.", "",
             "| broker | consumer | latency | bench latency | warren perf | medians agree |", "|---|---|---|---|---|---|"]
    for broker in brokers:
        for acks in ACKS:
            for name in ("consumer", "confirm"):
                theirs = [results.median(f"{acks}, bench latency", broker, f"{name}_{key}_ms") for key in ("p50", "p99")]
                ours = [results.median(f"{acks}, {WARREN_PERF}", broker, f"{name}_due_{key}_ms") for key in ("p50", "p99")]
                if None in theirs + ours:
                    continue
                differ = abs(ours[0] - theirs[0])
                agree = differ <= max(MEDIANS_DIFFER_MAX * theirs[0], MEDIANS_DIFFER_MAX_MS)
                cells = [broker.name, acks, name, *(f"{p50:.3f} / {p99:.3f}" for p50, p99 in (theirs, ours)), yes(agree)]
                lines.append("| " + " | ".join(cells) + " |")
    return lines


def sink_name(size, direction):
    return f"sink, {direction} {SINK_SIZES[size]}"


def tool(*words):
    return json.loads(subprocess.run([TOOL, *words], check=True, stdout=subprocess.PIPE, text=True).stdout)


class Sink:
    """`bench sink`: a broker that discards what is published, and sends consumers as much as they take."""

    name = "sink"

    def __init__(self, port):
        self.port = port

    def measure(self, generator, size, direction, measure_s):
        words, key = SINK_DIRECTIONS[direction]
        process = subprocess.Popen([TOOL, "sink", "--port", str(self.port), "--size", str(size)])
        try:
            go_before_others(process.pid, Turn.nice)
            self.wait_ready(process)
            result = generated(generator, self.port, [*words.split(), "-s", str(size), "-u", "referee"], measure_s)
        finally:
            process.kill()
            process.wait()
        return {**result, "per_s": result[f"{key}_per_s"], "per_cpu_s": result[f"{key}_per_cpu_s"]}

    def wait_ready(self, process):
        until = time.monotonic() + 10
        while not answers(self.port):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the sink does not answer on port {self.port}")
            time.sleep(0.01)


def cost_table(sink, chosen, results):
    raw = results.median(LOOPBACK, sink, "bytes_per_s")
    lines = ["### What generating load costs, against a broker that does nothing", "",
             "Messages per CPU-second are the generator's, all of its threads. The loopback carries "
             f"{raw / 1e6:,.0f} MB/s here, when one thread writes and another reads and nothing else is done.", "",
             "| load | generator | messages per CPU-second (lowest – highest) | messages/s | of the loopback "
             f"| against {PERFTEST} | at least {COST_MIN} |", "|---|---|---|---|---|---|---|"]
    for size, direction in chosen:
        base = results.median(f"{sink_name(size, direction)}, {PERFTEST}", sink, "per_cpu_s")
        for generator in (PERFTEST, WARREN_PERF):
            runs = results.of(f"{sink_name(size, direction)}, {generator}", sink)
            values = [run["per_cpu_s"] for run in runs]
            value = statistics.median(values)
            wire = [run["wire_bytes_per_s"] / raw for run in runs if "wire_bytes_per_s" in run]
            cells = [f"{direction}, {SINK_SIZES[size]}", generator, f"{value:,.0f} ({min(values):,.0f} – {max(values):,.0f})",
                     median_cell(run["per_s"] for run in runs), f"{statistics.median(wire):.0%}" if wire else ""]
            cells += ["", ""] if generator == PERFTEST else [f"{value / base:.1f}", yes(value / base >= COST_MIN)]
            lines.append("| " + " | ".join(cells) + " |")
    return lines
