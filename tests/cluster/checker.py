"""What must be true of a history of a cluster: pure code over a list of events.

    (a) what was confirmed was acked by a consumer, or is there in the end
    (b) nothing is consumed that was not published, nor where it does not belong, nor altered, nor before it is due
    (c) a message whose ack was followed by a confirm on the same connection never comes back, and none is there twice
    (d) a consumer gets first deliveries of a publisher in the order of publishing
    (e) definitions that were answered with yes are there, those whose deletion was are not
    (f) what a quorum queue has delivered is not missing later
    (g) work goes on soon after a majority is there again
    (h) no node says yes in a minority

Where several things may be true of something, because no answer came, none of them is held against the broker.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from history import (
    Acked, Confirmed, Consuming, Defined, Defining, Delivered, Disturbed, Ended, Event, Expected, Found, Key, Minority, Opened, Published, Queue, Told,
)  # fmt: skip

DELIVERY_GRACE_S = 2.0
"""A leader that hears no majority stops delivering after 0.8 s; a client may read it a moment later."""
OPENING_GRACE_S = 4.0
"""A node knows after an election timeout, of two seconds at most, that it is in a minority."""
CODES = {320}
"""What clients may be told: that a node stops, does not lead any more, or is in a minority."""

Place = tuple[int, Event]


class Index:
    """A history, looked up by what it is about. Positions are places in the list."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.published: dict[tuple[int, int], tuple[int, Published]] = {}
        self.by_key: dict[Key, tuple[int, Published]] = {}
        self.confirmed: dict[tuple[int, int], int] = {}
        self.deliveries: dict[Key, list[tuple[int, Delivered]]] = defaultdict(list)
        self.acks: dict[Key, list[tuple[int, Acked]]] = defaultdict(list)
        self.consuming: dict[tuple[int, str], int] = {}
        self.kinds: dict[type, list[Place]] = defaultdict(list)
        for position, event in enumerate(events):
            self.kinds[type(event)].append((position, event))
            if isinstance(event, Published):
                self.published[event.connection, event.tag] = position, event
                for key in event.keys:
                    self.by_key[key] = position, event
            elif isinstance(event, Confirmed):
                self.confirmed.setdefault((event.connection, event.tag), position)
            elif isinstance(event, Delivered):
                self.deliveries[event.key].append((position, event))
            elif isinstance(event, Acked):
                self.acks[event.key].append((position, event))
            elif isinstance(event, Consuming):
                self.consuming[event.connection, event.queue] = position
        self.proofs = self._proofs()

    def _proofs(self) -> dict[int, tuple[list[int], list[int]]]:
        """By connection: positions of confirmed publishes, and the first position at which one sent then or later was confirmed."""
        pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for (connection, tag), confirmed_at in self.confirmed.items():
            if (connection, tag) in self.published:
                pairs[connection].append((self.published[connection, tag][0], confirmed_at))
        proofs = {}
        for connection, found in pairs.items():
            found.sort()
            firsts, first = [], len(self.events)
            for _, confirmed_at in reversed(found):
                first = min(first, confirmed_at)
                firsts.append(first)
            proofs[connection] = [sent_at for sent_at, _ in found], firsts[::-1]
        return proofs

    def of(self, kind: type) -> list:
        return self.kinds.get(kind, [])

    def is_confirmed(self, publish: Published) -> bool:
        return (publish.connection, publish.tag) in self.confirmed

    def proven_at(self, connection: int, position: int) -> int | None:
        """Where something was confirmed that this connection had published after `position`: all that it did before was durable then."""
        sent, firsts = self.proofs.get(connection, ([], []))
        after = bisect_right(sent, position)
        return firsts[after] if after < len(sent) else None

    def confirmed_keys(self) -> Iterator[Key]:
        for key, (_, publish) in self.by_key.items():
            if self.is_confirmed(publish):
                yield key


def check(events: list[Event], queues: Iterable[Queue], is_clock_true: bool = True) -> list[str]:
    """What is wrong with that history, a sentence each; `is_clock_true`: no clock was moved."""
    index, by_name = Index(events), {queue.name: queue for queue in queues}
    faults = []
    for part in (_confirmed, _known, _acked, _in_order, _definitions, _quorum, _work, _minority, _told):
        faults += part(index, by_name, is_clock_true) if part is _known else part(index, by_name)
    return faults


def missing(events: list[Event], queues: Iterable[Queue]) -> set[Key]:
    """What has to come yet when everything is taken out of the queues."""
    index = Index(events)
    return _missing_confirmed(index) | _missing_quorum(index, {queue.name: queue for queue in queues})


