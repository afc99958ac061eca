"""What publishers without confirms say while the upstream is away is kept, and arrives in order when it is back."""

import os
import signal
import threading

import pytest
from blackbox.management import segment
from blackbox.proxy import eventually
from blackbox.relay import Relay

LONG_S = 30


@pytest.fixture
def spooling(own_proxy, tmp_path):
    """Starts a proxy with a spool."""

    def start(broker, settings=None, **how):
        of_spool = {"proxy.spool.dir": str(tmp_path / "spool"), "proxy.spool.start_after": "200ms"}
        return own_proxy({"a": broker}, of_spool | (settings or {}), **how)

    return start


def declare(broker, name):
    """A queue that survives a kill: a purge is answered when all before it does."""
    with broker.wire() as wire:
        queue = wire.call(1, "queue.declare", queue=name(), durable=True).queue
        wire.call(1, "queue.purge", queue=queue)
        return queue


def publish_and_go(proxy, queue, bodies, **how):
    """As a script does: a connection for a few messages."""
    with proxy.wire(**how) as wire:
        for body in bodies:
            wire.publish(1, "", queue, body, delivery_mode=2)
        wire.close()


def get(wire, queue):
    """The body of the next message; None if there is none."""
    wire.send_method(1, "basic.get", queue=queue, no_ack=True)
    return wire.expect_message("basic.get-ok").body


def bodies_in(wire, queue, count):
    wire.wait_count(1, queue, count)
    return [get(wire, queue) for _ in range(count)]


def is_sent_on(proxy):
    spool = proxy.get("/spool")
    return spool["messages"] == 0 and spool


def test_what_is_published_while_the_upstream_is_away_arrives_in_order(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker)
    wire = wires(proxy)
    queue = declare(broker, name)
    broker.kill()
    proxy.await_state("a", "down")
    numbers = iter(range(1000))
    # Of short connections, and of one that stays.
    for _ in range(20):
        publish_and_go(proxy, queue, [b"%d" % next(numbers) for _ in range(3)])
        wire.publish(1, "", queue, b"%d" % next(numbers), delivery_mode=2)
        eventually(lambda: proxy.get("/spool")["kept"] % 4 == 0, "it is kept")
    assert proxy.text("/readyz") == "OK", "publishers are served"
    spool = proxy.get("/spool")
    assert (spool["enabled"], spool["messages"], spool["kept"], spool["sent_on"]) == (True, 80, 80, 0)
    assert [(shelf["vhost"], shelf["messages"], shelf["state"]) for shelf in spool["shelves"]] == [("/", 80, "waiting")]
    assert proxy.metric("warren_proxy_spool_messages") == 80
    assert proxy.metric("warren_proxy_spool_bytes") == spool["bytes"] > 80 * 20
    broker.start()
    spool = eventually(lambda: is_sent_on(proxy), "all is sent on")
    assert (spool["sent_on"], spool["refused"], spool["shelves"]) == (80, 0, [])
    eventually(lambda: not any(pool["away"] for pool in proxy.get("/pools")), "its line is there, too")
    publish_and_go(proxy, queue, [b"80"])
    assert bodies_in(wire, queue, 81) == [b"%d" % number for number in range(81)]
    assert proxy.get("/spool")["kept"] == 80, "what comes later goes straight on"


def test_what_is_kept_survives_a_kill_of_the_proxy_and_is_sent_when_its_user_is_back(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker)
    queue = declare(broker, name)
    wires(proxy)
    broker.kill()
    proxy.await_state("a", "down")
    publish_and_go(proxy, queue, [b"%d" % number for number in range(200)])
    eventually(lambda: proxy.get("/spool")["kept"] == 200 and proxy.get("/spool")["unwritten_bytes"] == 0, "it is kept and written")
    proxy.kill()
    broker.start()
    proxy.start()
    spool = proxy.get("/spool")
    assert (spool["messages"], spool["kept"], spool["shelves"][0]["state"]) == (200, 0, "waiting")
    # Whoever comes as that user: what it says goes behind what is there.
    publish_and_go(proxy, queue, [b"200"])
    eventually(lambda: is_sent_on(proxy), "all is sent on")
    assert bodies_in(wires(proxy), queue, 201) == [b"%d" % number for number in range(201)]


