#!/usr/bin/env python3
"""What observing a broker costs those that are served: throughput and processor time a message, with and without, in turn.

    bench/observers.py [--rounds 6] [--measure-s 5] [--only REGEX]

Needs a release build of `warren`, and Linux. One broker, one load (persistent messages of 1 KiB, confirmed, consumed with acks, as fast as it
goes), and a queue beside it, `quiet`, that is observed while the load is measured. Each round measures without an observer and with one,
alternating. Then sessions' memory: viewers that are suspended, killed, ten of them.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import time

from brokers import PEERS, WARREN_TARGET, cpu_s

WARREN = WARREN_TARGET / "dist" / "warren"
BUSIEST = "amqp::basic.publish"
ENDLESS = ["--rate", "1000000000", "--max", "1000000000"]
ON = ["--data-dir", "{data}"]
OBSERVERS = {
    "nothing": ["sleep", "300"],
    "trace at its limit, again and again": ["sh", "-c", f"while :; do {{warren}} trace calls '{BUSIEST}' --data-dir {{data}} || exit; done"],
    "trace of its busiest function, without a limit": ["{warren}", "trace", "calls", BUSIEST, *ENDLESS, "--json", *ON],
    "profile wall of requests": ["{warren}", "profile", "wall", "http::*", "--seconds", "300", *ON],
    "profile cpu, 99 Hz": ["{warren}", "profile", "cpu", "--seconds", "300", *ON],
    "profile cpu, 999 Hz": ["{warren}", "profile", "cpu", "--seconds", "300", "--rate", "999", *ON],
    "messages of another queue": ["{warren}", "trace", "messages", "--queue", "quiet", *ENDLESS, *ON],
    "firehose of another queue": "deliver.quiet",
    "firehose of the busiest queue": "deliver.load-1",
    "flight recorder": None,
}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Broker:
    """A broker under load."""

    def __init__(self, data):
        self.data, self.port = data, free_port()

    def __enter__(self):
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)
        settings = [f"listeners.tcp.default=127.0.0.1:{self.port}", "warren.management.enabled=false", "prometheus.tcp.listener=none"]
        words = [WARREN, "serve", "--data-dir", self.data, *[word for each in settings for word in ("--set", each)]]
        self.log = open(self.data.with_suffix(".log"), "wb")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        while not (self.data / "control.sock").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        self.load = self.perf("-x 2 -y 2 -s 1024 -f persistent -c 500 -q 500 -u load-1")
        self.quiet = self.perf("-x 1 -y 1 -r 20 -u quiet")
        time.sleep(3)
        return self

    def perf(self, options):
        words = [WARREN, "perf", "--uri", f"amqp://127.0.0.1:{self.port}", *options.split()]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def __exit__(self, *_):
        for process in (self.load, self.quiet, self.process):
            process.kill()
            process.wait()
        shutil.rmtree(self.data, ignore_errors=True)

    def ask(self, path, method="GET", body=None):
        command = ["curl", "-s", "-f", "-X", method, "--unix-socket", self.data / "control.sock", f"http://localhost{path}"]
        command += [] if body is None else ["-H", "content-type: application/json", "-d", json.dumps(body)]
        answer = subprocess.run(command, check=True, capture_output=True).stdout
        return json.loads(answer) if answer else None

    def warren(self, *words):
        return subprocess.run([WARREN, *words, "--data-dir", self.data], check=True, capture_output=True, text=True)

    def measure(self, seconds):
        """Messages a second, and microseconds of the broker's processor time for each."""
        def look():
            # Of the queue alone: what an observer publishes is not the load's.
            acked = self.ask("/api/queues/%2F/load-1")["message_stats"]["ack"]
            return time.monotonic(), acked, cpu_s(self.process.pid)
        began, messages, cpu = look()
        time.sleep(seconds)
        ended, later, used = look()
        return (later - messages) / (ended - began), (used - cpu) / max(later - messages, 1) * 1e6

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


class Observed:
    """While something observes a broker."""

    def __init__(self, broker, words):
        self.broker, self.words = broker, words

    def __enter__(self):
        self.process = None
        if self.words is None:
            self.broker.warren("trace", "recorder", "start")
        elif isinstance(self.words, str):
            # What nothing consumes is bounded, so that it does not grow into the measure.
            self.broker.ask("/api/queues/%2F/firehose", "PUT", {"arguments": {"x-max-length": 1000}})
            self.broker.ask("/api/bindings/%2F/e/amq.rabbitmq.trace/q/firehose", "POST", {"routing_key": self.words})
            self.broker.warren("ctl", "trace_on")
        else:
            words = [word.format(warren=WARREN, data=self.broker.data) for word in self.words]
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(0.3)

    def __exit__(self, *_):
        if self.words is None:
            self.broker.warren("trace", "recorder", "stop")
        elif isinstance(self.words, str):
            self.broker.warren("ctl", "trace_off")
            self.broker.ask("/api/queues/%2F/firehose", "DELETE")
        else:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def compare(broker, arguments):
    for name, words in OBSERVERS.items():
        if not re.search(arguments.only, name):
            continue
        rates, costs = [], []
        for _ in range(arguments.rounds):
            plain = broker.measure(arguments.measure_s)
            with Observed(broker, words):
                observed = broker.measure(arguments.measure_s)
            rates.append(observed[0] / plain[0])
            costs.append(observed[1] / plain[1])
        print(f"{name}: throughput {statistics.median(rates):.3f} of that without ({min(rates):.3f} to {max(rates):.3f}), "
              f"processor time a message {statistics.median(costs):.3f} ({min(costs):.3f} to {max(costs):.3f})", flush=True)


def viewers(broker):
    """What sessions take whose viewers do not read, and how soon they are gone."""
    before = broker.resident_mib()
    words = [WARREN, "trace", "calls", BUSIEST, *ENDLESS, "--return", "--body", "4096", "--data-dir", broker.data]
    started = [subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(10)]
    time.sleep(1)
    count = broker.ask("/api/trace/sessions")["count"]
    for viewer in started:
        viewer.send_signal(signal.SIGSTOP)
    time.sleep(5)
    during = broker.resident_mib()
    for viewer in started:
        viewer.kill()
    killed = time.monotonic()
    while broker.ask("/api/trace/sessions")["count"]:
        pass
    gone_after = time.monotonic() - killed
    for viewer in started:
        viewer.wait()
    time.sleep(3)
    print(f"ten viewers of {BUSIEST}, suspended: {count} sessions, {(during - before) / max(count, 1):+.1f} MiB each; gone {gone_after:.2f} s after SIGKILL; "
          f"{broker.resident_mib() - before:+.1f} MiB afterwards", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--measure-s", type=float, default=5)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    with Broker(PEERS / "data" / "observers") as broker:
        compare(broker, arguments)
        viewers(broker)


if __name__ == "__main__":
    main()
