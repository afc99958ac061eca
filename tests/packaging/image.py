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

PATIENCE_S = 60
# What people pull.
SIZE_MAX = 48 * 1024 * 1024
USER, PASSWORD = "app", "secret"


class Image:
    def __init__(self, folder: Path, binary: Path):
        self.folder, self.archive = folder, folder / "image.tar"
        self.options = [f"--root={folder / 'storage'}", f"--runroot={folder / 'run'}", "--storage-driver=vfs"]
        build = [sys.executable, str(ROOT / "packaging/image/build.py"), "--binary", str(binary), "--tag", "warren:test", "--archive", str(self.archive)]
        run(*build, *(f"--buildah-option={option}" for option in self.options))

    def buildah(self, *words: str) -> str:
        return run("buildah", *self.options, *words)

    @contextlib.contextmanager
    def broker(self, container: str, listeners: Loopback):
        variables = [f"--env=RABBITMQ_DEFAULT_USER={USER}", f"--env=RABBITMQ_DEFAULT_PASS={PASSWORD}"]
        inside = ["/usr/bin/warren", "serve", "--data-dir", "/var/lib/warren/data", *listeners.options]
        command = ["buildah", *self.options, "run", "--isolation", "chroot", *variables, container, "--", *inside]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not answers(listeners.metrics):
                assert process.poll() is None, process.stdout.read()
                assert time.monotonic() < deadline, "the broker does not serve"
                time.sleep(0.1)
            yield
        finally:
            # buildah passes nothing on: its whole group is told, and so is the broker.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)


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
    config = json.loads(image.buildah("inspect", "--type", "image", "warren:test"))["Docker"]["config"]
    assert config["User"] == "999:999", "by number: Kubernetes looks whether it is root"
    assert config["Entrypoint"] == ["/usr/bin/warren"] and config["Cmd"] == ["serve", "--data-dir", "/var/lib/warren/data"]
    assert set(config["ExposedPorts"]) == {f"{port}/tcp" for port in (5672, 5671, 15672, 15671, 15692, 25672)}
    assert list(config["Volumes"]) == ["/var/lib/warren"] and config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/warren", "ctl", "check_running"]
    assert config["Labels"]["org.opencontainers.image.title"] == "Warren"
    assert "RABBITMQ_CONFIG_FILE=/etc/warren/warren.conf" in config["Env"]
    assert image.archive.stat().st_size < SIZE_MAX, f"{image.archive.stat().st_size} bytes"
    with tarfile.open(image.archive) as archive:
        layers = json.load(archive.extractfile("manifest.json"))[0]["Layers"]
        with tarfile.open(fileobj=archive.extractfile(layers[-1])) as layer:
            found = {member.name.removeprefix("./").rstrip("/"): member for member in layer.getmembers()}
    owners = {name: (member.uid, member.gid) for name, member in found.items()}
    assert owners.pop("var/lib/warren") == (999, 999) and set(owners.values()) == {(0, 0)}, owners
    assert found["tmp"].mode & 0o1777 == 0o1777 and "etc/warren/conf.d" in found
    assert "etc/ssl/certs/ca-certificates.crt" in found, "TLS to others has no authorities"
    assert not {"bin/sh", "usr/bin/sh", "bin/busybox"} & set(found), "there is no shell"
    is_static = "NEEDED" not in run("objdump", "-p", str(binary))
    assert is_static != any(name.endswith("libc.so.6") for name in found)
    print(f"the image has {image.archive.stat().st_size / 1e6:.0f} MB, {'and no library' if is_static else 'with the libraries of a dynamic binary'}", flush=True)


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
        image = Image(Path(name), arguments.binary)
        look_at(image, arguments.binary)
        use(image)
    print("looked at and used: 2 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
