"""Who may do what: every request as users of each tag, with and without permission for the vhost; every AMQP method with each permission.

A table is a text file in golden: recorded from RabbitMQ, read by people, compared by test_access.py.
"""

import re
from contextlib import suppress
from pathlib import Path

from blackbox.broker import Broker
from blackbox.management import Answer, Management, segment
from blackbox.wire import Closed, Wire
from settling import eventually

GOLDEN = Path(__file__).resolve().parent / "golden"
VHOST = "api-access"
EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}
TAGS = ["none", "management", "policymaker", "monitoring", "administrator"]
# `-` has no permission for the vhost, `+` has all.
COLUMNS = [tag + sign for tag in TAGS for sign in "-+"]
# Of a 401: which of RabbitMQ's sentences came with it.
REASONS = {
    "Not management user": "m", "Not monitor user": "o", "Not administrator user": "a", "User not authorised to access object": "u", "Access refused.": "r",
    "Not_Authorized": "n", "Not policymaker user": "p",
}  # fmt: skip

QUEUE, EXCHANGE, OTHER_USER, OTHER_VHOST = "/queues/{vhost}/q", "/exchanges/{vhost}/x", "/users/api-other", "/vhosts/api-other"
POLICY = {"pattern": "^nothing$", "definition": {"queue-version": 2}, "apply-to": "queues"}
_BINDING = "/bindings/{vhost}/e/x/q/q"
_MESSAGE = {"properties": {}, "routing_key": "k", "payload": "x", "payload_encoding": "string"}
# What a request needs to find, made anew before each: paths and bodies of PUTs.
PREPARED = {
    "queue": [(QUEUE, {"durable": True})],
    "exchange": [(EXCHANGE, {"type": "direct", "durable": True})],
    "user": [(OTHER_USER, {"password": "x", "tags": ""})],
    "vhost": [(OTHER_VHOST, {})],
    "permission": [("/permissions/{vhost}/api-other", EVERYTHING)],
    "topic permission": [("/topic-permissions/{vhost}/api-other", {"exchange": "amq.topic", "write": "", "read": ""})],
    "policy": [("/policies/{vhost}/p", POLICY)],
    "operator policy": [("/operator-policies/{vhost}/p", POLICY)],
    "vhost limit": [("/vhost-limits/{vhost}/max-queues", {"value": 100})],
    "user limit": [("/user-limits/api-other/max-channels", {"value": 100})],
    "global parameter": [("/global-parameters/api-other", {"value": 1})],
}

