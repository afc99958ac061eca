//! Raw TCP over the loopback: one thread writes, one reads and throws away, and nothing is understood. What a load
//! generator reaches is a share of that.

use crate::arguments::Arguments;
use crate::json::Object;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const READ_LEN: usize = 256 * 1024;

pub(crate) struct Loopback {
    /// About what load generators write at once.
    write_len: usize,
    warm_up: Duration,
    measure: Duration,
}

impl Loopback {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Loopback, String> {
        let write_len = arguments.get("write-len", 64 * 1024)?;
        if write_len == 0 {
            return Err("--write-len: nothing would be sent".to_owned());
        }
        Ok(Loopback {
            write_len,
            warm_up: arguments.seconds("warm-up-s", 1.0)?,
            measure: arguments.seconds("measure-s", 3.0)?,
        })
    }

    pub(crate) fn run(&self) -> io::Result<Object> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let mut writer = TcpStream::connect(listener.local_addr()?)?;
        writer.set_nodelay(true)?;
        let (mut reader, _) = listener.accept()?;
        let block = vec![0; self.write_len];
        // It ends with an error: the reader goes first.
        let blast = thread::spawn(move || while writer.write_all(&block).is_ok() {});
        read_for(&mut reader, self.warm_up)?;
        let start = Instant::now();
        let bytes = read_for(&mut reader, self.measure)?;
        let wall_s = start.elapsed().as_secs_f64();
        drop(reader);
        blast.join().map_err(|_| io::Error::other("the writing thread panicked"))?;
        Ok(Object::new().number("bytes_per_s", bytes as f64 / wall_s).number("wall_s", wall_s))
    }
}

/// Reads for so long; how many bytes there were.
fn read_for(reader: &mut TcpStream, time: Duration) -> io::Result<u64> {
    let mut input = vec![0; READ_LEN];
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed() < time {
        let read_len = reader.read(&mut input)?;
        if read_len == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the writing side closed the socket"));
        }
        bytes += read_len as u64;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_over_the_time_that_was_measured() {
        let times = (Duration::from_millis(1), Duration::from_millis(20));
        let loopback = Loopback { write_len: 4096, warm_up: times.0, measure: times.1 };
        let report = loopback.run().unwrap().to_string();
        assert!(report.starts_with("{\"bytes_per_s\": ") && !report.contains(": 0.000"), "{report}");
    }
}
