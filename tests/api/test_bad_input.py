"""What no client should send: it is refused with a reason, or the connection ends; never a 5xx, and the way of messages is not disturbed.

RabbitMQ's own crashes over wrong types are in `golden/bad_bodies.txt`: there Warren must do better, elsewhere it answers the same. Where
RabbitMQ swallows nonsense, Warren may refuse it. 501 and 505 are answers to a method and a version that nobody knows, not failures.
"""

import http.client
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import bad_bodies
import known
import pytest
from blackbox import broker as brokers
from blackbox.bystander import Bystander
from raw_http import RawHttp, Torn, head

HONEST_5XX = {501, 505}
MIB = 2**20
GROWTH_MAX = 256 * MIB
LONGEST_WAIT_S = 5.0


@pytest.fixture(scope="module")
def broker(fresh_broker):
    """One of its own: RabbitMQ keeps some of the nonsense that it is sent here, and cannot be rid of it."""
    return fresh_broker


@pytest.fixture(scope="module", autouse=True)
def bystander(broker):
    """A publisher with confirms who must not notice anything of all this."""
    bystander = Bystander(broker)
    bystander.start()
    assert bystander.is_running.wait(60)
    before = broker.rss_anon_bytes() if broker.pid else 0
    yield
    bystander.check(LONGEST_WAIT_S)
    assert not broker.has_ended(), broker.log_tail()
    if broker.is_warren and not isinstance(broker, brokers.Running):
        grown = broker.rss_anon_bytes() - before
        assert grown < GROWTH_MAX, f"the broker grew by {grown / MIB:.0f} MiB"
        assert "panicked" not in broker.log(), broker.log_tail()


# -- bodies

RECORDED = bad_bodies.recorded()
TABLE = [entry for entry in known.read() if entry.kind == "status"]
CASES = {case.name: case for case in bad_bodies.cases()}
REQUESTS = sorted({(case.target.method, case.target.path) for case in CASES.values()})


def test_every_case_was_recorded():
    assert list(RECORDED) == list(CASES)


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_wrong_types_and_bad_json_are_refused(broker, method, path):
    cases = [case for case in CASES.values() if (case.target.method, case.target.path) == (method, path)]
    faults = [(case.name, fault_of(answer, expected_status(case.name, broker.is_warren), broker.is_warren)) for case, answer in bad_bodies.send_all(broker, cases)]
    wrong = [f"{name}: {fault}" for name, fault in faults if fault is not None]
    assert not wrong, "\n".join(wrong)


def expected_status(name: str, is_warren: bool) -> int:
    """What was recorded, unless Warren answers otherwise on purpose."""
    on_purpose = [entry.warren for entry in TABLE if is_warren and known.matches(entry.route, name)]
    return on_purpose[0] if on_purpose else RECORDED[name]


def fault_of(answer, rabbitmqs: int, is_warren: bool) -> str | None:
    """What is wrong with an answer to nonsense."""
    if not is_warren:
        return None if answer.status == rabbitmqs else f"{answer.status}, recorded was {rabbitmqs}"
    allowed = {400} if rabbitmqs >= 500 else {rabbitmqs, 400} if rabbitmqs < 300 else {rabbitmqs}
    if answer.status not in allowed:
        return f"{answer.status}, not {' or '.join(map(str, sorted(allowed)))}"
    if answer.status == 400 and not answer.json.get("reason"):
        return "400 without a reason"
    return None


@pytest.mark.parametrize("path", ["/definitions", "/queues/%2F/huge", "/exchanges/%2F/amq.default/publish"])
def test_body_beyond_the_limit_is_refused(api, path):
    body = b'{"payload": "' + b"x" * 11_000_000 + b'"}'
    method = "PUT" if path.startswith("/queues") else "POST"
    with RawHttp(api.address) as connection:
        connection.send_while_open(head(api, method, f"/api{path}", "Content-Type: application/json", f"Content-Length: {len(body)}") + body)
        assert_refused(connection, {400, 413})


def test_chunked_body_without_end_is_refused(api):
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with RawHttp(api.address) as connection:
        connection.send_while_open(head(api, "POST", "/api/definitions", "Content-Type: application/json", "Transfer-Encoding: chunked"))
        connection.send_while_open(piece * 64)
        assert_refused(connection, {400, 413})


