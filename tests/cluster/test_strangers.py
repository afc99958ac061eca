"""What does not belong to a cluster, or not any more: one clear sentence in the log, and nothing is lost."""

import shutil
import socket
import time

import pytest
from blackbox.broker import NotReady
from blackbox.wire import Wire
from nodes import Cluster, Node, Surroundings

QUEUE = "kept"
TIMEOUT_S = 20.0


def await_word(node, *words, since=0):
    """The first line of its log, from that length on, that has all these words."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        for line in node.log()[since:].splitlines():
            if all(word in line for word in words):
                return line
        assert time.monotonic() < deadline, f"the log of node {node.number} has no line with {words}:\n{node.log()[since:][-3000:]}"
        time.sleep(0.05)


def connect(cluster):
    """A connection to any node: in the moment after a change one may be without a leader."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        for node in cluster.nodes.values():
            try:
                return Wire.open(node.address, timeout=6)
            except (OSError, AssertionError) as error:
                last = error
        if time.monotonic() > deadline:
            raise NotReady(f"no node takes clients: {last!r}")


def do_on_connection(cluster, work):
    """Does it on a connection, and all of it again where that is closed: the lead moves when a disk hangs, and disks do."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            with connect(cluster) as wire:
                return work(wire)
        except (OSError, AssertionError) as error:
            is_closed = isinstance(error, OSError) or "CONNECTION_FORCED" in str(error)
            if not is_closed or time.monotonic() > deadline:
                raise


def publish(cluster, count):
    """So many confirmed messages, some of them twice if the lead moves."""

    def work(wire):
        wire.call(1, "queue.declare", queue=QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
        wire.call(1, "confirm.select")
        for number in range(count):
            wire.publish(1, "", QUEUE, b"%d" % number, delivery_mode=2)
        wire.expect_confirms(1, 1, count)

    do_on_connection(cluster, work)


def check_kept(cluster, count):
    """They are all there; takes them out."""
    cluster.await_whole()

    def work(wire):
        bodies = []
        while (message := wire.get(1, QUEUE, no_ack=False)) is not None:
            bodies.append(int(message.body))
        wire.send_method(1, "basic.ack", delivery_tag=0, multiple=True)
        assert wire.call(1, "queue.declare", queue=QUEUE, passive=True).message_count == 0
        return bodies

    assert list(dict.fromkeys(do_on_connection(cluster, work))) == list(range(count))


@pytest.fixture
def stranger(pytestconfig):
    """Makes a node that is none of the cluster's."""
    made = []

    def make(number, settings):
        made.append(Node(number, Surroundings(), pytestconfig.getoption("broker_command"), settings))
        return made[-1]

    yield make
    for node in made:
        node.remove()


def follower(cluster):
    leader = cluster.leader()
    return next(node for number, node in sorted(cluster.nodes.items(), reverse=True) if number != leader)


def test_a_wrong_secret(cluster, stranger):
    publish(cluster, 10)
    node = stranger(4, cluster.introduction() | {"warren.cluster.secret": "turnips", "cluster_formation.classic_config.nodes.4": "hare4@localhost"})
    lens = {number: len(each.log()) for number, each in cluster.nodes.items()}
    node.start(wait=False)
    line = await_word(node, "refuses", "the secrets of the two differ (warren.cluster.secret)")
    assert "turnips" not in node.log() and "carrots" not in node.log()
    deadline = time.monotonic() + 10
    while not (view := node.view())["waiting"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "the secrets of the two differ" in view["waiting"] and not view["has_majority"], view
    await_word(cluster.nodes[1], "the secrets of the two differ", since=lens[1])
    # It tries again and again, and does not say so each time.
    time.sleep(3)
    assert node.log().count("the secrets of the two differ") <= 2 * len(cluster.nodes), line
    assert not node.has_ended()
    check_kept(cluster, 10)


def test_a_node_of_another_cluster(cluster, stranger):
    publish(cluster, 10)
    node = stranger(5, {"cluster_formation.classic_config.nodes.1": "hare5@localhost"})
    node.start(wait=False)
    await_word(node, "this node has founded a cluster")
    node.stop()
    node.settings |= cluster.introduction()
    node.start(wait=False)
    await_word(node, "refuses", "belongs to cluster")
    assert len(cluster.nodes) == 3
    check_kept(cluster, 10)


def test_an_empty_directory_under_an_old_name(cluster):
    publish(cluster, 10)
    node = follower(cluster)
    node.kill()
    node.lose_everything()
    since = len(node.log())
    node.start(wait=False)
    await_word(node, "this node joins a cluster", since=since)
    check_kept(cluster, 10)
    # It has it all: the two others cannot go on alone, so it is needed for what comes.
    other = next(each for each in cluster.nodes.values() if each is not node and each.number != cluster.leader())
    other.kill()
    publish(cluster, 10)
    other.start(wait=False)
    check_kept(cluster, 10)


@pytest.mark.parametrize("are_restarted", [False, True], ids=["", "and its peers were restarted"])
def test_an_older_directory_under_an_old_name(cluster, tmp_path, are_restarted):
    node = follower(cluster)
    node.stop()
    shutil.copytree(node.data_dir, tmp_path / "older", ignore=shutil.ignore_patterns("*.sock"))
    node.start(wait=False)
    cluster.await_whole()
    publish(cluster, 50)
    cluster.await_whole()
    node.stop()
    node.lose_everything()
    shutil.copytree(tmp_path / "older", node.data_dir)
    for other in cluster.nodes.values():
        # What they know of it, they have to have kept.
        if are_restarted and other is not node:
            other.stop()
            other.start(wait=False)
    since = len(node.log())
    node.start(wait=False)
    await_word(node, "is a copy of", since=since)
    assert node.wait_ended(10) != 0
    # The others go on, and it comes back as a new one.
    node.lose_everything()
    node.start(wait=False)
    check_kept(cluster, 50)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"AMQP\x00\x00\x09\x01", "it speaks AMQP, which is for a port of clients"),
        (b"GET / HTTP/1.1\r\nHost: hare\r\n\r\n", "it speaks HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "it speaks TLS, and this node uses none between nodes"),
        (b"\x00\x15n\x00\x06\x00\x0f\x3f\xffrabbit@other", "it speaks as nodes of RabbitMQ and Erlang do"),
        (b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n", "it begins with the header of a proxy"),
        (b"\xde\xad\xbe\xef" * 100, "it speaks an unknown protocol, which begins with the bytes de ad be ef"),
    ],
    ids=["amqp", "http", "tls", "erlang", "proxy", "garbage"],
)
def test_other_words_on_the_port_of_links(cluster, said, told):
    node = cluster.nodes[2]
    since = len(node.log())
    with socket.create_connection((node.host, node.cluster_port), timeout=10) as peer:
        peer.sendall(said)
        while peer.recv(1000):
            pass
    line = await_word(node, told, since=since)
    assert "127.0.0.1" in line, line
    cluster.await_whole()


