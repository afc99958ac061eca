"""What rounds of kills share in which one broker is fed by another: by a shovel, or by a link of federation.

Two brokers: messages are published with confirms at the first one, and arrive at the second one. Each round kills one of them, at times both,
and starts it again. At the end every message that was confirmed has arrived; one that has arrived twice says so, and each kill makes no more
of these than may be on their way at a time.
"""

import random
import threading
import time
from collections import Counter, deque

from blackbox import broker as brokers
from blackbox import codec
from blackbox.wire import Closed, Timeout, Torn, Wire

PREFETCH = 100
SETTLE_S = 60.0
GONE = (Closed, Torn, Timeout, OSError)


class Publisher(threading.Thread):
    """Publishes persistent messages with confirms, and goes on after the broker was killed."""

    def __init__(self, broker, seed: str, exchange: str, key: str):
        super().__init__(daemon=True)
        self.broker, self.random, self.exchange, self.key = broker, random.Random(seed), exchange, key
        self.sent, self.is_ending = 0, threading.Event()
        self.confirmed: set[int] = set()

    def run(self) -> None:
        while not self.is_ending.is_set():
            try:
                with Wire.open(self.broker.address, timeout=10) as wire:
                    self.work(wire)
            except GONE:
                time.sleep(0.02)

    def work(self, wire: Wire) -> None:
        wire.call(1, "confirm.select")
        pending: deque[tuple[int, int]] = deque()
        tag = 0
        while not self.is_ending.is_set():
            batch = bytearray()
            for _ in range(self.random.choice([1, 10, 40])):
                tag, self.sent = tag + 1, self.sent + 1
                pending.append((tag, self.sent))
                body = b"%d;" % self.sent + b"x" * self.random.choice([0, 100, 1000])
                batch += codec.publish(1, self.exchange, self.key, body, delivery_mode=2)
            wire.send(batch)
            while pending and wire.is_readable(10.0):
                ack = wire.expect("basic.ack")
                while pending and pending[0][0] <= ack.delivery_tag:
                    self.confirmed.add(pending.popleft()[1])
            time.sleep(0.001)


class Arrivals:
    """What has arrived, by its number: how often, and how often it said that it may come twice."""

    def __init__(self, is_marked):
        self.counts, self.marks, self.is_marked = Counter(), Counter(), is_marked

    def add(self, body: bytes, properties: dict, is_redelivered: bool = False) -> None:
        number = int(body.split(b";", 1)[0])
        self.counts[number] += 1
        self.marks[number] += is_redelivered or bool(self.is_marked(properties.get("headers") or {}))

    def drain(self, wire: Wire, queue: str) -> int:
        """Takes what is in a queue now; how many those are."""
        count = 0
        while True:
            wire.send_method(1, "basic.get", queue=queue, no_ack=True)
            if wire.expect_one_of("basic.get-ok", "basic.get-empty").name == "basic.get-empty":
                return count
            header, body = wire.read(), b""
            while len(body) < header.body_len:
                body += wire.read()
            self.add(body, header.properties)
            count += 1


def faults(publisher: Publisher, arrivals: Arrivals, twice_max: int) -> list[str]:
    """What is wrong with what has arrived."""
    counts, marks = arrivals.counts, arrivals.marks
    found = [f"{each} was confirmed, and did not arrive" for each in sorted(publisher.confirmed - counts.keys())[:5]]
    found += [f"{each} arrived, and was never sent" for each in counts if each > publisher.sent]
    twice = {each: count for each, count in counts.items() if count > 1}
    found += [f"{each} arrived {count} times, and {marks[each]} say so" for each, count in twice.items() if marks[each] < count - 1][:5]
    if len(twice) > twice_max:
        found.append(f"{len(twice)} messages arrived twice, and at most {twice_max} were on their way")
    return found


class Rounds:
    """Two brokers over many rounds. Who has them joined says how."""

    #: What is joined, in the last line.
    name = ""
    #: How many may come twice after the kills of a round.
    twice_max = 2 * PREFETCH

    def __init__(self, first, second, seed: int):
        self.first, self.second, self.random, self.seed = first, second, random.Random(seed), seed
        self.arrived, self.twice, self.kills = 0, 0, 0

    def join(self, number: int) -> tuple[Publisher, Arrivals]:
        """Has the brokers joined, and says what is published."""
        raise NotImplementedError

    def part(self) -> None:
        """Takes away what `join` has made."""
        raise NotImplementedError

    def collect(self, arrivals: Arrivals, is_all) -> None:
        """Takes what arrives, until that is all or it takes too long, and what comes after that."""
        raise NotImplementedError

    def round(self, number: int) -> tuple[str, list[str]]:
        for broker in (self.first, self.second):
            broker.start()
        publisher, arrivals = self.join(number)
        publisher.start()
        time.sleep(self.random.uniform(0.1, 1.0))
        for broker in self.random.choice([[self.first], [self.second], [self.first, self.second]]):
            self.kills += 1
            broker.kill()
            time.sleep(self.random.uniform(0.0, 0.3))
            broker.start()
        time.sleep(self.random.uniform(0.0, 0.5))
        publisher.is_ending.set()
        publisher.join(60)
        self.collect(arrivals, lambda: publisher.confirmed <= arrivals.counts.keys())
        self.part()
        for broker in (self.first, self.second):
            broker.stop()
        count = sum(arrivals.counts.values())
        self.arrived += count
        self.twice += count - len(arrivals.counts)
        return f"{publisher.sent} sent, {len(publisher.confirmed)} confirmed, {count} arrived", faults(publisher, arrivals, self.twice_max)

    def drain_until(self, arrivals: Arrivals, queue: str, source: str, is_all) -> None:
        """`collect` by taking from a queue of the second broker, until one of the first is empty, too."""
        deadline = time.monotonic() + SETTLE_S
        with self.first.wire() as first, self.second.wire() as second:
            while time.monotonic() < deadline:
                took = arrivals.drain(second, queue)
                declared = first.call(1, "queue.declare", queue=source, passive=True)
                if not took and is_all() and declared.message_count == 0:
                    break
                time.sleep(0.02)
            time.sleep(0.2)
            arrivals.drain(second, queue)


def main(rounds: type[Rounds], description: str) -> int:
    parser = brokers.runner(description)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=None, help="default: chosen, and printed")
    arguments = parser.parse_args()
    brokers.refuse_url(parser, arguments, "a broker that is to be killed must be started here")
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    pair = [brokers.from_options(arguments, management=True) for _ in range(2)]
    run, failed, number = rounds(*pair, seed), 0, 0
    try:
        for number in range(1, arguments.rounds + 1):
            try:
                summary, faults = run.round(number)
            except (AssertionError, OSError, brokers.NotReady) as fault:
                summary, faults = "", [repr(fault)]
            print(f"{'not ok' if faults else 'ok'} round {number}: {summary}", flush=True)
            for fault in faults[:20]:
                print(f"    {fault}")
            if faults:
                failed = 1
                for broker in pair:
                    print(f"    {len(faults)} faults; seed {seed}; a broker's last words:\n{broker.log_tail()}", flush=True)
                break
    finally:
        for broker in pair:
            if failed:
                broker.kill()
                print(f"    its files are left in {broker.directory}")
            else:
                broker.remove()
    passed = number - failed
    counts = f"{run.kills} kills, {run.arrived} messages arrived, {run.twice} of them once more"
    print(f"{rounds.name}: {passed} passed, {failed} failed; {counts}", flush=True)
    return failed
