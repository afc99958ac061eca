//! `docs/proxy-configuration.md`, made from the table of keys.

use super::schema::TABLE;

const INTRODUCTION: &str = "\
# Configuration of the proxy

<!-- Generated from the table in crates/proxy/src/config. Do not edit: `make docs` -->

`warren proxy` needs only the URL of a broker:

```sh
warren proxy amqp://rabbit-1.example.com amqp://rabbit-2.example.com
```

Everything else has a default. A configuration file has the same format as [the broker's](configuration.md), with the keys below. An
unknown key is an error, and the message names the most similar known key.

```ini
# a comment
proxy.listeners.tcp.default = 5673
proxy.upstreams.a.url       = amqps://rabbit-1.example.com
proxy.upstreams.a.weight    = 2
proxy.upstreams.b.url       = amqps://health:$(HEALTH_PASSWORD)@rabbit-2.example.com/health
proxy.upstreams.b.ssl_options.cacertfile = /etc/ssl/rabbit.pem
proxy.limits.connections_per_address = 500
```

Clients bring their own user, password and vhost. Those in an upstream's URL are used only for health checks.

## Where values come from

A later value of a key replaces an earlier one. From the lowest precedence to the highest:

1. the defaults below;
2. the configuration file, `--config FILE`, in Warren's or AMQProxy's format. The last of several is used. Without this option, **no file
   is read**;
3. the environment variables of AMQProxy;
4. the command line: URLs, then options and `--set KEY=VALUE` in their order.

URLs from the command line, from `AMQP_URL` or from an AMQProxy file are the upstreams `1`, `2` and so on. They replace all upstreams
from sources of lower precedence. Other settings of upstreams with these names remain, so a file may set
`proxy.upstreams.1.ssl_options.cacertfile`.

**`$(NAME)`** in a value of a file in Warren's format is replaced by the environment variable of this name.

On **SIGHUP**, the proxy reads the files again. New values of keys with *reload* apply at once. A changed value of any other key is
logged and applies after a restart. Certificate files are read again, too; those of listeners also whenever they change. If the
configuration has an error, nothing changes.

## AMQProxy's options

All options, variables and files of AMQProxy 3 are supported. Their times are seconds, or have a unit.

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
| URL | `AMQP_URL`, or else `UPSTREAM`: one URL, or several separated by commas | `[main]` `upstream` | `proxy.upstreams.1.url` |
| `-c`, `--config` | | | |

A file with a `[section]` is read as an AMQProxy file. There are three differences: `config.ini` in the working directory is read only
if it is named, a named file must exist, and heartbeats are proposed to clients.

## What values look like

* **Sizes** are bytes, or a number with a unit: `k`, `kB`, `M`, `MB`, `G`, `GB` are powers of 1000; `Ki`, `KiB`, `Mi`, `MiB` and so on
  are powers of 1024.
* **Durations** are milliseconds, or a number with a unit: `ms`, `s`, `m`, `h`, `d`, `w`.
* In keys, **`$name`** stands for any word, **`{a,b}`** for one of these words, and **`**`** for everything below.
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
