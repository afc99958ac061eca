"""A broker full of things to list: made over HTTP and AMQP, the same on every broker, and gone afterwards.

Nothing here is about message rules (time to live, length limits and so on): listings print arguments and policies whatever these do.
"""

from contextlib import suppress

from blackbox.broker import Broker
from blackbox.management import segment
from blackbox.wire import Wire

SHOP = "api-shop"
ODD = "api odd/name"
EMPTY = "api-empty"
ALICE = "api-alice"
USERS = {ALICE: "administrator", "api-mona": "monitoring", "api-polly": "policymaker", "api-manny": "management,other", "api-nobody": ""}
EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}
PROPERTIES = {
    "content_type": "text/plain", "content_encoding": "utf-8", "headers": {"n": 1, "t": True, "l": [1, "x"]}, "delivery_mode": 2, "priority": 1, "correlation_id": "c",
    "reply_to": "r", "message_id": "m", "timestamp": 1_700_000_000, "type": "t", "app_id": "a",
}  # fmt: skip
GLOBAL_PARAMETERS = {"api-house": {"rooms": [1, None, "x"]}, "api-number": 5}


class State:
    """What was made: `names` fills the placeholders of paths."""

    def __init__(self, broker: Broker):
        self.broker, self.api = broker, broker.management
        self.wires: list[Wire] = []

    def make(self) -> "State":
        self._make_definitions()
        self._make_clients()
        self.names = {
            "node": segment(self.api.get("/overview").expect(200).json["node"]), "port": str(self.broker.port), "shop": SHOP, "odd": segment(ODD), "alice": ALICE,
            "connection": segment(self.wires[0].name), "publisher": segment(f"{self.wires[0].name} (1)"),
            "consumer": segment(f"{self.wires[0].name} (2)"), "transactional": segment(f"{self.wires[1].name} (1)"),
            "key": segment(self._key_of_binding_with_arguments()),
        }  # fmt: skip
        return self

    def _put(self, path: str, body: object) -> None:
        self.api.put(path, body).expect(201, 204)

    def _make_definitions(self) -> None:
        self._put(f"/vhosts/{SHOP}", {"description": "a shop", "tags": "production,eu", "default_queue_type": "classic"})
        self._put(f"/vhosts/{segment(ODD)}", {"description": "a name that must be escaped"})
        self._put(f"/vhosts/{EMPTY}", {})
        for user, tags in USERS.items():
            self._put(f"/users/{user}", {"password": user, "tags": tags})
            self._put(f"/permissions/{SHOP}/{user}", EVERYTHING)
        self._put("/users/api-locked", {"password_hash": "", "tags": []})
        for vhost in (SHOP, segment(ODD), EMPTY):
            self._put(f"/permissions/{vhost}/{self.api.user}", EVERYTHING)
        self._put(f"/exchanges/{SHOP}/events", {"type": "topic", "durable": True, "arguments": {"alternate-exchange": "unrouted"}})
        self._put(f"/exchanges/{SHOP}/unrouted", {"type": "fanout", "durable": True})
        self._put(f"/exchanges/{SHOP}/inner", {"type": "direct", "durable": True, "internal": True})
        self._put(f"/exchanges/{SHOP}/temporary", {"type": "headers", "durable": False, "auto_delete": True})
        for queue, arguments in (("orders", {"x-house": "red"}), ("unrouted", {}), ("idle", {}), ("reports", {"x-house": "blue"})):
            self._put(f"/queues/{SHOP}/{queue}", {"durable": True, "arguments": arguments})
        self._put(f"/queues/{segment(ODD)}/{segment('q/ü +')}", {"durable": True})
        for source, kind, destination, binding in (
            ("events", "q", "orders", {"routing_key": "order.#"}), ("events", "q", "orders", {"routing_key": "a/b c", "arguments": {"x": 1}}), ("unrouted", "q", "unrouted", {}),
            ("temporary", "q", "orders", {"arguments": {"x-match": "any", "k": "v"}}), ("events", "e", "inner", {"routing_key": "in.*"}), ("inner", "q", "idle", {"routing_key": "in.x"}),
        ):  # fmt: skip
            self.api.post(f"/bindings/{SHOP}/e/{source}/{kind}/{destination}", binding).expect(201)
        self._put(f"/topic-permissions/{SHOP}/{ALICE}", {"exchange": "amq.topic", "write": "^a", "read": "^b"})
        self._put(f"/topic-permissions/{SHOP}/{ALICE}", {"exchange": "events", "write": ".*", "read": ".*"})
        self._put(f"/vhost-limits/{SHOP}/max-connections", {"value": 500})
        self._put(f"/vhost-limits/{SHOP}/max-queues", {"value": 100})
        self._put(f"/user-limits/{ALICE}/max-connections", {"value": 50})
        self._put(f"/user-limits/{ALICE}/max-channels", {"value": 1000})
        self._put(f"/policies/{SHOP}/long", {"pattern": "^orders$", "definition": {"queue-version": 2}, "priority": 5, "apply-to": "queues"})
        self._put(f"/policies/{SHOP}/other", {"pattern": "^events$", "definition": {"alternate-exchange": "amq.fanout"}, "apply-to": "exchanges"})
        self._put(f"/operator-policies/{SHOP}/cap", {"pattern": "^(orders|idle)$", "definition": {"queue-version": 1}, "priority": 1, "apply-to": "queues"})
        for name, value in GLOBAL_PARAMETERS.items():
            self._put(f"/global-parameters/{name}", {"value": value})

    def _make_clients(self) -> None:
        shop = self._open(ALICE, ALICE, SHOP, 2)
        shop.call(1, "confirm.select")
        for _ in range(10):
            self._publish_confirmed(shop, "", "orders", **PROPERTIES)
        self._publish_confirmed(shop, "events", "nowhere")
        shop.publish(1, "amq.direct", "nowhere", b"returned", mandatory=True)
        shop.expect_message("basic.return")
        shop.expect("basic.ack", 1)
        for queue, no_ack in (("orders", False), ("orders", True)):
            shop.send_method(1, "basic.get", queue=queue, no_ack=no_ack)
            shop.expect_message("basic.get-ok")
        shop.send_method(1, "basic.get", queue="idle", no_ack=False)
        shop.expect("basic.get-empty")
        shop.call(2, "basic.qos", prefetch_count=4)
        shop.call(2, "basic.consume", queue="orders", consumer_tag="taker", arguments={"x-priority": 3})
        for _ in range(4):
            last = shop.expect_message()
        shop.send_method(2, "basic.ack", delivery_tag=last.method.delivery_tag - 2, multiple=True)
        for _ in range(2):
            shop.expect_message()
        shop.call(2, "queue.declare", queue="own", exclusive=True)
        shop.call(2, "queue.declare", queue="passing", auto_delete=True, durable=True)
        shop.call(2, "queue.bind", queue="passing", exchange="amq.fanout")
        self._publish_confirmed(shop, "amq.fanout", "")
        shop.call(2, "basic.consume", queue="passing", consumer_tag="only", exclusive=True, no_ack=True)
        shop.expect_message()
        shop.call(2, "basic.consume", queue="reports", consumer_tag="reader")

        odd = self._open(self.api.user, self.api.password, ODD, 1)
        odd.call(1, "tx.select")
        odd.publish(1, "", "q/ü +", b"not committed")
        odd.call(1, "basic.qos", prefetch_count=7)

    def _open(self, user: str, password: str, vhost: str, channels: int) -> Wire:
        wire = Wire(self.broker.address)
        self.wires.append(wire)
        wire.login(user=user, password=password, properties={"connection_name": f"{user} at work", "version": "1"})
        wire.expect("connection.tune")
        wire.send_method(0, "connection.tune-ok", channel_max=100, frame_max=131072, heartbeat=0)
        wire.send_method(0, "connection.open", virtual_host=vhost)
        wire.expect("connection.open-ok")
        for channel in range(1, channels + 1):
            wire.call(channel, "channel.open")
        return wire

    def _publish_confirmed(self, wire: Wire, exchange: str, key: str, **properties) -> None:
        wire.publish(1, exchange, key, b"a message", **properties)
        wire.expect("basic.ack", 1)

    def _key_of_binding_with_arguments(self) -> str:
        bindings = self.api.get(f"/bindings/{SHOP}/e/events/q/orders").expect(200).json
        return next(binding["properties_key"] for binding in bindings if binding["arguments"])

    def remove(self) -> None:
        for wire in self.wires:
            wire.drop()
        for vhost in (SHOP, ODD, EMPTY):
            with suppress(OSError):
                self.api.delete(f"/vhosts/{segment(vhost)}")
        for user in (*USERS, "api-locked"):
            with suppress(OSError):
                self.api.delete(f"/users/{user}")
        for name in GLOBAL_PARAMETERS:
            with suppress(OSError):
                self.api.delete(f"/global-parameters/{name}")

    def __enter__(self) -> "State":
        try:
            return self.make()
        except BaseException:
            self.remove()
            raise

    def __exit__(self, *_: object) -> None:
        self.remove()
