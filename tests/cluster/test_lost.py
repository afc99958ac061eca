"""What is lost with a node for good: of a young cluster any one may be, and with two of three the operator has a last way out. Copies of
directories are not used."""

import shlex
import shutil
import subprocess
import time

import pytest
from nodes import Cluster, Surroundings

QUEUE, COUNT = "kept", 200
SERVES_WITHIN_S = 30.0
ENDED_WITHIN_S = 20.0
LOOP_COUNT = 10


@pytest.fixture
def young(pytestconfig):
    """Three nodes that have just formed a cluster."""
    cluster = Cluster(Surroundings(), pytestconfig.getoption("broker_command"))
    try:
        yield cluster.start()
    finally:
        cluster.remove()


def retry(action):
    """Until it can be done: there may be an election."""
    deadline = time.monotonic() + SERVES_WITHIN_S
    while True:
        try:
            return action()
        except (OSError, AssertionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def confirm(node, first=0, count=COUNT):
    def publish():
        with node.wire() as wire:
            wire.call(1, "queue.declare", queue=QUEUE, durable=True)
            wire.call(1, "confirm.select")
            for number in range(first, first + count):
                wire.publish(1, "", QUEUE, b"%d" % number, delivery_mode=2)
            wire.expect_confirms(1, 1, count)

    retry(publish)


def count(node):
    def ask():
        with node.wire() as wire:
            return wire.call(1, "queue.declare", queue=QUEUE, durable=True, passive=True).message_count

    return retry(ask)


def ctl(node, *words):
    """`warren ctl` on a directory: the program is the first word of the command that starts nodes."""
    program = shlex.split(node.command)[0]
    return subprocess.run([program, "ctl", "--data-dir", str(node.data_dir), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_young_cluster_survives_any_of_its_nodes(young, lost):
    confirm(young.nodes[1])
    for node in young.nodes.values():
        node.kill()
    rest = [node for node in young.nodes.values() if node.number != lost]
    for node in rest:
        node.start(wait=False)
    assert count(rest[0]) == COUNT
    confirm(rest[1], COUNT, 1)


def test_a_node_stands_alone_by_force_when_the_others_are_lost(young):
    confirm(young.nodes[1])
    kept, lost, another = young.nodes.values()
    in_use = ctl(kept, "force_boot", "--accept-loss")
    assert in_use.returncode and "is in use by another process" in in_use.stderr, in_use
    for node in young.nodes.values():
        node.kill()
    asked = ctl(kept, "force_boot")
    assert asked.returncode and "--accept-loss" in asked.stderr, asked
    kept.start(wait=False)
    deadline = time.monotonic() + SERVES_WITHIN_S
    while not (view := kept.view()) or view["has_majority"]:
        assert time.monotonic() < deadline, view
        time.sleep(0.05)
    kept.kill()
    done = ctl(kept, "force_boot", "--accept-loss")
    assert not done.returncode and "no longer belongs to a cluster" in done.stdout, done
    kept.start()
    assert count(kept) == COUNT
    confirm(kept, COUNT, 1)
    for node in (lost, another):
        node.lose_everything()
        node.start(wait=False)
    young.await_whole()
    kept.kill()
    assert count(another) == COUNT + 1


def test_what_is_no_directory_of_a_member_is_told_in_a_sentence(young, tmp_path):
    node = young.nodes[1]
    program = shlex.split(node.command)[0]
    (tmp_path / "file").write_text("x")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "format").write_text("nonsense")
    for place in ("none", "file", "damaged"):
        for command in ("force_boot", "accept_copy", "force_standalone_khepri_boot"):
            words = [program, "ctl", "--data-dir", str(tmp_path / place), command, "--accept-loss"]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            assert done.returncode and done.stderr.startswith("Error: ") and len(done.stderr.splitlines()) == 1, done
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("is_rolled_back", [False, True], ids=["copied", "written over the same files"])
def test_a_copy_of_a_running_member_is_never_used(young, is_rolled_back):
    from faults import copy_running, roll_back

    confirm(young.nodes[1])
    third, copied = [node for node in young.nodes.values() if node.number != young.leader()]
    leader = young.nodes[young.leader()]
    copy = copied.data_dir.with_name("copy")
    copy_running(copied.data_dir, copy)
    confirm(leader, COUNT, 500)
    # What peers remember of each other is on their disks once a second.
    time.sleep(2.5)
    for node in young.nodes.values():
        node.kill()
    if is_rolled_back:
        roll_back(copy, copied.data_dir)
    else:
        shutil.rmtree(copied.data_dir)
        copy.rename(copied.data_dir)
    third.start(wait=False)
    for _ in range(LOOP_COUNT):
        copied.start(wait=False)
        assert copied.wait_ended(ENDED_WITHIN_S) != 0
    said = copied.log().splitlines()[-1]
    assert "mpty the directory" in said, said
    leader.start(wait=False)
    assert count(third) == COUNT + 500
    copied.lose_everything()
    copied.start(wait=False)
    young.await_whole()


def test_a_node_that_is_reset_joins_its_peers_again(young):
    confirm(young.nodes[1])
    for node in young.nodes.values():
        before = next(each["member"] for each in node.view()["nodes"] if each["name"] == node.name)
        assert ctl(node, "reset").returncode == 0
        young.await_whole()
        assert before != next(each["member"] for each in node.view()["nodes"] if each["name"] == node.name)
        node.kill()
        node.start(wait=False)
        young.await_whole()
    assert count(young.nodes[2]) == COUNT
