"""Three nodes, each on a machine of its own as far as that can be had here: address, disk, clock."""

import http.client
import json
import random
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clock as clocks
import disks
import network as networks
from blackbox.broker import DEFAULT_COMMAND, NotReady, Warren, free_port
from blackbox.management import Management

COUNT = 3
SECRET = "carrots"
FORMED_WITHIN_S = 30.0
WHOLE_WITHIN_S = 30.0
ASK_TIMEOUT_S = 2.0
SMALL = {"warren.journal.bound": "8MiB", "warren.journal.file_size": "1MiB", "warren.chunks.bound": "8MiB"}
"""The least bounds: segments and checkpoints are made, and shipped, all the time."""


@dataclass
class Surroundings:
    """What this machine lets the tests have, and what has to be done without."""

    network: networks.Network | None = None
    has_disks: bool = False
    clock: Path | None = None
    skipped: list[str] = field(default_factory=list)

    @classmethod
    def make(cls) -> "Surroundings":
        """Moves this process to a network and to mounts of its own where it may: before there are other threads."""
        made = cls(clock=clocks.library())
        if made.clock is None:
            made.skipped.append("clocks are not moved: there is no C compiler")
        no_network, no_disks = networks.why_impossible(), disks.why_impossible()
        if no_disks is None:
            disks.separate()
            made.has_disks = True
        else:
            made.skipped.append(f"disks are never full and never hang: {no_disks}")
        if no_network is None:
            made.network = networks.Network(COUNT)
        else:
            made.skipped.append(f"cables are not cut, nodes are on 127.0.0.1: {no_network}")
        return made

    @property
    def have(self) -> set[str]:
        """By the words that faults say they need."""
        return {word for word, is_had in {"network": self.network, "disks": self.has_disks, "clock": self.clock}.items() if is_had}


class Node(Warren):
    """One of them. What it may be told of the others is the cluster's business."""

    def __init__(self, number: int, surroundings: Surroundings, command: str = DEFAULT_COMMAND, settings: dict[str, str] | None = None):
        self.number, self.name = number, f"hare{number}@localhost"
        net = surroundings.network
        if net:
            self.host = net.address(number)
        self.cluster_port = free_port()
        own = {
            "warren.node_name": self.name,
            "warren.cluster.listener": f"{self.host}:{self.cluster_port}",
            "warren.cluster.advertise": f"{self.host}:{self.cluster_port}",
            "warren.cluster.secret": SECRET,
            # Clients are on another machine here.
            "loopback_users.guest": "false",
        }
        super().__init__(command, own | (settings or {}), wrapper=net.wrapper(number) if net else None, management=True)
        self.disk = disks.Disk(self.directory) if surroundings.has_disks else None
        if self.disk:
            self.data_dir = self.disk.path / "data"
        self.clock = clocks.Clock(self.directory / "clock", surroundings.clock) if surroundings.clock else None

    def environment(self) -> dict[str, str]:
        return super().environment() | (self.clock.variables if self.clock else {})

    @property
    def api(self) -> Management:
        """Its HTTP API, for who cannot wait."""
        return Management((self.host, self.management_port), timeout_s=ASK_TIMEOUT_S)

    def view(self) -> dict[str, Any] | None:
        """How it sees the cluster itself, if it says so: over the network the leader would answer."""
        connection = SocketConnection(self.data_dir / "control.sock")
        try:
            connection.request("GET", "/api/warren/cluster")
            response = connection.getresponse()
            return json.loads(response.read()) if response.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def lose_everything(self) -> None:
        """An empty directory under the same name."""
        shutil.rmtree(self.data_dir, ignore_errors=True)

    def remove(self) -> None:
        if self.disk:
            self.disk.go_on()
        self.kill()
        if self.disk:
            self.disk.remove()
        super().remove()


class SocketConnection(http.client.HTTPConnection):
    """HTTP to the socket in a node's directory."""

    def __init__(self, path: Path):
        super().__init__("localhost", timeout=ASK_TIMEOUT_S)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ASK_TIMEOUT_S)
        self.sock.connect(str(self.path))


