"""Programs that open a connection for each message, with and without the proxy between; and what else is asked of the proxy."""

import contextlib
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

from brokers import BENCH, Turn, cpu_s, run_tool
from proxy import PROGRAM, Proxy, Relay, Sink
from runs import rounds_of, say, selected, yes

QUEUE = "bench"
ROUND_TRIPS_MS = (0, 1, 10, 50, 100)
PATHS = ("direct", "proxy")
# The clients of `warren perf run connection-churn` are its publishers.
PERF, PERF_CLIENTS, PIKA = "connection-churn, 20 publishers", 20, "pika, one script"
CONFIRMS = ("no confirms", "confirms")
# As many as can be had while processors are left over, whatever a message costs the broker at a distance.
CALM_RATE = 5_000
CALM = f"{PERF}, {CALM_RATE:,}/s"
WARM_UP_S = 3
# How long a message may be under way when all have been sent.
ARRIVAL_TIMEOUT_S = 15
# Ports of what stands around a broker, from the broker's.
RELAY_AT, PROXY_AT, HTTP_AT, SINK_AT = 100, 200, 300, 400

# What Warren has promised.
SHARE_MIN, TRIPS_MAX = 0.95, 1.05
CPU_RATIO_MIN = {"rabbitmq": 20, "warren": 8}
FORWARDED_PER_CPU_S_MIN = 300_000
RATE, P99_ADDED_MAX_MS = 10_000, 0.3
# Beyond it, what is added drowns in what is there.
P99_DIRECT_MAX_MS = 5
IDLE, LINES_MAX, CLIENT_MAX_BYTES = 15_000, 20, 16 * 1024
HERD, HERD_MAX_S = 10_000, 10
FILES = 65_536


def run_churn(options, brokers, results):
    allow_files()
    parts = selected(PARTS, options)
    for number, broker in rounds_of(brokers, options.rounds or 3):
        # A broker that has taken ten thousands of connections is not the same afterwards: each part has a fresh one.
        for name, (measure, _) in parts.items():
            if measure:
                with Turn(broker) as turn:
                    measure(turn, options, results, number)
    for number in range(options.rounds or 3):
        for name in parts:
            if name in WITHOUT_BROKER:
                WITHOUT_BROKER[name](options, results, number + 1)
    lines = []
    for _, table in parts.values():
        lines += [*table(brokers, results), ""]
    return lines[:-1]


