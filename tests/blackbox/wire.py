"""A blocking AMQP connection that hides nothing: every frame is sent and seen as it is.

It never answers by itself, except where a call says so (`open`, `close`), sends no heartbeats, and raises `Timeout` rather than wait
for ever. Libraries are tested as libraries; this is for what they cannot say.
"""

import select
import socket
import struct
import time
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from . import codec
from .codec import ContentHeader, Frame, Method

CAPABILITIES = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}


class Timeout(AssertionError):
    """Nothing came in the time allowed."""


class Closed(AssertionError):
    """The broker ended the TCP connection."""


class Torn(AssertionError):
    """The TCP connection ended inside a frame."""


class Message(NamedTuple):
    """A delivery, a get-ok or a return with its content."""

    method: Method
    properties: dict
    body: bytes


class Wire:
    """One TCP connection to a broker, or one to a Unix-domain socket where the address is a path."""

    def __init__(self, address: tuple[str, int] | str, timeout: float = 10.0, preface: bytes = b""):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address, timeout=timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()
        self.frame_max = 131072
        self.tune: Method | None = None
        self.server_properties: dict = {}
        if preface:
            self.send(preface)

    @property
    def name(self) -> str:
        """What the broker calls this connection in its listings."""
        here, there = self.socket.getsockname(), self.socket.getpeername()
        return f"{here[0]}:{here[1]} -> {there[0]}:{there[1]}"

    # -- opening and closing

    @classmethod
    def open(cls, address, *, timeout: float = 10.0, channels: int = 1, preface: bytes = b"", **how: Any) -> "Wire":
        """A connection ready for use with channels 1 to `channels` open."""
        wire = cls(address, timeout, preface)
        try:
            wire.handshake(**how)
            for channel in range(1, channels + 1):
                wire.call(channel, "channel.open")
        except BaseException:
            wire.drop()
            raise
        return wire

    def handshake(self, *, user="guest", password="guest", virtual_host="/", channel_max=2047, frame_max=131072, heartbeat=0, capabilities=None, properties=None) -> None:
        """From the protocol header to connection.open-ok."""
        self.login(user=user, password=password, capabilities=capabilities, properties=properties)
        self.tune = self.expect("connection.tune")
        self.send_method(0, "connection.tune-ok", channel_max=channel_max, frame_max=frame_max, heartbeat=heartbeat)
        self.frame_max = frame_max or 131072
        self.send_method(0, "connection.open", virtual_host=virtual_host)
        self.expect("connection.open-ok")

    def login(self, *, user="guest", password="guest", capabilities=None, mechanism="PLAIN", response=None, properties=None) -> Method:
        """Protocol header, start, start-ok; what comes next is the caller's to read."""
        self.send(codec.PROTOCOL_HEADER)
        start = self.expect("connection.start")
        self.server_properties = start.server_properties
        known = CAPABILITIES if capabilities is None else capabilities
        plain = b"\x00" + user.encode() + b"\x00" + password.encode()
        self.send_method(
            0,
            "connection.start-ok",
            client_properties={"product": "warren-tests", "capabilities": known, **(properties or {})},
            mechanism=mechanism,
            response=plain if response is None else response,
            locale="en_US",
        )
        return start

    def close(self) -> None:
        """The polite end: close, close-ok, end of file."""
        self.send_method(0, "connection.close", reply_code=200, reply_text="bye")
        while True:
            frame = self.read_frame()
            if frame is None:
                break
            if frame.kind == codec.METHOD and codec.decode_method(frame.channel, frame.payload).name == "connection.close-ok":
                break
        self.drop()

    def drop(self) -> None:
        """Closes the socket without a word."""
        self.socket.close()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    # -- sending

    def send(self, data: bytes) -> None:
        """Raw bytes."""
        self.socket.sendall(data)

    def send_method(self, channel: int, name: str, **arguments: Any) -> None:
        """One method frame."""
        self.send(codec.method(channel, name, **arguments))

    def publish(self, channel: int, exchange: str, routing_key: str, body: bytes = b"", **how: Any) -> None:
        """basic.publish and its content, in one write."""
        self.send(codec.publish(channel, exchange, routing_key, body, **how))

    def call(self, channel: int, name: str, **arguments: Any) -> Method:
        """Sends a synchronous method and expects its `-ok`."""
        self.send_method(channel, name, **arguments)
        return self.expect(name + "-ok", channel)

    # -- receiving

    def read_frame(self) -> Frame | None:
        """The next frame, or None at the end of the stream."""
        while True:
            if len(self.received) >= 7:
                kind, channel, length = struct.unpack_from(">BHI", self.received)
                if self.received[:4] == b"AMQP":
                    raise Closed(f"the broker answered with a protocol header: {bytes(self.received[:8])!r}")
                if len(self.received) >= length + 8:
                    assert self.received[length + 7] == codec.FRAME_END, "a frame from the broker does not end with 0xCE"
                    payload = bytes(self.received[7 : length + 7])
                    del self.received[: length + 8]
                    return Frame(kind, channel, payload)
            data = self._receive()
            if not data:
                if self.received:
                    raise Torn(f"the stream ended inside a frame: {bytes(self.received[:100])!r}")
                return None
            self.received += data

    def is_readable(self, timeout_s: float = 0.0) -> bool:
        """Whether a frame, or a part of one, is there to be read."""
        if len(self.received) >= 7 and len(self.received) >= int.from_bytes(self.received[3:7]) + 8:
            return True
        return bool(select.select([self.socket], [], [], timeout_s)[0])

    def _receive(self) -> bytes:
        try:
            return self.socket.recv(1 << 16)
        except TimeoutError:
            raise Timeout(f"nothing came within {self.socket.gettimeout()} s") from None
        except ConnectionError:
            return b""

    def read(self) -> Method | ContentHeader | bytes:
        """The next frame that is not a heartbeat, decoded: a method, a content header, or body bytes."""
        while True:
            frame = self.read_frame()
            if frame is None:
                raise Closed("the broker closed the TCP connection")
            if frame.kind == codec.METHOD:
                return codec.decode_method(frame.channel, frame.payload)
            if frame.kind == codec.HEADER:
                return codec.decode_header(frame.payload)
            if frame.kind == codec.BODY:
                return frame.payload

    def expect(self, name: str, channel: int | None = None) -> Method:
        """The next frame, which must be the method `name`."""
        got = self.expect_one_of(name)
        assert channel is None or got.channel == channel, f"expected {name} on channel {channel}, got {got!r}"
        return got

    def expect_one_of(self, *names: str) -> Method:
        """The next frame, which must be one of these methods."""
        got = self.read()
        assert isinstance(got, Method), f"expected {' or '.join(names)}, got content {got!r}"
        assert got.name in names, f"expected {' or '.join(names)}, got {got!r}"
        return got

    def expect_message(self, name: str = "basic.deliver") -> Message:
        """The next frames, which must be that method with its content."""
        method = self.expect(name)
        header = self.read()
        assert isinstance(header, ContentHeader), f"expected a content header, got {header!r}"
        body = bytearray()
        while len(body) < header.body_len:
            piece = self.read()
            assert isinstance(piece, bytes), f"expected body, got {piece!r}"
            body += piece
        return Message(method, header.properties, bytes(body))

    def get(self, channel: int, queue: str, no_ack: bool = True) -> Message | None:
        """The next message of a queue, taken unless it is to be acked, or None. Its body is in one frame."""
        self.send_method(channel, "basic.get", queue=queue, no_ack=no_ack)
        method = self.expect_one_of("basic.get-ok", "basic.get-empty")
        if method.name == "basic.get-empty":
            return None
        return Message(method, self.read().properties, self.read())

    def expect_channel_error(self, channel: int, code: int | None, text: str | None = None, failing: str | None = None) -> Method:
        """channel.close with that code and text (its beginning, if it ends in …); answered, and the connection must go on."""
        close = self.expect("channel.close", channel)
        _check_close(close, code, text, failing)
        self.send_method(channel, "channel.close-ok")
        self.call(channel, "channel.open")
        return close

    def expect_connection_error(self, code: int, text: str | None = None, failing: str | None = None) -> Method:
        """connection.close with that code and text (its beginning, if it ends in …); answered, and the TCP connection must end."""
        close = self.expect("connection.close")
        _check_close(close, code, text, failing)
        self.answer_close()
        self.expect_end()
        return close

    def expect_end(self) -> None:
        """The end of the stream, heartbeats aside, and nothing else."""
        while (frame := self.read_frame()) is not None:
            assert frame.kind == codec.HEARTBEAT, f"expected the end of the stream, got {frame!r}"

    def expect_confirms(self, channel: int, first: int, last: int) -> None:
        """Acks until every publish from `first` to `last` is confirmed; none may be confirmed twice."""
        confirmed: set[int] = set()
        while len(confirmed) <= last - first:
            ack = self.expect("basic.ack", channel)
            tags = {ack.delivery_tag}
            if ack.multiple:
                tags = {tag for tag in range(first, ack.delivery_tag + 1) if tag not in confirmed}
            assert tags and not tags & confirmed, f"{ack} confirms again what was confirmed"
            confirmed |= tags
        assert confirmed == set(range(first, last + 1))

    def answer_close(self) -> None:
        """close-ok to a connection.close, if the broker still listens."""
        with suppress(ConnectionError):
            self.send_method(0, "connection.close-ok")

    def expect_silence(self, channel: int) -> None:
        """Nothing is under way on this channel: a synchronous method's answer is the next thing to come."""
        self.call(channel, "basic.qos", prefetch_count=0)

    def wait_count(self, channel: int, queue: str, ready: int) -> Method:
        """Until so many messages are ready: in RabbitMQ a passive declare may overtake publishes of its own channel."""
        deadline = time.monotonic() + 10
        while (got := self.call(channel, "queue.declare", queue=queue, passive=True)).message_count != ready:
            assert time.monotonic() < deadline, f"queue {queue} should have {ready} messages ready and has {got.message_count}"
        return got

    @contextmanager
    def patience(self, seconds: float):
        """Another time-out for a while."""
        before = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        try:
            yield
        finally:
            self.socket.settimeout(before)


def _check_close(close: Method, code: int | None, text: str | None, failing: str | None) -> None:
    assert code is None or close.reply_code == code, f"expected {code}, got {close!r}"
    if text is not None:
        is_right = close.reply_text.startswith(text[:-1]) if text.endswith("…") else close.reply_text == text
        assert is_right, f"expected the text {text!r}, got {close.reply_text!r}"
    if failing is not None:
        assert (close.failing_class, close.failing_method) == codec.ids(failing), f"expected {failing} as the failing method, got {close!r}"
