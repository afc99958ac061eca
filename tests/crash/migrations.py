#!/usr/bin/env python3
"""Migrates a broker to another one and back while both serve clients, with kills of `warren migrate` and of the new broker at random moments.

    tests/crash/migrations.py --rounds 2                 a few rounds, for every day
    tests/crash/migrations.py --rounds 30 --seed 7       many; the same seed makes the same choices
    tests/crash/migrations.py --old-peer 4               from a real RabbitMQ, and back to it (3 or 4)

The old broker has queues of each kind, some with consumers that move to the new one, and a publisher who goes on for a while. At the end of the
way there, and of the way back, each message that was confirmed has been consumed or is in its queue, once; one that is there twice says so
(`x-shovelled-redelivered`). No shovel and no exchange of the migration is left.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from blackbox import broker as brokers  # noqa: E402
from blackbox import codec, environment  # noqa: E402
from blackbox.wire import Closed, Timeout, Torn, Wire  # noqa: E402

MARK = "x-shovelled-redelivered"
PREFIX = "warren-migrate."
EXCHANGE = "orders"
TIMEOUT_S = 300.0
QUEUES_PER_KIND = 4
# By name: arguments of a queue. What has limits has room for all that comes.
KINDS = {
    "classic": {},
    "quorum": {"x-queue-type": "quorum"},
    "priority": {"x-max-priority": 5},
    "ttl": {"x-message-ttl": 3_600_000},
    "limited": {"x-max-length": 100_000},
    "dead-lettering": {"x-dead-letter-exchange": "dead", "x-max-length": 50_000},
    "single": {"x-single-active-consumer": True},
    "consumed": {},
}


class Ledger:
    """What was confirmed, and what was consumed, by queue."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sent = 0
        self.confirmed: dict[str, set[int]] = defaultdict(set)
        self.consumed: dict[str, Counter] = defaultdict(Counter)
        self.marked: dict[str, Counter] = defaultdict(Counter)

    def took(self, queue: str, body: bytes, properties: dict, is_redelivered: bool = False) -> None:
        number = int(body.split(b";", 1)[0])
        with self.lock:
            self.consumed[queue][number] += 1
            self.marked[queue][number] += bool((properties.get("headers") or {}).get(MARK) or is_redelivered)


class Publisher(threading.Thread):
    """Publishes persistent messages with confirms, until it is told to end."""

    def __init__(self, broker, names: list[str], ledger: Ledger, seed: str):
        super().__init__(daemon=True)
        self.broker, self.names, self.ledger, self.random = broker, names, ledger, random.Random(seed)
        self.is_ending = threading.Event()

    def run(self) -> None:
        with Wire.open(self.broker.address, timeout=30) as wire:
            wire.call(1, "confirm.select")
            tag = 0
            while not self.is_ending.is_set():
                tag = self.publish(wire, tag, 20)
                time.sleep(0.02)

    def publish(self, wire: Wire, tag: int, count: int) -> int:
        pending, batch = {}, bytearray()
        for _ in range(count):
            tag, self.ledger.sent = tag + 1, self.ledger.sent + 1
            name = self.random.choice(self.names)
            pending[tag] = (name, self.ledger.sent)
            batch += codec.publish(1, EXCHANGE, name, b"%d;" % self.ledger.sent + b"x" * self.random.choice([0, 100, 1000]), delivery_mode=2)
        wire.send(batch)
        while pending:
            ack = wire.expect("basic.ack")
            # A RabbitMQ's queues confirm each at their own pace.
            for each in [each for each in pending if each == ack.delivery_tag or ack.multiple and each < ack.delivery_tag]:
                name, number = pending.pop(each)
                self.ledger.confirmed[name].add(number)
        return tag


class Consumer(threading.Thread):
    """Consumes queues of one broker, acknowledging each message, until it is told to end. Comes back after a kill."""

    def __init__(self, broker, names: list[str], ledger: Ledger):
        super().__init__(daemon=True)
        self.broker, self.names, self.ledger, self.is_ending = broker, names, ledger, threading.Event()

    def run(self) -> None:
        while not self.is_ending.is_set():
            try:
                with Wire.open(self.broker.address, timeout=10) as wire:
                    self.work(wire)
            except (Closed, Torn, Timeout, OSError):
                time.sleep(0.05)

    def work(self, wire: Wire) -> None:
        wire.call(1, "basic.qos", prefetch_count=10)
        for name in self.names:
            wire.send_method(1, "basic.consume", queue=name, consumer_tag=name, nowait=True)
        while not self.is_ending.is_set():
            if wire.is_readable(0.1):
                message = wire.expect_message()
                self.ledger.took(message.method.consumer_tag, message.body, message.properties, message.method.redelivered)
                wire.send_method(1, "basic.ack", delivery_tag=message.method.delivery_tag)


