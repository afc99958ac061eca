"""A connection to one node that writes down all it sends and reads."""

import time
import zlib
from typing import NamedTuple

from blackbox import codec
from blackbox.codec import Method
from blackbox.wire import Closed, Timeout, Wire
from history import Acked, Confirmed, Consuming, Delivered, History, Key, Opened, Published, Queue, Refused, Rejected, Told

CONNECT_TIMEOUT_S = 1.5
HEARTBEAT_S = 1
SILENCE_MAX_S = 2.5
"""A node that says nothing for so long, heartbeats neither, is given up."""
CONFIRM_WITHIN_S = 2.5
ANSWER_WITHIN_S = 3.0

Address = tuple[str, int]


class Delivery(NamedTuple):
    """What came, by its tag."""

    tag: int
    key: Key
    queue: str


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def body_of(publisher: int, number: int, families: tuple[str, ...], due_ms: int, padding: bytes) -> bytes:
    return b"%d;%d;%s;%d;%d;" % (publisher, number, ",".join(families).encode(), due_ms, zlib.crc32(padding)) + padding


class Session:
    """Channel 1 of a connection, with confirms. Raises OSError or AssertionError when it is over, which is nothing unusual."""

    def __init__(self, history: History, queues: dict[str, Queue], node: int, address: Address, timeout_s: float = CONNECT_TIMEOUT_S):
        self.history, self.queues, self.node = history, queues, node
        self.number = history.number_connection()
        self.tag = 0
        self.pending: dict[int, float] = {}
        self.early: list[Delivery] = []
        """What was delivered while an answer was waited for: `read` gives it first."""
        self.is_final = False
        self.wire = Wire(address, timeout_s)
        try:
            self.wire.handshake(heartbeat=HEARTBEAT_S)
            self.wire.call(1, "channel.open")
            self.wire.call(1, "confirm.select")
        except BaseException as error:
            self._hear(error)
            self.wire.drop()
            raise
        history.record(Opened(self.number, node))
        self.wire.socket.settimeout(SILENCE_MAX_S)
        self.said_at = self.heard_at = time.monotonic()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.wire.drop()

    def _hear(self, error: BaseException) -> None:
        """What a node says instead of an answer to the handshake: `Wire` only tells it in words."""
        text = str(error)
        if "connection.close@" in text and "'reply_code': 320" not in text:
            self.history.record(Told(self.node, 0, text))

    # -- sending

    def send(self, data: bytes) -> None:
        self.wire.send(data)
        self.said_at = time.monotonic()

    def publish(self, exchange: str, routing_key: str, families: tuple[str, ...], padding: bytes = b"", due_ms: int = 0, **how) -> None:
        """A persistent message that goes to the queues `families`; without any, nothing is to become of it."""
        self.tag += 1
        body = body_of(self.number, self.tag, families, due_ms, padding)
        data = codec.publish(1, exchange, routing_key, body, delivery_mode=2, **how)
        self.pending[self.tag] = time.monotonic()
        self.history.record(Published(self.number, self.node, self.tag, tuple(Key(self.number, self.tag, family) for family in families)))
        self.send(data)

    def consume(self, queue: str, prefetch: int = 0, is_final: bool = False) -> None:
        self.is_final = is_final
        self.call("basic.qos", prefetch_count=prefetch)
        self.history.record(Consuming(self.number, queue))
        self.call("basic.consume", queue=queue, consumer_tag=queue)

    def ack(self, deliveries: list[Delivery], multiple: bool = False) -> None:
        """With `multiple` these are all that the session has."""
        for each in deliveries:
            self.history.record(Acked(self.number, each.key))
        tags = [max(each.tag for each in deliveries)] if multiple and deliveries else [each.tag for each in deliveries]
        self.send(b"".join(codec.method(1, "basic.ack", delivery_tag=tag, multiple=multiple) for tag in tags))

    def reject(self, delivery: Delivery, requeue: bool) -> None:
        if not requeue:
            self.history.record(Rejected(self.number, delivery.key))
        self.send(codec.method(1, "basic.reject", delivery_tag=delivery.tag, requeue=requeue))

    # -- receiving

    def read(self, wait_s: float) -> Delivery | Method | None:
        """What comes next, if anything does; confirms are written down, and heartbeats sent and taken."""
        return self.early.pop(0) if self.early else self._read(wait_s)

    def _read(self, wait_s: float) -> Delivery | Method | None:
        if time.monotonic() - self.said_at > HEARTBEAT_S / 2:
            self.send(codec.frame(codec.HEARTBEAT, 0, b""))
        if not self.wire.is_readable(wait_s):
            if time.monotonic() - self.heard_at > SILENCE_MAX_S:
                raise Timeout(f"node {self.node} has said nothing for {SILENCE_MAX_S} s")
            return None
        frame = self.wire.read_frame()
        if frame is None:
            raise Closed("the end of the connection")
        self.heard_at = time.monotonic()
        if frame.kind == codec.HEARTBEAT:
            return None
        method = codec.decode_method(frame.channel, frame.payload)
        if method.name in ("basic.ack", "basic.nack"):
            self._confirm(method)
            return None
        if method.name in ("connection.close", "channel.close"):
            self.history.record(Told(self.node, method.reply_code, method.reply_text))
            raise Closed(method.reply_text)
        if method.name in ("connection.blocked", "connection.unblocked"):
            return None
        return self._take(method) if method.name == "basic.deliver" else method

    def _confirm(self, method: Method) -> None:
        tags = [method.delivery_tag] if not method.multiple else [tag for tag in self.pending if tag <= method.delivery_tag]
        for tag in tags:
            self.pending.pop(tag)
            self.history.record(Confirmed(self.number, tag) if method.name == "basic.ack" else Refused(self.number, tag))

    def _take(self, method: Method) -> Delivery:
        header, body = self.wire.read(), bytearray()
        while len(body) < header.body_len:
            body += self.wire.read()
        queue = method.consumer_tag
        publisher, number, families, due_ms, checksum, padding = bytes(body).split(b";", 5)
        names = families.decode().split(",")
        # What went to several queues is several messages; which of them this is, the place tells.
        family = next((name for name in names if name in self.queues and queue in self.queues[name].places), names[0])
        key = Key(int(publisher), int(number), family)
        early_ms, is_intact = max(int(due_ms) - now_ms(), 0), zlib.crc32(padding) == int(checksum)
        self.history.record(
            Delivered(self.number, self.node, queue, key, is_redelivered=method.redelivered, is_final=self.is_final, is_intact=is_intact, early_ms=early_ms)
        )
        return Delivery(method.delivery_tag, key, queue)

    def call(self, name: str, **arguments) -> Method:
        """A question and its answer."""
        self.wire.send_method(1, name, **arguments)
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while time.monotonic() < deadline:
            got = self._read(0.1)
            if isinstance(got, Delivery):
                self.early.append(got)
            elif got is not None:
                assert got.name == name + "-ok", f"expected {name}-ok, got {got}"
                return got
        raise Timeout(f"node {self.node} did not answer {name}")

    def is_overdue(self) -> bool:
        """Whether a confirm takes too long to be waited for."""
        return bool(self.pending) and time.monotonic() - next(iter(self.pending.values())) > CONFIRM_WITHIN_S
