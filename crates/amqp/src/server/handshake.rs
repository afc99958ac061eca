//! What a server and a client agree on before a connection is open (AMQP 0-9-1, 2.2.4 and 4.2.3).

use super::Violation;
use crate::method::connection;
use crate::reply::ReplyCode;
use crate::table::{Table, TableBuf, Value};

/// What a server can do that is RabbitMQ's peer, as RabbitMQ lists it. Client libraries branch on these.
const SERVER_CAPABILITIES: [&str; 9] = [
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "consumer_priorities",
    "authentication_failure_close",
    "per_consumer_qos",
    "direct_reply_to",
];

/// What Warren can do besides: a proxy may name the client that it does something for, on a channel by channel.on-behalf-of, for all of a
/// connection by a client property of this name.
pub const ON_BEHALF_OF: &str = "on_behalf_of";

/// What a server can do (`server-properties.capabilities`).
#[must_use]
pub fn server_capabilities() -> TableBuf {
    SERVER_CAPABILITIES.iter().fold(TableBuf::new(), |table, name| table.with(name, Value::Bool(true)))
}

/// What a client says that it can do (`client-properties.capabilities`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// It understands connection.close after a refused login.
    pub authentication_failure_close: bool,
    /// It understands basic.cancel from the server.
    pub consumer_cancel_notify: bool,
    /// It understands connection.blocked and connection.unblocked.
    pub connection_blocked: bool,
}

impl ClientCapabilities {
    /// Reads them from `client-properties`.
    #[must_use]
    pub fn of(client_properties: &Table<'_>) -> Self {
        let capabilities = client_properties.get("capabilities").and_then(|value| value.as_table());
        let has = |name| capabilities.and_then(|table| table.get(name)).and_then(|value| value.as_bool()) == Some(true);
        ClientCapabilities {
            authentication_failure_close: has("authentication_failure_close"),
            consumer_cancel_notify: has("consumer_cancel_notify"),
            connection_blocked: has("connection.blocked"),
        }
    }
}

/// What holds after a client's answer to connection.tune: it may lower what was offered, not raise it, and no frame bound below
/// `frame_len_floor`. 0 means no limit, which is more than any; where a client answers 0 and may, the offer holds.
pub fn agree(
    offered: connection::Tune,
    answer: connection::TuneOk,
    frame_len_floor: u32,
) -> Result<connection::TuneOk, Violation> {
    check_lowered("channel_max", answer.channel_max.into(), offered.channel_max.into(), 0)?;
    check_lowered("frame_max", answer.frame_max, offered.frame_max, frame_len_floor)?;
    Ok(connection::TuneOk {
        channel_max: if answer.channel_max == 0 { offered.channel_max } else { answer.channel_max },
        frame_max: if answer.frame_max == 0 { offered.frame_max } else { answer.frame_max },
        heartbeat: answer.heartbeat,
    })
}

fn check_lowered(name: &str, answer: u32, offered: u32, floor: u32) -> Result<(), Violation> {
    let refused = |text| Err(Violation::new(ReplyCode::NotAllowed, text));
    if answer != 0 && answer < floor {
        return refused(format!("negotiated {name} = {answer} is lower than the minimum allowed value ({floor})"));
    }
    if offered != 0 && (answer == 0 || answer > offered) {
        let hint = if (name, answer) == ("channel_max", 0) { " (no limit)" } else { "" };
        return refused(format!(
            "negotiated {name} = {answer}{hint} is higher than the maximum allowed value ({offered})"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(offered: (u16, u32), answer: (u16, u32)) -> Result<(u16, u32), String> {
        let offered = connection::Tune { channel_max: offered.0, frame_max: offered.1, heartbeat: 60 };
        let answer = connection::TuneOk { channel_max: answer.0, frame_max: answer.1, heartbeat: 10 };
        match agree(offered, answer, 8192) {
            Ok(agreed) => {
                assert_eq!(agreed.heartbeat, 10);
                Ok((agreed.channel_max, agreed.frame_max))
            }
            Err(violation) => {
                assert_eq!(violation.code, ReplyCode::NotAllowed);
                Err(violation.text.into_owned())
            }
        }
    }

    #[test]
    fn offers_can_be_lowered_and_not_raised() {
        assert_eq!(agreed((2047, 131_072), (2047, 131_072)), Ok((2047, 131_072)));
        assert_eq!(agreed((2047, 131_072), (7, 8192)), Ok((7, 8192)));
        let text = "negotiated channel_max = 2048 is higher than the maximum allowed value (2047)";
        assert_eq!(agreed((2047, 131_072), (2048, 131_072)), Err(text.to_owned()));
        let text = "negotiated frame_max = 131073 is higher than the maximum allowed value (131072)";
        assert_eq!(agreed((2047, 131_072), (2047, 131_073)), Err(text.to_owned()));
        let text = "negotiated frame_max = 8191 is lower than the minimum allowed value (8192)";
        assert_eq!(agreed((2047, 131_072), (2047, 8191)), Err(text.to_owned()));
    }

    #[test]
    fn no_limit_is_more_than_any() {
        assert_eq!(agreed((0, 0), (0, 0)), Ok((0, 0)));
        assert_eq!(agreed((0, 0), (7, 9000)), Ok((7, 9000)));
        let text = "negotiated channel_max = 0 (no limit) is higher than the maximum allowed value (2047)";
        assert_eq!(agreed((2047, 131_072), (0, 131_072)), Err(text.to_owned()));
        let text = "negotiated frame_max = 0 is higher than the maximum allowed value (131072)";
        assert_eq!(agreed((2047, 131_072), (2047, 0)), Err(text.to_owned()));
    }

    #[test]
    fn a_capability_has_to_be_true() {
        let capabilities = TableBuf::new()
            .with("connection.blocked", Value::Bool(true))
            .with("consumer_cancel_notify", Value::Bool(false))
            .with("authentication_failure_close", Value::LongStr(b"true"));
        let properties = TableBuf::new().with("capabilities", Value::Table(capabilities.as_table()));
        let expected = ClientCapabilities { connection_blocked: true, ..ClientCapabilities::default() };
        assert_eq!(ClientCapabilities::of(&properties.as_table()), expected);
        assert_eq!(ClientCapabilities::of(&TableBuf::new().as_table()), ClientCapabilities::default());
    }
}
