//! `--name value` pairs and bare `--name` switches of the command line.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

const SWITCHES: [&str; 5] = ["persistent", "fill-only", "keep", "dead-letters", "unanswered"];

/// What stood on the command line, and what every command needs of it.
pub(crate) struct Arguments {
    values: BTreeMap<String, String>,
}

impl Arguments {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut values = BTreeMap::new();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").ok_or_else(|| format!("unexpected '{word}'"))?.to_owned();
            let value = if SWITCHES.contains(&name.as_str()) {
                "true".to_owned()
            } else {
                words.next().ok_or_else(|| format!("--{name} needs a value"))?
            };
            values.insert(name, value);
        }
        Ok(Arguments { values })
    }

    pub(crate) fn get<T: FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        match self.values.get(name) {
            Some(value) => value.parse().map_err(|_| format!("--{name}: '{value}' is not understood")),
            None => Ok(default),
        }
    }

    pub(crate) fn required<T: FromStr>(&self, name: &str) -> Result<T, String> {
        let value = self.values.get(name).ok_or_else(|| format!("--{name} is missing"))?;
        value.parse().map_err(|_| format!("--{name}: '{value}' is not understood"))
    }

    /// A time, in seconds.
    pub(crate) fn seconds(&self, name: &str, default: f64) -> Result<Duration, String> {
        let seconds = self.get(name, default)?;
        Duration::try_from_secs_f64(seconds).map_err(|_| format!("--{name}: {seconds} is no time"))
    }

    pub(crate) fn broker(&self) -> Result<Broker, String> {
        let host: String = self.get("host", "127.0.0.1".to_owned())?;
        let port: u16 = self.required("port")?;
        let address = format!("{host}:{port}").parse().map_err(|_| format!("'{host}' is not an IP address"))?;
        let pids: String = self.required("pid")?;
        let pids = pids.split(',').map(str::parse).collect::<Result<Vec<u32>, _>>();
        let queue_type: String = self.get("queue-type", String::new())?;
        Ok(Broker {
            address,
            pids: pids.map_err(|_| "--pid: numbers with commas between them".to_owned())?,
            queue: self.get("queue", "bench".to_owned())?,
            queue_type: (!queue_type.is_empty()).then_some(queue_type),
        })
    }
}

/// The broker under test and the queue to use there.
#[derive(Clone)]
pub(crate) struct Broker {
    pub(crate) address: SocketAddr,
    pub(crate) pids: Vec<u32>,
    pub(crate) queue: String,
    pub(crate) queue_type: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Arguments, String> {
        Arguments::parse(words.iter().map(|word| word.to_string()))
    }

    #[test]
    fn values_switches_and_defaults() {
        let arguments = parsed(&["--size", "16", "--persistent", "--port", "5672", "--pid", "1,2"]).unwrap();
        assert_eq!(arguments.get("size", 0), Ok(16));
        assert_eq!(arguments.get("persistent", false), Ok(true));
        assert_eq!(arguments.get("window", 7), Ok(7));
        assert_eq!(arguments.broker().unwrap().pids, [1, 2]);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert_eq!(parsed(&["--size"]).err(), Some("--size needs a value".to_owned()));
        assert_eq!(parsed(&["size"]).err(), Some("unexpected 'size'".to_owned()));
        let arguments = parsed(&["--size", "big"]).unwrap();
        assert_eq!(arguments.get("size", 0), Err("--size: 'big' is not understood".to_owned()));
        let arguments = parsed(&["--measure-s", "-1"]).unwrap();
        assert_eq!(arguments.seconds("measure-s", 5.0), Err("--measure-s: -1 is no time".to_owned()));
    }
}
