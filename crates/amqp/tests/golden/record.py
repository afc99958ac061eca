#!/usr/bin/env python3
"""Records golden byte sequences from a real RabbitMQ.

    record.py [--version 3|4] [--port PORT] [SESSION…]

starts a fresh node with bench/peers/rabbitmq, drives it through a relay that writes down every frame, and writes one
file a session, `rabbitmq-<series>-<session>.hex`, beside this script. Without sessions: all of them for version 4,
those that may differ for version 3. Needs pika (it encodes the client's methods, and one session is pika's own from
end to end).

A file is one connection. Lines:

    # text      a comment: what the client is about to do, or the name of the frame in the next line
    C <hex>     bytes from the client, one frame; the first is the protocol header
    S <hex>     bytes from the server, one frame (or a protocol header, when it refuses the client's)

Frames stand in the order in which the relay saw them, so an answer comes after its question. A frame is taken by its
length field; a wrong frame end is kept as it was sent.
"""

import argparse
import functools
import pathlib
import re
import socket
import struct
import subprocess
import threading
import time
from datetime import datetime, timezone

import pika
import pika.data
import pika.frame
from pika import spec

HERE = pathlib.Path(__file__).resolve().parent
PEER = HERE.parents[3] / "bench" / "peers" / "rabbitmq"
ANSWER_TIMEOUT_S = 20
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
FRAME_OVERHEAD = 8
FRAME_METHOD, FRAME_HEADER, FRAME_BODY, FRAME_HEARTBEAT = 1, 2, 3, 8


class Typed:
    """A field value whose type letter and bytes are given outright; pika chooses types by itself otherwise."""

    def __init__(self, kind, layout="", *values):
        self.encoded = kind.encode() + (struct.pack(">" + layout, *values) if layout else b"")


def _encode_value(pieces, value, original=pika.data.encode_value):
    if isinstance(value, Typed):
        pieces.append(value.encoded)
        return len(value.encoded)
    return original(pieces, value)


pika.data.encode_value = _encode_value


class Recording:
    """What went over one connection, in order."""

    def __init__(self):
        self.lines = []
        self.client_len = 0
        self.changed = threading.Condition()

    def say(self, text):
        with self.changed:
            self.lines.append(f"# {text}")

    def add(self, side, frame):
        with self.changed:
            name = frame_name(frame)
            if name:
                self.lines.append(f"# {name}")
            self.lines.append(f"{side} {frame.hex()}")
            if side == "C":
                self.client_len += len(frame)
            self.changed.notify_all()

    def wait_for_client_len(self, sent_len):
        with self.changed:
            if not self.changed.wait_for(lambda: self.client_len >= sent_len, ANSWER_TIMEOUT_S):
                raise TimeoutError("the relay has not seen what the client sent")


class Relay:
    """Passes one connection on to the broker and records it frame by frame, before passing it on."""

    def __init__(self, broker_port, recording):
        self.recording = recording
        self.broker_port = broker_port
        self.client_has_closed = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        client, _ = self.listener.accept()
        self.listener.close()
        broker = socket.create_connection(("127.0.0.1", self.broker_port))
        down = threading.Thread(target=self._pass, args=("S", broker, client), daemon=True)
        down.start()
        self._pass("C", client, broker)
        self.client_has_closed = True
        down.join(ANSWER_TIMEOUT_S)

    def _pass(self, side, source, target):
        buffered = b""
        while True:
            try:
                read = source.recv(65536)
            except OSError:
                read = b""
            if not read:
                break
            buffered += read
            while frame := first_frame(buffered):
                buffered = buffered[len(frame):]
                self.recording.add(side, frame)
            try:
                target.sendall(read)
            except OSError:
                break
        if buffered:
            self.recording.add(side, buffered)
        if side == "S" and not self.client_has_closed:
            self.recording.say("the server closes the socket")
        try:
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def first_frame(buffered):
    if buffered[:4] == b"AMQP"[:len(buffered[:4])] and buffered:
        return buffered[:8] if len(buffered) >= 8 else None
    if len(buffered) < 7:
        return None
    frame_len = struct.unpack(">I", buffered[3:7])[0] + FRAME_OVERHEAD
    return buffered[:frame_len] if len(buffered) >= frame_len else None


def frame_name(frame):
    if frame[:4] == b"AMQP":
        return "protocol header"
    kind, channel = struct.unpack(">BH", frame[:3])
    if kind == FRAME_METHOD and len(frame) >= 12:
        method = spec.methods.get(struct.unpack(">I", frame[7:11])[0])
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", method.NAME).lower() if method else "unknown method"
    else:
        name = {FRAME_HEADER: "header", FRAME_BODY: "body", FRAME_HEARTBEAT: "heartbeat"}.get(kind, "unknown frame")
    return f"{channel}: {name}"