def test_no_secret_is_on_disk(own_broker, spooling, wires, name, tmp_path):
    broker = own_broker(management=True)
    made, secret = name("user"), "a-secret-that-nobody-writes-down"
    broker.management.put(f"/users/{segment(made)}", {"password": secret, "tags": ""}).expect(201)
    broker.management.put(f"/permissions/%2F/{segment(made)}", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201)
    proxy = spooling(broker)
    wire = wires(proxy, user=made, password=secret)
    queue = declare(broker, name)
    broker.kill()
    proxy.await_state("a", "down")
    publish_and_go(proxy, queue, [b"a body to be found"], user=made, password=secret)
    eventually(lambda: proxy.get("/spool")["messages"] == 1, "it is kept")
    proxy.stop()
    files = [path.read_bytes() for path in (tmp_path / "spool").rglob("*") if path.is_file()]
    assert any(b"a body to be found" in file for file in files)
    assert not any(secret.encode() in file for file in files)
    assert secret not in proxy.log()


def test_who_asked_for_confirms_is_not_kept(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker, {"proxy.upstream_connections.wait_timeout": "2s", "proxy.connect_timeout": "500ms"})
    wire = wires(proxy)
    queue = declare(broker, name)
    wire.call(1, "confirm.select")
    broker.kill()
    proxy.await_state("a", "down")
    wire.publish(1, "", queue, b"to be confirmed", delivery_mode=2)
    wire.expect_connection_error(320, "CONNECTION_FORCED - no upstream connection within 2 s: …")
    assert proxy.get("/spool")["kept"] == 0


def test_a_channel_that_was_kept_says_nothing_else_before_it_is_sent_on(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker)
    wire = wires(proxy)
    queue = declare(broker, name)
    broker.kill()
    proxy.await_state("a", "down")
    wire.publish(1, "", queue, b"first", delivery_mode=2)
    eventually(lambda: proxy.get("/spool")["messages"] == 1, "it is kept")
    wire.send_method(1, "confirm.select")
    wire.publish(1, "", queue, b"second", delivery_mode=2)
    wire.send_method(1, "basic.get", queue=queue, no_ack=True)
    broker.start()
    wire.expect("confirm.select-ok", 1)
    wire.expect_confirms(1, 1, 1)
    assert wire.expect_message("basic.get-ok").body == b"first"
    assert bodies_in(wire, queue, 1) == [b"second"]


def test_a_full_spool_has_publishers_wait_and_then_go(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker, {"proxy.spool.size_max": "1MiB", "proxy.upstream_connections.wait_timeout": "2s", "proxy.connect_timeout": "500ms"})
    wire = wires(proxy)
    queue = declare(broker, name)
    broker.kill()
    proxy.await_state("a", "down")
    for number in range(20):
        wire.publish(1, "", queue, b"%02d" % number * 50_000, delivery_mode=2)
    wire.expect_connection_error(320, "CONNECTION_FORCED - the spool is full, and no upstream connection was available within 2 s: …")
    spool = proxy.get("/spool")
    assert spool["messages"] == 10 and spool["bytes"] <= spool["bytes_max"] == 1 << 20 and spool["full"] > 0
    broker.start()
    eventually(lambda: is_sent_on(proxy), "all is sent on")
    assert bodies_in(wires(proxy), queue, 10) == [b"%02d" % number * 50_000 for number in range(10)]


