#!/usr/bin/env python3
"""How long somebody's publish waits while somebody else does what takes long: work under locks goes in pieces, or it shows here.

    bench/bystander.py                                      Warren, from target/debug
    bench/bystander.py --broker-command 'target/dist/warren serve …'
    bench/bystander.py --scale 0.1 --only bindings

Each scenario has a fresh broker, and a bystander with a connection and a queue of its own that publishes with confirms, consumes and acks all the
time; another one asks the HTTP API for its name. Told is how long the scenario's own client waited, and how long each bystander did at most: meanwhile,
and just before, when nothing happened. The bar is 50 ms with a release build on a machine that does nothing else; `--check` makes the program fail above it.
Not a test.
"""

import argparse
import json
import sys
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS)]

from blackbox import broker as brokers  # noqa: E402
from blackbox import management  # noqa: E402
from blackbox.bystander import Bystander  # noqa: E402

BAR_MS = 50.0
LONGEST_S = 600.0
PUBLISHES_AT_ONCE = 20_000


class Asker(threading.Thread):
    """Asks the HTTP API who it is, all the time, and remembers the longest it had to wait."""

    def __init__(self, broker: brokers.Broker):
        super().__init__(daemon=True)
        self.management, self.longest_s, self.is_stopping = broker.management, 0.0, threading.Event()

    def run(self) -> None:
        while not self.is_stopping.wait(0.01):
            started_at = time.monotonic()
            self.management.get("/whoami").expect(200)
            self.longest_s = max(self.longest_s, time.monotonic() - started_at)


class Scenario:
    """What takes long, with `count` of what it takes long for."""

    def __init__(self, broker: brokers.Broker, count: int):
        self.broker, self.count = broker, count
        self.wire = broker.wire(timeout=LONGEST_S)

    def prepare(self) -> None:
        """Makes what there has to be."""

    def act(self) -> None:
        """Does it, and waits for its answer."""

    def fill(self, queue: str, **how) -> None:
        """Publishes to a queue, and waits until all is there."""
        self.wire.call(1, "confirm.select")
        for first in range(0, self.count, PUBLISHES_AT_ONCE):
            part = min(PUBLISHES_AT_ONCE, self.count - first)
            for _ in range(part):
                self.wire.publish(1, "", queue, b"x" * 16, **how)
            self.wire.expect_confirms(1, first + 1, first + part)


class Bindings(Scenario):
    """A queue with very many bindings is deleted."""

    def prepare(self) -> None:
        self.wire.call(1, "queue.declare", queue="bound", durable=True)
        for number in range(self.count):
            self.wire.send_method(1, "queue.bind", queue="bound", exchange="amq.topic", routing_key=f"a.{number}", nowait=True)
        self.wire.call(1, "queue.bind", queue="bound", exchange="amq.topic", routing_key="last")

    def act(self) -> None:
        self.wire.call(1, "queue.delete", queue="bound")


class Unacked(Scenario):
    """A connection with very many unacked deliveries ends."""

    def prepare(self) -> None:
        self.wire.call(1, "queue.declare", queue="held", durable=True)
        self.fill("held")
        self.holder = self.broker.wire(timeout=LONGEST_S)
        self.holder.call(1, "basic.consume", queue="held")
        for _ in range(self.count):
            self.holder.expect_message()

    def act(self) -> None:
        self.holder.drop()
        self.wire.wait_count(1, "held", ready=self.count)


class Purge(Scenario):
    """A queue with very many messages is purged."""

    def prepare(self) -> None:
        self.wire.call(1, "queue.declare", queue="full", durable=True)
        self.fill("full")

    def act(self) -> None:
        assert self.wire.call(1, "queue.purge", queue="full").message_count == self.count


class Commit(Scenario):
    """A transaction with very many publishes is committed."""

    def prepare(self) -> None:
        self.wire.call(1, "queue.declare", queue="committed", durable=True)
        self.wire.call(1, "tx.select")
        for _ in range(self.count):
            self.wire.publish(1, "", "committed", b"x" * 1024, delivery_mode=2)
        # All of it has been read when the answer to this is there.
        self.wire.call(1, "queue.declare", queue="committed", passive=True)

    def act(self) -> None:
        self.wire.call(1, "tx.commit")


