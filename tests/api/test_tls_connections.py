"""What the API tells of a connection's TLS, and of the certificate that its client showed."""

import re
import ssl

import pytest
from blackbox import broker as brokers
from blackbox.certificates import Authority
from blackbox.management import segment
from blackbox.wire import Wire
from settling import eventually

OF_TLS = ("ssl_protocol", "ssl_key_exchange", "ssl_cipher", "ssl_hash")
OF_PEER = ("peer_cert_subject", "peer_cert_issuer", "peer_cert_validity", "peer_cert_serial_number")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """An authority with certificates `server` and `client`."""
    authority = Authority(tmp_path_factory.mktemp("certificates"))
    authority.server = authority.sign("server", "/CN=localhost", "DNS:localhost,IP:127.0.0.1")
    authority.client = authority.sign("client", "/C=DE/O=Org/CN=client1")
    return authority


@pytest.fixture(scope="module")
def broker(pytestconfig, authority):
    """A broker with a TLS listener, where clients may show a certificate."""
    if pytestconfig.option.url:
        pytest.skip("somebody else's broker has certificates of its own")
    port = brokers.free_port()
    settings = {
        "listeners.ssl.default": f"127.0.0.1:{port}",
        "ssl_options.certfile": str(authority.server.certificate),
        "ssl_options.keyfile": str(authority.server.key),
        "ssl_options.cacertfile": str(authority.certificate),
        "ssl_options.verify": "verify_peer",
        "ssl_options.fail_if_no_peer_cert": "false",
    }
    broker = brokers.from_options(pytestconfig.option, settings, management=True)
    broker.tls_port = port
    try:
        broker.start()
        broker.identify()
        yield broker
    finally:
        broker.remove()


@pytest.fixture
def told(broker, authority):
    """told(identity, version): a connection as it is listed, and as it is shown alone."""
    wires = []

    def connect(identity=None, version=ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=str(authority.certificate))
        context.minimum_version = context.maximum_version = version
        if identity:
            context.load_cert_chain(identity.certificate, identity.key)
        wire = Wire((broker.host, broker.tls_port))
        wires.append(wire)
        wire.socket = context.wrap_socket(wire.socket, server_hostname="localhost")
        wire.handshake()
        single = eventually(broker, lambda: broker.management.get(f"/connections/{segment(wire.name)}").expect(200)).json
        listed = [each for each in broker.management.get("/connections").expect(200).json if each["name"] == wire.name]
        assert len(listed) == 1
        return listed[0], single

    yield connect
    for wire in wires:
        wire.drop()


@pytest.mark.parametrize(
    ("version", "protocol", "key_exchange"), [(ssl.TLSVersion.TLSv1_2, "tlsv1.2", "ecdhe_ecdsa"), (ssl.TLSVersion.TLSv1_3, "tlsv1.3", "any")], ids=["1.2", "1.3"]
)
def test_tls_and_the_clients_certificate_are_told(told, authority, version, protocol, key_exchange):
    for connection in told(authority.client, version):
        assert connection["ssl"] is True
        assert {name: connection[name] for name in OF_TLS} == {
            "ssl_protocol": protocol, "ssl_key_exchange": key_exchange, "ssl_cipher": "aes_256_gcm", "ssl_hash": "aead",
        }  # fmt: skip
        assert (connection["peer_cert_subject"], connection["peer_cert_issuer"]) == ("CN=client1,O=Org,C=DE", "CN=Warren Test ca")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ - \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", connection["peer_cert_validity"])
        assert re.fullmatch(r"[0-9A-Fa-f]+", connection["peer_cert_serial_number"])


def test_a_client_without_a_certificate_has_tls_only(told):
    listed, single = told()
    for connection, nothing in ((listed, None), (single, "")):
        assert connection["ssl"] is True and connection["ssl_protocol"] == "tlsv1.3"
        assert {name: connection[name] for name in OF_PEER} == dict.fromkeys(OF_PEER, nothing)
