"""Users whom others know: an HTTP service that is asked about everything, and tokens of OAuth 2, by bearer or in the place of a password."""

import base64
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from blackbox import codec
from blackbox.tokens import Issuer, scopes

pytestmark = pytest.mark.warren_only("a peer would have to be installed with these back ends")


class AuthorisationService(ThreadingHTTPServer):
    """Knows `service-*` users, whose passwords are their names; and remembers what it was asked, and what it denies."""

    daemon_threads = True

    def __init__(self):
        self.denied: set[tuple[str, ...]] = set()
        self.asked: list[tuple[str, ...]] = []
        super().__init__(("127.0.0.1", 0), Answers)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def decide(self, path: str, asked: dict[str, str]) -> str:
        user = asked["username"]
        if path == "/user":
            return f"allow {user.split('-')[1]}" if user.startswith("service-") and asked.get("password") == user else "deny unknown"
        question = (path, *(asked[key] for key in ("vhost", "resource", "name", "permission", "routing_key") if key in asked))
        self.asked.append(question)
        return "deny" if question in self.denied else "allow"


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        parts = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        body = self.server.decide(parts.path, asked).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def service():
    service = AuthorisationService()
    thread = threading.Thread(target=service.serve_forever, daemon=True)
    thread.start()
    yield service
    service.shutdown()
    service.server_close()
    thread.join()


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture(scope="module")
def guarded(pytestconfig, service, issuer):
    """A broker whose users are its own, the service's, or have tokens; with the vhosts `open` and `closed` and a queue in each."""
    from blackbox import broker as brokers

    settings = {
        "auth_backends.1": "internal",
        "auth_backends.2": "http",
        "auth_backends.3": "oauth2",
        **{f"auth_http.{what}_path": f"{service.url}/{what}" for what in ("user", "vhost", "resource", "topic")},
        **issuer.settings,
    }
    if pytestconfig.option.url:
        pytest.skip("needs a broker of its own, and --url names somebody else's")
    broker = brokers.from_options(pytestconfig.option, settings, management=True)
    try:
        broker.start()
        broker.identify()
        for vhost in ("open", "closed"):
            broker.management.put(f"/vhosts/{vhost}", {}).expect(201)
            broker.management.put(f"/permissions/{vhost}/guest", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201, 204)
            broker.management.put(f"/queues/{vhost}/q", {"durable": True}).expect(201)
        yield broker
    finally:
        broker.remove()


@pytest.fixture
def denying(service):
    """denying("/vhost", "closed"): what the service denies until the test is over."""
    service.asked.clear()
    yield lambda *question: service.denied.add(question)
    service.denied.clear()


@pytest.fixture
def bearer(guarded, issuer):
    """bearer("GET", "/queues", scope="…"): a request with a token."""

    def call(method, path, body=None, *, token=None, **claims):
        token = issuer(claims) if token is None else token
        how = {} if body is None else {"body": body}
        return guarded.management.as_user(None).call(method, path, headers={"Authorization": f"Bearer {token}"}, **how)

    return call


MESSAGE = {"routing_key": "q", "properties": {}, "payload": "hello", "payload_encoding": "string"}
GET = {"ackmode": "ack_requeue_false", "count": 10, "encoding": "auto"}


# -- the HTTP service


def test_service_says_who_somebody_is(guarded):
    api = guarded.management
    assert api.as_user("service-monitoring").get("/whoami").expect(200).json == {"name": "service-monitoring", "tags": ["monitoring"], "is_internal_user": False}
    assert api.as_user("service-monitoring").get("/nodes").status == 200
    assert api.as_user("service-management").get("/nodes").expect(401).reason == "Not monitor user"
    assert api.as_user("service-none").get("/whoami").expect(401).reason == "Not management user"
    assert api.as_user("service-monitoring", "wrong").get("/whoami").expect(401).json == {"error": "not_authorized", "reason": "Not_Authorized"}


def test_service_says_which_vhosts_somebody_sees(guarded, denying):
    denying("/vhost", "closed")
    api = guarded.management.as_user("service-management")
    assert {row["vhost"] for row in api.get("/queues").expect(200).json} == {"open"}
    assert {row["name"] for row in api.get("/vhosts").expect(200).json} == {"/", "open"}
    assert {row["vhost"] for row in api.get("/exchanges").expect(200).json} == {"/", "open"}
    assert api.get("/overview").expect(200).json["object_totals"]["queues"] == 1
    assert api.get("/queues/open/q").status == 200
    for path in ("/queues/closed", "/queues/closed/q", "/exchanges/closed", "/bindings/closed"):
        assert api.get(path).status == 404, path
    assert {row["vhost"] for row in guarded.management.get("/queues").json} == {"open", "closed"}


def test_service_decides_about_each_thing(guarded, service, denying):
    denying("/resource", "open", "queue", "forbidden", "configure")
    api = guarded.management.as_user("service-management")
    assert api.put("/queues/open/forbidden", {}).expect(401).json == {"error": "not_authorised", "reason": "Access refused."}
    assert guarded.management.get("/queues/open/forbidden").status == 404
    api.put("/queues/open/allowed", {"durable": True}).expect(201)
    api.put("/exchanges/open/x", {"type": "topic"}).expect(201)
    api.post("/bindings/open/e/x/q/allowed", {"routing_key": "a.#"}).expect(201)
    asked = set(service.asked)
    assert {("/resource", "open", "queue", "allowed", "configure"), ("/resource", "open", "queue", "allowed", "write"), ("/resource", "open", "exchange", "x", "read")} <= asked
    api.delete("/queues/open/allowed").expect(204)
    api.delete("/exchanges/open/x").expect(204)


