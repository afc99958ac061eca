"""What the chart makes is started: brokers read the rendered configuration, and three of them form a cluster."""

import re
import subprocess
import time
from contextlib import contextmanager

import pika
import pytest
from blackbox import broker as brokers
from blackbox import certificates, environment
from blackbox.management import Management
from chart import NAMESPACE, RELEASE, render
from test_chart import SETS

READY_TIMEOUT_S = 60
PORTS = (5672, 5671, 15672, 15671, 15692, 25672)
IS_ADDRESS = re.compile(r"^(listeners\.(?:tcp|ssl)\.default|warren\.cluster\.listener) = (\d+)$", re.MULTILINE)
IS_PORT = re.compile(r"^((?:management|prometheus)\.(tcp|ssl))\.port = (\d+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What secrets would be mounted below /etc/warren."""
    folder = tmp_path_factory.mktemp("etc")
    authority = certificates.Authority(folder)
    server = authority.sign("server", "/CN=localhost", "DNS:localhost")
    for name in ("tls", "cluster-tls"):
        (folder / name).mkdir()
        for file, source in {"ca.crt": authority.certificate, "tls.crt": server.certificate, "tls.key": server.key}.items():
            (folder / name / file).write_bytes(source.read_bytes())
    (folder / "cluster-secret").mkdir()
    (folder / "definitions").mkdir()
    return folder


class Pod:
    """A broker with a rendered configuration, on free ports of 127.0.0.1."""

    def __init__(self, rendered, folder, files, number=0):
        self.name = f"{RELEASE}-warren-{number}"
        self.ports = {port: brokers.free_port() for port in PORTS}
        self.folder = folder / self.name
        self.folder.mkdir()
        self.node = rendered.environment(self.name)
        self.config = self.folder / "warren.conf"
        self.config.write_text(self._here(rendered.configuration, files))
        self.peers: list[str] = []

    def _here(self, text, files):
        """The same with the ports and paths of this machine."""
        text = IS_ADDRESS.sub(lambda found: f"{found[1]} = 127.0.0.1:{self.ports[int(found[2])]}", text)
        text = IS_PORT.sub(lambda found: f"{found[1]}.ip = 127.0.0.1\n{found[1]}.port = {self.ports[int(found[3])]}", text)
        return text.replace("/etc/warren/", f"{files}/")

    def peer_with(self, pods):
        """Says where the others are, whose names no DNS here knows."""
        self.peers = [f"warren.cluster.peers.{number}={pod.node['RABBITMQ_NODENAME']}=127.0.0.1:{pod.ports[25672]}" for number, pod in enumerate(pods, 1)]
        self.peers.append(f"warren.cluster.advertise=127.0.0.1:{self.ports[25672]}")

    def command(self):
        sets = [f"--set={key}" for key in self.peers]
        return [str(environment.WARREN), "serve", "--config", str(self.config), "--data-dir", str(self.folder / "data"), *sets]

    @contextmanager
    def running(self):
        log = open(self.folder / "log", "wb")
        process = subprocess.Popen(self.command(), env=self.node, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=brokers.Warren(settings={})._before_exec)
        try:
            self.await_that(lambda: any(word in self.log() for word in ("ready in", "started in")) or process.poll() is not None, "the banner")
            assert process.poll() is None, self.log()
            yield self
        finally:
            process.terminate()
            process.wait(READY_TIMEOUT_S)
            log.close()

    def log(self):
        return (self.folder / "log").read_text()

    def await_that(self, what, describe):
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not what():
            assert time.monotonic() < deadline, f"{describe} did not come:\n{self.log()}"
            time.sleep(0.02)

    def asked(self, *words):
        """As a probe asks: a command in the container."""
        done = subprocess.run([str(environment.WARREN), "ctl", "--data-dir", str(self.folder / "data"), *words], capture_output=True, text=True, check=False, timeout=30)
        return done.returncode

    @property
    def management(self):
        return Management(("127.0.0.1", self.ports[15672]), self.node["RABBITMQ_DEFAULT_USER"], self.node["RABBITMQ_DEFAULT_PASS"])


def fill(rendered, files):
    """Secrets that the chart makes are those that are mounted."""
    for secret in rendered.of("Secret"):
        content = rendered.secret(secret["metadata"]["name"])
        if text := content.get("load_definition.json"):
            (files / "definitions" / "load_definition.json").write_text(text)
        if text := content.get("rabbitmq-erlang-cookie"):
            (files / "cluster-secret" / "secret").write_text(text)


@pytest.mark.parametrize("about", [about for about in SETS if about != "configuration"])
def test_a_broker_takes_the_configuration(about, files, tmp_path):
    rendered = render(SETS[about])
    (files / "cluster-secret" / "secret").write_text("carrots")
    fill(rendered, files)
    pod = Pod(rendered, tmp_path, files)
    pod.node.setdefault("RABBITMQ_DEFAULT_PASS", "from the secret")
    pod.node.setdefault("RABBITMQ_DEFAULT_USER", "ann")
    for name in {"SITE"} & {entry["name"] for entry in rendered.container["env"]}:
        assert pod.node[name] == NAMESPACE
    # A node of a cluster looks for the others, which are not here: in the names of this machine they would not be found at all.
    is_member = "cluster_formation" in rendered.configuration
    with pod.running():
        live, ready = [rendered.container.get(probe, {}).get("exec", {}).get("command", [None])[-1] for probe in ("livenessProbe", "readinessProbe")]
        assert pod.asked(live or "cluster_members") == 0
        ready = ready or "check_if_ready_to_serve_clients"
        if is_member:
            assert pod.asked(ready) != 0, "one of three does not serve"
        else:
            pod.await_that(lambda: pod.asked(ready) == 0, "readiness")
            if about == "definitions":
                assert pod.management.get("/vhosts/shop").status == 200
            if "tls" not in about:
                vhost = SETS[about].get("auth", {}).get("vhost", "/")
                credentials = pika.PlainCredentials(pod.node["RABBITMQ_DEFAULT_USER"], pod.node["RABBITMQ_DEFAULT_PASS"])
                pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", pod.ports[5672], vhost, credentials)).close()


def test_three_pods_form_a_cluster_and_go_on_without_one(files, tmp_path):
    rendered = render({"replicaCount": 3, "auth": {"password": "s3cret"}})
    fill(rendered, files)
    pods = [Pod(rendered, tmp_path, files, number) for number in range(3)]
    for pod in pods:
        pod.peer_with(pods)
    with pods[0].running(), pods[1].running():
        with pods[2].running():
            for pod in pods:
                pod.await_that(lambda pod=pod: pod.asked("check_if_ready_to_serve_clients") == 0, "readiness")

            def do_all_decide():
                """A node that has just joined copies first, and is one of those that make a majority when it has caught up."""
                cluster = pods[0].management.get("/warren/cluster")
                deciding = {"leader", "follower"}
                return cluster.status == 200 and sorted(node["name"] for node in cluster.json["nodes"] if node["running"] and node["role"] in deciding) == names

            names = sorted(pod.node["RABBITMQ_NODENAME"] for pod in pods)
            pods[0].await_that(do_all_decide, "the third node")
            publish(pods[2])
        # Two of three: whichever led, another does now, and what was confirmed is there.
        pods[0].await_that(lambda: pods[0].asked("check_if_ready_to_serve_clients") == 0, "a leader among two")
        pods[0].await_that(lambda: fetched(pods[0]) == b"kept", "the message")


def connection(pod):
    credentials = pika.PlainCredentials(pod.node["RABBITMQ_DEFAULT_USER"], pod.node["RABBITMQ_DEFAULT_PASS"])
    return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", pod.ports[5672], "/", credentials))


def publish(pod):
    with connection(pod) as client:
        channel = client.channel()
        channel.confirm_delivery()
        channel.queue_declare("orders", durable=True, arguments={"x-queue-type": "quorum"})
        channel.basic_publish("", "orders", b"kept", pika.BasicProperties(delivery_mode=2), mandatory=True)


def fetched(pod):
    try:
        with connection(pod) as client:
            return client.channel().basic_get("orders")[2]
    except pika.exceptions.AMQPError:
        return None