class Client:
    """One connection that says exactly what it is told to."""

    PROPERTIES = {
        "product": "golden",
        "capabilities": {name: True for name in (
            "authentication_failure_close", "basic.nack", "connection.blocked", "consumer_cancel_notify",
            "publisher_confirms")},
    }

    def __init__(self, port, recording):
        self.recording = recording
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(ANSWER_TIMEOUT_S)
        self.buffered = b""
        self.sent_len = 0

    def say(self, text):
        self.recording.say(text)

    def send_bytes(self, data):
        self.send_part(data)
        self.recording.wait_for_client_len(self.sent_len)

    def send_part(self, data):
        """Sends what may not be a whole frame."""
        self.socket.sendall(data)
        self.sent_len += len(data)

    def send(self, channel, method):
        self.send_bytes(pika.frame.Method(channel, method).marshal())

    def send_content(self, channel, method, properties, body, frame_len_max=131072):
        data = pika.frame.Method(channel, method).marshal()
        data += pika.frame.Header(channel, len(body), properties).marshal()
        step = frame_len_max - FRAME_OVERHEAD
        for at in range(0, len(body), step):
            data += pika.frame.Body(channel, body[at:at + step]).marshal()
        self.send_bytes(data)

    def publish(self, channel, routing_key, body=b"hello", exchange="", mandatory=False, properties=None, **options):
        method = spec.Basic.Publish(exchange=exchange, routing_key=routing_key, mandatory=mandatory)
        self.send_content(channel, method, properties or spec.BasicProperties(), body, **options)

    def receive(self):
        """The next frame: (kind, channel, method or payload); None at the end of the connection."""
        while not (frame := first_frame(self.buffered)):
            try:
                read = self.socket.recv(65536)
            except ConnectionError:
                read = b""
            if not read:
                return None
            self.buffered += read
        self.buffered = self.buffered[len(frame):]
        if frame[:4] == b"AMQP":
            return ("header", 0, frame)
        kind, channel = struct.unpack(">BH", frame[:3])
        payload = frame[7:-1]
        if kind == FRAME_METHOD:
            method = spec.methods[struct.unpack(">I", payload[:4])[0]]()
            method.decode(payload, 4)
            return (kind, channel, method)
        return (kind, channel, payload)

    def expect(self, *methods):
        """Reads on until one of these methods comes (and its content, if it carries one); None at the end."""
        while (frame := self.receive()) is not None:
            kind, channel, method = frame
            if kind == FRAME_METHOD and isinstance(method, methods):
                if isinstance(method, (spec.Basic.Deliver, spec.Basic.GetOk, spec.Basic.Return)):
                    method.body, method.properties = self._content()
                return method
            if kind == FRAME_METHOD and isinstance(method, spec.Channel.Close):
                self.send(channel, spec.Channel.CloseOk())
                raise AssertionError(f"the channel was closed: {method.reply_code} {method.reply_text}")
            if kind == FRAME_METHOD and isinstance(method, spec.Connection.Close):
                self.send(0, spec.Connection.CloseOk())
                raise AssertionError(f"the connection was closed: {method.reply_code} {method.reply_text}")
        return None

    def _content(self):
        _, _, header = self.receive()
        body_len = struct.unpack(">Q", header[4:12])[0]
        body = b""
        while len(body) < body_len:
            body += self.receive()[2]
        return body, header[12:]

    def call(self, channel, method, *answers):
        self.send(channel, method)
        return self.expect(*answers)

    def open(self, user="guest", vhost="/", frame_max=131072, heartbeat=0, **options):
        self.send_bytes(PROTOCOL_HEADER)
        self.expect(spec.Connection.Start)
        self.authenticate(user, **options)
        tune = self.expect(spec.Connection.Tune)
        self.send(0, spec.Connection.TuneOk(tune.channel_max, frame_max, heartbeat))
        self.call(0, spec.Connection.Open(vhost), spec.Connection.OpenOk)

    def authenticate(self, user="guest", password=None, mechanism="PLAIN", properties=None):
        password = password or user
        if mechanism == "PLAIN":
            response = f"\0{user}\0{password}"
        else:
            pieces = []
            pika.data.encode_table(pieces, {"LOGIN": user, "PASSWORD": password})
            response = b"".join(pieces)[4:].decode("latin-1")
        self.send(0, spec.Connection.StartOk(properties or self.PROPERTIES, mechanism, response, "en_US"))

    def open_channel(self, channel=1):
        self.call(channel, spec.Channel.Open(), spec.Channel.OpenOk)

    def fence(self, channel=1):
        """What was sent before on the channel has been handled when this answer is here."""
        self.call(channel, spec.Basic.Qos(), spec.Basic.QosOk)

    def provoke(self, channel, method, text):
        """Asks for something that the server refuses with a channel error, then opens the channel again.

        Older servers allow a passive declaration without permission.
        """
        self.say(text)
        self.send(channel, method)
        self.accept_error(channel)

    def accept_error(self, channel):
        close = self.expect(spec.Channel.Close, spec.Connection.Close, spec.Exchange.DeclareOk)
        if isinstance(close, spec.Exchange.DeclareOk):
            return True
        if isinstance(close, spec.Channel.Close):
            self.send(channel, spec.Channel.CloseOk())
            self.open_channel(channel)
            return True
        self.accept_end(close)
        return False

    def accept_end(self, close=None):
        close = close or self.expect(spec.Connection.Close)
        if close is not None:
            self.send(0, spec.Connection.CloseOk())
        self.end()

    def end(self):
        while self.receive() is not None:
            pass
        self.socket.close()

    def close(self):
        self.say("connection closes")
        self.call(0, spec.Connection.Close(200, "goodbye", 0, 0), spec.Connection.CloseOk)
        self.socket.close()