def test_what_the_service_allows_is_done_once(guarded, service, denying):
    api = guarded.management.as_user("service-management")
    assert api.post("/exchanges/open/amq.default/publish", MESSAGE).expect(200).json == {"routed": True}
    assert ("/resource", "open", "exchange", "amq.default", "write") in service.asked
    got = api.post("/queues/open/q/get", GET).expect(200).json
    assert [(each["payload"], each["message_count"]) for each in got] == [("hello", 0)]
    denying("/resource", "open", "exchange", "amq.default", "write")
    assert "403 ACCESS_REFUSED" in api.post("/exchanges/open/amq.default/publish", MESSAGE).expect(400).reason
    denying("/resource", "open", "queue", "q", "read")
    assert "403 ACCESS_REFUSED" in api.post("/queues/open/q/get", GET).expect(400).reason
    assert guarded.management.get("/queues/open/q").json["messages"] == 0


def test_who_the_service_does_not_know_is_asked_for_a_token_at_last(guarded, issuer):
    token = issuer({"scope": scopes("tag:management")})
    assert guarded.management.as_user("whoever", token).get("/whoami").expect(200).json["name"] == "token-user"
    assert guarded.management.as_user("", token).get("/whoami").status == 200


# -- OAuth 2


@pytest.mark.parametrize("tag", ["administrator", "monitoring", "policymaker", "management"])
def test_scopes_are_roles(bearer, tag):
    assert bearer("GET", "/whoami", scope=scopes(f"tag:{tag}")).expect(200).json == {"name": "token-user", "tags": [tag], "is_internal_user": False}
    assert bearer("GET", "/nodes", scope=scopes(f"tag:{tag}")).status == (200 if tag in ("administrator", "monitoring") else 401)
    assert bearer("GET", "/users", scope=scopes(f"tag:{tag}")).status == (200 if tag == "administrator" else 401)


def test_scopes_are_permissions(bearer, guarded):
    may = {"scope": scopes("tag:management", "configure:open/mine*", "write:open/*", "read:open/mine*")}
    assert {row["vhost"] for row in bearer("GET", "/queues", **may).expect(200).json} == {"open"}
    bearer("PUT", "/queues/open/mine", {"durable": True}, **may).expect(201)
    assert bearer("PUT", "/queues/open/theirs", {}, **may).expect(401).reason == "Access refused."
    assert bearer("PUT", "/queues/closed/mine", {}, **may).status in (401, 404)
    bearer("POST", "/exchanges/open/amq.default/publish", {**MESSAGE, "routing_key": "mine"}, **may).expect(200)
    assert [each["payload"] for each in bearer("POST", "/queues/open/mine/get", GET, **may).expect(200).json] == ["hello"]
    assert "403 ACCESS_REFUSED" in bearer("POST", "/queues/open/q/get", GET, **may).expect(400).reason
    bearer("DELETE", "/queues/open/mine", **may).expect(204)
    assert guarded.management.get("/queues/open/theirs").status == 404


def test_a_token_without_a_role_is_not_for_the_api(bearer):
    assert bearer("GET", "/whoami", scope=scopes("read:*/*")).expect(401).reason == "Not management user"
    assert bearer("GET", "/whoami", scope="other.tag:administrator").expect(401).reason == "Not management user"


def test_tokens_that_cannot_be_believed_are_refused(bearer, issuer):
    scope = scopes("tag:administrator")
    good = issuer({"scope": scope})
    header, claims, signature = good.split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    for token in (
        issuer({"scope": scope}, "other"), issuer({"scope": scope, "exp": int(time.time()) - 1}), issuer({"scope": scope, "aud": "other"}),
        f"{header}.{claims}.", f"{unsigned}.{claims}.", f"{header}.{claims}.{signature[::-1]}", "x", "x.y.z", "é".encode().decode("latin-1"),
    ):  # fmt: skip
        assert bearer("GET", "/whoami", token=token).status in (400, 401), token
    assert bearer("GET", "/whoami", token=good).status == 200


def test_strangers_with_bad_tokens_lock_nobody_out(bearer):
    for _ in range(30):
        assert bearer("GET", "/whoami", token="x.y.z").expect(401).json == {"error": "not_authorized", "reason": "Not_Authorized"}
    assert bearer("GET", "/whoami", scope=scopes("tag:management")).status == 200


def test_a_long_token_is_taken(bearer, guarded, issuer):
    claims = {"scope": scopes("tag:management"), "padding": "x" * 6000}
    assert bearer("GET", "/whoami", **claims).status == 200
    assert guarded.management.as_user("whoever", issuer(claims)).get("/whoami").status == 200


def test_the_same_token_logs_in_over_amqp(guarded, issuer):
    token = issuer({"scope": scopes("configure:open/*", "write:open/*", "read:open/*")})
    with guarded.wire(user="whoever", password=token, virtual_host="open") as wire:
        queue = wire.call(1, "queue.declare", exclusive=True).queue
        wire.send(codec.publish(1, "", queue, b"x"))
        wire.call(1, "basic.consume", queue=queue, no_ack=True)
        assert wire.expect_message().body == b"x"
