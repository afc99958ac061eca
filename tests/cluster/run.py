#!/usr/bin/env python3
"""Three nodes, clients that work on them, faults, and a checker of what the clients saw.

    tests/cluster/run.py --rounds 5                      a few rounds, and what a cluster makes of wrong settings and of bytes from nowhere
    tests/cluster/run.py --rounds 100 --round-s 20       many
    tests/cluster/run.py --seed 7 --first 31 --rounds 1  round 31 of that seed again: the same faults and the same clients' choices, though
                                                         threads, disks and elections never take the same time twice
    tests/cluster/run.py --only hang_disk                one fault alone, of those that --list shows

A round: clients work; one or two faults begin and end (`plan`, `faults`); work has to go on; clients stop; all queues are emptied; and
`checker` looks at everything that was asked and answered. A cluster lives as long as it is in order: all rounds are its.

Nodes are in network namespaces and on file systems of their own where this process may make them (root). Where it may not, the faults that need
them are left out, and it is said so. The checker's own tests come first: an oracle that finds nothing proves nothing.
"""

import argparse
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402
from checker import check  # noqa: E402
from ending import NotEmpty, look_at_definitions, next_history, stop, take_everything  # noqa: E402
from faults import FAULTS, Harm  # noqa: E402
from history import Acked, Confirmed, Delivered, History, Opened, Published, line  # noqa: E402
from nodes import SMALL, Cluster, Surroundings  # noqa: E402
from plan import Step, plan  # noqa: E402
from session import Session  # noqa: E402
from workload import QUEUES, Client, Definer, clients, declare  # noqa: E402

ROUND_S = 10.0
JOIN_S = 20.0
CRIES = ("panicked at", "assertion")
"""Words of a log that no fault explains."""