class Tool:
    """`warren migrate`, with what it has said in a file."""

    def __init__(self, old, new, folder: Path):
        self.old, self.new, self.folder, self.process = old, new, folder, None

    def words(self, *options: str) -> list[str]:
        return [
            str(environment.WARREN), "migrate", "--state", str(self.folder / "state"), "--timeout", str(int(TIMEOUT_S)), "--skip-unsupported",
            "--from-api", self.old.management.url, "--to-api", self.new.management.url, *options,
        ]  # fmt: skip

    def start(self, *options: str) -> "Tool":
        variables = {"WARREN_MIGRATE_FROM": self.old.url, "WARREN_MIGRATE_TO": self.new.url}
        with open(self.folder / "said", "ab") as said:
            self.process = subprocess.Popen(self.words(*options), stdin=subprocess.DEVNULL, stdout=said, stderr=said, env={**os.environ, **variables})
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def wait(self) -> int:
        return self.process.wait(TIMEOUT_S + 60)

    def said(self) -> str:
        return (self.folder / "said").read_text(errors="replace")

    def step(self) -> str:
        try:
            return json.loads((self.folder / "state").read_text())["step"]
        except (OSError, ValueError):
            return "check"


class Round:
    """There and back."""

    def __init__(self, old, new, seed: str, messages: int):
        self.old, self.new, self.random, self.messages = old, new, random.Random(seed), messages
        self.ledger, self.kills, self.seed = Ledger(), 0, seed
        self.names = [f"{kind}-{number}" for kind in KINDS for number in range(QUEUES_PER_KIND)]
        self.consumed_names = [name for name in self.names if name.startswith("consumed-")]

    def prepare(self) -> None:
        """Definitions of all kinds, and what waits."""
        manage = self.old.management
        queues = [
            {"vhost": "/", "name": name, "durable": True, "auto_delete": False, "arguments": KINDS[name.rsplit("-", 1)[0]]} for name in self.names
        ]
        exchange = lambda name, kind: {"vhost": "/", "name": name, "type": kind, "durable": True, "auto_delete": False, "internal": False, "arguments": {}}  # noqa: E731
        binding = lambda source, to, kind, key: {  # noqa: E731
            "vhost": "/", "source": source, "destination": to, "destination_type": kind, "routing_key": key, "arguments": {},
        }  # fmt: skip
        document = {
            "vhosts": [{"name": "/"}, {"name": "empty"}],
            "users": [{"name": "shop", "password_hash": "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR", "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": ""}],
            "permissions": [{"user": user, "vhost": vhost, "configure": ".*", "write": ".*", "read": ".*"} for user, vhost in (("shop", "/"), ("guest", "empty"))],
            "policies": [{"vhost": "/", "name": "all", "pattern": "^classic", "apply-to": "queues", "priority": 0, "definition": {"max-length": 90_000}}],
            "exchanges": [exchange(EXCHANGE, "topic"), exchange("inner", "direct"), exchange("dead", "fanout")],
            "queues": [*queues, {"vhost": "/", "name": "the-dead", "durable": True, "auto_delete": False, "arguments": {}}],
            "bindings": [
                # By another exchange and directly.
                *(binding(EXCHANGE, "inner", "exchange", name) for name in self.names[::2]), *(binding("inner", name, "queue", name) for name in self.names[::2]),
                *(binding(EXCHANGE, name, "queue", name) for name in self.names[1::2]), binding("dead", "the-dead", "queue", ""),
            ],
        }  # fmt: skip
        manage.post("/definitions", document).expect(200, 201, 204)
        publisher = Publisher(self.old, self.names, self.ledger, f"{self.seed}/first")
        with self.old.wire() as wire:
            wire.call(1, "confirm.select")
            tag = 0
            while self.ledger.sent < self.messages:
                tag = publisher.publish(wire, tag, 200)

    def forward(self) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="warren-migrate-") as folder:
            publisher = Publisher(self.old, self.names, self.ledger, f"{self.seed}/second")
            at_old, at_new = Consumer(self.old, self.consumed_names, self.ledger), Consumer(self.new, self.consumed_names, self.ledger)
            publisher.start()
            at_old.start()
            tool = Tool(self.old, self.new, Path(folder)).start("--at-once", "8")
            faults = self.disturb(tool, "--at-once", "8")
            # Consumers move, then publishers.
            at_old.is_ending.set()
            at_old.join(30)
            at_new.start()
            faults += self.disturb(tool, "--at-once", "8")
            publisher.is_ending.set()
            publisher.join(30)
            faults += self.end(tool, "--at-once", "8")
            at_new.is_ending.set()
            at_new.join(30)
            return faults or self.look(self.new, self.old, tool)

    def back(self) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="warren-migrate-") as folder:
            # What is declared at the new broker meanwhile comes back, too.
            with self.new.wire() as wire:
                wire.call(1, "queue.declare", queue="late", durable=True)
                wire.call(1, "queue.bind", queue="late", exchange=EXCHANGE, routing_key="late")
                wire.call(1, "confirm.select")
                Publisher(self.new, [*self.names, "late"], self.ledger, f"{self.seed}/third").publish(wire, 0, 500)
            self.names.append("late")
            tool = Tool(self.old, self.new, Path(folder)).start("--back")
            faults = self.disturb(tool, "--back") + self.end(tool, "--back")
            return faults or self.look(self.old, self.new, tool)

    def disturb(self, tool: Tool, *options: str) -> list[str]:
        """Kills of the tool, and of the new broker, once or twice."""
        for _ in range(self.random.choice([1, 2])):
            time.sleep(self.random.uniform(0.2, 2.5))
            self.kills += 1
            if self.random.random() < 0.6:
                tool.kill()
                if tool.step() == "done":
                    return []
                tool.start(*options)
            else:
                self.new.kill()
                time.sleep(self.random.uniform(0.0, 0.5))
                self.new.start()
                # Before it has begun a broker that is away is an error.
                if tool.process.poll() == 1:
                    tool.start(*options)
        return []

    def end(self, tool: Tool, *options: str) -> list[str]:
        status = tool.wait()
        if status == 1 and "does not answer" in tool.said().splitlines()[-1]:
            status = tool.start(*options).wait()
        return [] if status == 0 else [f"warren migrate ends with {status}:\n{tool.said()}"]

    def look(self, here, there, tool: Tool) -> list[str]:
        """What is where. Messages are looked at, and left."""
        faults = []
        found, marked = {}, {}
        with here.wire(timeout=30) as wire:
            for name in self.names:
                found[name], marked[name] = self.browse(wire, name)
        for name in self.names:
            confirmed, consumed = self.ledger.confirmed[name], self.ledger.consumed[name]
            missing = confirmed - found[name].keys() - consumed.keys()
            faults += [f"{name}: {len(missing)} are missing, such as {min(missing)}"] if missing else []
            both = {number for number in found[name].keys() | consumed.keys() if found[name][number] + consumed[number] > 1}
            unmarked = [number for number in both if found[name][number] + consumed[number] - 1 > marked[name][number] + self.ledger.marked[name][number]]
            faults += [f"{name}: {len(unmarked)} are there twice and do not say so, such as {min(unmarked)}"] if unmarked else []
        left = [queue for queue in there.management.get("/queues").expect(200).json if queue.get("messages")]
        faults += [f"{queue['name']} has {queue['messages']} left" for queue in left]
        faults += [f"shovel {each['name']} is left" for each in self.new.management.get("/parameters/shovel").json]
        for broker in (here, there):
            faults += [f"exchange {each['name']} is left" for each in broker.management.get("/exchanges").json if each["name"].startswith(PREFIX)]
        definitions = [set(self.bindings(broker)) for broker in (here, there)]
        faults += [f"bindings differ: {definitions[0] ^ definitions[1]}"] if definitions[0] ^ definitions[1] else []
        return [*faults, tool.said()] if faults else []

    @staticmethod
    def bindings(broker):
        for binding in broker.management.get("/definitions").json["bindings"]:
            yield binding["source"], binding["destination"], binding["destination_type"], binding["routing_key"]

    def browse(self, wire: Wire, name: str) -> tuple[Counter, Counter]:
        """All messages of a queue, which go back. A redelivery counts as a mark only where a shovel has set it."""
        found, marked, last = Counter(), Counter(), None
        while message := wire.get(1, name, no_ack=False):
            number = int(message.body.split(b";", 1)[0])
            found[number] += 1
            marked[number] += bool((message.properties.get("headers") or {}).get(MARK))
            if message.method.routing_key != name:
                raise AssertionError(f"{name}: a message has the routing key {message.method.routing_key!r}")
            last = message.method.delivery_tag
        if last:
            wire.send_method(1, "basic.nack", delivery_tag=last, multiple=True, requeue=True)
        return found, marked


