"""A broker, clients that do what is planted, and what `warren diagnose` says of them."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress

import far
from blackbox.broker import Warren
from blackbox.environment import WARREN
from blackbox.wire import Wire

TIMEOUT_S = 60.0


class Client(threading.Thread):
    """Does something again and again, so many times a second, until the scene ends."""

    def __init__(self, act, per_s: float) -> None:
        super().__init__(daemon=True)
        self.act, self.pause_s = act, 1.0 / per_s
        self.is_over = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        due = time.monotonic()
        try:
            while not self.is_over.is_set():
                self.act()
                due = max(due + self.pause_s, time.monotonic() - self.pause_s)
                self.is_over.wait(max(0.0, due - time.monotonic()))
        except (OSError, AssertionError) as error:
            if not self.is_over.is_set():
                self.error = error


class Scene:
    """One broker and its clients."""

    def __init__(self, command: str, settings: dict[str, str] | None = None, **how) -> None:
        self.broker = Warren(command, settings, management=True, **how)
        self.clients: list[Client] = []
        self.wires: list[Wire] = []
        self.programs: list[subprocess.Popen] = []

    def __enter__(self) -> "Scene":
        try:
            self.broker.start()
        except BaseException:
            self.broker.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.is_over.set()
        for program in self.programs:
            program.kill()
            program.wait()
        for wire in self.wires:
            with suppress(OSError):
                wire.drop()
        for client in self.clients:
            client.join(5)
        self.broker.remove()

    def be_reached_from(self, network: far.FarNetwork) -> None:
        """Clients that are started with its wrapper find the broker at `far_host`."""
        self.far, self.far_host = network, far.NEAR
        self.broker.settings["listeners.tcp.far"] = f"{far.NEAR}:{self.broker.port}"

    def take_processors(self) -> None:
        """Programs that never rest, more than there are processors."""
        for _ in range(3 * len(os.sched_getaffinity(0))):
            command = [sys.executable, "-c", "while True: pass"]
            self.programs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))

    def wire(self, name: str = "", channels: int = 1, **how) -> Wire:
        """A connection of this name."""
        wire = Wire(self.broker.address, timeout=TIMEOUT_S)
        self.wires.append(wire)
        wire.login(properties={"connection_name": name} if name else {}, **how)
        wire.tune = wire.expect("connection.tune")
        wire.send_method(0, "connection.tune-ok", channel_max=2047, frame_max=131072, heartbeat=0)
        wire.send_method(0, "connection.open", virtual_host="/")
        wire.expect("connection.open-ok")
        for channel in range(1, channels + 1):
            wire.call(channel, "channel.open")
        return wire

    def every(self, per_s: float, act) -> None:
        """From now on `act` is done so many times a second."""
        client = Client(act, per_s)
        self.clients.append(client)
        client.start()

    def queue(self, name: str, **arguments) -> None:
        """A durable queue. `max_length=5` is the argument `x-max-length`."""
        with Wire.open(self.broker.address) as wire:
            told = {"x-" + key.replace("_", "-"): value for key, value in arguments.items()}
            wire.call(1, "queue.declare", queue=name, durable=True, arguments=told)

    def publisher(self, name: str, key: str, per_s: float, exchange: str = "", batch: int = 1, **how) -> None:
        """Publishes without waiting."""
        wire = self.wire(name)

        def act():
            for _ in range(batch):
                wire.publish(1, exchange, key, b"x" * 100, **how)

        self.every(per_s / batch, act)

    def confirming_publisher(self, name: str, key: str, per_s: float, **how) -> None:
        """Publishes persistent messages, and waits for each to be confirmed or refused."""
        wire = self.wire(name)
        wire.call(1, "confirm.select")

        def act():
            wire.publish(1, "", key, b"x" * 100, delivery_mode=2, **how)
            wire.expect_one_of("basic.ack", "basic.nack")

        self.every(per_s, act)

    def consumer(self, name: str, queue: str, settle=None, prefetch: int = 0, takes_s: float = 0.0) -> None:
        """Consumes, and settles with `settle(wire, tag)` after the time that it takes: an ack, if nothing else is said."""
        wire = self.wire(name)
        wire.call(1, "basic.qos", prefetch_count=prefetch)
        wire.call(1, "basic.consume", queue=queue)
        settle = settle or (lambda wire, tag: wire.send_method(1, "basic.ack", delivery_tag=tag))

        def act():
            tag = wire.expect_message().method.delivery_tag
            if takes_s:
                time.sleep(takes_s)
            settle(wire, tag)

        self.every(1_000_000, act)

    def perf(self, *words: str, wrapper=(), host: str | None = None) -> None:
        """`warren perf` with these words, until the scene ends."""
        url = f"amqp://guest:guest@{host or self.broker.host}:{self.broker.port}"
        command = [*wrapper, str(WARREN), "perf", "-h", url, *words]
        self.programs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def diagnose(self, seconds: int = 3) -> tuple[list[dict], int]:
        """The findings, and the exit status."""
        url = f"http://guest:guest@{self.broker.host}:{self.broker.management_port}"
        command = [str(WARREN), "diagnose", "--url", url, "--seconds", str(seconds), "--no-archive", "--json"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.stdout, done.stderr
        for client in self.clients:
            assert client.error is None, client.error
        answer = json.loads(done.stdout)
        assert answer["missing"] == [] or all("CPU profile" in line for line in answer["missing"]), answer["missing"]
        return answer["findings"], done.returncode
