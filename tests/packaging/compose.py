"""A service of a compose file, run without a container runtime: the root directory of the image by RabbitMQ's names, in a chroot with namespaces of
its own for processes, mounts, the host's name and the network. Ports are the service's own, and reach no other process of this machine.

What the image says is read from the Dockerfile: its variables, its entry point, its command. A volume's file is copied to where it would be
mounted.
"""

import ast
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROOTFS = ROOT / "packaging" / "image" / "rabbitmq-rootfs"
# What programs write to; the rest of the image is shared.
WRITTEN = ("etc", "var", "tmp", "root", "run")
USER = 999
HEALTHY_TIMEOUT_S = 60
STOP_TIMEOUT_S = 30
# The container's address: clients of other containers come from none that is a loopback's.
ADDRESS = "10.99.0.2"
# What belongs to a login and is tried as a client: a message there and back.
CLIENT = """
import sys, pika
address, user, password, vhost, port = sys.argv[1:6]
parameters = pika.ConnectionParameters(address, int(port), vhost, pika.PlainCredentials(user, password), socket_timeout=20)
with pika.BlockingConnection(parameters) as connection:
    channel = connection.channel()
    channel.confirm_delivery()
    channel.queue_declare("there-and-back", durable=True)
    channel.basic_publish("", "there-and-back", b"a message", pika.BasicProperties(delivery_mode=2), mandatory=True)
    method, _, body = channel.basic_get("there-and-back", auto_ack=True)
    assert body == b"a message", body
    channel.queue_delete("there-and-back")
"""


