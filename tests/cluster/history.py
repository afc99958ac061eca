"""What happened in a round, as its clients and its faults saw it: a list of events in the order in which they were recorded.

A client records what it is about to send before it sends it, and what it has read after it has read it. So whatever the list says was asked
was asked no earlier than that, and whatever it says was answered was answered no later.

    Published ──► Confirmed | Refused | (nothing: it may be so or not)
        └───────► Delivered ──► Acked ──► a later Published of the same connection is Confirmed: the ack is durable
                       └──────► Rejected: it goes where the queue's dead letters go

`checker` says what must follow. Nothing here knows what a socket is.
"""

import dataclasses
import json
import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple


class Key(NamedTuple):
    """A message: the connection that published it, its number there, and the queue where it began."""

    publisher: int
    number: int
    family: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; `at` is in seconds since the history began."""

    at: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True, slots=True)
class Opened(Event):
    """A connection can be used: the node has answered connection.open."""

    connection: int
    node: int


@dataclass(frozen=True, slots=True)
class Published(Event):
    """A message is about to be sent, to one queue or to several."""

    connection: int
    node: int
    tag: int
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Confirmed(Event):
    connection: int
    tag: int


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """basic.nack: the message may be there or not."""

    connection: int
    tag: int


@dataclass(frozen=True, slots=True)
class Consuming(Event):
    """basic.consume is about to be sent."""

    connection: int
    queue: str


@dataclass(frozen=True, slots=True)
class Delivered(Event):
    """`is_final`: after all faults, when everything is taken out. `early_ms`: so long before it was due."""

    connection: int
    node: int
    queue: str
    key: Key
    is_redelivered: bool = False
    is_final: bool = False
    is_intact: bool = True
    early_ms: int = 0


@dataclass(frozen=True, slots=True)
class Acked(Event):
    """An ack is about to be sent."""

    connection: int
    key: Key


@dataclass(frozen=True, slots=True)
class Rejected(Event):
    """A reject without requeue is about to be sent."""

    connection: int
    key: Key


@dataclass(frozen=True, slots=True)
class Defining(Event):
    """A declaration or a deletion is about to be asked for; one client alone changes that name."""

    node: int
    name: str
    is_deletion: bool


@dataclass(frozen=True, slots=True)
class Defined(Event):
    """It was answered with yes."""

    node: int
    name: str
    is_deletion: bool


@dataclass(frozen=True, slots=True)
class Found(Event):
    """After all faults: whether that name is there."""

    name: str
    is_there: bool


@dataclass(frozen=True, slots=True)
class Told(Event):
    """The broker closed a channel or a connection and gave a reason."""

    node: int
    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Minority(Event):
    """From now on, until the next of these. `mute` cannot make anything durable on a majority of disks; `alone` reach no majority at all."""

    mute: frozenset[int]
    alone: frozenset[int]


@dataclass(frozen=True, slots=True)
class Disturbed(Event):
    """A fault begins."""

    what: str


@dataclass(frozen=True, slots=True)
class Expected(Event):
    """From now on a majority is there, and work has to go on within so many seconds, unless it is disturbed again."""

    why: str
    within_s: float


@dataclass(frozen=True, slots=True)
class Ended(Event):
    """The clients stop."""


@dataclass(frozen=True)
class Queue:
    """What the checker has to know of a queue."""

    name: str
    is_quorum: bool = False
    is_ordered: bool = True
    """Whether messages come in the order in which they were published: no delays, priorities, dead letters."""
    dead_letters_to: str | None = None

    @property
    def places(self) -> set[str]:
        """Where its messages may be."""
        return {self.name} | ({self.dead_letters_to} if self.dead_letters_to else set())


class History:
    """Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.began_at = time.monotonic()
        self.events: list[Event] = []
        self.connections = 0

    def record(self, event: Event) -> None:
        with self.lock:
            object.__setattr__(event, "at", time.monotonic() - self.began_at)
            self.events.append(event)

    def number_connection(self) -> int:
        """A number for a connection that is about to be opened."""
        with self.lock:
            self.connections += 1
            return self.connections

    def so_far(self) -> list[Event]:
        with self.lock:
            return list(self.events)


def line(event: Event) -> str:
    """One event as a line of JSON, for people who look for a fault."""
    plain = {name.name: getattr(event, name.name) for name in dataclasses.fields(event)}
    plain["at"] = round(event.at, 4)
    return json.dumps({"event": type(event).__name__, **plain}, default=sorted)
