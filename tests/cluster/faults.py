"""What is done to a cluster. Each fault has a beginning and an end; what it means for who may say yes is kept in a `Condition`, and told to the
history on the safe side: a node counts as cut off when it is, and no longer when that is about to end."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from blackbox.broker import NotReady
from condition import Condition
from history import Disturbed, Expected, History, Minority
from nodes import Cluster, Node

CLOCK_SHIFTS_S = [-86400.0, -90.0, -2.0, 2.0, 90.0, 3600.0, 86400.0]
ENDED_WITHIN_S = 20.0
REFUSED_WITHIN_S = 20.0
LOOP_COUNT = 5
"""How often a supervisor starts a node that ends at once."""
WORK_WITHIN_S = 5.0


class Harm:
    """A cluster in a round, and what is wrong with it."""

    def __init__(self, cluster: Cluster, history: History, seed: str) -> None:
        self.cluster, self.history, self.dice = cluster, history, random.Random(seed)
        self.condition = Condition(frozenset(cluster.nodes))
        self.told: list[str] = []
        """What was done to whom, for the log."""
        self.mute: frozenset[int] = frozenset()
        self.alone: frozenset[int] = frozenset()

    @contextmanager
    def changing(self):
        """What is done inside, and the new condition that comes of it. Who is cut off before and after stays so meanwhile."""
        before = Condition(self.condition.nodes, set(self.condition.down), set(self.condition.hung), set(self.condition.cuts))
        after = Condition(before.nodes, set(before.down), set(before.hung), set(before.cuts))
        yield after, lambda: self._tell(before.mute & after.mute, before.alone & after.alone)
        self.condition = after
        self._tell(after.mute, after.alone)

    def _tell(self, mute: frozenset[int], alone: frozenset[int]) -> None:
        if (mute, alone) != (self.mute, self.alone):
            self.mute, self.alone = mute, alone
            self.history.record(Minority(mute, alone))

    def disturb(self, what: str) -> None:
        self.note(what)
        self.history.record(Disturbed(what))

    def note(self, what: str) -> None:
        """For people who look for a fault: the time of the history, and that of the logs."""
        self.told.append(f"{time.monotonic() - self.history.began_at:.3f} s, {time.strftime('%T', time.gmtime())}: {what}")

    def expect(self, why: str) -> None:
        """Work goes on from here, if there is a majority."""
        if self.condition.has_majority:
            self.history.record(Expected(why, WORK_WITHIN_S))

    def find(self, role: str, taken: set[int]) -> Node:
        """Who has that role, and is not taken by another fault."""
        leader = self.cluster.leader() or self.dice.choice(sorted(self.cluster.nodes))
        others = [number for number in sorted(self.cluster.nodes) if number not in taken and (role == "another" or number != leader)]
        return self.cluster.nodes[leader if role == "the leader" and leader not in taken else self.dice.choice(others)]


Action = Callable[[Harm, Node, float], None]


@dataclass(frozen=True)
class Fault:
    """`begin` and `end` are called with the node and the step's chance."""

    begin: Action
    end: Action
    weight: float = 1.0
    needs: frozenset[str] = frozenset()
    lasts: bool = True
    may_be_beside: bool = True
    """Whether another node may be hurt meanwhile."""


def _nothing(_harm: Harm, _node: Node, _chance: float) -> None:
    pass


# -- cables


def _others(harm: Harm, node: Node) -> list[int]:
    return [number for number in harm.cluster.nodes if number != node.number]


def _cut(harm: Harm, cuts: set[tuple[int, int]]) -> None:
    with harm.changing() as (after, tell):
        after.cuts |= cuts
        tell()
        for sender in sorted({sender for sender, _ in cuts}):
            harm.cluster.surroundings.network.cut(sender, [receiver for each, receiver in cuts if each == sender])


