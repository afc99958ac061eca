#!/usr/bin/env python3
"""Installs the package in a fresh Debian, uses it there, upgrades, removes and purges it: `make test-packages`.

    tests/packaging/chroot.py [--binary target/dist/warren] [--suite bookworm]

Needs root, debootstrap, and a network for Debian's packages, from where this machine has its own. Everything is in a temporary folder, of which
nothing is left. Units cannot be started in there: that they are enabled is looked at, and the program is started as they would start it.
"""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from blackbox import broker as brokers  # noqa: E402
from loopback import Loopback  # noqa: E402

BUILD = ROOT / "packaging" / "deb" / "build.py"
TIMEOUT_S = 60
DATA = "var/lib/warren/data"


class Debian:
    """A Debian in a folder."""

    def __init__(self, folder: Path, suite: str):
        self.root = folder / "debian"
        self.suite = suite

    def make(self) -> None:
        command = ["debootstrap", "--variant=minbase", self.suite, str(self.root), *mirror()]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, f"debootstrap: {done.stdout[-2000:]}"
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")

    def run(self, *words: str, user: str | None = None, statuses: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(self.words(*words, user=user), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(), check=False)
        assert done.returncode in statuses, f"{' '.join(words)}: status {done.returncode}\n{done.stdout[-3000:]}"
        return done.stdout

    def words(self, *words: str, user: str | None = None) -> list[str]:
        return ["chroot", *([f"--userspec={user}:{user}"] if user else []), str(self.root), *words]

    def install(self, package: Path) -> str:
        shutil.copy(package, self.root / package.name)
        return self.run("apt-get", "install", "-y", "-qq", f"/{package.name}")

    def mode(self, path: str) -> str:
        return self.run("stat", "-c", "%U:%G %a", f"/{path}").strip()

    def mount(self, path: str) -> None:
        """A file system of its own, as volumes are."""
        (self.root / path).mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(self.root / path)], check=True)

    def unmount(self) -> None:
        """All that is mounted in there: what debootstrap left, too. Nothing is deleted through a mount."""
        for path in sorted(mounts_below(self.root), key=len, reverse=True):
            subprocess.run(["umount", path], check=True)

    @contextlib.contextmanager
    def broker(self):
        """The program, as the unit starts it, on ports of 127.0.0.1."""
        serve = ["/usr/bin/warren", "serve", "--config", "/etc/warren/warren.conf", "--data-dir", f"/{DATA}", *Loopback().options]
        command = self.words(*serve, user="warren")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment())
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while subprocess.run(self.words("/usr/bin/warren", "ctl", "--data-dir", f"/{DATA}", "check_running"), capture_output=True, check=False).returncode != 0:
                assert process.poll() is None, process.stdout.read()
                assert time.monotonic() < deadline, "the broker does not serve"
                time.sleep(0.1)
            yield self
        finally:
            process.send_signal(signal.SIGTERM)
            told, _ = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, told

    def ctl(self, *words: str) -> str:
        return self.run("/usr/bin/warren", "ctl", "--data-dir", f"/{DATA}", "--quiet", *words)


def mounts_below(folder: Path) -> list[str]:
    found = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [path for path in found if path.startswith(f"{folder}/")]


def mirror() -> list[str]:
    """Where this machine has its packages from; debootstrap's own where that is not known."""
    told = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"], capture_output=True, text=True, check=False).stdout.split()
    return told[:1]


def environment() -> dict[str, str]:
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}


