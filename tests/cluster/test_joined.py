"""Links of federation and shovels run where the leader is, once each, whoever leads: nothing is lost, and what comes twice says so."""

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import joined  # noqa: E402
from blackbox.broker import Warren  # noqa: E402
from federation import Consumer, is_marked  # noqa: E402
from shovels import MARK  # noqa: E402

TIMEOUT_S = 30.0
#: How long the upstream may keep the connections of a leader that was: no heartbeat is that quick.
GONE_WITHIN_S = 5.0
RUN_S = 0.5
EXCHANGE, EXCHANGE_TO, QUEUE, SHOVEL_FROM, SHOVEL_TO = "fed-x", "fed-to", "fed-q", "shovel-from", "shovel-to"
NAMES = ["Federation link (upstream: up, policy: of-queue)", "Federation link (upstream: up, policy: of-exchange)", "Shovel of-cluster"]


@pytest.fixture
def upstream(pytestconfig):
    """A broker by itself."""
    broker = Warren(pytestconfig.getoption("broker_command"), {"cluster_name": "up"}, management=True)
    try:
        yield broker.start()
    finally:
        broker.remove()


def until(is_so, what, within_s: float = TIMEOUT_S):
    """Waits until it is so: what it gave. Nodes may not answer meanwhile. `what` tells what is wrong."""
    deadline, last = time.monotonic() + within_s, None
    while True:
        try:
            if found := is_so():
                return found
            last = None
        except (OSError, AssertionError) as error:
            last = error
        assert time.monotonic() < deadline, f"{what()}; {last!r}"
        time.sleep(0.02)


class AnyNode:
    """Wherever there is one that runs: each brings clients to the leader."""

    def __init__(self, cluster):
        self.cluster = cluster

    @property
    def address(self):
        return next(node.address for node in self.cluster.nodes.values() if not node.has_ended())


