#!/usr/bin/env python3
"""Three nodes of Warren on this machine: what replication costs, and how long clients wait when a node goes.

    bench/cluster.py [--measure-s 8] [--rounds 3] [--messages 10000000] [--queues 100000] [--only REGEX]

Needs what bench/run needs, and pika. Everything listens on 127.0.0.1, data is below bench/.peers/data. A node that is stopped by SIGSTOP
stands for a cable that is pulled: nothing answers, and nothing says that it does not.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import time

import pika

from brokers import PEERS, TOOL, WARREN_TARGET, answers, cpu_s, run_tool
from runs import say

NODES = (1, 2, 3)
SECRET = "bench"
IMPORTED = 10_000


def free_ports(count):
    """Ports that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    """Three nodes, each a process."""

    def __init__(self, data):
        self.data = data
        ports = free_ports(6)
        self.amqp = dict(zip(NODES, ports[:3]))
        self.links = dict(zip(NODES, ports[3:]))
        self.processes = {}

    def __enter__(self):
        shutil.rmtree(self.data, ignore_errors=True)
        for node in NODES:
            self.start(node)
        wait_until(lambda: self.whole() and all(answers(port) for port in self.amqp.values()))
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.data, ignore_errors=True)

    def start(self, node):
        directory = self.data / str(node)
        directory.mkdir(parents=True, exist_ok=True)
        settings = [f"warren.node_name=hare{node}@127.0.0.1", f"listeners.tcp.default=127.0.0.1:{self.amqp[node]}",
                    "warren.management.enabled=false", "prometheus.tcp.listener=none", f"warren.cluster.secret={SECRET}",
                    f"warren.cluster.listener=127.0.0.1:{self.links[node]}",
                    f"warren.cluster.advertise=127.0.0.1:{self.links[node]}"]
        for peer in NODES:
            settings.append(f"warren.cluster.peers.{peer}=hare{peer}@127.0.0.1=127.0.0.1:{self.links[peer]}")
            settings.append(f"cluster_formation.classic_config.nodes.{peer}=hare{peer}@127.0.0.1")
        words = [WARREN_TARGET / "dist" / "warren", "serve", "--data-dir", directory]
        words += [word for setting in settings for word in ("--set", setting)]
        with open(self.data / f"{node}.log", "ab") as log:
            self.processes[node] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ctl(self, node, *words):
        command = [WARREN_TARGET / "dist" / "warren", "ctl", "--data-dir", self.data / str(node), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def members(self, node):
        run = self.ctl(node, "cluster_members", "--formatter", "json")
        return json.loads(run.stdout) if run.returncode == 0 and run.stdout else []

    def leader(self):
        """The node that leads, if all that run agree."""
        for node, process in self.processes.items():
            if process.poll() is None:
                for member in self.members(node):
                    if member["role"] == "leader" and member["running"]:
                        return int(re.match(r"hare(\d)", member["name"])[1])
        return None

    def sent_len(self, node):
        """Bytes that it has sent over its links."""
        command = ["curl", "-sS", "--unix-socket", self.data / str(node) / "control.sock", "http://localhost/api/warren/cluster"]
        view = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
        return sum(link["sent"] for member in view["nodes"] for link in member["links"])

    def queue_counts(self):
        """How many messages each queue has, by the leader's word."""
        run = self.ctl(self.leader(), "list_queues", "name", "messages", "--formatter", "json")
        return {queue["name"]: queue["messages"] for queue in json.loads(run.stdout)}

    def whole(self):
        """Whether all vote and have all."""
        leader = self.leader()
        members = self.members(leader) if leader else []
        return len(members) == 3 and all(m["running"] and m["role"] != "learner" and (m["lag_entries"] or 0) < 100 for m in members)

    def pid(self, node):
        return self.processes[node].pid

    def signal(self, node, number):
        os.kill(self.pid(node), number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.processes[node].wait(60)

    def running(self):
        return [node for node, process in self.processes.items() if process.poll() is None]

    def rss_mib(self, node):
        return rss_mib(self.pid(node))


class RabbitMQ:
    """Three nodes of RabbitMQ 4. A quorum queue is led by the node where it is declared: the first one, here."""

    def __init__(self, first_port):
        self.amqp = {node: first_port + node - 1 for node in NODES}

    def __enter__(self):
        for port in self.amqp.values():
            self.call("start", "4", port, "--fresh")
        for port in list(self.amqp.values())[1:]:
            for words in (["stop_app"], ["join_cluster", f"peer-{self.amqp[1]}@localhost"], ["start_app"]):
                self.call("ctl", port, *words)
        return self

    def __exit__(self, *_):
        for port in self.amqp.values():
            self.call("remove", port)

    def call(self, *words):
        environment = os.environ | {"WARREN_PEER_EPMD_PORT": str(self.amqp[1] + 5000)}
        command = [pathlib.Path(__file__).parent / "peers" / "rabbitmq", *map(str, words)]
        run = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if run.returncode != 0:
            raise SystemExit(f"rabbitmq {words}: {run.stdout}{run.stderr}")
        return run.stdout

    def leader(self):
        return 1

    def running(self):
        return NODES

    def pid(self, node):
        return int(self.call("pid", self.amqp[node]))

    def rss_mib(self, node):
        return rss_mib(self.pid(node))


def rss_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024


def wait_until(is_so, patience_s=120):
    until = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > until:
            raise SystemExit("the cluster does not come to what is waited for; its logs are below the data directory")
        time.sleep(0.05)


def load(cluster, name, rate, measure_s, results):
    """30,000/s and the like, at the leader; the followers' share of its processor time."""
    leader = cluster.leader()
    before = {node: cpu_s(cluster.pid(node)) for node in cluster.running()}
    run = run_tool(name, "latency", "--port", cluster.amqp[leader], "--pid", cluster.pid(leader), "--rate", rate, "--size", 1024,
                   "--persistent", "--queue-type", "quorum", "--prefetch", 1000, "--measure-s", measure_s)
    used = {node: cpu_s(cluster.pid(node)) - at for node, at in before.items()}
    followers = [cpu / used[leader] for node, cpu in used.items() if node != leader]
    memory = [cluster.rss_mib(node) for node in used if node != leader]
    confirm, deliver = run["confirm"], run["deliver"]
    say(f"{name}, {rate:,}/s: confirm p50 {confirm['p50_ms']:.2f} p99 {confirm['p99_ms']:.2f} ms, deliver p50 {deliver['p50_ms']:.2f} "
        f"p99 {deliver['p99_ms']:.2f} ms, {run['cpu_us_per_message']:.1f} µs a message at the leader, followers "
        + ", ".join(f"{share:.2f}" for share in followers) + " of that, " + ", ".join(f"{mib:.0f} MiB" for mib in memory))
    results.append({"what": name, "rate": rate, "followers": followers, "followers_mib": memory, **run})


def idle(cluster, measure_s=10):
    """What goes over the links, and what processor time goes, when nothing is done."""
    time.sleep(2)
    before = {node: (cpu_s(cluster.pid(node)), cluster.sent_len(node)) for node in NODES}
    time.sleep(measure_s)
    for node, (cpu, sent) in before.items():
        say(f"idle, node {node}: {(cpu_s(cluster.pid(node)) - cpu) / measure_s * 100:.2f} % of a processor, "
            f"{(cluster.sent_len(node) - sent) / measure_s:.0f} bytes a second sent")


def publish_one(port):
    """Whether a persistent message to a quorum queue is confirmed."""
    try:
        connection = pika.BlockingConnection(pika.ConnectionParameters(
            "127.0.0.1", port, socket_timeout=2, stack_timeout=2, blocked_connection_timeout=2, connection_attempts=1))
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("failover", durable=True, arguments={"x-queue-type": "quorum"})
        channel.basic_publish("", "failover", b"x", pika.BasicProperties(delivery_mode=2))
        connection.close()
        return True
    except Exception:  # pylint: disable=broad-except
        return False


def failover(cluster, kind, what, results):
    """How long until a client that goes to another node has a confirm again."""
    leader = cluster.leader()
    via = next(node for node in NODES if node != leader)
    wait_until(lambda: publish_one(cluster.amqp[via]))
    begun = time.monotonic()
    if kind == "planned":
        moving = subprocess.Popen([WARREN_TARGET / "dist" / "warren", "ctl", "--data-dir", cluster.data / str(leader),
                                   "transfer_leadership"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        moving.wait()
        begun_again = time.monotonic()
        wait_until(lambda: publish_one(cluster.amqp[via]))
        took = time.monotonic() - begun
        say(f"{kind}, {what}: {took:.3f} s, of which the command {begun_again - begun:.3f}")
    else:
        cluster.signal(leader, signal.SIGKILL if kind == "SIGKILL" else signal.SIGSTOP)
        wait_until(lambda: publish_one(cluster.amqp[via]))
        took = time.monotonic() - begun
        say(f"{kind}, {what}: {took:.3f} s")
        if kind == "SIGKILL":
            cluster.start(leader)
        else:
            cluster.signal(leader, signal.SIGCONT)
    results.append({"what": f"{kind}, {what}", "s": took})
    wait_until(cluster.whole, 300)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure-s", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--queues", type=int, default=100_000)
    parser.add_argument("--rabbitmq", type=int, metavar="PORT", help="measures the loads with RabbitMQ 4 too, on this port and the next two")
    parser.add_argument("--only", default="", help="load, failover, messages or queues; a regular expression")
    options = parser.parse_args()
    results = []
    if options.rabbitmq:
        with RabbitMQ(options.rabbitmq) as rabbitmq:
            for rate in (1_000, 5_000, 10_000, 30_000):
                try:
                    load(rabbitmq, "RabbitMQ, three nodes", rate, options.measure_s, results)
                except RuntimeError as error:
                    say(f"RabbitMQ, three nodes, {rate:,}/s: not held: {error}")
                    break
    wanted = [part for part in ("load", "failover", "messages", "queues") if re.search(options.only, part)]
    with Cluster(PEERS / "data" / "cluster") as cluster:
        if "load" in wanted:
            for _ in range(options.rounds):
                for rate in (1_000, 10_000, 30_000):
                    load(cluster, "three nodes", rate, options.measure_s, results)
                down = next(node for node in NODES if node != cluster.leader())
                cluster.signal(down, signal.SIGKILL)
                load(cluster, "one node down", 30_000, options.measure_s, results)
                cluster.start(down)
                wait_until(cluster.whole)
        if "failover" in wanted:
            for _ in range(options.rounds):
                for kind in ("planned", "SIGKILL", "SIGSTOP"):
                    failover(cluster, kind, "nothing waiting", results)
        if "messages" in wanted:
            leader = cluster.leader()
            run_tool("warren", "flat", "--port", cluster.amqp[leader], "--pid", cluster.pid(leader), "--count", options.messages,
                     "--size", 100, "--fill-only", "--queue-type", "quorum")
            filled = cluster.queue_counts()
            say("followers with that backlog: "
                + ", ".join(f"{cluster.rss_mib(node):.0f} MiB" for node in NODES if node != leader))
            for _ in range(options.rounds):
                for kind in ("planned", "SIGKILL", "SIGSTOP"):
                    failover(cluster, kind, f"{options.messages:,} messages waiting", results)
            left = cluster.queue_counts()
            for queue, count in filled.items():
                say(f"{queue}: {count:,} messages were confirmed before, {left[queue]:,} are there")
        if "queues" in wanted:
            leader = cluster.leader()
            before_mib = cluster.rss_mib(leader)
            declare(cluster, options.queues)
            each_kib = (cluster.rss_mib(leader) - before_mib) * 1024 / options.queues
            say(f"the leader took {each_kib:.2f} KiB for each")
            idle(cluster)
            say(f"{options.queues:,} quorum queues: the leader has {cluster.rss_mib(leader):.0f} MiB, followers "
                + ", ".join(f"{cluster.rss_mib(node):.0f} MiB" for node in NODES if node != leader))
            for _ in range(options.rounds):
                for kind in ("planned", "SIGKILL", "SIGSTOP"):
                    failover(cluster, kind, f"{options.queues:,} quorum queues", results)
    for name in dict.fromkeys(result["what"] for result in results if "s" in result):
        times = [result["s"] for result in results if result["what"] == name]
        say(f"{name}: median {statistics.median(times):.3f} s, longest {max(times):.3f} s")


def declare(cluster, count):
    """Durable quorum queues, by imports of definitions, each of which fits into a request."""
    path, leader = cluster.data / "definitions.json", cluster.leader()
    begun = time.monotonic()
    for first in range(0, count, IMPORTED):
        queues = [{"name": f"q{number}", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {"x-queue-type": "quorum"}}
                  for number in range(first, min(first + IMPORTED, count))]
        path.write_text(json.dumps({"queues": queues}))
        run = cluster.ctl(leader, "--timeout", "300", "import_definitions", path)
        if run.returncode != 0:
            raise SystemExit(f"the queues were not declared: {run.stderr}")
    say(f"{count:,} quorum queues were declared in {time.monotonic() - begun:.1f} s")
    wait_until(cluster.whole)


if __name__ == "__main__":
    if not TOOL.exists():
        raise SystemExit("build first: make bench-build")
    main()