@pytest.mark.parametrize(("content_type", "status"), [("rubbish", 415), ("application/json", 204), ("application/json; charset=utf-8", 204), (None, 204), ("text/plain", 204)])
def test_content_type(api, content_type, status):
    assert api.put("/global-parameters/api-typed", {"value": 1}).status in (201, 204)
    assert api.put("/global-parameters/api-typed", {"value": 1}, headers={"Content-Type": content_type}).status == status
    api.delete("/global-parameters/api-typed").expect(204)


@pytest.mark.parametrize(("accept", "status"), [("application/json", 200), ("*/*", 200), ("application/json;q=0.1", 200), ("text/html, */*;q=0.8", 200), ("text/html", 406), ("application/xml", 406)])
def test_accept(api, accept, status):
    api.get("/overview", headers={"Accept": accept}).expect(status)


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("DELETE", "/overview", 405, "HEAD, GET, OPTIONS"),
        ("POST", "/queues/%2F/x", 405, "HEAD, GET, PUT, DELETE, OPTIONS"),
        ("GET", "/queues/%2F/x/get", 405, "POST, OPTIONS"),
        ("GET", "/queues/%2F/x/contents", 405, "DELETE, OPTIONS"),
        ("PATCH", "/users/guest", 405, "HEAD, GET, PUT, DELETE, OPTIONS"),
        ("OPTIONS", "/queues/%2F/nosuch", 200, "HEAD, GET, PUT, DELETE, OPTIONS"),
        ("HEAD", "/overview", 200, "HEAD, GET, OPTIONS"),
        ("BREW", "/overview", 501, None),
    ],
)
def test_method(api, method, path, status, allow):
    answer = api.call(method, path)
    assert (answer.status, answer.headers.get("allow"), answer.body) == (status, allow, b"")


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("page=x", "bad_request"), ("page=1&page_size=x", "bad_request"), ("page=0", "invalid_pagination_parameters"), ("page=-1", "invalid_pagination_parameters"),
        ("page=1&page_size=501", "invalid_pagination_parameters"), ("page=1&page_size=0", "invalid_pagination_parameters"), ("page=2&page_size=500", "page_out_of_range"),
        ("page=99999999999999999999999", "page_out_of_range"), ("page=1&name=" + "a" * 1025 + "&use_regex=true", "invalid_pagination_parameters"),
        ("lengths_age=6000&lengths_incr=1", "invalid_range_parameters"),
    ],
)  # fmt: skip
def test_query_parameters_out_of_bounds_are_400(api, query, error):
    answer = api.get(f"/queues?{query}").expect(400)
    assert answer.json["error"] == error and answer.reason


# -- targets


@pytest.mark.parametrize(
    ("target", "statuses"),
    [
        ("/api/%", {400}), ("/api/%zz", {400}), ("/api/queues/%", {400}), ("/api/queues/%2F/%00", {400, 404}), ("/api/queues/%2F/%ff", {400, 404}), ("/api/queues/%ff", {400, 404}),
        ("/api/queues?columns=%ff", {200, 400}), ("/api/queues?name=%00&page=1", {200, 400}), ("/api/queues?sort=%00", {200, 400}), ("/api/whoami?%zz", {200, 400}),
        ("/%2e%2e/%2e%2e/%2e%2e/etc/passwd", {400, 404}), ("/js/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd", {400, 404}), ("/js/..%2f..%2f..%2f..%2fetc/passwd", {400, 404}),
        ("/js/%2e%2e%5c%2e%2e%5cetc", {400, 404}), ("/js/../../../../etc/passwd", {400, 404}), ("/js//etc/passwd", {400, 403, 404}), ("/js/main.js%00.css", {400, 404}),
        ("//", {200, 301, 400, 403, 404}), ("//api/whoami", {400, 404}), ("/api//whoami", {404}), ("/api/whoami/", {200}), ("/api/whoami//", {404}), ("/api/nosuch", {404}), ("/nosuch", {404}),
        ("/api/queues/%2F/" + "a" * 4000, {404}), ("/api/queues/%2F/" + "a" * 20_000, {404, 414}), ("/api/queues/%2F/" + "a" * 200_000, {414, 431}),
        ("/api/queues?" + "a=b&" * 50_000, {414, 431}), ("api/whoami", {400}), ("/api/queues\t", {400}), ("/api/\udce9", {400, 404}), ("*", {400, 404}),
    ],
    ids=lambda value: repr(value)[:50] if isinstance(value, str) else "",
)  # fmt: skip
def test_odd_targets(api, target, statuses):
    with RawHttp(api.address) as connection:
        connection.send_while_open(head(api, "GET", target))
        response = connection.read_response()
    assert response is not None and response.status in statuses, response
    assert b"root:" not in response.body


