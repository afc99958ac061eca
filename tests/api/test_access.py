"""Who may do what: tables recorded from RabbitMQ (`golden/access.txt`, `golden/methods.txt`), and what changes while somebody is connected."""

import access
import known
import pytest
from access import COLUMNS, EVERYTHING, outcome
from blackbox.management import segment

TABLE = [entry for entry in known.read() if entry.kind == "status"]
REFUSED = [entry for entry in known.read() if entry.kind == "refused"]


def read_table() -> dict[str, str]:
    lines = [line for line in (access.GOLDEN / "access.txt").read_text().splitlines() if not line.startswith("#")]
    return dict(line.split("  →  ") for line in lines)


def read_methods() -> dict[tuple[str, str], str]:
    lines = (access.GOLDEN / "methods.txt").read_text().splitlines()
    return {(method, permission): result for method, permission, result in (line.split("  →  ") for line in lines if not line.startswith("#"))}


REQUESTS, METHODS = read_table(), read_methods()


@pytest.fixture(scope="module")
def world(broker):
    with access.World(broker) as world:
        yield world


@pytest.mark.parametrize(("method", "path", "body", "needed"), access.ROWS, ids=[f"{method} {path}" for method, path, *_ in access.ROWS])
def test_request_is_allowed_to_the_same_users(world, broker, method, path, body, needed):
    expected = dict(zip(COLUMNS, REQUESTS[f"{method} {path}"].split(), strict=True))
    if broker.is_warren:
        for entry in TABLE:
            if known.matches(entry.route, f"{method} {path}"):
                expected = {column: str(entry.warren) if cell == str(entry.rabbitmq) else cell for column, cell in expected.items()}
    assert dict(zip(COLUMNS, world.outcomes(method, path, body, needed).split(), strict=True)) == expected


@pytest.mark.parametrize(("line", "permission"), METHODS)
def test_method_needs_the_same_permissions(broker, line, permission):
    method, arguments = next((method, arguments) for method, arguments in access.METHODS if access.describe(method, arguments) == line)
    got, expected = access.method_outcome(broker, access.PERMISSIONS[permission], method, arguments), METHODS[line, permission]
    is_built = not (broker.is_warren and any(known.matches(entry.route, line) for entry in REFUSED))
    if is_built or got == expected:
        assert got == expected
    else:
        assert got.startswith("connection.close 540 NOT_IMPLEMENTED - ")


def test_every_row_was_recorded():
    assert list(REQUESTS) == [f"{method} {path}" for method, path, *_ in access.ROWS]
    assert list(METHODS) == [(access.describe(*method), permission) for method in access.METHODS for permission in access.PERMISSIONS]


# -- credentials


@pytest.mark.parametrize(
    ("authorization", "status", "challenge"),
    [
        (None, 401, 'Basic realm="RabbitMQ Management"'),
        ("Basic Z3Vlc3Q6d3Jvbmc=", 401, None),
        ("Basic bm9ib2R5Om5vYm9keQ==", 401, None),
        ("Bearer abc", 401, None),
        ("basic Z3Vlc3Q6Z3Vlc3Q=", 200, None),
        ("Basic %%%", 400, None),
        ("Basic Z3Vlc3Q=", 400, None),
        ("Digest x", 400, None),
        ("", 400, None),
    ],
)  # fmt: skip
def test_credentials(api, authorization, status, challenge):
    answer = api.as_user(None).get("/whoami", headers={"Authorization": authorization})
    assert (answer.status, answer.headers.get("www-authenticate")) == (status, challenge)


@pytest.mark.parametrize("path", ["/overview", "/queues", "/users", "/definitions"])
def test_nothing_is_told_without_credentials(api, path):
    answer = api.as_user(None).get(path).expect(401)
    assert answer.body == b""


# -- what a listing shows


@pytest.fixture
def tenants(api, broker, wires):
    """tenants(tag): a user with that tag who may use vhost api-mine and not api-theirs, with a connection, a queue and an exchange in each."""
    made = []
    for vhost in ("api-mine", "api-theirs"):
        api.put(f"/vhosts/{vhost}", {}).expect(201)
        api.put(f"/permissions/{vhost}/{api.user}", EVERYTHING).expect(201, 204)
        api.put(f"/queues/{vhost}/{vhost}-q", {"durable": True}).expect(201)
        wires(virtual_host=vhost)

    def make(tag):
        made.append(f"api-{tag}")
        api.put(f"/users/api-{tag}", {"password": f"api-{tag}", "tags": tag}).expect(201)
        api.put(f"/permissions/api-mine/api-{tag}", EVERYTHING).expect(201)
        wires(user=f"api-{tag}", password=f"api-{tag}", virtual_host="api-mine")
        return api.as_user(f"api-{tag}")

    yield make
    for user in made:
        api.delete(f"/users/{user}")
    for vhost in ("api-mine", "api-theirs"):
        api.delete(f"/vhosts/{vhost}")


