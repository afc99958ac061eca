"""How long the management API takes to list queues: 3,000 of them while the machine is busy, and 100,000 that rest."""

import base64
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import threading
import time
import urllib.parse

from brokers import WARREN_TARGET, Turn
from runs import rounds_of, say, yes

PROGRAM = WARREN_TARGET / "dist" / "warren"
TIMEOUT_S = 600
COUNT = 100_000
# The share of the machine that broker and generator take together, and how near a rate has to come to it.
BUSY, BUSY_ERROR = 0.80, 0.03
# Long enough that what is done before a run, which takes CPU too, does not count for much.
CALIBRATION_S, CALIBRATION_TIMES, FIRST_RATE = 12, 10, 3_000
BUSY_S = 30
WARM_UP_S = 3
EVERY = "200ms"
MIB = 2**20
# What is asked of 100,000 queues, one after the other. A late page has nine tenths of them before it.
QUESTIONS = {
    "page of 100": "/api/queues?page=1&page_size=100&name=&use_regex=false&pagination=true&columns=name,messages",
    "page of 100, by messages": "/api/queues?page=1&page_size=100&sort=messages&sort_reverse=true&columns=name,messages",
    "page of 100, by name": "/api/queues?page=1&page_size=100&sort=name&sort_reverse=true&columns=name,messages",
    "late page, by messages": "/api/queues?page={late}&page_size=100&sort=messages&columns=name,messages",
    "page of 100, named 77": "/api/queues?page=1&page_size=100&name=77&columns=name,messages",
    "all, names and counts": "/api/queues?columns=name,messages_ready",
    "all, by messages": "/api/queues?columns=name,messages_ready&sort=messages_ready",
    "all, all columns": "/api/queues",
}
LIST_QUEUES = {"list_queues": "/list_queues", "list_queues, none": "/list_queues?max_len=0"}
# What Warren has promised, in ms.
WANTED = {"page of 100, by messages": 50, "all, names and counts": 1000}
WANTED_BUSY = {"p50_ms": 5, "p95_ms": 15}
# Asked while a long list is being sent to somebody else.
SHORT = "/api/queues/%2F/q-000001?columns=name"


class Asker:
    """One connection to a management API."""

    def __init__(self, url):
        parsed = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parsed.hostname, parsed.port, timeout=TIMEOUT_S)
        credentials = f"{parsed.username}:{parsed.password}".encode()
        self.headers = {"Authorization": "Basic " + base64.b64encode(credentials).decode()}

    def ask(self, path, method="GET", body=None):
        """The answer, and milliseconds until its first byte and until its last."""
        headers = self.headers | ({"Content-Type": "application/json"} if body else {})
        started_at = time.monotonic()
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        first_ms = (time.monotonic() - started_at) * 1000
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} is answered with {answer.status}: {text[:200]}")
        return text, first_ms, (time.monotonic() - started_at) * 1000


