"""Clients that work on a cluster: each has the list of all nodes, and goes to another one when its connection is over.

    orders    classic; publishers send it what they like      safe    quorum; what goes to `everywhere` comes to both
    work      classic; rejected and expired messages go to ──► dead, a quorum queue
    late      behind an exchange that delays
    probe     a client that knows one node alone publishes to it: it finds out whether a node in a minority says yes
    marks     what consumers publish after their acks: its confirm says that these are durable
"""

import itertools
import random
import threading
import time
from collections.abc import Iterator

from blackbox.management import Management
from history import Defined, Defining, Found, History, Queue
from session import Address, Delivery, Session, now_ms

EVERYWHERE, LATER = "everywhere", "later"
ORDERS, SAFE, WORK, DEAD, LATE, PROBE, MARKS = "orders", "safe", "work", "dead", "late", "probe", "marks"
QUEUES = {
    queue.name: queue
    for queue in [
        Queue(ORDERS), Queue(SAFE, is_quorum=True), Queue(WORK, is_ordered=False, dead_letters_to=DEAD), Queue(DEAD, is_quorum=True, is_ordered=False),
        Queue(LATE, is_ordered=False), Queue(PROBE, is_quorum=True),
    ]
}  # fmt: skip
ARGUMENTS = {
    WORK: {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD},
    MARKS: {"x-max-length": 1},
}
DELAY_MS_MAX = 1500
RATE_PAUSES_S = [0.005, 0.01, 0.03]


def declare(session: Session) -> None:
    """What the clients use."""
    for name in [*QUEUES, MARKS]:
        kind = {"x-queue-type": "quorum"} if name in QUEUES and QUEUES[name].is_quorum else {}
        session.call("queue.declare", queue=name, durable=True, arguments={**ARGUMENTS.get(name, {}), **kind})
    session.call("exchange.declare", exchange=EVERYWHERE, type="fanout", durable=True)
    session.call("exchange.declare", exchange=LATER, type="x-delayed-message", durable=True, arguments={"x-delayed-type": "direct"})
    for queue, exchange in ((ORDERS, EVERYWHERE), (SAFE, EVERYWHERE), (LATE, LATER)):
        session.call("queue.bind", queue=queue, exchange=exchange, routing_key=queue)


class Client(threading.Thread):
    """Connects, works until its connection is over, and connects again, until it is told to stop."""

    def __init__(self, history: History, nodes: dict[int, Address], seed: str, is_stopping: threading.Event):
        super().__init__(daemon=True)
        self.history, self.nodes, self.dice, self.is_stopping = history, nodes, random.Random(seed), is_stopping
        self.fault: str | None = None

    def run(self) -> None:
        while not self.is_stopping.is_set():
            node = self.dice.choice(sorted(self.nodes))
            try:
                with Session(self.history, QUEUES, node, self.nodes[node]) as session:
                    self.work(session)
            except (OSError, AssertionError):
                time.sleep(0.05)
            except Exception as fault:
                self.fault = f"{type(self).__name__}: {fault!r}"
                raise

    def work(self, session: Session) -> None:
        raise NotImplementedError


class Publisher(Client):
    """Publishes with a window of unconfirmed messages, at a pace."""

    def work(self, session: Session) -> None:
        window, pause_s = self.dice.choice([1, 20, 100]), self.dice.choice(RATE_PAUSES_S)
        while not self.is_stopping.is_set():
            if len(session.pending) < window:
                self.publish(session)
            assert session.read(pause_s) is None
            while session.wire.is_readable():
                session.read(0)
            assert not session.is_overdue()

    def publish(self, session: Session) -> None:
        padding = b"x" * self.dice.choice([0, 10, 100, 1000, 1000, 8000])
        where = self.dice.choice([ORDERS, SAFE, EVERYWHERE, WORK, WORK, LATE])
        if where == EVERYWHERE:
            session.publish(EVERYWHERE, "", (ORDERS, SAFE), padding)
        elif where == LATE:
            delay_ms = self.dice.randint(1, DELAY_MS_MAX)
            session.publish(LATER, LATE, (LATE,), padding, now_ms() + delay_ms, headers={"x-delay": delay_ms})
        elif where == WORK and self.dice.random() < 0.3:
            session.publish("", WORK, (WORK,), padding, expiration=str(self.dice.randint(1, 500)))
        else:
            session.publish("", where, (where,), padding)