def _mend(harm: Harm, *_: object) -> None:
    with harm.changing() as (after, tell):
        cuts, after.cuts = after.cuts, set()
        tell()
        for sender in sorted({sender for sender, _ in cuts}):
            harm.cluster.surroundings.network.mend(sender, [receiver for each, receiver in cuts if each == sender])


def _cut_off(harm: Harm, node: Node, _chance: float) -> None:
    _cut(harm, {pair for other in _others(harm, node) for pair in ((node.number, other), (other, node.number))})


def _cut_sending(harm: Harm, node: Node, _chance: float) -> None:
    _cut(harm, {(node.number, other) for other in _others(harm, node)})


def _cut_hearing(harm: Harm, node: Node, _chance: float) -> None:
    _cut(harm, {(other, node.number) for other in _others(harm, node)})


def _cut_pair(harm: Harm, node: Node, chance: float) -> None:
    other = _others(harm, node)[chance < 0.5]
    pairs = [{(node.number, other)}, {(other, node.number)}, {(node.number, other), (other, node.number)}]
    _cut(harm, pairs[int(chance * 30) % 3])


def _cut_all(harm: Harm, _node: Node, _chance: float) -> None:
    numbers = list(harm.cluster.nodes)
    _cut(harm, {(one, other) for one in numbers for other in numbers if one != other})


def _unplug(harm: Harm, node: Node, _chance: float) -> None:
    with harm.changing() as (after, tell):
        after.down.add(node.number)
        tell()
        harm.cluster.surroundings.network.unplug(node.number)


def _plug(harm: Harm, node: Node, _chance: float) -> None:
    with harm.changing() as (after, tell):
        after.down.discard(node.number)
        tell()
        harm.cluster.surroundings.network.plug(node.number)


# -- processes


def _kill(harm: Harm, *nodes: Node) -> None:
    with harm.changing() as (after, tell):
        after.down |= {node.number for node in nodes}
        tell()
        for node in nodes:
            # All of them before one is waited for.
            if node.process is not None:
                os.killpg(node.process.pid, signal.SIGKILL)
        for node in nodes:
            node.kill()


def _start(harm: Harm, *nodes: Node) -> None:
    with harm.changing() as (after, tell):
        after.down -= {node.number for node in nodes}
        tell()
        for node in nodes:
            node.start(wait=False)


def _kill_one(harm: Harm, node: Node, _chance: float) -> None:
    _kill(harm, node)


def _start_one(harm: Harm, node: Node, _chance: float) -> None:
    _start(harm, node)


def _kill_two(harm: Harm, node: Node, chance: float) -> None:
    _kill(harm, node, harm.cluster.nodes[_others(harm, node)[chance < 0.5]])


def _kill_all(harm: Harm, _node: Node, _chance: float) -> None:
    _kill(harm, *harm.cluster.nodes.values())


def _start_all(harm: Harm, _node: Node, chance: float) -> None:
    nodes = [node for node in harm.cluster.nodes.values() if node.process is None]
    if chance < 0.5:
        _start(harm, *nodes)
        return
    # One after the other, in any order: the last one may be the only one that has everything.
    harm.dice.shuffle(nodes)
    for node in nodes:
        _start(harm, node)
        time.sleep(chance * 0.8)


def _stop(harm: Harm, node: Node, _chance: float) -> None:
    with harm.changing() as (after, tell):
        after.down.add(node.number)
        tell()
        os.killpg(node.process.pid, signal.SIGSTOP)
        # The signal is sent; its threads may go on for a moment.
        while any(path.read_text().rsplit(")", 1)[1].split()[0] not in "TtD" for path in Path(f"/proc/{node.process.pid}/task").glob("*/stat")):
            time.sleep(0.002)


def _go_on(harm: Harm, node: Node, _chance: float) -> None:
    with harm.changing() as (after, tell):
        after.down.discard(node.number)
        tell()
        os.killpg(node.process.pid, signal.SIGCONT)


