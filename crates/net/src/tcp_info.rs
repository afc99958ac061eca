//! What the kernel knows of a connection's way to the other side and back (`TCP_INFO`). Linux only: elsewhere nothing is known.

use std::time::Duration;

use tokio::net::TcpStream;

/// The kernel's view of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    /// From a segment to its acknowledgement, smoothed over the last ones. A kernel that has nothing to send back may wait for up to 40 ms
    /// before it acknowledges, so this may be longer than the way takes.
    pub round_trip: Duration,
    /// Variation of the round-trip time, smoothed alike.
    pub round_trip_variation: Duration,
    /// The shortest of the last minutes. `None` from kernels before 4.6.
    pub round_trip_min: Option<Duration>,
    /// Segments that were sent again since the connection was made.
    pub retransmits: u32,
    /// Bytes that were written and not sent, because the other side does not read, or the way is slow.
    pub unsent_len: u32,
}

/// What the kernel knows of a connection; `None` where it does not say, or knows nothing yet.
#[cfg(target_os = "linux")]
pub(crate) fn tcp_info(tcp: &TcpStream) -> Option<TcpInfo> {
    parse(&linux::read(tcp)?)
}

/// What the kernel knows of a connection; `None` where it does not say, or knows nothing yet.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tcp_info(_tcp: &TcpStream) -> Option<TcpInfo> {
    None
}

/// Where numbers are in Linux's `struct tcp_info`, which only grows at its end: all are 32 bits and in microseconds.
const ROUND_TRIP_AT: usize = 68;
const ROUND_TRIP_VARIATION_AT: usize = 72;
const RETRANSMITS_AT: usize = 100;
const UNSENT_LEN_AT: usize = 144;
const ROUND_TRIP_MIN_AT: usize = 148;

#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has such bytes"))]
fn parse(bytes: &[u8]) -> Option<TcpInfo> {
    let number = |at: usize| bytes.get(at..at + 4).and_then(|bytes| Some(u32::from_ne_bytes(bytes.try_into().ok()?)));
    let time = |us: u32| Duration::from_micros(us.into());
    // Zero: not measured. All ones: the minimum of nothing.
    let measured = |us: &u32| !matches!(*us, 0 | u32::MAX);
    Some(TcpInfo {
        round_trip: number(ROUND_TRIP_AT).filter(measured).map(time)?,
        round_trip_variation: number(ROUND_TRIP_VARIATION_AT).map(time)?,
        round_trip_min: number(ROUND_TRIP_MIN_AT).filter(measured).map(time),
        retransmits: number(RETRANSMITS_AT)?,
        unsent_len: number(UNSENT_LEN_AT).unwrap_or(0),
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::AsRawFd;

    use tokio::net::TcpStream;

    /// More than any kernel fills today: it writes no more than it is given room for.
    const LEN_MAX: usize = 512;

    /// The bytes of the kernel's `struct tcp_info`, as many as it has.
    #[expect(unsafe_code, reason = "an option of sockets that no crate of ours has a safe name for")]
    pub(super) fn read(tcp: &TcpStream) -> Option<Vec<u8>> {
        let mut bytes = vec![0_u8; LEN_MAX];
        let mut len = libc::socklen_t::try_from(bytes.len()).ok()?;
        // SAFETY: the socket is open as long as `tcp` is borrowed. The kernel writes at most `len` bytes, which `bytes` has, and `len`.
        let status = unsafe {
            libc::getsockopt(
                tcp.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        bytes.truncate(usize::try_from(len).ok()?);
        (status == 0).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize, numbers: &[(usize, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        numbers.iter().for_each(|(at, number)| bytes[*at..at + 4].copy_from_slice(&number.to_ne_bytes()));
        bytes.truncate(len);
        bytes
    }

    #[test]
    fn numbers_are_where_the_kernel_puts_them() {
        // As in linux/tcp.h, counted by hand.
        let all = [(68, 1_500), (72, 250), (100, 3), (144, 77), (148, 900)];
        let ms = |us| Duration::from_micros(us);
        let whole = TcpInfo {
            round_trip: ms(1_500),
            round_trip_variation: ms(250),
            round_trip_min: Some(ms(900)),
            retransmits: 3,
            unsent_len: 77,
        };
        assert_eq!(parse(&bytes(232, &all)), Some(whole));
        let old = TcpInfo { round_trip_min: None, unsent_len: 0, ..whole };
        assert_eq!(parse(&bytes(104, &all)), Some(old), "a kernel that does not know the minimum");
        assert_eq!(parse(&bytes(232, &[all[0], all[1], all[2], (148, u32::MAX)])), Some(old));
        assert_eq!(parse(&bytes(232, &[(68, 0)])), None, "nothing is measured yet");
        assert_eq!(parse(&bytes(60, &all)), None);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn round_trip_is_no_longer_than_connecting_took() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let began = std::time::Instant::now();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let took = began.elapsed();
        let info = tcp_info(&tcp).unwrap();
        assert!(info.round_trip > Duration::ZERO, "{info:?}");
        // The kernel's round trip is a part of what connecting took; its clock has ticks of its own.
        assert!(info.round_trip <= took + Duration::from_millis(5), "{info:?}, {took:?}");
        assert!(info.round_trip_min.is_none_or(|min| min <= info.round_trip), "{info:?}");
    }
}
