"""Whoever looks into a process sees that of the node that was asked, whichever node leads: its functions, its processors, its log."""

import http.client
import json
import threading
import time

import pytest
from blackbox.management import Management
from blackbox.wire import Wire
from nodes import SocketConnection

TIMEOUT_S = 30.0
QUEUE = "looked-at"


def api(node, user="guest"):
    return Management((node.host, node.management_port), user, user or "", timeout_s=TIMEOUT_S)


def lines(answer):
    return [json.loads(line) for line in answer.expect(200).body.splitlines() if line]


def roles(cluster):
    """Who leads, and one that does not."""
    leader = cluster.leader()
    return cluster.nodes[leader], cluster.nodes[next(number for number in cluster.nodes if number != leader)]


class Publisher(threading.Thread):
    """Publishes messages that are confirmed, one at a time, until it is left."""

    def __init__(self, node):
        super().__init__()
        self.node, self.is_over, self.error, self.count = node, False, None, 0

    def run(self):
        try:
            with Wire.open(self.node.address, timeout=TIMEOUT_S) as wire:
                wire.call(1, "queue.declare", queue=QUEUE, durable=True)
                wire.call(1, "confirm.select")
                while not self.is_over:
                    self.count += 1
                    wire.publish(1, "", QUEUE, b"x", delivery_mode=2)
                    wire.expect_confirms(1, self.count, self.count)
                    time.sleep(0.01)
                wire.call(1, "queue.delete", queue=QUEUE)
        except BaseException as error:  # noqa: BLE001
            self.error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.join()
        assert self.error is None, self.error


@pytest.fixture
def publisher(cluster):
    """A client of the leader."""
    with Publisher(roles(cluster)[0]) as publisher:
        yield publisher


def test_each_node_answers_for_itself(cluster):
    for node in cluster.nodes.values():
        assert api(node).get("/trace/sessions").json["node"] == node.name
        assert api(node).get("/flight-recorder").json["node"] == node.name
        log = api(node).get("/log").json
        assert log["node"] == node.name and any(f":{node.management_port}" in line for line in log["lines"]), log
        begin = lines(api(node).get("/profile/cpu?seconds=1"))[0]["begin"]
        assert (begin["node"], begin["pid"]) == (node.name, node.pid)
        names = [point["name"] for point in api(node).get("/trace/points?pattern=replication::*").json]
        assert names == ["replication::propose", "replication::receive"]
        # What is about the broker is answered by the one that there is.
        assert {queue["node"] for queue in api(node).get("/queues").json} <= {cluster.nodes[cluster.leader()].name}


def test_a_follower_shows_what_it_does_itself(cluster, publisher):
    leader, follower = roles(cluster)
    for node, path in [(follower, "replication::receive"), (leader, "amqp::basic.publish")]:
        seen = lines(api(node).get(f"/trace/calls?pattern={path}&max=3&rate=none"))
        assert seen[0] == {"event": "begin", "node": node.name, "points": 1}
        assert [line["call"] for line in seen[1:-1]] == [path] * 3 and seen[-1]["event"] == "end"
    tree = lines(api(follower).get("/profile/wall?pattern=replication::*&seconds=1"))[-1]
    assert tree["node"] == follower.name and {frame["name"] for frame in tree["frames"]} >= {"replication::receive"}


def test_a_recorder_is_that_of_the_node(cluster, publisher):
    _, follower = roles(cluster)
    others = [node for node in cluster.nodes.values() if node is not follower]
    api(follower).put("/flight-recorder", {"running": True}).expect(204)
    assert api(follower).get("/flight-recorder").json["running"]
    assert not any(api(node).get("/flight-recorder").json["running"] for node in others)
    count = publisher.count
    while publisher.count < count + 5 and publisher.error is None:
        time.sleep(0.01)
    recording = api(follower).get("/flight-recorder/recording").json["traceEvents"]
    assert {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": follower.name}} in recording
    names = {event["name"] for event in recording}
    assert "journal::sync" in names and "amqp::basic.publish" not in names, names
    api(follower).put("/flight-recorder", {"running": False}).expect(204)
    api(follower).get("/flight-recorder/recording").expect(409)


def test_the_leader_says_who_may(cluster):
    leader, follower = roles(cluster)
    api(leader).put("/users/monitor", {"password": "monitor", "tags": "monitoring"}).expect(201, 204)
    paths = ["/trace/sessions", "/profile/cpu?seconds=1", "/trace/calls?pattern=*", "/log"]
    for path in paths:
        for user in ["monitor", "a-stranger", None]:
            expected = api(leader, user).get(path)
            found = api(follower, user).get(path)
            assert (found.status, expected.status) == (401, 401), (path, user, found, expected)
    # The one is no administrator, though its password is right.
    api(follower, "monitor").get("/whoami").expect(200)
    api(leader).delete("/users/monitor").expect(204)


def test_the_operator_of_a_machine_needs_no_password(cluster):
    for node in cluster.nodes.values():
        connection = SocketConnection(node.data_dir / "control.sock")
        connection.request("GET", "/api/trace/sessions")
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["node"]) == (200, node.name)
        connection.close()