def _restart_in_turn(harm: Harm, _node: Node, chance: float) -> None:
    """As an upgrade does it: followers first; sometimes drained before."""
    leader = harm.cluster.leader()
    for node in sorted(harm.cluster.nodes.values(), key=lambda node: node.number == leader):
        is_drained = chance < 0.5
        if is_drained:
            order(harm, node, "POST", "/warren/cluster/drain", {})
        with harm.changing() as (after, tell):
            after.down.add(node.number)
            tell()
            node.terminate()
            status = node.wait_ended(ENDED_WITHIN_S)
        if status:
            raise NotReady(f"node {node.number} ended with status {status} when it was told to")
        _start(harm, node)
        harm.cluster.await_whole()
        if is_drained:
            order(harm, node, "POST", "/warren/cluster/revive", {})
        harm.expect(f"restarting node {node.number}")


# -- clocks, disks


def _move_clock(_harm: Harm, node: Node, chance: float) -> None:
    node.clock.move(CLOCK_SHIFTS_S[int(chance * len(CLOCK_SHIFTS_S))])


def _right_clock(_harm: Harm, node: Node, _chance: float) -> None:
    node.clock.move(0.0)


def _fill(_harm: Harm, node: Node, _chance: float) -> None:
    node.disk.fill()


def _empty(_harm: Harm, node: Node, _chance: float) -> None:
    node.disk.empty()


def _hang(harm: Harm, node: Node, _chance: float) -> None:
    with harm.changing() as (after, tell):
        after.hung.add(node.number)
        tell()
        node.disk.hang()


def _unhang(harm: Harm, node: Node, _chance: float) -> None:
    with harm.changing() as (after, tell):
        after.hung.discard(node.number)
        tell()
        node.disk.go_on()


# -- members


def _replace(harm: Harm, node: Node, chance: float) -> None:
    """The same name, and nothing of what it had; sometimes it was taken out before."""
    _kill(harm, node)
    if chance < 0.5:
        order(harm, harm.cluster.any_other(node.number, harm.dice), "DELETE", f"/warren/cluster/nodes/{node.name}")
    node.lose_everything()


def _lose_founder(harm: Harm, _node: Node, _chance: float) -> None:
    """A new cluster is formed, and its founder is lost at once: all end, and the other two start alone. Later the third comes back."""
    _form_anew(harm)
    _kill(harm, *harm.cluster.nodes.values())
    lost = harm.dice.choice(sorted(harm.cluster.nodes))
    _start(harm, *[node for node in harm.cluster.nodes.values() if node.number != lost])


def _form_anew(harm: Harm) -> None:
    """One after the other, all nodes but one get empty directories and join again: all changes of members are young then."""
    kept = harm.cluster.leader() or harm.dice.choice(sorted(harm.cluster.nodes))
    for number in _others(harm, harm.cluster.nodes[kept]):
        node = harm.cluster.nodes[number]
        _kill(harm, node)
        node.lose_everything()
        _start(harm, node)
        harm.cluster.await_whole()


def _restore_copy(harm: Harm, node: Node, chance: float) -> None:
    """A copy of the node's directory is made while it runs, and put in its place when all have ended: it is refused, however often its
    supervisor starts it. Then the directory is emptied."""
    copy = node.data_dir.with_name("copy")
    copy_running(node.data_dir, copy)
    # What its peers remember of it is on their disks once a second.
    time.sleep(2.5 + chance)
    _kill(harm, *harm.cluster.nodes.values())
    if chance < 0.5:
        shutil.rmtree(node.data_dir)
        copy.rename(node.data_dir)
    else:
        roll_back(copy, node.data_dir)
        shutil.rmtree(copy)
    # One of the others is still missing: if it is believed, it leads with what it has.
    absent = harm.dice.choice(_others(harm, node))
    _start(harm, *[each for each in harm.cluster.nodes.values() if each.number not in (absent, node.number)])
    for _ in range(LOOP_COUNT):
        node.start(wait=False)
        try:
            status = node.wait_ended(REFUSED_WITHIN_S)
        except subprocess.TimeoutExpired as still:
            raise NotReady(f"node {node.number} runs on a copy of its directory") from still
        if not status:
            raise NotReady(f"node {node.number} ended with status 0 on a copy of its directory")
    node.lose_everything()


