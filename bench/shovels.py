#!/usr/bin/env python3
"""How fast shovels and links of federation move messages, beside RabbitMQ's, and what idle shovels cost.

    bench/shovels.py                                   all of it
    bench/shovels.py rate --messages 200000 --rounds 2
    bench/shovels.py links                             federated queues
    bench/shovels.py million                           a million messages within the broker
    bench/shovels.py idle --shovels 1000               memory

Needs a release build of `warren` and of `bench`, and for RabbitMQ what bench/peers/rabbitmq needs. `rate`: a queue of persistent messages of 1 KiB is
emptied into another one of the same broker, by its own sockets (`amqp091`) and within it (`local`), confirmed; brokers take turns. `links`: the same
for a queue of another vhost that feeds one with a consumer, over a socket, acknowledged when it is confirmed.
"""

import argparse
import base64
import json
import pathlib
import statistics
import subprocess
import time
import urllib.error
import urllib.request

from brokers import PEERS, WARREN, WARREN_TARGET, Command, RabbitMq, cpu_s

BINARY = WARREN_TARGET / "dist" / "warren"
TIMEOUT_S = 600


class Api:
    """The management API of a broker, as its first user."""

    def __init__(self, url):
        self.url = url.replace("guest:guest@", "")
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self, method, path, value=None):
        request = urllib.request.Request(f"{self.url}/api{path}", method=method, data=None if value is None else json.dumps(value).encode())
        request.add_header("Authorization", "Basic " + base64.b64encode(b"guest:guest").decode())
        request.add_header("Content-Type", "application/json")
        with self.opener.open(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def has_shovel(self, name):
        try:
            self.ask("GET", f"/parameters/shovel/%2F/{name}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise
        return True


def load(port, queue, count, size, vhost=""):
    """So many persistent messages in a queue, all confirmed. `vhost`: with a slash before it."""
    words = [BINARY, "perf", "--uri", f"amqp://127.0.0.1:{port}{vhost}", "-x", "1", "-y", "0", "-u", queue, "-C", str(count), "-s", str(size), "-f", "persistent",
             "-c", "2000", "--auto-delete", "false", "-e", "amq.direct", "-k", queue]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def move(api, port, protocol, count, pid):
    """Seconds until a shovel has moved all, and processor time of the broker a message, in microseconds."""
    uri = "amqp://" if protocol == "local" else f"amqp://guest:guest@127.0.0.1:{port}"
    value = {"src-uri": uri, "src-protocol": protocol, "src-queue": "from", "src-delete-after": "queue-length", "dest-uri": uri,
             "dest-protocol": protocol, "dest-queue": "to"}
    before, began = cpu_s(pid), time.monotonic()
    api.ask("PUT", "/parameters/shovel/%2F/move", {"value": value})
    while api.has_shovel("move"):
        if time.monotonic() - began > TIMEOUT_S:
            raise SystemExit(f"the shovel has not moved {count} messages within {TIMEOUT_S} s: {api.ask('GET', '/shovels')}")
        time.sleep(0.02)
    return time.monotonic() - began, (cpu_s(pid) - before) / count * 1e6


def moved(broker, settings, protocols, count, size):
    """A broker's turn: messages a second and processor time, by protocol."""
    found = {}
    pid = broker.start(settings, has_management=True)
    try:
        api = Api(broker.management_url())
        for protocol in protocols:
            load(broker.port, "from", count, size)
            seconds, cpu_us = move(api, broker.port, protocol, count, pid)
            found[protocol] = (count / seconds, cpu_us)
            for queue in ("from", "to"):
                api.ask("DELETE", f"/queues/%2F/{queue}")
    finally:
        broker.stop()
    return found


def in_turn(arguments, plugins, ways, turn):
    """Brokers take turns: what each came to, and how many times RabbitMQ's rate ours is."""
    brokers = {"warren": Command("warren", WARREN, 17672)}
    if not arguments.without_rabbitmq:
        brokers["rabbitmq"] = RabbitMq("rabbitmq", "4", 27872, plugins=plugins)
    rates = {}
    for number in range(arguments.rounds):
        for name, broker in brokers.items():
            for way, (messages, cpu_us) in turn(broker).items():
                rates.setdefault((name, way), []).append(messages)
                print(f"round {number + 1}: {name} {way}: {messages:,.0f} messages/s, {cpu_us:.1f} us of processor time a message", flush=True)
    middle = {key: statistics.median(each) for key, each in rates.items()}
    for way in ways:
        if ("rabbitmq", way) in middle:
            print(f"{way}: {middle['warren', way] / middle['rabbitmq', way]:.1f} times RabbitMQ's rate")


def rate(arguments):
    protocols = ["amqp091", "local"]
    in_turn(arguments, ("rabbitmq_shovel", "rabbitmq_shovel_management"), protocols, lambda broker: moved(broker, [], protocols, arguments.messages, 1024))


def fed(broker, count):
    """A broker's turn: a queue of another vhost feeds a consumer."""
    pid = broker.start([], has_management=True)
    try:
        api, port = Api(broker.management_url()), broker.port
        api.ask("PUT", "/vhosts/up", {})
        for vhost in ("up", "%2F"):
            api.ask("PUT", f"/queues/{vhost}/fed", {"durable": True})
        load(port, "fed", count, 1024, "/up")
        words = [BINARY, "perf", "--uri", f"amqp://127.0.0.1:{port}", "-x", "0", "-y", "1", "-u", "fed", "-p", "-D", str(count), "-q", "1000", "-A", "100"]
        consumer = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        before, began = cpu_s(pid), time.monotonic()
        uri = f"amqp://guest:guest@127.0.0.1:{port}/up"
        api.ask("PUT", "/parameters/federation-upstream/%2F/up", {"value": {"uri": uri, "ack-mode": "on-confirm", "prefetch-count": 1000}})
        api.ask("PUT", "/policies/%2F/fed", {"pattern": "^fed$", "apply-to": "queues", "definition": {"federation-upstream": "up"}})
        consumer.wait(TIMEOUT_S)
        return {"links": (count / (time.monotonic() - began), (cpu_s(pid) - before) / count * 1e6)}
    finally:
        broker.stop()


def links(arguments):
    in_turn(arguments, ("rabbitmq_federation",), ["links"], lambda broker: fed(broker, arguments.messages))


def million(arguments):
    found = moved(Command("warren", WARREN, 17672), [], ["local"], 1_000_000, arguments.size)
    messages, cpu_us = found["local"]
    print(f"a million messages of {arguments.size} bytes within the broker: {1_000_000 / messages:.2f} s, {cpu_us:.1f} us of processor time a message")


def memory(pid):
    """Resident anonymous memory, in bytes."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"no memory of process {pid} is told")


def idle(arguments):
    broker = Command("warren", WARREN, 17672)
    pid = broker.start([], has_management=True)
    try:
        api = Api(broker.management_url())
        for name in ("from", "to"):
            api.ask("PUT", f"/queues/%2F/{name}", {"durable": True})
        time.sleep(1)
        before = memory(pid)
        for number in range(arguments.shovels):
            value = {"src-uri": "amqp://", "src-queue": "from", "dest-uri": "amqp://", "dest-queue": "to"}
            api.ask("PUT", f"/parameters/shovel/%2F/idle-{number}", {"value": value})
        while any(shovel["state"] != "running" for shovel in api.ask("GET", "/shovels")):
            time.sleep(0.1)
        time.sleep(3)
        grown = memory(pid) - before
        print(f"{arguments.shovels} idle shovels within the broker: {grown / 1e6:.1f} MB, both of their connections included")
    finally:
        broker.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["rate", "links", "million", "idle"], help="rate, links, million, idle")
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--size", type=int, default=1024, help="of the million messages, in bytes")
    parser.add_argument("--shovels", type=int, default=1000)
    parser.add_argument("--without-rabbitmq", action="store_true")
    arguments = parser.parse_args()
    PEERS.mkdir(parents=True, exist_ok=True)
    for what in arguments.what:
        {"rate": rate, "links": links, "million": million, "idle": idle}[what](arguments)


if __name__ == "__main__":
    main()
