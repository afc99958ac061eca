"""Plays sequences on brokers: one, several at once, or the same on two to see where they differ."""

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blackbox import broker as brokers
from scene import Scene
from sequences.making import Operation
from sequences.playing import CAREFUL, Note, Pace, Player, Stuck

AT_ONCE_MAX = 8
BATCH = 40
"""So many are played, with all that they leave behind, before the broker is looked at and their vhosts go."""
IDLE_AFTER_S = 0.5
IDLE_LOOK_S = 1.0
BUSY_SHARE_MAX = 0.5
"""An idle broker may use this part of one processor: RabbitMQ needs a tenth for its statistics."""
DEPRECATED = {"deprecated_features.permit.global_qos": "true", "deprecated_features.permit.transient_nonexcl_queues": "true"}
"""What RabbitMQ 4.3 refuses by default, and Warren does as RabbitMQ did."""
_serial = itertools.count(1)
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Played:
    """What was seen of a sequence, or how the broker came to be stuck."""

    notes: list[Note]
    stuck: str | None = None


@dataclass(frozen=True)
class Difference:
    """The first operation whose note is another, and both notes."""

    operations: list[Operation]
    step: int
    expected: Any
    seen: Any

    def lines(self) -> list[str]:
        shown = [f"  {'>' if at == self.step else ' '} {json.dumps(each)}" for at, each in enumerate(self.operations)]
        if self.step >= len(self.operations):
            shown.append(f"  > (the end: connections close, queues are drained: {self.step - len(self.operations)})")
        lines = [f"    {path or 'note'}: RabbitMQ {json.dumps(expected)}, Warren {json.dumps(seen)}" for path, expected, seen in _parts(self.expected, self.seen)]
        return [*shown, *lines]


def node_of(broker: brokers.Broker) -> str:
    return broker.management.get("/overview").expect(200).json["node"]


class Performance:
    """One sequence on one broker, in a vhost of its own: all of it but the last, and then the last, which takes everything out of the queues."""

    def __init__(self, broker: brokers.Broker, node: str, operations: list[Operation], expected: list[Note] | None = None, pace: Pace | None = None):
        self.scene = Scene(broker, f"sequence-{os.getpid() % 10**6:06}-{next(_serial):06}", node)
        self.operations, self.expected, self.pace = operations, expected, pace or Pace()
        self.player: Player | None = None
        self.stuck: str | None = None

    def begin(self) -> None:
        """Plays it to the point where all has come back that was held by anybody."""
        with self._watched():
            self.scene.__enter__()
            self.player = Player(self.scene, self.operations, self.pace)
            self.player.play(self.expected)

    def end(self) -> Played:
        """Plays the rest, and deletes the vhost."""
        with self._watched():
            if self.player and not self.stuck:
                self.player.finish(self.expected)
        with self._watched():
            self.scene.__exit__()
        return Played(self.player.notes if self.player and not self.stuck else [], self.stuck)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except (Stuck, AssertionError, OSError) as failure:
            self.stuck = self.stuck or f"{type(failure).__name__}: {failure}"


def play(broker: brokers.Broker, node: str, operations: list[Operation], expected: list[Note] | None = None, pace: Pace | None = None) -> Played:
    """Plays one sequence."""
    performance = Performance(broker, node, operations, expected, pace)
    performance.begin()
    return performance.end()


def play_all(broker: brokers.Broker, sequences: list[list[Operation]], expected: list[list[Note] | None], pace: Pace | None = None) -> tuple[list[Played], float]:
    """Plays several at once; what was seen, and how busy the broker is at most with what they have left behind."""
    node, played, share = node_of(broker), [], 0.0
    performances = [Performance(broker, node, operations, notes, pace) for operations, notes in zip(sequences, expected, strict=True)]
    with ThreadPoolExecutor(AT_ONCE_MAX) as pool:
        for start in range(0, len(performances), BATCH):
            batch = performances[start : start + BATCH]
            list(pool.map(Performance.begin, batch))
            share = max(share, busy_share(broker))
            played += pool.map(Performance.end, batch)
    return played, share


def difference(operations: list[Operation], expected: Played, seen: Played) -> Difference | None:
    """Where they differ, if they do. A sequence that leaves RabbitMQ restless tells nothing."""
    if expected.stuck:
        return None
    if seen.stuck:
        return Difference(operations, len(operations), "served", seen.stuck)
    for step, note in enumerate(expected.notes):
        if step >= len(seen.notes) or seen.notes[step] != note:
            return Difference(operations, step, note, seen.notes[step] if step < len(seen.notes) else "nothing")
    return None


def _parts(expected: Any, seen: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The parts of two notes that differ, by where they are."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key in {**expected, **seen}:
            yield from _parts(expected.get(key), seen.get(key), f"{path}.{key}" if path else key)
    elif isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        for at, (left, right) in enumerate(zip(expected, seen, strict=True)):
            yield from _parts(left, right, f"{path}[{at}]")
    elif expected != seen:
        yield path, expected, seen


def busy_share(broker: brokers.Broker) -> float:
    """How much of one processor the broker uses while nobody asks it for anything; 0 of one that is not ours."""
    if broker.pid is None:
        return 0.0
    time.sleep(IDLE_AFTER_S)
    before = _processor_s(broker.pid)
    time.sleep(IDLE_LOOK_S)
    return (_processor_s(broker.pid) - before) / IDLE_LOOK_S


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


class Pair:
    """A Warren and a RabbitMQ. A Warren that got stuck is of no more use: another one takes its place."""

    def __init__(self, make_warren: Callable[[], brokers.Broker], rabbitmq: brokers.Broker):
        self.make_warren, self.rabbitmq = make_warren, rabbitmq
        self.rabbitmq_node = node_of(rabbitmq)
        self.warren = make_warren()
        self.warren.start()

    def renew(self) -> None:
        """Another Warren, on an empty directory."""
        self.warren.remove()
        self.warren = self.make_warren()
        self.warren.start()

    def differ(self, operations: list[Operation], pace: Pace = CAREFUL) -> Difference | None:
        """Where they differ when nothing is hurried, and RabbitMQ answers the same twice."""
        expected = play(self.rabbitmq, self.rabbitmq_node, operations, pace=pace)
        seen = play(self.warren, node_of(self.warren), operations, expected.notes)
        if seen.stuck:
            self.renew()
        found = difference(operations, expected, seen)
        if found and play(self.rabbitmq, self.rabbitmq_node, operations, pace=pace) != expected:
            return None
        return found
