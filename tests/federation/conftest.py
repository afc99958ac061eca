"""Two brokers, one of which may be a RabbitMQ."""

import pytest

from blackbox import broker as brokers

PLUGINS = ("rabbitmq_federation", "rabbitmq_federation_management")


@pytest.fixture(scope="session")
def warrens(pytestconfig):
    """Two brokers of Warren."""
    options = pytestconfig.option
    pair = [brokers.Warren(options.broker_command, management=True) for _ in range(2)]
    try:
        for number, broker in enumerate(pair):
            broker.start()
            broker.management.put("/global-parameters/cluster_name", {"value": f"warren-{number}"}).expect(201, 204)
        yield pair
    finally:
        for broker in pair:
            broker.remove()


@pytest.fixture(scope="session")
def peer(pytestconfig):
    """A RabbitMQ with federation, if one was asked for."""
    if pytestconfig.option.peer is None:
        pytest.skip("--peer names no RabbitMQ")
    broker = brokers.Peer(pytestconfig.option.peer, management=True, plugins=PLUGINS)
    try:
        yield broker.start()
    finally:
        broker.remove()


@pytest.fixture(scope="session")
def plain_peer(pytestconfig):
    """A RabbitMQ that has no federation."""
    if pytestconfig.option.peer is None:
        pytest.skip("--peer names no RabbitMQ")
    broker = brokers.Peer(pytestconfig.option.peer, management=True)
    try:
        yield broker.start()
    finally:
        broker.remove()


@pytest.fixture(params=["between Warrens", "to RabbitMQ", "from RabbitMQ"])
def ends(request, warrens):
    """Upstream and downstream."""
    if request.param == "between Warrens":
        return warrens
    peer = request.getfixturevalue("peer")
    return (warrens[0], peer) if request.param == "to RabbitMQ" else (peer, warrens[1])