def allow_files():
    """For as many clients as it takes. Without the right to, what is missing says so itself."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


def attempt(results, scenario, broker, number, measure):
    """A run that fails is told of; the others are worth having."""
    try:
        result = measure()
    except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as failure:
        result = {"failed": str(failure)}
    results.add(scenario, broker, number, result)
    say(f"round {number}, {broker.name}, {scenario}: {json.dumps(result)}")


def between(turn, has_proxy, upstream_port=None):
    """A proxy in front of the broker, or nothing; whoever is to be connected to has a `port`."""
    port = turn.broker.port
    if has_proxy:
        return Proxy(port + PROXY_AT, port + HTTP_AT, upstream_port or port)
    return contextlib.nullcontext()


def must_arrive(turn, sent):
    """Every message is in the queue, and no other."""
    until = time.monotonic() + ARRIVAL_TIMEOUT_S
    while (count := turn.tool("count")["messages"]) != sent:
        if time.monotonic() > until:
            raise RuntimeError(f"of {sent:,} messages {count:,} arrived")
        time.sleep(0.1)


# How far the broker is.


def measure_immunity(turn, options, results, number):
    port, seconds = turn.broker.port, options.measure_s or 5
    # Back again in every other round: what drifts is in all distances.
    for delay_ms in ROUND_TRIPS_MS[::1 if number % 2 else -1]:
        with Relay(port + RELAY_AT, port, delay_ms) as relay:
            for path in PATHS:
                turn.rest()
                # A proxy of its own, so that no pool has grown to what another distance took.
                with between(turn, path == "proxy", relay.port) as proxy:
                    target = (proxy or relay).port
                    for confirms in CONFIRMS:
                        attempt(results, immunity_name(PERF, confirms, path, delay_ms), turn.broker, number,
                                lambda: with_cpu(lambda: run_perf(target, confirms, seconds), broker=turn, proxy=proxy, relay=relay))
                        attempt(results, immunity_name(PIKA, confirms, path, delay_ms), turn.broker, number,
                                lambda: run_pika(turn, target, confirms, seconds))
                    if proxy:
                        attempt(results, immunity_name(CALM, CONFIRMS[0], path, delay_ms), turn.broker, number,
                                lambda: run_perf(target, CONFIRMS[0], seconds, CALM_RATE))


def immunity_name(client, confirms, path, delay_ms):
    return f"{client}, {confirms}, {path}, {delay_ms} ms"


def with_cpu(run, **programs):
    """What `run` gives, and what each of the programs (None: is not there) has taken in µs of CPU a message, those of the warm-up included."""
    programs = {name: program for name, program in programs.items() if program}
    before = {name: program.cpu_s() for name, program in programs.items()}
    result = run()
    sent = result["messages_per_s"] * (result["duration_s"] + WARM_UP_S)
    return result | {f"{name}_cpu_us": (program.cpu_s() - before[name]) * 1e6 / sent for name, program in programs.items()}


def run_perf(port, confirms, seconds, rate=None):
    """The one consumer's prefetch of 100 would allow it 1,000 messages/s at 100 ms: it is not what is measured, and gets more."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "churn.json"
        words = [PROGRAM, "perf", "run", "connection-churn", "-h", f"amqp://127.0.0.1:{port}", "--no-dashboard", "--json", path,
                 "--html", path.with_suffix(".html"), "--set", f"confirm_window={CONFIRMS.index(confirms)}",
                 "--set", "consumers.prefetch=10000", "--set", "consumers.ack_every=100",
                 "--set", f"warm_up={WARM_UP_S}s", "--set", f"duration={seconds + WARM_UP_S:g}s"]
        words += ["--set", f"publishers.rate={rate}"] if rate else []
        run = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not path.exists():
            raise RuntimeError(run.stderr.strip()[-300:])
        (run,) = json.loads(path.read_text())["runs"]
    missed = [f"{verdict['expected']}: {verdict['measured']}" for verdict in run["verdicts"] if not verdict["passed"]]
    if missed:
        raise RuntimeError("; ".join(missed))
    summary = run["summary"]
    counts = summary["counts"]
    return {"messages_per_s": counts["published"] / summary["duration_s"], "clients": PERF_CLIENTS, "duration_s": summary["duration_s"],
            **{key: counts[key] for key in ("published", "consumed", "confirmed")}}


def run_pika(turn, port, confirms, seconds):
    turn.tool("declare")
    words = [sys.executable, BENCH / "pika_churn.py", str(port), QUEUE, str(WARM_UP_S), str(seconds)]
    words += ["confirms"] if confirms == "confirms" else []
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip()[-300:])
    result = json.loads(run.stdout)
    must_arrive(turn, result["sent"])
    return result


def immunity_table(brokers, results):
    """Round trips from one distance to the next, in which what else takes time is the same; below 10 ms it is not."""
    lines = ["Client – (proxy) – relay – broker: messages/s, its share of what it is next to the broker, and the round trips that a message "
             "takes: how much longer it takes than at the distance before, in round trips. Every message arrived.", "",
             "| client | confirms | broker | path | " + " | ".join(f"{delay_ms} ms" for delay_ms in ROUND_TRIPS_MS) + " | wanted |",
             "|---|---|---|---|" + "---|" * (len(ROUND_TRIPS_MS) + 1)]
    for client, confirms in ((PERF, CONFIRMS[0]), (CALM, CONFIRMS[0]), (PERF, CONFIRMS[1]), (PIKA, CONFIRMS[0]), (PIKA, CONFIRMS[1])):
        for broker in brokers:
            for path in PATHS if client != CALM else PATHS[1:]:
                cells, wanted = immunity_cells(results, client, confirms, broker, path)
                lines.append("| " + " | ".join([client, confirms, broker.name, path, *cells, wanted]) + " |")
    return [*lines, "", *cpu_at_distances_table(brokers, results)]


def cpu_at_distances_table(brokers, results):
    """Why a rate falls with the distance, where it does."""
    lines = [f"Who takes how much of the processors, at which distance: {PERF}, no confirms, through the proxy, as fast as they go; µs of CPU a message.", "",
             "| broker | who | " + " | ".join(f"{delay_ms} ms" for delay_ms in ROUND_TRIPS_MS) + " |",
             "|---|---|" + "---|" * len(ROUND_TRIPS_MS)]
    for broker in brokers:
        for who in ("broker", "proxy", "relay"):
            names = [immunity_name(PERF, CONFIRMS[0], PATHS[1], delay_ms) for delay_ms in ROUND_TRIPS_MS]
            medians = [results.median(name, broker, f"{who}_cpu_us") for name in names]
            cells = ["" if median is None else f"{median:.1f}" for median in medians]
            lines.append(f"| {broker.name} | {who} | " + " | ".join(cells) + " |")
    return lines