class Policies(Scenario):
    """Policies are set, one by one, over very many queues."""

    def prepare(self) -> None:
        queues = [{"vhost": "/", "name": f"q{number}", "durable": True, "auto_delete": False, "arguments": {}} for number in range(self.count)]
        self.broker.management.post("/definitions", json.dumps({"queues": queues}).encode()).expect(204)

    def act(self) -> None:
        for number in range(20):
            body = {"pattern": f"^q{number}", "definition": {"max-length": 10}, "priority": number}
            self.broker.management.put(f"/policies/%2F/p{number}", body).expect(201)


class Patterns(Scenario):
    """A policy, its preview and a listing have a pattern that is hard for each of very many long names."""

    def prepare(self) -> None:
        names = [f"{'a' * 240}{number:06}" for number in range(self.count)]
        queues = [{"vhost": "/", "name": name, "durable": True, "auto_delete": False, "arguments": {}} for name in names]
        self.broker.management.post("/definitions", json.dumps({"queues": queues}).encode()).expect(204)

    def act(self) -> None:
        body = {"pattern": r"(a*)*b\1", "definition": {"max-length": 10}}
        self.broker.management.put("/policies/%2F/hard", body).expect(201)
        self.broker.management.post("/policies/%2F/hard/preview", body).expect(200)
        self.broker.management.get("/queues?page=1&use_regex=true&name=(%3F%3D(a%2B)%2B%24)x").expect(200, 400)


SCENARIOS: dict[str, tuple[type[Scenario], int]] = {
    "bindings": (Bindings, 459_000),
    "unacked": (Unacked, 894_000),
    "purge": (Purge, 2_000_000),
    "commit": (Commit, 300_000),
    "policies": (Policies, 100_000),
    "patterns": (Patterns, 3_000),
}


def measure(arguments: argparse.Namespace, name: str) -> float:
    """One scenario, and a line about it. Says how long a bystander waited meanwhile, in milliseconds."""
    scenario_type, count = SCENARIOS[name]
    broker = brokers.from_options(arguments, management=True)
    try:
        broker.start()
        scenario = scenario_type(broker, max(1, int(count * arguments.scale)))
        scenario.prepare()
        waits: list[float] = []
        for act in (lambda: time.sleep(2), scenario.act):
            bystander, asker = Bystander(broker), Asker(broker)
            bystander.start()
            bystander.is_running.wait(LONGEST_S)
            bystander.longest_s = 0.0
            asker.start()
            started_at = time.monotonic()
            act()
            took_s = time.monotonic() - started_at
            asker.is_stopping.set()
            asker.join(LONGEST_S)
            bystander.check(LONGEST_S)
            waits += [1e3 * bystander.longest_s, 1e3 * asker.longest_s]
        print(f"{name:10} {scenario.count:9,} {took_s:9.2f}  " + "  ".join(f"{wait:12.1f}" for wait in waits), flush=True)
        return max(waits[2:])
    finally:
        broker.remove()


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="so much of each scenario (default: %(default)s)")
    parser.add_argument("--only", choices=SCENARIOS, help="one scenario only")
    parser.add_argument("--check", action="store_true", help=f"fail where a bystander waits for more than {BAR_MS:.0f} ms")
    arguments = parser.parse_args()
    brokers.refuse_url(parser, arguments, "each scenario needs a fresh broker")
    management.TIMEOUT_S = LONGEST_S
    print(f"{'':10} {'':9} {'':9}  {'at rest, ms':26}  {'waits, ms':26}")
    print(f"{'scenario':10} {'count':>9} {'takes, s':>9}  " + "  ".join([f"{'publish':>12}  {'HTTP':>12}"] * 2), flush=True)
    waits = [measure(arguments, name) for name in ([arguments.only] if arguments.only else SCENARIOS)]
    return 1 if arguments.check and max(waits) > BAR_MS else 0


if __name__ == "__main__":
    sys.exit(main())
