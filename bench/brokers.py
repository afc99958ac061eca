"""The brokers that are measured, and a turn of one of them."""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from runs import say

BENCH = pathlib.Path(__file__).resolve().parent
REPO = BENCH.parent
PEERS = pathlib.Path(os.environ.get("WARREN_PEERS", BENCH / ".peers"))
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target"))
WARREN_TARGET = pathlib.Path(os.environ.get("WARREN_TARGET_DIR", TARGET))
TOOL = TARGET / "dist" / "bench"
READY_TIMEOUT_S = 120
STOP_TIMEOUT_S = 60
# A broker rests when it takes less than this share of one processor for a second: what the scenario before left to be
# cleaned up is not the next one's work. RabbitMQ's runtime alone takes one or two percent.
RESTING_CPU, RESTING_TIMEOUT_S = 0.1, 60
WARREN = "{warren} serve --data-dir {data} --set listeners.tcp.default=127.0.0.1:{port} --set warren.management.enabled=false --set prometheus.tcp.listener=none"
PERFTEST_WARM_UP_S, PERFTEST_MEASURE_S = 10, 8
CLK_TCK = os.sysconf("SC_CLK_TCK")


def chosen(value, broker):
    """A scenario's value for a broker: itself, or by the broker's name."""
    return value.get(broker, value.get("")) if isinstance(value, dict) else value