# pika's constructors begin with the ticket of AMQP 0-8, which is nobody's business here.
exchange_declare = functools.partial(spec.Exchange.Declare, 0)
exchange_bind = functools.partial(spec.Exchange.Bind, 0)
exchange_unbind = functools.partial(spec.Exchange.Unbind, 0)
exchange_delete = functools.partial(spec.Exchange.Delete, 0)
queue_declare = functools.partial(spec.Queue.Declare, 0)
queue_bind = functools.partial(spec.Queue.Bind, 0)
queue_unbind = functools.partial(spec.Queue.Unbind, 0)
queue_purge = functools.partial(spec.Queue.Purge, 0)
queue_delete = functools.partial(spec.Queue.Delete, 0)


def declare(name, **options):
    options.setdefault("durable", True)
    return queue_declare(name, **options)


# Sessions: the function's name names the file. Each gets a client that is connected, and the node.

SESSIONS = {}


def session(function):
    SESSIONS[function.__name__.replace("_", "-")] = function
    return function


@session
def pika_hello_world(client, node):
    """a real client's own session: pika declares, publishes with a confirm, gets, consumes and acks"""
    client.socket.close()
    node.new_relay(client.recording)
    connection = pika.BlockingConnection(pika.ConnectionParameters(
        "127.0.0.1", node.relay.port, client_properties={"connection_name": "hello"}))
    channel = connection.channel()
    channel.confirm_delivery()
    channel.queue_declare("hello", durable=True)
    channel.basic_publish("", "hello", b"first", pika.BasicProperties(delivery_mode=2), mandatory=True)
    channel.basic_publish("", "hello", b"second", pika.BasicProperties(content_type="text/plain"))
    method, _, _ = channel.basic_get("hello")
    channel.basic_ack(method.delivery_tag)
    for method, _, _ in channel.consume("hello", inactivity_timeout=ANSWER_TIMEOUT_S):
        channel.basic_ack(method.delivery_tag)
        break
    channel.cancel()
    channel.queue_delete("hello")
    connection.close()
    node.relay.thread.join(ANSWER_TIMEOUT_S)


@session
def connection(client, node):
    """negotiation with PLAIN, channels opened and closed, channel.flow, close"""
    client.open()
    client.say("channels open, out of order, and close")
    client.open_channel(1)
    client.open_channel(2047)
    client.call(1, spec.Channel.Flow(True), spec.Channel.FlowOk)
    client.call(1, spec.Channel.Close(200, "done", 0, 0), spec.Channel.CloseOk)
    client.open_channel(1)
    client.close()


@session
def connection_amqplain(client, node):
    """negotiation with AMQPLAIN, limits of zero"""
    client.open(mechanism="AMQPLAIN", frame_max=0)
    client.close()


@session
def connection_heartbeat(client, node):
    """heartbeats every second, both ways"""
    client.open(heartbeat=1)
    seen = 0
    while seen < 2:
        kind, _, _ = client.receive()
        if kind == FRAME_HEARTBEAT:
            seen += 1
            client.send_bytes(pika.frame.Heartbeat().marshal())
    client.close()


@session
def connection_update_secret(client, node):
    """connection.update-secret"""
    client.open()
    client.call(0, spec.Connection.UpdateSecret("guest", "token renewed"), spec.Connection.UpdateSecretOk)
    client.close()


@session
def connection_blocked(client, node):
    """connection.blocked and unblocked by a memory alarm"""
    client.open()
    client.open_channel()
    client.call(1, declare("blocked"), spec.Queue.DeclareOk)
    client.say("the memory watermark is set below what the node uses, then the client publishes")
    node.ctl("set_vm_memory_high_watermark", "0.000001")
    time.sleep(1.5)
    client.publish(1, "blocked")
    client.expect(spec.Connection.Blocked)
    client.say("the watermark is set back")
    node.ctl("set_vm_memory_high_watermark", "0.6")
    client.expect(spec.Connection.Unblocked)
    client.call(1, queue_delete("blocked"), spec.Queue.DeleteOk)
    client.close()


@session
def exchanges(client, node):
    """exchange.declare, bind, unbind, delete, passive, arguments"""
    client.open()
    client.open_channel()
    for kind in ("direct", "fanout", "topic", "headers"):
        client.call(1, exchange_declare(exchange=f"x.{kind}", type=kind, durable=True), spec.Exchange.DeclareOk)
    client.say("passive; auto-delete and internal; an alternate exchange; nowait")
    client.call(1, exchange_declare(exchange="x.topic", passive=True), spec.Exchange.DeclareOk)
    client.call(1, exchange_declare(
        exchange="x.internal", type="fanout", auto_delete=True, internal=True), spec.Exchange.DeclareOk)
    client.call(1, exchange_declare(
        exchange="x.ae", type="topic", durable=True, arguments={"alternate-exchange": "x.fanout"}),
        spec.Exchange.DeclareOk)
    client.send(1, exchange_declare(exchange="x.nowait", type="direct", nowait=True))
    client.say("exchange to exchange")
    client.call(1, exchange_bind("x.direct", "x.topic", "a.*.#", arguments={"note": "kept"}),
                spec.Exchange.BindOk)
    client.call(1, exchange_unbind("x.direct", "x.topic", "a.*.#", arguments={"note": "kept"}),
                spec.Exchange.UnbindOk)
    for name in ("x.direct", "x.fanout", "x.topic", "x.headers", "x.internal", "x.ae", "x.nowait", "x.absent"):
        client.call(1, exchange_delete(name), spec.Exchange.DeleteOk)
    client.close()


