"""Asks every route of a broker in the state of `state` for its shape. `{…}` in paths is filled in from the state's names."""

from pathlib import Path

from shape import Shape
from state import State

GOLDEN = Path(__file__).resolve().parent / "golden" / "shapes"

# Beside these there are quorum queues, streams, OAuth and the list of extensions: Warren has none of them.
PLAIN = """
/bindings
/bindings/{shop}
/bindings/{shop}/e/events/q/orders
/bindings/{shop}/e/events/q/orders/{key}
/channels
/channels/{consumer}
/channels/{publisher}
/channels/{transactional}
/cluster-name
/connections
/connections/{connection}
/connections/{connection}/channels
/connections/username/{alice}
/consumers
/consumers/{shop}
/definitions
/definitions/{shop}
/deprecated-features
/deprecated-features/used
/exchanges
/exchanges/{shop}
/exchanges/{shop}/events
/exchanges/{shop}/events/bindings/destination
/exchanges/{shop}/events/bindings/source
/exchanges/{shop}/inner/bindings/destination
/feature-flags
/global-parameters
/global-parameters/api-house
/health/checks/alarms
/health/checks/below-node-connection-limit
/health/checks/certificate-expiration/1/months
/health/checks/is-in-service
/health/checks/local-alarms
/health/checks/metadata-store/initialized
/health/checks/metadata-store/initialized/with-data
/health/checks/node-is-quorum-critical
/health/checks/port-listener/{port}
/health/checks/port-listener/1
/health/checks/protocol-listener/amqp
/health/checks/protocol-listener/nosuch
/health/checks/ready-to-serve-clients
/health/checks/reached-target-cluster-size
/health/checks/virtual-hosts
/nodes
/nodes/{node}
/nodes/{node}/memory
/nodes/{node}/memory/relative
/operator-policies
/operator-policies/{shop}
/operator-policies/{shop}/cap
/overview
/overview?disable_stats=true
/overview?lengths_age=60&lengths_incr=5&msg_rates_age=60&msg_rates_incr=5
/parameters
/parameters/operator_policy
/parameters/operator_policy/{shop}
/parameters/operator_policy/{shop}/cap
/permissions
/permissions/{shop}/{alice}
/policies
/policies/{shop}
/policies/{shop}/long
/queues
/queues?columns=name,messages,arguments.x-house
/queues?disable_stats=true
/queues?disable_stats=true&enable_queue_totals=true
/queues?page=1&page_size=3
/queues?page=1&page_size=3&name=nosuch
/queues/{shop}
/queues/{shop}/orders
/queues/{shop}/orders?lengths_age=60&lengths_incr=5&msg_rates_age=60&msg_rates_incr=5
/queues/{shop}/own
/queues/{shop}/passing
/queues/{shop}/reports
/queues/{shop}/orders/bindings
/queues/detailed
/topic-permissions
/topic-permissions/{shop}/{alice}
/topic-permissions/{shop}/{alice}/events
/user-limits
/user-limits/{alice}
/users
/users/{alice}
/users/{alice}/permissions
/users/{alice}/queues
/users/{alice}/topic-permissions
/users/api-locked
/users/without-permissions
/version
/vhost-limits
/vhost-limits/{shop}
/vhosts
/vhosts/{shop}
/vhosts/{shop}/channels
/vhosts/{shop}/connections
/vhosts/{shop}/permissions
/vhosts/{shop}/topic-permissions
/whoami
/auth/attempts/{node}
/auth/hash_password/secret
/aliveness-test/{shop}
/healthchecks/node
""".split()


# Requests that are not GETs and answer with a document. None leaves a trace but in what is counted.
PUBLISH = {"properties": {"headers": {"a": 1}}, "routing_key": "nowhere", "payload": "x", "payload_encoding": "string"}
GET = {"count": 2, "ackmode": "ack_requeue_true", "encoding": "auto"}
POSTED = {
    "/exchanges/{shop}/amq.direct/publish": PUBLISH,
    "/queues/{shop}/unrouted/get": {**GET, "encoding": "base64"},
}


def golden_name(path: str) -> str:
    """The name of a path's golden file."""
    return path.strip("/").replace("/", ".").replace("{", "").replace("}", "").replace("?", "@").replace("&", ",")


def golden() -> dict[str, Shape]:
    """The recorded shapes by name."""
    return {path.stem: Shape.parse(path.read_text()) for path in sorted(GOLDEN.glob("*.txt"))}


def survey(state: State) -> dict[str, Shape | str]:
    """The shape of each route by its golden name; where there is no document, what came instead."""
    # They come first: what is published and got is counted, and a second survey would see it.
    answers = {path: state.api.post(path.format(**state.names), body) for path, body in POSTED.items()}
    answers |= {path: state.api.get(path.format(**state.names)) for path in PLAIN}
    found = {}
    for path, answer in answers.items():
        # Health checks may fail, and say so in a document.
        is_document = answer.status == 200 or (answer.status == 503 and path.startswith("/health"))
        found[golden_name(path)] = Shape.of(answer.json, path) if is_document else str(answer)
    return found
