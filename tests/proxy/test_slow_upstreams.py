"""An upstream that takes what it is given slowly: its clients wait and lose nothing, others do not notice, and buffers stay bounded."""

import socket
import threading
from contextlib import suppress

import pytest

MIB = 1 << 20
STEP_LEN = 4096


class Narrow:
    """A way to a broker that, once it is narrow, carries a few kilobytes each way for every step that it is told to take."""

    def __init__(self, broker):
        self.broker = (broker.host, broker.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "amqp://127.0.0.1:{}".format(*self.listener.getsockname()[1:])
        self.changed = threading.Condition()
        self.is_narrow, self.steps, self.carried_len, self.streams = False, 0, 0, []
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
                there = socket.create_connection(self.broker)
            except OSError:
                return
            self.streams += [here, there]
            for side in (here, there):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, target in ((here, there), (there, here)):
                self.threads.append(threading.Thread(target=self.carry, args=(source, target), daemon=True))
                self.threads[-1].start()

    def carry(self, source, target):
        taken = 0
        try:
            while said := source.recv(STEP_LEN):
                with self.changed:
                    self.changed.wait_for(lambda: not self.is_narrow or taken < self.steps)
                    taken = self.steps if not self.is_narrow else taken + 1
                    self.carried_len += len(said)
                target.sendall(said)
        except OSError:
            pass
        finally:
            end(source)
            end(target)

    def narrow(self):
        with self.changed:
            self.is_narrow = True

    def step(self):
        with self.changed:
            self.steps += 1
            self.changed.notify_all()

    def widen(self):
        with self.changed:
            self.is_narrow = False
            self.changed.notify_all()

    def close(self):
        self.widen()
        for side in (self.listener, *self.streams):
            end(side)
        for thread in self.threads:
            thread.join(10)
        for side in (self.listener, *self.streams):
            side.close()


def end(side):
    """Wakes who waits for this socket: to close it would not."""
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def narrow(broker):
    way = Narrow(broker)
    yield way
    way.close()


@pytest.fixture
def slow_and_fast(broker, own_proxy, wires, vhost, narrow, name):
    """A proxy, a client of a vhost whose upstream is about to be slow, and one of another vhost; each has a queue and has published."""
    proxy = own_proxy(
        {"slow": narrow.url, "fast": broker},
        # Whether it is well is not the question here.
        {"proxy.upstreams.slow.vhosts.1": vhost, "proxy.health_check.interval": "0", "proxy.upstream_connections.idle_timeout": "1h"},
    )
    queue = name()
    both = [wires(proxy, virtual_host=where, channels=2, timeout=30) for where in (vhost, "/")]
    for wire in both:
        wire.call(2, "queue.declare", queue=queue, durable=True)
        wire.call(1, "confirm.select")
        wire.publish(1, "", queue, b"0")
        wire.expect_confirms(1, 1, 1)
        assert get(wire, queue) == b"0"
    narrow.narrow()
    return proxy, queue, *both


def get(wire, queue):
    wire.send_method(2, "basic.get", queue=queue, no_ack=True)
    return wire.expect_message("basic.get-ok").body


def work(wire, queue, rounds, first=2):
    """Publishes, with confirms, and gets it."""
    for tag in range(first, first + rounds):
        wire.publish(1, "", queue, b"%d" % tag)
        wire.expect_confirms(1, tag, tag)
        assert get(wire, queue) == b"%d" % tag


def test_a_slow_upstream_slows_down_nobody_on_another(slow_and_fast, narrow):
    _, queue, slow, fast = slow_and_fast
    bodies = [b"%02d" % number + bytes(20_000) for number in range(50)]
    for body in bodies:
        slow.publish(1, "", queue, body)
    before = narrow.carried_len
    for number in range(50):
        # While the fast one has done its round, the slow one has come a few kilobytes further.
        narrow.step()
        work(fast, queue, 1, 2 + number)
    carried = narrow.carried_len - before
    assert carried < len(bodies) * 20_000, "it was slow all the time"
    narrow.widen()
    slow.expect_confirms(1, 2, 1 + len(bodies))
    assert [get(slow, queue) for _ in bodies] == bodies


def test_what_waits_for_a_slow_upstream_is_bounded_and_all_of_it_arrives(broker, slow_and_fast, narrow, vhost):
    proxy, queue, slow, fast = slow_and_fast
    count, body = 400, bytes(100_000)
    before = proxy.rss_anon_bytes()

    def publish():
        for number in range(count):
            slow.publish(1, "", queue, b"%03d" % number + body)

    publisher = threading.Thread(target=publish, daemon=True)
    publisher.start()
    work(fast, queue, 100)
    assert publisher.is_alive(), "nothing more is taken from it"
    more = proxy.rss_anon_bytes() - before
    assert more < 16 * MIB, f"the proxy has taken {more / MIB:.1f} MiB"
    narrow.widen()
    slow.expect_confirms(1, 2, 1 + count)
    publisher.join(30)
    with broker.wire(virtual_host=vhost) as direct:
        for number in range(count):
            direct.send_method(1, "basic.get", queue=queue, no_ack=True)
            assert direct.expect_message("basic.get-ok").body == b"%03d" % number + body
