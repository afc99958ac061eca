"""What operators change of the running broker, which RabbitMQ's HTTP API cannot: limits, the log's level, listeners."""

import re
import socket
import time

import pytest
from blackbox import broker as brokers
from blackbox.certificates import Authority
from test_websocket import Refused, WebSocketWire

CHANGES = [
    ("PUT", "/warren/memory-limit", {"absolute": "900GB"}),
    ("PUT", "/warren/disk-free-limit", {"absolute": "50MB"}),
    ("PUT", "/warren/log-level", {"level": "info"}),
    ("POST", "/warren/listeners/suspend", None),
    ("POST", "/warren/listeners/resume", None),
]


@pytest.fixture(scope="module")
def own_broker(pytestconfig, tmp_path_factory):
    """A broker of this file's own, which listens with TLS and at a path, too."""
    directory, port = tmp_path_factory.mktemp("process"), brokers.free_port()
    server = Authority(directory).sign("server", "/CN=localhost")
    settings = {
        "listeners.ssl.default": f"127.0.0.1:{port}",
        "ssl_options.certfile": str(server.certificate),
        "ssl_options.keyfile": str(server.key),
        "warren.listeners.unix.local": str(directory / "amqp.sock"),
    }
    broker = brokers.from_options(pytestconfig.option, settings, management=True)
    if not isinstance(broker, brokers.Warren):
        pytest.skip("RabbitMQ's HTTP API cannot, and somebody else's broker is left as it is")
    broker.addresses = [(broker.host, broker.port), (broker.host, port), settings["warren.listeners.unix.local"]]
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


def call(management, method, path, body):
    return management.call(method, path, body) if body is not None else management.call(method, path)


def connects(address) -> bool:
    """Whether the broker takes a connection, rather than refusing it or closing it at once. One with TLS says then that this is none."""
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    with socket.socket(family) as client:
        client.settimeout(10)
        try:
            client.connect(address)
            client.sendall(b"AMQP\0\0\x09\x01")
            return bool(client.recv(1))
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            return False


def test_only_administrators_change_it(own_broker):
    own_broker.management.put("/users/mona", {"password": "mona", "tags": "monitoring"}).expect(201, 204)
    for change in CHANGES:
        assert call(own_broker.management.as_user(None), *change).status == 401, change
        assert call(own_broker.management.as_user("mona", "mona"), *change).status == 401, change
        assert call(own_broker.management, *change).status == 204, change


def test_a_limit_is_in_force_when_it_is_answered_and_seen_everywhere(own_broker):
    management = own_broker.management

    def check(limit: str, gauge: str, resource: str, alarm: str, worst, best) -> None:
        management.put(f"/warren/{limit}", {"absolute": worst}).expect(204)
        node = management.get("/nodes").expect(200).json[0]
        assert (node[gauge], node[alarm]) == (worst, True)
        assert management.get("/health/checks/alarms").expect(503).json["alarms"][0]["resource"] == resource
        management.put(f"/warren/{limit}", {"absolute": best}).expect(204)
        assert management.get("/health/checks/alarms").status == 200

    check("memory-limit", "mem_limit", "memory", "mem_alarm", 1, 10**15)
    check("disk-free-limit", "disk_free_limit", "disk", "disk_free_alarm", 10**18, 1)
    management.put("/warren/memory-limit", {"relative": 0.5}).expect(204)
    half = management.get("/nodes").json[0]["mem_limit"]
    management.put("/warren/memory-limit", {"relative": 1}).expect(204)
    assert abs(management.get("/nodes").json[0]["mem_limit"] - 2 * half) <= 1
    # What is refused changes nothing.
    for body in ({"relative": 1.1}, {"absolute": "2xB"}, {"absolute": -1}, {}, {"relative": 0.1, "absolute": 1}):
        assert management.put("/warren/memory-limit", body).expect(400).json["error"] == "bad_request"
    assert abs(management.get("/nodes").json[0]["mem_limit"] - 2 * half) <= 1


