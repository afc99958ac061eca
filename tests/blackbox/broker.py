"""A broker as the tests see it: a process on a free port of 127.0.0.1, over a data directory that is gone afterwards.

Three kinds: `Warren` (or any program with the same command line), `Peer` (a real RabbitMQ, started by bench/peers/rabbitmq; the same
tests run against it, which is how we know that they are right) and `Running` (somebody else's, only a URL: it cannot be restarted).
"""

import argparse
import ctypes
import os
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from . import codec, environment
from .management import Management
from .wire import Wire

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_COMMAND = f"{environment.WARREN} serve --data-dir {{data_dir}} {{set}}"
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
LOG_TIMEOUT_S = 10.0
# Above the ports of peers, below those that the kernel gives to clients.
PORT_FIRST, PORT_COUNT = 20_000, 12_000


class NotReady(RuntimeError):
    """The broker did not start; the message has the end of its log."""


class Broker:
    """What every kind can do."""

    host = "127.0.0.1"
    port: int
    management_port: int | None = None
    pid: int | None = None
    user, password, virtual_host = "guest", "guest", "/"
    preface = b""
    """What every connection begins with: a header of the PROXY protocol, where one is wanted."""

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def url(self) -> str:
        return f"amqp://{self.user}:{self.password}@{self.host}:{self.port}/"

    @property
    def management(self) -> Management:
        """Its HTTP API, as the broker's first user; only of a broker that was started with `management`."""
        assert self.management_port is not None, "this broker was started without its management API"
        return Management((self.host, self.management_port), self.user, self.password)

    def wire(self, **how) -> Wire:
        """A raw connection, logged in, with its channel 1 open."""
        return Wire.open(self.address, **{"preface": self.preface, "user": self.user, "password": self.password, "virtual_host": self.virtual_host, **how})

    def identify(self) -> None:
        """Asks the broker what it is."""
        with Wire(self.address, preface=self.preface) as wire:
            wire.login(user=self.user, password=self.password)
            properties = wire.server_properties
        self.is_warren = "Warren" in (properties.get("product_name"), properties.get("product"))
        self.version = tuple(int(part) for part in str(properties["version"]).split("-")[0].split(".")[:2])
        self.name = f"{'Warren, compatible with' if self.is_warren else properties['product']} {properties['version']}"

    def rss_anon_bytes(self) -> int:
        """Resident anonymous memory of the broker's process."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"/proc/{self.pid}/status has no RssAnon")

    def wait_ready(self) -> None:
        """Until it answers the protocol header with connection.start."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while True:
            try:
                with Wire(self.address, timeout=5, preface=self.preface) as wire:
                    wire.send(codec.PROTOCOL_HEADER)
                    wire.expect("connection.start")
                    return
            except (OSError, AssertionError):
                if self.has_ended() or time.monotonic() > deadline:
                    raise NotReady(f"the broker on port {self.port} did not start:\n{self.log_tail()}") from None
                time.sleep(0.005)

    def wait_management_ready(self) -> None:
        """Until its HTTP API answers who we are."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while True:
            try:
                if self.management.get("/whoami").status == 200:
                    return
            except OSError:
                pass
            if self.has_ended() or time.monotonic() > deadline:
                raise NotReady(f"the management API on port {self.management_port} does not answer:\n{self.log_tail()}")
            time.sleep(0.005)

    def has_ended(self) -> bool:
        return False

    def log(self) -> str:
        return ""

    def await_log(self, text: str, count: int = 1) -> None:
        """Until its log has that text so many times: a line may come a moment after what it is about."""
        deadline = time.monotonic() + LOG_TIMEOUT_S
        while self.log().count(text) < count:
            assert time.monotonic() < deadline, f"the log has no {text!r}:\n{self.log_tail()}"
            time.sleep(0.005)

    def log_tail(self) -> str:
        return "\n".join(self.log().splitlines()[-30:])


class Running(Broker):
    """A broker that somebody else started."""

    def __init__(self, url: str, management_port: int | None = None):
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 5672
        self.management_port = management_port or self.port + 10000
        self.user, self.password = unquote(parts.username or "guest"), unquote(parts.password or "guest")

    def stop(self) -> None:
        pass

    remove = stop


class Warren(Broker):
    """A process of our own. In the command `{data_dir}`, `{port}` and `{set}` (one --set for each setting) are filled in."""

    def __init__(self, command: str = DEFAULT_COMMAND, settings: dict[str, str] | None = None, files_max: int | None = None, wrapper: list[str] | None = None, preface: bytes = b"", management: bool = False):
        self.command, self.files_max, self.wrapper, self.preface = command, files_max, wrapper or [], preface
        self.port = free_port()
        self.settings = {"listeners.tcp.default": f"{self.host}:{self.port}"}
        if management:
            self.management_port = free_port()
            self.settings |= {"management.tcp.ip": self.host, "management.tcp.port": str(self.management_port)}
        elif not any(key.startswith("management.") for key in settings or {}):
            self.settings["warren.management.enabled"] = "false"
        if not any(key.startswith("prometheus.") for key in settings or {}):
            self.settings["warren.prometheus.enabled"] = "false"
        self.settings |= settings or {}
        self.user, self.password = self.settings.get("default_user", "guest"), self.settings.get("default_pass", "guest")
        self.directory = Path(tempfile.mkdtemp(prefix="warren-test-"))
        self.data_dir = self.directory / "data"
        self.log_path = self.directory / "log"
        self.process: subprocess.Popen | None = None

    def start(self, wait: bool = True) -> "Warren":
        """Starts it; with `wait` returns when it is ready."""
        assert self.process is None, "the broker runs already"
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, *self.words()], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, env=self.environment(),
                start_new_session=True, preexec_fn=self._before_exec,
            )  # fmt: skip
        self.pid = self.process.pid
        if wait:
            self.wait_ready()
            if self.management_port is not None:
                self.wait_management_ready()
        return self

    def words(self) -> list[str]:
        """The command, filled in."""
        settings = " ".join(shlex.quote(f"--set={key}={value}") for key, value in self.settings.items())
        return shlex.split(self.command.format(data_dir=self.data_dir, port=self.port, set=settings))

    def environment(self) -> dict[str, str]:
        """What it is started with."""
        return {key: value for key, value in os.environ.items() if not key.startswith("RABBITMQ_")}

    def _before_exec(self) -> None:
        # However the tests end, the broker ends with them.
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if self.files_max:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.files_max, self.files_max))

    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def kill(self) -> None:
        """SIGKILL, as an out-of-memory killer would. The process group is the broker's own."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def terminate(self) -> None:
        """SIGTERM; `wait_ended` tells how it went."""
        assert self.process is not None
        self.process.terminate()

    def wait_ended(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """The exit status."""
        assert self.process is not None
        status = self.process.wait(timeout_s)
        self.process = None
        return status

    def stop(self) -> None:
        """The graceful end, or the other one if it takes too long."""
        if self.process is None:
            return
        self.terminate()
        try:
            self.wait_ended()
        except subprocess.TimeoutExpired:
            self.kill()

    def remove(self) -> None:
        """Ends it and deletes its files."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""


class Peer(Broker):
    """A real RabbitMQ of major version 3 or 4, from bench/peers/rabbitmq (which installs it when needed)."""

    script = ROOT / "bench" / "peers" / "rabbitmq"

    def __init__(self, version: str, settings: dict[str, str] | None = None, management: bool = False, plugins: tuple[str, ...] = ()):
        self.major, self.plugins = version, plugins
        self.port = _peer_port()
        if management:
            self.management_port = self.port + 10000
        self.settings = {key: value for key, value in (settings or {}).items() if not key.startswith("warren.")}
        self.user, self.password = self.settings.get("default_user", "guest"), self.settings.get("default_pass", "guest")
        self.is_fresh = True

    def start(self, wait: bool = True) -> "Peer":
        options = [option for key, value in self.settings.items() for option in ("--set", f"{key} = {value}")]
        plugins = ["--plugins"] if self.management_port is not None else []
        plugins += [option for plugin in self.plugins for option in ("--enable", plugin)]
        self._call("start", self.major, str(self.port), *plugins, *(["--fresh"] if self.is_fresh else []), *options)
        self.is_fresh = False
        self.pid = int(self._call("pid", str(self.port)))
        if self.management_port is not None:
            self.wait_management_ready()
        return self

    def ctl(self, *arguments: str) -> str:
        """What rabbitmqctl says."""
        return self._call("ctl", str(self.port), *arguments)

    def _call(self, *arguments: str) -> str:
        done = subprocess.run([str(self.script), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise NotReady(f"{self.script.name} {' '.join(arguments)}: {done.stdout}")
        return done.stdout.strip()

    def has_ended(self) -> bool:
        return self.pid is None or not Path(f"/proc/{self.pid}").exists()

    def kill(self) -> None:
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            _await_gone(self.pid)
            self._call("stop", str(self.port))
            self.pid = None

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def wait_ended(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        _await_gone(self.pid, timeout_s)
        self._call("stop", str(self.port))
        self.pid = None
        return 0

    def stop(self) -> None:
        if self.pid is not None:
            self._call("stop", str(self.port))
            self.pid = None

    def remove(self) -> None:
        self.pid = None
        self._call("remove", str(self.port))

    def log(self) -> str:
        folder = Path(self._call("log", str(self.port)))
        return "\n".join(path.read_text(errors="replace") for path in sorted(folder.glob("*")) if path.is_file())


def free_port() -> int:
    """A port of 127.0.0.1 that is free, and that no other suite is given for the next thousands of calls.

    The kernel's own choice would be free now and perhaps the local port of some client a moment later; these are below that range.
    """
    with environment.locked("ports") as path:
        text = path.read_text()
        port = int(text) if text.isdigit() else PORT_FIRST
        for _ in range(PORT_COUNT):
            port = PORT_FIRST + (port + 1 - PORT_FIRST) % PORT_COUNT
            with suppress(OSError), socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
                path.write_text(str(port))
                return port
    raise NotReady("no free port")


def _peer_port() -> int:
    # A peer takes PORT+5000, +10000, +10020 and +20000 too, so the kernel's own choice would be too high.
    for port in range(7000, 12000, 50):
        with suppress(OSError):
            for offset in (0, 5000, 10000, 10020, 20000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port + offset))
            return port
    raise NotReady("no free ports for a peer")


def _await_gone(pid: int, timeout_s: float = STOP_TIMEOUT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"process {pid} did not end within {timeout_s} s"
        time.sleep(0.02)


def end_on_sigterm() -> None:
    """Makes SIGTERM end a runner as Ctrl-C does, so that it cleans up."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def runner(description: str) -> argparse.ArgumentParser:
    """The command line of a runner, with the options of all of them."""
    end_on_sigterm()
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    return parser


def refuse_url(parser: argparse.ArgumentParser, arguments: argparse.Namespace, reason: str) -> None:
    """For a runner that needs brokers of its own."""
    if arguments.url:
        parser.error(f"{reason}: --url cannot be used")


def add_options(parser) -> None:
    """The options of every runner (an argparse parser, or pytest's, which has the same method by another name)."""
    add = getattr(parser, "addoption", None) or parser.add_argument
    add("--broker-command", default=DEFAULT_COMMAND, metavar="COMMAND", help="starts the broker under test; {data_dir}, {port} and {set} are filled in (default: target/debug/warren serve …)")
    add("--url", default=None, metavar="URL", help="test a broker that runs already, e.g. amqp://guest:guest@127.0.0.1:5672/")
    add("--management-port", default=None, type=int, metavar="PORT", help="where the broker of --url serves its HTTP API (default: its AMQP port + 10000)")
    add("--peer", default=None, choices=["3", "4"], help="test a real RabbitMQ of that major version instead, started by bench/peers/rabbitmq")


def own_options(options) -> list[str]:
    """The same options again, for a pytest that a runner starts."""
    named = [f"--{name}={value}" for name in ("url", "management-port", "peer") if (value := getattr(options, name.replace("-", "_")))]
    return [f"--broker-command={options.broker_command}", *named]


def from_options(options, settings: dict[str, str] | None = None, management: bool = False, plugins: tuple[str, ...] = (), **how) -> Broker:
    """A broker of the kind that the options ask for, not started yet; with `management`, one that serves its HTTP API too.

    `plugins` are those that only a RabbitMQ needs.
    """
    if options.url:
        return Running(options.url, options.management_port)
    if options.peer:
        return Peer(options.peer, settings, management, plugins)
    return Warren(options.broker_command, settings, management=management, **how)
