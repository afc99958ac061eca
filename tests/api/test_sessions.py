"""Logging in once for many requests, as a browser does: the cookie, and what it is good for after a restart."""

import pytest
from blackbox import broker as brokers


@pytest.fixture(scope="module")
def own_broker(pytestconfig):
    broker = brokers.from_options(pytestconfig.option, management=True)
    if not isinstance(broker, brokers.Warren):
        pytest.skip("RabbitMQ has no sessions, and a broker that runs already is not restarted")
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


def page(api) -> dict[str, str]:
    return {"Origin": api.url}


def log_in(api, name: str, password: str | None = None):
    body = {"name": name, "password": name if password is None else password}
    return api.as_user(None).post("/session", body, headers=page(api))


def cookie_of(answer) -> dict[str, str]:
    return {"Cookie": answer.expect(201).headers["set-cookie"].split(";")[0]}


def test_a_session_survives_a_restart_and_ends_with_its_password(own_broker):
    api = own_broker.management
    api.put("/users/ann", {"password": "ann", "tags": "management"}).expect(201)
    cookie = cookie_of(log_in(api, "ann"))
    anonymous = api.as_user(None)
    assert anonymous.get("/whoami", headers=cookie).json["name"] == "ann"
    own_broker.kill()
    own_broker.start()
    anonymous = own_broker.management.as_user(None)
    assert anonymous.get("/whoami", headers=cookie).expect(200).json["name"] == "ann"
    own_broker.management.put("/users/ann", {"password": "other", "tags": "management"}).expect(204)
    anonymous.get("/whoami", headers=cookie).expect(401)


def test_a_page_of_another_host_changes_nothing(own_broker):
    api = own_broker.management
    cookie, anonymous = cookie_of(log_in(api, "guest")), api.as_user(None)
    anonymous.put("/vhosts/own", headers=cookie | page(api)).expect(201)
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": f"http://127.0.0.1:{api.address[1] + 1}"}):
        anonymous.delete("/vhosts/own", headers=cookie | headers).expect(403)
    anonymous.get("/vhosts/own", headers=cookie).expect(200)
    anonymous.get("/vhosts/own", headers=cookie | {"Sec-Fetch-Site": "cross-site"}).expect(401)


def test_a_session_ends_when_it_is_logged_out(own_broker):
    api = own_broker.management
    cookie, anonymous = cookie_of(log_in(api, "guest")), api.as_user(None)
    shown = anonymous.get("/session", headers=cookie).expect(200).json
    assert (shown["name"], shown["tags"]) == ("guest", ["administrator"])
    anonymous.delete("/session", headers=cookie | page(api)).expect(204)
    anonymous.get("/session", headers=cookie).expect(401)
    assert log_in(api, "guest", "wrong").status == 401
