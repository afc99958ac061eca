"""Which exchange gets the dead letters, and who may say so."""

from observing import with_dead
from scene import Scene


def missing_exchange(s: Scene):
    """A queue may name an exchange that is not there: its dead letters are lost, and later ones go there once it exists."""
    s.ch.declare("q", x_dead_letter_exchange="later")
    s.ch.publish("q", "lost")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.exchange("later", "fanout")
    s.ch.declare("dead")
    s.ch.bind("dead", "later")
    s.ch.publish("q", "found")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))
    s.note("then", s.ch.get("dead"))


def unroutable_is_lost(s: Scene):
    s.ch.exchange("dlx", "direct")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m", mandatory=True)
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.note("channel", s.ch.state())
    s.note("returned", [event for event in s.ch.events if "return" in event])
    s.note("ready", s.ch.count("q"))


def default_exchange(s: Scene):
    """The default exchange is named by nothing; without a key the dead letter comes back to the queue it was published to."""
    s.ch.declare("q", x_dead_letter_exchange="")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("back", s.ch.await_get("q"))


def name_amq_default_is_another_exchange(s: Scene):
    s.ch.declare("dead")
    s.attempt("declare", lambda: s.ch.declare("q", x_dead_letter_exchange="amq.default", x_dead_letter_routing_key="dead"))
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.note("dead", s.ch.count("dead"))


def alternate_exchange_of_the_dlx(s: Scene):
    """Dead letters that find no queue take the alternate exchange."""
    s.ch.exchange("ae", "fanout")
    s.ch.exchange("dlx", "direct", arguments={"alternate-exchange": "ae"})
    s.ch.declare("dead")
    s.ch.bind("dead", "ae")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def headers_exchange_as_dlx(s: Scene):
    """The DLX sees the headers of death already; plain `all` and `any` do not match on headers that begin with x-."""
    s.ch.exchange("dlx", "headers")
    for queue, arguments in (
        ("mine", {"x-match": "any", "mine": "h"}),
        ("plain", {"x-match": "any", "x-first-death-queue": "q"}),
        ("with-x", {"x-match": "any-with-x", "x-first-death-queue": "q"}),
        ("last", {"x-match": "all-with-x", "x-last-death-reason": "rejected"}),
    ):
        s.ch.declare(queue)
        s.ch.bind(queue, "dlx", arguments=arguments)
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m", headers={"mine": "h"})
    s.ch.reject(s.ch.get("q", no_ack=False))
    for queue in ("mine", "with-x", "last"):
        s.ch.await_count(queue, 1)
    s.ch.rest()
    s.note("ready", {queue: s.ch.count(queue)[0] for queue in ("mine", "plain", "with-x", "last")})


def dlx_by_policy(s: Scene):
    """By policy, and when it comes later; an argument wins."""
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.declare("q")
    s.ch.declare("own", x_dead_letter_exchange="", x_dead_letter_routing_key="other")
    s.ch.declare("other")
    s.ch.publish("q", "m")
    s.policy("p", {"dead-letter-exchange": "dlx", "dead-letter-routing-key": "k"}, "q|own")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("by the policy", s.ch.await_get("dead"))
    s.ch.publish("own", "m")
    s.ch.reject(s.ch.get("own", no_ack=False))
    s.note("by the argument", s.ch.await_get("other"))
    s.drop_policy("p")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.note("without the policy", s.ch.count("dead"))


def key_by_policy_and_exchange_by_argument(s: Scene):
    """The key of a policy counts with an argument's exchange."""
    s.policy("p", {"dead-letter-routing-key": "k"})
    s.ch.exchange("dlx", "fanout")
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def without_dlx(s: Scene):
    s.ch.declare("q")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("ready", s.ch.count("q"))


def several_targets(s: Scene):
    """One dead letter, several queues: each copy goes its own way."""
    s.ch.exchange("dlx", "fanout")
    for queue in ("one", "two"):
        s.ch.declare(queue)
        s.ch.bind(queue, "dlx")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("one", s.ch.await_get("one"))
    s.note("two", s.ch.await_get("two"))


def deletion_of_the_dlx_later(s: Scene):
    """The exchange goes and comes back: it is looked up by name each time."""
    with_dead(s.ch)
    s.ch.call("exchange.delete", exchange="dlx")
    s.ch.publish("q", "lost")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.ch.exchange("dlx", "direct")
    s.ch.bind("dead", "dlx", "q")
    s.ch.publish("q", "found")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def internal_exchange_as_dlx(s: Scene):
    """Clients may not publish to an internal exchange; dead letters may."""
    s.ch.exchange("dlx", "fanout", internal=True)
    s.ch.declare("dead")
    s.ch.bind("dead", "dlx")
    s.ch.declare("q", x_dead_letter_exchange="dlx")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def permissions_at_declare(s: Scene):
    """Who names a DLX needs to read the queue and to write the exchange."""
    s.ch.exchange("dlx", "fanout")
    for name, permissions in (
        ("all", {}),
        ("no-read", {"read": "nothing"}),
        ("no-write", {"write": "^q"}),
        ("no-configure", {"configure": "nothing"}),
        ("only-read", {"write": "^$"}),
    ):
        channel = s.channel(**s.user(name, **permissions))
        s.attempt(name, lambda ch=channel: ch.declare("q-" + name, x_dead_letter_exchange="dlx"), channel)
    channel = s.channel(**s.user("no-default", write="^q"))
    s.attempt("default exchange", lambda: channel.declare("q-default", x_dead_letter_exchange="", x_dead_letter_routing_key="k"), channel)
    channel = s.channel(**s.user("with-default", write="^(amq.default|q.*)$"))
    s.attempt("default exchange by its other name", lambda: channel.declare("q-with-default", x_dead_letter_exchange="", x_dead_letter_routing_key="k"), channel)
    channel = s.channel(**s.user("missing", write="^dlx$"))
    s.attempt("exchange that is not there", lambda: channel.declare("q-missing", x_dead_letter_exchange="nosuch"), channel)
    channel = s.channel(**s.user("again", read="nothing"))
    s.attempt("redeclare without read", lambda: channel.declare("q-all", x_dead_letter_exchange="dlx"), channel)


def permissions_do_not_matter_afterwards(s: Scene):
    """A dead letter is published by nobody: it passes where the one who rejected may not write."""
    with_dead(s.ch)
    s.ch.publish("q", "m", user_id="guest")
    channel = s.channel(**s.user("reader", write="nothing"))
    channel.reject(channel.get("q", no_ack=False))
    s.note("dead", s.ch.await_get("dead"))


def argument_types(s: Scene):
    s.attempt("key without exchange", lambda: s.ch.declare("q", x_dead_letter_routing_key="k"))
    s.attempt("exchange is a number", lambda: s.ch.declare("q", x_dead_letter_exchange=5))
    s.attempt("key is a number", lambda: s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key=5))
    s.attempt("strategy on a classic queue", lambda: s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_strategy="at-least-once"))
    s.attempt("exchange name is not a name", lambda: s.ch.declare("q", x_dead_letter_exchange="a" * 300))


def dead_letter_to_full_queue(s: Scene):
    """At most once: a target that rejects publishes loses the dead letter."""
    s.ch.declare("full", x_max_length=1, x_overflow="reject-publish")
    s.ch.publish("full", "occupies")
    s.ch.declare("q", x_dead_letter_exchange="", x_dead_letter_routing_key="full")
    s.ch.publish("q", "m")
    s.ch.reject(s.ch.get("q", no_ack=False))
    s.ch.rest()
    s.note("full", s.ch.drain("full"))
    s.note("q", s.ch.count("q"))