def test_what_the_upstream_refuses_is_dropped_and_the_rest_arrives(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker)
    wire = wires(proxy)
    queue = declare(broker, name)
    broker.kill()
    proxy.await_state("a", "down")
    for number in range(50):
        wire.publish(1, "" if number not in (7, 8, 31) else name("missing"), queue, b"%d" % number, delivery_mode=2)
    eventually(lambda: proxy.get("/spool")["messages"] == 50, "it is kept")
    broker.start()
    spool = eventually(lambda: is_sent_on(proxy), "all is sent on")
    assert spool["refused"] == 3
    # What was not confirmed when the channel was closed may have come twice.
    count = wire.call(1, "queue.declare", queue=queue, passive=True).message_count
    arrived = [int(body) for body in bodies_in(wire, queue, count)]
    assert sorted(set(arrived)) == [number for number in range(50) if number not in (7, 8, 31)]
    assert arrived[-1] == 49
    proxy.await_log("stored messages refused and dropped")


class Inspector(Relay):
    """A way to a broker on which every connection ends that says something dreadful."""

    def __init__(self, broker, dreadful):
        self.dreadful = dreadful
        super().__init__((broker.host, broker.port))
        self.url = f"amqp://127.0.0.1:{self.port}"

    def is_end(self, here, said):
        return self.dreadful in said


class Muffler(Inspector):
    """A way to a broker on which nothing comes back any more once something dreadful was said, until it is let go."""

    def __init__(self, broker, dreadful):
        self.muffled, self.let_go, self.silenced = threading.Event(), threading.Event(), set()
        super().__init__(broker, dreadful)

    def heard(self, here, there):
        is_held = here in self.silenced and not self.let_go.is_set()
        return [here] if is_held else [here, there]

    def is_end(self, here, said):
        if self.dreadful in said:
            self.silenced.add(here)
            self.muffled.set()
        return False


@pytest.fixture
def inspected():
    """Starts inspectors."""
    started = []

    def start(broker, dreadful, kind=Inspector):
        started.append(kind(broker, dreadful))
        return started[-1]

    yield start
    for inspector in started:
        inspector.close()


def test_a_message_for_which_connections_are_lost_is_found_by_an_operator_and_dropped(own_broker, spooling, wires, name, inspected):
    broker = own_broker()
    proxy = spooling(inspected(broker, b"dreadful").url)
    wire = wires(proxy)
    queue = declare(broker, name)
    broker.kill()
    proxy.await_state("a", "down")
    for number in range(20):
        wire.publish(1, "", queue, b"dreadful" if number == 7 else b"%d" % number, delivery_mode=2)
    eventually(lambda: proxy.get("/spool")["kept"] == 20, "it is kept")
    broker.start()
    # While it is tried again there is no error of the time before.
    is_lost = lambda spool: spool["messages"] == 13 and "lost" in (spool["shelves"][0]["last_error"] or "")
    spool = eventually(lambda: is_lost(spool := proxy.get("/spool")) and spool, "what is before it is sent on")
    assert spool["sent_on"] == 7
    shelf = f"/spool/{segment(broker.user)}/%2F"
    first = eventually(lambda: (found := proxy.operations.get(shelf + "/first")).status == 200 and found.json, "it waits")
    assert first.pop("age_s") < 60
    assert first == {"exchange": "", "routing_key": queue, "body_bytes": 8}
    eventually(lambda: proxy.operations.delete(shelf + "/first").status == 200, "it is dropped")
    spool = eventually(lambda: is_sent_on(proxy), "all is sent on")
    assert (spool["sent_on"], spool["dropped"], spool["refused"]) == (19, 1, 0)
    with broker.wire() as direct:
        count = direct.call(1, "queue.declare", queue=queue, passive=True).message_count
        # What was not confirmed when a connection was lost may have come twice.
        assert {int(body) for body in bodies_in(direct, queue, count)} == set(range(20)) - {7}