def unsure(events: list[Event]) -> set[Key]:
    """What may still turn up after everything was taken out: no answer says that it cannot."""
    index = Index(events)
    return {key for key in index.by_key if not any(index.proven_at(ack.connection, position) is not None for position, ack in index.acks.get(key, ()))}


def _is_left(index: Index, key: Key) -> bool:
    """Whether no client has acked it, and it has not been taken out in the end."""
    return key not in index.acks and not any(delivery.is_final for _, delivery in index.deliveries.get(key, ()))


def _missing_confirmed(index: Index) -> set[Key]:
    return {key for key in index.confirmed_keys() if _is_left(index, key)}


def _missing_quorum(index: Index, queues: dict[str, Queue]) -> set[Key]:
    return {key for key, found in index.deliveries.items() if any(queues[each.queue].is_quorum for _, each in found if each.queue in queues) and _is_left(index, key)}


def _confirmed(index: Index, _queues: dict[str, Queue]) -> Iterator[str]:
    for key in sorted(_missing_confirmed(index)):
        seen = "was delivered once" if key in index.deliveries else "was never delivered"
        publish = index.by_key[key][1]
        yield f"(a) {_name(key)} was confirmed and not acked, {seen}, and is missing; published at {publish.at:.3f} s by node {publish.node}, confirmed at {_at(index, index.confirmed[publish.connection, publish.tag])}"


def _known(index: Index, queues: dict[str, Queue], is_clock_true: bool) -> Iterator[str]:
    for _, delivery in index.of(Delivered):
        key = delivery.key
        if key not in index.by_key:
            yield f"(b) {_name(key)} came from {delivery.queue} at {delivery.at:.3f} s and was never published in this round"
        elif delivery.queue not in queues[key.family].places:
            yield f"(b) {_name(key)} came from {delivery.queue}, where it does not belong"
        if not delivery.is_intact:
            yield f"(b) {_name(key)} came from {delivery.queue} with another body"
        if delivery.early_ms and is_clock_true:
            yield f"(b) {_name(key)} came from {delivery.queue} {delivery.early_ms} ms before it was due"


def _acked(index: Index, _queues: dict[str, Queue]) -> Iterator[str]:
    for key, acks in index.acks.items():
        durable = [proof for position, ack in acks if (proof := index.proven_at(ack.connection, position)) is not None]
        if not durable:
            continue
        for position, delivery in index.deliveries.get(key, ()):
            if position > min(durable) and _is_of_today(index, position, delivery, min(durable)):
                yield f"(c) {_name(key)} was acked, which was durable at {_at(index, min(durable))}, and came from {delivery.queue} at {delivery.at:.3f} s to connection {delivery.connection}, node {delivery.node}"
    for key, deliveries in index.deliveries.items():
        # Each attempt at taking everything out is a connection of its own, and what it does not ack comes again.
        final = [delivery.connection for _, delivery in deliveries if delivery.is_final]
        if len(final) > len(set(final)):
            yield f"(c) {_name(key)} is there {len(final)} times in the end: {', '.join(delivery.queue for _, delivery in deliveries if delivery.is_final)}"


def _is_of_today(index: Index, position: int, delivery: Delivered, durable_at: int) -> bool:
    """Whether who delivered that was in charge.

    A leader that was stopped may wake and send what it was about to send, before it learns that others have gone on. Not so who was
    asked to deliver after the ack was durable, and who confirmed something on the same connection later.
    """
    return index.consuming.get((delivery.connection, delivery.queue), -1) > durable_at or index.proven_at(delivery.connection, position) is not None


def _in_order(index: Index, queues: dict[str, Queue]) -> Iterator[str]:
    # Of one consumer: what two have read is recorded in any order. Redelivered ones come when they are given back.
    last: dict[tuple[int, str, int], int] = {}
    for _, delivery in index.of(Delivered):
        if delivery.is_redelivered or delivery.queue not in queues or not queues[delivery.queue].is_ordered:
            continue
        stream = delivery.connection, delivery.queue, delivery.key.publisher
        if delivery.key.number <= last.get(stream, -1):
            yield f"(d) {_name(delivery.key)} came from {delivery.queue} at {delivery.at:.3f} s after number {last[stream]}, to connection {delivery.connection}, node {delivery.node}"
        last[stream] = max(delivery.key.number, last.get(stream, -1))