class RabbitMq:
    """RabbitMQ as bench/peers/rabbitmq runs it."""

    script = BENCH / "peers" / "rabbitmq"

    def __init__(self, name, version, port, plugins=()):
        self.name, self.version, self.port, self.plugins = name, version, port, plugins

    def _peer(self, *arguments):
        return subprocess.run([self.script, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout

    def start(self, settings, has_management=False):
        arguments = [word for setting in settings for word in ("--set", setting)]
        arguments += ["--plugins"] if has_management else []
        arguments += [word for plugin in self.plugins for word in ("--enable", plugin)]
        self._peer("start", self.version, str(self.port), "--fresh", *arguments)
        if has_management:
            self.wait_for_statistics()
        return int(self._peer("pid", str(self.port)))

    def management_url(self):
        """Where the management API is, if it was started with it."""
        return f"http://guest:guest@127.0.0.1:{self.port + 10000}"

    def wait_for_statistics(self):
        """The management API answers before it has counted anything."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port + 10000}/api/nodes?columns=mem_used")
        request.add_header("Authorization", "Basic " + base64.b64encode(b"guest:guest").decode())
        # No proxy: it is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        until = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < until:
            try:
                with opener.open(request, timeout=10) as answer:
                    if all("mem_used" in node for node in json.load(answer)):
                        return
            except OSError:
                pass
            time.sleep(0.5)
        raise RuntimeError(f"{self.name}: the management API has no statistics")

    def stop(self):
        self._peer("remove", str(self.port))

    def release(self):
        releases = dict(line.split() for line in self._peer("install", self.version).splitlines())
        return f"RabbitMQ {releases['rabbitmq-server']}, Erlang {releases['erlang-base']}"

    def must_be(self, wanted):
        """A comparison says little about another release than the one that it is meant to be with."""
        if not self.release().startswith(f"RabbitMQ {wanted}."):
            raise SystemExit(f"this is {self.release()}, not {wanted}; if that is wanted, say so with --rabbitmq X.Y")


class Command:
    """Any broker that one command starts in the foreground."""

    def __init__(self, name, template, port):
        self.name, self.template, self.port = name, template, port
        self.data = PEERS / "data" / f"{name}-{port}"
        self.log = self.data.with_suffix(".log")
        self.process = None

    def _words(self, settings):
        values = {"data": self.data, "port": self.port, "warren": WARREN_TARGET / "dist" / "warren", "repo": REPO}
        words = [word.format(**values) for word in self.template.split()]
        return words + [word for setting in settings for word in ("--set", setting)]

    def start(self, settings, has_management=False):
        self.clear()
        if has_management and self.management_url():
            settings = [*settings, "warren.management.enabled=true", "management.tcp.ip=127.0.0.1",
                        f"management.tcp.port={self.port + 10000}"]
        self.spawn(settings)
        self.wait_ready(0.05)
        return self.process.pid

    def management_url(self):
        """Warren's, as RabbitMQ's; None: whoever else has one says so in another way."""
        is_warren = "{warren}" in self.template
        return f"http://guest:guest@127.0.0.1:{self.port + 10000}" if is_warren else None

    def clear(self):
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)

    def spawn(self, settings=()):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self._words(settings), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=REPO,
                start_new_session=True)

    def wait_ready(self, every_s):
        until = time.monotonic() + READY_TIMEOUT_S
        while not answers(self.port):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self.name} is not ready; see {self.log}")
            time.sleep(every_s)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process = None
        shutil.rmtree(self.data, ignore_errors=True)

    def release(self):
        if self.name != "warren":
            return self.name
        revision = subprocess.run(["git", "-C", REPO, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        return f"Warren at {revision.stdout.strip() or 'an unknown revision'}"


def go_before_others(pid, nice):
    """Raises a process above others on a shared machine. Linux shares the processor among sessions first (autogroup),
    so the session is raised too; a process that it starts later in a session of its own is not."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, nice)
        autogroup = pathlib.Path(f"/proc/{pid}/autogroup")
        if autogroup.exists():
            autogroup.write_text(str(nice))
    except PermissionError:
        say("no right to go before others (nice): a busy machine will show in the results")


def cpu_s(pid):
    """CPU seconds, user and system, of a process with all its threads."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / CLK_TCK


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as connection:
            connection.settimeout(5)
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            return connection.recv(1) == b"\x01"
    except OSError:
        return False


def run_tool(whom, command, *arguments):
    """A run of the load generator; `whom` stands in front of its complaint."""
    words = [TOOL, command, *map(str, arguments)]
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        raise RuntimeError(f"{whom}: {run.stderr.strip()}")
    return json.loads(run.stdout)


class Turn:
    """A broker that runs, for one turn."""

    nice = 0

    def __init__(self, broker, settings=(), has_management=False):
        self.broker, self.settings, self.has_management = broker, settings, has_management

    def __enter__(self):
        self.pid = self.broker.start(self.settings, self.has_management)
        go_before_others(self.pid, self.nice)
        return self

    def __exit__(self, *_):
        self.broker.stop()

    def tool(self, command, *arguments):
        return run_tool(self.broker.name, command, "--port", self.broker.port, "--pid", self.pid, *arguments)

    def rest(self):
        """Until the broker has nothing left to do."""
        until = time.monotonic() + RESTING_TIMEOUT_S
        while time.monotonic() < until:
            before_s, at = self.cpu_s(), time.monotonic()
            time.sleep(1)
            if self.cpu_s() - before_s < RESTING_CPU * (time.monotonic() - at):
                return
        say(f"{self.broker.name} does not come to rest; its next figures are of a broker that is busy")

    def cpu_s(self):
        return cpu_s(self.pid)

    def perftest(self, jars, arguments):
        """PerfTest for a while; the rate is taken from its lines and the CPU time at the same instants."""
        self.tool("declare", "--queue", "perftest")
        seconds = PERFTEST_WARM_UP_S + PERFTEST_MEASURE_S + 2
        words = ["java", "-cp", f"{jars}/*", "com.rabbitmq.perf.PerfTest", "-h", f"amqp://127.0.0.1:{self.broker.port}",
                 "-p", "-u", "perftest", "-ad", "false", "-x", "1", "-y", "1", "-z", str(seconds), *arguments]
        samples, lines = [], []
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in process.stdout:
            lines.append(line)
            found = re.search(r"time ([\d.]+) s,.*received: (\d+) msg/s", line)
            if found:
                samples.append((float(found[1]), int(found[2]), self.cpu_s()))
        if process.wait() or not samples:
            raise RuntimeError(f"{self.broker.name}: PerfTest failed: {''.join(lines[-5:])}")
        samples = [sample for sample in samples if sample[0] >= PERFTEST_WARM_UP_S - 0.5][:PERFTEST_MEASURE_S + 1]
        (start_s, _, start_cpu_s), (end_s, _, end_cpu_s) = samples[0], samples[-1]
        messages = sum(rate * (at - before) for (before, _, _), (at, rate, _) in zip(samples, samples[1:]))
        cpu_s = end_cpu_s - start_cpu_s
        return {"messages_per_cpu_s": messages / cpu_s, "messages_per_s": messages / (end_s - start_s),
                "broker_cpu_s": cpu_s, "wall_s": end_s - start_s}
