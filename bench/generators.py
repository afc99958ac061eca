"""Load generators that take PerfTest's command line and print PerfTest's lines: PerfTest itself and `warren perf`.

Both are read by the same code, so that what differs is theirs.
"""

import re
import statistics
import subprocess
import threading

from brokers import PEERS, WARREN_TARGET, cpu_s

PERFTEST, WARREN_PERF = "PerfTest", "warren perf"
RATE = re.compile(r"(sent|received): (\d+) msg/s")
LATENCY = re.compile(r"(consumer|confirm) latency: ([\d/]+) µs")
MEDIAN_AT = 1
# How much longer than --time a run may take: the start of a JVM, and the last messages.
GRACE_S = 60


def command(generator):
    if generator == PERFTEST:
        return ["java", "-cp", f"{PEERS / 'perftest'}/*", "com.rabbitmq.perf.PerfTest"]
    return [str(WARREN_TARGET / "dist" / "warren"), "perf"]


def generate(generator, port, arguments, warm_up_s, measure_s):
    """Runs a generator, and tells from its lines after the warm-up: rates, CPU time at the same instants, and the
    medians of latencies (in milliseconds, each the median over the lines)."""
    seconds = warm_up_s + measure_s + 2
    words = [*command(generator), "-h", f"amqp://127.0.0.1:{port}", "-z", str(seconds), *arguments]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    timeout = threading.Timer(seconds + GRACE_S, process.kill)
    timeout.start()
    samples, lines = [], []
    for line in process.stdout:
        lines.append(line)
        found = re.search(r"time ([\d.]+) s, ", line)
        if found:
            samples.append({"at_s": float(found[1]), "cpu_s": cpu_s(process.pid), **read(line)})
    timeout.cancel()
    # `warren perf` ends with 1 when an expectation was missed; a command has none.
    if process.wait():
        raise RuntimeError(f"{generator} failed: {''.join(lines[-5:])}")
    samples = [sample for sample in samples if sample["at_s"] >= warm_up_s - 0.5][:measure_s + 1]
    if len(samples) < 2:
        raise RuntimeError(f"{generator} printed too few lines: {''.join(lines[-5:])}")
    return summed(samples)


def read(line):
    """What a line of output says."""
    rates = {name: int(number) for name, number in RATE.findall(line)}
    latencies = {f"{name}_p50_ms": int(numbers.split("/")[MEDIAN_AT]) / 1000 for name, numbers in LATENCY.findall(line)}
    return rates | latencies


def summed(samples):
    """The first sample only says when the measurement begins."""
    first, last, rest = samples[0], samples[-1], samples[1:]
    wall_s, used_s = last["at_s"] - first["at_s"], last["cpu_s"] - first["cpu_s"]
    result = {"wall_s": wall_s, "generator_cpu_s": used_s}
    for name in ("sent", "received"):
        messages = sum(after.get(name, 0) * (after["at_s"] - before["at_s"]) for before, after in zip(samples, rest))
        result[f"{name}_per_s"] = messages / wall_s
        result[f"{name}_per_cpu_s"] = messages / used_s if used_s > 0 else None
    for name in ("consumer_p50_ms", "confirm_p50_ms"):
        medians = [sample[name] for sample in rest if name in sample]
        result[name] = statistics.median(medians) if medians else None
    return result