@session
def queues(client, node):
    """queue.declare, bind, unbind, purge, delete, passive, server-named, arguments"""
    client.open()
    client.open_channel()
    client.call(1, declare("q1"), spec.Queue.DeclareOk)
    client.say("the same again, passive, and server-named")
    client.call(1, declare("q1"), spec.Queue.DeclareOk)
    client.call(1, declare("q1", passive=True), spec.Queue.DeclareOk)
    client.call(1, queue_declare("", exclusive=True), spec.Queue.DeclareOk)
    client.call(1, queue_declare("q.exclusive", exclusive=True, auto_delete=True), spec.Queue.DeclareOk)
    client.say("arguments of every kind that a classic queue knows")
    client.call(1, declare("q.arguments", arguments={
        "x-expires": 60000, "x-message-ttl": 1000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q1",
        "x-max-length": 10, "x-max-length-bytes": 100000, "x-overflow": "reject-publish", "x-max-priority": 9,
        "x-single-active-consumer": True, "x-queue-type": "classic", "x-unknown": {"is": "ignored"}}),
        spec.Queue.DeclareOk)
    client.say("binding with and without arguments, the same twice, an empty queue name means the last declared")
    client.call(1, queue_bind("q1", "amq.topic", "a.*.c"), spec.Queue.BindOk)
    client.call(1, queue_bind("q1", "amq.topic", "a.*.c"), spec.Queue.BindOk)
    client.call(1, queue_bind("q1", "amq.headers", "", arguments={"x-match": "any", "n": 1, "s": "x"}),
                spec.Queue.BindOk)
    client.call(1, queue_bind("", "amq.fanout", ""), spec.Queue.BindOk)
    client.send(1, queue_bind("q1", "amq.direct", "k", nowait=True))
    client.call(1, queue_unbind("q1", "amq.topic", "a.*.c"), spec.Queue.UnbindOk)
    client.call(1, queue_unbind("q1", "amq.topic", "never.bound"), spec.Queue.UnbindOk)
    client.say("purge and delete tell how many messages went")
    client.publish(1, "q1")
    client.publish(1, "q1")
    client.call(1, queue_purge("q1"), spec.Queue.PurgeOk)
    client.publish(1, "q1")
    client.call(1, queue_delete("q1"), spec.Queue.DeleteOk)
    client.call(1, queue_delete("q.arguments", if_unused=True, if_empty=True), spec.Queue.DeleteOk)
    client.call(1, queue_delete("q.absent"), spec.Queue.DeleteOk)
    client.close()


EVERY_TYPE = {
    "t": Typed("t", "B", 1), "b": Typed("b", "b", -2), "B": Typed("B", "B", 254), "s": Typed("s", "h", -300),
    "u": Typed("u", "H", 65534), "I": Typed("I", "i", -70000), "i": Typed("i", "I", 4294967294),
    "l": Typed("l", "q", -5_000_000_000), "L": Typed("L", "q", 5_000_000_000), "f": Typed("f", "f", 1.5),
    "d": Typed("d", "d", -2.25), "D": Typed("D", "Bi", 2, -314), "S": "text", "x": b"\x00\xff\x10",
    "T": Typed("T", "Q", 1_700_000_000), "V": None, "F": {"inner": {"empty": {}}, "n": 1},
    "A": [1, "two", [3.0 and Typed("d", "d", 3.0)], {"k": None}, True, []],
}


@session
def properties(client, node):
    """a message with all fourteen properties and headers of every type, and one with none"""
    client.open()
    client.open_channel()
    client.call(1, queue_declare("p", exclusive=True), spec.Queue.DeclareOk)
    every = spec.BasicProperties(
        content_type="application/json", content_encoding="gzip", headers=EVERY_TYPE, delivery_mode=2, priority=5,
        correlation_id="c-1", reply_to="answers", expiration="60000", message_id="m-1", timestamp=1_700_000_000,
        type="greeting", user_id="guest", app_id="golden", cluster_id="legacy")
    client.publish(1, "p", b"{}", properties=every)
    client.publish(1, "p", b"bare")
    client.publish(1, "p", b"empty table", properties=spec.BasicProperties(headers={"": ""}))
    for _ in range(3):
        client.call(1, spec.Basic.Get(queue="p", no_ack=True), spec.Basic.GetOk)
    client.call(1, spec.Basic.Get(queue="p", no_ack=True), spec.Basic.GetEmpty)
    client.close()


