//! What recent-history exchanges keep: the last messages that came by, for queues and exchanges that are bound later.
//!
//! A history holds copies of its own, since a content keeps its whole chunk. It is bounded twice: by the count that the
//! exchange was declared with, which can be any number, and by [`HISTORY_LEN_MAX`].
//!
//! Those of durable exchanges outlive the process: every few seconds, and at a stop, what has changed is put among the
//! definitions, message by message. A crash loses the messages of the last seconds from a history, and from nothing else.
//! Writing each message when it comes would make every publish two.
//!
//! ```text
//!  key    | 254 u8 | "history" | vhost_len u8 | vhost | exchange_len u8 | exchange | seq u64, big-endian |
//!  value  | version u8 | content, as in `message` |
//! ```
//!
//! Deliberately absent: which queues and exchanges get a history, and how; see [`crate::vhost_access`].

use std::collections::VecDeque;
use std::ops::Range;

use model::definition;
use model::name::{ExchangeName, VhostName};
use parking_lot::Mutex;

use crate::limits::HISTORY_LEN_MAX;

/// A message as a history keeps it: its content.
use message::StoredContent;

/// A record's key, and its value; none if the record is to be deleted.
pub(crate) type Change = (Vec<u8>, Option<Vec<u8>>);

/// The last messages of one exchange.
#[derive(Debug)]
pub(crate) struct History {
    count_max: usize,
    /// The beginning of its records' keys; none if it does not outlive the process.
    prefix: Option<Box<[u8]>>,
    state: Mutex<State>,
}

/// Invariants: `len` is the sum of the messages' lengths; `stored` ends at or before `end`.
#[derive(Debug, Default)]
struct State {
    messages: VecDeque<StoredContent>,
    len: usize,
    /// The seq that the next message gets. The first one kept has `end` less their number.
    end: u64,
    /// The seqs of those that the journal has.
    stored: Range<u64>,
    /// Its exchange is deleted, and no record of it may follow.
    is_gone: bool,
}

impl History {
    /// The history of an exchange, empty.
    pub(crate) fn new(exchange: &definition::Exchange) -> Self {
        Self {
            count_max: usize::try_from(exchange.arguments.history_count()).unwrap_or(usize::MAX),
            prefix: exchange.is_durable.then(|| prefix_of(&exchange.vhost, &exchange.name)),
            state: Mutex::default(),
        }
    }

    /// Keeps a message, and lets go of the oldest ones that are too many.
    pub(crate) fn add(&self, message: StoredContent) {
        self.state.lock().add(message, self.count_max);
    }

    /// All messages, the oldest first.
    pub(crate) fn messages(&self) -> Vec<StoredContent> {
        self.state.lock().messages.iter().cloned().collect()
    }

    /// Puts a message that recovery found where it was. They come in their order.
    pub(crate) fn restore(&self, seq: u64, message: StoredContent) {
        let mut state = self.state.lock();
        if state.stored.is_empty() {
            state.stored.start = seq;
        }
        state.end = seq;
        state.add(message, self.count_max);
        state.stored.end = state.end;
    }

    /// Records what has changed since the last call. `append` is called under the lock: nothing may come between the records and what they
    /// say.
    pub(crate) fn record(&self, append: impl FnOnce(Vec<Change>)) {
        let Some(prefix) = &self.prefix else { return };
        let mut state = self.state.lock();
        let kept = state.seqs();
        if state.is_gone || state.stored == kept {
            return;
        }
        let deleted = state.stored.start..state.stored.end.min(kept.start);
        let put = state.stored.end.max(kept.start)..kept.end;
        let value_of = |seq: u64| [&[VERSION], &*state.messages[(seq - kept.start) as usize]].concat();
        let deletions = deleted.map(|seq| (key_of(prefix, seq), None));
        append(deletions.chain(put.map(|seq| (key_of(prefix, seq), Some(value_of(seq))))).collect());
        state.stored = kept;
    }

    /// Its exchange is deleted, and so is it. Returns the keys of its records, which the caller has to delete.
    pub(crate) fn forget(&self) -> Vec<Vec<u8>> {
        let mut state = self.state.lock();
        state.is_gone = true;
        let Some(prefix) = &self.prefix else { return Vec::new() };
        state.stored.clone().map(|seq| key_of(prefix, seq)).collect()
    }
}

impl State {
    fn add(&mut self, message: StoredContent, count_max: usize) {
        self.len += message.len();
        self.messages.push_back(message);
        self.end += 1;
        while self.messages.len() > count_max || self.len > HISTORY_LEN_MAX {
            let Some(oldest) = self.messages.pop_front() else { break };
            self.len -= oldest.len();
        }
    }

    fn seqs(&self) -> Range<u64> {
        self.end - self.messages.len() as u64..self.end
    }
}

/// A record of a history, as recovery finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredMessage<'a> {
    pub(crate) vhost: &'a str,
    pub(crate) exchange: &'a [u8],
    pub(crate) seq: u64,
    pub(crate) content: &'a [u8],
}

/// Why a record of a history cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnreadableHistory {
    #[error("its key is malformed")]
    Key,
    #[error("its version is unknown")]
    Version,
}

/// Whether a key among the definitions is one of a history's.
pub(crate) fn is_key(key: &[u8]) -> bool {
    key.starts_with(KEY_START)
}