def has_list_queues(broker):
    """RabbitMQ has it from a plugin that is not part of it."""
    return broker.name != "rabbitmq"


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def memory_mib(pid, key="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def declare(asker, count):
    """Durable classic queues, by definitions, some thousands at a time."""
    for start in range(0, count, 10_000):
        queues = [{"vhost": "/", "name": f"q-{number:06}", "durable": True, "auto_delete": False, "arguments": {}}
                  for number in range(start, min(start + 10_000, count))]
        asker.ask("/api/definitions", "POST", json.dumps({"queues": queues}))


def measure_question(asker, path, seconds, count_max=50):
    """Percentiles of an answer's time, once it has been asked for once."""
    text, _, _ = asker.ask(path)
    firsts, alls, until = [], [], time.monotonic() + seconds
    while len(alls) < 3 or (time.monotonic() < until and len(alls) < count_max):
        text, first_ms, all_ms = asker.ask(path)
        firsts.append(first_ms)
        alls.append(all_ms)
    return {"asked": len(alls), "len": len(text), "first_p50_ms": statistics.median(firsts),
            "p50_ms": statistics.median(alls), "p95_ms": quantile(alls, 0.95), "max_ms": max(alls)}


def measure_beside(url, path, seconds):
    """How long a short question takes while others ask for long lists all the time."""
    is_over, lists = threading.Event(), []

    def ask_for_lists():
        # Reads as fast as it can, in a process of its own: this interpreter would be in its own way.
        words = ["curl", "-s", "-o", "/dev/null", "-w", "%{time_total}", url + path]
        while not is_over.is_set():
            lists.append(float(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout) * 1000)

    asking = threading.Thread(target=ask_for_lists)
    asker, times = Asker(url), []
    asker.ask(SHORT)
    asking.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until or not lists:
        times.append(asker.ask(SHORT)[2])
        time.sleep(0.005)
    is_over.set()
    asking.join()
    return {"asked": len(times), "lists": len(lists), "list_p50_ms": statistics.median(lists), "p50_ms": statistics.median(times),
            "p95_ms": quantile(times, 0.95), "p99_ms": quantile(times, 0.99), "max_ms": max(times)}


def measure_many(turn, url, count, seconds):
    """All questions, of so many queues. Each is named with what came of it."""
    asker, before_mib = Asker(url), memory_mib(turn.pid)
    started_at = time.monotonic()
    declare(asker, count)
    declared_s = time.monotonic() - started_at
    listed = 0
    until = time.monotonic() + TIMEOUT_S
    # RabbitMQ tells of queues when they have told of themselves.
    while listed < count and time.monotonic() < until:
        listed = json.loads(asker.ask("/api/queues?page=1&page_size=1&columns=name")[0])["total_count"]
        time.sleep(0.2)
    turn.rest()
    declared_mib = memory_mib(turn.pid)
    found = {"declared": {"count": listed, "declared_s": declared_s, "before_mib": before_mib, "rss_mib": declared_mib}}
    questions = QUESTIONS | (LIST_QUEUES if has_list_queues(turn.broker) else {})
    for name, path in questions.items():
        try:
            found[name] = measure_question(asker, path.format(late=max(1, count * 9 // 1000)), seconds) | {"rss_mib": memory_mib(turn.pid)}
        except (RuntimeError, OSError, http.client.HTTPException) as problem:
            found[name] = {"failed": str(problem)}
            asker = Asker(url)
        say(f"{turn.broker.name}, {count:,} queues, {name}: {json.dumps(found[name])}")
    for name, path in (("nothing", SHORT), ("all, names and counts", QUESTIONS["all, names and counts"]),
                       ("all, by messages", QUESTIONS["all, by messages"]), ("all, all columns", QUESTIONS["all, all columns"])):
        found[f"short beside {name}"] = measure_beside(url, path, max(seconds, 2))
        say(f"{turn.broker.name}, {count:,} queues, short beside {name}: {json.dumps(found[f'short beside {name}'])}")
    return found


def run_load(turn, url, workload, rate, seconds, path, scale):
    """Runs a workload at a rate; its results."""
    words = [PROGRAM, "perf", "run", workload, "-h", f"amqp://127.0.0.1:{turn.broker.port}", "--management-url", url,
             "--broker-pid", str(turn.pid), "--no-dashboard", "--nice", "19", "--json", path, "--html", path.with_suffix(".html"),
             "--scale", str(scale), "--set", f"rate={rate:g}", "--set", f"every={EVERY}", "--set", f"warm_up={WARM_UP_S}s",
             "--set", f"duration={seconds + WARM_UP_S:g}s"]
    path.parent.mkdir(parents=True, exist_ok=True)
    run = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    # 1 is also: an expectation did not come true, which is for the reader to see.
    if run.returncode not in (0, 1) or not path.exists():
        raise RuntimeError(f"{turn.broker.name}: {run.stderr.strip()[-300:]}")
    return json.loads(path.read_text())["runs"][0]


def busy_of(run):
    """The share of the machine that the broker and the generator took. What else ran is not in it."""
    summary = run["summary"]
    cpu_s = summary["generator"]["cpu_s"] + summary["broker"]["usage"]["cpu_s"]
    return cpu_s / summary["duration_s"] / os.cpu_count()


def calibrated(turn, url, options, folder):
    """A rate at which the machine is as busy as it shall be: doubled until it is too much, then halved between. A busier broker takes less
    for each message, so one measurement does not tell the next."""
    if options.rate:
        return options.rate
    rate, low, high = FIRST_RATE, 0, None
    for number in range(CALIBRATION_TIMES):
        run = run_load(turn, url, "queue-listing", rate, CALIBRATION_S, folder / f"{turn.broker.name}-calibration.json", options.scale)
        consumed = run["summary"]["counts"]["consumed"] / run["summary"]["duration_s"]
        busy = busy_of(run)
        say(f"{turn.broker.name}: at {rate:,.0f} messages/s the machine is busy to {busy:.0%} ({consumed:,.0f}/s consumed)")
        if abs(busy - BUSY) <= BUSY_ERROR:
            break
        # What is not consumed is more than the broker can do.
        if busy > BUSY or consumed < rate * options.scale * 0.95:
            high = rate
        else:
            low = rate
        rate = (low + high) / 2 if high else 2 * rate
    return rate


def measure_busy(turn, url, options, results, number):
    """The two workloads, at one rate."""
    folder = results.path
    seconds = options.measure_s or BUSY_S
    try:
        rate = calibrated(turn, url, options, folder)
        for workload in ("queue-listing", "queue-listing-pollers"):
            path = folder / f"{turn.broker.name}-{workload}-{number}.json"
            file = workload if workload == "queue-listing" else with_users(url, workload, folder)
            run = run_load(turn, url, file, rate, seconds, path, options.scale)
            summary = run["summary"]
            consumer = summary["latencies"]["consumer"]["percentiles"]
            probes = {name: percentiles_ms(of["percentiles"]) for name, of in summary["probes"].items()}
            result = {"rate": rate, "busy": busy_of(run), "consumed_per_s": summary["counts"]["consumed"] / summary["duration_s"],
                      "consumer": percentiles_ms(consumer), "probes": probes, "memory_mib": (summary["broker"]["usage"]["memory"] or 0) / MIB,
                      "requests_failed": summary["counts"].get("requests_failed", 0)}
            results.add(workload, turn.broker, number, result)
            say(f"round {number}, {turn.broker.name}, {workload}: {json.dumps(result)}")
    except RuntimeError as failure:
        results.add("queue-listing", turn.broker, number, {"failed": str(failure)})
        say(f"round {number}: FAILED: {failure}")


def with_users(url, workload, folder):
    """The workload, with a user of its own for each probe: some see one vhost, some all, of which a second one is empty."""
    asker, text = Asker(url), subprocess.run([PROGRAM, "perf", "show", workload], stdout=subprocess.PIPE, text=True, check=True).stdout
    asker.ask("/api/vhosts/other", "PUT", "{}")
    parts = text.split('every = "$every"\n')
    for number in range(len(parts) - 1):
        user = f"poller-{number}"
        tags = ("management", "monitoring", "administrator")[number % 3]
        asker.ask(f"/api/users/{user}", "PUT", json.dumps({"password": user, "tags": tags}))
        for vhost in ("%2F", "other")[:1 + number % 2]:
            asker.ask(f"/api/permissions/{vhost}/{user}", "PUT", json.dumps({"configure": "", "write": "", "read": ".*"}))
        parts[number] += f'every = "$every"\nuser = "{user}"\npassword = "{user}"\n'
    path = folder / f"{workload}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(parts))
    return path


def percentiles_ms(of):
    return {"count": of["count"]} | {f"{key}_ms": of[f"{key}_ns"] / 1e6 for key in ("p50", "p95", "p99", "max")}


def run_listing(options, brokers, results):
    brokers = [broker for broker in brokers if broker.management_url()]
    count = max(1, int(COUNT * options.scale))
    for number, broker in rounds_of(brokers, options.rounds or 3):
        with Turn(broker, (), True) as turn:
            measure_busy(turn, broker.management_url(), options, results, number)
    for broker in brokers:
        with Turn(broker, (), True) as turn:
            found = measure_many(turn, broker.management_url(), count, options.measure_s or 5)
        for name, result in found.items():
            results.add(name, broker, 1, result)
    return [*busy_table(brokers, results), "", *many_table(brokers, results, count)]


def times(of, keys=("p50_ms", "p95_ms", "p99_ms", "max_ms")):
    return " / ".join(f"{of[key]:.2f}" if of[key] < 100 else f"{of[key]:,.0f}" for key in keys)


def busy_table(brokers, results):
    """One row for each list that was asked for; of the round whose list was in the middle."""
    lines = [f"Broker and generator together take {BUSY:.0%} of the machine. Times are p50 / p95 / p99 / max in ms, from when a request "
             "or a message was due; of the round in the middle.", "",
             "| workload | list | broker | messages/s consumed | machine | time | within 5 (p50) and 15 (p95) | messages' latency |",
             "|---|---|---|---|---|---|---|---|"]
    for workload in ("queue-listing", "queue-listing-pollers"):
        for broker in brokers:
            runs = results.of(workload, broker)
            if not runs:
                lines.append(f"| {workload} | | {broker.name} | | | **failed** | | |")
                continue
            for name in runs[0]["probes"]:
                ordered = sorted((run for run in runs if name in run["probes"]), key=lambda run: run["probes"][name]["p50_ms"])
                run = ordered[len(ordered) // 2]
                of = run["probes"][name]
                wanted = yes(all(of[key] <= most for key, most in WANTED_BUSY.items())) if workload == "queue-listing" else ""
                lines.append("| " + " | ".join([workload, name, broker.name, f"{run['consumed_per_s']:,.0f}", f"{run['busy']:.0%}",
                                                times(of), wanted, times(run["consumer"])]) + " |")
    return lines


def many_table(brokers, results, count):
    lines = [f"{count:,} queues that rest. A list is asked for again and again by one; a short question, of one queue, beside another "
             "who asks for a long list all the time.", "",
             "| asked | broker | first byte p50 (ms) | all p50 / p95 / max (ms) | wanted | MiB | broker's memory after it (MiB) |",
             "|---|---|---|---|---|---|---|"]
    names = dict.fromkeys(run["scenario"] for run in results.runs if not run["scenario"].startswith("queue-listing"))
    for name in names:
        for broker in brokers:
            for run in (run for run in results.runs if run["scenario"] == name and run["broker"] == broker.name):
                lines.append("| " + " | ".join([name, broker.name, *many_cells(name, run)]) + " |")
    return lines


def many_cells(name, run):
    if "failed" in run:
        return ["", f"**failed**: {run['failed']}", "", "", ""]
    if name == "declared":
        return ["", f"{run['count']:,} queues in {run['declared_s']:.1f} s", "", "", f"{run['before_mib']:,.0f} before, {run['rss_mib']:,.0f}"]
    first = f"{run['first_p50_ms']:.2f}" if "first_p50_ms" in run else ""
    wanted = f"{WANTED[name]}: {yes(run['p50_ms'] <= WANTED[name])}" if name in WANTED else ""
    length = f"{run['len'] / MIB:.2f}" if "len" in run else ""
    memory = f"{run['rss_mib']:,.0f}" if "rss_mib" in run else ""
    return [first, times(run, ("p50_ms", "p95_ms", "max_ms")), wanted, length, memory]
