"""A broker whose metrics are served, with traffic on it."""

import pytest
import record
import traffic
from blackbox import broker as brokers
from blackbox.management import Management


def pytest_report_header(config):
    return f"broker: {config.option.broker_command}"


def start(options, settings=None, **how):
    """A broker that serves its HTTP API, and metrics on `prometheus_port`."""
    port = brokers.free_port()
    own = {"prometheus.tcp.ip": "127.0.0.1", "prometheus.tcp.port": str(port)}
    broker = brokers.Warren(options.broker_command, {**own, **(settings or {})}, management=True, **how)
    broker.prometheus_port = port
    # What a scraper sees: no path is added, nobody logs in.
    broker.metrics = Management((broker.host, port), None)
    broker.scrape = lambda path: broker.metrics.get(path, prefix="").expect(200).body.decode()
    try:
        broker.start()
        broker.identify()
    except BaseException:
        broker.remove()
        raise
    return broker


@pytest.fixture(scope="session")
def broker(pytestconfig):
    """The broker that tests share, while everything that is counted has happened on it."""
    broker = start(pytestconfig.option)
    try:
        # The login by which it was asked what it is.
        traffic.until(lambda: record.counts(broker.scrape("/metrics")).get("rabbitmq_auth_attempts_total['protocol=amqp091']"), "the first login")
        broker.counted_before = record.counts(broker.scrape("/metrics"))
        with traffic.running(broker):
            if broker.is_warren:
                # One that cannot connect, and so is counted without changing what else is.
                nowhere = {"src-uri": "amqp://127.0.0.1:1", "src-queue": "q", "dest-uri": "amqp://", "reconnect-delay": 0}
                broker.management.put("/parameters/shovel/%2F/nowhere", {"value": nowhere}).expect(201)
                traffic.until(lambda: 'rabbitmq_shovel_dynamic{status="terminated"} 1' in broker.scrape("/metrics"), "a shovel that has failed")
                # So is a link whose exchange there cannot be named.
                broker.management.put("/parameters/federation-upstream/%2F/nowhere", {"value": {"uri": "amqp://127.0.0.1:1", "exchange": "x" * 256}}).expect(201)
                policy = {"pattern": "^amq.fanout$", "apply-to": "exchanges", "definition": {"federation-upstream": "nowhere"}}
                broker.management.put("/policies/%2F/nowhere", policy).expect(201)
                traffic.until(lambda: 'rabbitmq_federation_links{status="error"} 1' in broker.scrape("/metrics"), "a link that has failed")
            for path in record.paths().values():
                # What scraping costs is told from the second time on.
                broker.scrape(path)
            yield broker
    finally:
        broker.remove()


@pytest.fixture
def own_broker(pytestconfig):
    """Starts brokers of a test's own: own_broker({"prometheus.path": "/x"})."""
    started = []

    def make(settings=None, **how):
        started.append(start(pytestconfig.option, settings, **how))
        return started[-1]

    yield make
    for broker in started:
        broker.remove()
