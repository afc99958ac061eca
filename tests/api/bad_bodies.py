"""Bodies that are no JSON, and JSON of the wrong type at every field of every request that takes a body: `golden/bad_bodies.txt`."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

from access import EVERYTHING, GOLDEN
from blackbox.broker import Broker
from blackbox.management import Answer

VHOST = "api-bad"
TABLE = GOLDEN / "bad_bodies.txt"
MISSING = object()


class Target(NamedTuple):
    """A request with a body that is right; `made` is what it makes, deleted before each case."""

    method: str
    path: str
    body: dict
    made: str | None = None


TARGETS = [
    Target("PUT", "/queues/api-bad/new", {"durable": True, "auto_delete": False, "arguments": {"x-house": 1}}, "/queues/api-bad/new"),
    Target("POST", "/queues/api-bad/q/get", {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto", "truncate": 10}),
    Target("POST", "/queues/api-bad/q/actions", {"action": "nosuch"}),
    Target("PUT", "/exchanges/api-bad/new", {"type": "direct", "durable": True, "auto_delete": False, "internal": False, "arguments": {}}, "/exchanges/api-bad/new"),
    Target("POST", "/exchanges/api-bad/x/publish", {"properties": {"priority": 1}, "routing_key": "k", "payload": "x", "payload_encoding": "string"}),
    Target("POST", "/bindings/api-bad/e/x/q/q", {"routing_key": "k", "arguments": {}}),
    Target("PUT", "/vhosts/api-bad-new", {"description": "d", "tags": "a", "default_queue_type": "classic", "tracing": False}, "/vhosts/api-bad-new"),
    Target("PUT", "/users/api-bad-new", {"password": "p", "tags": "a"}, "/users/api-bad-new"),
    Target("PUT", "/users/api-bad-new", {"password_hash": "", "tags": ["a"]}, "/users/api-bad-new"),
    Target("POST", "/users/bulk-delete", {"users": ["api-bad-nobody"]}),
    Target("PUT", "/permissions/api-bad/api-bad-user", EVERYTHING),
    Target("PUT", "/topic-permissions/api-bad/api-bad-user", {"exchange": "amq.topic", "write": "", "read": ""}, "/topic-permissions/api-bad/api-bad-user"),
    Target("PUT", "/policies/api-bad/new", {"pattern": "^n$", "definition": {"queue-version": 2}, "priority": 1, "apply-to": "queues"}, "/policies/api-bad/new"),
    Target("PUT", "/operator-policies/api-bad/new", {"pattern": "^n$", "definition": {"queue-version": 2}, "priority": 1, "apply-to": "queues"}, "/operator-policies/api-bad/new"),
    Target("PUT", "/parameters/vhost-limits/api-bad/limits", {"value": {"max-queues": 100}}),
    Target("PUT", "/global-parameters/api-bad", {"value": 1}, "/global-parameters/api-bad"),
    Target("PUT", "/vhost-limits/api-bad/max-queues", {"value": 100}),
    Target("PUT", "/user-limits/api-bad-user/max-channels", {"value": 100}),
    Target("POST", "/definitions", {"users": [], "vhosts": [], "permissions": [], "topic_permissions": [], "parameters": [], "global_parameters": [], "policies": [], "queues": [], "exchanges": [], "bindings": []}),
    Target("POST", "/definitions/api-bad", {"queues": [], "exchanges": [], "bindings": [], "policies": []}),
]  # fmt: skip
# The first entry of each list of definitions, which is mutated field by field.
IMPORTED = {
    "users": {"name": "api-bad-new", "password_hash": "", "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": ["a"]},
    "vhosts": {"name": "api-bad-new"},
    "permissions": {"user": "api-bad-user", "vhost": "api-bad", **EVERYTHING},
    "topic_permissions": {"user": "api-bad-user", "vhost": "api-bad", "exchange": "amq.topic", "write": "", "read": ""},
    "parameters": {"component": "operator_policy", "vhost": "api-bad", "name": "new", "value": {"pattern": "^n$", "definition": {"queue-version": 2}, "priority": 1, "apply-to": "queues"}},
    "global_parameters": {"name": "api-bad", "value": 1},
    "policies": {"vhost": "api-bad", "name": "new", "pattern": "^n$", "definition": {"queue-version": 2}, "priority": 1, "apply-to": "queues"},
    "queues": {"name": "new", "vhost": "api-bad", "durable": True, "auto_delete": False, "arguments": {}},
    "exchanges": {"name": "new", "vhost": "api-bad", "type": "direct", "durable": True, "auto_delete": False, "internal": False, "arguments": {}},
    "bindings": {"source": "x", "vhost": "api-bad", "destination": "q", "destination_type": "queue", "routing_key": "k", "arguments": {}},
}
VALUES: list[Any] = [MISSING, None, True, 5, 1.5, -1, "", "x", [], [[]], {}, {"a": None}]
DEPTH = 100_000
NOT_JSON = {
    "nothing": b"",
    "half an object": b"{",
    "two values": b"{} {}",
    "an array": b"[]",
    "a string": b'"x"',
    "a number": b"5",
    "null": b"null",
    "not UTF-8": b'{"a": "\xff"}',
    "half a surrogate": b'{"a": "\\ud800"}',
    "a NUL": b"{}\0",
    "single quotes": b"{'a': 1}",
    "a number without end": b'{"a": ' + b"9" * 10_000 + b"}",
    "deeper than anybody means": b"[" * DEPTH + b"]" * DEPTH,
    "objects deeper than anybody means": b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
}


class Case(NamedTuple):
    """One bad request and its name in the table."""

    name: str
    target: Target
    body: bytes

    @property
    def may_poison(self) -> bool:
        """RabbitMQ stores limits of any type, and then much in the vhost fails."""
        return "limits" in self.target.path


def cases() -> Iterator[Case]:
    """Every case, named as in the table."""
    for target in TARGETS:
        request = f"{target.method} {target.path}" + (" (hash)" if "password_hash" in target.body else "")
        for name, body in NOT_JSON.items():
            yield Case(f"{request} {name}", target, body)
        for field in target.body:
            for value in VALUES:
                yield _case(request, target, field, value, _with(target.body, field, value))
    definitions = next(target for target in TARGETS if target.path == "/definitions")
    for kind, entry in IMPORTED.items():
        for field in entry:
            for value in VALUES:
                yield _case("POST /definitions", definitions, f"{kind}[].{field}", value, {kind: [_with(entry, field, value)]})


def _case(request: str, target: Target, field: str, value: Any, body: dict) -> Case:
    return Case(f"{request} {field}={'nothing' if value is MISSING else json.dumps(value)}", target, json.dumps(body).encode())


def _with(body: dict, field: str, value: Any) -> dict:
    return {key: value if key == field else other for key, other in body.items() if key != field or value is not MISSING}


class Place:
    """The vhost that the cases are about."""

    def __init__(self, broker: Broker):
        self.api = broker.management

    def __enter__(self) -> "Place":
        self._make()
        return self

    def _make(self) -> None:
        self.api.put(f"/vhosts/{VHOST}", {}).expect(201)
        self.api.put("/users/api-bad-user", {"password": "x", "tags": ""}).expect(201)
        for user in (self.api.user, "api-bad-user"):
            self.api.put(f"/permissions/{VHOST}/{user}", EVERYTHING).expect(201, 204)
        self.api.put(f"/queues/{VHOST}/q", {"durable": True}).expect(201)
        self.api.put(f"/exchanges/{VHOST}/x", {"type": "direct", "durable": True}).expect(201)

    def __exit__(self, *_: object) -> None:
        # RabbitMQ cannot delete a vhost whose limits make no sense.
        limits = f"/parameters/vhost-limits/{VHOST}/limits"
        for path in (limits, f"/vhosts/{VHOST}", "/vhosts/api-bad-new", "/vhosts/x", "/users/api-bad-user", "/users/api-bad-new", "/users/x", "/global-parameters/api-bad", "/global-parameters/x"):
            with suppress(OSError):
                self.api.delete(path)

    def send(self, case: Case) -> Answer:
        if case.target.made:
            self.api.delete(case.target.made).expect(204, 404)
        answer = self.api.call(case.target.method, case.target.path, case.body)
        if case.may_poison:
            self.__exit__()
            self._make()
        return answer


def send_all(broker: Broker, wanted: Iterable[Case]) -> Iterator[tuple[Case, Answer]]:
    """Sends cases, those of each request in a place of their own: they come the same whichever are chosen."""
    for _, group in groupby(wanted, key=lambda case: (case.target.method, case.target.path)):
        with Place(broker) as place:
            for case in group:
                yield case, place.send(case)


def recorded() -> dict[str, int]:
    """What RabbitMQ answers, by the cases' names."""
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return {name: int(status) for name, status in (line.rsplit("  →  ", 1) for line in lines)}
