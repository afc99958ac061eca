"""Makes sequences of operations from seeds.

Each sequence is drawn from a part of what there is (types of queues, limits, times to live, dead letters, transactions, …), chosen by its
seed: where a few things meet often, they meet in more ways than where all meet rarely. An operation is a dictionary that says all of
itself, so that a sequence can be cut anywhere and still be played: nothing here knows what the broker answers.
"""

import random
from typing import Any

Operation = dict[str, Any]

CHANNELS = ["a1", "a2", "b1"]
"""Two connections, `a` and `b`: the first letter of a channel is its connection."""
QUEUES = ["q1", "q2", "q3"]
EXCHANGES = ["x1", "x2", "x3"]
KEYS = ["k.a", "k.b", "k.b.c", "q1", ""]
PATTERNS = ["k.a", "k.*", "#", "*.b.#", "q1", ""]
LENGTH_MAX = 28
SHORT_TTL_MS, LONG_TTL_MS = 1, 600_000

FEATURES = {
    "classic": 0.75, "quorum": 0.45, "ttl_zero": 0.4, "ttl_short": 0.3, "ttl_long": 0.3, "max_length": 0.45, "max_bytes": 0.2, "overflow": 0.5,
    "priorities": 0.3, "dead_letters": 0.65, "cycles": 0.4, "at_least_once": 0.4, "single_active": 0.25, "delivery_limit": 0.4, "auto_delete": 0.2, "exclusive": 0.2,
    "transactions": 0.25, "confirms": 0.8, "policies": 0.3, "exchanges": 0.5, "consumers": 0.75, "consumer_priorities": 0.25, "prefetch": 0.5,
    "global_prefetch": 0.15, "properties": 0.4, "carbon_copies": 0.15, "mistakes": 0.2, "redeclare": 0.2, "many": 0.3,
}  # fmt: skip
"""What a sequence may have, and how probably it has it."""

NOT_TOGETHER = [
    ("priorities", "ttl_zero"), ("priorities", "ttl_short"), ("quorum", "global_prefetch"), ("transactions", "auto_delete"), ("transactions", "exclusive"),
    ("transactions", "priorities"),
]  # fmt: skip
"""What decided differences are about: sequences with both would not be compared."""


