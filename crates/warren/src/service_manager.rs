//! What the service manager that has started this process is notified of: systemd's protocol, datagrams of `NAME=value` to the socket that
//! `NOTIFY_SOCKET` names. Without that variable nothing is sent.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Tells that clients are listened to.
pub(crate) fn ready() {
    notify("READY=1\nSTATUS=listening");
}

/// Tells that the end has begun.
pub(crate) fn stopping() {
    notify("STOPPING=1\nSTATUS=stopping");
}

/// A manager that does not listen is no reason to serve no client.
fn notify(text: &str) {
    let Some(place) = std::env::var("NOTIFY_SOCKET").ok().filter(|place| !place.is_empty()) else { return };
    if let Err(error) = send(&place, text) {
        tracing::warn!(%place, %error, "notifying the service manager failed");
    }
}

/// A path, or behind `@` a name that is in no directory.
fn send(place: &str, text: &str) -> io::Result<()> {
    let address = match place.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(place)?,
    };
    UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let len = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..len]).into_owned()
    }

    #[test]
    fn a_manager_listens_at_a_path_or_at_a_name() {
        let dir = std::env::temp_dir().join(format!("warren-notify-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let path = dir.join("notify");
        let at_path = UnixDatagram::bind(&path).unwrap();
        send(path.to_str().unwrap(), "READY=1").unwrap();
        assert_eq!(received(&at_path), "READY=1");
        std::fs::remove_dir_all(&dir).unwrap();
        let name = format!("warren-notify-{}", std::process::id());
        let at_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        send(&format!("@{name}"), "STOPPING=1").unwrap();
        assert_eq!(received(&at_name), "STOPPING=1");
        assert!(send(&format!("@{name}-else"), "READY=1").is_err());
    }
}
