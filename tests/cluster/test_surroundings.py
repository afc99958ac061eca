"""Networks that are cut, disks that hang and are full, clocks that are moved: that the faults are what they say. Each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import clock  # noqa: E402
import disks  # noqa: E402
import network  # noqa: E402


def run(code, *words):
    """Runs that code where it can do as it likes; what it says."""
    prelude = f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(HERE.parent)!r}]\n"
    done = subprocess.run([sys.executable, "-c", prelude + code, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


ECHO = """
import network, socket, subprocess, sys, time
PROGRAM = '''
import socket, sys, time
own, other = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((own, 900)); s.settimeout(0.02)
while True:
    s.sendto(b"x", (other, 900))
    try:
        print(s.recv(9), flush=True)
    except TimeoutError:
        pass
    time.sleep(0.02)
'''
net = network.Network(2)
logs = {node: open(f"{sys.argv[1]}/{node}", "w+") for node in net.nodes}
ends = [subprocess.Popen([*net.wrapper(node), sys.executable, "-c", PROGRAM, net.address(node), net.address(3 - node)], stdout=logs[node]) for node in net.nodes]
def hears(node):
    before = logs[node].seek(0, 2)
    time.sleep(0.3)
    return logs[node].seek(0, 2) > before
def show():
    time.sleep(0.2)
    print(*(int(hears(node)) for node in net.nodes))
try:
    while not (hears(1) and hears(2)):
        pass
    net.cut(1, [2]); show()
    net.cut(2, [1]); show()
    net.mend(1, [2]); show()
    net.mend(2, [1]); show()
    net.unplug(1); show()
    net.plug(1); show()
finally:
    for end in ends:
        end.kill()
"""


@pytest.mark.skipif(network.why_impossible() is not None, reason="no namespaces here")
def test_cables_are_cut_in_one_direction_and_in_both(tmp_path):
    assert run(ECHO, str(tmp_path)) == "1 0  0 0  0 1  1 1  0 0  1 1".split()


@pytest.mark.skipif(network.why_impossible() is not None, reason="no namespaces here")
def test_nothing_is_left_of_a_network():
    own, here = run("import network, os; net = network.Network(1); print(os.readlink('/proc/self/ns/net'))")[0], os.readlink("/proc/self/ns/net")
    assert own != here
    assert "hare1" not in Path("/proc/net/dev").read_text()


DISK = """
import disks, os, pathlib, subprocess, sys, time
disks.separate()
disk = disks.Disk(pathlib.Path(sys.argv[1]))
def write():
    return subprocess.Popen([sys.executable, "-c", "import os, sys; f = open(sys.argv[1] + '/file', 'ab'); f.write(b'x' * 100_000); f.flush(); os.fsync(f.fileno())", disk.path], stderr=subprocess.DEVNULL)
print(write().wait())
disk.fill(); print(write().wait())
disk.empty(); print(write().wait())
disk.hang(); waiting = write(); time.sleep(0.5); print(waiting.poll())
disk.go_on(); print(waiting.wait())
disk.remove()
"""


@pytest.mark.skipif(disks.why_impossible() is not None, reason="no disks of our own here")
def test_disks_are_full_and_hang(tmp_path):
    assert run(DISK, str(tmp_path)) == ["0", "1", "0", "None", "0"]


@pytest.mark.skipif(disks.why_impossible() is not None, reason="no disks of our own here")
def test_a_hanging_disk_does_not_outlive_who_made_it(tmp_path):
    made = "import disks, os, pathlib, signal, sys; disks.separate(); disks.Disk(pathlib.Path(sys.argv[1])).hang(); os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(AssertionError):
        run(made, str(tmp_path))
    devices = subprocess.run(["losetup", "--list", "--noheadings", "--output", "BACK-FILE"], capture_output=True, text=True, check=True).stdout
    for _ in range(100):
        if str(tmp_path) not in devices:
            return
        devices = subprocess.run(["sh", "-c", "sleep 0.1; losetup --list --noheadings --output BACK-FILE"], capture_output=True, text=True, check=True).stdout
    raise AssertionError(devices)


@pytest.mark.skipif(clock.library() is None, reason="no C compiler here")
def test_clocks_are_moved_while_a_program_runs(tmp_path):
    shown = "import os, sys, time\nfor _ in sys.stdin: print(time.time(), time.monotonic(), flush=True)"
    own = clock.Clock(tmp_path / "clock", clock.library())
    process = subprocess.Popen([sys.executable, "-c", shown], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **own.variables})

    def ask():
        process.stdin.write("\n")
        process.stdin.flush()
        return [float(each) for each in process.stdout.readline().split()]

    with process:
        wall, counted = ask()
        own.move(-3600.0)
        later, counted_later = ask()
        process.stdin.close()
    assert -3601 < later - wall < -3590
    assert 0 <= counted_later - counted < 10
