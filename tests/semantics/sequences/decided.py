"""Where sequences are meant to differ: `decided.toml`.

An entry has a `name`, which is also the name of a function here that finds it in a sequence, so that the search leaves such sequences alone;
why (`reason`, which users read in docs/compatibility.md); the smallest sequence that shows it (`operations`, one a line), and what the last
operation's note is on RabbitMQ and on Warren. Both must be so: an entry that is not true any more fails.
"""

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sequences.making import Operation
from sequences.playing import Note

TABLE = Path(__file__).resolve().parent / "decided.toml"


@dataclass(frozen=True)
class Decided:
    """One entry of the table."""

    name: str
    reason: str
    operations: list[Operation]
    rabbitmq: Note
    warren: Note


def read() -> list[Decided]:
    """The table."""
    entries = tomllib.loads(TABLE.read_text()).get("decided", []) if TABLE.exists() else []
    return [
        Decided(each["name"], each["reason"], [json.loads(line) for line in each["operations"].strip().splitlines()], json.loads(each["rabbitmq"]), json.loads(each["warren"]))
        for each in entries
    ]


def matching(operations: list[Operation]) -> str | None:
    """The name of a decided difference that may be in this sequence."""
    return next((name for name, finds in FINDERS.items() if finds(operations)), None)


def _queues(operations: list[Operation], kind: str) -> list[Operation]:
    """The arguments of queues of a type."""
    found = [each["arguments"] for each in operations if each["do"] == "queue.declare" and "arguments" in each]
    return [each for each in found if each.get("x-queue-type", "classic") == kind]


def _policies(operations: list[Operation]) -> list[dict[str, Any]]:
    return [each["definition"] for each in operations if each["do"] == "policy"]


def expiry_of_each_priority(operations: list[Operation]) -> bool:
    """Priorities of a classic queue, and something that expires."""
    times = [each.get("expiration") for each in operations]
    times += [each.get("x-message-ttl") for each in _queues(operations, "classic")] + [each.get("message-ttl") for each in _policies(operations)]
    return any("x-max-priority" in each for each in _queues(operations, "classic")) and any(each in (0, 1, "0", "1") for each in times)


def global_prefetch_of_quorum_queues(operations: list[Operation]) -> bool:
    """A prefetch for a whole channel, and a quorum queue."""
    return bool(_queues(operations, "quorum")) and any(each["do"] == "basic.qos" and each["global_"] for each in operations)


def quorum_queues_refuse_at_their_limit(operations: list[Operation]) -> bool:
    """A quorum queue that refuses messages, and a limit that is reached."""
    quorum, policies = _queues(operations, "quorum"), _policies(operations)
    are_refused = any(each.get("x-overflow") == "reject-publish" for each in quorum) or any(each.get("overflow") == "reject-publish" for each in policies)
    return bool(quorum) and are_refused and (any("x-max-length" in each for each in quorum) or any("max-length" in each for each in policies))


def queue_that_is_deleted_before_a_commit(operations: list[Operation]) -> bool:
    """A transaction, and a queue that may be deleted while it runs."""
    done = {each["do"] for each in operations}
    return "tx.select" in done and ("queue.delete" in done or any(each.get("auto_delete") or each.get("exclusive") for each in operations))


def unbinding_a_queue_of_another_connection(operations: list[Operation]) -> bool:
    """An exclusive queue, and something that is unbound."""
    done = {each["do"] for each in operations}
    return "queue.unbind" in done and any(each.get("exclusive") for each in operations if each["do"] == "queue.declare")


def what_consumers_of_a_channel_give_back(operations: list[Operation]) -> bool:
    """Two consumers of a quorum queue on one channel, as a get is one, too, and what gives back several messages at once."""
    if not _queues(operations, "quorum"):
        return False
    taking = [(each["on"], each["queue"]) for each in operations if each["do"] in ("basic.consume", "basic.get") and not each["no_ack"]]
    returning = {(each["on"][0] if each["do"] == "close connection" else each["on"]) for each in operations if _gives_back_several(each)}
    return any(taking.count(each) > 1 and returning & {each[0], each[0][0]} for each in set(taking))


def _gives_back_several(operation: Operation) -> bool:
    if operation["do"] in ("close channel", "close connection", "basic.recover"):
        return True
    return bool(operation["do"] == "basic.nack" and operation.get("requeue") and operation.get("multiple")) or operation.get("which") == "unknown"


def what_expires_behind_what_came_back(operations: list[Operation]) -> bool:
    """A quorum queue, something that expires, and something that is given back, perhaps because a channel is closed for a mistake."""
    quorum = _queues(operations, "quorum")
    times = [each.get("expiration") for each in operations] + [each.get("x-message-ttl") for each in quorum] + [each.get("message-ttl") for each in _policies(operations)]
    return bool(quorum) and any(each in (0, 1, "0", "1") for each in times) and any(_may_give_back(each) for each in operations)


def _may_give_back(operation: Operation) -> bool:
    closing = ("close channel", "close connection", "tx.select")
    return bool(operation.get("requeue") or operation.get("exchange") or operation.get("if_unused") or operation["do"] in closing or operation.get("which") == "unknown")


FINDERS: dict[str, Callable[[list[Operation]], bool]] = {
    finder.__name__: finder
    for finder in (
        expiry_of_each_priority,
        global_prefetch_of_quorum_queues,
        quorum_queues_refuse_at_their_limit,
        queue_that_is_deleted_before_a_commit,
        unbinding_a_queue_of_another_connection,
        what_consumers_of_a_channel_give_back,
        what_expires_behind_what_came_back,
    )
}