def test_many_strangers_cost_one_line_and_short_secrets_one(cluster):
    node = cluster.nodes[3]
    since = len(node.log())
    for number in range(30):
        with socket.create_connection((node.host, node.cluster_port), timeout=10) as peer:
            peer.sendall(bytes([0xF0 + number % 15, number]) * 50)
            while peer.recv(1000):
                pass
    await_word(node, "it speaks an unknown protocol", since=since)
    assert node.log()[since:].count("it speaks an unknown protocol") == 1
    # Each start says so once, and says it first.
    secret = "the cluster's secret is shorter than 16 bytes"
    assert secret in node.log() and secret not in node.log()[since:]


def test_a_node_comes_back_at_once_though_strangers_take_all_places(cluster):
    """More of them than there are places, which come again and again."""
    node = follower(cluster)
    others = [each for each in cluster.nodes.values() if each is not node]
    node.stop()
    peers = [socket.create_connection((other.host, other.cluster_port), timeout=30) for other in others for _ in range(300)]
    node.start(wait=False)
    # Each that says nothing would keep its place for five seconds.
    cluster.await_whole()
    for peer in peers:
        peer.close()
    node_log = node.log()
    assert "this node leads" in node_log or "another node leads" in node_log


def test_who_says_nothing_on_the_port_of_links(cluster):
    node = cluster.nodes[2]
    peers = [socket.create_connection((node.host, node.cluster_port), timeout=30) for _ in range(50)]
    publish(cluster, 10)
    check_kept(cluster, 10)
    for peer in peers:
        # Each is closed after some seconds, with or without a word.
        while peer.recv(1000):
            pass
        peer.close()


def test_what_a_node_says_first_and_is_cut_off(cluster, stranger):
    """The beginning of a link, which breaks off after every byte, and one with every bit of it wrong."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        peers = {"warren.cluster.peers.1": f"hare1@localhost=127.0.0.1:{server.getsockname()[1]}"}
        names = {"cluster_formation.classic_config.nodes.1": "hare1@localhost", "cluster_formation.classic_config.nodes.2": "hare6@localhost"}
        stranger(6, peers | names).start(wait=False)
        server.settimeout(TIMEOUT_S)
        dialled, _ = server.accept()
        with dialled:
            dialled.settimeout(TIMEOUT_S)
            beginning = dialled.recv(1000)
    node = cluster.nodes[2]
    wrong = [bytes(byte ^ (255 if at == place else 0) for at, byte in enumerate(beginning)) for place in range(len(beginning))]
    for said in [beginning[:count] for count in range(len(beginning))] + wrong:
        with socket.create_connection((node.host, node.cluster_port), timeout=10) as peer:
            peer.sendall(said)
    publish(cluster, 10)
    check_kept(cluster, 10)


def test_a_cluster_is_formed_in_any_order_of_starts(pytestconfig):
    """With two, nothing is formed for a while; the third may come late."""
    cluster = Cluster(Surroundings(), pytestconfig.getoption("broker_command"))
    try:
        cluster.nodes[2].start(wait=False)
        await_word(cluster.nodes[2], "waits to be in a cluster")
        for number in (3, 1):
            time.sleep(0.5)
            cluster.nodes[number].start(wait=False)
        cluster.await_whole()
        founded = [number for number, node in cluster.nodes.items() if "this node has founded a cluster" in node.log()]
        assert len(founded) == 1
    finally:
        cluster.remove()
