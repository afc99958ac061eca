#!/usr/bin/env python3
"""Builds the image of a program that is built, looks at its layout, and runs it: `make test-packages`.

    tests/packaging/image.py [--binary target/static/warren]

Needs root and buildah; a container is a chroot of buildah's, for which no runtime and no cgroups are needed. Storage is in a temporary folder, of
which nothing is left.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from blackbox import broker as brokers  # noqa: E402
from blackbox.management import Management  # noqa: E402
from loopback import Loopback  # noqa: E402

TIMEOUT_S = 60
# What people pull.
SIZE_MAX = 48 * 1024 * 1024
NAMES_SIZE_MAX = SIZE_MAX + 24 * 1024 * 1024
USER, PASSWORD = "app", "secret"


class Image:
    def __init__(self, folder: Path, binary: Path, *flavour: str):
        folder.mkdir()
        self.folder, self.archive = folder, folder / "image.tar"
        self.options = [f"--root={folder / 'storage'}", f"--runroot={folder / 'run'}", "--storage-driver=vfs"]
        build = [sys.executable, str(ROOT / "packaging/image/build.py"), "--binary", str(binary), "--tag", "warren:test", "--archive", str(self.archive), *flavour]
        run(*build, *(f"--buildah-option={option}" for option in self.options))

    def config(self) -> dict:
        return json.loads(self.buildah("inspect", "--type", "image", "warren:test"))["Docker"]["config"]

    def members(self) -> dict[str, tarfile.TarInfo]:
        with tarfile.open(self.archive) as archive:
            layers = json.load(archive.extractfile("manifest.json"))[0]["Layers"]
            with tarfile.open(fileobj=archive.extractfile(layers[-1])) as layer:
                return {member.name.removeprefix("./").rstrip("/"): member for member in layer.getmembers()}

    def buildah(self, *words: str) -> str:
        return run("buildah", *self.options, *words)

    @contextlib.contextmanager
    def broker(self, container: str, listeners: Loopback):
        with self.running(container, listeners, ["/usr/bin/warren", "serve", "--data-dir", "/var/lib/warren/data", *listeners.options]):
            yield

    @contextlib.contextmanager
    def running(self, container: str, listeners: Loopback, inside: list[str]):
        variables = [f"--env=RABBITMQ_DEFAULT_USER={USER}", f"--env=RABBITMQ_DEFAULT_PASS={PASSWORD}"]
        command = ["buildah", *self.options, "run", "--isolation", "chroot", *variables, container, "--", *inside]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while not answers(listeners.metrics):
                assert process.poll() is None, process.stdout.read()
                assert time.monotonic() < deadline, "the broker does not serve"
                time.sleep(0.1)
            yield
        finally:
            # buildah passes nothing on: its whole group is told, and so is the broker.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=TIMEOUT_S)


def run(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout.strip()


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def look_at(image: Image, binary: Path) -> None:
    """What the image says of itself, and what is in it."""
    config = image.config()
    assert config["User"] == "999:999", "by number: Kubernetes looks whether it is root"
    assert config["Entrypoint"] == ["/usr/bin/warren"] and config["Cmd"] == ["serve", "--data-dir", "/var/lib/warren/data"]
    assert set(config["ExposedPorts"]) == {f"{port}/tcp" for port in (5672, 5671, 15672, 15671, 15692, 25672)}
    assert list(config["Volumes"]) == ["/var/lib/warren"] and config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/warren", "ctl", "check_running"]
    assert config["Labels"]["org.opencontainers.image.title"] == "Warren"
    assert "RABBITMQ_CONFIG_FILE=/etc/warren/warren.conf" in config["Env"]
    assert image.archive.stat().st_size < SIZE_MAX, f"{image.archive.stat().st_size} bytes"
    found = image.members()
    owners = {name: (member.uid, member.gid) for name, member in found.items()}
    assert owners.pop("var/lib/warren") == (999, 999) and set(owners.values()) == {(0, 0)}, owners
    assert found["tmp"].mode & 0o1777 == 0o1777 and "etc/warren/conf.d" in found
    assert "etc/ssl/certs/ca-certificates.crt" in found, "TLS to others has no authorities"
    assert not {"bin/sh", "usr/bin/sh", "bin/busybox"} & set(found), "there is no shell"
    is_static = "NEEDED" not in run("objdump", "-p", str(binary))
    assert is_static != any(name.endswith("libc.so.6") for name in found)
    print(f"the image has {image.archive.stat().st_size / 1e6:.0f} MB, {'and no library' if is_static else 'with the libraries of a dynamic binary'}", flush=True)


def look_at_names(image: Image) -> None:
    """The image by RabbitMQ's names. What services do with it is test_compose.py's."""
    config = image.config()
    assert config["Entrypoint"] == ["docker-entrypoint.sh"] and config["Cmd"] == ["rabbitmq-server"] and not config.get("User"), "it begins as root"
    assert list(config["Volumes"]) == ["/var/lib/rabbitmq"] and config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", "rabbitmq-diagnostics", "-q", "check_running"]
    assert any(variable.startswith("PATH=/opt/rabbitmq/sbin:") for variable in config["Env"])
    found = image.members()
    for name in (ROOT / "packaging/rabbitmq/names").read_text().split():
        assert found[f"opt/rabbitmq/sbin/{name}"].linkname == "/usr/bin/warren" == found[f"usr/sbin/{name}"].linkname
    for owned in ("var/lib/rabbitmq", "etc/rabbitmq", "etc/rabbitmq/conf.d/10-defaults.conf", "etc/rabbitmq/enabled_plugins"):
        assert (found[owned].uid, found[owned].gid) == (999, 999), owned
    assert {"bin/sh", "bin/bash", "bin/busybox", "bin/wget", "bin/nc", "usr/local/bin/docker-entrypoint.sh"} <= set(found)
    assert found["usr/local/bin/docker-entrypoint.sh"].mode & 0o111 and "etc/warren" not in found
    assert image.archive.stat().st_size < NAMES_SIZE_MAX, f"{image.archive.stat().st_size} bytes"
    print(f"the image by RabbitMQ's names has {image.archive.stat().st_size / 1e6:.0f} MB", flush=True)


def use_names(image: Image) -> None:
    """As its entry point runs it: root becomes the user rabbitmq."""
    container = image.buildah("from", "--pull-never", "warren:test")
    listeners = Loopback()
    sets = [word for option in listeners.options for word in option.split("=", 1)]
    with image.running(container, listeners, ["docker-entrypoint.sh", "rabbitmq-server", *sets]):
        exec_in = ["run", "--isolation", "chroot", container, "--"]
        assert "running" in image.buildah(*exec_in, "rabbitmq-diagnostics", "check_running")
        assert USER in image.buildah(*exec_in, "rabbitmqctl", "list_users")
        assert image.buildah(*exec_in, "stat", "-c", "%U", "/var/lib/rabbitmq/mnesia/warren/journal") == "rabbitmq"
    image.buildah("rm", container)


def use(image: Image) -> None:
    """As a container: a user by the environment, data that stays, the health check."""
    container = image.buildah("from", "--pull-never", "warren:test")
    listeners = Loopback()
    management = Management(("127.0.0.1", listeners.http), USER, PASSWORD)
    with image.broker(container, listeners):
        assert management.get("/whoami").expect(200).json["tags"] == ["administrator"]
        management.put("/queues/%2F/orders", {"durable": True}).expect(201)
        said = image.buildah("run", "--isolation", "chroot", container, "--", "/usr/bin/warren", "ctl", "check_running")
        assert "running" in said
        assert "orders" in image.buildah("run", "--isolation", "chroot", container, "--", "/usr/bin/warren", "ctl", "list_queues")
    image.buildah("rm", container)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("--binary", type=Path, default=ROOT / "target/static/warren", help="(default: target/static/warren)")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("buildah"):
        print("skipped: this needs root and buildah (apt-get install buildah)")
        return 0
    with tempfile.TemporaryDirectory(prefix="warren-image-test-") as name:
        image = Image(Path(name) / "plain", arguments.binary)
        look_at(image, arguments.binary)
        use(image)
        if shutil.which("busybox"):
            names = Image(Path(name) / "names", arguments.binary, "--rabbitmq")
            look_at_names(names)
            use_names(names)
        else:
            print("skipped: the image by RabbitMQ's names needs busybox (apt-get install busybox-static)")
    print("looked at and used, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
