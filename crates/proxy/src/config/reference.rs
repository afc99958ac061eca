//! `docs/proxy-configuration.md`, made from the table of keys.

use super::schema::TABLE;

const INTRODUCTION: &str = "\
# Configuration of the proxy

<!-- Made from the table in crates/proxy/src/config. Do not edit: `make docs` -->

`warren proxy` needs nothing but the URL of a broker:

```sh
warren proxy amqp://rabbit-1.example.com amqp://rabbit-2.example.com
```

Everything else has a default. A file is of the format of [the broker's](configuration.md), with the keys below. A key that is not
known is an error, which names the closest one that is.

```ini
# a comment
proxy.listeners.tcp.default = 5673
proxy.upstreams.a.url       = amqps://rabbit-1.example.com
proxy.upstreams.a.weight    = 2
proxy.upstreams.b.url       = amqps://health:$(HEALTH_PASSWORD)@rabbit-2.example.com/health
proxy.upstreams.b.ssl_options.cacertfile = /etc/ssl/rabbit.pem
proxy.limits.connections_per_address = 500
```

Clients bring their own user, password and vhost. Those of an upstream's URL are ignored, except that health checks log in with them.

## Where values come from

A later value of a key replaces an earlier one. From the weakest to the strongest:

1. the defaults below;
2. the configuration file, `--config FILE`, ours or AMQProxy's; of several the last one counts. Without the option **no file is read**;
3. the environment variables of AMQProxy;
4. the command line: URLs, then options and `--set KEY=VALUE` in their order.

URLs of the command line, of `AMQP_URL` or of an AMQProxy file are the upstreams `1`, `2` and so on. They replace all upstreams from
further up this list; what else was set of these names stays, so that a file may say `proxy.upstreams.1.ssl_options.cacertfile`.

**`$(NAME)`** in a value of our files is replaced by the environment variable of that name.

**SIGHUP** reads the files again. Keys that say *reload* count at once; a change of any other is told in the log and counts after a
restart. Files of certificates are read again, too; those of listeners also whenever they change. A configuration with an error
changes nothing.

## AMQProxy's options

All options, variables and files of AMQProxy 3 are understood. Their times are seconds, or have a unit.

| option | variable | file | key |
|---|---|---|---|
| `-l`, `--listen` | `LISTEN_ADDRESS` | `[listen]` `address`, `bind` | `proxy.listeners.tcp.default`, \
and `proxy.http.listener` unless that is set |
| `-p`, `--port` | `LISTEN_PORT` | `[listen]` `port` | `proxy.listeners.tcp.default` |
| `-b`, `--http-port` | `HTTP_PORT` | `[listen]` or `[main]` `http_port` | `proxy.http.listener` |
| `-t`, `--idle-connection-timeout` | `IDLE_CONNECTION_TIMEOUT` | `[main]` `idle_connection_timeout` | \
`proxy.upstream_connections.idle_timeout` |
| `--max-upstream-channels` | `MAX_UPSTREAM_CHANNELS` | `[main]` `max_upstream_channels` | \
`proxy.upstream_connections.channel_max`; 0 is 65535 |
| `--term-timeout` | `TERM_TIMEOUT` | `[main]` `term_timeout` | `proxy.term_timeout`; less than 0 is `infinity` |
| `--term-client-close-timeout` | `TERM_CLIENT_CLOSE_TIMEOUT` | `[main]` `term_client_close_timeout` | `proxy.term_client_close_timeout` |
| `--log-level`; `-d`, `--debug` | `LOG_LEVEL` | `[main]` or `[listen]` `log_level` | `proxy.log.level` |
| URL | `AMQP_URL`, or else `UPSTREAM`: one, or several with commas between them | `[main]` `upstream` | `proxy.upstreams.1.url` |
| `-c`, `--config` | | | |

A file is AMQProxy's where it has a `[section]`. What differs: `config.ini` in the working directory is not read unless it is named, a
file that is named has to be there, and heartbeats are proposed to clients.

## What values look like

* **Sizes** are bytes, or a number with a unit: `k`, `kB`, `M`, `MB`, `G`, `GB` are powers of 1000; `Ki`, `KiB`, `Mi`, `MiB` and so on
  are powers of 1024.
* **Durations** are milliseconds, or a number with a unit: `ms`, `s`, `m`, `h`, `d`, `w`.
* **`$name`** in a key is any word; **`{a,b}`** one of these; **`**`** anything below.
";

/// The text of `docs/proxy-configuration.md`.
#[must_use]
pub fn render_reference() -> String {
    TABLE.render(INTRODUCTION)
}

#[cfg(test)]
mod tests {
    use super::super::{CommandLine, Config, Source};
    use super::*;

    #[test]
    fn the_checked_in_reference_is_current() {
        let checked_in = include_str!("../../../../docs/proxy-configuration.md");
        assert!(checked_in == render_reference(), "run `make docs`");
    }

    #[test]
    fn the_example_is_a_configuration() {
        let (_, after) = INTRODUCTION.split_once("```ini").unwrap();
        let (text, _) = after.split_once("```").unwrap();
        let source = Source { name: "example".to_owned(), text: text.to_owned() };
        let env = [("HEALTH_PASSWORD".to_owned(), "p".to_owned())];
        let (config, _) =
            Config::parse(&[source], &env, &CommandLine::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.upstreams.len(), 2);
    }
}