@session
def bodies(client, node):
    """bodies of no frame, one frame and a full frame with a byte over, at the smallest frame size"""
    frame_max = 8192
    client.open(frame_max=frame_max)
    client.open_channel()
    client.call(1, queue_declare("b", exclusive=True), spec.Queue.DeclareOk)
    full = frame_max - FRAME_OVERHEAD
    for body_len in (0, 1):
        client.say(f"{body_len} bytes")
        client.publish(1, "b", b"." * body_len)
        client.call(1, spec.Basic.Get(queue="b", no_ack=True), spec.Basic.GetOk)
    client.say("a full frame and one byte over")
    client.publish(1, "b", b"." * (full + 1), frame_len_max=frame_max)
    client.call(1, queue_purge("b"), spec.Queue.PurgeOk)
    client.say("the client may cut a body as it likes")
    data = pika.frame.Method(1, spec.Basic.Publish(routing_key="b")).marshal()
    data += pika.frame.Header(1, 6, spec.BasicProperties()).marshal()
    for piece in (b"a", b"", b"bcd", b"ef"):
        data += pika.frame.Body(1, piece).marshal()
    client.send_bytes(data)
    client.call(1, spec.Basic.Get(queue="b", no_ack=True), spec.Basic.GetOk)
    client.close()


@session
def consume(client, node):
    """qos, consume, deliver, ack, nack, reject, requeue, recover, cancel, cancel by the server"""
    client.open()
    client.open_channel()
    client.call(1, queue_declare("c", exclusive=True), spec.Queue.DeclareOk)
    client.call(1, spec.Basic.Qos(prefetch_count=3), spec.Basic.QosOk)
    client.say("a tag of the server's, and one of the client's with arguments")
    client.call(1, spec.Basic.Consume(queue="c"), spec.Basic.ConsumeOk)
    client.call(1, spec.Basic.Cancel("absent"), spec.Basic.CancelOk)
    client.call(1, queue_declare("d", exclusive=True), spec.Queue.DeclareOk)
    client.call(1, spec.Basic.Consume(queue="d", consumer_tag="mine", arguments={"x-priority": 10}),
                spec.Basic.ConsumeOk)
    for n in range(6):
        client.publish(1, "d", f"message {n}".encode())
    tags = [client.expect(spec.Basic.Deliver).delivery_tag for _ in range(3)]
    client.say("ack one, nack one back to the queue, reject one for good")
    client.send(1, spec.Basic.Ack(tags[0]))
    tags.append(client.expect(spec.Basic.Deliver).delivery_tag)
    client.send(1, spec.Basic.Nack(tags[1], requeue=True))
    tags.append(client.expect(spec.Basic.Deliver).delivery_tag)
    client.send(1, spec.Basic.Reject(tags[2], requeue=False))
    tags.append(client.expect(spec.Basic.Deliver).delivery_tag)
    client.say("recover requeues all")
    client.send(1, spec.Basic.Recover(requeue=True))
    client.expect(spec.Basic.RecoverOk)
    tags = [client.expect(spec.Basic.Deliver).delivery_tag for _ in range(3)]
    client.say("multiple: ack up to a tag, then nack everything (tag 0)")
    client.send(1, spec.Basic.Ack(tags[1], multiple=True))
    client.expect(spec.Basic.Deliver)
    client.send(1, spec.Basic.Nack(0, multiple=True, requeue=False))
    client.fence()
    client.say("cancel, consume again without acks and exclusively")
    client.call(1, spec.Basic.Cancel("mine"), spec.Basic.CancelOk)
    client.call(1, spec.Basic.Consume(queue="d", consumer_tag="alone", no_ack=True, exclusive=True),
                spec.Basic.ConsumeOk)
    client.publish(1, "d", b"")
    client.expect(spec.Basic.Deliver)
    client.say("the queue goes away under the consumer")
    client.send(1, queue_delete("d"))
    seen = {type(client.expect(spec.Basic.Cancel, spec.Queue.DeleteOk)) for _ in range(2)}
    assert seen == {spec.Basic.Cancel, spec.Queue.DeleteOk}, seen
    client.close()


@session
def get(client, node):
    """basic.get with and without acks, message counts, redelivered"""
    client.open()
    client.open_channel()
    client.call(1, queue_declare("g", exclusive=True), spec.Queue.DeclareOk)
    for n in range(3):
        client.publish(1, "g", f"{n}".encode())
    client.fence()
    first = client.call(1, spec.Basic.Get(queue="g"), spec.Basic.GetOk)
    client.send(1, spec.Basic.Reject(first.delivery_tag, requeue=True))
    client.fence()
    client.say("the first again, redelivered")
    again = client.call(1, spec.Basic.Get(queue="g"), spec.Basic.GetOk)
    client.send(1, spec.Basic.Ack(again.delivery_tag))
    client.call(1, spec.Basic.Get(queue="g", no_ack=True), spec.Basic.GetOk)
    client.call(1, spec.Basic.Get(queue="g", no_ack=True), spec.Basic.GetOk)
    client.call(1, spec.Basic.Get(queue="g"), spec.Basic.GetEmpty)
    client.close()


@session
def confirms(client, node):
    """confirm.select, acks, and a mandatory message that comes back before its ack"""
    client.open()
    client.open_channel()
    client.call(1, spec.Confirm.Select(), spec.Confirm.SelectOk)
    client.call(1, declare("confirmed"), spec.Queue.DeclareOk)
    for key, mandatory in (("confirmed", False), ("nowhere", False), ("nowhere", True), ("confirmed", True)):
        client.say(f"to {key}{', mandatory' if mandatory else ''}")
        client.publish(1, key, mandatory=mandatory, properties=spec.BasicProperties(delivery_mode=2))
        client.expect(spec.Basic.Ack)
    client.say("a rejected overflow is a nack")
    client.call(1, declare("full", arguments={"x-max-length": 0, "x-overflow": "reject-publish"}),
                spec.Queue.DeclareOk)
    client.publish(1, "full")
    client.expect(spec.Basic.Nack, spec.Basic.Ack)
    for name in ("confirmed", "full"):
        client.call(1, queue_delete(name), spec.Queue.DeleteOk)
    client.close()