class Run:
    """One cluster over many rounds."""

    def __init__(self, cluster: Cluster, seed: int, round_s: float, only: str | None):
        self.cluster, self.seed, self.round_s, self.only = cluster, seed, round_s, only
        self.history = History()
        self.done: Counter[str] = Counter()

    def declare(self) -> None:
        """As soon as there is a node that takes clients: that a cluster is formed says no more than that."""
        deadline = time.monotonic() + JOIN_S
        while True:
            try:
                node = self.cluster.nodes[1]
                with Session(self.history, QUEUES, node.number, node.address) as session:
                    declare(session)
                return
            except (OSError, AssertionError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def round(self, number: int) -> tuple[str, list[str]]:
        """What happened, and what was wrong."""
        steps = plan(self.seed, number, self.round_s, self.cluster.surroundings.have, self.only)
        print(f"round {number}: {'; '.join(map(str, steps))}", flush=True)
        history, seed = self.history, f"{self.seed}/{number}"
        harm, is_stopping = Harm(self.cluster, history, f"{seed}/harm"), threading.Event()
        nodes = {number: node.address for number, node in self.cluster.nodes.items()}
        workers = clients(history, nodes, {number: node.api for number, node in self.cluster.nodes.items()}, seed, is_stopping)
        for worker in workers:
            worker.start()
        faults: list[str] = []
        try:
            self.harm(harm, steps)
            stop(history)
        finally:
            is_stopping.set()
            for worker in workers:
                worker.join(JOIN_S)
        faults += self.end(harm, workers, random.Random(f"{seed}/end"))
        events = history.so_far()
        faults += check(events, QUEUES.values(), is_clock_true=all(step.fault != "move_clock" for step in steps))
        self.done.update(step.fault for step in steps)
        self.history = next_history(history)
        self.events = events
        # What is left of earlier rounds was published by no node of this one.
        counts = Counter(type(event) for event in events if not (isinstance(event, Published) and event.node == 0))
        told = f"{counts[Published]} published, {counts[Confirmed]} confirmed, {counts[Delivered]} delivered, {counts[Acked]} acked over {counts[Opened]} connections"
        return told, ([f"    {each}" for each in harm.told] if faults else []) + faults

    def harm(self, harm: Harm, steps: list[Step]) -> None:
        """Does what is planned, each step at its time."""
        began_at = time.monotonic()
        moments = sorted([(step.at_s, 1, step) for step in steps] + [(step.at_s + step.lasts_s, 0, step) for step in steps if step.lasts_s], key=lambda each: each[:2])
        hurt: dict[Step, int] = {}
        for at_s, is_beginning, step in moments:
            time.sleep(max(began_at + at_s - time.monotonic(), 0.0))
            fault = FAULTS[step.fault]
            if is_beginning:
                node = harm.find(step.role, set(hurt.values()))
                hurt[step] = node.number
                harm.disturb(f"{step.fault} of node {node.number}, which is {step.role}")
                fault.begin(harm, node, step.chance)
            else:
                node = self.cluster.nodes[hurt.pop(step)]
                fault.end(harm, node, step.chance)
                harm.note(f"the end of {step.fault} of node {node.number}")
            harm.expect(f"{'' if is_beginning else 'the end of '}{step.fault}")
            if not step.lasts_s:
                hurt.pop(step)
        time.sleep(max(began_at + self.round_s - time.monotonic(), 0.0))

    def end(self, harm: Harm, workers: list[Client], dice: random.Random) -> list[str]:
        """Everything is well again, taken out and looked at; what was not so."""
        faults = [f"(clients) {worker.fault}" for worker in workers if worker.fault]
        faults += [f"(clients) {type(worker).__name__} does not end" for worker in workers if worker.is_alive()]
        faults += [f"(nodes) node {node.number} has ended by itself: {node.log_tail()}" for node in self.cluster.nodes.values() if node.has_ended()]
        faults += [f"(nodes) the log of node {node.number} cries: {cry}" for node in self.cluster.nodes.values() if (cry := self.cry(node.log()))]
        definers = [worker for worker in workers if isinstance(worker, Definer)]
        looks = [(look_at_definitions, self.cluster, harm.history, definer, dice) for definer in definers]
        # Where something is not whole, it is still to be known whether anything is lost.
        for look, *words in [(self.cluster.await_whole,), (take_everything, self.cluster, harm.history, dice), *looks]:
            try:
                look(*words)
            except (brokers.NotReady, NotEmpty, OSError, AssertionError) as fault:
                faults.append(f"(whole) {fault}")
        return faults

    @staticmethod
    def cry(log: str) -> str | None:
        return next((each for each in log.splitlines() if any(cry in each for cry in CRIES)), None)

    def keep(self, number: int) -> Path:
        """Leaves what there is for people who look for the fault."""
        self.cluster.kill()
        kept = self.cluster.keep_files()
        (kept / f"history-{number}.jsonl").write_text("".join(f"{line(event)}\n" for event in self.events or self.history.so_far()))
        return kept

    events: list = []


def run_rounds(run: Run, first: int, count: int) -> int:
    """How many failed: one at most, since a cluster that was wrong once is wrong for ever."""
    for number in range(first, first + count):
        began_at = time.monotonic()
        try:
            told, faults = run.round(number)
        except (AssertionError, OSError, brokers.NotReady) as fault:
            told, faults = "", [f"(round) {fault!r}"]
        print(f"{'not ok' if faults else 'ok'} round {number}: {told}; {time.monotonic() - began_at:.1f} s", flush=True)
        if faults:
            print("".join(f"    {fault}\n" for fault in faults[:40]), end="")
            print(f"    {len(faults)} lines in all; seed {run.seed}, round {number}; logs, directories and the history are left in {run.keep(number)}", flush=True)
            return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("--broker-command", default=brokers.DEFAULT_COMMAND, metavar="COMMAND", help="starts a node; {data_dir} and {set} are filled in (default: target/debug/warren serve …)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--round-s", type=float, default=ROUND_S, help="how long clients work in a round (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="default: chosen, and printed")
    parser.add_argument("--first", type=int, default=1, metavar="ROUND", help="the number of the first round")
    parser.add_argument("--only", choices=sorted(FAULTS), help="one fault alone")
    parser.add_argument("--plain", action="store_true", help="as where nothing is allowed: no namespaces, disks or clocks of our own")
    parser.add_argument("--no-tests", action="store_true", help="the rounds alone, without the tests of this folder")
    parser.add_argument("--list", action="store_true", help="print the faults")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(f"{name}{f', needs {chr(32).join(fault.needs)}' if fault.needs else ''}" for name, fault in FAULTS.items()))
        return 0
    if not arguments.no_tests and (status := environment.pytest([Path(__file__).resolve().parent], [f"--broker-command={arguments.broker_command}"])):
        return status
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    surroundings = Surroundings() if arguments.plain else Surroundings.make()
    for each in surroundings.skipped:
        print(f"skipped: {each}")
    settings = SMALL if random.Random(f"{seed}/bounds").random() < 0.7 else {}
    print(f"seed {seed}{', small bounds' if settings else ''}", flush=True)
    cluster = Cluster(surroundings, arguments.broker_command, settings)
    run, failed = Run(cluster, seed, arguments.round_s, arguments.only), 1
    try:
        cluster.start()
        run.declare()
        failed = run_rounds(run, arguments.first, arguments.rounds)
    except brokers.NotReady as fault:
        print(f"not ok: {fault}\n    logs and directories are left in {run.keep(0)}")
    finally:
        cluster.remove()
    print(f"done: {', '.join(f'{name} {count}' for name, count in sorted(run.done.items()))}")
    print(f"cluster: {'passed' if not failed else 'failed'}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
