"""Brokers with proxies before them, and clients that come through."""

import os
import signal
import ssl
from contextlib import suppress

import pika
import pytest
from blackbox import broker as brokers
from blackbox import proxy as proxies
from blackbox.certificates import Authority
from blackbox.management import segment
from blackbox.proxy import Proxy
from blackbox.wire import Wire
from pika import exceptions

# So that what fails and what comes back is seen soon.
ALERT = {
    "proxy.health_check.interval": "200ms", "proxy.health_check.failures": "2", "proxy.connect_timeout": "1s",
    "proxy.back_off.min": "50ms", "proxy.back_off.max": "200ms", "proxy.upstream_connections.handshake_timeout": "1s",
}  # fmt: skip


def pytest_addoption(parser):
    proxies.add_options(parser)


@pytest.fixture(scope="session")
def broker(pytestconfig):
    """The broker that most tests share, with its HTTP API."""
    broker = brokers.from_options(pytestconfig.option, management=True)
    try:
        if not isinstance(broker, brokers.Running):
            broker.start()
        broker.identify()
    except BaseException:
        broker.remove()
        raise
    yield broker
    broker.remove()


@pytest.fixture(scope="session")
def proxy(pytestconfig, broker):
    """The proxy that most tests share. It has one thread, so that clients of one login share lines."""
    proxy = Proxy(pytestconfig.option.proxy_command, {"a": broker}, {"proxy.worker_threads": "1", **ALERT})
    try:
        proxy.start()
        proxy.identify()
        yield proxy
        assert not proxy.has_ended(), proxy.log_tail()
        check_log(proxy)
    finally:
        proxy.remove()


@pytest.fixture
def own_proxy(pytestconfig):
    """Starts proxies with settings of their own: own_proxy({"a": broker}, {"proxy.heartbeat": "1"})."""
    started = []

    def start(upstreams=None, settings=None, wait=True, **how):
        started.append(Proxy(pytestconfig.option.proxy_command, upstreams, {"proxy.worker_threads": "1", **ALERT, **(settings or {})}, **how))
        return started[-1].start(wait)

    yield start
    try:
        for each in started:
            check_log(each)
    finally:
        for each in started:
            each.remove()


@pytest.fixture
def configured(own_proxy, tmp_path):
    """Starts a proxy from a file, and rewrites it: start({"a": broker}, settings), then reload(settings)."""
    path = tmp_path / "proxy.conf"

    def write(proxy, settings):
        kept = {key: value for key, value in proxy.settings.items() if "listener" in key or "worker_threads" in key}
        path.write_text("".join(f"{key} = {value}\n" for key, value in {**kept, **settings}.items()))

    def words(proxy):
        write(proxy, proxy.settings)
        return ["--config", str(path)]

    def start(upstreams, settings=None, **how):
        return own_proxy(upstreams, settings, words=words, **how)

    def reload(proxy, settings, said="configuration reloaded"):
        count = proxy.log().count(said)
        write(proxy, settings)
        os.kill(proxy.pid, signal.SIGHUP)
        proxy.await_log(said, count + 1)

    start.reload = reload
    return start


def check_log(proxy):
    """No thread of it may have died."""
    panics = [line for line in proxy.log().splitlines() if "panicked" in line]
    assert not panics, panics


@pytest.fixture
def wires(proxy):
    """Opens raw connections through a proxy, the shared one if none is named: wires(channels=2, user="x")."""
    opened: list[Wire] = []

    def open_wire(through=None, **how):
        opened.append((through or proxy).wire(**how))
        return opened[-1]

    yield open_wire
    for each in opened:
        each.drop()


@pytest.fixture
def pikas():
    """Opens pika connections through a proxy: pikas(proxy, heartbeat=1)."""
    opened = []

    def open_connection(proxy, **how):
        parameters = {"host": "127.0.0.1", "port": proxy.port, "socket_timeout": 10, "blocked_connection_timeout": 20, **how}
        opened.append(pika.BlockingConnection(pika.ConnectionParameters(**parameters)))
        return opened[-1]

    yield open_connection
    for connection in opened:
        with suppress(exceptions.AMQPError):
            if connection.is_open:
                connection.close()


@pytest.fixture
def user(broker, name):
    """A user of the test's own, with the password 'secret' and all rights to '/'."""
    made = name("user")
    broker.management.put(f"/users/{segment(made)}", {"password": "secret", "tags": "management"}).expect(201)
    broker.management.put(f"/permissions/%2F/{segment(made)}", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201)
    yield made
    broker.management.delete(f"/users/{segment(made)}")


@pytest.fixture
def vhost(broker, name):
    """A virtual host of the test's own, which only the first user may enter."""
    made = name("vhost")
    broker.management.put(f"/vhosts/{segment(made)}", {}).expect(201)
    broker.management.put(f"/permissions/{segment(made)}/{broker.user}", {"configure": ".*", "write": ".*", "read": ".*"})
    yield made
    broker.management.delete(f"/vhosts/{segment(made)}")


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """An authority with a certificate `server`."""
    authority = Authority(tmp_path_factory.mktemp("certificates"))
    authority.server = authority.sign("server", "/CN=localhost", "DNS:localhost,IP:127.0.0.1")
    authority.context = ssl.create_default_context(cafile=str(authority.certificate))
    return authority