@session
def returns(client, node):
    """basic.return of a message with properties"""
    client.open()
    client.open_channel()
    client.publish(1, "nowhere", b"come back", exchange="amq.topic", mandatory=True,
                   properties=spec.BasicProperties(message_id="m", headers={"h": 1}))
    client.expect(spec.Basic.Return)
    client.close()


@session
def transactions(client, node):
    """tx.select, commit, rollback"""
    client.open()
    client.open_channel()
    client.call(1, queue_declare("t", exclusive=True), spec.Queue.DeclareOk)
    client.call(1, spec.Tx.Select(), spec.Tx.SelectOk)
    client.publish(1, "t", b"rolled back")
    client.call(1, spec.Tx.Rollback(), spec.Tx.RollbackOk)
    client.publish(1, "t", b"committed")
    client.call(1, spec.Basic.Get(queue="t"), spec.Basic.GetEmpty)
    client.call(1, spec.Tx.Commit(), spec.Tx.CommitOk)
    got = client.call(1, spec.Basic.Get(queue="t"), spec.Basic.GetOk)
    client.send(1, spec.Basic.Ack(got.delivery_tag))
    client.call(1, spec.Tx.Commit(), spec.Tx.CommitOk)
    client.close()


@session
def direct_reply_to(client, node):
    """a request and its answer over amq.rabbitmq.reply-to"""
    client.open()
    client.open_channel(1)
    client.open_channel(2)
    client.call(1, queue_declare("rpc", exclusive=True), spec.Queue.DeclareOk)
    client.call(2, spec.Basic.Consume(queue="amq.rabbitmq.reply-to", consumer_tag="replies", no_ack=True),
                spec.Basic.ConsumeOk)
    client.publish(2, "rpc", b"question", properties=spec.BasicProperties(
        reply_to="amq.rabbitmq.reply-to", correlation_id="1"))
    client.fence(2)
    request = client.call(1, spec.Basic.Get(queue="rpc", no_ack=True), spec.Basic.GetOk)
    properties = spec.BasicProperties()
    properties.decode(request.properties)
    client.say("is the requester still there? then answer")
    client.call(1, queue_declare(properties.reply_to, passive=True), spec.Queue.DeclareOk)
    client.publish(1, properties.reply_to, b"answer", properties=spec.BasicProperties(correlation_id="1"))
    client.expect(spec.Basic.Deliver)
    client.close()