def _definitions(index: Index, _queues: dict[str, Queue]) -> Iterator[str]:
    known: dict[str, tuple[bool, Defined]] = {}
    for _, event in sorted(index.of(Defining) + index.of(Defined)):
        if isinstance(event, Defined):
            known[event.name] = not event.is_deletion, event
        else:
            known.pop(event.name, None)
    for _, found in index.of(Found):
        if found.name in known and known[found.name][0] != found.is_there:
            answer = known[found.name][1]
            yield f"(e) {found.name} was {'deleted' if answer.is_deletion else 'declared'} at {answer.at:.3f} s, says node {answer.node}, and is{'' if found.is_there else ' not'} there"


def _quorum(index: Index, queues: dict[str, Queue]) -> Iterator[str]:
    for key in sorted(_missing_quorum(index, queues) - _missing_confirmed(index)):
        delivery = index.deliveries[key][0][1]
        yield f"(f) {_name(key)} was delivered from {delivery.queue} at {delivery.at:.3f} s by node {delivery.node}, was not acked, and is missing"


def _work(index: Index, _queues: dict[str, Queue]) -> Iterator[str]:
    ends = [(position, event) for kind in (Disturbed, Ended) for position, event in index.of(kind)]
    for position, expected in index.of(Expected):
        deadline = expected.at + expected.within_s
        if any(each > position and end.at < deadline for each, end in ends):
            continue
        if not any(sent > position and event.at <= deadline for sent, event in _confirms(index)):
            yield f"(g) nothing that was published after {expected.why} at {expected.at:.3f} s was confirmed within {expected.within_s:.0f} s"
        if not any(each > position and delivery.at <= deadline for each, delivery in index.of(Delivered)):
            yield f"(g) nothing was delivered within {expected.within_s:.0f} s of {expected.why} at {expected.at:.3f} s"


def _confirms(index: Index) -> Iterator[tuple[int, Event]]:
    """Each confirm, and where its message was published."""
    for position, confirm in index.of(Confirmed):
        if (confirm.connection, confirm.tag) in index.published:
            yield index.published[confirm.connection, confirm.tag][0], index.events[position]


def _minority(index: Index, _queues: dict[str, Queue]) -> Iterator[str]:
    mute, alone = (_spans(index, name) for name in ("mute", "alone"))
    for position, confirm in index.of(Confirmed):
        sent_at, publish = index.published.get((confirm.connection, confirm.tag), (None, None))
        if publish is not None and _is_within(mute[publish.node], sent_at, position):
            yield f"(h) node {publish.node} confirmed at {confirm.at:.3f} s what was published at {publish.at:.3f} s, and could not reach a majority"
    asked: dict[tuple[str, bool], int] = {}
    for position, event in sorted(index.of(Defining) + index.of(Defined)):
        if isinstance(event, Defining):
            asked[event.name, event.is_deletion] = position
        elif _is_within(mute[event.node], asked.get((event.name, event.is_deletion)), position):
            yield f"(h) node {event.node} {'deleted' if event.is_deletion else 'declared'} {event.name} at {event.at:.3f} s, and could not reach a majority"
    for kind, grace_s, what in ((Opened, OPENING_GRACE_S, "let a client in"), (Delivered, DELIVERY_GRACE_S, "delivered a message")):
        for position, event in index.of(kind):
            for first, last in alone[event.node]:
                if first < position < last and event.at > index.events[first].at + grace_s:
                    yield f"(h) node {event.node} {what} at {event.at:.3f} s, and had not reached a majority since {index.events[first].at:.3f} s"


def _spans(index: Index, field: str) -> dict[int, list[tuple[int, int]]]:
    """By node: from where to where it was in such a minority."""
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    began: dict[int, int] = {}
    for position, event in [*index.of(Minority), (len(index.events), Minority(frozenset(), frozenset()))]:
        nodes = getattr(event, field)
        for node in began.keys() - nodes:
            spans[node].append((began.pop(node), position))
        for node in nodes - began.keys():
            began[node] = position
    return spans


def _is_within(spans: list[tuple[int, int]], asked_at: int | None, answered_at: int) -> bool:
    return asked_at is not None and any(first < asked_at and answered_at < last for first, last in spans)


def _told(index: Index, _queues: dict[str, Queue]) -> Iterator[str]:
    for _, told in index.of(Told):
        if told.code not in CODES:
            yield f"(told) node {told.node} said {told.code} {told.text!r} at {told.at:.3f} s"


def _name(key: Key) -> str:
    return f"message {key.publisher}.{key.number} of {key.family}"


def _at(index: Index, position: int) -> str:
    return f"{index.events[position].at:.3f} s"