def why_not() -> str | None:
    """Why services cannot be run on this machine."""
    if os.geteuid() != 0:
        return "a chroot needs root"
    if missing := [program for program in ("unshare", "nsenter", "chroot", "busybox", "strip", "objdump") if not shutil.which(program)]:
        return f"not installed: {', '.join(missing)} (apt-get install busybox-static util-linux binutils)"
    if subprocess.run(["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "true"], capture_output=True, check=False).returncode:
        return "namespaces cannot be made here"
    return None


class Image:
    """The image's root directory, and what the Dockerfile says of it."""

    def __init__(self, binary: Path, folder: Path):
        made = folder / "image"
        subprocess.run([ROOTFS, binary, made], check=True, stdin=subprocess.DEVNULL)
        self.root = made / "system"
        shutil.move(made / "data", self.root / "var/lib/rabbitmq")
        shutil.move(made / "etc", self.root / "etc/rabbitmq")
        for owned in ("var/lib/rabbitmq", "etc/rabbitmq"):
            for path in [self.root / owned, *(self.root / owned).rglob("*")]:
                os.chown(path, USER, USER)
        for name in ("proc", "dev", "sys", "run", "root"):
            (self.root / name).mkdir(exist_ok=True)
        part = (ROOT / "Dockerfile").read_text().partition("FROM scratch AS rabbitmq\n")[2].partition("\nFROM ")[0].replace("\\\n", " ")
        said = {line.split(None, 1)[0]: line.split(None, 1)[1] for line in part.splitlines() if line and not line.startswith("#")}
        self.variables = dict(word.split("=", 1) for word in shlex.split(said["ENV"]))
        self.entrypoint, self.command = ast.literal_eval(said["ENTRYPOINT"]), ast.literal_eval(said["CMD"])

    def copy(self, root: Path) -> None:
        """A root directory of its own, in which what no program writes to is the image's."""
        root.mkdir()
        for entry in self.root.iterdir():
            how = "-a" if entry.name in WRITTEN else "-al"
            subprocess.run(["cp", how, str(entry), str(root / entry.name)], check=True)


def interpolated(text: str) -> str:
    """As compose has it: `${NAME:-default}` of an environment in which no name is set, and `$$` for one."""
    return re.sub(r"\$\{\w+:?-([^}]*)\}|\$\$", lambda found: "$" if found[0] == "$$" else found[1].replace("$$", "$"), text)


def words_of(said) -> list[str]:
    return shlex.split(interpolated(said)) if isinstance(said, str) else [interpolated(word) for word in said]


@dataclass
class Service:
    """One service: what its file says, in a root directory of its own."""

    name: str
    said: dict
    image: Image
    folder: Path
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = self.folder / self.name
        self.image.copy(self.root)
        self.host = str(self.said.get("hostname", self.name))
        (self.root / "etc/hosts").write_text(f"127.0.0.1 localhost {self.host}\n::1 localhost\n")
        (self.root / "etc/hostname").write_text(f"{self.host}\n")
        for volume in self.said.get("volumes", ()):
            self._mount(volume)

    def _mount(self, volume) -> None:
        source, target = (volume["source"], volume["target"]) if isinstance(volume, dict) else volume.split(":")[:2]
        inside = self.root / target.strip("/")
        files = {path: text for path, text in self.said.get("x-files", {}).items() if path == source or path.startswith(f"{source.rstrip('/')}/")}
        if not files:
            # A named volume begins with what the image has there.
            inside.mkdir(parents=True, exist_ok=True)
            return
        is_file = source in files
        if not is_file:
            # What is mounted hides what the image has.
            shutil.rmtree(inside, ignore_errors=True)
        for path, text in files.items():
            place = inside if is_file else inside / path.removeprefix(source).strip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)

    @property
    def variables(self) -> dict[str, str]:
        said = self.said.get("environment", {})
        pairs = said.items() if isinstance(said, dict) else (entry.split("=", 1) for entry in said)
        return {**self.image.variables, "HOSTNAME": self.host, **{name: interpolated(str(value)) for name, value in pairs}}

    def _in_root(self, words: list[str]) -> list[str]:
        user = self.said.get("user")
        settings = [f"{name}={value}" for name, value in self.variables.items()]
        return ["chroot", *([f"--userspec={user}"] if user else []), str(self.root), "/bin/env", "-i", *settings, *words]

    @contextlib.contextmanager
    def running(self):
        entrypoint = words_of(self.said["entrypoint"]) if "entrypoint" in self.said else self.image.entrypoint
        # As compose: an entry point of the file's own is not followed by the image's command.
        command = words_of(self.said["command"]) if "command" in self.said else ([] if "entrypoint" in self.said else self.image.command)
        busybox = shlex.quote(str(self.root / "bin/busybox"))
        prepare = f"hostname {shlex.quote(self.host)}; {busybox} ip link set lo up; {busybox} ip addr add {ADDRESS}/32 dev lo; mount -t proc proc {shlex.quote(str(self.root / 'proc'))}; mount --rbind /dev {shlex.quote(str(self.root / 'dev'))}"
        script = f"{prepare}; exec {shlex.join(self._in_root([*entrypoint, *command]))}"
        unshare = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "sh", "-c", script]
        self.process = subprocess.Popen(unshare, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        reader = threading.Thread(target=lambda: self.log.extend(self.process.stdout), daemon=True)
        reader.start()
        try:
            yield self
        finally:
            if (first := self._first()) is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(first, signal.SIGTERM)
            try:
                self.process.wait(timeout=STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                # With its first process all others of the namespace end.
                self.process.kill()
                self.process.wait(timeout=STOP_TIMEOUT_S)
            reader.join(timeout=STOP_TIMEOUT_S)

    def _first(self) -> int | None:
        """The container's first process, as this machine counts."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with contextlib.suppress(FileNotFoundError):
            found = children.read_text().split()
            return int(found[0]) if found else None
        return None

    def _enter(self, *namespaces: str) -> list[str]:
        first = self._first()
        assert first is not None, self.said_so_far()
        return ["nsenter", f"--target={first}", *(f"--{name}" for name in namespaces)]

    def execute(self, words: list[str]) -> subprocess.CompletedProcess:
        """As `docker exec`."""
        command = [*self._enter("mount", "net", "uts", "ipc", "pid"), *self._in_root(words)]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HEALTHY_TIMEOUT_S, check=False)

    def health_check(self) -> list[str]:
        test = self.said["healthcheck"]["test"]
        match test:
            case str():
                return ["/bin/sh", "-c", interpolated(test)]
            case ["CMD-SHELL", text]:
                return ["/bin/sh", "-c", interpolated(text)]
            case ["CMD", *words]:
                return [interpolated(word) for word in words]
        raise AssertionError(f"{self.name}: {test}")

    def wait_until_healthy(self) -> None:
        deadline = time.monotonic() + HEALTHY_TIMEOUT_S
        told = "it was never asked"
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"it has ended\n{self.said_so_far()}"
            if self._first() is not None:
                done = self.execute(self.health_check())
                if done.returncode == 0:
                    return
                told = f"{done.returncode}: {done.stdout}"
            time.sleep(0.2)
        raise AssertionError(f"never healthy: {told}\n{self.said_so_far()}")

    def pass_a_message(self, python: str = sys.executable) -> None:
        """As a client does that connects again: a service may start its server twice, and the first one be healthy for a moment."""
        deadline = time.monotonic() + HEALTHY_TIMEOUT_S
        login = [str(word) for word in self.said.get("x-login", ["guest", "guest", "/"])]
        command = [*self._enter("net"), python, "-c", CLIENT, ADDRESS, *login, str(self.said.get("x-port", 5672))]
        while True:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HEALTHY_TIMEOUT_S, check=False)
            if done.returncode == 0:
                return
            assert time.monotonic() < deadline and self.process.poll() is None, f"no message: {done.stdout}\n{self.said_so_far()}"
            time.sleep(0.2)

    def wait_until_ended(self) -> str:
        self.process.wait(timeout=HEALTHY_TIMEOUT_S)
        return self.said_so_far()

    def said_so_far(self) -> str:
        return "".join(self.log)[-4000:]
