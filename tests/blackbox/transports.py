"""Ways to a broker that are not plain TCP: TLS, a client's certificate, a proxy in front. Each is a broker's settings, the URL of what
clients connect to, and what their environment tells them."""

import shutil
import tempfile
from pathlib import Path

from .broker import free_port
from .certificates import Authority
from .haproxy import HAProxy

NAMES = ("tls", "external", "proxy", "proxy-v2")


class Transport:
    """One of `NAMES`. Made before its broker, `connect`ed to it when that runs, removed after it."""

    def __init__(self, name: str):
        self.name = name
        self.settings: dict[str, str] = {}
        self.environment: dict[str, str] = {}
        self.haproxy: HAProxy | None = None
        self.directory = Path(tempfile.mkdtemp(prefix="warren-transport-"))
        try:
            getattr(self, "_" + name.replace("-", "_"))()
        except BaseException:
            self.remove()
            raise

    def _tls(self) -> None:
        self.port = free_port()
        authority = Authority(self.directory)
        server = authority.sign("server", "/CN=localhost", "DNS:localhost,IP:127.0.0.1")
        client = authority.sign("client", "/CN=guest/O=Warren", "DNS:client")
        self.settings = {
            "listeners.ssl.default": f"127.0.0.1:{self.port}",
            "ssl_options.certfile": str(server.certificate),
            "ssl_options.keyfile": str(server.key),
            "ssl_options.cacertfile": str(authority.certificate),
            "ssl_options.verify": "verify_peer",
            "ssl_options.fail_if_no_peer_cert": "true",
        }
        self.environment = {
            "WARREN_TLS_CA": str(authority.certificate),
            "WARREN_TLS_CERT": str(client.certificate),
            "WARREN_TLS_KEY": str(client.key),
            "WARREN_TLS_P12": str(client.p12),
        }
        self.url = f"amqps://guest:guest@localhost:{self.port}/"

    def _external(self) -> None:
        self._tls()
        self.settings |= {"auth_mechanisms.1": "EXTERNAL", "auth_mechanisms.2": "PLAIN", "ssl_cert_login_from": "common_name"}
        self.environment["WARREN_TLS_EXTERNAL"] = "1"

    def _proxy(self, header: str = "send-proxy") -> None:
        # The broker speaks no plain AMQP any more: that it is ready is seen through the proxy, which stands before the broker does.
        behind = free_port()
        self.haproxy = HAProxy(behind, header)
        self.port = self.haproxy.port
        self.settings = {"listeners.tcp.default": f"127.0.0.1:{behind}", "proxy_protocol": "true"}
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}/"

    def _proxy_v2(self) -> None:
        self._proxy("send-proxy-v2")

    def reach(self, broker) -> None:
        """Tells a broker, not started yet, where its clients find it."""
        if self.haproxy:
            broker.port = self.port

    def remove(self) -> None:
        """Deletes certificates, ends the proxy."""
        if self.haproxy:
            self.haproxy.remove()
        shutil.rmtree(self.directory, ignore_errors=True)