@session
def errors_channel(client, node):
    """channel errors: 403, 404, 405, 406, each followed by a new channel"""
    with node.client() as other:
        other.open()
        other.open_channel()
        other.call(1, queue_declare("locked", exclusive=True), spec.Queue.DeclareOk)
        client.open()
        client.open_channel()
        client.call(1, declare("e"), spec.Queue.DeclareOk)
        client.call(1, exchange_declare("e", "direct", durable=True), spec.Exchange.DeclareOk)
        for text, method in (
            ("404 queue", declare("absent", passive=True)),
            ("404 exchange", exchange_declare("absent", passive=True)),
            ("404 exchange in bind", queue_bind("e", "absent", "")),
            ("404 get", spec.Basic.Get(queue="absent")),
            ("404 consume", spec.Basic.Consume(queue="absent")),
            ("404 purge", queue_purge("absent")),
            ("404 no previously declared queue", queue_bind("", "amq.fanout", "")),
            ("405 locked queue", queue_declare("locked", exclusive=True)),
            ("405 locked queue in get", spec.Basic.Get(queue="locked")),
            ("406 durable differs", queue_declare("e", exclusive=True)),
            ("406 argument differs", declare("e", arguments={"x-max-length": 5})),
            ("406 argument of a wrong type", declare("e2", arguments={"x-max-length": "five"})),
            ("406 argument of a wrong value", declare("e2", arguments={"x-overflow": "spill"})),
            ("406 type differs", exchange_declare("e", "fanout", durable=True)),
            ("406 exchange durable differs", exchange_declare("e", "direct")),
            ("406 unknown delivery tag", spec.Basic.Ack(7)),
            ("406 not transactional", spec.Tx.Commit()),
            ("403 reserved queue name", declare("amq.mine")),
            ("403 reserved exchange name", exchange_declare("amq.mine", "direct")),
            ("403 default exchange bound", queue_bind("e", "", "k")),
            ("403 default exchange deleted", exchange_delete("")),
            ("403 system exchange deleted", exchange_delete("amq.topic")),
        ):
            client.provoke(1, method, text)
        client.say("404 publish, which the server notices by itself")
        client.publish(1, "k", exchange="absent")
        client.accept_error(1)
        client.say("406 an expiration that is no number")
        client.publish(1, "e", properties=spec.BasicProperties(expiration="soon"))
        client.accept_error(1)
        client.say("406 a user id that is somebody else's")
        client.publish(1, "e", properties=spec.BasicProperties(user_id="root"))
        client.accept_error(1)
        client.say("406 from tx to confirm mode, and back")
        client.call(1, spec.Tx.Select(), spec.Tx.SelectOk)
        client.provoke(1, spec.Confirm.Select(), "confirm on a transactional channel")
        client.call(1, spec.Confirm.Select(), spec.Confirm.SelectOk)
        client.provoke(1, spec.Tx.Select(), "tx on a confirming channel")
        client.say("406 delete if not empty, if in use")
        client.publish(1, "e")
        client.fence()
        client.provoke(1, queue_delete("e", if_empty=True), "not empty")
        client.call(1, spec.Basic.Consume(queue="e", consumer_tag="c", exclusive=True), spec.Basic.ConsumeOk)
        client.expect(spec.Basic.Deliver)
        client.open_channel(2)
        client.provoke(2, spec.Basic.Consume(queue="e", consumer_tag="d"), "403 exclusive use")
        client.provoke(2, queue_delete("e", if_unused=True), "406 in use")
        client.say("406 direct reply-to without its consumer, and with acks")
        client.publish(2, "e", properties=spec.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
        client.accept_error(2)
        client.provoke(2, spec.Basic.Consume(queue="amq.rabbitmq.reply-to"), "with acks")
        client.call(1, queue_delete("e"), spec.Queue.DeleteOk)
        client.call(1, exchange_delete("e"), spec.Exchange.DeleteOk)
        client.close()
        other.close()


@session
def errors_permission(client, node):
    """403 for a user whose three permissions are empty"""
    client.open(user="limited")
    client.open_channel()
    for text, method in (
        ("configure", declare("r")),
        ("configure", exchange_declare("r", "direct")),
        ("configure in passive", exchange_declare("amq.topic", passive=True)),
        ("read", spec.Basic.Get(queue="r")),
        ("write", queue_bind("r", "amq.topic", "")),
    ):
        client.provoke(1, method, text)
    client.say("write")
    client.publish(1, "k", exchange="amq.topic")
    client.accept_error(1)
    client.close()


# What an old server is recorded for by default: where it may differ.
OLD_SESSIONS = (
    "pika-hello-world", "connection-blocked", "queues", "properties", "consume", "confirms",
    "errors-permission", "queue-transient", "qos-global", "exchange-type-absent", "error-unknown-method",
    "error-frame-len",
)


def refused(name, title, run, open_first=True, close=True):
    """A session that ends with the server's connection.close (or without a word); close=False: left unanswered."""
    def body(client, _node):
        if open_first:
            client.open()
            client.open_channel()
            client.say(title)
        run(client)
        if close:
            client.accept_end()
        else:
            client.end()
    body.__doc__ = title
    SESSIONS[f"error-{name}"] = body


def _bad_header(client):
    client.send_bytes(b"AMQP\x01\x01\x00\x0a")


def _refused_login(client):
    client.send_bytes(PROTOCOL_HEADER)
    client.expect(spec.Connection.Start)
    client.authenticate("guest", "wrong")


def _silently_refused_login(client):
    client.send_bytes(PROTOCOL_HEADER)
    client.expect(spec.Connection.Start)
    client.authenticate("guest", "wrong", properties={"product": "golden"})


def _open_vhost(user, vhost):
    def run(client):
        client.send_bytes(PROTOCOL_HEADER)
        client.expect(spec.Connection.Start)
        client.authenticate(user)
        tune = client.expect(spec.Connection.Tune)
        client.send(0, spec.Connection.TuneOk(tune.channel_max, tune.frame_max, 0))
        client.send(0, spec.Connection.Open(vhost))
    return run


def _tune(channel_max, frame_max):
    def run(client):
        client.send_bytes(PROTOCOL_HEADER)
        client.expect(spec.Connection.Start)
        client.authenticate()
        client.expect(spec.Connection.Tune)
        client.send(0, spec.Connection.TuneOk(channel_max, frame_max, 0))
        client.send(0, spec.Connection.Open("/"))
    return run


def _reused_tag(client):
    client.call(1, queue_declare("r", exclusive=True), spec.Queue.DeclareOk)
    client.call(1, spec.Basic.Consume(queue="r", consumer_tag="twice"), spec.Basic.ConsumeOk)
    client.send(1, spec.Basic.Consume(queue="r", consumer_tag="twice"))


refused("header", "another protocol version", _bad_header, open_first=False)
refused("login", "a wrong password", _refused_login, open_first=False)
refused("login-silent", "a wrong password, told to a client that knows no authentication_failure_close",
        _silently_refused_login, open_first=False)
refused("vhost-absent", "a vhost that is not there", _open_vhost("guest", "absent"), open_first=False)
refused("vhost-refused", "a vhost without permission", _open_vhost("nobody", "/"), open_first=False)
refused("tune-frame-max", "a frame_max above the server's", _tune(2047, 262144), open_first=False)
refused("tune-channel-max", "a channel_max above the server's", _tune(4095, 131072), open_first=False)
refused("frame-end", "a frame that does not end",
        lambda c: c.send_bytes(pika.frame.Method(1, spec.Tx.Select()).marshal()[:-1] + b"\xcd"))
refused("frame-kind", "a frame of an unknown kind", lambda c: c.send_bytes(b"\x04\x00\x01\x00\x00\x00\x00\xce"))
refused("frame-len", "a frame larger than frame_max, by more than the eight bytes that the server lets pass",
        lambda c: c.send_part(b"\x03\x00\x01" + struct.pack(">I", 131073)), close=False)
refused("syntax", "a method whose arguments end early",
        lambda c: c.send_bytes(b"\x01\x00\x01\x00\x00\x00\x07\x00\x32\x00\x0a\x00\x00\xff\xce"))
refused("unknown-method", "a method that does not exist",
        lambda c: c.send_bytes(b"\x01\x00\x01\x00\x00\x00\x04\x00\x63\x00\x63\xce"))
refused("channel-absent", "a method on a channel that is not open", lambda c: c.send(5, spec.Tx.Select()))
refused("channel-twice", "a channel opened twice", lambda c: c.send(1, spec.Channel.Open()))
refused("unexpected-method", "a method where a header should come",
        lambda c: (c.send(1, spec.Basic.Publish(routing_key="k")), c.send(1, spec.Tx.Select())))
refused("unexpected-body", "a body without a method",
        lambda c: c.send_bytes(pika.frame.Body(1, b"body").marshal()))
refused("consumer-tag", "a consumer tag used twice", _reused_tag)
refused("immediate", "immediate publishing", lambda c: c.send_content(
    1, spec.Basic.Publish(routing_key="k", immediate=True), spec.BasicProperties(), b""))
refused("prefetch-size", "a prefetch size", lambda c: c.send(1, spec.Basic.Qos(prefetch_size=10)))
refused("flow", "channel.flow off", lambda c: c.send(1, spec.Channel.Flow(False)))


@session
def queue_transient(client, node):
    """a transient queue that is not exclusive, which some servers refuse"""
    client.open()
    client.open_channel()
    client.send(1, queue_declare("transient"))
    answer = client.expect(spec.Queue.DeclareOk, spec.Connection.Close, spec.Channel.Close)
    if isinstance(answer, spec.Queue.DeclareOk):
        client.call(1, queue_delete("transient"), spec.Queue.DeleteOk)
        client.close()
    else:
        client.accept_end(answer)


@session
def exchange_type_absent(client, node):
    """an exchange type that does not exist, an error of the channel or, in older servers, of the connection"""
    client.open()
    client.open_channel()
    client.send(1, exchange_declare("e", "x-absent"))
    if client.accept_error(1):
        client.close()


@session
def qos_global(client, node):
    """a prefetch for the whole channel, which some servers refuse"""
    client.open()
    client.open_channel()
    client.send(1, spec.Basic.Qos(prefetch_count=5, global_qos=True))
    answer = client.expect(spec.Basic.QosOk, spec.Connection.Close, spec.Channel.Close)
    if isinstance(answer, spec.Basic.QosOk):
        client.close()
    else:
        client.accept_end(answer)


@session
def error_closed_by_operator(client, node):
    """a connection closed from outside"""
    client.open()
    time.sleep(0.5)
    node.ctl("close_all_connections", "maintenance", "--vhost", "/")
    client.accept_end()


class Node:
    """The RabbitMQ that is recorded."""

    def __init__(self, version, port):
        self.version, self.port = version, port
        self.relay = None

    def peer(self, *arguments):
        return subprocess.run([str(PEER), *arguments], check=True, capture_output=True, text=True).stdout

    def ctl(self, *arguments):
        return self.peer("ctl", str(self.port), *arguments)

    def start(self):
        self.peer("start", self.version, str(self.port), "--fresh")
        self.ctl("set_cluster_name", "golden")
        for user in ("limited", "nobody"):
            self.ctl("add_user", user, user)
        self.ctl("set_permissions", "limited", "", "", "")
        return re.search(r"RabbitMQ version: (\S+)", self.ctl("status")).group(1)

    def new_relay(self, recording):
        recording.lines.clear()
        self.relay = Relay(self.port, recording)

    def client(self):
        """A second connection, which is not recorded."""
        class Unrecorded(Client):
            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.socket.close()

            def say(self, text):
                pass

            def send_bytes(self, data):
                self.socket.sendall(data)
        return Unrecorded(self.port, None)


def record(node, name, release):
    function = SESSIONS[name]
    recording = Recording()
    node.new_relay(recording)
    function(Client(node.relay.port, recording), node)
    node.relay.thread.join(ANSWER_TIMEOUT_S)
    series = ".".join(release.split(".")[:2])
    path = HERE / f"rabbitmq-{series}-{name}.hex"
    lines = [f"# RabbitMQ {release}: {function.__doc__}", *recording.lines]
    path.write_text("\n".join(lines) + "\n")
    print(f"{path.name}: {len(recording.lines)} lines")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--version", choices=("3", "4"), default="4")
    options.add_argument("--port", type=int, default=5655)
    options.add_argument("sessions", nargs="*", metavar="SESSION", help=", ".join(SESSIONS))
    options = options.parse_args()
    node = Node(options.version, options.port)
    release = node.start()
    failed = []
    try:
        for name in options.sessions or (SESSIONS if options.version == "4" else OLD_SESSIONS):
            try:
                record(node, name, release)
            except Exception as error:  # go on: the other sessions do not depend on it
                failed.append(name)
                print(f"{name}: {type(error).__name__}: {error}")
    finally:
        node.peer("remove", str(node.port))
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