# Method, path, and for those that change something the body and what must be there before.
READS = """
/overview /whoami /version /cluster-name /nodes /nodes/{node} /nodes/{node}/memory /feature-flags /deprecated-features /deprecated-features/used /extensions
/config/effective /definitions /definitions/{vhost} /connections /connections/{connection} /connections/{connection}/channels /connections/nosuch
/connections/username/api-other /channels /channels/{channel} /channels/nosuch /consumers /consumers/{vhost} /exchanges /exchanges/{vhost} /exchanges/{vhost}/x
/exchanges/{vhost}/nosuch /exchanges/{vhost}/x/bindings/source /exchanges/{vhost}/x/bindings/destination /queues /queues/detailed /queues/{vhost} /queues/{vhost}/q
/queues/{vhost}/nosuch /queues/nosuch /queues/{vhost}/q/bindings /bindings /bindings/{vhost} /bindings/{vhost}/e/x/q/q /bindings/{vhost}/e/x/q/q/nosuch /vhosts
/vhosts/{vhost} /vhosts/nosuch /vhosts/{vhost}/permissions /vhosts/{vhost}/topic-permissions /vhosts/{vhost}/connections /vhosts/{vhost}/channels /users
/users/api-other /users/nosuch /users/without-permissions /users/api-other/permissions /users/api-other/topic-permissions /users/api-other/queues /permissions
/permissions/{vhost}/api-other /topic-permissions /topic-permissions/{vhost}/api-other /topic-permissions/{vhost}/api-other/amq.topic /policies /policies/{vhost}
/policies/{vhost}/p /operator-policies /operator-policies/{vhost} /operator-policies/{vhost}/p /parameters /parameters/vhost-limits /parameters/vhost-limits/{vhost}
/parameters/vhost-limits/{vhost}/limits /global-parameters /global-parameters/api-other /vhost-limits /vhost-limits/{vhost} /user-limits /user-limits/api-other
/health/checks/alarms /health/checks/local-alarms /health/checks/virtual-hosts /health/checks/port-listener/{port} /health/checks/protocol-listener/amqp
/health/checks/is-in-service /health/checks/ready-to-serve-clients /health/checks/certificate-expiration/1/days /health/checks/node-is-quorum-critical
/healthchecks/node /aliveness-test/{vhost} /auth/attempts/{node} /auth/attempts/{node}/source /auth/hash_password/secret /nosuch
""".split()
WRITES = [
    ("PUT", QUEUE, {"durable": True}, ["queue"]),
    ("DELETE", QUEUE, None, ["queue"]),
    ("DELETE", QUEUE + "/contents", None, ["queue"]),
    ("POST", QUEUE + "/get", {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"}, ["queue"]),
    ("POST", QUEUE + "/actions", {"action": "nosuch"}, ["queue"]),
    ("PUT", EXCHANGE, {"type": "direct", "durable": True}, ["exchange"]),
    ("DELETE", EXCHANGE, None, ["exchange"]),
    ("POST", EXCHANGE + "/publish", _MESSAGE, ["exchange"]),
    ("POST", _BINDING, {"routing_key": "k"}, ["queue", "exchange"]),
    ("DELETE", _BINDING + "/k", None, ["queue", "exchange", "binding"]),
    ("DELETE", "/connections/{connection}", None, ["connection"]),
    ("DELETE", "/connections/nosuch", None, []),
    ("DELETE", "/connections/username/api-other", None, ["user"]),
    ("PUT", OTHER_VHOST, {}, ["vhost"]),
    ("DELETE", OTHER_VHOST, None, ["vhost"]),
    ("POST", OTHER_VHOST + "/deletion/protection", None, ["vhost"]),
    ("DELETE", OTHER_VHOST + "/deletion/protection", None, ["vhost"]),
    ("POST", OTHER_VHOST + "/start/{node}", None, ["vhost"]),
    ("PUT", OTHER_USER, {"password": "x", "tags": ""}, ["user"]),
    ("DELETE", OTHER_USER, None, ["user"]),
    ("POST", "/users/bulk-delete", {"users": ["api-other"]}, ["user"]),
    ("PUT", "/permissions/{vhost}/api-other", EVERYTHING, ["user", "permission"]),
    ("DELETE", "/permissions/{vhost}/api-other", None, ["user", "permission"]),
    ("PUT", "/topic-permissions/{vhost}/api-other", {"exchange": "amq.topic", "write": "", "read": ""}, ["user", "topic permission"]),
    ("DELETE", "/topic-permissions/{vhost}/api-other", None, ["user", "topic permission"]),
    ("DELETE", "/topic-permissions/{vhost}/api-other/amq.topic", None, ["user", "topic permission"]),
    ("PUT", "/policies/{vhost}/p", POLICY, ["policy"]),
    ("DELETE", "/policies/{vhost}/p", None, ["policy"]),
    ("PUT", "/operator-policies/{vhost}/p", POLICY, ["operator policy"]),
    ("DELETE", "/operator-policies/{vhost}/p", None, ["operator policy"]),
    ("PUT", "/parameters/vhost-limits/{vhost}/limits", {"value": {"max-queues": 100}}, ["vhost limit"]),
    ("DELETE", "/parameters/vhost-limits/{vhost}/limits", None, ["vhost limit"]),
    ("PUT", "/global-parameters/api-other", {"value": 1}, ["global parameter"]),
    ("DELETE", "/global-parameters/api-other", None, ["global parameter"]),
    ("PUT", "/vhost-limits/{vhost}/max-queues", {"value": 100}, ["vhost limit"]),
    ("DELETE", "/vhost-limits/{vhost}/max-queues", None, ["vhost limit"]),
    ("PUT", "/user-limits/api-other/max-channels", {"value": 100}, ["user", "user limit"]),
    ("DELETE", "/user-limits/api-other/max-channels", None, ["user", "user limit"]),
    ("PUT", "/cluster-name", {"name": "api-access"}, []),
    ("PUT", "/feature-flags/nosuch/enable", {}, []),
    ("POST", "/definitions", {}, []),
    ("POST", "/definitions/{vhost}", {}, []),
    ("DELETE", "/auth/attempts/{node}", None, []),
    ("DELETE", "/reset", None, []),
    ("POST", "/rebalance/queues", None, []),
]
ROWS = [("GET", path, None, []) for path in READS] + WRITES


class World:
    """The vhost, the users of all tags, and a connection to look at or to close."""

    def __init__(self, broker: Broker):
        self.broker, self.api = broker, broker.management
        self.wires: list[Wire] = []

    def __enter__(self) -> "World":
        self.cluster_name = self.api.get("/cluster-name").json["name"]
        self.api.put(f"/vhosts/{VHOST}", {}).expect(201)
        self.api.put(f"/permissions/{VHOST}/{self.api.user}", EVERYTHING).expect(201, 204)
        for column in COLUMNS:
            self.api.put(f"/users/{_user(column)}", {"password": _user(column), "tags": "" if column.startswith("none") else column[:-1]}).expect(201)
            if column.endswith("+"):
                self.api.put(f"/permissions/{VHOST}/{_user(column)}", EVERYTHING).expect(201)
        self.names = {"vhost": VHOST, "port": str(self.broker.port), "node": segment(self.api.get("/overview").json["node"])}
        self._open()
        for needed in PREPARED:
            self._prepare(needed)
        self._prepare("binding")
        return self

    def __exit__(self, *_: object) -> None:
        for wire in self.wires:
            wire.drop()
        for path in (f"/vhosts/{VHOST}", OTHER_VHOST, OTHER_USER, "/global-parameters/api-other", *(f"/users/{_user(column)}" for column in COLUMNS)):
            with suppress(OSError):
                self.api.delete(path)
        self.api.put("/cluster-name", {"name": self.cluster_name})

    def outcomes(self, method: str, path: str, body: object, needed: list[str]) -> str:
        """A row of the table: what each column's user gets."""
        cells = []
        for column in COLUMNS:
            for each in needed:
                self._prepare(each)
            caller = self.api.as_user(_user(column))
            cells.append(_cell(self._call(caller, method, path, body)))
        return " ".join(f"{cell:5}" for cell in cells).rstrip()

    def _call(self, caller: Management, method: str, path: str, body: object) -> Answer:
        path = path.format(**self.names)
        return caller.call(method, path) if body is None else caller.call(method, path, body)

    def _prepare(self, what: str) -> None:
        if what == "connection":
            self._open()
        elif what == "binding":
            self._call(self.api, "POST", _BINDING, {"routing_key": "k"}).expect(201)
        for path, body in PREPARED.get(what, []):
            self._call(self.api, "PUT", path, body).expect(201, 204)

    def _open(self) -> None:
        wire = self.broker.wire(virtual_host=VHOST)
        self.wires.append(wire)
        self.names |= {"connection": segment(wire.name), "channel": segment(f"{wire.name} (1)")}
        eventually(self.broker, lambda: self.api.get(f"/connections/{self.names['connection']}").expect(200))


def _user(column: str) -> str:
    return f"api-{column[:-1]}-{'with' if column.endswith('+') else 'without'}"


def _cell(answer: Answer) -> str:
    if answer.status != 401:
        return str(answer.status)
    return "401" + REASONS.get(answer.reason, "?")


# -- AMQP

PERMISSIONS = {
    "none": {"configure": "", "write": "", "read": ""},
    "configure": {"configure": ".*", "write": "", "read": ""},
    "write": {"configure": "", "write": ".*", "read": ""},
    "read": {"configure": "", "write": "", "read": ".*"},
    "configure+read": {"configure": ".*", "write": "", "read": ".*"},
    "write+read": {"configure": "", "write": ".*", "read": ".*"},
    "all": EVERYTHING,
}
METHODS = [
    ("queue.declare", {"queue": "new", "durable": True}),
    ("queue.declare", {"queue": "", "exclusive": True}),
    ("queue.declare", {"queue": "q", "passive": True}),
    ("queue.declare", {"queue": "nosuch", "passive": True}),
    ("queue.declare", {"queue": "dead", "durable": True, "arguments": {"x-dead-letter-exchange": "amq.fanout"}}),
    ("queue.delete", {"queue": "q"}),
    ("queue.delete", {"queue": "nosuch"}),
    ("queue.purge", {"queue": "q"}),
    ("queue.purge", {"queue": "nosuch"}),
    ("queue.bind", {"queue": "q", "exchange": "x", "routing_key": "k"}),
    ("queue.bind", {"queue": "q", "exchange": "amq.topic", "routing_key": "k"}),
    ("queue.unbind", {"queue": "q", "exchange": "x", "routing_key": "k"}),
    ("exchange.declare", {"exchange": "new", "type": "direct", "durable": True}),
    ("exchange.declare", {"exchange": "x", "type": "direct", "passive": True}),
    ("exchange.declare", {"exchange": "nosuch", "type": "direct", "passive": True}),
    ("exchange.declare", {"exchange": "alternate", "type": "direct", "arguments": {"alternate-exchange": "amq.fanout"}}),
    ("exchange.delete", {"exchange": "x"}),
    ("exchange.delete", {"exchange": "nosuch"}),
    ("exchange.bind", {"destination": "amq.fanout", "source": "x", "routing_key": "k"}),
    ("exchange.unbind", {"destination": "amq.fanout", "source": "x", "routing_key": "k"}),
    ("basic.publish", {"exchange": "x", "routing_key": "k"}),
    ("basic.publish", {"exchange": "", "routing_key": "q"}),
    ("basic.publish", {"exchange": "nosuch", "routing_key": "k"}),
    ("basic.get", {"queue": "q", "no_ack": True}),
    ("basic.get", {"queue": "nosuch", "no_ack": True}),
    ("basic.consume", {"queue": "q"}),
    ("basic.consume", {"queue": "nosuch"}),
    ("basic.qos", {"prefetch_count": 1}),
    ("tx.select", {}),
    ("confirm.select", {}),
]
MEMBER, METHODS_VHOST = "api-member", "api-methods"


def describe(method: str, arguments: dict) -> str:
    """A method as a line of the table."""
    return " ".join([method, *(f"{key}={value!r}" for key, value in arguments.items())])


def method_outcome(broker: Broker, permission: dict, method: str, arguments: dict) -> str:
    """`ok`, or the code and text of what was closed, for a user with that permission."""
    api = broker.management
    api.put(f"/vhosts/{METHODS_VHOST}", {}).expect(201, 204)
    try:
        api.put(f"/users/{MEMBER}", {"password": MEMBER, "tags": ""}).expect(201, 204)
        for user, granted in ((api.user, EVERYTHING), (MEMBER, permission)):
            api.put(f"/permissions/{METHODS_VHOST}/{user}", granted).expect(201, 204)
        api.put(f"/queues/{METHODS_VHOST}/q", {"durable": True}).expect(201, 204)
        api.put(f"/exchanges/{METHODS_VHOST}/x", {"type": "direct", "durable": True}).expect(201, 204)
        with broker.wire(user=MEMBER, password=MEMBER, virtual_host=METHODS_VHOST) as wire:
            return outcome(wire, method, arguments)
    finally:
        api.delete(f"/vhosts/{METHODS_VHOST}")
        api.delete(f"/users/{MEMBER}")


def outcome(wire: Wire, method: str, arguments: dict) -> str:
    """What one method on channel 1 leads to."""
    if method == "basic.publish":
        wire.publish(1, arguments["exchange"], arguments["routing_key"], b"x")
        # It has no answer of its own; whatever comes before this one's answer is about the publish.
        wire.send_method(1, "basic.qos", prefetch_count=0)
    else:
        wire.send_method(1, method, **arguments)
    try:
        got = wire.read()
        # Who may not read any more loses its consumers on Warren, and is told so before anything else.
        while got.name == "basic.cancel":
            got = wire.read()
    except Closed:
        return "the connection ended"
    if got.name in ("channel.close", "connection.close"):
        return re.sub(r"amq\.gen-[^']*", "amq.gen-…", f"{got.name} {got.reply_code} {got.reply_text}")
    return "ok"
