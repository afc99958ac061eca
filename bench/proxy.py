"""The proxy under test, and what stands around it: a relay with a delay, and a broker that discards."""

import http.client
import os
import re
import socket
import subprocess
import time

from brokers import TOOL, WARREN_TARGET, cpu_s, run_tool

PROGRAM = WARREN_TARGET / "dist" / "warren"
READY_TIMEOUT_S, STOP_TIMEOUT_S = 20, 10


class Listening:
    """A program that listens on a port, for as long as it is needed."""

    def __init__(self, port, *words):
        self.port, self.words, self.process = port, [str(word) for word in words], None

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            self.wait_until(self.is_listening)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)

    def wait_until(self, is_so):
        until = time.monotonic() + READY_TIMEOUT_S
        while not is_so():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"'{' '.join(self.words)}' is not ready")
            time.sleep(0.02)

    def is_listening(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 2).close()
            return True
        except OSError:
            return False

    @property
    def pid(self):
        return self.process.pid

    def cpu_s(self):
        return cpu_s(self.pid)


class Relay(Listening):
    """A round trip of so many ms away from a port."""

    def __init__(self, port, to, delay_ms):
        super().__init__(port, TOOL, "relay", "--listen", port, "--to", to, "--delay-ms", delay_ms)


class Sink(Listening):
    """A broker that discards and confirms."""

    name = "sink"

    def __init__(self, port):
        super().__init__(port, TOOL, "sink", "--port", port)

    def count(self):
        """Messages that have come since the start."""
        return run_tool(self.name, "count", "--port", self.port, "--pid", os.getpid())["messages"]

    def settled_count(self):
        """The same, when no more come."""
        count, before = self.count(), None
        while count != before:
            time.sleep(0.3)
            count, before = self.count(), count
        return count


class Proxy(Listening):
    """`warren proxy` as it ships, in front of a port."""

    def __init__(self, port, http_port, upstream_port):
        super().__init__(port, PROGRAM, "proxy", "--listen", "127.0.0.1", "--port", port, "--http-port", http_port,
                         "--log-level", "error", f"amqp://127.0.0.1:{upstream_port}")
        self.http_port = http_port

    def __enter__(self):
        super().__enter__()
        try:
            self.wait_until(lambda: self.asked("/readyz")[0] == 200)
        except BaseException:
            self.__exit__()
            raise
        return self

    def asked(self, path):
        """Status and text."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=10)
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""

    def gauge(self, name):
        """A number of /metrics; 0 where it is not told."""
        found = re.search(rf"^{name} (\d+)$", self.asked("/metrics")[1], re.MULTILINE)
        return int(found[1]) if found else 0
