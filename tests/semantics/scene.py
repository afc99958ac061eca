"""What a scenario is given: a vhost of its own, connections to it, its HTTP API, and a transcript of what was seen.

Because the vhost is the scenario's own, names of queues and exchanges are fixed and policies touch nobody else. What differs from run to
run (the vhost, the node, generated names, times) is written as `V`, `<node>`, `amq.gen-…`, `<time>`.
"""

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from blackbox import broker as brokers
from blackbox import codec
from blackbox.management import Answer, Management, segment
from blackbox.wire import Closed, Timeout

WAIT_S = 10.0
"""How long anything that must come may take."""
SILENCE_S = 0.12
"""How long nothing may come where nothing must come: RabbitMQ's queues deliver within a few milliseconds."""
BODY_SHOWN_MAX = 60
_NAMES = re.compile(r"amq\.(gen|ctag)-[\w-]{22}")


class Refused(Exception):
    """The broker closed a channel or a connection."""

    def __init__(self, scope: str, close: codec.Method | None):
        self.scope, self.close = scope, close
        super().__init__(f"{scope} closed: {close}")

    def seen(self) -> Any:
        if self.close is None:
            return f"{self.scope} ends without a word"
        failing = codec.METHODS.get((self.close.failing_class, self.close.failing_method), ("nothing",))[0]
        return {"closes": self.scope, "code": self.close.reply_code, "text": self.close.reply_text, "for": failing}


class Delivery:
    """A message that came."""

    def __init__(self, method: codec.Method, properties: dict, body: bytes):
        self.method, self.properties, self.body = method, properties, body.decode(errors="backslashreplace")
        self.tag = method.arguments.get("delivery_tag", 0)
        self.headers = properties.get("headers", {})

    def seen(self) -> dict:
        """All of it, except the delivery tag and what was never said."""
        body = self.body if len(self.body) <= BODY_SHOWN_MAX else f"{len(self.body)} bytes"
        seen = {"body": body, "exchange": self.method.exchange, "key": self.method.routing_key}
        for name in ("redelivered", "consumer_tag", "reply_code", "reply_text"):
            if name in self.method.arguments:
                seen[name] = self.method.arguments[name]
        if "message_count" in self.method.arguments:
            seen["left"] = self.method.message_count
        return {**seen, **self.properties}


class Connection:
    """One connection, whose frames are sorted into what its channels wait for."""

    def __init__(self, scene: "Scene", **how: Any):
        self.wire = scene.broker.wire(**{"channels": 0, "virtual_host": scene.vhost, **how})
        self.channels: dict[int, Channel] = {}
        self.closed: Refused | None = None

    def pump(self, until: float) -> bool:
        """Takes in the next frame; False if none came until then."""
        left = until - time.monotonic()
        if self.closed or left <= 0:
            return False
        try:
            with self.wire.patience(left):
                frame = self.wire.read_frame()
        except Timeout:
            return False
        except (Closed, ConnectionError):
            frame = None
        if frame is None:
            self.closed = Refused("connection", None)
        elif frame.channel == 0:
            self._on_own(frame)
        elif frame.channel in self.channels:
            self.channels[frame.channel].on_frame(frame)
        return True

    def _on_own(self, frame: codec.Frame) -> None:
        if frame.kind == codec.METHOD:
            method = codec.decode_method(0, frame.payload)
            if method.name == "connection.close":
                self.closed = Refused("connection", method)
                self.wire.answer_close()

    def channel(self) -> "Channel":
        """A new channel."""
        number = max(self.channels, default=0) + 1
        self.channels[number] = Channel(self, number)
        self.channels[number].open()
        return self.channels[number]

    def close(self) -> None:
        """The polite end; returns when the broker has answered."""
        with suppress(Exception):
            self.wire.close()
        self.wire.drop()

    def drop(self) -> None:
        """The other end."""
        self.wire.drop()