def immunity_cells(results, client, confirms, broker, path):
    """One of each distance, and the verdict about the last."""
    cells, rates, trips = [], {}, None
    for delay_ms in ROUND_TRIPS_MS:
        name = immunity_name(client, confirms, path, delay_ms)
        rate, failed = results.median(name, broker, "messages_per_s"), results.failed_count(name, broker)
        if rate is None or failed:
            cells.append(f"**{failed} rounds failed**" if failed else "")
            continue
        clients = results.median(name, broker, "clients")
        cell = f"{rate:,.0f}" if rate >= 100 else f"{rate:.2g}"
        if 0 in rates:
            cell += f", {rate / rates[0]:.1%}"
        if rates and delay_ms >= 10:
            before_ms = max(rates)
            trips = clients * (1 / rate - 1 / rates[before_ms]) * 1000 / (delay_ms - before_ms)
            cell += f", {max(trips, 0):.2f}"
        rates[delay_ms] = rate
        cells.append(cell)
    last = ROUND_TRIPS_MS[-1]
    if path != "proxy" or not {0, last} <= rates.keys():
        return cells, ""
    if client == CALM:
        # It is as high as it was set: that it is the same everywhere is all it says.
        return cells, ""
    if confirms == "no confirms":
        return cells, f"{SHARE_MIN:.0%}: {yes(rates[last] / rates[0] >= SHARE_MIN)}"
    return cells, f"1 round trip: {yes(trips <= TRIPS_MAX)}"


# What a message costs.


def measure_cpu(turn, options, results, number):
    for confirms in CONFIRMS:
        for path in PATHS:
            with between(turn, path == "proxy") as proxy:
                attempt(results, cpu_name(confirms, path), turn.broker, number,
                        lambda: run_publishers(turn, proxy, confirms, options.measure_s or 5))


def cpu_name(confirms, path):
    return f"churning publishers, {confirms}, {path}"


def run_publishers(turn, proxy, confirms, seconds):
    """Nobody consumes: that would cost a broker the same, with and without a proxy, and the ratio would be of something else."""
    port = proxy.port if proxy else turn.broker.port
    words = ["--port", port, "--pid", turn.pid, "--window", CONFIRMS.index(confirms)]
    turn.tool("declare")
    run_tool(turn.broker.name, "churn", *words, "--measure-s", min(seconds, 2))
    turn.rest()
    turn.tool("declare")
    before = turn.cpu_s(), proxy.cpu_s() if proxy else 0
    result = run_tool(turn.broker.name, "churn", *words, "--measure-s", seconds)
    must_arrive(turn, result["sent"])
    after = turn.cpu_s(), proxy.cpu_s() if proxy else 0
    broker_us, proxy_us = ((end - start) * 1e6 / result["sent"] for start, end in zip(before, after))
    return result | {"broker_cpu_us": broker_us, "proxy_cpu_us": proxy_us}


def cpu_table(brokers, results):
    lines = ["A connection for each message, 20 clients as fast as they can, 100 bytes, nobody consumes. µs of CPU a message; what the broker "
             "takes without the proxy is so many times what it takes with it.", "",
             "| confirms | broker | messages/s direct, with the proxy | broker direct | broker with the proxy | proxy | ratio | wanted |",
             "|---|---|---|---|---|---|---|---|"]
    for confirms in CONFIRMS:
        for broker in brokers:
            direct, proxied = (cpu_name(confirms, path) for path in PATHS)
            if (failed := failures(results, broker, direct, proxied)) is not None:
                lines.append(f"| {confirms} | {broker.name} | {failed} | | | | | |")
                continue
            rates = [results.median(name, broker, "messages_per_s") for name in (direct, proxied)]
            alone_us, with_us = (results.median(name, broker, "broker_cpu_us") for name in (direct, proxied))
            ratio, wanted = alone_us / max(with_us, 1e-3), CPU_RATIO_MIN.get(broker.name)
            lines.append("| " + " | ".join([
                confirms, broker.name, f"{rates[0]:,.0f}, {rates[1]:,.0f}", f"{alone_us:,.1f}", f"{with_us:,.1f}",
                f"{results.median(proxied, broker, 'proxy_cpu_us'):,.1f}", f"{ratio:.1f}",
                f"{wanted}: {yes(ratio >= wanted)}" if wanted else ""]) + " |")
    return lines