@pytest.mark.parametrize(
    ("tag", "connections_of"),
    [("management", {"api-management"}), ("policymaker", {"api-policymaker"}), ("monitoring", {"api-monitoring", "guest"}), ("administrator", {"api-administrator", "guest"})],
)
def test_connections_and_channels_of_others_are_for_monitoring(tenants, eventually, tag, connections_of):
    user = tenants(tag)

    def check():
        assert {connection["user"] for connection in user.get("/connections").expect(200).json} == connections_of
        assert {channel["user"] for channel in user.get("/channels").expect(200).json} == connections_of

    eventually(check)


@pytest.mark.parametrize("tag", ["management", "policymaker"])
def test_listings_leave_out_vhosts_without_permission(tenants, eventually, tag):
    user = tenants(tag)

    def check():
        assert [vhost["name"] for vhost in user.get("/vhosts").expect(200).json] == ["api-mine"]
        assert {queue["name"] for queue in user.get("/queues").expect(200).json} == {"api-mine-q"}
        for path in ("/exchanges", "/bindings", "/queues/detailed"):
            assert {each["vhost"] for each in user.get(path).expect(200).json} == {"api-mine"}

    eventually(check)


# -- what changes while somebody is connected


@pytest.fixture
def member(api, broker):
    """A user `api-member` with all permissions for the vhost `api-member`, with a queue q."""
    api.put("/vhosts/api-member", {}).expect(201)
    api.put("/users/api-member", {"password": "api-member", "tags": "management"}).expect(201)
    for user in ("api-member", api.user):
        api.put(f"/permissions/api-member/{user}", EVERYTHING).expect(201, 204)
    api.put("/queues/api-member/q", {"durable": True}).expect(201)
    yield "api-member"
    api.delete("/vhosts/api-member")
    api.delete("/users/api-member")


@pytest.fixture
def connection(member, wires):
    """The member's connection."""
    return wires(user=member, password=member, virtual_host=member)


# RabbitMQ's channels keep what was granted for a minute, or until they are idle for a second; Warren forgets it at once.
GRANTS_KEPT_S = 2.0

REVOCATIONS = [
    ("basic.publish", {"exchange": "amq.fanout", "routing_key": ""}, "write access to exchange 'amq.fanout'"),
    ("basic.publish", {"exchange": "", "routing_key": "q"}, "write access to exchange 'amq.default'"),
    ("queue.declare", {"queue": "q", "durable": True}, "configure access to queue 'q'"),
    ("basic.get", {"queue": "q", "no_ack": True}, "read access to queue 'q'"),
    ("basic.consume", {"queue": "q"}, "read access to queue 'q'"),
]


@pytest.mark.parametrize("change", ["cleared", "emptied"])
@pytest.mark.parametrize(("method", "arguments", "refused"), REVOCATIONS, ids=lambda value: value if isinstance(value, str) and "." in value else "")
def test_revoked_permission_refuses_the_next_method(api, broker, connection, method, arguments, refused, change):
    assert outcome(connection, method, arguments) == "ok"
    if change == "cleared":
        api.delete("/permissions/api-member/api-member").expect(204)
    else:
        api.put("/permissions/api-member/api-member", {"configure": "", "write": "", "read": ""}).expect(204)
    if not broker.is_warren:
        assert not connection.is_readable(GRANTS_KEPT_S)
    result = outcome(connection, method, arguments)
    assert result == f"channel.close 403 ACCESS_REFUSED - {refused} in vhost 'api-member' refused for user 'api-member'"


def test_granted_permission_is_there_at_once(api, connection):
    api.put("/permissions/api-member/api-member", {"configure": "", "write": "", "read": ""}).expect(204)
    assert outcome(connection, "queue.purge", {"queue": "q"}).startswith("channel.close 403")
    connection.send_method(1, "channel.close-ok")
    connection.call(1, "channel.open")
    api.put("/permissions/api-member/api-member", EVERYTHING).expect(204)
    assert outcome(connection, "queue.purge", {"queue": "q"}) == "ok"


def test_deleted_user_loses_the_connection(api, connection):
    api.delete("/users/api-member").expect(204)
    connection.expect_connection_error(320, "CONNECTION_FORCED - user 'api-member' is deleted")


def test_deleted_vhost_closes_its_connections(api, connection):
    api.delete("/vhosts/api-member").expect(204)
    connection.expect_connection_error(320, "CONNECTION_FORCED - vhost 'api-member' is deleted")


def test_changed_password_is_asked_for_at_the_next_login(api, broker, connection, wires):
    api.put("/users/api-member", {"password": "changed", "tags": "management"}).expect(204)
    assert outcome(connection, "queue.purge", {"queue": "q"}) == "ok"
    with pytest.raises(AssertionError, match="ACCESS_REFUSED"):
        wires(user="api-member", password="api-member", virtual_host="api-member")
    wires(user="api-member", password="changed", virtual_host="api-member")
    api.as_user("api-member").get("/whoami").expect(401)
    api.as_user("api-member", "changed").get("/whoami").expect(200)


def test_removed_tag_closes_the_api(api, member):
    api.as_user(member).get("/queues").expect(200)
    api.put(f"/users/{member}", {"password": member, "tags": ""}).expect(204)
    assert api.as_user(member).get("/queues").expect(401).reason == "Not management user"