def main() -> int:
    parser = brokers.runner(__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--messages", type=int, default=6_000)
    parser.add_argument("--old-peer", choices=("3", "4"), help="the old broker is a RabbitMQ of this version")
    parser.add_argument("--seed", type=int, default=None, help="default: chosen, and printed")
    arguments = parser.parse_args()
    if arguments.url or arguments.peer:
        parser.error("the new broker is started here, and killed: --url and --peer cannot be used; --old-peer says what the old one is")
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    failed, number, kills, messages = 0, 0, 0, 0
    for number in range(1, arguments.rounds + 1):
        old = brokers.Peer(arguments.old_peer, management=True) if arguments.old_peer else brokers.from_options(arguments, management=True)
        new = brokers.from_options(arguments, management=True)
        round_ = Round(old, new, f"{seed}/{number}", arguments.messages)
        try:
            old.start()
            new.start()
            round_.prepare()
            faults = round_.forward() or round_.back()
        except (AssertionError, OSError, brokers.NotReady, subprocess.TimeoutExpired) as fault:
            faults = [repr(fault)]
        finally:
            old.remove()
            new.remove()
        kills, messages = kills + round_.kills, messages + round_.ledger.sent
        print(f"{'not ok' if faults else 'ok'} round {number}: {round_.ledger.sent} messages there and back, {round_.kills} kills", flush=True)
        for fault in faults[:20]:
            print(f"    {fault}")
        if faults:
            failed = 1
            break
    print(f"migrations: {number - failed} passed, {failed} failed; {kills} kills, {messages} messages", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