def build(binary: Path, folder: Path, revision: int) -> Path:
    options = ["--binary", str(binary), "--output", str(folder), "--compression", "gzip", "--revision", str(revision)]
    done = subprocess.run([sys.executable, str(BUILD), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def lint(package: Path) -> None:
    if not shutil.which("lintian"):
        print("skipped: lintian is not installed, so it is not asked", flush=True)
        return
    done = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", str(package)], capture_output=True, text=True, check=False)
    remarks = [line for line in done.stdout.splitlines() if line.startswith(("E:", "W:"))]
    assert not remarks, "\n".join(remarks)


def installs(debian: Debian, package: Path) -> None:
    debian.install(package)
    assert debian.run("id", "-un", "warren").strip() == "warren"
    assert debian.run("getent", "passwd", "warren").strip().split(":")[5:] == ["/var/lib/warren", "/usr/sbin/nologin"]
    for path, mode in {"var/lib/warren": "warren:warren 750", "etc/warren": "root:warren 750", "etc/warren/warren.conf": "root:warren 640", "usr/bin/warren": "root:root 755"}.items():
        assert debian.mode(path) == mode, f"{path}: {debian.mode(path)}"
    wanted = debian.root / "etc/systemd/system/multi-user.target.wants/warren.service"
    assert wanted.is_symlink(), "the unit is not enabled"
    assert "warren" in debian.run("/usr/bin/warren", "--version")
    with debian.broker():
        debian.ctl("declare", "queue", "name=orders", "durable=true")
        debian.ctl("publish", "routing_key=orders", "payload=kept", 'properties={"delivery_mode": 2}')
    assert debian.mode(DATA).startswith("warren:warren"), "the broker runs as its user"


def has_the_message(debian: Debian) -> None:
    with debian.broker():
        assert "orders" in debian.ctl("list_queues", "name", "messages") and "kept" in debian.ctl("get", "queue=orders")


def has_names(debian: Debian, folder: Path, binary: Path) -> None:
    """The package of RabbitMQ's names, beside the first."""
    options = ["--binary", str(binary), "--output", str(folder)]
    done = subprocess.run([sys.executable, str(BUILD.with_name("build_compat.py")), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    package = Path(done.stdout.strip())
    lint(package)
    debian.install(package)
    with debian.broker():
        assert "orders" in debian.run("rabbitmqctl", "-q", "list_queues")
        debian.run("rabbitmq-diagnostics", "-q", "ping")
    debian.run("apt-get", "purge", "-y", "-qq", "warren-rabbitmq-compat")
    assert not (debian.root / "usr/sbin/rabbitmqctl").is_symlink() and (debian.root / "usr/bin/warren").exists()


def upgrades(debian: Debian, package: Path) -> None:
    config = debian.root / "etc/warren/warren.conf"
    config.write_text(config.read_text() + "heartbeat = 30\n")
    debian.run("systemctl", "disable", "warren.service", statuses=(0, 1, 127))
    (debian.root / "etc/systemd/system/multi-user.target.wants/warren.service").unlink(missing_ok=True)
    debian.install(package)
    assert "heartbeat = 30" in config.read_text(), "what an operator wrote stays"
    assert debian.mode("etc/warren/warren.conf") == "root:warren 640"
    assert not (debian.root / "etc/systemd/system/multi-user.target.wants/warren.service").is_symlink(), "what was disabled stays so"
    has_the_message(debian)


def removes(debian: Debian, package: Path) -> None:
    debian.run("apt-get", "remove", "-y", "-qq", "warren")
    assert not (debian.root / "usr/bin/warren").exists()
    assert (debian.root / DATA / "journal").is_dir(), "data stays"
    assert (debian.root / "etc/warren/warren.conf").exists(), "the configuration stays"
    debian.install(package)
    has_the_message(debian)


def purges(debian: Debian) -> None:
    debian.mount("var/lib/warren/elsewhere")
    (debian.root / "var/lib/warren/elsewhere/precious").write_text("kept")
    told = debian.run("apt-get", "purge", "-y", "-qq", "warren")
    assert "something is mounted" in told, told
    assert (debian.root / "var/lib/warren/elsewhere/precious").read_text() == "kept", "what is mounted is not ours"
    assert not (debian.root / DATA).exists() and not (debian.root / "etc/warren").exists() and not (debian.root / "etc/default/warren").exists()
    debian.unmount()
    left = debian.run("find", "/etc", "/usr", "/lib", "/var/lib/systemd", "-xdev", "-name", "*warren*")
    assert not left, f"left: {left}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("--binary", type=Path, default=ROOT / "target/dist/warren", help="(default: target/dist/warren)")
    parser.add_argument("--suite", default="bookworm", help="of Debian (default: %(default)s)")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: this needs root and debootstrap (apt-get install debootstrap)")
        return 0
    with tempfile.TemporaryDirectory(prefix="warren-chroot-") as name:
        folder = Path(name)
        first, second = (build(arguments.binary, folder / "packages", revision) for revision in (1, 2))
        lint(first)
        print("built, and lintian has nothing to say", flush=True)
        debian = Debian(folder, arguments.suite)
        try:
            debian.make()
            print("a fresh Debian", flush=True)
            for step in (lambda: installs(debian, first), lambda: has_names(debian, folder / "packages", arguments.binary), lambda: upgrades(debian, second), lambda: removes(debian, second), lambda: purges(debian)):
                step()
        finally:
            debian.unmount()
    print("installed, called by other names, upgraded, removed and purged: 5 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
