"""What the publishers and consumers of a crash run know, and what must follow from it after a restart.

Of every message the ledger holds how far it got. Time is a counter that all threads share, so that "before" has a meaning:

    published ──► confirmed                          a confirmed, unacked message must come back
        └───────► delivered                          if it comes back, it must be marked redelivered
                     └──► acked (sent) ──► settled   the broker answered something sent after the ack on the same channel
                                              └────► durable: a publish that began after that was confirmed; it must not come back

A message is known by (publisher, queue, number); numbers of one publisher and queue grow by one.
"""

import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field

Key = tuple[int, str, int]


@dataclass(slots=True)
class Message:
    """How far one message got."""

    lasts: bool
    body_hash: int
    is_confirmed: bool = False
    is_delivered: bool = False
    is_acked: bool = False
    settled_at: int | None = None


@dataclass
class Recovered:
    """One message that came out of a queue after the restart."""

    key: Key
    body_hash: int
    is_redelivered: bool


@dataclass
class Report:
    """What was checked, in numbers, and what was wrong."""

    kept: int = 0
    durable_acks: int = 0
    marked: int = 0
    unconfirmed_kept: int = 0
    acks_lost: int = 0
    faults: list[str] = field(default_factory=list)


class Ledger:
    """Thread-safe; survives the broker."""

    def __init__(self, keeps_acks: bool = True, keeping_all: frozenset[str] = frozenset()) -> None:
        # RabbitMQ's classic queues write acks some time later, whatever they confirm meanwhile.
        self.keeps_acks = keeps_acks
        # Queues in which transient messages last, too: quorum queues.
        self.keeping_all = keeping_all
        self.lock = threading.Lock()
        self.progressed = threading.Condition(self.lock)
        self.clock = 0
        self.messages: dict[Key, Message] = {}
        self.numbers: dict[tuple[int, str], int] = defaultdict(int)
        self.durable_until = 0
        self.confirms, self.durable_acks = 0, 0
        self._settled: deque[tuple[int, int]] = deque()

    def begin_round(self) -> None:
        """Counts confirms and durable acks from here on."""
        with self.lock:
            self.confirms, self.durable_acks = 0, 0
            self._settled.clear()

    def now(self) -> int:
        """A new instant, later than all before."""
        with self.lock:
            self.clock += 1
            return self.clock

    def publish(self, publisher: int, queues: list[str], body_hash: int, is_persistent: bool) -> list[Key]:
        """A message is about to be sent to these queues."""
        with self.lock:
            keys = []
            for queue in queues:
                number = self.numbers[publisher, queue] = self.numbers[publisher, queue] + 1
                self.messages[publisher, queue, number] = Message(is_persistent or queue in self.keeping_all, body_hash)
                keys.append((publisher, queue, number))
            return keys

    def confirm(self, keys: list[Key], published_at: int) -> None:
        """A publish that began at `published_at` was confirmed: with one that lasts, all that the broker did before is durable."""
        with self.lock:
            for key in keys:
                self.messages[key].is_confirmed = True
            self.confirms += 1
            if any(self.messages[key].lasts for key in keys):
                self.durable_until = max(self.durable_until, published_at)
                while self._settled and self._settled[0][0] < self.durable_until:
                    self.durable_acks += self._settled.popleft()[1]
            self.progressed.notify_all()

    def deliver(self, key: Key, is_redelivered: bool) -> str | None:
        """A consumer has it; tells what is wrong about that."""
        with self.lock:
            message = self.messages.get(key)
            if message is None:
                return f"{key} was delivered, but never published"
            if message.is_delivered and not is_redelivered:
                return f"{key} was delivered again, but not marked redelivered"
            if message.settled_at is not None:
                return f"{key} was delivered again after it had been acked"
            message.is_delivered = True
            return None

    def ack(self, keys: list[Key]) -> None:
        """Acks are about to be sent."""
        with self.lock:
            for key in keys:
                self.messages[key].is_acked = True

    def settle(self, keys: list[Key]) -> None:
        """The broker has answered what was sent after those acks."""
        with self.lock:
            self.clock += 1
            for key in keys:
                self.messages[key].settled_at = self.clock
            self._settled.append((self.clock, len(keys)))

    def wait_for(self, confirms: int, durable_acks: int, timeout_s: float) -> str | None:
        """Waits until the round has had that many; tells what is wrong if it has not."""
        with self.progressed:
            if self.progressed.wait_for(lambda: self.confirms >= confirms and self.durable_acks >= durable_acks, timeout_s):
                return None
            return f"in {timeout_s:.0f} s the broker came to {self.confirms} confirms and {self.durable_acks} durable acks, not to {confirms} and {durable_acks}"

    def check(self, queue: str, recovered: list[Recovered], report: Report) -> None:
        """Compares what a queue holds after a restart with what it must and must not hold."""
        seen: set[Key] = set()
        last: dict[int, int] = defaultdict(int)
        for each in recovered:
            publisher, _, number = each.key
            message = self.messages.get(each.key)
            if message is None:
                report.faults.append(f"{each.key} came back, but was never published")
                continue
            if each.key in seen:
                report.faults.append(f"{each.key} came back twice")
            seen.add(each.key)
            if number <= last[publisher]:
                report.faults.append(f"{each.key} came back after number {last[publisher]}")
            last[publisher] = number
            if each.body_hash != message.body_hash:
                report.faults.append(f"{each.key} came back with another body")
            if not message.lasts:
                report.faults.append(f"{each.key} is transient and came back")
            if self.keeps_acks and message.settled_at is not None and message.settled_at < self.durable_until:
                report.faults.append(f"{each.key} came back, although its ack was durable")
            elif message.is_acked:
                report.acks_lost += 1
            if message.is_delivered:
                report.marked += 1
                if not each.is_redelivered:
                    report.faults.append(f"{each.key} had been delivered and came back without the redelivered flag")
            report.kept += 1
            report.unconfirmed_kept += not message.is_confirmed
        for key, message in self.messages.items():
            if key[1] != queue:
                continue
            if message.settled_at is not None and message.settled_at < self.durable_until and key not in seen:
                report.durable_acks += 1
            if message.is_confirmed and message.lasts and not message.is_acked and key not in seen:
                report.faults.append(f"{key} was confirmed and not acked, and is missing")

    def forget_all_but(self, queue: str, keys: list[Key]) -> None:
        """After the check: what is not in the queue is over. What is, has been delivered once more, and its fate is open again."""
        kept = set(keys)
        with self.lock:
            for key in [key for key in self.messages if key[1] == queue and key not in kept]:
                del self.messages[key]
            for key in keys:
                message = self.messages[key]
                message.is_delivered, message.is_acked, message.settled_at, message.is_confirmed = True, False, None, True
