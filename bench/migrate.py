#!/usr/bin/env python3
"""A RabbitMQ of a size migrated with `warren migrate` under load, killed again and again, and back again.

    bench/migrate.py                                         2,000 queues, 500 exchanges, a million messages, ten kills, RabbitMQ 4
    bench/migrate.py --old 3                                 RabbitMQ 3.10; --old 3.8 for that
    bench/migrate.py --queues 200 --messages 20000 --kills 3

Needs a release build of `warren`, or another one by --binary, and what bench/peers/rabbitmq needs. Queues are of all kinds that RabbitMQ has, in four
vhosts, with policies and users. While messages are moved publishers go on at the old broker, and consumers move from the old one to the new one.
The tool, and the new broker, are killed at random moments. Then every message that was confirmed has been consumed or is at the new broker, once,
or says that it was redelivered; and, moved back, at the old one.
"""

import argparse
import base64
import collections
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

from brokers import PEERS, WARREN_TARGET, Command, RabbitMq, answers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests"))

from blackbox import codec  # noqa: E402
from blackbox.wire import Closed, Timeout, Torn, Wire  # noqa: E402

VHOSTS = ["/", "shop", "billing", "sensors"]
INNER = "inner"
MARK = b"x-shovelled-redelivered"
TIMEOUT_S = 3600
WARREN = "{warren} serve --data-dir {data} --set listeners.tcp.default=127.0.0.1:{port} --set prometheus.tcp.listener=none"
WINDOW = 2000


def kinds(old):
    """How many of a hundred queues are of which kind: arguments."""
    lazy = {"x-queue-mode": "lazy"} if old != "4" else {}
    return [
        (40, {}), (15, {"x-queue-type": "quorum"}), (10, {"x-max-priority": 5}), (10, lazy), (5, {"x-message-ttl": 36_000_000}),
        (5, {"x-max-length": 10_000_000}), (5, {"x-dead-letter-exchange": "exchange-0", "x-max-length-bytes": 10_000_000_000}),
        (5, {"x-single-active-consumer": True}), (5, {"x-queue-type": "quorum", "x-delivery-limit": 1000}),
    ]  # fmt: skip


