"""A network of its own for each node, and cables that can be cut, without anything that could be left behind.

This process moves to a new network namespace, which has no name and is gone when its last process is. In it is a bridge, on which the clients
are; each node's namespace hangs on it by a pair of virtual interfaces, and has no name either.

    this process ── bridge 10.83.0.254 ─┬─ hare1 ══ eth0 10.83.0.1   node 1
                                        ├─ hare2 ══ eth0 10.83.0.2   node 2
                                        └─ hare3 ══ eth0 10.83.0.3   node 3

What node 1 sends to node 2 is lost when node 1 believes that node 2 has a hardware address that is not in use. That cuts one direction of one
pair, needs no packet filter in the kernel, and leaves clients alone.
"""

import ctypes
import os
import subprocess
import sys
import threading

_LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x00020000
UNUSED_ADDRESS = "02:00:00:00:de:ad"
BRIDGE = "warren"


def unshare(flags: int) -> None:
    """New namespaces for this thread, and for what it starts."""
    if _LIBC.unshare(flags):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def why_impossible() -> str | None:
    """Why there can be no such network here, if there cannot."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import network; network.Network(1)"
    done = subprocess.run([sys.executable, "-c", code, os.path.dirname(__file__)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


class Network:
    """Moves this process into a network of its own: to be made before there are other threads."""

    def __init__(self, count: int) -> None:
        self.count = count
        unshare(CLONE_NEWNET)
        _run("ip", batch=f"link set lo up\nlink add {BRIDGE} type bridge\nlink set {BRIDGE} up\naddr add 10.83.0.254/24 dev {BRIDGE}\n")
        self.namespaces = {node: _new_namespace() for node in self.nodes}
        for node in self.nodes:
            _run("ip", batch=f"link add hare{node} type veth peer name eth0 netns {self._path(node)}\nlink set hare{node} master {BRIDGE} up\n")
            self._inside(node, f"link set lo up\naddr add {self.address(node)}/24 dev eth0\nlink set eth0 up\n")

    @property
    def nodes(self) -> range:
        return range(1, self.count + 1)

    @staticmethod
    def address(node: int) -> str:
        return f"10.83.0.{node}"

    def wrapper(self, node: int) -> list[str]:
        """What starts a program as that node."""
        return ["nsenter", f"--net={self._path(node)}"]

    def cut(self, sender: int, receivers: list[int]) -> None:
        """What `sender` sends to these is lost, from now on; what they send arrives."""
        self._inside(sender, "".join(f"neigh replace {self.address(each)} lladdr {UNUSED_ADDRESS} dev eth0 nud permanent\n" for each in receivers))

    def mend(self, sender: int, receivers: list[int]) -> None:
        self._inside(sender, "".join(f"neigh del {self.address(each)} dev eth0\n" for each in receivers))

    def unplug(self, node: int) -> None:
        """Pulls the cable: neither nodes nor clients reach it."""
        _run("ip", batch=f"link set hare{node} down\n")

    def plug(self, node: int) -> None:
        _run("ip", batch=f"link set hare{node} up\n")

    def _path(self, node: int) -> str:
        return f"/proc/{os.getpid()}/fd/{self.namespaces[node]}"

    def _inside(self, node: int, batch: str) -> None:
        _run(*self.wrapper(node), "ip", batch=batch)


def _new_namespace() -> int:
    """A network namespace that lives as long as this file descriptor, or a process in it."""
    made: list[int | OSError] = []

    def make() -> None:
        try:
            unshare(CLONE_NEWNET)
            made.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            made.append(error)

    # Namespaces are a thread's own: this one goes there, and the process stays.
    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _run(*command: str, batch: str) -> None:
    done = subprocess.run([*command, "-batch", "-"], input=batch, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}, asked for {batch!r}")