def failures(results, broker, *names):
    """Words for a table where something failed, or was not run; None: all is there."""
    failed = sum(results.failed_count(name, broker) for name in names)
    if failed:
        return f"**{failed} runs failed**"
    return None if all(results.of(name, broker) for name in names) else "not run"


# What forwarding costs.

FORWARDING = {
    "one connection, no confirms": "",
    "one connection, 1000 unconfirmed": "--window 1000",
    "20 connections, no confirms": "--senders 20",
}
SINK_PORT = 5990


def measure_forwarding(options, results, number):
    for name, arguments in FORWARDING.items():
        with Sink(SINK_PORT) as sink, Proxy(SINK_PORT + PROXY_AT, SINK_PORT + HTTP_AT, sink.port) as proxy:
            attempt(results, name, sink, number, lambda: run_forwarding(sink, proxy, arguments, options.measure_s or 5))


def run_forwarding(sink, proxy, arguments, seconds):
    """Counted is what the sink has got, all of it, for all the CPU time that the proxy took."""
    before = sink.count(), proxy.cpu_s()
    blast = run_tool("proxy", "blast", "--port", proxy.port, "--pid", proxy.pid, "--size", 16, "--readers", 0, "--measure-s", seconds,
                     *arguments.split())
    after = sink.settled_count(), proxy.cpu_s()
    messages, proxy_s = (end - start for start, end in zip(before, after))
    if messages < blast["sent"]:
        raise RuntimeError(f"of more than {blast['sent']:,} messages {messages:,} arrived")
    return {"messages": messages, "messages_per_cpu_s": messages / proxy_s, "messages_per_s": blast["sent"] / blast["wall_s"]}


def forwarding_table(_, results):
    lines = ["16 bytes, connections that stay, through the proxy into `bench sink`; what arrived there.", "",
             "| publishers | messages/s | messages per CPU-second of the proxy (lowest – highest) | wanted |", "|---|---|---|---|"]
    for name in FORWARDING:
        if (failed := failures(results, Sink, name)) is not None:
            lines.append(f"| {name} | {failed} | | |")
            continue
        values = [run["messages_per_cpu_s"] for run in results.of(name, Sink)]
        value = results.median(name, Sink, "messages_per_cpu_s")
        lines.append(f"| {name} | {results.median(name, Sink, 'messages_per_s'):,.0f} | {value:,.0f} ({min(values):,.0f} – {max(values):,.0f}) "
                     f"| {FORWARDED_PER_CPU_S_MIN:,}: {yes(value >= FORWARDED_PER_CPU_S_MIN)} |")
    return lines


# How much later messages come.

POPULATIONS = (1, 5)


def measure_latency(turn, options, results, number):
    for population in POPULATIONS:
        for path in PATHS:
            with between(turn, path == "proxy") as proxy:
                port = proxy.port if proxy else turn.broker.port
                turn.rest()
                attempt(results, latency_name(population, path), turn.broker, number,
                        lambda: run_latency(port, turn.pid, options, population, population))


def measure_sink_latency(options, results, number):
    with Sink(SINK_PORT) as sink, Proxy(SINK_PORT + PROXY_AT, SINK_PORT + HTTP_AT, sink.port) as proxy:
        for population in POPULATIONS:
            for path, port in zip(PATHS, (sink.port, proxy.port)):
                attempt(results, latency_name(population, path), sink, number,
                        lambda: run_latency(port, sink.pid, options, population, 0))


def latency_name(population, path):
    return f"latency, {population} and {population}, {path}"


def run_latency(port, pid, options, publishers, consumers):
    """The tool fails where a message or a confirm stays away."""
    result = run_tool("latency", "latency", "--port", port, "--pid", pid, "--rate", options.rate or RATE, "--size", 100,
                      "--publishers", publishers, "--consumers", consumers, "--measure-s", options.measure_s or 5)
    kinds = ("deliver", "confirm") if consumers else ("confirm",)
    return {f"{kind}_{key}": result[kind][key] for kind in kinds for key in ("p50_ms", "p99_ms")} | {"sent": result["sent"]}