class Channel:
    """One channel: what was asked is answered here, what comes by itself is kept until somebody looks."""

    def __init__(self, connection: Connection, number: int):
        self.connection, self.number = connection, number
        self._forget()

    def _forget(self) -> None:
        self.replies: list = []
        self.inbox: list[Delivery] = []
        self.events: list = []
        self.closed: Refused | None = None
        self.is_confirming = False
        self.published = self.settled = 0
        self.outcomes: dict[int, str] = {}
        self._partial: list = []

    # -- frames

    def on_frame(self, frame: codec.Frame) -> None:
        if frame.kind == codec.METHOD:
            method = codec.decode_method(frame.channel, frame.payload)
            if method.name in ("basic.deliver", "basic.get-ok", "basic.return"):
                self._partial = [method]
            else:
                self._on_method(method)
        elif frame.kind == codec.HEADER:
            header = codec.decode_header(frame.payload, with_types=True)
            self._partial += [header, b""]
            self._on_content()
        elif frame.kind == codec.BODY:
            self._partial[2] += frame.payload
            self._on_content()

    def _on_content(self) -> None:
        method, header, body = self._partial
        if len(body) < header.body_len:
            return
        delivery = Delivery(method, header.properties, body)
        if method.name == "basic.deliver":
            self.inbox.append(delivery)
        elif method.name == "basic.get-ok":
            self.replies.append(delivery)
        else:
            self.events.append({"return": delivery.seen()})

    def _on_method(self, method: codec.Method) -> None:
        if method.name in ("basic.ack", "basic.nack"):
            tags = [tag for tag in range(1, method.delivery_tag) if tag not in self.outcomes] if method.multiple else []
            for tag in [*tags, method.delivery_tag]:
                self.outcomes[tag] = method.name.removeprefix("basic.")
                self.events.append({self.outcomes[tag]: tag})
        elif method.name == "basic.cancel":
            self.events.append({"cancel": method.consumer_tag})
        elif method.name == "channel.close":
            self.closed = Refused("channel", method)
            self.connection.wire.send_method(self.number, "channel.close-ok")
        else:
            self.replies.append(method)

    def wait(self, is_there: Callable[[], Any], within: float = WAIT_S) -> bool:
        """Takes in frames until it is there."""
        until = time.monotonic() + within
        while not is_there():
            if self.connection.closed or self.closed:
                return False
            if not self.connection.pump(until):
                return bool(is_there())
        return True

    def fail_if_closed(self) -> None:
        if refused := self.connection.closed or self.closed:
            raise refused

    def open(self) -> None:
        """Opens it, again if the broker closed it."""
        self._forget()
        self.call("channel.open")

    def call(self, name: str, **arguments: Any) -> Any:
        """A synchronous method; its answer, or `Refused`."""
        self.fail_if_closed()
        self.connection.wire.send_method(self.number, name, **arguments)
        if self.wait(lambda: self.replies):
            return self.replies.pop(0)
        self.fail_if_closed()
        raise Timeout(f"{name} was not answered within {WAIT_S} s")

    def send(self, name: str, **arguments: Any) -> None:
        """A method that is not answered."""
        self.fail_if_closed()
        self.connection.wire.send_method(self.number, name, **arguments)

    def await_close(self, within: float = WAIT_S) -> Any:
        """How the broker closes this channel or its connection."""
        self.wait(lambda: self.closed, within)
        refused = self.connection.closed or self.closed
        return refused.seen() if refused else "is still open"

    def state(self) -> Any:
        """How the broker closes this channel for what was sent on it, or that it does not."""
        try:
            self.call("basic.qos", prefetch_count=0)
        except Refused as refused:
            return refused.seen()
        return "is still open"

    def close(self) -> None:
        self.call("channel.close", reply_code=200, reply_text="")

    # -- topology

    def declare(self, queue: str = "q", *, durable: bool = True, **how: Any) -> str:
        """Declares a queue; arguments of the queue go by their names with underscores, others into `arguments`."""
        return self.call("queue.declare", queue=queue, durable=durable, **_with_arguments(how)).queue

    def count(self, queue: str = "q") -> list[int]:
        """How many messages are ready, and how many consumers there are, by a passive declare."""
        ok = self.call("queue.declare", queue=queue, passive=True)
        return [ok.message_count, ok.consumer_count]

    def await_count(self, queue: str, ready: int, within: float = WAIT_S) -> int:
        """The number of ready messages when it is the one that is hoped for, or after a while."""
        until = time.monotonic() + within
        while (found := self.count(queue)[0]) != ready and time.monotonic() < until:
            time.sleep(0.01)
        return found

    def exchange(self, exchange: str = "x", type: str = "direct", *, durable: bool = True, **how: Any) -> None:
        self.call("exchange.declare", exchange=exchange, type=type, durable=durable, **_with_arguments(how))

    def bind(self, queue: str, exchange: str, routing_key: str = "", arguments: dict | None = None) -> None:
        self.call("queue.bind", queue=queue, exchange=exchange, routing_key=routing_key, arguments=arguments or {})

    def unbind(self, queue: str, exchange: str, routing_key: str = "", arguments: dict | None = None) -> None:
        self.call("queue.unbind", queue=queue, exchange=exchange, routing_key=routing_key, arguments=arguments or {})

    def purge(self, queue: str) -> int:
        return self.call("queue.purge", queue=queue).message_count

    def delete(self, queue: str, **how: Any) -> int:
        return self.call("queue.delete", queue=queue, **how).message_count

    # -- publishing

    def publish(self, key: str, body: str | bytes = "", exchange: str = "", **properties: Any) -> str:
        """Publishes with a confirm, and waits for it: `ack` or `nack`, after `returned 312 NO_ROUTE` if it was."""
        tag = self.publish_only(key, body, exchange, **properties)
        before = len(self.events)
        self.wait(lambda: tag in self.outcomes)
        self.fail_if_closed()
        assert tag in self.outcomes, f"publish {tag} was not confirmed within {WAIT_S} s"
        returns = [f"returned {event['return']['reply_code']} {event['return']['reply_text']}, " for event in self.events[before:] if "return" in event]
        return "".join(returns) + self.outcomes[tag]

    def publish_only(self, key: str, body: str | bytes = "", exchange: str = "", **properties: Any) -> int:
        """Publishes in confirm mode and does not wait; the number of the publish."""
        if not self.is_confirming:
            self.call("confirm.select")
            self.is_confirming = True
        self.published += 1
        self.send_content(key, body, exchange, **properties)
        return self.published

    def send_content(self, key: str, body: str | bytes = "", exchange: str = "", **properties: Any) -> None:
        """Publishes, and nothing else."""
        self.fail_if_closed()
        data = body.encode() if isinstance(body, str) else body
        self.connection.wire.publish(self.number, exchange, key, data, **properties)

    def confirms(self) -> list:
        """What came for the publishes so far, in the order of the publishes; waits until all have been confirmed."""
        self.wait(lambda: len(self.outcomes) >= self.published)
        self.fail_if_closed()
        return [self.outcomes.get(tag) for tag in range(1, self.published + 1)]

    # -- consuming

    def get(self, queue: str = "q", no_ack: bool = True) -> Delivery | None:
        """basic.get."""
        got = self.call("basic.get", queue=queue, no_ack=no_ack)
        return got if isinstance(got, Delivery) else None

    def await_get(self, queue: str = "q", no_ack: bool = True, within: float = WAIT_S) -> Delivery | None:
        """basic.get, again until there is something."""
        until = time.monotonic() + within
        while (got := self.get(queue, no_ack)) is None and time.monotonic() < until:
            time.sleep(0.01)
        return got

    def drain(self, queue: str = "q") -> list[str]:
        """The bodies of all that is ready, in order; they are gone then."""
        bodies = []
        while (got := self.get(queue)) is not None:
            bodies.append(got.body)
        return bodies

    def consume(self, queue: str = "q", tag: str = "c", prefetch: int | None = None, **how: Any) -> str:
        """Starts a consumer (a prefetch holds for it and later ones of the channel)."""
        if prefetch is not None:
            self.call("basic.qos", prefetch_count=prefetch)
        return self.call("basic.consume", queue=queue, consumer_tag=tag, **_with_arguments(how)).consumer_tag

    def cancel(self, tag: str = "c") -> None:
        self.call("basic.cancel", consumer_tag=tag)

    def take(self, count: int = 1, within: float = WAIT_S) -> list[Delivery]:
        """The next deliveries, so many; fewer if they do not come."""
        self.wait(lambda: len(self.inbox) >= count, within)
        taken, self.inbox = self.inbox[:count], self.inbox[count:]
        return taken

    def bodies(self, count: int, within: float = WAIT_S) -> list[str]:
        """The bodies of the next deliveries."""
        return [delivery.body for delivery in self.take(count, within)]

    def rest(self, within: float = SILENCE_S, least: int = 0) -> list[str]:
        """The bodies of what comes within a short while, which mostly is nothing; first waits for the least that must come."""
        self.wait(lambda: len(self.inbox) >= least)
        self.wait(lambda: False, within)
        taken, self.inbox = self.inbox, []
        return [delivery.body for delivery in taken]

    def ack(self, delivery: Delivery, multiple: bool = False) -> None:
        self.send("basic.ack", delivery_tag=delivery.tag, multiple=multiple)

    def reject(self, delivery: Delivery, requeue: bool = False) -> None:
        self.send("basic.reject", delivery_tag=delivery.tag, requeue=requeue)

    def nack(self, delivery: Delivery, requeue: bool = False, multiple: bool = False) -> None:
        self.send("basic.nack", delivery_tag=delivery.tag, requeue=requeue, multiple=multiple)


