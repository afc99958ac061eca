"""What holds of one thread holds of four: each has lines of its own, and clients come to whichever is free."""

import threading

import pytest
from blackbox.proxy import eventually

THREADS = {"proxy.worker_threads": "4"}
CROWD = 16


@pytest.fixture
def threaded(broker, own_proxy):
    return own_proxy({"a": broker}, THREADS)


def at_once(*works):
    """Does all of these at the same time; what one of them fails with is the test's."""
    faults = []

    def run(work):
        try:
            work()
        except BaseException as fault:
            faults.append(fault)

    running = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for each in running:
        each.start()
    for each in running:
        each.join(60)
        assert not each.is_alive(), "it does not come to an end"
    if faults:
        raise faults[0]


def spread_crowd(proxy, wires):
    """Clients on more than one thread."""
    crowd = []

    def is_spread():
        crowd.append(wires(proxy))
        crowd[-1].publish(1, "", "nobody")
        lines = [line for pool in proxy.get("/pools") for line in pool["connections"] if line["for"] == "publishes"]
        return len(crowd) >= CROWD and len(lines) > 1

    eventually(is_spread, "clients come to more than one thread")
    return crowd


def test_there_are_so_many_threads_and_each_has_lines_of_its_own(threaded, wires):
    assert threaded.metric("amqproxy_upstream_connections") <= 4
    spread_crowd(threaded, wires)


def test_what_many_short_connections_publish_comes_once_and_is_had_by_others(threaded, wires, name):
    queue = name()
    wires(threaded).call(1, "queue.declare", queue=queue, durable=True)
    had = []

    def publish(first):
        for number in range(first, first + 10):
            with threaded.wire() as wire:
                wire.publish(1, "", queue, b"%d" % number)
                wire.close()

    def take():
        for _ in range(10):
            with threaded.wire() as wire:
                had.append(int(eventually(lambda wire=wire: wire.get(1, queue)).body))
                wire.close()

    at_once(*(lambda first=first: publish(first) for first in range(0, 80, 10)), *[take] * 8)
    assert sorted(had) == list(range(80))
    assert wires(threaded).get(1, queue) is None


def test_confirms_are_counted_for_each_client(threaded, wires, name):
    queue, nowhere = name(), name("nowhere")
    wires(threaded).call(1, "queue.declare", queue=queue, durable=True)

    def publish(count):
        with threaded.wire() as wire:
            wire.call(1, "confirm.select")
            for _ in range(count):
                wire.publish(1, "", queue, b"x")
            wire.expect_confirms(1, 1, count)
            wire.publish(1, "", nowhere, b"%d" % count, mandatory=True)
            assert wire.expect_message("basic.return").body == b"%d" % count
            wire.expect_confirms(1, count + 1, count + 1)
            wire.close()

    at_once(*(lambda count=count: publish(count) for count in range(1, 1 + CROWD)))
    wires(threaded).wait_count(1, queue, sum(range(1, 1 + CROWD)))


def test_an_exclusive_queue_is_one_clients_whatever_thread_others_are_on(threaded, wires, name):
    queue, owner = name(), wires(threaded)
    owner.call(1, "queue.declare", queue=queue, exclusive=True)
    others = [wires(threaded) for _ in range(CROWD)]
    for other in others:
        other.send_method(1, "queue.declare", queue=queue, passive=True)
        other.expect_channel_error(1, 405)
        other.publish(1, "", queue, b"x")
    owner.wait_count(1, queue, CROWD)
    owner.close()
    for other in others:
        other.send_method(1, "queue.declare", queue=queue, passive=True)
        other.expect_channel_error(1, 404)


def test_what_is_kept_of_each_connection_arrives_in_its_order(own_broker, own_proxy, wires, name, tmp_path):
    broker = own_broker()
    proxy = own_proxy({"a": broker}, {**THREADS, "proxy.spool.dir": str(tmp_path / "spool"), "proxy.spool.start_after": "200ms"})
    crowd, queue, count = [wires(proxy) for _ in range(CROWD)], name(), 20
    crowd[0].call(1, "queue.declare", queue=queue, durable=True)
    with broker.wire() as direct:
        # It is answered when all before it survives a kill.
        direct.call(1, "queue.purge", queue=queue)
    broker.kill()
    proxy.await_state("a", "down")
    for number in range(count):
        for who, wire in enumerate(crowd):
            wire.publish(1, "", queue, b"%d %d" % (who, number), delivery_mode=2)
    eventually(lambda: proxy.get("/spool")["kept"] == CROWD * count, "it is kept")
    broker.start()
    eventually(lambda: proxy.get("/spool")["messages"] == 0, "all is sent on")
    with broker.wire() as direct:
        direct.wait_count(1, queue, CROWD * count)
        arrived = [tuple(map(int, direct.get(1, queue).body.split())) for _ in range(CROWD * count)]
    for who in range(CROWD):
        assert [number for sender, number in arrived if sender == who] == list(range(count))


def test_a_drained_upstream_is_left_by_all_threads_while_clients_publish(broker, own_broker, own_proxy, wires):
    proxy = own_proxy({"a": broker, "b": own_broker()}, THREADS)
    crowd, is_over = spread_crowd(proxy, wires), threading.Event()
    counts = [0] * len(crowd)

    def publish(who):
        crowd[who].call(1, "confirm.select")
        while not is_over.is_set():
            counts[who] += 1
            crowd[who].publish(1, "", "nobody")
            crowd[who].expect_confirms(1, counts[who], counts[who])

    def all_publish_on():
        before = list(counts)
        eventually(lambda: all(now > then for now, then in zip(counts, before)), "all publish on")

    def drain():
        try:
            for _ in range(2):
                all_publish_on()
                name = next(name for name in ("a", "b") if proxy.upstream(name)["connections"] > 0)
                proxy.operations.put(f"/upstreams/{name}/drain").expect(204)
                eventually(lambda name=name: proxy.upstream(name)["connections"] == 0, "it is left")
                proxy.operations.delete(f"/upstreams/{name}/drain").expect(204)
            all_publish_on()
        finally:
            is_over.set()

    at_once(drain, *(lambda who=who: publish(who) for who in range(len(crowd))))
