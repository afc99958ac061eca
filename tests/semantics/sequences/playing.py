"""Plays a sequence on a broker and writes down what its clients see after each operation.

What is compared must not depend on who was faster: after each operation the player waits until the broker is quiet, that is, until all
channels have answered a synchronous method, all confirms are there, and neither the counts of the queues nor what came to the channels
has changed for some rounds. A bystander on a connection of its own has to be served meanwhile, or the broker counts as stuck.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from blackbox import codec
from blackbox.wire import Timeout
from scene import Channel, Connection, Delivery, Refused, Scene
from sequences.making import CHANNELS, Operation, has_quorum, has_short_ttl, may_expire

Note = dict[str, Any]
"""What was seen after an operation."""
RESTLESS_S = 6.0
"""How long a broker may go on changing after one operation."""
SHORT_TTL_PASSED_S = 0.03
DRAINED_MAX = 60
_UNKNOWN_TAG = 9999


class Stuck(Exception):
    """The broker serves its clients no more, or never comes to rest."""


@dataclass(frozen=True)
class Pace:
    """How patiently the player looks for quiet: so many equal rounds, with a pause between them; after a policy it waits longer."""

    rounds: int = 3
    pause_s: float = 0.004
    policy_s: float = 0.05


CAREFUL = Pace(6, 0.025, 0.25)
"""For a broker that works in the background on a machine that is busy."""


class Player:
    """One sequence on one broker."""

    def __init__(self, scene: Scene, operations: list[Operation], pace: Pace):
        self.scene, self.operations, self.pace = scene, operations, pace
        self.has_short_ttl = has_short_ttl(operations)
        self.may_expire = may_expire(operations)
        self.quorum = {each["queue"] for each in operations if each.get("arguments", {}).get("x-queue-type") == "quorum"}
        """Of these RabbitMQ counts who holds something of a `basic.get` as a consumer, and not who waits to be the single active one."""
        self.notes: list[Note] = []
        self.connections: dict[str, Connection] = {}
        self.lookouts: dict[str, Channel] = {}
        self.channels: dict[str, Channel] = {}
        self.held: dict[str, list[tuple[int, str]]] = {name: [] for name in CHANNELS}
        self.unsettled: dict[str, list[tuple[int, str]]] = {name: [] for name in CHANNELS}
        self.unacking: dict[str, set[str]] = {name: set() for name in CHANNELS}
        self.consuming: dict[str, set[str]] = {name: set() for name in CHANNELS}
        self.in_transaction: set[str] = set()
        self.counts: dict[str, list[int] | None] = {}
        self.bystander = scene.channel()
        self.bystander.declare("bystander", x_queue_type="quorum" if has_quorum(operations) else "classic")
        for name in dict.fromkeys(channel[0] for channel in CHANNELS):
            self.connect(name)

    # -- connections

    def connect(self, name: str) -> None:
        """Opens a connection, with its lookout, which counts messages, and its channels."""
        self.connections[name] = self.scene.connect()
        self.lookouts[name] = self.connections[name].channel()
        for channel in CHANNELS:
            if channel[0] == name:
                self.channels[channel] = self.connections[name].channel()
                self.forget(channel)

    def forget(self, channel: str) -> None:
        """What a channel knew is gone with it."""
        self.held[channel], self.unsettled[channel], self.unacking[channel], self.consuming[channel] = [], [], set(), set()
        self.in_transaction.discard(channel)

    def name_of(self, channel: Channel) -> str:
        return next(name for name, each in self.channels.items() if each is channel)

    # -- the play

    def play(self, expected: list[Note] | None = None) -> None:
        """Plays it until nobody holds a message; where notes are expected, not beyond the first that is another."""
        # With nacks, so that what they hold comes back in an order: a channel that ends gives everything back at once.
        ends = [{"do": do, "on": channel} for do in ("cancel all", "give back") for channel in CHANNELS]
        self._play([*self.operations, *ends], expected)

    def finish(self, expected: list[Note] | None = None) -> None:
        """Takes out what is left."""
        self._play([{"do": "drain", "on": CHANNELS[0]}], expected)

    def _play(self, operations: list[Operation], expected: list[Note] | None) -> None:
        for operation in operations:
            if expected is not None and self.notes != expected[: len(self.notes)]:
                return
            self.notes.append(self.step(operation, expected[len(self.notes)] if expected is not None and len(self.notes) < len(expected) else None))

    def step(self, operation: Operation, hoped: Note | None) -> Note:
        """One operation, and what is seen when it is quiet."""
        note: Note = {}
        try:
            answer = self.act(operation)
        except Refused as refused:
            answer = None if refused in (self.channels[operation["on"]].closed, self.channels[operation["on"]].connection.closed) else refused.seen()
        except Timeout as timeout:
            raise Stuck(f"{operation}: {timeout}") from timeout
        if answer is not None:
            note["answer"] = self.scene.plain(answer)
        return self.await_quiet(note, hoped)

    def await_quiet(self, note: Note, hoped: Note | None) -> Note:
        """What is there when nothing changes any more; sooner if it is what is hoped for."""
        started = changed = time.monotonic()
        equal, before = 0, None
        while True:
            try:
                state = self.look()
                if self.quorum or before is None:
                    self.ask_bystander()
            except Timeout as timeout:
                raise Stuck(str(timeout)) from timeout
            now = time.monotonic()
            equal, changed = (equal + 1, changed) if state == before else (1, now)
            before = state
            has_passed = not self.has_short_ttl or now - changed >= SHORT_TTL_PASSED_S
            is_quiet = equal >= self.pace.rounds and has_passed
            if hoped is not None:
                is_hoped = equal >= 3 and has_passed and {**note, **self.seen(state)} == hoped
                is_quiet = is_hoped or (is_quiet and now - changed > 1.0)
            if is_quiet:
                break
            if now - started > RESTLESS_S:
                raise Stuck(f"the broker never comes to rest: {state[0]}")
            if hoped is None or equal > 3:
                time.sleep(self.pace.pause_s)
        note |= self.seen(state)
        self.take_over(state)
        return note

    def look(self) -> tuple:
        """One round: every channel answers, every queue is counted, and every channel answers again."""
        self.round_trip()
        counts = {queue: self.count(queue) for queue in self.counts if self.counts[queue] is not None}
        self.round_trip()
        came = {name: len(channel.inbox) for name, channel in self.channels.items()}
        events = {name: len(channel.events) for name, channel in self.channels.items()}
        closed = {name: bool(channel.closed or channel.connection.closed) for name, channel in self.channels.items()}
        waiting = {name: channel.published - len(channel.outcomes) for name, channel in self.channels.items() if channel.is_confirming and not closed[name]}
        if any(waiting.values()):
            return counts, came, events, closed, time.monotonic()
        return counts, came, events, closed, None

    def round_trip(self) -> None:
        asked = []
        for channel in self.channels.values():
            with suppress(Refused, OSError):
                channel.send("exchange.declare", exchange="amq.direct", passive=True)
                asked.append(channel)
        for channel in asked:
            if channel.wait(lambda channel=channel: channel.replies):
                channel.replies.pop(0)
            elif not (channel.closed or channel.connection.closed):
                raise Timeout(f"channel {self.name_of(channel)} is not answered")

    def count(self, queue: str) -> list[int] | None:
        """Ready messages and consumers, asked on the connection that may."""
        for name in self.lookouts:
            lookout = self.lookouts[name]
            if lookout.connection.closed:
                continue
            try:
                return lookout.count(queue)[: 1 if queue in self.quorum else 2]
            except Refused as refused:
                if lookout.connection.closed:
                    continue
                lookout.open()
                if refused.close is None or refused.close.reply_code != 405:
                    return None
        return self.counts[queue]

    def ask_bystander(self) -> None:
        """Who has nothing to do with all this gets a message through its own queue."""
        outcome = self.bystander.publish("bystander", "hello", delivery_mode=2)
        got = self.bystander.get("bystander")
        if outcome != "ack" or got is None:
            raise Timeout(f"the bystander's publish: {outcome}, its get: {got and got.body}")

    def seen(self, state: tuple) -> Note:
        """What is new since the operation before."""
        counts, came, _, closed, _ = state
        note: Note = {}
        new = {name: self.scene.plain(_in_order(channel.inbox)) for name, channel in self.channels.items() if came[name]}
        events = {name: self.scene.plain(channel.events) for name, channel in self.channels.items() if channel.events}
        ends = {name: self.scene.plain((channel.connection.closed or channel.closed).seen()) for name, channel in self.channels.items() if closed[name]}
        for what, value in (("came", new), ("events", events), ("closed", ends)):
            if value:
                note[what] = value
        changed = {queue: count for queue, count in counts.items() if count != self.counts[queue]}
        if changed:
            note["queues"] = changed
        return note

    def take_over(self, state: tuple) -> None:
        """What was seen is known from now on; what was closed is opened again."""
        self.counts |= state[0]
        for name, channel in self.channels.items():
            for delivery in _in_order(channel.inbox):
                self.hold(name, delivery, is_acked=delivery.method.consumer_tag in self.unacking[name])
            channel.inbox, channel.events = [], []
        for name, connection in list(self.connections.items()):
            if connection.closed:
                connection.drop()
                self.connect(name)
        for name, channel in self.channels.items():
            if channel.closed:
                channel.open()
                self.forget(name)

    def hold(self, name: str, delivery: Delivery, is_acked: bool) -> None:
        if not is_acked:
            self.held[name].append((delivery.tag, delivery.body))

    # -- operations

    def act(self, operation: Operation) -> Any:
        """Does it; what it is answered, if that is more than `-ok`."""
        do, name = operation["do"], operation["on"]
        how = {key: value for key, value in operation.items() if key not in ("do", "on")}
        if do in ("policy", "drop policy"):
            return self.act_on_policies(do, **how)
        channel = self.channels[name]
        if do == "basic.publish":
            return self.publish(channel, **how)
        if do in ("basic.ack", "basic.nack", "basic.reject"):
            return self.settle(channel, name, do, **how)
        if do == "basic.get":
            return self.get(channel, name, **how)
        if do == "drain":
            return {queue: self.drain(queue) for queue in sorted(self.counts) if self.counts[queue] is not None}
        if do == "cancel all":
            for tag in sorted(self.consuming[name]):
                channel.cancel(tag)
            return None
        if do == "give back":
            return self.give_back(channel, name)
        if do == "close channel":
            channel.close()
            channel.open()
            self.forget(name)
            return None
        if do == "close connection":
            for each in CHANNELS:
                if each[0] == name[0]:
                    self.channels[each].close()
            self.connections[name[0]].close()
            self.connect(name[0])
            return None
        return self.call(channel, name, do, how)

    def call(self, channel: Channel, name: str, do: str, how: dict[str, Any]) -> Any:
        """A synchronous method."""
        if do == "queue.declare":
            # Also if it is refused: it may be there from before.
            self.counts[how["queue"]] = self.counts.get(how["queue"]) or [0] * (1 if how["queue"] in self.quorum else 2)
        if do == "basic.consume":
            self.consuming[name].add(how["consumer_tag"])
            if how["no_ack"]:
                self.unacking[name].add(how["consumer_tag"])
        if do == "basic.recover":
            self.held[name] = []
        answer = channel.call(do, **how)
        if do == "confirm.select":
            channel.is_confirming = True
        if do == "tx.select":
            self.in_transaction.add(name)
        if do == "tx.rollback":
            self.held[name] = sorted(self.held[name] + self.unsettled[name])
        if do in ("tx.rollback", "tx.commit"):
            self.unsettled[name] = []
        is_told = {key: value for key, value in answer.arguments.items() if value not in ("", b"")}
        if how.get("queue") in self.quorum:
            is_told.pop("consumer_count", None)
        return is_told or None

    def publish(self, channel: Channel, exchange: str, routing_key: str, body: str, **how: Any) -> None:
        if channel.is_confirming:
            channel.published += 1
        channel.send_content(routing_key, body, exchange, **how)

    def settle(self, channel: Channel, name: str, do: str, which: int | str, **how: Any) -> Any:
        """What of the held deliveries it is about is answered, so that the transcript can be read."""
        held = self.held[name]
        if which == "unknown":
            channel.send(do, delivery_tag=_UNKNOWN_TAG, **how)
            return None
        if not held:
            return "nothing is held"
        index = len(held) - 1 if which == "all" else which % len(held)
        tag = held[index][0]
        settled = [each for each in held if (each[0] <= tag if how.get("multiple") else each[0] == tag)]
        self.held[name] = [each for each in held if each not in settled]
        self.unsettled[name] += settled
        channel.send(do, delivery_tag=0 if which == "all" else tag, **how)
        return [body for _, body in settled]

    def give_back(self, channel: Channel, name: str) -> None:
        """All that a channel holds, in one write."""
        if self.held[name]:
            channel.fail_if_closed()
            nacks = [codec.method(channel.number, "basic.nack", delivery_tag=tag, requeue=True) for tag, _ in self.held[name]]
            channel.connection.wire.send(b"".join(nacks))
        self.held[name] = []
        if name in self.in_transaction:
            channel.call("tx.commit")

    def get(self, channel: Channel, name: str, queue: str, no_ack: bool) -> Any:
        got = channel.get(queue, no_ack)
        if got is None:
            return "empty"
        self.hold(name, got, is_acked=no_ack)
        if self.may_expire or (queue in self.quorum and not no_ack):
            # RabbitMQ's quorum queue has not looked yet at what has expired behind the message, and for Warren's that may lie on the disk.
            del got.method.arguments["message_count"]
        return got

    def drain(self, queue: str) -> list:
        """All that is left in a queue that no client uses any more.

        How many were left beside each is not told: what has expired may lie on the disk. The order in which a quorum queue got messages back
        is kept as long as they are in memory, so it is not looked at here.
        """
        left: list = []
        for lookout in self.lookouts.values():
            try:
                while len(left) < DRAINED_MAX and (got := lookout.get(queue)) is not None:
                    del got.method.arguments["message_count"]
                    left.append(got)
                if queue in self.quorum:
                    left.sort(key=lambda each: (each.body, json.dumps(self.scene.plain(each))))
                return left
            except Refused:
                lookout.open()
        return left

    def act_on_policies(self, do: str, name: str, **how: Any) -> Any:
        if do == "policy":
            answer = self.scene.ask_for_policy(name, how["definition"], how["pattern"], "queues", how["priority"])
            status = "set" if answer.status in (201, 204) else answer.status
        else:
            status = {204: "dropped", 404: "not there"}.get(self.scene.api.delete(self.scene.path("policies", name)).status)
        time.sleep(self.pace.policy_s)
        return status


def _in_order(deliveries: list[Delivery]) -> list[Delivery]:
    """Deliveries of different consumers come in any order."""
    return sorted(deliveries, key=lambda each: each.method.consumer_tag)
