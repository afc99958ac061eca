#!/usr/bin/env python3
"""What consoles in browsers cost a broker with 100,000 queues under load: processor time, and latency of messages, with none, one and fifty.

    bench/console_cost.py [--queues 100000] [--rounds 3] [--measure-s 30]

Needs a release build of `warren`, and Linux. A console is what the page of queues asks for: one stream with the node's numbers, changes and the
thirty queues that are seen, and the list, again every five seconds or when fifty times as long has passed as its answer took. Each is a user's of its own:
the tabs of one browser share a stream. Rounds alternate.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import threading
import time
import urllib.parse

from brokers import PEERS, WARREN_TARGET, cpu_s
from observers import free_port

WARREN = WARREN_TARGET / "dist" / "warren"
COUNTS = [0, 1, 50]
COLUMNS = "vhost,name,type,durable,auto_delete,exclusive,arguments,policy,state,messages_ready,messages_unacknowledged,messages,message_stats"
LIST = f"/api/queues?columns={COLUMNS}&sort=name&page=1&page_size=100&pagination=true"
SEEN = ",".join(f"queue:%2F/{urllib.parse.quote(f'queue-{number:06}')}" for number in range(30))
STREAM = "/api/live?" + urllib.parse.urlencode({"events": f"rates,changes,{SEEN}", "interval": 5})
INTERVAL_S = 5
WAITING_SHARE = 1 / 50


def answering_s(pid):
    """Processor time of the thread that answers the HTTP API, which does nothing else."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "management":
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    raise SystemExit("no thread of the broker answers the HTTP API")


class Console(threading.Thread):
    """One console, until it is ended."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.ended, self.took_ms, self.failed = port, threading.Event(), [], 0

    def ask(self, path, method="GET", body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers or {})
        return connection, connection.getresponse()

    def run(self):
        origin = {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json"}
        connection, answer = self.ask("/api/session", "POST", json.dumps({"name": "guest", "password": "guest"}), origin)
        assert answer.status == 201, answer.status
        headers = {"Cookie": answer.getheader("set-cookie").split(";")[0], "Accept-Encoding": "gzip"}
        connection.close()
        stream, _ = events = self.ask(STREAM, headers=headers)
        threading.Thread(target=self.drain, args=(events[1],), daemon=True).start()
        listing = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.ended.is_set():
            began = time.monotonic()
            listing.request("GET", LIST, headers=headers)
            answer = listing.getresponse()
            answer.read()
            took = time.monotonic() - began
            self.failed += answer.status != 200
            self.took_ms.append(took * 1000)
            self.ended.wait(max(INTERVAL_S, took / WAITING_SHARE))
        stream.sock and stream.sock.close()
        listing.close()

    def drain(self, answer):
        # It is cut off in the middle when the console is ended.
        with contextlib.suppress(http.client.IncompleteRead, OSError, ValueError):
            while not self.ended.is_set() and answer.read1(65536):
                pass


class Broker:
    """A broker with many queues, and a load that leaves it room."""

    def __init__(self, data, queues, rate):
        self.data, self.queues, self.rate = data, queues, rate
        self.port, self.management_port = free_port(), free_port()

    def __enter__(self):
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)
        settings = [f"listeners.tcp.default=127.0.0.1:{self.port}", f"management.tcp.port={self.management_port}", "management.tcp.ip=127.0.0.1", "prometheus.tcp.listener=none"]
        words = [WARREN, "serve", "--data-dir", self.data, *[word for each in settings for word in ("--set", each)]]
        self.log = open(self.data.with_suffix(".log"), "wb")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        while not (self.data / "control.sock").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        names = [{"name": f"queue-{number:06}", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}} for number in range(self.queues)]
        for start in range(0, len(names), 10_000):
            self.define({"queues": names[start:start + 10_000]})
        return self

    def define(self, definitions):
        command = ["curl", "-s", "-f", "--unix-socket", self.data / "control.sock", "-H", "content-type: application/json", "-d", "@-", "http://localhost/api/definitions"]
        subprocess.run(command, input=json.dumps(definitions).encode(), check=True, stdout=subprocess.DEVNULL)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.data, ignore_errors=True)

    def measure(self, seconds):
        """The shares of a processor that the broker takes and its thread for the HTTP API, and the 99th percentile of messages' latency in ms."""
        perf = [WARREN, "perf", "--uri", f"amqp://127.0.0.1:{self.port}", "-x", "2", "-y", "2", "-r", str(self.rate), "-s", "1024", "-f", "persistent",
                "-c", "500", "-q", "500", "-u", "load", "-z", str(seconds), "-mf", "compact"]
        began, cpu, answering = time.monotonic(), cpu_s(self.process.pid), answering_s(self.process.pid)
        said = subprocess.run(perf, check=True, capture_output=True, text=True).stdout
        took = time.monotonic() - began
        used, answered = (cpu_s(self.process.pid) - cpu) / took, (answering_s(self.process.pid) - answering) / took
        # Of the table at the end: least, mean, 50, 75, 95, 99 percent.
        found = re.search(r"^ +consumer +(?:[\d.,]+ +){5}([\d.,]+) ", said, re.MULTILINE)
        if not found:
            raise SystemExit(f"warren perf said nothing of latency:\n{said[-2000:]}")
        p99 = float(found[1].replace(",", ""))
        return used * 100, answered * 100, p99


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queues", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=2000, help="messages a second of each of two publishers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure-s", type=int, default=30)
    arguments = parser.parse_args()
    figures = {count: [] for count in COUNTS}
    took = {count: [] for count in COUNTS}
    with Broker(pathlib.Path(PEERS) / "data" / "consoles", arguments.queues, arguments.rate) as broker:
        broker.measure(5)
        for number in range(arguments.rounds):
            for count in COUNTS if number % 2 == 0 else COUNTS[::-1]:
                consoles = [Console(broker.management_port) for _ in range(count)]
                for console in consoles:
                    console.start()
                    time.sleep(INTERVAL_S / max(count, 1) / 2)
                figures[count].append(broker.measure(arguments.measure_s))
                for console in consoles:
                    console.ended.set()
                for console in consoles:
                    console.join(70)
                    took[count] += console.took_ms
                    if console.failed or not console.took_ms:
                        raise SystemExit(f"a console failed {console.failed} times of {len(console.took_ms)}")
    none = statistics.median(used for used, _, _ in figures[0])
    for count in COUNTS:
        used, answered, p99 = (statistics.median(column) for column in zip(*figures[count]))
        lists = f", a list took {statistics.median(took[count]):.1f} ms (median of {len(took[count])})" if took[count] else ""
        print(f"{count} consoles: {used:.2f} % of a processor ({used - none:+.2f}), of it for the HTTP API {answered:.2f} %, messages' p99 {p99:.2f} ms{lists}")


if __name__ == "__main__":
    main()
