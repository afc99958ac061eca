"""A proxy between a client and a broker that writes down what the client asks for: what it declares, how it consumes, what its messages
look like. What flows the other way is passed on unread.
"""

import json
import re
import socket
import struct
import threading
from contextlib import suppress

from blackbox import codec

PUBLISH = codec.ids("basic.publish")
ACKS = {codec.ids(name) for name in ("basic.ack", "basic.nack")}
NOTED = {
    codec.ids(name)
    for name in ("exchange.declare", "queue.declare", "queue.bind", "basic.qos", "basic.consume", "basic.get", "confirm.select", "tx.select")
}  # fmt: skip
# How it is asked for, and not what.
IGNORED = {"ticket", "nowait", "consumer_tag"}
# What is random: names by the broker, and keys by the generator.
RANDOM = [(re.compile(r"amq\.gen-\S+"), "(by the broker)"), (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "(random)")]


class Recorder:
    """Listens on a port of its own while it is entered."""

    host = "127.0.0.1"

    def __init__(self, broker):
        self.broker = broker
        self.listener = socket.create_server((self.host, 0))
        self.url = f"amqp://{broker.user}:{broker.password}@{self.host}:{self.listener.getsockname()[1]}/"
        self.sockets: list[socket.socket] = []
        self.threads: list[threading.Thread] = []
        self.lock = threading.Lock()
        # What was declared, without how often: one generator declares for each of its channels, the other once.
        self.declared: set[str] = set()
        # How many channels consume, and what the first message of each publishing channel was like.
        self.consumers: list[str] = []
        self.messages: list[str] = []

    def __enter__(self) -> "Recorder":
        self._spawn(self._accept)
        return self

    def __exit__(self, *_) -> None:
        # Closing alone does not wake who waits in accept.
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for each in self.sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)
        for each in self.sockets:
            each.close()

    def _spawn(self, target, *arguments) -> None:
        self.threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self.threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.broker.address)
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.sockets.append(each)
            self._spawn(_pass_on, client, server, Frames(self).feed)
            self._spawn(_pass_on, server, client, lambda data: None)


class Frames:
    """What one connection has sent."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.rest = b""
        self.is_greeted = False
        # The publish whose content header comes next, and those channels whose first message was noted.
        self.publish: codec.Method | None = None
        self.publishing: set[int] = set()

    def feed(self, data: bytes) -> None:
        data, at = self.rest + data, 0
        if not self.is_greeted:
            if len(data) < len(codec.PROTOCOL_HEADER):
                self.rest = data
                return
            self.is_greeted, at = True, len(codec.PROTOCOL_HEADER)
        while at + 8 <= len(data):
            kind, channel, length = struct.unpack_from(">BHI", data, at)
            if at + 8 + length > len(data):
                break
            self._frame(kind, channel, data[at + 7 : at + 7 + length])
            at += 8 + length
        self.rest = data[at:]

    def _frame(self, kind: int, channel: int, payload: bytes) -> None:
        if kind == codec.HEADER and self.publish:
            header = codec.decode_header(payload)
            # Documents are made at random; they are only about as long as they should be.
            body_len = "(random)" if header.properties.get("content_type") == "application/json" else header.body_len
            self._note(self.recorder.messages, described(self.publish, properties=own_properties(header), body_len=body_len))
            self.publish = None
        if kind != codec.METHOD:
            return
        ids = struct.unpack_from(">HH", payload)
        if ids == PUBLISH and channel not in self.publishing:
            self.publishing.add(channel)
            self.publish = codec.decode_method(channel, payload)
        if ids not in NOTED:
            return
        method = codec.decode_method(channel, payload)
        if getattr(method, "passive", False):
            # To ask what is there is not to declare it.
            return
        if method.name == "basic.consume":
            self._note(self.recorder.consumers, described(method))
        with self.recorder.lock:
            self.recorder.declared.add(described(method))

    def _note(self, where: list[str], what: str) -> None:
        with self.recorder.lock:
            where.append(what)


def own_properties(header: codec.ContentHeader) -> dict:
    """Properties, but for when the message was sent and by whom."""
    properties = {name: value for name, value in header.properties.items() if name not in ("cluster_id", "timestamp")}
    headers = {name: value for name, value in properties.pop("headers", {}).items() if name != "timestamp"}
    return {**properties, **({"headers": headers} if headers else {})}


def described(method: codec.Method, **more) -> str:
    """A method as a line, without what is random."""
    _, shape = codec.METHODS[codec.ids(method.name)]
    # One by one: one of them may itself be called `arguments`.
    arguments = {name: getattr(method, name) for name, _ in shape if name not in IGNORED}
    line = f"{method.name} {json.dumps({**arguments, **more}, sort_keys=True, default=repr)}"
    for pattern, word in RANDOM:
        line = pattern.sub(word, line)
    return line


def _pass_on(source: socket.socket, destination: socket.socket, look) -> None:
    try:
        while data := source.recv(1 << 16):
            look(data)
            destination.sendall(data)
    except OSError:
        pass
    with suppress(OSError):
        destination.shutdown(socket.SHUT_WR)
