//! Class `tx`: one struct for each method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use crate::method_codec::EncodeMethod;
use crate::wire::{self, Malformed, Reader};

/// `tx.select`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Select;

impl Select {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for Select {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 90);
        wire::put_u16(out, 10);
    }
}

/// `tx.select-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectOk;

impl SelectOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for SelectOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 90);
        wire::put_u16(out, 11);
    }
}

/// `tx.commit`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commit;

impl Commit {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for Commit {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 90);
        wire::put_u16(out, 20);
    }
}

/// `tx.commit-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitOk;

impl CommitOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for CommitOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 90);
        wire::put_u16(out, 21);
    }
}

/// `tx.rollback`, sent by clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rollback;

impl Rollback {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for Rollback {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 90);
        wire::put_u16(out, 30);
    }
}

/// `tx.rollback-ok`, sent by servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RollbackOk;

impl RollbackOk {
    #[inline]
    pub(crate) fn decode(_reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

impl EncodeMethod for RollbackOk {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        wire::put_u16(out, 90);
        wire::put_u16(out, 31);
    }
}
