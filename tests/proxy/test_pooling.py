"""Many clients, few connections to the broker."""

import pika
from blackbox.management import segment
from blackbox.proxy import eventually

CLIENTS = 40


def connections_of(broker, user):
    return [connection for connection in broker.management.get("/connections").json if connection.get("user") == user]


def pool_of(proxy, user, vhost="/"):
    return next((pool for pool in proxy.get("/pools") if (pool["user"], pool["vhost"]) == (user, vhost)), None)


def test_many_clients_share_few_connections(broker, proxy, pikas, user, name):
    queue = name()
    login = pika.PlainCredentials(user, "secret")
    first = pikas(proxy, credentials=login).channel()
    first.queue_declare(queue, durable=True)
    for number in range(CLIENTS):
        channel = pikas(proxy, credentials=login).channel()
        channel.confirm_delivery()
        channel.basic_publish("", queue, b"%d" % number)
    eventually(lambda: connections_of(broker, user), "the broker lists the proxy's connection")
    # Two where the login was asked about again meanwhile.
    assert len(connections_of(broker, user)) <= 2, pool_of(proxy, user)
    pool = pool_of(proxy, user)
    assert pool["clients"] == CLIENTS + 1
    assert {connection["upstream"] for connection in pool["connections"]} == {"a"}
    assert sorted(int(first.basic_get(queue, auto_ack=True)[2]) for _ in range(CLIENTS)) == list(range(CLIENTS))


def test_a_connection_is_used_again_by_the_next_client(proxy, wires, user, name):
    before = proxy.metric("warren_proxy_connections_dialled_total")
    for _ in range(20):
        with proxy.wire(user=user, password="secret") as wire:
            wire.call(1, "confirm.select")
            wire.publish(1, "", "nobody")
            wire.expect_confirms(1, 1, 1)
            wire.close()
    assert proxy.metric("warren_proxy_connections_dialled_total") - before <= 2
    assert proxy.metric("warren_proxy_channels_reused_total") > 0


def test_a_surplus_connection_is_closed_when_it_idles_and_the_last_one_stays(broker, own_proxy, wires, user):
    proxy = own_proxy({"a": broker}, {"proxy.upstream_connections.channel_max": "1", "proxy.upstream_connections.idle_timeout": "100ms"})
    opened = [wires(proxy, user=user, password="secret") for _ in range(3)]
    for wire in opened:
        wire.call(1, "exchange.declare", exchange="amq.direct", passive=True)
    eventually(lambda: len(pool_of(proxy, user)["connections"]) >= 2)
    for wire in opened:
        wire.close()
    eventually(lambda: len(pool_of(proxy, user)["connections"]) == 1)


def test_users_and_vhosts_do_not_share(broker, proxy, wires, user, vhost):
    broker.management.put(f"/permissions/{segment(vhost)}/{user}", {"configure": ".*", "write": ".*", "read": ".*"}).expect(201)
    for who in ({"user": user, "password": "secret"}, {"user": user, "password": "secret", "virtual_host": vhost}, {}, {"virtual_host": vhost}):
        wires(**who).call(1, "exchange.declare", exchange="amq.direct", passive=True)
    for who in (user, broker.user):
        for where in ("/", vhost):
            assert pool_of(proxy, who, where)["connections"]