@pytest.mark.parametrize(
    ("method", "arguments", "refused"),
    [
        ("basic.publish", {"exchange": "amq.topic", "routing_key": "z"}, "write access to topic 'z'"),
        ("queue.bind", {"queue": "q", "exchange": "amq.topic", "routing_key": "z.#"}, "read access to topic 'z.#'"),
        ("queue.unbind", {"queue": "q", "exchange": "amq.topic", "routing_key": "z.#"}, "read access to topic 'z.#'"),
        ("exchange.bind", {"destination": "amq.fanout", "source": "amq.topic", "routing_key": "z"}, "read access to topic 'z'"),
        ("basic.publish", {"exchange": "amq.topic", "routing_key": "w-api-member-api-member.x"}, None),
        ("queue.bind", {"queue": "q", "exchange": "amq.topic", "routing_key": "r.#"}, None),
        ("basic.publish", {"exchange": "amq.direct", "routing_key": "z"}, None),
    ],
)  # fmt: skip
def test_topic_permission_is_about_keys_of_its_exchange(api, connection, method, arguments, refused):
    api.put("/topic-permissions/api-member/api-member", {"exchange": "amq.topic", "write": "^w-{username}-{vhost}", "read": "^r"}).expect(201)
    where = "in exchange 'amq.topic' in vhost 'api-member' refused for user 'api-member'"
    assert outcome(connection, method, arguments) == (f"channel.close 403 ACCESS_REFUSED - {refused} {where}" if refused else "ok")


# -- operators who close connections, and limits


@pytest.mark.parametrize(
    ("reason", "text"), [(None, "CONNECTION_FORCED - Closed via management plugin"), ("tonight", "CONNECTION_FORCED - tonight"), ("", "CONNECTION_FORCED - ")]
)
def test_connection_closed_over_http_says_why(api, connection, eventually, reason, text):
    path = f"/connections/{segment(connection.name)}"
    eventually(lambda: api.get(path).expect(200))
    api.delete(path, headers={"X-Reason": reason}).expect(204)
    connection.expect_connection_error(320, text)
    eventually(lambda: api.get(path).expect(404))


def test_all_connections_of_a_user_are_closed_over_http(api, member, wires):
    both = [wires(user=member, password=member, virtual_host=member) for _ in range(2)]
    api.delete(f"/connections/username/{member}", headers={"X-Reason": "all"}).expect(204)
    for wire in both:
        wire.expect_connection_error(320, "CONNECTION_FORCED - all")


def test_long_reason_is_cut_to_fit_the_close(api, connection, eventually):
    path = f"/connections/{segment(connection.name)}"
    eventually(lambda: api.get(path).expect(200))
    api.delete(path, headers={"X-Reason": "x" * 400}).expect(204)
    connection.expect_connection_error(320, "CONNECTION_FORCED - xxxx…")


def refusal_at_open(broker, user):
    """The connection.close that a login leads to."""
    with pytest.raises(AssertionError) as refused:
        broker.wire(user=user, password=user, virtual_host=user).drop()
    return str(refused.value)


def test_vhost_limit_of_connections(api, broker, member, connection):
    for limit in (1, 0):
        api.put(f"/vhost-limits/{member}/max-connections", {"value": limit}).expect(204)
        assert f"530, 'reply_text': \"NOT_ALLOWED - access to vhost '{member}' refused for user '{member}': connection limit ({limit}) is reached\"" in refusal_at_open(broker, member)
    api.put(f"/vhost-limits/{member}/max-connections", {"value": -1}).expect(204)
    broker.wire(user=member, password=member, virtual_host=member).drop()


def test_user_limit_of_connections(api, broker, member, connection):
    for limit in (1, 0):
        api.put(f"/user-limits/{member}/max-connections", {"value": limit}).expect(204)
        assert f"530, 'reply_text': \"NOT_ALLOWED - connection refused for user '{member}': user connection limit ({limit}) is reached\"" in refusal_at_open(broker, member)
    api.delete(f"/user-limits/{member}/max-connections").expect(204)
    broker.wire(user=member, password=member, virtual_host=member).drop()


def test_user_limit_of_channels(api, member, connection):
    api.put(f"/user-limits/{member}/max-channels", {"value": 2}).expect(204)
    connection.call(2, "channel.open")
    connection.send_method(3, "channel.open")
    connection.expect_connection_error(530, f"NOT_ALLOWED - number of channels opened for user '{member}' has reached the maximum allowed user limit of 2")


def test_vhost_limit_of_queues(api, member, connection):
    api.put(f"/vhost-limits/{member}/max-queues", {"value": 1}).expect(204)
    connection.call(1, "queue.declare", queue="q", durable=True)
    connection.send_method(1, "queue.declare", queue="more", durable=True)
    connection.expect_channel_error(1, 406, f"PRECONDITION_FAILED - cannot declare queue 'more': queue limit in vhost '{member}' (1) is reached")
    assert api.put(f"/queues/{member}/more", {}).expect(400).reason == f"cannot declare queue 'more': queue limit in vhost '{member}' (1) is reached"
    api.put(f"/queues/{member}/q", {"durable": True}).expect(204)