def test_a_publisher_is_told_of_a_limit_at_once(own_broker):
    with own_broker.wire() as publisher:
        publisher.call(1, "queue.declare", queue="q")
        publisher.call(1, "confirm.select")
        own_broker.management.put("/warren/memory-limit", {"relative": 0}).expect(204)
        publisher.publish(1, "", "q", b"held")
        assert "low on memory" in publisher.expect("connection.blocked").reason
        own_broker.management.put("/warren/memory-limit", {"relative": 1}).expect(204)
        publisher.expect("connection.unblocked")
        publisher.expect("basic.ack")
        publisher.call(1, "queue.delete", queue="q")


def test_the_log_follows_its_level(own_broker):
    def told(level: str, user: str) -> bool:
        own_broker.management.put("/warren/log-level", {"level": level}).expect(204)
        assert own_broker.management.as_user(user, "wrong").get("/whoami").status == 401
        return user in own_broker.log()

    assert told("info", "seen-at-info")
    assert not told("none", "never-seen")
    assert told("debug", "seen-at-debug")
    own_broker.management.put("/warren/log-level", {"level": "info"}).expect(204)
    assert re.search(r"log level changed.*none", own_broker.log())
    assert "loud is not supported" in own_broker.management.put("/warren/log-level", {"level": "loud"}).expect(400).reason


def test_suspended_listeners_refuse_who_comes_and_leave_who_is_there(own_broker):
    management = own_broker.management
    before, web = own_broker.wire(), WebSocketWire(own_broker.management.address)
    web.handshake()
    try:
        for _ in range(2):
            management.post("/warren/listeners/suspend").expect(204)
            assert [address for address in own_broker.addresses if connects(address)] == []
        with pytest.raises(Refused, match="503"):
            WebSocketWire(own_broker.management.address)
        for check in (f"port-listener/{own_broker.port}", "protocol-listener/amqp", "protocol-listener/amqps", "ready-to-serve-clients"):
            assert management.get(f"/health/checks/{check}").expect(503).json["status"] == "failed"
        assert management.get("/health/checks/protocol-listener/http").status == 200
        before.call(1, "queue.declare", queue="mine", exclusive=True)
        web.call(1, "channel.open")
    finally:
        management.post("/warren/listeners/resume").expect(204)
    assert management.get(f"/health/checks/port-listener/{own_broker.port}").status == 200
    assert [address for address in own_broker.addresses if connects(address)] == own_broker.addresses
    WebSocketWire(own_broker.management.address).drop()
    before.close()
    web.close()


def test_a_broker_stops_and_starts_whatever_was_changed(own_broker):
    own_broker.management.put("/warren/disk-free-limit", {"absolute": 7}).expect(204)
    own_broker.management.post("/warren/listeners/suspend").expect(204)
    began = time.monotonic()
    own_broker.terminate()
    assert own_broker.wait_ended() == 0
    assert time.monotonic() - began < 10
    own_broker.start()
    assert [address for address in own_broker.addresses if connects(address)] == own_broker.addresses
    assert own_broker.management.get("/nodes").json[0]["disk_free_limit"] == 50_000_000


def test_an_address_cannot_take_all_connections_of_http(pytestconfig):
    broker = brokers.from_options(pytestconfig.option, {"warren.http.max_connections_per_address": "3"}, management=True)
    if not isinstance(broker, brokers.Warren):
        pytest.skip("RabbitMQ has no such limit")
    address = (broker.host, broker.management_port)

    def answers(client: socket.socket) -> bool:
        try:
            client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            return bool(client.recv(1))
        except (ConnectionResetError, BrokenPipeError):
            return False

    def come(source: str) -> socket.socket:
        return socket.create_connection(address, timeout=10, source_address=(source, 0))

    try:
        broker.start()
        inside = [come("127.0.0.2") for _ in range(3)]
        assert all(answers(client) for client in inside)
        with come("127.0.0.2") as one_more, come("127.0.0.3") as other:
            assert not answers(one_more) and answers(other)
        inside.pop().close()
        deadline = time.monotonic() + 10
        is_let_in = False
        while not is_let_in and time.monotonic() < deadline:
            with come("127.0.0.2") as next_one:
                is_let_in = answers(next_one)
        assert is_let_in
        for client in inside:
            client.close()
    finally:
        broker.remove()
