"""Who could possibly say yes now: which nodes reach which, and whose disks take anything. Pure; the faults keep it."""

from dataclasses import dataclass, field


@dataclass
class Condition:
    """What is wrong at the moment."""

    nodes: frozenset[int]
    down: set[int] = field(default_factory=set)
    """Nodes that do not run, or are stopped, or whose cable is pulled."""
    hung: set[int] = field(default_factory=set)
    """Nodes whose disks take nothing."""
    cuts: set[tuple[int, int]] = field(default_factory=set)
    """What the first sends to the second is lost."""

    @property
    def majority(self) -> int:
        return len(self.nodes) // 2 + 1

    def reached_by(self, node: int) -> set[int]:
        """With whom it can talk, itself included: both directions are needed."""
        if node in self.down:
            return set()
        return {node} | {other for other in self.nodes - self.down if not {(node, other), (other, node)} & self.cuts}

    @property
    def alone(self) -> frozenset[int]:
        """Those that neither reach a majority nor one that does: nothing they say about the cluster can be known to be true."""
        return self._without(lambda leader: len(self.reached_by(leader)) >= self.majority)

    @property
    def mute(self) -> frozenset[int]:
        """Those that cannot have anything made durable on a majority of disks, whichever node leads."""
        return self._without(lambda leader: len(self.reached_by(leader) - self.hung) >= self.majority)

    @property
    def has_majority(self) -> bool:
        """Whether some nodes can go on, all of which reach each other; others may be in the way of an election, but not for long."""
        return self.nodes != self.mute

    def _without(self, can_lead) -> frozenset[int]:
        return frozenset(node for node in self.nodes if not any(can_lead(leader) for leader in self.reached_by(node)))
