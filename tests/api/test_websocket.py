"""AMQP over a WebSocket on the management port, as browsers speak it (RFC 6455)."""

import base64
import hashlib
import os
import socket
import struct

import pytest
from blackbox import broker as brokers
from blackbox.wire import Wire

KEY = base64.b64encode(bytes(range(16))).decode()
ACCEPT = base64.b64encode(hashlib.sha1(f"{KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
BINARY, CLOSE = 0x82, 0x88


class Refused(Exception):
    """The server did not switch protocols."""


class WebSocketWire(Wire):
    """One connection whose bytes travel in binary messages."""

    def __init__(self, address, *headers: str):
        super().__init__(address)
        self.frames = bytearray()
        lines = ["GET /ws HTTP/1.1", f"Host: {address[0]}:{address[1]}", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
        self.socket.sendall("\r\n".join([*lines, f"Sec-WebSocket-Key: {KEY}", *headers, "", ""]).encode())
        while b"\r\n\r\n" not in self.frames:
            self._fill()
        self.head, rest = bytes(self.frames).decode("latin1").split("\r\n\r\n", 1)
        if not self.head.startswith("HTTP/1.1 101 "):
            self.drop()
            raise Refused(self.head.split(" ")[1])
        self.frames = bytearray(rest.encode("latin1"))

    def send(self, data: bytes) -> None:
        mask = os.urandom(4)
        # In pieces that have nothing to do with AMQP's frames.
        for piece in (data[:3], data[3:]):
            length = struct.pack("!B", 0x80 | len(piece)) if len(piece) < 126 else struct.pack("!BQ", 0x80 | 127, len(piece))
            masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(piece))
            self.socket.sendall(bytes([BINARY]) + length + mask + masked)

    def _receive(self) -> bytes:
        while (frame := self._take_frame()) is None:
            if not self._fill():
                return b""
        kind, payload = frame
        return b"" if kind == CLOSE else payload

    def _take_frame(self) -> tuple[int, bytes] | None:
        if len(self.frames) < 2:
            return None
        start, length = 2, self.frames[1]
        if length >= 126:
            start, form = (4, "!H") if length == 126 else (10, "!Q")
            if len(self.frames) < start:
                return None
            (length,) = struct.unpack(form, self.frames[2:start])
        if len(self.frames) < start + length:
            return None
        kind, payload = self.frames[0], bytes(self.frames[start : start + length])
        del self.frames[: start + length]
        return kind, payload

    def _fill(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self.frames += data
        return bool(data)


@pytest.fixture
def own_broker(pytestconfig):
    """A broker of this test's own, which it stops."""
    broker = brokers.from_options(pytestconfig.option, management=True)
    if not isinstance(broker, brokers.Warren):
        pytest.skip("RabbitMQ has no AMQP 0-9-1 over WebSockets, and somebody else's broker is not stopped")
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


def test_messages_come_and_go(own_broker):
    wire = WebSocketWire(own_broker.management.address, "Sec-WebSocket-Protocol: amqp")
    assert f"sec-websocket-accept: {ACCEPT}" in wire.head
    wire.handshake()
    wire.call(1, "channel.open")
    wire.call(1, "queue.declare", queue="web")
    body = bytes(range(256)) * 1000
    wire.publish(1, "", "web", body)
    wire.call(1, "basic.consume", queue="web", no_ack=True)
    assert wire.expect_message().body == body
    listed = own_broker.management.get("/connections").expect(200).json
    assert [connection["user"] for connection in listed] == ["guest"]
    wire.close()


def test_pages_of_other_origins_are_kept_out(own_broker):
    host = "{}:{}".format(*own_broker.management.address)
    WebSocketWire(own_broker.management.address, f"Origin: http://{host}").drop()
    with pytest.raises(Refused, match="403"):
        WebSocketWire(own_broker.management.address, "Origin: https://evil.example")


def test_who_is_open_when_the_broker_stops_is_told_so(own_broker):
    wire = WebSocketWire(own_broker.management.address)
    wire.handshake()
    own_broker.terminate()
    wire.expect_connection_error(320)
    assert own_broker.wait_ended() == 0
    with pytest.raises(OSError):
        socket.create_connection(own_broker.management.address, timeout=5).close()