class Cluster:
    """Nodes that know each other."""

    def __init__(self, surroundings: Surroundings, command: str = DEFAULT_COMMAND, settings: dict[str, str] | None = None, count: int = COUNT):
        self.surroundings = surroundings
        self.nodes = {number: Node(number, surroundings, command, settings) for number in range(1, count + 1)}
        for node in self.nodes.values():
            node.settings |= self.introduction()

    def introduction(self) -> dict[str, str]:
        """The list that all of them have."""
        found = {}
        for number, node in self.nodes.items():
            found[f"warren.cluster.peers.{number}"] = f"{node.name}={node.host}:{node.cluster_port}"
            found[f"cluster_formation.classic_config.nodes.{number}"] = node.name
        return found

    def start(self) -> "Cluster":
        for node in self.nodes.values():
            node.start(wait=False)
        self.await_whole(FORMED_WITHIN_S)
        return self

    def why_not_whole(self) -> str | None:
        """Why not everything is well: all nodes run, know who leads and that they vote, and have what the leader has."""
        for node in self.nodes.values():
            if node.has_ended():
                return f"node {node.number} does not run"
        views = {number: node.view() for number, node in self.nodes.items()}
        for number, own in views.items():
            # Its own word: the leader's may be of the node that was here a moment ago.
            if not own or not own["leader"]:
                return f"node {number} does not say who leads: {_brief(views)}"
            if any(member["name"] == own["node"] and member["role"] == "learner" for member in own["nodes"]):
                return f"node {number} does not vote: {_brief(views)}"
        if len({own["leader"] for own in views.values() if own}) > 1:
            return f"nodes name different leaders: {_brief(views)}"
        view = next((own for own in views.values() if own and own["node"] == own["leader"]), None)
        if not view:
            return f"no node says that it leads: {_brief(views)}"
        if len(view["nodes"]) != len(self.nodes):
            return f"there should be {len(self.nodes)} members: {_brief(views)}"
        for member in view["nodes"]:
            if not member["running"] or member["role"] == "learner":
                return f"{member['name']} is {'not running' if not member['running'] else 'a learner'}, says {view['node']}: {_brief(views)}"
            if member["log"] and member["log"]["lag_entries"] > 0:
                return f"{member['name']} is {member['log']['lag_entries']} entries behind, says {view['node']}"
        return None

    def await_whole(self, within_s: float = WHOLE_WITHIN_S) -> None:
        self.await_(self.why_not_whole, within_s)

    def await_(self, why_not: Callable[[], str | None], within_s: float) -> None:
        """Until there is no reason any more why not."""
        deadline = time.monotonic() + within_s
        while reason := why_not():
            if time.monotonic() > deadline:
                raise NotReady(f"after {within_s:.0f} s: {reason}")
            time.sleep(0.05)

    def leader(self, within_s: float = 5.0) -> int | None:
        """Who leads, as far as those know that can be asked."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            views = [view for node in self.nodes.values() if not node.has_ended() and (view := node.view()) and view["leader"]]
            if views:
                name = max(views, key=lambda view: view["term"])["leader"]
                return next(number for number, node in self.nodes.items() if node.name == name)
            time.sleep(0.05)
        return None

    def any_other(self, number: int, dice: random.Random) -> Node:
        return self.nodes[dice.choice([each for each in self.nodes if each != number])]

    def remove(self) -> None:
        for node in self.nodes.values():
            node.remove()

    def kill(self) -> None:
        """Ends all of them, and leaves their files."""
        for node in self.nodes.values():
            if node.disk:
                node.disk.go_on()
            node.kill()

    def keep_files(self) -> Path:
        """Copies what is on the disks to where it can be looked at when this process and its mounts are gone."""
        kept = Path(tempfile.mkdtemp(prefix="warren-test-kept-"))
        for number, node in self.nodes.items():
            (kept / f"{number}").mkdir()
            shutil.copy(node.log_path, kept / f"{number}" / "log")
            if node.data_dir.exists():
                shutil.copytree(node.data_dir, kept / f"{number}" / "data", ignore=shutil.ignore_patterns("*.sock"))
        return kept


def _brief(views: dict[int, Any]) -> str:
    def one(view: Any) -> str:
        if view is None:
            return "silent"
        members = ", ".join(f"{member['name'].split('@')[0]} {member['role']}{'' if member['running'] else ' (down)'}" for member in view["nodes"])
        return f"term {view['term']}, leader {view['leader']}, majority {view['has_majority']}, waiting {view['waiting']!r}: {members}"

    return "; ".join(f"node {number}: {one(view)}" for number, view in views.items())
