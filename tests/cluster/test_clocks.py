"""Three machines whose clocks are minutes apart: what waits goes by one time, whichever of them leads."""

import time

import clock
import pytest
from blackbox.wire import Wire
from nodes import Cluster, Surroundings

#: Of nodes 1 to 3.
APART_S = [0.0, 240.0, -240.0]
WAIT_MS = 4_000
#: A busy machine may need that much longer.
TIMEOUT_S = 20.0
DELAYED, DEAD, EXPIRING = "delayed", "dead", "expiring"


@pytest.fixture
def apart(pytestconfig):
    """A cluster of such machines."""
    library = clock.library()
    if library is None:
        pytest.skip("there is no C compiler for the library that moves clocks")
    cluster = Cluster(Surroundings(clock=library), pytestconfig.getoption("broker_command"))
    try:
        for node, apart_s in zip(cluster.nodes.values(), APART_S, strict=True):
            node.clock.move(apart_s)
        yield cluster.start()
    finally:
        cluster.remove()


def open_wire(cluster, within_s=TIMEOUT_S):
    deadline = time.monotonic() + within_s
    while True:
        for node in cluster.nodes.values():
            if not node.has_ended():
                try:
                    return Wire.open(node.address, timeout=6)
                except (OSError, AssertionError) as error:
                    last = error
        assert time.monotonic() < deadline, f"no node takes clients: {last!r}"
        time.sleep(0.05)


def prepare(cluster):
    with open_wire(cluster) as wire:
        wire.call(1, "exchange.declare", exchange=DELAYED, type="x-delayed-message", durable=True, arguments={"x-delayed-type": "fanout"})
        for queue, arguments in [(DELAYED, {}), (DEAD, {}), (EXPIRING, {"x-message-ttl": WAIT_MS, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD})]:
            wire.call(1, "queue.declare", queue=queue, durable=True, arguments=arguments)
        wire.call(1, "queue.bind", queue=DELAYED, exchange=DELAYED)


def publish(cluster):
    """One that is delayed and one that expires, both after the same time; when they were confirmed."""
    with open_wire(cluster) as wire:
        wire.call(1, "confirm.select")
        wire.publish(1, DELAYED, "", b"delayed", delivery_mode=2, headers={"x-delay": WAIT_MS})
        wire.publish(1, "", EXPIRING, b"expires", delivery_mode=2)
        wire.expect_confirms(1, 1, 2)
        return time.monotonic()


def await_arrivals(cluster, since):
    """Both come, and not before it is time."""
    missing = {DELAYED, DEAD}
    while missing:
        assert time.monotonic() - since < WAIT_MS / 1000 + TIMEOUT_S, f"nothing came to {missing}"
        try:
            with open_wire(cluster) as wire:
                for queue in sorted(missing):
                    if wire.get(1, queue) is not None:
                        waited_s = time.monotonic() - since
                        assert waited_s >= WAIT_MS / 1000 - 0.2, f"{queue} got its message after {waited_s:.1f} s"
                        missing.discard(queue)
        except OSError:
            pass
        time.sleep(0.05)


def test_what_waits_goes_by_one_time_whichever_node_leads(apart):
    prepare(apart)
    led = set()
    for _ in range(3):
        leader = apart.leader()
        led.add(leader)
        # Its followers ask once a second what time it is.
        time.sleep(1.5)
        since = publish(apart)
        apart.nodes[leader].kill()
        await_arrivals(apart, since)
        apart.nodes[leader].start(wait=False)
        apart.await_whole()
    assert len(led) > 1, "the leader was never another one"
