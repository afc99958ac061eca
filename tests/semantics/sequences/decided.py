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


def _names_of_quorum_queues(operations: list[Operation]) -> set[str]:
    declared = [each for each in operations if each["do"] == "queue.declare" and "arguments" in each]
    return {each["queue"] for each in declared if each["arguments"].get("x-queue-type") == "quorum"}


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
    """Two consumers of a queue on one channel, as what takes with gets is one, too, and what gives back or rejects several messages at once."""
    quorum = _names_of_quorum_queues(operations)
    taking = set()
    for at, each in enumerate(operations):
        if each["do"] == "basic.consume" and not each["no_ack"]:
            taking.add((each["on"], each["queue"], each["consumer_tag"]))
        if each["do"] == "basic.get" and not each["no_ack"]:
            # A get is a consumer of its own in a quorum queue, and all together are one in a classic queue.
            taking.add((each["on"], each["queue"], f"get {at}" if each["queue"] in quorum else "get"))
    pairs = [(channel, queue) for channel, queue, _ in taking]
    returning = [each for each in operations if _gives_back_several(each)]
    for channel, queue in {each for each in pairs if pairs.count(each) > 1}:
        for each in returning:
            is_by_end = each["do"] in ("close channel", "close connection") or each.get("which") == "unknown"
            is_of_channel = each["on"] == channel or (each["do"] == "close connection" and each["on"][0] == channel[0])
            if is_of_channel and (queue in quorum or not is_by_end):
                return True
    return False


def _gives_back_several(operation: Operation) -> bool:
    if operation["do"] in ("close channel", "close connection", "basic.recover"):
        return True
    return bool(operation["do"] == "basic.nack" and operation.get("multiple")) or operation.get("which") == "unknown"


def turns_of_consumers_with_a_prefetch(operations: list[Operation]) -> bool:
    """Two consumers of a classic queue, and a prefetch."""
    quorum = _names_of_quorum_queues(operations)
    consumed = [each["queue"] for each in operations if each["do"] == "basic.consume" and each["queue"] not in quorum]
    return len(set(consumed)) < len(consumed) and any(each["do"] == "basic.qos" and each["prefetch_count"] for each in operations)


def no_ack_beyond_a_global_prefetch(operations: list[Operation]) -> bool:
    """A prefetch for a whole channel, and a consumer that does not acknowledge."""
    has_prefetch = any(each["do"] == "basic.qos" and each["global_"] for each in operations)
    return has_prefetch and any(each["do"] == "basic.consume" and each["no_ack"] for each in operations)


def failures_in_a_classic_queue(operations: list[Operation]) -> bool:
    """A classic queue with dead letters, and something that fails and comes back."""
    classic = _queues(operations, "classic")
    by_policy = any("dead-letter-exchange" in each for each in _policies(operations))
    has_dead_letters = bool(classic) and (by_policy or any("x-dead-letter-exchange" in each for each in classic))
    return has_dead_letters and any(_may_fail(each) for each in operations)


def _may_fail(operation: Operation) -> bool:
    is_rejected = operation["do"] == "basic.reject" and operation.get("requeue")
    return bool(is_rejected or operation["do"] in ("close channel", "close connection") or operation.get("which") == "unknown")


def policy_that_refuses_beyond_a_limit(operations: list[Operation]) -> bool:
    """A policy with a limit, beyond which messages are refused."""
    return any("max-length" in each and each.get("overflow") == "reject-publish" for each in _policies(operations))


def policy_of_no_time_to_live(operations: list[Operation]) -> bool:
    """A policy by which messages expire at once, and become no dead letters."""
    return any(each.get("message-ttl") == 0 and "dead-letter-exchange" not in each for each in _policies(operations))


def rejected_to_the_same_queue(operations: list[Operation]) -> bool:
    """A consumer, a rejected message whose dead letter may come to the queue that it was in, and priorities or limits."""
    if not any(each.get("requeue") is False for each in operations) or not any(each["do"] == "basic.consume" for each in operations):
        return False
    queues = [(each["queue"], each["arguments"]) for each in operations if each["do"] == "queue.declare" and "arguments" in each]
    keys = {each.get("dead-letter-routing-key") for each in _policies(operations)}
    is_circle = any(
        queue in keys or arguments.get("x-dead-letter-routing-key") == queue or arguments.get("x-dead-letter-exchange")
        or ("x-dead-letter-exchange" in arguments and "x-dead-letter-routing-key" not in arguments)
        for queue, arguments in queues
    )  # fmt: skip
    limits = ("x-max-length", "x-max-length-bytes", "x-max-priority")
    has_limits = any(name in arguments for _, arguments in queues for name in limits)
    has_limits = has_limits or any("max-length" in each for each in _policies(operations))
    return is_circle and (has_limits or any("priority" in each for each in operations if each["do"] == "basic.publish"))


def commit_of_priorities(operations: list[Operation]) -> bool:
    """A transaction, priorities, and a consumer."""
    done = {each["do"] for each in operations}
    return {"tx.select", "basic.consume"} <= done and any(each["do"] == "basic.publish" and "priority" in each for each in operations)


def channels_of_a_connection_that_ends(operations: list[Operation]) -> bool:
    """A quorum queue with a consumer on one channel of a connection, what the other holds of it, and a mistake that closes the connection."""
    quorum = _names_of_quorum_queues(operations)
    consuming = {(each["on"], each["queue"]) for each in operations if each["do"] == "basic.consume"}
    holding = {(each["on"], each["queue"]) for each in operations if each["do"] in ("basic.consume", "basic.get") and not each["no_ack"]}
    is_closed = any(each["do"] == "queue.delete" and (each["if_empty"] or each["if_unused"]) for each in operations)
    pairs = (("a1", "a2"), ("a2", "a1"))
    return is_closed and any((one, queue) in consuming and (other, queue) in holding for queue in quorum for one, other in pairs)


def tag_that_is_used_again(operations: list[Operation]) -> bool:
    """A quorum queue, a prefetch, and two consumers of one channel that have the same tag."""
    tags = [(each["on"], each["consumer_tag"]) for each in operations if each["do"] == "basic.consume"]
    has_prefetch = any(each["do"] == "basic.qos" and each["prefetch_count"] for each in operations)
    return has_prefetch and len(set(tags)) < len(tags) and bool(_names_of_quorum_queues(operations))


def gets_before_a_global_prefetch(operations: list[Operation]) -> bool:
    """A channel that has taken messages with gets, and then is given a prefetch as a whole."""
    getting = set()
    for each in operations:
        if each["do"] == "basic.get" and not each["no_ack"]:
            getting.add(each["on"])
        if each["do"] == "basic.qos" and each["global_"] and each["on"] in getting:
            return True
    return False


FINDERS: dict[str, Callable[[list[Operation]], bool]] = {
    finder.__name__: finder
    for finder in (
        expiry_of_each_priority,
        global_prefetch_of_quorum_queues,
        quorum_queues_refuse_at_their_limit,
        queue_that_is_deleted_before_a_commit,
        unbinding_a_queue_of_another_connection,
        what_consumers_of_a_channel_give_back,
        turns_of_consumers_with_a_prefetch,
        no_ack_beyond_a_global_prefetch,
        failures_in_a_classic_queue,
        policy_that_refuses_beyond_a_limit,
        policy_of_no_time_to_live,
        rejected_to_the_same_queue,
        commit_of_priorities,
        channels_of_a_connection_that_ends,
        tag_that_is_used_again,
        gets_before_a_global_prefetch,
    )
}