def test_what_is_kept_goes_to_who_serves_the_vhost_after_sighup(broker, own_broker, configured, inspected, wires, name, tmp_path):
    old, count = own_broker(), 3000
    way = inspected(old, b"dreadful", Muffler)
    proxy = configured({"a": way.url}, {"proxy.spool.dir": str(tmp_path / "spool"), "proxy.spool.start_after": "200ms"})
    wire = wires(proxy)
    queue = declare(old, name)
    with broker.wire() as direct:
        direct.call(1, "queue.declare", queue=queue, durable=True)
    old.kill()
    proxy.await_state("a", "down")
    for number in range(count):
        wire.publish(1, "", queue, b"dreadful %d" % number, delivery_mode=2)
    eventually(lambda: proxy.get("/spool")["kept"] == count, "it is kept")
    old.start()
    # A window of it is under way, and nothing is confirmed.
    assert way.muffled.wait(LONG_S)
    configured.reload(proxy, {**proxy.settings, "proxy.upstreams.b.url": f"amqp://127.0.0.1:{broker.port}", "proxy.upstreams.b.vhosts.1": "/"})
    way.let_go.set()
    spool = eventually(lambda: is_sent_on(proxy), "all is sent on")
    assert (spool["sent_on"], spool["dropped"], spool["refused"]) == (count, 0, 0)
    with old.wire() as there, broker.wire() as here:
        counts = [side.call(1, "queue.declare", queue=queue, passive=True).message_count for side in (there, here)]
    assert sum(counts) == count and 0 < counts[0] <= 1024, counts


def test_what_is_kept_of_a_user_is_dropped_when_an_operator_asks_for_it(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker)
    queue = declare(broker, name)
    wires(proxy)
    broker.kill()
    proxy.await_state("a", "down")
    publish_and_go(proxy, queue, [b"0", b"1"])
    eventually(lambda: proxy.get("/spool")["messages"] == 2, "it is kept")
    shelf, operations = f"/spool/{segment(broker.user)}/%2F", proxy.operations
    assert operations.get(shelf).status == operations.put(shelf + "/first").status == 405
    assert operations.delete("/spool/nobody/%2F").expect(404).body == b"no messages of user 'nobody' for vhost '/' are stored"
    assert operations.delete("/spool/too/many/names").status == 404
    assert operations.delete(shelf).expect(200).json == {"dropped": 2}
    assert operations.delete(shelf).status == operations.get(shelf + "/first").status == 404
    assert (proxy.get("/spool")["messages"], proxy.metric("warren_proxy_spool_dropped_total")) == (0, 2)
    proxy.await_log("stored messages dropped")
    broker.start()
    publish_and_go(proxy, queue, [b"2"])
    assert bodies_in(wires(proxy), queue, 1) == [b"2"]


def test_a_login_that_was_never_seen_is_not_believed(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker, {"proxy.upstream_connections.wait_timeout": "2s", "proxy.connect_timeout": "500ms", "proxy.login_cache_ttl": "1ms"})
    queue = declare(broker, name)
    wires(proxy)
    broker.kill()
    proxy.await_state("a", "down")
    publish_and_go(proxy, queue, [b"x"])
    with pytest.raises(AssertionError):
        proxy.wire(password="wrong", timeout=LONG_S)
    assert proxy.get("/spool")["kept"] == 1


def test_it_is_off_unless_a_folder_is_named(proxy):
    assert proxy.get("/spool") == {"enabled": False}
    assert "warren_proxy_spool" not in proxy.text("/metrics")


def test_a_folder_that_cannot_be_used_is_told(own_proxy, broker, tmp_path):
    (tmp_path / "file").write_text("")
    proxy = own_proxy({"a": broker}, {"proxy.spool.dir": str(tmp_path / "file")}, wait=False)
    assert proxy.wait_ended() == 1
    assert f"cannot open the spool in '{tmp_path / 'file'}'" in proxy.log()


def test_a_proxy_that_is_stopped_leaves_what_was_kept(own_broker, spooling, wires, name):
    broker = own_broker()
    proxy = spooling(broker)
    queue = declare(broker, name)
    wires(proxy)
    broker.kill()
    proxy.await_state("a", "down")
    publish_and_go(proxy, queue, [b"0", b"1"])
    eventually(lambda: proxy.get("/spool")["messages"] == 2, "it is kept")
    os.kill(proxy.pid, signal.SIGTERM)
    assert proxy.wait_ended() == 0
    proxy.start()
    assert proxy.get("/spool")["messages"] == 2
    proxy.await_log("stored messages found that could not be sent before")