def test_wrong_input_is_refused_as_by_a_leader(cluster):
    leader, follower = roles(cluster)
    for method, path, body in [
        ("GET", "/trace/calls?pattern=nothing::*", None),
        ("GET", "/trace/calls?pattern=*&color=red", None),
        ("GET", "/profile/wall", None),
        ("GET", "/profile/cpu?seconds=0", None),
        ("GET", "/log?lines=none", None),
        ("PUT", "/flight-recorder", {}),
        ("PUT", "/flight-recorder", b"no JSON"),
    ]:
        answers = [api(node).call(method, path, *([] if body is None else [body])) for node in (leader, follower)]
        assert answers[0].status == 400 and answers[0].json == answers[1].json, (path, [str(answer) for answer in answers])


def test_a_confirm_waits_for_other_nodes(cluster, publisher):
    leader, _ = roles(cluster)
    frames = lines(api(leader).get("/profile/wall?pattern=amqp::basic.publish&seconds=2"))[-1]["frames"]
    publish = next(place for place, frame in enumerate(frames) if frame["parent"] is None)
    assert frames[publish]["name"] == "amqp::basic.publish"
    waits = {(frame["kind"], frame["name"]): frame["count"] for frame in frames if frame["parent"] == publish}
    # Sometimes this disk is the last of the majority; then nothing else is waited for.
    assert ("socket", "replication to a majority of nodes") in waits, waits


def test_a_viewer_that_goes_leaves_nothing(cluster):
    _, follower = roles(cluster)
    connection = http.client.HTTPConnection(follower.host, follower.management_port, timeout=TIMEOUT_S)
    connection.request("GET", "/api/trace/calls?pattern=store::checkpoint", headers=api(follower).headers())
    response = connection.getresponse()
    assert json.loads(response.readline())["event"] == "begin"
    assert api(follower).get("/trace/sessions").json["count"] == 1
    response.close()
    connection.close()
    deadline = time.monotonic() + TIMEOUT_S
    while api(follower).get("/trace/sessions").json["count"]:
        assert time.monotonic() < deadline, "the session is still there"
        time.sleep(0.05)


@pytest.mark.parametrize("path", ["/trace/messages?session=mine", "/trace/calls?pattern=store::checkpoint&session=mine"])
def test_a_session_is_ended_at_the_node_that_was_asked_for_it(cluster, path):
    _, follower = roles(cluster)
    strange = next(node for node in cluster.nodes.values() if node not in roles(cluster))
    # Traces of messages run on the leader, whichever node is asked; what looks into a process runs there.
    connection = http.client.HTTPConnection(follower.host, follower.management_port, timeout=TIMEOUT_S)
    connection.request("GET", f"/api{path}", headers=api(follower).headers())
    response = connection.getresponse()
    assert json.loads(response.readline())["event"] == "begin"
    if "calls" in path:
        refusal = api(strange).delete("/trace/sessions/mine").expect(404)
        assert refusal.reason.endswith("has no session 'mine': it has ended, or was started on another node"), refusal
    api(follower).delete("/trace/sessions/mine").expect(204)
    last = [json.loads(line) for line in response if line.strip()][-1]
    assert (last["event"], last["reason"]) == ("end", "the client ended it")
    connection.close()
    api(follower).delete("/trace/sessions/mine").expect(404)


def test_nothing_in_a_members_directory_is_for_others_to_read(cluster):
    for node in cluster.nodes.values():
        paths = [path for path in node.data_dir.rglob("*") if path.stat().st_mode & 0o077]
        assert paths == [], [(oct(path.stat().st_mode), str(path)) for path in paths]