# -- requests that are no HTTP, or two at once

SMUGGLED = b"GET /api/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


def posted(*lines: str, data: bytes = b""):
    """A request with a body, sent as it is."""
    return lambda api: head(api, "POST", "/api/definitions", "Content-Type: application/json", *lines) + data


def got(*lines: str, version: str = "HTTP/1.1"):
    """A request without a body."""
    return lambda api: head(api, "GET", "/api/whoami", *lines, version=version)


CHUNKED = "Transfer-Encoding: chunked"
MALFORMED = {
    "length and chunks": posted("Content-Length: 5", CHUNKED, data=b"0\r\n\r\n" + SMUGGLED),
    "length that covers a request, and chunks": posted(f"Content-Length: {5 + len(SMUGGLED)}", CHUNKED, data=b"0\r\n\r\n" + SMUGGLED),
    "two lengths": posted("Content-Length: 2", "Content-Length: 3", data=b"{} " + SMUGGLED),
    "negative length": posted("Content-Length: -1", data=b"{}"),
    "length with a plus": posted("Content-Length: +2", data=b"{}"),
    "length in hexadecimal": posted("Content-Length: 0x2", data=b"{}"),
    "length beyond 64 bits": posted("Content-Length: 99999999999999999999999", data=b"{}"),
    "length without a number": posted("Content-Length: ", data=b"{}"),
    "length before a space": posted("Content-Length : 2", data=b"{}" + SMUGGLED),
    "coding that is not chunked": posted("Transfer-Encoding: xchunked", data=b"2\r\n{}\r\n0\r\n\r\n"),
    "coding after chunked": posted("Transfer-Encoding: chunked, identity", data=b"2\r\n{}\r\n0\r\n\r\n"),
    "chunk of no size": posted(CHUNKED, data=b"zz\r\n{}\r\n0\r\n\r\n"),
    "chunk of negative size": posted(CHUNKED, data=b"-2\r\n{}\r\n0\r\n\r\n"),
    "chunk beyond 64 bits": posted(CHUNKED, data=b"ffffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
    "chunk longer than its size": posted(CHUNKED, data=b"2\r\n{}XX0\r\n\r\n"),
    "chunk with a long extension": posted(CHUNKED, data=b"2;" + b"a" * 100_000 + b"\r\n{}\r\n0\r\n\r\n"),
    "space before the colon": got("X-A : b"),
    "folded header": got("X-A: b\r\n c"),
    "header without a colon": got("nonsense"),
    "no host": lambda api: head(api, "GET", "/api/whoami").replace(b"Host: ", b"X-Host: "),
    "two hosts": got("Host: other"),
    "the same host twice": lambda api: head(api, "GET", "/api/whoami", f"Host: {api.address[0]}:{api.address[1]}"),
    "NUL in a header": got("X-A: \0"),
    "header of 100 kB": got("X-A: " + "a" * 100_000),
    "a thousand headers": got(*[f"X-{number}: a" for number in range(1000)]),
    "version 0.9": lambda api: b"GET /api/whoami\r\n\r\n",
    "version 3.0": got(version="HTTP/3.0"),
    "braces in the method": lambda api: head(api, "G{T", "/api/whoami"),
    "method of 10 kB": lambda api: head(api, "G" * 10_000, "/api/whoami"),
    "space in the target": lambda api: head(api, "GET", "/api/qu eues"),
    "HTTP/2 with prior knowledge": lambda api: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
    "TLS": lambda api: bytes.fromhex("16030100c8010000c40303") + bytes(190),
    "AMQP": lambda api: b"AMQP\0\0\x09\x01",
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_request_gets_one_refusal_at_most(api, broker, name):
    if not broker.is_warren and name in ("chunk of no size", "chunk of negative size"):
        pytest.skip("RabbitMQ waits for more")
    with RawHttp(api.address) as connection:
        connection.send_while_open(MALFORMED[name](api))
        # The end of what we have to say: whoever waits for more must give up. Who has hung up already has heard enough.
        with suppress(OSError):
            connection.socket.shutdown(socket.SHUT_WR)
        try:
            responses = connection.read_to_end()
        except Torn as torn:
            # An HTTP/2 server may say so in its own words before it hangs up.
            assert name.startswith("HTTP/2"), torn
            responses = []
    assert len(responses) <= 1, responses
    assert all(400 <= response.status < 500 or response.status in HONEST_5XX for response in responses), responses


@pytest.mark.parametrize(
    ("name", "request_of"),
    [
        ("chunks", posted(CHUNKED, data=b"2\r\n{}\r\n0\r\n\r\n")),
        ("chunks with an extension", posted(CHUNKED, data=b"2;a=b\r\n{}\r\n0\r\n\r\n")),
        ("byte by byte chunks", posted(CHUNKED, data=b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")),
        ("body of a GET", got("Content-Length: 2")),
        ("empty line before", lambda api: b"\r\n" + head(api, "GET", "/api/whoami")),
        ("version 1.0", got(version="HTTP/1.0")),
        ("an upgrade nobody offers", got("Connection: upgrade", "Upgrade: nonsense")),
    ],
)
def test_unusual_request_is_answered(api, name, request_of):
    with RawHttp(api.address) as connection:
        connection.send(request_of(api) + (b"{}" if name == "body of a GET" else b""))
        assert connection.read_response().status in (200, 204)


def test_pipelined_requests_are_answered_in_order(api):
    paths = ["/api/whoami", "/api/nosuch", "/api/version", "/api/queues?page=x"] * 25
    with RawHttp(api.address) as connection:
        connection.send(b"".join(head(api, "GET", path) for path in paths))
        assert [connection.read_response().status for _ in paths] == [200, 404, 200, 400] * 25


def test_expect_continue_is_answered_before_the_body(api):
    with RawHttp(api.address) as connection:
        connection.send(head(api, "POST", "/api/definitions", "Content-Type: application/json", "Content-Length: 2", "Expect: 100-continue"))
        assert connection.read_response().status == 100
        connection.send(b"{}")
        assert connection.read_response().status == 204


# -- the slow and the many


def test_slow_clients_hold_nobody_up(api, pytestconfig):
    slow = [RawHttp(api.address) for _ in range(200 if pytestconfig.option.long else 100)]
    body = b'{"users": []}'
    request = head(api, "POST", "/api/users/bulk-delete", "Content-Type: application/json", f"Content-Length: {len(body)}") + body
    try:
        # A byte of each, a request of somebody else's, another byte of each: heads first, then bodies.
        for position in range(len(request)):
            for client in slow:
                client.send(request[position : position + 1])
            if position % 20 == 0:
                api.get("/whoami").expect(200)
        for client in slow:
            assert client.read_response().status == 204
    finally:
        for client in slow:
            client.socket.close()


def test_clients_who_leave_in_the_middle_leave_nothing(api):
    request = head(api, "POST", "/api/definitions", "Content-Type: application/json", "Content-Length: 1000000") + b"{"
    for length in range(0, len(request), 7):
        with RawHttp(api.address) as client:
            client.send(request[:length])
    api.get("/whoami").expect(200)


def test_client_who_does_not_read_holds_nobody_up(api):
    with RawHttp(api.address) as client:
        client.send_while_open(head(api, "GET", "/api/definitions") * 200)
        api.get("/whoami").expect(200)


@pytest.mark.timeout(600)
def test_parallel_requests_are_all_answered(api, pytestconfig):
    total, workers = (10_000, 200) if pytestconfig.option.long else (1000, 50)
    paths = ["/overview", "/queues", "/queues/%2F/nosuch", "/whoami", "/exchanges?page=1", "/nodes"]
    expected = {path: 404 if "nosuch" in path else 200 for path in paths}
    own = threading.local()

    def ask(number: int) -> str | None:
        if not hasattr(own, "connection"):
            own.connection = http.client.HTTPConnection(*api.address, timeout=60)
        path = paths[number % len(paths)]
        own.connection.request("GET", f"/api{path}", headers=api.headers())
        response = own.connection.getresponse()
        response.read()
        return None if response.status == expected[path] else f"{path}: {response.status}"

    with ThreadPoolExecutor(workers) as pool:
        wrong = [each for each in pool.map(ask, range(total)) if each]
    assert not wrong, wrong[:10]


def assert_refused(connection: RawHttp, statuses: set[int]) -> None:
    """One of these statuses, or the end of the connection."""
    response = connection.read_response()
    assert response is None or response.status in statuses, response