class Api:
    """The management API of a broker, as its first user."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self, method, path, value=None):
        request = urllib.request.Request(f"{self.url}/api{path}", method=method, data=None if value is None else json.dumps(value).encode())
        request.add_header("Authorization", "Basic " + base64.b64encode(b"guest:guest").decode())
        request.add_header("Content-Type", "application/json")
        with self.opener.open(request, timeout=600) as answer:
            text = answer.read()
        return json.loads(text) if text else None


class Plan:
    """What the old broker is to have: queues with their vhosts, and the number of each message's queue by its own number."""

    def __init__(self, arguments, dice):
        shares = [argument for count, argument in kinds(arguments.old) for _ in range(count)]
        self.queues = [(VHOSTS[number % len(VHOSTS)], f"queue-{number}", shares[number * 7 % 100]) for number in range(arguments.queues)]
        self.by_vhost = {vhost: [number for number, queue in enumerate(self.queues) if queue[0] == vhost] for vhost in VHOSTS}
        self.exchange_count, self.dice = arguments.exchanges, dice
        # One in ten has consumers.
        self.consumed = [number for number in range(arguments.queues) if number % 10 == 3]

    def exchange_of(self, number):
        """Each vhost has a share of the exchanges; a queue is bound to one of them by its name."""
        return f"exchange-{number % max(1, self.exchange_count // len(VHOSTS))}"

    def document(self):
        types = ["direct", "topic", "direct", "headers", "fanout"]
        exchanges, bindings = [], []
        for vhost in VHOSTS:
            for number in range(max(1, self.exchange_count // len(VHOSTS))):
                exchanges.append({"vhost": vhost, "name": f"exchange-{number}", "type": "direct" if number % 5 else "topic", "durable": True, "auto_delete": False,
                                  "internal": False, "arguments": {}})  # fmt: skip
            exchanges += [{"vhost": vhost, "name": f"other-{kind}", "type": kind, "durable": True, "auto_delete": False, "internal": False, "arguments": {}}
                          for kind in dict.fromkeys(types)]  # fmt: skip
            # RabbitMQ 4 exports no internal exchange, but its bindings.
            exchanges.append({"vhost": vhost, "name": INNER, "type": "fanout", "durable": True, "auto_delete": False, "internal": True, "arguments": {}})
            bindings += [{"vhost": vhost, "source": source, "destination": destination, "destination_type": "exchange", "routing_key": "", "arguments": {}}
                         for source, destination in (("other-fanout", INNER), (INNER, "exchange-0"))]  # fmt: skip
        for number, (vhost, name, _) in enumerate(self.queues):
            bindings.append({"vhost": vhost, "source": self.exchange_of(number), "destination": name, "destination_type": "queue", "routing_key": name, "arguments": {}})
        users = [{"name": f"user-{number}", "password_hash": "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR",
                  "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": ""} for number in range(50)]  # fmt: skip
        permissions = [{"user": user["name"], "vhost": vhost, "configure": ".*", "write": ".*", "read": ".*"} for user in users for vhost in VHOSTS]
        permissions += [{"user": "guest", "vhost": vhost, "configure": ".*", "write": ".*", "read": ".*"} for vhost in VHOSTS]
        policies = [{"vhost": vhost, "name": f"policy-{number}", "pattern": f"^queue-{number}$", "apply-to": "queues", "priority": number,
                     "definition": {"max-length": 5_000_000}} for vhost in VHOSTS for number in range(12)]  # fmt: skip
        queues = [{"vhost": vhost, "name": name, "durable": True, "auto_delete": False, "arguments": arguments} for vhost, name, arguments in self.queues]
        return {"vhosts": [{"name": vhost} for vhost in VHOSTS], "users": users, "permissions": permissions, "policies": policies, "exchanges": exchanges,
                "queues": queues, "bindings": bindings}  # fmt: skip


class Ledger:
    """What was confirmed, and what consumed. A message's number says by `queue_of` where it belongs."""

    def __init__(self, count):
        self.queue_of = [0] * count
        self.confirmed = bytearray(count)
        self.seen, self.marked = collections.Counter(), collections.Counter()
        self.lock, self.next = threading.Lock(), 0

    def take(self, count):
        with self.lock:
            first, self.next = self.next, self.next + count
            missing = self.next - len(self.queue_of)
            if missing > 0:
                self.queue_of += [0] * missing
                self.confirmed += bytearray(missing)
        return range(first, first + count)

    def saw(self, number, is_marked):
        with self.lock:
            self.seen[number] += 1
            self.marked[number] += is_marked

    def faults(self, found, marked, check_marks):
        """What is wrong, given what is in queues: each number with how often it is there."""
        missing = [number for number in range(self.next) if self.confirmed[number] and not found[number] and not self.seen[number]]
        twice = [number for number in found | self.seen if found[number] + self.seen[number] > 1]
        unmarked = [number for number in twice if found[number] + self.seen[number] - 1 > marked[number] + self.marked[number]]
        print(f"    {sum(self.confirmed):,} confirmed, {sum(self.seen.values()):,} consumed, {sum(found.values()):,} in queues, {len(twice):,} twice", flush=True)
        faults = [f"{len(missing)} are missing: {missing[:5]} of {[self.queue_of[number] for number in missing[:5]]}"] if missing else []
        return faults + ([f"{len(unmarked)} are there twice and do not say so: {unmarked[:5]}"] if unmarked and check_marks else [])


def publish(wire, ledger, plan, numbers, queues):
    """Publishes these numbers with confirms, each to one of these queues."""
    batch, pending = bytearray(), collections.deque()
    for number in numbers:
        queue = plan.dice.choice(queues)
        ledger.queue_of[number] = queue
        body = b"%d;" % number + b"x" * 100
        batch += codec.publish(1, plan.exchange_of(queue), plan.queues[queue][1], body, delivery_mode=2)
        wire.tag += 1
        pending.append((wire.tag, number))
    wire.send(batch)
    while pending:
        ack = wire.expect("basic.ack")
        if ack.multiple:
            while pending and pending[0][0] <= ack.delivery_tag:
                ledger.confirmed[pending.popleft()[1]] = 1
        else:
            rest = collections.deque()
            while pending:
                tag, number = pending.popleft()
                if tag == ack.delivery_tag:
                    ledger.confirmed[number] = 1
                    break
                rest.append((tag, number))
            pending.extendleft(reversed(rest))


def confirming(port, vhost):
    wire = Wire.open(("127.0.0.1", port), timeout=600, virtual_host=vhost)
    wire.call(1, "confirm.select")
    wire.tag = 0
    return wire


def fill(port, plan, ledger, count):
    """What waits at the start, spread over all queues but for some long ones."""
    wires = {vhost: confirming(port, vhost) for vhost in VHOSTS}
    long = {vhost: numbers[:3] for vhost, numbers in plan.by_vhost.items()}
    while ledger.next < count:
        for vhost, wire in wires.items():
            queues = long[vhost] if plan.dice.random() < 0.3 else plan.by_vhost[vhost]
            publish(wire, ledger, plan, ledger.take(min(WINDOW, max(1, count - ledger.next))), queues)
    for wire in wires.values():
        wire.close()


class Publisher(threading.Thread):
    """Goes on publishing at the old broker."""

    def __init__(self, port, plan, ledger, rate):
        super().__init__(daemon=True)
        self.port, self.plan, self.ledger, self.rate, self.is_ending = port, plan, ledger, rate, threading.Event()

    def run(self):
        wires = {vhost: confirming(self.port, vhost) for vhost in VHOSTS}
        while not self.is_ending.is_set():
            for vhost, wire in wires.items():
                publish(wire, self.ledger, self.plan, self.ledger.take(max(1, self.rate // 40)), self.plan.by_vhost[vhost])
            time.sleep(0.1)
        for wire in wires.values():
            wire.close()


class Consumer(threading.Thread):
    """Consumes slowly from some queues of a vhost."""

    def __init__(self, port, plan, ledger, vhost):
        super().__init__(daemon=True)
        self.port, self.plan, self.ledger, self.vhost, self.is_ending = port, plan, ledger, vhost, threading.Event()
        self.numbers = [number for number in plan.consumed if plan.queues[number][0] == vhost]

    def run(self):
        while not self.is_ending.is_set():
            try:
                with Wire.open(("127.0.0.1", self.port), timeout=60, virtual_host=self.vhost) as wire:
                    wire.call(1, "basic.qos", prefetch_count=5)
                    for number in self.numbers:
                        wire.send_method(1, "basic.consume", queue=self.plan.queues[number][1], consumer_tag=str(number), nowait=True)
                    while not self.is_ending.is_set():
                        if wire.is_readable(0.2):
                            message = wire.expect_message()
                            is_marked = MARK.decode() in (message.properties.get("headers") or {}) or message.method.redelivered
                            self.ledger.saw(int(message.body.split(b";", 1)[0]), is_marked)
                            wire.send_method(1, "basic.ack", delivery_tag=message.method.delivery_tag)
            except (Closed, Torn, Timeout, OSError, AssertionError):
                # A cancelled consumer comes back, too.
                time.sleep(0.1)


def declare_exclusive(port, vhost):
    """A connection with an exclusive queue: RabbitMQ 4 exports none, but its bindings."""
    wire = Wire.open(("127.0.0.1", port), timeout=600, virtual_host=vhost)
    wire.call(1, "queue.declare", queue="exclusive", exclusive=True)
    wire.call(1, "queue.bind", queue="exclusive", exchange="other-topic", routing_key="k")
    return wire


def has_inner(api, vhost):
    """Whether what came with the internal exchange is there."""
    ends = api.ask("GET", f"/exchanges/{urllib.parse.quote(vhost, safe='')}/{INNER}/bindings/source?columns=destination")
    return [each["destination"] for each in ends] == ["exchange-0"]


def read_all(port, plan, is_kept):
    """All messages of all queues: how often each number is there, and how often it is marked. They may go back when the connections close; RabbitMQ's
    quorum queues do not give out more than 2,000 of such."""
    found, marked = collections.Counter(), collections.Counter()
    for vhost in VHOSTS:
        expected = 0
        with Wire.open(("127.0.0.1", port), timeout=600, virtual_host=vhost) as wire:
            for number in plan.by_vhost[vhost]:
                expected += wire.call(1, "queue.declare", queue=plan.queues[number][1], passive=True).message_count
            for number in plan.by_vhost[vhost]:
                wire.send_method(1, "basic.consume", queue=plan.queues[number][1], consumer_tag=str(number), nowait=True, no_ack=not is_kept)
            read_deliveries(wire, expected, found, marked)
            if wire.is_readable(2.0):
                raise SystemExit(f"{vhost} has more messages than it says")
            wire.drop()
    return found, marked


def read_deliveries(wire, expected, found, marked):
    """Takes deliveries apart with as little work as can be: there are a million of them."""
    data, at, count, is_marked = bytearray(), 0, 0, False
    while count < expected:
        piece = wire.socket.recv(1 << 20)
        if not piece:
            raise SystemExit("the broker closed the connection while its queues were read")
        data += piece
        while len(data) - at >= 8:
            kind, length = data[at], struct.unpack_from(">I", data, at + 3)[0]
            if len(data) - at < length + 8:
                break
            payload = data[at + 7 : at + 7 + length]
            at += length + 8
            if kind == 2:
                is_marked = MARK in payload
            elif kind == 3:
                number = int(payload[: payload.index(b";")])
                found[number] += 1
                marked[number] += is_marked
                count += 1
        del data[:at]
        at = 0


class Tool:
    """`warren migrate`."""

    def __init__(self, binary, old_port, new_port, folder, options):
        self.words = [
            binary, "migrate", "--from", f"amqp://guest:guest@127.0.0.1:{old_port}", "--to", f"amqp://guest:guest@127.0.0.1:{new_port}",
            "--from-api", f"http://127.0.0.1:{old_port + 10000}", "--to-api", f"http://127.0.0.1:{new_port + 10000}",
            "--state", folder / "state", "--skip-unsupported", *options,
        ]  # fmt: skip
        self.said, self.state = folder / "said", folder / "state"
        self.process = None

    def start(self):
        with open(self.said, "ab") as said:
            self.process = subprocess.Popen([str(word) for word in self.words], stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def step(self):
        try:
            return json.loads(self.state.read_text())["step"]
        except (OSError, ValueError):
            return "check"

    def wait(self):
        """Until it is done. A broker that was just killed may have stopped its beginning."""
        while (status := self.process.wait(TIMEOUT_S)) == 1 and self.said.read_text().strip().endswith(("refused (os error 111)", "reset by peer (os error 104)")):
            time.sleep(1)
            self.start()
        return status


def await_warren(broker):
    broker.spawn(["warren.management.enabled=true", "management.tcp.ip=127.0.0.1", f"management.tcp.port={broker.port + 10000}"])
    broker.wait_ready(0.05)


def disturb(tool, new, dice, kills, while_step):
    """Kills the tool or the new broker, so many times in all, as long as messages are moved."""
    for _ in range(kills):
        time.sleep(dice.uniform(1, 12))
        if tool.process.poll() is not None or tool.step() not in while_step:
            break
        if dice.random() < 0.5:
            print(f"    kill: the tool, at {tool.step()}", flush=True)
            tool.kill()
            time.sleep(dice.uniform(0, 2))
            tool.start()
        else:
            print(f"    kill: the new broker, at {tool.step()}", flush=True)
            new.kill()
            time.sleep(dice.uniform(0, 2))
            await_warren(new)
        yield


def totals(api):
    return sum(queue.get("messages", 0) for queue in api.ask("GET", "/queues?columns=messages"))


def migrate(arguments, folder):
    dice = random.Random(arguments.seed)
    plan = Plan(arguments, dice)
    ledger = Ledger(arguments.messages)
    old = RabbitMq("rabbitmq", arguments.old, arguments.port)
    new = Command("migrate-warren", WARREN.replace("{warren}", str(arguments.binary)), arguments.port + 50)
    faults, began = [], time.monotonic()

    def said(text):
        print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)

    try:
        old.start([], has_management=True)
        old_api, new_api = Api(old.port + 10000), Api(new.port + 10000)
        new.clear()
        await_warren(new)
        old_api.ask("POST", "/definitions", plan.document())
        said(f"RabbitMQ {old_api.ask('GET', '/overview')['rabbitmq_version']} has {len(plan.queues):,} queues")
        fill(old.port, plan, ledger, arguments.messages)
        said(f"and {sum(ledger.confirmed):,} messages")

        exclusive = [declare_exclusive(old.port, vhost) for vhost in VHOSTS]
        publisher = Publisher(old.port, plan, ledger, arguments.rate)
        at_old = [Consumer(old.port, plan, ledger, vhost) for vhost in VHOSTS]
        at_new = [Consumer(new.port, plan, ledger, vhost) for vhost in VHOSTS]
        for thread in [publisher, *at_old]:
            thread.start()
        tool = Tool(arguments.binary, old.port, new.port, folder, ["--at-once", str(arguments.at_once)])
        tool.start()
        started, kills = time.monotonic(), 0
        for _ in disturb(tool, new, dice, arguments.kills - 3, ("check", "definitions", "feed")):
            kills += 1
        while tool.step() in ("check", "definitions", "feed") and tool.process.poll() is None:
            time.sleep(0.5)
        said(f"fed after {time.monotonic() - started:.0f} s; consumers move")
        for thread in at_old:
            thread.is_ending.set()
        for thread in at_old:
            thread.join(60)
        for thread in at_new:
            thread.start()
        for _ in disturb(tool, new, dice, 2, ("feed", "cut-over")):
            kills += 1
        time.sleep(5)
        publisher.is_ending.set()
        publisher.join(60)
        for wire in exclusive:
            wire.close()
        said("publishers have stopped")
        for _ in disturb(tool, new, dice, arguments.kills - kills, ("feed", "cut-over", "drain")):
            kills += 1
        status = tool.wait()
        for thread in at_new:
            thread.is_ending.set()
        for thread in at_new:
            thread.join(60)
        said(f"there after {time.monotonic() - started:.0f} s, with status {status} and {kills} kills; left at the old broker: {totals(old_api)}")
        faults += [] if status == 0 else [f"status {status}"]
        faults += [f"{vhost} has not the internal exchange and its bindings" for vhost in VHOSTS if not has_inner(new_api, vhost)]
        found, marked = read_all(new.port, plan, True)
        faults += ledger.faults(found, marked, True)
        differing = [number for number, count in found.items() if count and ledger.queue_of[number] is None]
        faults += [f"{len(differing)} were never sent"] if differing else []
        if faults:
            return faults

        said("back again")
        back = Tool(arguments.binary, old.port, new.port, folder, ["--at-once", str(arguments.at_once), "--back"])
        back.start()
        started, kills = time.monotonic(), 0
        for _ in disturb(back, new, dice, arguments.back_kills, ("check", "definitions", "feed", "cut-over", "drain")):
            kills += 1
        status = back.wait()
        time.sleep(6)
        said(f"back after {time.monotonic() - started:.0f} s, with status {status} and {kills} kills; left at the new broker: {totals(new_api)}")
        faults += [] if status == 0 else [f"status {status}"]
        found, marked = read_all(old.port, plan, False)
        faults += ledger.faults(found, marked, False)
        ours = lambda api: [each["name"] for each in api.ask("GET", "/exchanges?columns=name") if each["name"].startswith("warren-migrate.")]  # noqa: E731
        left = [*ours(old_api), *ours(new_api), *new_api.ask("GET", "/parameters/shovel")]
        faults += [f"{len(left)} shovels and exchanges are left"] if left else []
        return faults
    finally:
        new.kill() if new.process else None
        if not arguments.keep:
            old.stop()
            new.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", choices=("3.8", "3", "4"), default="4", help="the RabbitMQ: 3.8, 3 (3.10) or 4")
    parser.add_argument("--queues", type=int, default=2000)
    parser.add_argument("--exchanges", type=int, default=500)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=1000, help="messages a second that are published meanwhile")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--back-kills", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=27920)
    parser.add_argument("--binary", type=pathlib.Path, default=WARREN_TARGET / "dist" / "warren")
    parser.add_argument("--keep", action="store_true", help="leave the RabbitMQ and all files")
    arguments = parser.parse_args()
    if answers(arguments.port):
        raise SystemExit(f"something listens on port {arguments.port}")
    folder = PEERS / "data" / f"migrate-{os.getpid()}"
    folder.mkdir(parents=True)
    faults = migrate(arguments, folder)
    for fault in faults:
        print(f"not ok: {fault}")
    print(f"{'not ok' if faults else 'ok'}; what the tool said is in {folder / 'said'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