class Scene:
    """One scenario on one broker."""

    def __init__(self, broker: brokers.Broker, vhost: str, node: str):
        self.broker, self.vhost, self.node = broker, vhost, node
        self.api: Management = broker.management
        self.transcript: dict[str, Any] = {}
        self._connections: list[Connection] = []
        self._users: list[str] = []
        self._first: Channel | None = None

    def __enter__(self) -> "Scene":
        self.api.put(f"/vhosts/{segment(self.vhost)}", {}).expect(201, 204)
        self.api.put(self.path("permissions", self.broker.user), {"configure": ".*", "write": ".*", "read": ".*"}).expect(201, 204)
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections:
            connection.drop()
        self.api.delete(f"/vhosts/{segment(self.vhost)}")
        for user in self._users:
            self.api.delete(f"/users/{segment(user)}")

    # -- the transcript

    def note(self, what: str, seen: Any) -> None:
        """Writes down what was seen."""
        assert what not in self.transcript, f"'{what}' is in the transcript already"
        self.transcript[what] = self.plain(seen)

    def attempt(self, what: str, act: Callable[[], Any], channel: Channel | None = None) -> Any:
        """Writes down what an action returns or how it is refused; the channel is usable again afterwards."""
        try:
            seen = act()
        except Refused as refused:
            seen = refused
            self.revive(channel or self.ch)
        self.note(what, "ok" if seen is None else seen)
        return seen

    def plain(self, seen: Any) -> Any:
        """What was seen, as JSON has it and the same each time."""
        if isinstance(seen, (Delivery, Refused)):
            seen = seen.seen()
        if isinstance(seen, dict):
            return {self._text(str(key)): self.plain(value) for key, value in seen.items()}
        if isinstance(seen, (list, tuple)):
            return [self.plain(value) for value in seen]
        if isinstance(seen, bytes):
            seen = seen.decode(errors="backslashreplace")
        if isinstance(seen, str):
            return self._text(seen)
        assert seen is None or isinstance(seen, (bool, int)), f"{seen!r} does not belong into a transcript"
        return seen

    def _text(self, text: str) -> str:
        if text.startswith("T:") and abs(int(text[2:]) - time.time()) < 3600:
            return "T:<time>"
        if text.startswith("l:") and abs(int(text[2:]) / 1000 - time.time()) < 3600:
            return "l:<time in ms>"
        return _NAMES.sub(r"amq.\1-…", text.replace(self.vhost, "V").replace(self.node, "<node>"))

    # -- connections

    def connect(self, **how: Any) -> Connection:
        """A new connection to the vhost."""
        self._connections.append(Connection(self, **how))
        return self._connections[-1]

    def channel(self, **how: Any) -> Channel:
        """A channel on a new connection."""
        return self.connect(**how).channel()

    @property
    def ch(self) -> Channel:
        """The channel that a scenario uses unless it needs several."""
        if self._first is None:
            self._first = self.channel()
        return self._first

    def revive(self, channel: Channel) -> None:
        """Opens a channel again that the broker closed, on a new connection if that is gone too."""
        if channel.connection.closed:
            channel.connection.drop()
            replacement = self.connect()
            replacement.channels[channel.number] = channel
            channel.connection = replacement
        channel.open()

    # -- what is not AMQP

    def path(self, *segments: str) -> str:
        """A path of the HTTP API whose second segment is the vhost."""
        kind, *names = segments
        return "/" + "/".join([kind, segment(self.vhost), *map(segment, names)])

    def policy(self, name: str, definition: dict, pattern: str = ".*", apply_to: str = "queues", priority: int = 0, operator: bool = False) -> int:
        """Sets a policy, which must be accepted; queues know it when this returns, or a moment later."""
        return self.ask_for_policy(name, definition, pattern, apply_to, priority, operator).expect(201, 204).status

    def ask_for_policy(self, name: str, definition: dict, pattern: str = ".*", apply_to: str = "queues", priority: int = 0, operator: bool = False) -> Answer:
        """Sets a policy that may be refused."""
        body = {"pattern": pattern, "definition": definition, "apply-to": apply_to, "priority": priority}
        return self.api.put(self.path("operator-policies" if operator else "policies", name), body)

    def drop_policy(self, name: str) -> None:
        self.api.delete(self.path("policies", name)).expect(204)

    def exists(self, queue: str) -> bool:
        """Whether there is such a queue, asked without touching it."""
        return self.api.get(self.path("queues", queue) + "?columns=name").status == 200

    def await_gone(self, queue: str, within: float = WAIT_S) -> bool:
        """Whether the queue is gone in time."""
        return self.eventually(lambda: not self.exists(queue), within)

    def eventually(self, holds: Callable[[], Any], within: float = WAIT_S) -> bool:
        """Whether it holds in time."""
        until = time.monotonic() + within
        while not holds():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def user(self, name: str, configure: str = ".*", write: str = ".*", read: str = ".*") -> dict[str, str]:
        """A user with these permissions; what `channel` needs to be that user."""
        full = f"{self.vhost}-{name}"
        self._users.append(full)
        self.api.put(f"/users/{segment(full)}", {"password": full, "tags": ""}).expect(201, 204)
        self.api.put(self.path("permissions", full), {"configure": configure, "write": write, "read": read}).expect(201, 204)
        return {"user": full, "password": full}

    def queue_arguments(self, queue: str) -> Any:
        """The arguments that the HTTP API shows."""
        return self.api.get(self.path("queues", queue) + "?columns=arguments,type").expect(200).json


def _with_arguments(how: dict) -> dict:
    """`x_message_ttl=5` as the argument x-message-ttl."""
    named = {key: value for key, value in how.items() if key.startswith("x_")}
    rest = {key: value for key, value in how.items() if key not in named}
    return {**rest, "arguments": {**rest.get("arguments", {}), **{key.replace("_", "-"): value for key, value in named.items()}}}


def as_json(transcript: dict[str, Any]) -> str:
    """A transcript, a line for each step, so that differences can be read."""
    steps = [f"  {json.dumps(step, ensure_ascii=False)}: {json.dumps(seen, ensure_ascii=False)}" for step, seen in transcript.items()]
    return "{\n" + ",\n".join(steps) + "\n }"