/// Reads a record whose key is one of a history's.
pub(crate) fn read<'a>(key: &'a [u8], value: &'a [u8]) -> Result<StoredMessage<'a>, UnreadableHistory> {
    let names = key.strip_prefix(KEY_START).ok_or(UnreadableHistory::Key)?;
    let (vhost, rest) = name(names).ok_or(UnreadableHistory::Key)?;
    let (exchange, seq) = name(rest).ok_or(UnreadableHistory::Key)?;
    let seq = seq.try_into().map(u64::from_be_bytes).map_err(|_| UnreadableHistory::Key)?;
    let vhost = std::str::from_utf8(vhost).map_err(|_| UnreadableHistory::Key)?;
    match value.split_first() {
        Some((&VERSION, content)) => Ok(StoredMessage { vhost, exchange, seq, content }),
        _ => Err(UnreadableHistory::Version),
    }
}

/// After all definitions, so that exchanges are there when their histories come.
const KEY_START: &[u8] = b"\xfehistory";
const VERSION: u8 = 1;

fn prefix_of(vhost: &VhostName, exchange: &ExchangeName) -> Box<[u8]> {
    let mut prefix = KEY_START.to_vec();
    for name in [vhost.as_str(), exchange.as_str()] {
        prefix.push(u8::try_from(name.len()).expect("a name has at most 255 bytes"));
        prefix.extend_from_slice(name.as_bytes());
    }
    prefix.into()
}

fn key_of(prefix: &[u8], seq: u64) -> Vec<u8> {
    [prefix, &seq.to_be_bytes()].concat()
}

fn name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*len))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use std::collections::BTreeMap;

    use amqp::table::{TableBuf, Value};
    use model::arguments::{ExchangeArguments, ExchangeType};
    use proptest::prelude::*;

    use super::*;

    fn history(count_max: i64, is_durable: bool) -> History {
        let arguments = TableBuf::new().with("x-recent-history-length", Value::I64(count_max));
        History::new(&definition::Exchange {
            vhost: VhostName::parse(b"/").unwrap(),
            name: ExchangeName::parse(b"x").unwrap(),
            exchange_type: ExchangeType::RecentHistory,
            is_durable,
            is_auto_delete: false,
            is_internal: false,
            arguments: ExchangeArguments::from_stored(arguments),
        })
    }

    fn message(number: u8) -> StoredContent {
        Arc::from([number])
    }

    /// What a store would have after such records.
    fn apply(changes: Vec<Change>, stored: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
        for (key, value) in changes {
            let before = match value {
                Some(value) => stored.insert(key, value).is_none(),
                None => stored.remove(&key).is_some(),
            };
            assert!(before, "what is put was not there, and what is deleted was");
        }
    }

    #[test]
    fn the_oldest_go_first() {
        let history = history(3, false);
        (0..5).for_each(|number| history.add(message(number)));
        assert_eq!(history.messages(), [2, 3, 4].map(message));
    }

    #[test]
    fn bytes_are_bounded_whatever_the_count() {
        let history = history(i64::MAX, false);
        let third: StoredContent = vec![0; HISTORY_LEN_MAX / 3].into();
        (0..7).for_each(|_| history.add(third.clone()));
        assert_eq!(history.messages().len(), 3);
        history.add(vec![0; HISTORY_LEN_MAX + 1].into());
        assert!(history.messages().is_empty(), "nor is one kept that is too large alone");
        history.add(message(1));
        assert_eq!(history.messages(), [message(1)]);
    }

    #[test]
    fn what_does_not_last_is_not_recorded() {
        let history = history(3, false);
        history.add(message(1));
        history.record(|_| panic!("there is nothing to record"));
        assert!(history.forget().is_empty());
    }

    #[test]
    fn what_is_gone_is_not_recorded() {
        let history = history(3, true);
        history.add(message(1));
        assert!(history.forget().is_empty());
        history.record(|_| panic!("its records are deleted already"));
    }

    #[test]
    fn keys_that_are_damaged_are_refused() {
        let prefix = prefix_of(&VhostName::parse(b"v").unwrap(), &ExchangeName::parse(b"x").unwrap());
        let key = key_of(&prefix, 7);
        let stored = StoredMessage { vhost: "v", exchange: b"x", seq: 7, content: b"c" };
        assert_eq!(read(&key, b"\x01c"), Ok(stored));
        assert_eq!(read(&key, b"\x02c"), Err(UnreadableHistory::Version));
        assert_eq!(read(&key, b""), Err(UnreadableHistory::Version));
        for len in KEY_START.len()..key.len() {
            assert_eq!(read(&key[..len], b"\x01c"), Err(UnreadableHistory::Key), "{len}");
        }
    }

    proptest! {
        #[test]
        fn what_was_recorded_is_what_comes_back(count_max in 1..6_i64, steps in prop::collection::vec((0..8_u8, any::<bool>()), 1..20)) {
            let mut stored = BTreeMap::new();
            let mut history = history(count_max, true);
            for (add_count, restarts) in steps {
                (0..add_count).for_each(|number| history.add(message(number)));
                history.record(|changes| apply(changes, &mut stored));
                history.record(|_| panic!("nothing has changed"));
                prop_assert_eq!(stored.len(), history.messages().len());
                if restarts {
                    let restored = self::history(count_max, true);
                    for (key, value) in &stored {
                        let found = read(key, value).unwrap();
                        restored.restore(found.seq, found.content.into());
                    }
                    prop_assert_eq!(restored.messages(), history.messages());
                    history = restored;
                }
            }
            apply(history.forget().into_iter().map(|key| (key, None)).collect(), &mut stored);
            prop_assert!(stored.is_empty());
        }
    }
}
