#!/usr/bin/env python3
"""Records from a real RabbitMQ which metrics its endpoints have, into tests/prometheus/recorded.json: names, types and names of labels, and
the values of those labels that come from a fixed set.

    tests/prometheus/record.py                     from a RabbitMQ 4 that bench/peers/rabbitmq starts
    tests/prometheus/record.py --url amqp://…      from one that runs already; its metrics are on its AMQP port + 10020
    tests/prometheus/record.py --render            no broker: writes the table of known differences into docs/prometheus.md

Help texts are not kept, and of numbers only how often what `traffic` does was counted. Commit what changed after reading the difference.
"""

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from blackbox import broker as brokers  # noqa: E402
from blackbox import environment  # noqa: E402

RECORDED = HERE / "recorded.json"
FAMILIES = (
    "connection_churn_metrics", "node_coarse_metrics", "node_metrics", "node_persister_metrics", "auth_attempt_metrics", "auth_attempt_detailed_metrics",
    "queue_coarse_metrics", "queue_consumer_count", "queue_metrics", "queue_delivery_metrics", "exchange_metrics", "queue_exchange_metrics",
    "channel_metrics", "channel_exchange_metrics", "channel_process_metrics", "channel_queue_metrics", "channel_queue_exchange_metrics",
    "connection_coarse_metrics", "connection_metrics", "stream_consumer_metrics", "vhost_status", "exchange_bindings", "exchange_names",
    "ra_metrics",
)  # fmt: skip
# Labels whose values do not depend on what clients do.
FIXED = ("protocol", "queue_type", "dead_letter_strategy", "le", "registry", "content_type", "rabbitmq_endpoint", "membership", "type")
PROMETHEUS_PORT_OFFSET = 10020
# Of these nothing but the names is of interest: there is no Erlang and no Raft here.
NAMES_ONLY = ("erlang_", "rabbitmq_raft_", "rabbitmq_detailed_raft_")
COUNTED = ("rabbitmq_global_", "rabbitmq_message_size_bytes", "rabbitmq_auth_attempts_")


def summary(text: str, has_values: bool) -> list[dict]:
    """What is kept of an answer, in its order; with the values of labels, which are the same everywhere."""
    import text_format

    kept = []
    for metric in text_format.parse(text).values():
        if metric.name.startswith(NAMES_ONLY):
            kept.append({"name": metric.name, "type": metric.type})
            continue
        fixed = sorted({tuple((name, sample.labels[name]) for name in sample.labels if name in FIXED) for sample in metric.samples} - {()})
        entry = {"name": metric.name, "type": metric.type, "labels": [list(names) for names in metric.label_names]}
        if fixed and has_values:
            entry["values"] = [dict(values) for values in fixed]
        kept.append(entry)
    return kept


def paths() -> dict[str, str]:
    """What is asked, by the name under which it is kept."""
    asked = {"/metrics": "/metrics", "/metrics/per-object": "/metrics/per-object", "/metrics/memory-breakdown": "/metrics/memory-breakdown", "/metrics/detailed": "/metrics/detailed"}
    return asked | {family: f"/metrics/detailed?family={family}" for family in FAMILIES}


def counts(text: str) -> dict[str, float]:
    """The counters of the whole node, by series: of one protocol, and of kinds of queues that more than one broker has."""
    import text_format

    samples = [sample for metric in text_format.parse(text).values() if metric.name.startswith(COUNTED) and metric.type in ("counter", "histogram") for sample in metric.samples]
    suited = [sample for sample in samples if sample.labels.get("protocol") in (None, "amqp091") and sample.labels.get("queue_type") in (None, "rabbit_classic_queue", "rabbit_quorum_queue")]
    return {f"{sample.name}{sorted(f'{name}={_bound(name, value)}' for name, value in sample.labels.items())}": sample.value for sample in suited}


def _bound(name: str, value: str) -> str:
    # Whether a bound is written as 1000 or as 1000.0 is the text's business.
    return str(float(value)) if name == "le" else value


def record(broker: brokers.Broker, port: int) -> dict:
    """What the endpoints have while there is traffic, and how often what was counted has happened."""
    import traffic
    from blackbox.management import Management

    api = Management((broker.host, port), None)

    def read(path):
        return api.call("GET", path, prefix="").expect(200).body.decode()

    before = counts(read("/metrics"))
    with traffic.running(broker):
        traffic.settle(broker)
        kept = {name: summary(read(path), name == "/metrics") for name, path in paths().items()}
        after = counts(read("/metrics"))
    return kept | {"counts": [{"series": series, "count": value - before.get(series, 0)} for series, value in after.items()]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    brokers.end_on_sigterm()
    parser.add_argument("--url", default=None, metavar="URL", help="a RabbitMQ that runs already")
    parser.add_argument("--output", default=RECORDED, type=Path, metavar="FILE", help="where to write (default: %(default)s)")
    parser.add_argument("--render", action="store_true", help="only write docs/prometheus.md anew")
    arguments = parser.parse_args()
    if arguments.render:
        import differences

        differences.render_into_documentation()
        return 0
    broker = brokers.Running(arguments.url) if arguments.url else brokers.Peer("4", management=True)
    try:
        if isinstance(broker, brokers.Peer):
            broker.start()
        broker.identify()
        kept = record(broker, broker.port + PROMETHEUS_PORT_OFFSET)
    finally:
        broker.remove()
    lines = [f"  {json.dumps(name)}: [\n" + ",\n".join("    " + json.dumps(entry) for entry in entries) + "\n  ]" for name, entries in kept.items()]
    head = f'{{\n  "from": {json.dumps(broker.name)},\n'
    arguments.output.write_text(head + ",\n".join(lines).replace("[\n\n  ]", "[]") + "\n}\n")
    return 0


if __name__ == "__main__":
    if not any(module in sys.modules for module in ("pika",)) and "--inside" not in sys.argv:
        import subprocess

        sys.exit(subprocess.run([environment.python(), __file__, *sys.argv[1:], "--inside"], check=False).returncode)
    sys.argv.remove("--inside")
    sys.exit(main())
