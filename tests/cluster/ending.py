"""The end of a round: everything is taken out of the queues, and definitions are looked at."""

import random
import time

from blackbox.codec import Method
from checker import missing, unsure
from history import Ended, History, Published
from nodes import Cluster
from session import Delivery, Session, now_ms
from workload import DELAY_MS_MAX, MARKS, QUEUES, Definer

TIMEOUT_S = 20.0
"""Messages that a client holds whose connection is gone without a word come back when its heartbeats are missed."""
QUIET_S = 0.4


class NotEmpty(RuntimeError):
    """The queues do not become empty."""


def take_everything(cluster: Cluster, history: History, dice: random.Random) -> None:
    """Until nothing is missing and nothing is left, or patience is at an end; then the checker says what is missing."""
    due_ms, deadline = now_ms() + DELAY_MS_MAX, time.monotonic() + TIMEOUT_S
    last_error: BaseException | None = None
    while time.monotonic() < deadline:
        node = dice.choice(list(cluster.nodes.values()))
        try:
            with Session(history, QUEUES, node.number, node.address) as session:
                if _take(cluster, history, session, due_ms, deadline):
                    return
        except (OSError, AssertionError) as error:
            last_error = error
            time.sleep(0.1)
    if not missing(history.so_far(), QUEUES.values()):
        raise NotEmpty(f"queues are not empty after {TIMEOUT_S:.0f} s: {_left(cluster)}; the last connection ended with {last_error!r}")


def _take(cluster: Cluster, history: History, session: Session, due_ms: int, deadline: float) -> bool:
    for queue in QUEUES:
        session.consume(queue, is_final=True)
    held: list[Delivery] = []
    while time.monotonic() < deadline:
        got = session.read(QUIET_S)
        assert not isinstance(got, Method), f"not asked for {got}"
        if got is not None:
            held.append(got)
        elif not session.wire.is_readable(QUIET_S):
            _settle(session, held)
            if now_ms() > due_ms and not missing(history.so_far(), QUEUES.values()) and not _left(cluster):
                return True
    _settle(session, held)
    return False


def _settle(session: Session, held: list[Delivery]) -> None:
    """Acks, and waits until that is durable."""
    if held:
        session.ack(held)
        held.clear()
        session.publish("", MARKS, ())
        while session.pending:
            got = session.read(0.1)
            if isinstance(got, Delivery):
                held.append(got)
            assert not session.is_overdue(), "acks do not become durable"


def _left(cluster: Cluster) -> dict[str, int]:
    """Queues that are not empty, by the broker's word."""
    for node in cluster.nodes.values():
        try:
            listed = node.api.get("/queues/%2F?columns=name,messages").expect(200).json
            return {each["name"]: each["messages"] for each in listed if each["name"] in QUEUES and each.get("messages")}
        except (OSError, AssertionError, ValueError):
            continue
    return {"no node tells": 0}


def look_at_definitions(cluster: Cluster, history: History, definer: Definer, dice: random.Random) -> None:
    node = dice.choice(list(cluster.nodes.values()))
    with Session(history, QUEUES, node.number, node.address) as session:
        for found in definer.look(session, node.management):
            history.record(found)


def next_history(history: History) -> History:
    """One that goes on where this one ends: what may still turn up was published, and is not confirmed."""
    following = History()
    following.connections = history.connections
    for key in sorted(unsure(history.so_far())):
        following.record(Published(key.publisher, 0, key.number, (key,)))
    return following


def stop(history: History) -> None:
    history.record(Ended())