class Consumer(Client):
    """Takes messages of a queue; acks most of them, and makes sure of it by a message of its own."""

    def __init__(self, history, nodes, seed, is_stopping, queue: str):
        super().__init__(history, nodes, seed, is_stopping)
        self.queue = queue

    def work(self, session: Session) -> None:
        held: list[Delivery] = []
        session.consume(self.queue, prefetch=self.dice.choice([1, 20, 200]))
        lives_until = time.monotonic() + self.dice.uniform(1.0, 8.0)
        answer_at = 0.0
        while not self.is_stopping.is_set() and time.monotonic() < lives_until:
            got = session.read(0.05)
            if isinstance(got, Delivery):
                held.append(got)
            if held and (time.monotonic() > answer_at or len(held) > 50):
                self.answer(session, held)
                answer_at = time.monotonic() + self.dice.choice([0.0, 0.02, 0.2])
            assert not session.is_overdue()

    def answer(self, session: Session, held: list[Delivery]) -> None:
        """Settles some or all of it."""
        if self.queue == WORK and self.dice.random() < 0.4:
            session.reject(held.pop(0), requeue=False)
        elif self.dice.random() < 0.1:
            session.reject(held.pop(0), requeue=True)
        elif self.dice.random() < 0.5:
            session.ack(held, multiple=True)
            held.clear()
        else:
            self.dice.shuffle(held)
            session.ack(held[:10])
            del held[:10]
        if self.dice.random() < 0.5:
            session.publish("", MARKS, ())


class Prober(Client):
    """Asks one node for what needs a majority, again and again."""

    def work(self, session: Session) -> None:
        for count in itertools.count():
            session.publish("", PROBE, (PROBE,))
            waits_until = time.monotonic() + 0.3
            while time.monotonic() < waits_until:
                session.read(0.1)
            if self.is_stopping.is_set() or session.is_overdue() or count > self.dice.randint(1, 10):
                return


class Definer(Client):
    """Declares queues and deletes them; sets policies over HTTP and clears them. No other client uses these names."""

    def __init__(self, history, nodes, seed, is_stopping, managements: dict[int, Management]):
        super().__init__(history, nodes, seed, is_stopping)
        self.managements = managements
        self.names = (f"{seed.replace('/', '-')}-{number}" for number in itertools.count())
        self.queues: list[str] = []
        self.policies: list[str] = []
        self.asked: list[tuple[str, bool]] = []
        """All names there have been, and whether they are of queues."""

    def work(self, session: Session) -> None:
        while not self.is_stopping.is_set():
            if self.dice.random() < 0.3:
                self.change_policies()
            elif self.dice.random() < 0.6 or not self.queues:
                name = next(self.names)
                self.asked.append((name, True))
                with self.noted(session.node, name, False):
                    session.call("queue.declare", queue=name, durable=True, arguments={"x-queue-type": self.dice.choice(["classic", "quorum"])})
                self.queues.append(name)
            else:
                name = self.queues.pop(self.dice.randrange(len(self.queues)))
                with self.noted(session.node, name, True):
                    session.call("queue.delete", queue=name)
            session.read(self.dice.choice([0.01, 0.1]))

    def change_policies(self) -> None:
        node = self.dice.choice(sorted(self.managements))
        is_deletion = bool(self.policies) and self.dice.random() < 0.4
        name = self.policies.pop() if is_deletion else next(self.names)
        if not is_deletion:
            self.asked.append((name, False))
        with self.noted(node, name, is_deletion):
            if is_deletion:
                self.managements[node].delete(f"/policies/%2F/{name}").expect(204)
            else:
                self.managements[node].put(f"/policies/%2F/{name}", {"pattern": "^nothing$", "definition": {"max-length": 9}}).expect(201)
                self.policies.append(name)

    def noted(self, node: int, name: str, is_deletion: bool) -> "Noted":
        return Noted(self.history, node, name, is_deletion)

    def look(self, session: Session, management: Management) -> Iterator[Found]:
        """What is there in the end; it is deleted, too."""
        policies = {each["name"] for each in management.get("/policies/%2F").expect(200).json}
        queues = {each["name"] for each in management.get("/queues/%2F?columns=name").expect(200).json}
        for name, is_queue in self.asked:
            is_there = name in (queues if is_queue else policies)
            yield Found(name, is_there)
            if is_there and is_queue:
                session.call("queue.delete", queue=name)
            elif is_there:
                management.delete(f"/policies/%2F/{name}").expect(204)


class Noted:
    """A change of a definition: it was asked for, and answered if nothing is raised."""

    def __init__(self, history: History, *what):
        self.history, self.what = history, what

    def __enter__(self) -> None:
        self.history.record(Defining(*self.what))

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.history.record(Defined(*self.what))


def clients(history: History, nodes: dict[int, Address], managements: dict[int, Management], seed: str, is_stopping: threading.Event) -> list[Client]:
    """All that work in a round."""
    made: list[Client] = [Publisher(history, nodes, f"{seed}/publisher{each}", is_stopping) for each in range(3)]
    for each, queue in enumerate([ORDERS, ORDERS, SAFE, WORK, DEAD, LATE]):
        made.append(Consumer(history, nodes, f"{seed}/consumer{each}", is_stopping, queue))
    made += [Prober(history, {node: address}, f"{seed}/prober{node}", is_stopping) for node, address in nodes.items()]
    return [*made, Definer(history, nodes, f"{seed}/definer", is_stopping, managements)]
