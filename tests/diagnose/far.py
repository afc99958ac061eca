"""A network that takes a while, as the kernel sees it: two network namespaces, and a program between them that holds each packet back.

    this process ── tun near 10.84.0.1 ══ held back ══ tun far 10.84.0.2 ── programs that are started with `wrapper`

Needs root and /dev/net/tun. This process moves to a namespace of its own, which is gone when its last process is.
"""

import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import threading
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
NEAR, FAR = "10.84.0.1", "10.84.0.2"
_LIBC = ctypes.CDLL(None, use_errno=True)


def _unshare() -> None:
    if _LIBC.unshare(CLONE_NEWNET):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _tun(name: str) -> int:
    """A network interface in this thread's namespace; what is read here was sent there."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def _configure(name: str, address: str, peer: str, namespace: list[str]) -> None:
    batch = f"link set lo up\naddr add {address} peer {peer} dev {name}\nlink set {name} up\n"
    subprocess.run([*namespace, "ip", "-batch", "-"], input=batch, text=True, check=True, capture_output=True)


class FarNetwork:
    """Moves this thread into a network of its own: to be made before there are other threads."""

    def __init__(self, one_way_s: float) -> None:
        self.one_way_s = one_way_s
        made: list = []

        def make_far() -> None:
            try:
                _unshare()
                made.extend([os.open("/proc/thread-self/ns/net", os.O_RDONLY), _tun("far")])
            except OSError as error:
                made.append(error)

        thread = threading.Thread(target=make_far)
        thread.start()
        thread.join()
        if isinstance(made[-1], OSError):
            raise made[-1]
        namespace, far = made
        _unshare()
        near = _tun("near")
        self.wrapper = ["nsenter", f"--net=/proc/{os.getpid()}/fd/{namespace}"]
        _configure("near", NEAR, FAR, [])
        _configure("far", FAR, NEAR, self.wrapper)
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: int, sink: int) -> None:
        held: collections.deque[tuple[float, bytes]] = collections.deque()
        while True:
            wait = held[0][0] - time.monotonic() if held else None
            if wait is None or wait > 0:
                select.select([source], [], [], wait)
            try:
                while True:
                    held.append((time.monotonic() + self.one_way_s, os.read(source, 65536)))
            except BlockingIOError:
                pass
            while held and held[0][0] <= time.monotonic():
                try:
                    os.write(sink, held.popleft()[1])
                except OSError:
                    # As full interfaces do: TCP sends it again.
                    pass


def why_impossible() -> str | None:
    """Why there can be no such network here, if there cannot."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import far; far.FarNetwork(0.001)"
    done = subprocess.run([sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__))], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it fails"])[-1]