def latency_table(brokers, results):
    lines = [f"{RATE:,} messages of 100 bytes a second, all confirmed, from when they were due: p50 / p99 in ms. Into the sink, who has "
             "nothing to do, the difference is the proxy's alone; a broker has to share two processors with it.", "",
             "| publishers and consumers | broker | what | direct | with the proxy | p99 added | wanted |", "|---|---|---|---|---|---|---|"]
    for population in POPULATIONS:
        for broker in (Sink, *brokers):
            names = [latency_name(population, path) for path in PATHS]
            who = f"{population}" if broker is Sink else f"{population} and {population}"
            if (failed := failures(results, broker, *names)) is not None:
                lines.append(f"| {who} | {broker.name} | {failed} | | | | |")
                continue
            for kind in ("confirm",) if broker is Sink else ("deliver", "confirm"):
                p50s, p99s = ([results.median(name, broker, f"{kind}_{key}") for name in names] for key in ("p50_ms", "p99_ms"))
                added = p99s[1] - p99s[0]
                is_told = p99s[0] <= P99_DIRECT_MAX_MS
                lines.append("| " + " | ".join([
                    who, broker.name, kind, *(f"{p50:.2f} / {p99:.2f}" for p50, p99 in zip(p50s, p99s)), f"{added:+.2f}",
                    f"{P99_ADDED_MAX_MS}: {yes(added <= P99_ADDED_MAX_MS)}" if is_told else "cannot be told: direct varies too much"])
                    + " |")
    return lines


# Very many.


def measure_herd(turn, options, results, number):
    for name, clients in (("idle", IDLE), ("herd", HERD)):
        with between(turn, True) as proxy:
            attempt(results, name, turn.broker, number,
                    lambda: run_herd(turn, proxy, max(1, int(clients * options.scale)), name == "idle"))
        turn.rest()


def run_herd(turn, proxy, clients, is_watched):
    """Watching counts connections twice a second; it is not done where time counts."""
    turn.tool("declare")
    is_over, most = threading.Event(), {"lines": 0, "watched_clients": 0}

    def watch():
        while is_watched and not is_over.wait(0.5):
            for key, gauge in (("lines", "amqproxy_upstream_connections"), ("watched_clients", "amqproxy_client_connections")):
                most[key] = max(most[key], proxy.gauge(gauge))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        result = run_tool("proxy", "herd", "--port", proxy.port, "--pid", proxy.pid, "--clients", clients)
    finally:
        is_over.set()
        watching.join()
    must_arrive(turn, result["sent"])
    for key in ("open", "published", "again"):
        result[f"{key}_client_bytes"] = (result[f"rss_{key}_bytes"] - result["rss_before_bytes"]) / clients
    return result | most


def herd_table(brokers, results):
    lines = ["Clients with a channel each, all at once. Memory is the proxy's own (RssAnon) beyond what it had before, a client: when all are open, "
             "when each has published a message, and when all were gone and have come back. Reconnecting is from the instant in which "
             "all are gone until the last has its channel.", "",
             "| clients | broker | all open in s | reconnected in s | wanted | upstream connections at most | wanted "
             "| bytes a client open, after a message, after a reconnect | wanted |", "|---|---|---|---|---|---|---|---|---|"]
    for name in ("idle", "herd"):
        for broker in brokers:
            if (failed := failures(results, broker, name)) is not None:
                lines.append(f"| {name} | {broker.name} | {failed} | | | | | | |")
                continue
            of = {key: results.median(name, broker, key) for key in results.of(name, broker)[0] if key not in ("scenario", "broker")}
            memory = [of[f"{key}_client_bytes"] for key in ("open", "published", "again")]
            is_herd = name == "herd"
            lines.append("| " + " | ".join([
                f"{of['clients']:,.0f}", broker.name, f"{of['opened_s']:.2f}", f"{of['reopened_s']:.2f}",
                f"{HERD_MAX_S}: {yes(of['reopened_s'] < HERD_MAX_S)}" if is_herd else "",
                "" if is_herd else f"{of['lines']:.0f}", "" if is_herd else f"{LINES_MAX}: {yes(of['lines'] <= LINES_MAX)}",
                ", ".join(f"{value:,.0f}" for value in memory),
                f"{CLIENT_MAX_BYTES:,}: {yes(max(memory) < CLIENT_MAX_BYTES)}"]) + " |")
    return lines


# How each is measured in a broker's turn, and its table.
PARTS = {
    "immunity": (measure_immunity, immunity_table),
    "cpu": (measure_cpu, cpu_table),
    "forwarding": (None, forwarding_table),
    "latency": (measure_latency, latency_table),
    "herd": (measure_herd, herd_table),
}
WITHOUT_BROKER = {"forwarding": measure_forwarding, "latency": measure_sink_latency}
