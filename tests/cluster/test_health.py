"""What is out of order among the nodes is reported by name: by `warren diagnose` before all else, by the API, and by alerts."""

import os
import signal
import subprocess
import time

import clock
import pytest
from blackbox.environment import WARREN
from nodes import Cluster, Surroundings

TIMEOUT_S = 40.0


@pytest.fixture(scope="module")
def well(pytestconfig):
    """Three nodes, whose clocks can be moved where there is a compiler."""
    cluster = Cluster(Surroundings(clock=clock.library()), pytestconfig.getoption("broker_command"))
    try:
        yield cluster.start()
    finally:
        cluster.remove()


def roles(cluster):
    leader = cluster.nodes[cluster.leader()]
    return leader, [node for node in cluster.nodes.values() if node is not leader]


def troubles(node):
    return [(trouble["kind"], trouble["node"]) for trouble in node.api.get("/warren/cluster").expect(200).json["troubles"]]


def until(is_so, what):
    deadline = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < deadline, what()
        time.sleep(0.1)


def diagnose(node):
    """Its findings."""
    url = f"http://guest:guest@{node.host}:{node.management_port}"
    done = subprocess.run([WARREN, "diagnose", "--url", url, "--seconds", "1", "--no-archive"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode in (0, 3, 4), done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith(("PROBLEM", "WARNING", "REMARK"))]


def test_a_cluster_that_is_well_has_no_troubles(well):
    leader, _ = roles(well)
    until(lambda: troubles(leader) == [], lambda: str(troubles(leader)))
    assert not any("hare" in line for line in diagnose(leader))


def test_who_is_dead_is_named_first_and_is_an_alert(well):
    leader, (dead, _) = roles(well)
    leader.api.put("/alerts/rules/health", {"kind": "cluster"}).expect(201, 204)
    dead.kill()
    until(lambda: troubles(leader) == [("down", dead.name)], lambda: str(troubles(leader)))
    assert diagnose(leader)[0].startswith(f"PROBLEM  {dead.name} does not run, or cannot be reached; 2 of 3 nodes are well, and 2 are needed.")
    until(lambda: "health" in leader.api.get("/alerts").expect(200).body.decode(), lambda: str(leader.api.get("/alerts")))
    dead.start(wait=False)
    well.await_whole()
    until(lambda: troubles(leader) == [], lambda: str(troubles(leader)))


def test_who_hangs_is_named(well):
    leader, (hung, _) = roles(well)
    os.kill(hung.process.pid, signal.SIGSTOP)
    try:
        until(lambda: ("silent", hung.name) in troubles(leader), lambda: str(troubles(leader)))
        assert any(line.startswith(f"PROBLEM  {hung.name} is connected and has not answered for ") for line in diagnose(leader))
    finally:
        os.kill(hung.process.pid, signal.SIGCONT)
    until(lambda: troubles(leader) == [], lambda: str(troubles(leader)))


def test_whose_clock_is_an_hour_off_is_named(well):
    leader, (off, _) = roles(well)
    if off.clock is None:
        pytest.skip("there is no C compiler for the library that moves clocks")
    off.clock.move(3600.0)
    try:
        until(lambda: troubles(leader) == [("clock", off.name)], lambda: str(troubles(leader)))
        assert diagnose(leader)[0] == f"WARNING  The clock of {off.name} is 60 min ahead of that of {leader.name}."
    finally:
        off.clock.move(0.0)
    until(lambda: troubles(leader) == [], lambda: str(troubles(leader)))


def test_figures_of_each_node_are_its_own(well):
    leader, others = roles(well)
    until(lambda: all("mem_used" in node for node in leader.api.get("/nodes").json), lambda: str(leader.api.get("/nodes")))
    shown = {node["name"]: node for node in leader.api.get("/nodes").expect(200).json}
    own = set(shown[leader.name])
    for node in others:
        of_node = shown[node.name]
        missing = own - set(of_node)
        assert missing <= {"data_loss_alarm", "cluster_links"}, missing
        assert of_node["os_pid"] == str(node.pid) and of_node["db_dir"] == str(node.data_dir)
        assert of_node["mem_used"] > 1 << 20 and of_node["fd_used"] > 3 and 0 < of_node["uptime"] < 3_600_000
        assert [context["port"] for context in of_node["contexts"]] == [str(node.management_port)]
