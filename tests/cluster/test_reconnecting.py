"""A rolling restart of all three nodes under load, with what programs really use: every client with a list of hosts loses nothing."""

import os
import time

import pytest
from blackbox import environment, languages
from blackbox.wire import Wire
from reconnecting import Reconnecting, faults

PYTHON = "python"
PROGRAMS = [PYTHON, *languages.LANGUAGES]
BEGIN_WITHIN_S = 30.0
GO_ON_WITHIN_S = 20.0
"""After the last node is back: some clients wait longer from attempt to attempt."""
STEP = 20
"""So many more have to come through between two restarts."""


def published(*numbers):
    return [{"published": number} for number in numbers]


def confirmed(*numbers):
    return [{"confirmed": number} for number in numbers]


def delivered(number, *, marked=False):
    return {"delivered": number, "redelivered": marked}


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([*published(0, 1), *confirmed(0), delivered(0), *confirmed(1), delivered(1)], []),
        ([*published(0), delivered(0), *confirmed(0), delivered(0, marked=True)], []),
        ([*published(0, 0), delivered(0), *confirmed(0), delivered(0)], []),
        ([*published(0), *confirmed(0)], ["0 was confirmed and never delivered"]),
        ([*published(0), delivered(0)], ["0 was published and is not confirmed"]),
        ([*published(0), *confirmed(0), delivered(0), delivered(0)], ["0 was delivered 2 times without the mark, and published 1 times"]),
        ([delivered(3, marked=True)], ["3 was delivered and never published"]),
    ],
    ids=["in order", "marked", "sent twice", "lost", "unconfirmed", "twice", "from nowhere"],
)
def test_what_a_client_may_not_see(events, told):
    assert faults(events) == told


def program(name):
    """Its command, without arguments, and its environment."""
    if name == PYTHON:
        return [environment.python(), str(languages.CLIENTS / PYTHON / "reconnecting.py")], dict(os.environ)
    language, output = languages.LANGUAGES[name], languages.build(name)
    return language.reconnecting(output), {**os.environ, **language.variables(output)}


def await_all(clients, why_not, within_s):
    """Until there is no client any more for which there is a reason why not; the reasons that are left."""
    deadline = time.monotonic() + within_s
    while (reasons := {name: why for name, client in clients.items() if (why := why_not(name, client))}) and time.monotonic() < deadline:
        time.sleep(0.05)
    return reasons


def await_more(clients):
    """Until each has got through more of what it began to publish from now on."""
    aims = {name: max(client.numbers("published"), default=-1) + STEP for name, client in clients.items()}
    assert not await_all(clients, lambda name, client: None if aims[name] in client.through() else client.last_words(), GO_ON_WITHIN_S)


def rest_of(cluster, queue):
    """What is left when the consumer is gone: what its acks did not reach any more."""
    with Wire.open(cluster.nodes[1].address, timeout=10) as wire:
        while (message := wire.get(1, queue)) is not None:
            yield {"delivered": int(message.body), "redelivered": message.method.redelivered}


@pytest.fixture(scope="module")
def told(whole_cluster):
    """What each client told of a restart of all nodes, one after the other. All clients go through the same one."""
    commands = {name: program(name) for name in PROGRAMS if name == PYTHON or not languages.LANGUAGES[name].missing}
    hosts = [f"{node.host}:{node.port}" for node in whole_cluster.nodes.values()]
    clients = {}
    try:
        for at, (name, (command, variables)) in enumerate(commands.items()):
            # Each begins with another node.
            first = at % len(hosts)
            clients[name] = Reconnecting([*command, f"through-{name}", *hosts[first:], *hosts[:first]], variables)
        assert not await_all(clients, lambda _, client: None if len(client.through()) > STEP else client.last_words(), BEGIN_WITHIN_S)
        for node in whole_cluster.nodes.values():
            node.terminate()
            assert node.wait_ended() == 0, node.log_tail()
            node.start(wait=False)
            whole_cluster.await_whole()
            await_more(clients)
        for client in clients.values():
            client.end()
        # What is missing after that is told of below, for each client.
        await_all(clients, lambda _, client: client.why_not_through(), GO_ON_WITHIN_S)
    finally:
        for client in clients.values():
            client.kill()
    return {name: (client, [*client.so_far(), *rest_of(whole_cluster, f"through-{name}")]) for name, client in clients.items()}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.timeout(900)  # the first one builds the programs, if no other suite has
def test_a_rolling_restart_loses_nothing_of_a_client_that_retries(told, name):
    if name not in told:
        pytest.skip(f"{' and '.join(languages.LANGUAGES[name].missing)} not found")
    client, events = told[name]
    assert faults(events) == []
    # All connections are closed when the leader goes, so it was not spared.
    opened = client.opened()
    assert opened["publisher"] >= 2 and opened["consumer"] >= 2, opened
    print(f"{len(client.numbers('confirmed'))} confirmed over {opened['publisher']} connections, {sum('published' in event for event in events)} times published")