def _reset(harm: Harm, node: Node, chance: float) -> None:
    """It leaves and asks its peers again; never does it serve beside them."""
    order(harm, node, "POST", "/warren/cluster/reset", {"node": node.name, "force": chance < 0.3})
    harm.cluster.await_whole()


def copy_running(source: Path, target: Path) -> None:
    """Copies what is there, file by file: what goes meanwhile is left out."""
    shutil.rmtree(target, ignore_errors=True)
    for path in [source, *sorted(source.rglob("*"))]:
        place = target / path.relative_to(source)
        with suppress(FileNotFoundError):
            if path.is_dir():
                place.mkdir(parents=True, exist_ok=True)
            elif path.is_file():
                shutil.copy2(path, place)


def roll_back(copy: Path, place: Path) -> None:
    """Writes the copy over what is there, into the same files."""
    for path in sorted(place.rglob("*"), reverse=True):
        if not (copy / path.relative_to(place)).exists():
            path.rmdir() if path.is_dir() else path.unlink()
    for path in sorted(copy.rglob("*")):
        to = place / path.relative_to(copy)
        if path.is_dir():
            to.mkdir(exist_ok=True)
        else:
            to.write_bytes(path.read_bytes())


def _hand_over(harm: Harm, node: Node, chance: float) -> None:
    body = {"node": node.name} if chance < 0.7 else {}
    order(harm, harm.cluster.any_other(node.number, harm.dice) if chance < 0.3 else node, "POST", "/warren/cluster/transfer", body)


def order(harm: Harm, node: Node, method: str, path: str, *body: object) -> None:
    """An order to the cluster; what came of it is only told: the leader may be lost at that moment."""
    try:
        answer = str(node.api.call(method, path, *body)) if body else str(node.api.call(method, path))
    except OSError as error:
        answer = f"{method} {path}: {error!r}"
    harm.note(answer)


NETWORK, DISKS, CLOCK = frozenset({"network"}), frozenset({"disks"}), frozenset({"clock"})
FAULTS = {
    "cut_off": Fault(_cut_off, _mend, 2.0, NETWORK, may_be_beside=False),
    "cut_sending": Fault(_cut_sending, _mend, 1.0, NETWORK, may_be_beside=False),
    "cut_hearing": Fault(_cut_hearing, _mend, 1.0, NETWORK, may_be_beside=False),
    "cut_pair": Fault(_cut_pair, _mend, 1.0, NETWORK),
    "cut_all": Fault(_cut_all, _mend, 0.7, NETWORK, may_be_beside=False),
    "unplug": Fault(_unplug, _plug, 1.5, NETWORK),
    "kill": Fault(_kill_one, _start_one, 2.0),
    "kill_two": Fault(_kill_two, _start_all, 1.0, may_be_beside=False),
    "kill_all": Fault(_kill_all, _start_all, 1.5, may_be_beside=False),
    "stop": Fault(_stop, _go_on, 2.0),
    "restart_in_turn": Fault(_restart_in_turn, _nothing, 0.7, lasts=False, may_be_beside=False),
    "move_clock": Fault(_move_clock, _right_clock, 1.0, CLOCK),
    "fill_disk": Fault(_fill, _empty, 1.0, DISKS),
    "hang_disk": Fault(_hang, _unhang, 1.5, DISKS),
    "replace": Fault(_replace, _start_one, 1.0, may_be_beside=False),
    "lose_founder": Fault(_lose_founder, _start_all, 0.7, may_be_beside=False),
    "restore_copy": Fault(_restore_copy, _start_all, 1.0, may_be_beside=False),
    "reset": Fault(_reset, _nothing, 1.0, lasts=False, may_be_beside=False),
    "hand_over": Fault(_hand_over, _nothing, 1.0, lasts=False, may_be_beside=False),
}
