//! Pages of documentation that are made from tables of keys, `docs/configuration.md` first.

use std::fmt::Write as _;

use super::row::{Row, State, Table};
use super::schema;

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated from the schema in crates/model/src/config. Do not edit: `make docs` -->

Warren reads RabbitMQ's `rabbitmq.conf`, with the same format and the same keys. Warren's own keys begin with `warren.`. Every key has
a default, so a file needs only the values that differ. An unknown key is an error, and the message names the most similar known key.

```ini
# a comment
listeners.tcp.default = 5672
listeners.tcp.local   = 127.0.0.1:5673
default_pass          = 'everything # between quotes stands for itself'
loopback_users.john\\.doe = true
cluster_name          = site-$(SITE)       # the environment variable SITE
```

## Where values come from

A later value of a key replaces an earlier one. From the lowest precedence to the highest:

1. the defaults below;
2. environment variables for ports, the log and TLS: `RABBITMQ_NODE_PORT`, `RABBITMQ_NODE_IP_ADDRESS`, `RABBITMQ_DIST_PORT`,
   `RABBITMQ_LOG`, `RABBITMQ_VM_MEMORY_HIGH_WATERMARK`, and `RABBITMQ_SSL_CERTFILE` and the like, as in old images;
3. the configuration file: `--config FILE`, or else the environment variable `RABBITMQ_CONFIG_FILE`. If the file does not exist, its
   name with `.conf` is tried. Without either, **no file is read**, not even `/etc/rabbitmq/rabbitmq.conf`, unless the program is
   started as `rabbitmq-server`, see [installing.md](installing.md#by-rabbitmqs-names);
4. the files `*.conf` in the directory `conf.d` beside this file, or in the place that `RABBITMQ_CONFIG_FILES` names, in the order of
   their names;
5. `advanced.config` beside this file, or `RABBITMQ_ADVANCED_CONFIG_FILE`. Its Erlang terms are translated to the corresponding keys. A
   classic `rabbitmq.config` may be used as the configuration file. Terms without a corresponding key are ignored, with a warning for
   each;
6. settings of applications in `RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS`, such as `-rabbit disk_free_limit 2147483648`;
7. the environment variables `RABBITMQ_DEFAULT_USER`, `RABBITMQ_DEFAULT_PASS`, `RABBITMQ_DEFAULT_VHOST` and `RABBITMQ_NODENAME`. The
   first three may name a file instead, as `RABBITMQ_DEFAULT_PASS_FILE`. If the configuration forms a cluster and has no secret,
   `RABBITMQ_ERLANG_COOKIE` sets `warren.cluster.secret`;
8. `--set KEY=VALUE` on the command line.

`RABBITMQ_CONF_ENV_FILE` names a file of such variables, with or without `RABBITMQ_` before their names. Variables of the environment
itself take precedence. The file is read, not run: a line that needs a shell is ignored with a warning. For a variable without effect,
a warning says what to do instead.

**`$(NAME)`** in a value of a file is replaced by the environment variable of this name before the value is checked. A variable that is
not set is an error. Values of environment variables and of `--set` are used unchanged.

## What values look like

* **Sizes** are bytes, or a number with a unit: `k`, `kB`, `M`, `MB`, `G`, `GB`, `T`, `TB`, `P`, `PB` are powers of 1000;
  `Ki`, `KiB`, `Mi`, `MiB` and so on are powers of 1024.
* **Durations** are milliseconds, or a number with a unit: `ms`, `s`, `m`, `h`, `d`, `w`.
* In keys, **`$name`** stands for any word, **`{a,b}`** for one of these words, and **`**`** for everything below.

RabbitMQ's keys that have no effect in Warren are accepted, so that an existing file works. A warning on stderr, at any log level, names
each of them. The broker does not start with a key that it does not support and would need to be as safe as the file demands.
";

/// The text of `docs/configuration.md`.
#[must_use]
pub fn render_reference() -> String {
    schema::TABLE.render(INTRODUCTION)
}

impl Table {
    /// A page of documentation: an introduction, and a table for each section. Where any key is reloadable, each says whether it is.
    #[must_use]
    pub fn render(&self, introduction: &str) -> String {
        let mut out = introduction.to_owned();
        let has_reloadable = self.keys().any(|key| key.is_reloadable);
        for section in self.0 {
            put(&mut out, format_args!("\n## {}\n", section.title));
            let (renamed, current): (Vec<&Row>, Vec<&Row>) =
                section.keys.iter().partition(|key| matches!(key.state, State::RenamedTo(_)));
            let (honoured, others): (Vec<&Row>, Vec<&Row>) =
                current.into_iter().partition(|key| matches!(key.state, State::Effective | State::AliasOf(_)));
            if !honoured.is_empty() {
                put(&mut out, if has_reloadable { HONOURED_RELOADABLE } else { HONOURED });
                honoured.into_iter().for_each(|key| put_honoured(&mut out, key, has_reloadable));
            }
            if !others.is_empty() {
                put(&mut out, "\n| not honoured | value | |\n|---|---|---|\n");
                others.into_iter().for_each(|key| put_other(&mut out, key));
            }
            if !renamed.is_empty() {
                put(&mut out, "\n| old name | key |\n|---|---|\n");
                renamed.into_iter().for_each(|key| put_renamed(&mut out, key));
            }
        }
        out
    }
}

const HONOURED: &str = "\n| key | value | default | |\n|---|---|---|---|\n";
const HONOURED_RELOADABLE: &str = "\n| key | value | default | reload | |\n|---|---|---|---|---|\n";

fn put_honoured(out: &mut String, key: &Row, has_reloadable: bool) {
    let text = match key.state {
        State::AliasOf(target) => format!("An alias of `{target}`."),
        _ => key.text.to_owned(),
    };
    let reload = match (has_reloadable, key.is_reloadable) {
        (false, _) => "",
        (true, false) => "no | ",
        (true, true) => "yes | ",
    };
    put(out, format_args!("| `{}` | {} | {} | {reload}{text} |\n", key.pattern, key.kind, default(key)));
}

fn put_other(out: &mut String, key: &Row) {
    let state = match key.state {
        State::Refused => "Stops the start",
        State::NotBuilt => "Not supported",
        _ => "No effect",
    };
    let harmless: Vec<_> = key.harmless.iter().map(|value| format!("`{value}`")).collect();
    let except = if harmless.is_empty() { String::new() } else { format!(", except {}", harmless.join(", ")) };
    put(out, format_args!("| `{}` | {} | {state}{except}: {}. |\n", key.pattern, key.kind, key.text));
}

fn put_renamed(out: &mut String, key: &Row) {
    if let State::RenamedTo(target) = key.state {
        put(out, format_args!("| `{}` | `{target}` |\n", key.pattern));
    }
}

fn default(key: &Row) -> String {
    if let Some(default) = key.default {
        return format!("`{default}`");
    }
    let family: Vec<_> = key.family_default.iter().map(|(key, value)| format!("`{key} = {value}`")).collect();
    family.join(", ")
}

fn put(out: &mut String, text: impl std::fmt::Display) {
    write!(out, "{text}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_reference_is_current() {
        let checked_in = include_str!("../../../../docs/configuration.md");
        assert!(checked_in == render_reference(), "run `make docs`");
    }

    #[test]
    fn a_row_has_no_bars_of_its_own() {
        for key in schema::TABLE.keys() {
            let texts = [key.pattern, key.text, &key.kind.to_string(), key.default.unwrap_or_default()];
            assert!(texts.iter().all(|text| !text.contains('|')), "{}", key.pattern);
        }
    }
}