class Joined:
    """A cluster that an upstream feeds in three ways, all the time."""

    def __init__(self, cluster, upstream):
        self.cluster, self.upstream = cluster, upstream
        self.keys = ["key"]
        self.publishers = {
            EXCHANGE: joined.Publisher(upstream, "exchange", EXCHANGE, "key"),
            QUEUE: joined.Publisher(upstream, "queue", "", QUEUE),
            SHOVEL_FROM: joined.Publisher(upstream, "shovel", "", SHOVEL_FROM),
        }
        self.arrivals = {name: joined.Arrivals(is_marked) for name in (EXCHANGE, QUEUE)} | {SHOVEL_FROM: joined.Arrivals(lambda headers: headers.get(MARK))}
        self.consumer = Consumer(AnyNode(cluster), self.arrivals[QUEUE], QUEUE)

    def join(self):
        leader = self.cluster.nodes[self.cluster.leader()]
        for broker in (self.upstream, leader):
            with broker.wire() as wire:
                wire.call(1, "exchange.declare", exchange=EXCHANGE, type="topic", durable=True)
                for queue in (QUEUE, SHOVEL_FROM) if broker is self.upstream else (QUEUE, EXCHANGE_TO, SHOVEL_TO):
                    wire.call(1, "queue.declare", queue=queue, durable=True)
                if broker is leader:
                    wire.call(1, "queue.bind", queue=EXCHANGE_TO, exchange=EXCHANGE, routing_key="key")
        value = {"uri": self.upstream.url, "prefetch-count": joined.PREFETCH, "reconnect-delay": 0.05}
        leader.management.put("/parameters/federation-upstream/%2F/up", {"value": value}).expect(201, 204)
        for name, pattern in [("of-exchange", EXCHANGE), ("of-queue", QUEUE)]:
            leader.management.put(f"/policies/%2F/{name}", {"pattern": f"^{pattern}$", "definition": {"federation-upstream": "up"}}).expect(201, 204)
        value = {
            "src-uri": self.upstream.url, "src-queue": SHOVEL_FROM, "src-prefetch-count": joined.PREFETCH, "dest-uri": "amqp://", "dest-queue": SHOVEL_TO,
            "reconnect-delay": 0.05,
        }  # fmt: skip
        leader.management.put("/parameters/shovel/%2F/of-cluster", {"value": value}).expect(201, 204)

    def ways(self, node) -> list[tuple]:
        """What a node says that runs, and where."""
        links = [(link["type"], link["status"], link["node"]) for link in node.api.get("/federation-links").expect(200).json]
        shovels = [("shovel", shovel["state"], shovel["node"]) for shovel in node.api.get("/shovels").expect(200).json]
        return sorted(links + shovels)

    def connections(self) -> list[str]:
        """Those of the upstream that have a name."""
        found = [connection.get("client_properties", {}).get("connection_name") for connection in self.upstream.management.get("/connections").json]
        return sorted(name for name in found if name)

    def await_ways(self, leader: int):
        """Each runs once, at this node, and all nodes say so; and a binding that is made now is made at the upstream."""
        name = self.cluster.nodes[leader].name
        meant = [("exchange", "running", name), ("queue", "running", name), ("shovel", "running", name)]
        living = [node for node in self.cluster.nodes.values() if not node.has_ended()]
        for node in living:
            until(lambda: self.ways(node) == meant, lambda: f"node {node.number} says {self.ways(node)}")  # noqa: B023
        until(lambda: self.connections() == sorted(NAMES), lambda: f"the upstream has {self.connections()}", GONE_WITHIN_S)
        self.keys.append(f"since-{len(self.keys)}")
        with living[0].wire() as wire:
            wire.call(1, "queue.bind", queue=EXCHANGE_TO, exchange=EXCHANGE, routing_key=self.keys[-1])
        until(lambda: self.bound() == sorted(self.keys), lambda: f"the upstream has bindings {self.bound()}")

    def bound(self) -> list[str]:
        return sorted(each["routing_key"] for each in self.upstream.management.get(f"/exchanges/%2F/{EXCHANGE}/bindings/source").json)

    def work(self):
        """What is published now comes through."""
        for name, publisher in self.publishers.items():
            count = len(publisher.confirmed)
            until(lambda: len(publisher.confirmed) > count, lambda: f"nothing is published for {name}")  # noqa: B023
        time.sleep(RUN_S)

    def end(self):
        """Takes what has arrived."""
        for publisher in self.publishers.values():
            publisher.is_ending.set()
        for publisher in self.publishers.values():
            publisher.join(TIMEOUT_S)
        for name, queue in [(EXCHANGE, EXCHANGE_TO), (SHOVEL_FROM, SHOVEL_TO)]:
            with self.consumer.broker.cluster.nodes[self.cluster.leader()].wire() as wire:
                wire.call(1, "basic.consume", queue=queue, no_ack=True)
                until(lambda: self.take(wire, name), lambda: f"not all came for {name}")  # noqa: B023
        until(lambda: self.has_all(QUEUE), lambda: f"not all came for {QUEUE}")
        # What may come twice is to come.
        time.sleep(0.3)
        self.consumer.is_ending.set()
        self.consumer.join(TIMEOUT_S)

    def take(self, wire, name: str) -> bool:
        while wire.is_readable(0.3):
            message = wire.expect_message()
            self.arrivals[name].add(message.body, message.properties)
        return self.has_all(name)

    def has_all(self, name: str) -> bool:
        return self.publishers[name].confirmed <= self.arrivals[name].counts.keys()


def test_links_and_shovels_go_with_the_leader(cluster, upstream):
    both = Joined(cluster, upstream)
    both.join()
    leader = cluster.leader()
    both.await_ways(leader)
    both.consumer.start()
    for publisher in both.publishers.values():
        publisher.start()
    both.work()

    follower = next(number for number in cluster.nodes if number != leader)
    cluster.nodes[leader].api.call("POST", "/warren/cluster/transfer", {"node": cluster.nodes[follower].name}).expect(200, 204)
    until(lambda: cluster.leader() == follower, lambda: f"node {cluster.leader()} leads")
    both.await_ways(follower)
    both.work()

    cluster.nodes[follower].kill()
    until(lambda: cluster.leader() not in (None, follower), lambda: f"node {cluster.leader()} leads")
    both.await_ways(cluster.leader())
    both.work()

    both.end()
    for name, publisher in both.publishers.items():
        # Those of the way, and for the queue those of its consumer, at each of two changes.
        twice_max = 2 * joined.PREFETCH * (2 if name == QUEUE else 1)
        assert not joined.faults(publisher, both.arrivals[name], twice_max), name
        print(f"{name}: {publisher.sent} sent, {sum(count - 1 for count in both.arrivals[name].counts.values())} came twice")
