"""A broker's three listeners on free ports of 127.0.0.1."""

from blackbox import broker as brokers


class Loopback:
    def __init__(self) -> None:
        self.amqp, self.http, self.metrics = (brokers.free_port() for _ in range(3))

    @property
    def options(self) -> list[str]:
        """Of `warren serve`."""
        sets = {
            "listeners.tcp.default": f"127.0.0.1:{self.amqp}", "management.tcp.ip": "127.0.0.1", "management.tcp.port": self.http,
            "prometheus.tcp.ip": "127.0.0.1", "prometheus.tcp.port": self.metrics,
        }  # fmt: skip
        return [f"--set={key}={value}" for key, value in sets.items()]
