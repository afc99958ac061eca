"""Documents of definitions, as large as somebody wants them, and whether a broker has what is in one.

A document is what RabbitMQ exports: an object with a list for each kind. All names are new ones, so that a fresh broker has what it has by itself,
and the document.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

Document = dict[str, list[dict[str, Any]]]
Objects = dict[str, set[str]]

KINDS = ["users", "vhosts", "permissions", "topic_permissions", "parameters", "global_parameters", "policies", "queues", "exchanges", "bindings"]
LARGE = 10_000
USERS_PER_VHOST = 3


def queues_and_bindings(count: int = LARGE) -> Document:
    """One vhost; for every exchange 49 queues, each bound to it once."""
    groups = count // 99
    document = _vhosts(1)
    for group in range(groups):
        _add(document, "exchanges", _exchange(0, group))
        for number in range(group * 49, group * 49 + 49):
            _add(document, "queues", _queue(0, number))
            _add(document, "bindings", _binding(0, group, number))
    return _filled(document, count, lambda number: ("queues", _queue(0, groups * 49 + number)))


def users_and_vhosts(count: int = LARGE) -> Document:
    """For every vhost three users, who have permissions in it, one of them for topics too."""
    groups = count // (1 + 2 * USERS_PER_VHOST + 1)
    document = _vhosts(groups)
    for vhost in range(groups):
        for number in range(USERS_PER_VHOST):
            user = f"user-{vhost}-{number}"
            _add(document, "users", _user(user))
            _add(document, "permissions", {"user": user, "vhost": _vhost(vhost), "configure": f"^{user}\\.", "write": ".*", "read": "^(a|b)\\."})
        _add(document, "topic_permissions", {"user": f"user-{vhost}-0", "vhost": _vhost(vhost), "exchange": "amq.topic", "write": "^{username}\\.", "read": ".*"})
    return _filled(document, count, lambda number: ("users", _user(f"more-{number}")))


def mixed(count: int = LARGE) -> Document:
    """Something of everything, in vhosts of fifty queues each, and 155 objects altogether."""
    groups = count // 156
    document = _vhosts(groups)
    for vhost in range(groups):
        name = _vhost(vhost)
        for number in range(5):
            user = f"user-{vhost}-{number}"
            _add(document, "users", _user(user))
            _add(document, "permissions", {"user": user, "vhost": name, "configure": "", "write": ".*", "read": f"^queue-{number}"})
        _add(document, "topic_permissions", {"user": f"user-{vhost}-0", "vhost": name, "exchange": "exchange-0", "write": ".*", "read": "^a\\."})
        _add(document, "parameters", {"vhost": name, "component": "vhost-limits", "name": "limits", "value": {"max-queues": 1000 + vhost}})
        operators = {"pattern": f"^queue-{vhost}", "apply-to": "queues", "priority": 1, "definition": {"max-length": 1000 + vhost}}
        _add(document, "parameters", {"vhost": name, "component": "operator_policy", "name": "operators", "value": operators})
        for number in range(6):
            _add(document, "global_parameters", {"name": f"parameter-{vhost}-{number}", "value": {"vhost": vhost, "list": [number, "x", None, True]}})
        for number in range(5):
            policy = {"vhost": name, "name": f"policy-{number}", "pattern": f"^queue-{number}", "apply-to": "queues", "priority": number, "definition": {"message-ttl": 1_000_000 + number}}
            _add(document, "policies", policy)
        for number in range(20):
            _add(document, "exchanges", _exchange(vhost, number))
        for number in range(50):
            _add(document, "queues", _queue(vhost, number))
            _add(document, "bindings", _binding(vhost, number % 20, number))
        for number in range(10):
            binding = {"source": f"exchange-{number}", "vhost": name, "destination": f"exchange-{number + 10}", "destination_type": "exchange"}
            _add(document, "bindings", {**binding, "routing_key": f"to.{number}", "arguments": {}})
    return _filled(document, count, lambda number: ("global_parameters", {"name": f"filler-{number}", "value": number}))


ALL = {"queues and bindings": queues_and_bindings, "users and vhosts": users_and_vhosts, "mixed": mixed}


def size(document: Document) -> int:
    """How many objects it has."""
    return sum(len(document.get(kind, [])) for kind in KINDS)


def objects(document: Document) -> Objects:
    """What a document says, without what an export says besides and without any order."""
    return {kind: {_canonical(kind, each) for each in document.get(kind, [])} for kind in KINDS}


def beyond(document: Document, fresh: Document) -> Objects:
    """What an export has that a fresh broker's had not. Users by their names: each broker salts its first user's password anew."""
    known = {user["name"] for user in fresh["users"]}
    document = document | {"users": [user for user in document["users"] if user["name"] not in known]}
    return {kind: found - objects(fresh)[kind] for kind, found in objects(document).items()}


def difference(found: Objects, expected: Objects, is_part_enough: bool = False) -> list[str]:
    """What is missing (unless a part is enough), and what nobody has asked for; a few of each kind."""
    told = []
    for kind in KINDS:
        missing, strange = expected[kind] - found[kind], found[kind] - expected[kind]
        if missing and not is_part_enough:
            told.append(f"{len(missing)} {kind} are missing, such as {min(missing)}")
        if strange:
            told.append(f"{len(strange)} {kind} are not in the document, such as {min(strange)}")
    return told


def _canonical(kind: str, each: dict[str, Any]) -> str:
    each = dict(each)
    if kind == "vhosts":
        # Whoever imports a name gets the usual rest.
        each = {"name": each["name"]}
    elif kind == "users":
        each = {key: each.get(key) for key in ("name", "password_hash", "hashing_algorithm", "tags")}
    elif kind == "queues":
        # An export tells the type twice, also where nobody has asked for one.
        each["arguments"] = {key: value for key, value in each["arguments"].items() if (key, value) != ("x-queue-type", "classic")}
        each = {"type": "classic", **each}
    elif kind == "exchanges":
        # Told only of internal ones.
        each = {"internal": False, **each}
    return json.dumps(each, sort_keys=True)


def _vhosts(count: int) -> Document:
    return {kind: [] for kind in KINDS} | {"vhosts": [{"name": _vhost(number)} for number in range(count)]}


def _filled(document: Document, count: int, filler: Callable[[int], tuple[str, dict[str, Any]]]) -> Document:
    """The document with as many more objects as it takes."""
    for number in range(count - size(document)):
        _add(document, *filler(number))
    assert size(document) == count, f"{size(document)} objects instead of {count}"
    return document


def _add(document: Document, kind: str, each: dict[str, Any]) -> None:
    document[kind].append(each)


def _vhost(number: int) -> str:
    return f"vhost-{number}"


def _user(name: str) -> dict[str, Any]:
    salt = hashlib.sha256(name.encode()).digest()[:4]
    digest = base64.b64encode(salt + hashlib.sha256(salt + name.encode()).digest()).decode()
    return {"name": name, "password_hash": digest, "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": ["management"]}


def _exchange(vhost: int, number: int) -> dict[str, Any]:
    kind = ("direct", "topic", "fanout", "headers")[number % 4]
    return {"name": f"exchange-{number}", "vhost": _vhost(vhost), "type": kind, "durable": True, "auto_delete": False, "internal": False, "arguments": {}}


def _queue(vhost: int, number: int) -> dict[str, Any]:
    arguments = {"x-message-ttl": 1_000_000 + number, "x-house": number} if number % 3 == 0 else {}
    return {"name": f"queue-{number}", "vhost": _vhost(vhost), "durable": True, "auto_delete": False, "arguments": arguments}


def _binding(vhost: int, exchange: int, queue: int) -> dict[str, Any]:
    return {"source": f"exchange-{exchange}", "vhost": _vhost(vhost), "destination": f"queue-{queue}", "destination_type": "queue", "routing_key": f"key.{queue}", "arguments": {}}