class Maker:
    """One sequence in the making."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.features = {name for name, probability in FEATURES.items() if self.random.random() < probability}
        for one, other in NOT_TOGETHER:
            if {one, other} <= self.features:
                self.features.discard(self.random.choice([one, other]))
        if not self.features & {"classic", "quorum"}:
            self.features.add("classic")
        # Of what has failed in a classic queue and becomes a dead letter another time it is a decided difference that it did.
        self.forgets_failures = {"classic", "dead_letters"} <= self.features
        if self.forgets_failures:
            self.features.discard("mistakes")
        self.operations: list[Operation] = []
        self.bodies = self.tags = 0
        self.consumers: list[tuple[str, str]] = []
        self.consumed: set[tuple[str, str]] = set()
        self.exchanges: list[str] = []
        self.takers: list[str] = []
        """Channels that have taken messages, and may hold some."""
        self.declared: dict[str, Operation] = {}

    def has(self, feature: str, probability: float = 1.0) -> bool:
        """Whether the sequence has this, and has it here."""
        return feature in self.features and self.random.random() < probability

    def pick(self, values: list) -> Any:
        return self.random.choice(values)

    def add(self, do: str, on: str | None = None, **what: Any) -> None:
        self.operations.append({"do": do, "on": on or self.pick(CHANNELS), **what})

    def make(self) -> list[Operation]:
        for channel in CHANNELS[:2]:
            if self.has("confirms", 0.9):
                self.add("confirm.select", channel)
        if self.has("transactions"):
            self.add("tx.select", "b1")
        if self.has("exchanges"):
            for exchange in EXCHANGES[: self.random.randint(1, 3)]:
                self.exchange(exchange)
        for queue in QUEUES[: self.random.randint(1, 3)]:
            self.declare(queue)
        if self.has("exchanges"):
            for _ in range(self.random.randint(1, 4)):
                self.bind()
        for _ in range(self.random.randint(6, LENGTH_MAX)):
            self.any()
        return self.operations

    # -- topology

    def declare(self, queue: str) -> None:
        """A queue with arguments; mostly as it was declared before, if it was."""
        if queue in self.declared and not self.has("redeclare", 0.6):
            self.operations.append(self.declared[queue])
            return
        on = self.pick(CHANNELS)
        kind = self.pick(sorted(self.features & {"classic", "quorum"}))
        arguments: dict[str, Any] = {"x-queue-type": "quorum"} if kind == "quorum" else {}
        how: dict[str, Any] = {"durable": True}
        if self.has("auto_delete", 0.4) and kind == "classic":
            how["auto_delete"] = True
        if self.has("exclusive", 0.5) and kind == "classic":
            how |= {"exclusive": True, "durable": self.random.random() < 0.5}
        if (ttl := self.ttl(0.5)) is not None:
            arguments["x-message-ttl"] = ttl
        arguments |= self.limits(kind)
        arguments |= self.dead_letters(queue, kind, "x-max-length" in arguments)
        if kind == "classic" and self.has("priorities", 0.8):
            arguments["x-max-priority"] = self.pick([1, 5, 10])
        if self.has("single_active", 0.6):
            arguments["x-single-active-consumer"] = True
        if kind == "quorum" and self.has("delivery_limit", 0.7):
            arguments["x-delivery-limit"] = self.pick([0, 1, 2, 3])
        if self.has("mistakes", 0.1):
            arguments["x-message-ttl"] = self.pick([-1, "5"])
        self.declared[queue] = {"do": "queue.declare", "on": on, "queue": queue, **how, "arguments": arguments}
        self.operations.append(self.declared[queue])

    def limits(self, kind: str) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        if self.has("max_length", 0.7):
            arguments["x-max-length"] = self.pick([0, 1, 1, 2, 3])
            if kind == "quorum":
                return arguments
        if kind == "classic" and self.has("max_bytes", 0.6):
            arguments["x-max-length-bytes"] = self.pick([0, 10, 50])
        if self.has("overflow", 0.7):
            arguments["x-overflow"] = self.pick(["drop-head", "reject-publish", *(["reject-publish-dlx"] if kind == "classic" else [])])
        return arguments

    def dead_letters(self, queue: str, kind: str, is_limited: bool) -> dict[str, Any]:
        if not self.has("dead_letters", 0.75):
            return {}
        later = QUEUES[QUEUES.index(queue) + 1 :] if queue in QUEUES else []
        targets = QUEUES if self.has("cycles") else later
        arguments = {"x-dead-letter-exchange": ""}
        if self.has("exchanges", 0.4) and self.has("cycles"):
            arguments["x-dead-letter-exchange"] = self.an_exchange()
            if self.random.random() < 0.5:
                arguments["x-dead-letter-routing-key"] = self.pick(KEYS)
        elif targets:
            arguments["x-dead-letter-routing-key"] = self.pick(targets)
        else:
            return {}
        if kind == "quorum" and "policies" not in self.features and self.has("at_least_once", 0.7) and not is_limited:
            arguments |= {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
        return arguments

    def ttl(self, probability: float) -> int | None:
        times = [(name, ms) for name, ms in (("ttl_zero", 0), ("ttl_short", SHORT_TTL_MS), ("ttl_long", LONG_TTL_MS)) if self.has(name)]
        return self.pick(times)[1] if times and self.random.random() < probability else None

    def exchange(self, exchange: str) -> None:
        arguments = {"alternate-exchange": self.an_exchange()} if self.random.random() < 0.2 else {}
        how = {"durable": True} | ({"auto_delete": True} if self.has("auto_delete", 0.3) else {}) | ({"internal": True} if self.random.random() < 0.05 else {})
        self.exchanges.append(exchange)
        self.add("exchange.declare", exchange=exchange, type=self.pick(["direct", "fanout", "topic", "headers"]), **how, arguments=arguments)

    def bind(self) -> None:
        do = self.pick(["queue.bind", "queue.bind", "queue.bind", "exchange.bind"]) if "cycles" in self.features else "queue.bind"
        undo = self.random.random() < 0.25 and len(self.operations) > 8 and (do == "exchange.bind" or "exclusive" not in self.features)
        to = {"queue": self.queue(), "exchange": self.an_exchange()} if do == "queue.bind" else {"destination": self.an_exchange(), "source": self.an_exchange()}
        arguments = self.pick([{}, {}, {}, {"x-match": "any", "h": "1", "i": 2}, {"x-match": "all", "h": "1"}])
        self.add(do.replace("bind", "unbind") if undo else do, **to, routing_key=self.pick(PATTERNS), arguments=arguments)

    def an_exchange(self) -> str:
        """Mostly one that was declared."""
        return self.pick(EXCHANGES) if self.has("mistakes", 0.1) else self.pick(self.exchanges or EXCHANGES)

    def is_quorum(self, queue: str) -> bool:
        return self.declared.get(queue, {}).get("arguments", {}).get("x-queue-type") == "quorum"

    def queue(self) -> str:
        known = list(self.declared) or QUEUES[:1]
        return "nosuch" if self.has("mistakes", 0.05) else self.pick(known)

    # -- anything

    def any(self) -> None:
        """The next operation."""
        weights = {
            self.publish: 30, self.get: 13, self.settle: 20, self.declare_again: 2, self.purge: 1.5, self.delete: 1.5,
            self.close: 0 if self.forgets_failures else 1.5, self.recover: 1.5,
            self.consume: 9 if "consumers" in self.features else 0, self.cancel: 3 if self.consumers else 0, self.prefetch: 2 if "prefetch" in self.features else 0,
            self.transact: 6 if "transactions" in self.features else 0, self.policy: 4 if "policies" in self.features else 0,
            self.rebind: 4 if "exchanges" in self.features else 0, self.mistake: 3 if "mistakes" in self.features else 0,
        }  # fmt: skip
        self.random.choices(list(weights), list(weights.values()))[0]()

    def publish(self) -> None:
        self.bodies += 1
        how: dict[str, Any] = {"delivery_mode": 2} if self.random.random() < 0.5 else {}
        if (ttl := self.ttl(0.4)) is not None:
            how["expiration"] = str(ttl)
        if self.has("priorities", 0.7):
            how["priority"] = self.pick([0, 1, 4, 5, 9, 255])
        if self.has("properties", 0.4):
            how |= self.pick([{"content_type": "text/plain"}, {"correlation_id": "1", "reply_to": "r"}, {"message_id": "i", "type": "t", "app_id": "p"}, {"timestamp": 1}])
        headers: dict[str, Any] = self.pick([{}, {}, {"h": "1"}, {"h": "1", "i": 2}]) if self.has("properties") or self.has("exchanges") else {}
        # Which of a message and its copy's dead letter is first in a quorum queue is chance, and tells whether the other expires.
        is_chance = {"quorum", "dead_letters"} <= self.features and self.features & {"ttl_zero", "ttl_short"}
        if self.has("carbon_copies", 0.4) and not is_chance:
            # RabbitMQ leaves the keys of a BCC that is long gone out of x-death at later deaths, too.
            headers = {**headers, "CC" if "dead_letters" in self.features else self.pick(["CC", "BCC"]): [self.queue()]}
        if headers:
            how["headers"] = headers
        if self.random.random() < 0.15:
            how["mandatory"] = True
        exchange, key = ("", self.queue())
        if self.has("exchanges", 0.5):
            exchange, key = self.an_exchange(), self.pick(KEYS)
        body = f"m{self.bodies}" + "." * self.pick([0, 0, 8, 30])
        self.add("basic.publish", exchange=exchange, routing_key=key, body=body, **how)

    def get(self) -> None:
        channel = self.pick(CHANNELS)
        self.takers.append(channel)
        self.add("basic.get", channel, queue=self.queue(), no_ack=self.random.random() < 0.2)

    def settle(self) -> None:
        """Acks, rejects or requeues what a channel holds: `which` is the place among these, counted round."""
        if not self.takers and self.random.random() < 0.9:
            self.publish()
            return
        do = self.pick(["basic.ack", "basic.ack", "basic.nack", "basic.nack", "basic.reject"])
        how: dict[str, Any] = {"which": self.random.randint(0, 3)}
        if do != "basic.reject" and self.has("many", 0.3):
            how["multiple"] = True
            if self.random.random() < 0.3:
                how["which"] = "all"
        if do != "basic.ack":
            how["requeue"] = self.random.random() < 0.5
            if self.forgets_failures and how["requeue"]:
                do = "basic.nack"
        self.add(do, self.pick(self.takers) if self.takers and self.random.random() < 0.95 else None, **how)

    def consume(self) -> None:
        channel, queue = self.pick(CHANNELS), self.queue()
        if "quorum" in self.features and (channel, queue) in self.consumed:
            return
        if "prefetch" in self.features and not self.is_quorum(queue) and any(other == queue for _, other in self.consumed):
            # Whose turn it is after a consumer has used up its prefetch is a decided difference.
            return
        if channel == "b1" and {"transactions", "overflow"} <= self.features:
            # A commit that a queue refuses closes the channel: before or after its consumers get the rest.
            return
        self.consumed.add((channel, queue))
        self.takers.append(channel)
        self.tags += 1
        tag = f"c{self.tags}"
        if self.has("mistakes", 0.05) and self.consumers:
            channel, tag = self.pick(self.consumers)
        arguments = {"x-priority": self.pick([-1, 0, 5])} if self.has("consumer_priorities", 0.6) else {}
        self.consumers.append((channel, tag))
        if self.has("prefetch", 0.6):
            self.add("basic.qos", channel, prefetch_count=self.pick([1, 1, 2, 3]), global_=self.has("global_prefetch", 0.5))
        no_ack = self.random.random() < 0.2 and "global_prefetch" not in self.features
        exclusive = self.random.random() < 0.06
        self.add("basic.consume", channel, queue=queue, consumer_tag=tag, no_ack=no_ack, exclusive=exclusive, arguments=arguments)

    def cancel(self) -> None:
        channel, tag = self.pick(self.consumers)
        self.add("basic.cancel", channel, consumer_tag=tag)

    def prefetch(self) -> None:
        self.add("basic.qos", prefetch_count=self.pick([0, 1, 2]), global_=self.has("global_prefetch", 0.5))

    def transact(self) -> None:
        self.add(self.pick(["tx.commit", "tx.commit", "tx.rollback"]), "b1")

    def recover(self) -> None:
        self.add("basic.recover", requeue=True)

    def declare_again(self) -> None:
        self.declare(self.pick(QUEUES))

    def purge(self) -> None:
        self.add("queue.purge", queue=self.queue())

    def delete(self) -> None:
        if self.has("exchanges", 0.3):
            self.add("exchange.delete", exchange=self.an_exchange(), if_unused=self.random.random() < 0.5)
        elif "transactions" not in self.features:
            self.add("queue.delete", queue=self.queue(), if_unused=self.random.random() < 0.3, if_empty=self.random.random() < 0.3)

    def rebind(self) -> None:
        if self.random.random() < 0.8 or self.forgets_failures:
            self.bind()
        else:
            self.exchange(self.an_exchange())

    def close(self) -> None:
        self.add(self.pick(["close channel", "close channel", "close connection"]))

    def policy(self) -> None:
        name = self.pick(["p1", "p2"])
        if self.random.random() < 0.3:
            self.add("drop policy", "-", name=name)
            return
        definition: dict[str, Any] = {}
        while not definition:
            if (ttl := self.ttl(0.5)) is not None:
                definition["message-ttl"] = ttl
            if self.random.random() < 0.4:
                definition["max-length"] = self.pick([0, 1, 2])
            if self.random.random() < 0.2:
                definition["overflow"] = self.pick(["drop-head", "reject-publish"])
            if self.has("dead_letters", 0.5):
                definition |= {"dead-letter-exchange": "", "dead-letter-routing-key": self.pick(QUEUES if "cycles" in self.features else QUEUES[-1:])}
            if "max-length" in definition and definition.get("overflow") == "reject-publish":
                del definition["overflow"]
            if definition.get("message-ttl") == 0 and "dead-letter-exchange" not in definition:
                del definition["message-ttl"]
        pattern = self.pick(["^q", "^q1$", "^q[12]$"])
        if "cycles" not in self.features and "dead-letter-exchange" in definition:
            pattern = "^q[12]$"
        # Never two of one priority: which of them RabbitMQ takes depends on what the vhost is called.
        priority = 2 * self.pick([0, 0, 1]) + (name == "p2")
        self.add("policy", "-", name=name, pattern=pattern, definition=definition, priority=priority)

    def mistake(self) -> None:
        """What a broker refuses."""
        what = self.random.randrange(5)
        if what == 0:
            self.add(self.pick(["basic.ack", "basic.nack", "basic.reject"]), which="unknown")
        elif what == 1:
            self.add("queue.declare", queue="amq.mine", durable=True, arguments={})
        elif what == 2:
            self.add("queue.declare", queue=self.pick(QUEUES), passive=True)
        elif what == 3:
            self.add(self.pick(["tx.commit", "tx.select", "confirm.select"]))
        else:
            self.add("exchange.declare", exchange=self.pick([*EXCHANGES, "amq.direct"]), type=self.pick(["direct", "nosuch"]), durable=True, arguments={})


def make(seed: int) -> list[Operation]:
    """The sequence of that seed."""
    return Maker(seed).make()


def has_quorum(operations: list[Operation]) -> bool:
    """Whether a queue of the sequence is a log's."""
    return any(each.get("arguments", {}).get("x-queue-type") == "quorum" for each in operations)


def has_limited_quorum(operations: list[Operation]) -> bool:
    """Whether a quorum queue of the sequence may have a limit."""
    of_queues = any("x-max-length" in each["arguments"] for each in operations if each.get("arguments", {}).get("x-queue-type") == "quorum")
    return has_quorum(operations) and (of_queues or any("max-length" in each.get("definition", {}) for each in operations))


def _ttls(operations: list[Operation]) -> list[Any]:
    """All times to live, in milliseconds: numbers, and texts of messages."""
    of = [(each.get("expiration"), each.get("arguments", {}).get("x-message-ttl"), each.get("definition", {}).get("message-ttl")) for each in operations]
    return [value for values in of for value in values if value is not None and value is not True]


def has_short_ttl(operations: list[Operation]) -> bool:
    """Whether something of the sequence expires on its own some time after it has come."""
    return any(value in (SHORT_TTL_MS, str(SHORT_TTL_MS)) for value in _ttls(operations))


def may_expire(operations: list[Operation]) -> bool:
    """Whether something of the sequence expires."""
    return any(value in (0, "0", SHORT_TTL_MS, str(SHORT_TTL_MS)) for value in _ttls(operations))
