"""Too many, too slow, too silent: bounded waits and bounded memory."""

import resource
import select
import socket
import threading
import time

import pytest
from blackbox import codec
from blackbox.wire import Closed, Timeout, Wire

KIB, MIB = 2**10, 2**20


@pytest.fixture(autouse=True)
def _files():
    """The test itself needs a file for each connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def room_for(count: int) -> int:
    """As many connections as files allow."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < count + 200:
        pytest.skip(f"{count} connections need more than the {hard} files that this process may open")
    return count


@pytest.mark.timeout(300)
def test_connections_that_send_nothing_are_closed_in_time(victim, pytestconfig):
    count = room_for(10_000 if pytestconfig.option.long else 1_500)
    broker = victim({"handshake_timeout": "4000"}, growth_max=count * 32 * KIB + 32 * MIB, longest_s=10)
    silent = []
    try:
        started_at = time.monotonic()
        for _ in range(count):
            silent.append(socket.create_connection(broker.address, timeout=60))
        for connection in silent:
            try:
                assert connection.recv(100) == b"", "the broker speaks first"
            except ConnectionError:
                pass
        assert time.monotonic() - started_at < 100
    finally:
        for connection in silent:
            connection.close()


@pytest.mark.timeout(300)
def test_an_idle_connection_takes_at_most_20_kib(own_broker, pytestconfig):
    count = room_for(5_000)
    broker = own_broker()
    idle = []
    try:
        # The first few pay for what is made once.
        idle.extend(broker.wire(timeout=60) for _ in range(100))
        before = broker.rss_anon_bytes()
        idle.extend(broker.wire(timeout=60) for _ in range(count))
        each = (broker.rss_anon_bytes() - before) / count
        print(f"an idle connection with one channel takes {each / KIB:.1f} KiB")
        if broker.is_warren:
            assert each <= 20 * KIB, f"an idle connection takes {each / KIB:.1f} KiB"
        for wire in idle[:: count // 20]:
            wire.call(1, "basic.qos")
    finally:
        for wire in idle:
            wire.drop()


def test_memory_of_idle_connections_comes_back_for_the_next(own_broker):
    broker = own_broker()
    sizes = []
    for _ in range(4):
        wires = [broker.wire(timeout=60) for _ in range(300)]
        for wire in wires:
            wire.close()
        sizes.append(broker.rss_anon_bytes())
    assert sizes[-1] - sizes[1] < 16 * MIB, f"after each 300 connections: {[size // KIB for size in sizes]} KiB"


def test_a_client_that_never_reads_is_not_waited_for(victim):
    # Recent content may stay in memory, up to the journal's bound; the whole backlog may not.
    broker = victim(growth_max=320 * MIB)
    deaf = broker.wire(timeout=60)
    deaf.call(1, "queue.declare", queue="deaf", durable=True)
    deaf.send_method(1, "basic.consume", queue="deaf", no_ack=True)
    deaf.expect("basic.consume-ok")
    publisher = broker.wire(timeout=60)
    publisher.call(1, "confirm.select")
    body = bytes(100_000)
    # 500 MB for somebody who takes none of it: what the sockets do not hold must stay in the queue.
    for number in range(1, 5001):
        publisher.publish(1, "", "deaf", body, delivery_mode=2)
        if number % 50 == 0:
            publisher.expect_confirms(1, number - 49, number)
    assert publisher.call(1, "queue.declare", queue="deaf", passive=True).message_count > 4000
    # And when he reads at last, all is there, in order.
    for _ in range(5000):
        assert deaf.expect_message().body == body


def test_a_client_that_asks_and_never_reads_the_answers(victim):
    broker = victim(growth_max=64 * MIB)
    deaf = broker.wire(timeout=5)
    question = codec.method(1, "basic.qos") * 1000
    sent = 0
    deaf.socket.setblocking(False)
    deadline = time.monotonic() + 5
    while sent < 200 * MIB and time.monotonic() < deadline:
        try:
            sent += deaf.socket.send(question)
        except BlockingIOError:
            # The answers fill both sockets' buffers, and the broker has stopped to read. It may go on if it likes.
            select.select([], [deaf.socket], [], 0.2)
        except ConnectionError:
            break
    deaf.drop()


def test_returns_for_a_client_that_never_reads(victim):
    broker = victim(growth_max=96 * MIB)
    deaf = broker.wire(timeout=5)
    returned = codec.publish(1, "", "nowhere", bytes(50_000), mandatory=True)
    deaf.socket.settimeout(3)
    try:
        for _ in range(4000):
            deaf.send(returned)
    except (TimeoutError, ConnectionError):
        pass
    deaf.drop()


def test_a_crowd_that_comes_and_goes(victim):
    broker = victim(growth_max=64 * MIB)

    def visit():
        for _ in range(60):
            try:
                wire = broker.wire(timeout=60, channels=3)
                wire.call(2, "queue.declare", exclusive=True)
                wire.send_method(3, "basic.consume", queue="amq.rabbitmq.reply-to", no_ack=True)
                wire.drop()
            except (Closed, Timeout, OSError) as fault:
                faults.append(fault)

    faults: list = []
    threads = [threading.Thread(target=visit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


@pytest.mark.warren_only("a peer is started by a script of its own")
def test_running_out_of_files_is_refused_clearly_and_survived(victim):
    broker = victim(files_max=128)
    with broker.wire() as wire:
        wire.call(1, "queue.declare", queue="lasting", durable=True)
    open_wires, refused = [], 0
    for _ in range(200):
        try:
            open_wires.append(broker.wire(timeout=20))
        except (Closed, ConnectionError):
            refused += 1
        except Timeout:
            pytest.fail("a connection for which there is no file waits instead of being refused")
    assert refused > 0 and len(open_wires) > 20, (refused, len(open_wires))
    assert "file" in broker.log().lower(), broker.log_tail()
    # Those who are in are served, and the store has the files it needs.
    wire = open_wires[0]
    wire.call(1, "confirm.select")
    for number in range(1, 101):
        wire.publish(1, "", "lasting", bytes(10_000), delivery_mode=2)
        wire.expect_confirms(1, number, number)
    for each in open_wires[1:]:
        each.drop()
    # And there is room again for others.
    deadline = time.monotonic() + 20
    while True:
        try:
            with Wire(broker.address, timeout=20) as again:
                again.handshake()
                break
        except (Closed, ConnectionError):
            assert time.monotonic() < deadline, "nobody is let in again"
