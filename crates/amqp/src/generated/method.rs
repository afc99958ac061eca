//! Any method.
//!
//! Written by `examples/generate`. Change `protocol/amqp0-9-1.txt`, not this.

use super::{access, basic, channel, confirm, connection, exchange, queue, tx};
use crate::method_codec::{DecodeError, EncodeMethod};
use crate::wire::{Malformed, Reader};

/// Any method of AMQP 0-9-1, with RabbitMQ's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method<'a> {
    /// `connection.start`
    ConnectionStart(connection::Start<'a>),
    /// `connection.start-ok`
    ConnectionStartOk(connection::StartOk<'a>),
    /// `connection.secure`
    ConnectionSecure(connection::Secure<'a>),
    /// `connection.secure-ok`
    ConnectionSecureOk(connection::SecureOk<'a>),
    /// `connection.tune`
    ConnectionTune(connection::Tune),
    /// `connection.tune-ok`
    ConnectionTuneOk(connection::TuneOk),
    /// `connection.open`
    ConnectionOpen(connection::Open<'a>),
    /// `connection.open-ok`
    ConnectionOpenOk(connection::OpenOk<'a>),
    /// `connection.close`
    ConnectionClose(connection::Close<'a>),
    /// `connection.close-ok`
    ConnectionCloseOk(connection::CloseOk),
    /// `connection.blocked`
    ConnectionBlocked(connection::Blocked<'a>),
    /// `connection.unblocked`
    ConnectionUnblocked(connection::Unblocked),
    /// `connection.update-secret`
    ConnectionUpdateSecret(connection::UpdateSecret<'a>),
    /// `connection.update-secret-ok`
    ConnectionUpdateSecretOk(connection::UpdateSecretOk),
    /// `channel.open`
    ChannelOpen(channel::Open<'a>),
    /// `channel.open-ok`
    ChannelOpenOk(channel::OpenOk<'a>),
    /// `channel.flow`
    ChannelFlow(channel::Flow),
    /// `channel.flow-ok`
    ChannelFlowOk(channel::FlowOk),
    /// `channel.on-behalf-of`
    ChannelOnBehalfOf(channel::OnBehalfOf<'a>),
    /// `channel.close`
    ChannelClose(channel::Close<'a>),
    /// `channel.close-ok`
    ChannelCloseOk(channel::CloseOk),
    /// `access.request`
    AccessRequest(access::Request<'a>),
    /// `access.request-ok`
    AccessRequestOk(access::RequestOk),
    /// `exchange.declare`
    ExchangeDeclare(exchange::Declare<'a>),
    /// `exchange.declare-ok`
    ExchangeDeclareOk(exchange::DeclareOk),
    /// `exchange.delete`
    ExchangeDelete(exchange::Delete<'a>),
    /// `exchange.delete-ok`
    ExchangeDeleteOk(exchange::DeleteOk),
    /// `exchange.bind`
    ExchangeBind(exchange::Bind<'a>),
    /// `exchange.bind-ok`
    ExchangeBindOk(exchange::BindOk),
    /// `exchange.unbind`
    ExchangeUnbind(exchange::Unbind<'a>),
    /// `exchange.unbind-ok`
    ExchangeUnbindOk(exchange::UnbindOk),
    /// `queue.declare`
    QueueDeclare(queue::Declare<'a>),
    /// `queue.declare-ok`
    QueueDeclareOk(queue::DeclareOk<'a>),
    /// `queue.bind`
    QueueBind(queue::Bind<'a>),
    /// `queue.bind-ok`
    QueueBindOk(queue::BindOk),
    /// `queue.purge`
    QueuePurge(queue::Purge<'a>),
    /// `queue.purge-ok`
    QueuePurgeOk(queue::PurgeOk),
    /// `queue.delete`
    QueueDelete(queue::Delete<'a>),
    /// `queue.delete-ok`
    QueueDeleteOk(queue::DeleteOk),
    /// `queue.unbind`
    QueueUnbind(queue::Unbind<'a>),
    /// `queue.unbind-ok`
    QueueUnbindOk(queue::UnbindOk),
    /// `basic.qos`
    BasicQos(basic::Qos),
    /// `basic.qos-ok`
    BasicQosOk(basic::QosOk),
    /// `basic.consume`
    BasicConsume(basic::Consume<'a>),
    /// `basic.consume-ok`
    BasicConsumeOk(basic::ConsumeOk<'a>),
    /// `basic.cancel`
    BasicCancel(basic::Cancel<'a>),
    /// `basic.cancel-ok`
    BasicCancelOk(basic::CancelOk<'a>),
    /// `basic.publish`
    BasicPublish(basic::Publish<'a>),
    /// `basic.return`
    BasicReturn(basic::Return<'a>),
    /// `basic.deliver`
    BasicDeliver(basic::Deliver<'a>),
    /// `basic.get`
    BasicGet(basic::Get<'a>),
    /// `basic.get-ok`
    BasicGetOk(basic::GetOk<'a>),
    /// `basic.get-empty`
    BasicGetEmpty(basic::GetEmpty<'a>),
    /// `basic.ack`
    BasicAck(basic::Ack),
    /// `basic.reject`
    BasicReject(basic::Reject),
    /// `basic.recover-async`
    BasicRecoverAsync(basic::RecoverAsync),
    /// `basic.recover`
    BasicRecover(basic::Recover),
    /// `basic.recover-ok`
    BasicRecoverOk(basic::RecoverOk),
    /// `basic.nack`
    BasicNack(basic::Nack),
    /// `confirm.select`
    ConfirmSelect(confirm::Select),
    /// `confirm.select-ok`
    ConfirmSelectOk(confirm::SelectOk),
    /// `tx.select`
    TxSelect(tx::Select),
    /// `tx.select-ok`
    TxSelectOk(tx::SelectOk),
    /// `tx.commit`
    TxCommit(tx::Commit),
    /// `tx.commit-ok`
    TxCommitOk(tx::CommitOk),
    /// `tx.rollback`
    TxRollback(tx::Rollback),
    /// `tx.rollback-ok`
    TxRollbackOk(tx::RollbackOk),
}

impl<'a> Method<'a> {
    /// Decodes the payload of a method frame.
    #[inline]
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let Some((&[class0, class1, method0, method1], arguments)) = payload.split_first_chunk::<4>() else {
            return Err(DecodeError::Malformed { class_id: 0, method_id: 0, reason: Malformed::Truncated });
        };
        let class_id = u16::from_be_bytes([class0, class1]);
        let method_id = u16::from_be_bytes([method0, method1]);
        Self::decode_arguments(class_id, method_id, arguments)
            .map_err(|reason| DecodeError::Malformed { class_id, method_id, reason })?
            .ok_or(DecodeError::Unknown { class_id, method_id })
    }

    /// `Ok(None)`: there is no such method.
    #[inline]
    fn decode_arguments(class_id: u16, method_id: u16, arguments: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let mut reader = Reader::new(arguments);
        let method = match (class_id, method_id) {
            (10, 10) => Self::ConnectionStart(connection::Start::decode(&mut reader)?),
            (10, 11) => Self::ConnectionStartOk(connection::StartOk::decode(&mut reader)?),
            (10, 20) => Self::ConnectionSecure(connection::Secure::decode(&mut reader)?),
            (10, 21) => Self::ConnectionSecureOk(connection::SecureOk::decode(&mut reader)?),
            (10, 30) => Self::ConnectionTune(connection::Tune::decode(&mut reader)?),
            (10, 31) => Self::ConnectionTuneOk(connection::TuneOk::decode(&mut reader)?),
            (10, 40) => Self::ConnectionOpen(connection::Open::decode(&mut reader)?),
            (10, 41) => Self::ConnectionOpenOk(connection::OpenOk::decode(&mut reader)?),
            (10, 50) => Self::ConnectionClose(connection::Close::decode(&mut reader)?),
            (10, 51) => Self::ConnectionCloseOk(connection::CloseOk::decode(&mut reader)?),
            (10, 60) => Self::ConnectionBlocked(connection::Blocked::decode(&mut reader)?),
            (10, 61) => Self::ConnectionUnblocked(connection::Unblocked::decode(&mut reader)?),
            (10, 70) => Self::ConnectionUpdateSecret(connection::UpdateSecret::decode(&mut reader)?),
            (10, 71) => Self::ConnectionUpdateSecretOk(connection::UpdateSecretOk::decode(&mut reader)?),
            (20, 10) => Self::ChannelOpen(channel::Open::decode(&mut reader)?),
            (20, 11) => Self::ChannelOpenOk(channel::OpenOk::decode(&mut reader)?),
            (20, 20) => Self::ChannelFlow(channel::Flow::decode(&mut reader)?),
            (20, 21) => Self::ChannelFlowOk(channel::FlowOk::decode(&mut reader)?),
            (20, 30) => Self::ChannelOnBehalfOf(channel::OnBehalfOf::decode(&mut reader)?),
            (20, 40) => Self::ChannelClose(channel::Close::decode(&mut reader)?),
            (20, 41) => Self::ChannelCloseOk(channel::CloseOk::decode(&mut reader)?),
            (30, 10) => Self::AccessRequest(access::Request::decode(&mut reader)?),
            (30, 11) => Self::AccessRequestOk(access::RequestOk::decode(&mut reader)?),
            (40, 10) => Self::ExchangeDeclare(exchange::Declare::decode(&mut reader)?),
            (40, 11) => Self::ExchangeDeclareOk(exchange::DeclareOk::decode(&mut reader)?),
            (40, 20) => Self::ExchangeDelete(exchange::Delete::decode(&mut reader)?),
            (40, 21) => Self::ExchangeDeleteOk(exchange::DeleteOk::decode(&mut reader)?),
            (40, 30) => Self::ExchangeBind(exchange::Bind::decode(&mut reader)?),
            (40, 31) => Self::ExchangeBindOk(exchange::BindOk::decode(&mut reader)?),
            (40, 40) => Self::ExchangeUnbind(exchange::Unbind::decode(&mut reader)?),
            (40, 51) => Self::ExchangeUnbindOk(exchange::UnbindOk::decode(&mut reader)?),
            (50, 10) => Self::QueueDeclare(queue::Declare::decode(&mut reader)?),
            (50, 11) => Self::QueueDeclareOk(queue::DeclareOk::decode(&mut reader)?),
            (50, 20) => Self::QueueBind(queue::Bind::decode(&mut reader)?),
            (50, 21) => Self::QueueBindOk(queue::BindOk::decode(&mut reader)?),
            (50, 30) => Self::QueuePurge(queue::Purge::decode(&mut reader)?),
            (50, 31) => Self::QueuePurgeOk(queue::PurgeOk::decode(&mut reader)?),
            (50, 40) => Self::QueueDelete(queue::Delete::decode(&mut reader)?),
            (50, 41) => Self::QueueDeleteOk(queue::DeleteOk::decode(&mut reader)?),
            (50, 50) => Self::QueueUnbind(queue::Unbind::decode(&mut reader)?),
            (50, 51) => Self::QueueUnbindOk(queue::UnbindOk::decode(&mut reader)?),
            (60, 10) => Self::BasicQos(basic::Qos::decode(&mut reader)?),
            (60, 11) => Self::BasicQosOk(basic::QosOk::decode(&mut reader)?),
            (60, 20) => Self::BasicConsume(basic::Consume::decode(&mut reader)?),
            (60, 21) => Self::BasicConsumeOk(basic::ConsumeOk::decode(&mut reader)?),
            (60, 30) => Self::BasicCancel(basic::Cancel::decode(&mut reader)?),
            (60, 31) => Self::BasicCancelOk(basic::CancelOk::decode(&mut reader)?),
            (60, 40) => Self::BasicPublish(basic::Publish::decode(&mut reader)?),
            (60, 50) => Self::BasicReturn(basic::Return::decode(&mut reader)?),
            (60, 60) => Self::BasicDeliver(basic::Deliver::decode(&mut reader)?),
            (60, 70) => Self::BasicGet(basic::Get::decode(&mut reader)?),
            (60, 71) => Self::BasicGetOk(basic::GetOk::decode(&mut reader)?),
            (60, 72) => Self::BasicGetEmpty(basic::GetEmpty::decode(&mut reader)?),
            (60, 80) => Self::BasicAck(basic::Ack::decode(&mut reader)?),
            (60, 90) => Self::BasicReject(basic::Reject::decode(&mut reader)?),
            (60, 100) => Self::BasicRecoverAsync(basic::RecoverAsync::decode(&mut reader)?),
            (60, 110) => Self::BasicRecover(basic::Recover::decode(&mut reader)?),
            (60, 111) => Self::BasicRecoverOk(basic::RecoverOk::decode(&mut reader)?),
            (60, 120) => Self::BasicNack(basic::Nack::decode(&mut reader)?),
            (85, 10) => Self::ConfirmSelect(confirm::Select::decode(&mut reader)?),
            (85, 11) => Self::ConfirmSelectOk(confirm::SelectOk::decode(&mut reader)?),
            (90, 10) => Self::TxSelect(tx::Select::decode(&mut reader)?),
            (90, 11) => Self::TxSelectOk(tx::SelectOk::decode(&mut reader)?),
            (90, 20) => Self::TxCommit(tx::Commit::decode(&mut reader)?),
            (90, 21) => Self::TxCommitOk(tx::CommitOk::decode(&mut reader)?),
            (90, 30) => Self::TxRollback(tx::Rollback::decode(&mut reader)?),
            (90, 31) => Self::TxRollbackOk(tx::RollbackOk::decode(&mut reader)?),
            _ => return Ok(None),
        };
        reader.close()?;
        Ok(Some(method))
    }

    /// Appends the payload of a method frame: class id, method id and arguments.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::ConnectionStart(method) => method.encode_method(out),
            Self::ConnectionStartOk(method) => method.encode_method(out),
            Self::ConnectionSecure(method) => method.encode_method(out),
            Self::ConnectionSecureOk(method) => method.encode_method(out),
            Self::ConnectionTune(method) => method.encode_method(out),
            Self::ConnectionTuneOk(method) => method.encode_method(out),
            Self::ConnectionOpen(method) => method.encode_method(out),
            Self::ConnectionOpenOk(method) => method.encode_method(out),
            Self::ConnectionClose(method) => method.encode_method(out),
            Self::ConnectionCloseOk(method) => method.encode_method(out),
            Self::ConnectionBlocked(method) => method.encode_method(out),
            Self::ConnectionUnblocked(method) => method.encode_method(out),
            Self::ConnectionUpdateSecret(method) => method.encode_method(out),
            Self::ConnectionUpdateSecretOk(method) => method.encode_method(out),
            Self::ChannelOpen(method) => method.encode_method(out),
            Self::ChannelOpenOk(method) => method.encode_method(out),
            Self::ChannelFlow(method) => method.encode_method(out),
            Self::ChannelFlowOk(method) => method.encode_method(out),
            Self::ChannelOnBehalfOf(method) => method.encode_method(out),
            Self::ChannelClose(method) => method.encode_method(out),
            Self::ChannelCloseOk(method) => method.encode_method(out),
            Self::AccessRequest(method) => method.encode_method(out),
            Self::AccessRequestOk(method) => method.encode_method(out),
            Self::ExchangeDeclare(method) => method.encode_method(out),
            Self::ExchangeDeclareOk(method) => method.encode_method(out),
            Self::ExchangeDelete(method) => method.encode_method(out),
            Self::ExchangeDeleteOk(method) => method.encode_method(out),
            Self::ExchangeBind(method) => method.encode_method(out),
            Self::ExchangeBindOk(method) => method.encode_method(out),
            Self::ExchangeUnbind(method) => method.encode_method(out),
            Self::ExchangeUnbindOk(method) => method.encode_method(out),
            Self::QueueDeclare(method) => method.encode_method(out),
            Self::QueueDeclareOk(method) => method.encode_method(out),
            Self::QueueBind(method) => method.encode_method(out),
            Self::QueueBindOk(method) => method.encode_method(out),
            Self::QueuePurge(method) => method.encode_method(out),
            Self::QueuePurgeOk(method) => method.encode_method(out),
            Self::QueueDelete(method) => method.encode_method(out),
            Self::QueueDeleteOk(method) => method.encode_method(out),
            Self::QueueUnbind(method) => method.encode_method(out),
            Self::QueueUnbindOk(method) => method.encode_method(out),
            Self::BasicQos(method) => method.encode_method(out),
            Self::BasicQosOk(method) => method.encode_method(out),
            Self::BasicConsume(method) => method.encode_method(out),
            Self::BasicConsumeOk(method) => method.encode_method(out),
            Self::BasicCancel(method) => method.encode_method(out),
            Self::BasicCancelOk(method) => method.encode_method(out),
            Self::BasicPublish(method) => method.encode_method(out),
            Self::BasicReturn(method) => method.encode_method(out),
            Self::BasicDeliver(method) => method.encode_method(out),
            Self::BasicGet(method) => method.encode_method(out),
            Self::BasicGetOk(method) => method.encode_method(out),
            Self::BasicGetEmpty(method) => method.encode_method(out),
            Self::BasicAck(method) => method.encode_method(out),
            Self::BasicReject(method) => method.encode_method(out),
            Self::BasicRecoverAsync(method) => method.encode_method(out),
            Self::BasicRecover(method) => method.encode_method(out),
            Self::BasicRecoverOk(method) => method.encode_method(out),
            Self::BasicNack(method) => method.encode_method(out),
            Self::ConfirmSelect(method) => method.encode_method(out),
            Self::ConfirmSelectOk(method) => method.encode_method(out),
            Self::TxSelect(method) => method.encode_method(out),
            Self::TxSelectOk(method) => method.encode_method(out),
            Self::TxCommit(method) => method.encode_method(out),
            Self::TxCommitOk(method) => method.encode_method(out),
            Self::TxRollback(method) => method.encode_method(out),
            Self::TxRollbackOk(method) => method.encode_method(out),
        }
    }

    /// The class's number on the wire.
    #[must_use]
    pub fn class_id(&self) -> u16 {
        self.ids().0
    }

    /// The method's number on the wire, within its class.
    #[must_use]
    pub fn method_id(&self) -> u16 {
        self.ids().1
    }

    fn ids(&self) -> (u16, u16) {
        match self {
            Self::ConnectionStart(_) => (10, 10),
            Self::ConnectionStartOk(_) => (10, 11),
            Self::ConnectionSecure(_) => (10, 20),
            Self::ConnectionSecureOk(_) => (10, 21),
            Self::ConnectionTune(_) => (10, 30),
            Self::ConnectionTuneOk(_) => (10, 31),
            Self::ConnectionOpen(_) => (10, 40),
            Self::ConnectionOpenOk(_) => (10, 41),
            Self::ConnectionClose(_) => (10, 50),
            Self::ConnectionCloseOk(_) => (10, 51),
            Self::ConnectionBlocked(_) => (10, 60),
            Self::ConnectionUnblocked(_) => (10, 61),
            Self::ConnectionUpdateSecret(_) => (10, 70),
            Self::ConnectionUpdateSecretOk(_) => (10, 71),
            Self::ChannelOpen(_) => (20, 10),
            Self::ChannelOpenOk(_) => (20, 11),
            Self::ChannelFlow(_) => (20, 20),
            Self::ChannelFlowOk(_) => (20, 21),
            Self::ChannelOnBehalfOf(_) => (20, 30),
            Self::ChannelClose(_) => (20, 40),
            Self::ChannelCloseOk(_) => (20, 41),
            Self::AccessRequest(_) => (30, 10),
            Self::AccessRequestOk(_) => (30, 11),
            Self::ExchangeDeclare(_) => (40, 10),
            Self::ExchangeDeclareOk(_) => (40, 11),
            Self::ExchangeDelete(_) => (40, 20),
            Self::ExchangeDeleteOk(_) => (40, 21),
            Self::ExchangeBind(_) => (40, 30),
            Self::ExchangeBindOk(_) => (40, 31),
            Self::ExchangeUnbind(_) => (40, 40),
            Self::ExchangeUnbindOk(_) => (40, 51),
            Self::QueueDeclare(_) => (50, 10),
            Self::QueueDeclareOk(_) => (50, 11),
            Self::QueueBind(_) => (50, 20),
            Self::QueueBindOk(_) => (50, 21),
            Self::QueuePurge(_) => (50, 30),
            Self::QueuePurgeOk(_) => (50, 31),
            Self::QueueDelete(_) => (50, 40),
            Self::QueueDeleteOk(_) => (50, 41),
            Self::QueueUnbind(_) => (50, 50),
            Self::QueueUnbindOk(_) => (50, 51),
            Self::BasicQos(_) => (60, 10),
            Self::BasicQosOk(_) => (60, 11),
            Self::BasicConsume(_) => (60, 20),
            Self::BasicConsumeOk(_) => (60, 21),
            Self::BasicCancel(_) => (60, 30),
            Self::BasicCancelOk(_) => (60, 31),
            Self::BasicPublish(_) => (60, 40),
            Self::BasicReturn(_) => (60, 50),
            Self::BasicDeliver(_) => (60, 60),
            Self::BasicGet(_) => (60, 70),
            Self::BasicGetOk(_) => (60, 71),
            Self::BasicGetEmpty(_) => (60, 72),
            Self::BasicAck(_) => (60, 80),
            Self::BasicReject(_) => (60, 90),
            Self::BasicRecoverAsync(_) => (60, 100),
            Self::BasicRecover(_) => (60, 110),
            Self::BasicRecoverOk(_) => (60, 111),
            Self::BasicNack(_) => (60, 120),
            Self::ConfirmSelect(_) => (85, 10),
            Self::ConfirmSelectOk(_) => (85, 11),
            Self::TxSelect(_) => (90, 10),
            Self::TxSelectOk(_) => (90, 11),
            Self::TxCommit(_) => (90, 20),
            Self::TxCommitOk(_) => (90, 21),
            Self::TxRollback(_) => (90, 30),
            Self::TxRollbackOk(_) => (90, 31),
        }
    }

    /// Class and method by name, such as `basic.publish`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ConnectionStart(_) => "connection.start",
            Self::ConnectionStartOk(_) => "connection.start-ok",
            Self::ConnectionSecure(_) => "connection.secure",
            Self::ConnectionSecureOk(_) => "connection.secure-ok",
            Self::ConnectionTune(_) => "connection.tune",
            Self::ConnectionTuneOk(_) => "connection.tune-ok",
            Self::ConnectionOpen(_) => "connection.open",
            Self::ConnectionOpenOk(_) => "connection.open-ok",
            Self::ConnectionClose(_) => "connection.close",
            Self::ConnectionCloseOk(_) => "connection.close-ok",
            Self::ConnectionBlocked(_) => "connection.blocked",
            Self::ConnectionUnblocked(_) => "connection.unblocked",
            Self::ConnectionUpdateSecret(_) => "connection.update-secret",
            Self::ConnectionUpdateSecretOk(_) => "connection.update-secret-ok",
            Self::ChannelOpen(_) => "channel.open",
            Self::ChannelOpenOk(_) => "channel.open-ok",
            Self::ChannelFlow(_) => "channel.flow",
            Self::ChannelFlowOk(_) => "channel.flow-ok",
            Self::ChannelOnBehalfOf(_) => "channel.on-behalf-of",
            Self::ChannelClose(_) => "channel.close",
            Self::ChannelCloseOk(_) => "channel.close-ok",
            Self::AccessRequest(_) => "access.request",
            Self::AccessRequestOk(_) => "access.request-ok",
            Self::ExchangeDeclare(_) => "exchange.declare",
            Self::ExchangeDeclareOk(_) => "exchange.declare-ok",
            Self::ExchangeDelete(_) => "exchange.delete",
            Self::ExchangeDeleteOk(_) => "exchange.delete-ok",
            Self::ExchangeBind(_) => "exchange.bind",
            Self::ExchangeBindOk(_) => "exchange.bind-ok",
            Self::ExchangeUnbind(_) => "exchange.unbind",
            Self::ExchangeUnbindOk(_) => "exchange.unbind-ok",
            Self::QueueDeclare(_) => "queue.declare",
            Self::QueueDeclareOk(_) => "queue.declare-ok",
            Self::QueueBind(_) => "queue.bind",
            Self::QueueBindOk(_) => "queue.bind-ok",
            Self::QueuePurge(_) => "queue.purge",
            Self::QueuePurgeOk(_) => "queue.purge-ok",
            Self::QueueDelete(_) => "queue.delete",
            Self::QueueDeleteOk(_) => "queue.delete-ok",
            Self::QueueUnbind(_) => "queue.unbind",
            Self::QueueUnbindOk(_) => "queue.unbind-ok",
            Self::BasicQos(_) => "basic.qos",
            Self::BasicQosOk(_) => "basic.qos-ok",
            Self::BasicConsume(_) => "basic.consume",
            Self::BasicConsumeOk(_) => "basic.consume-ok",
            Self::BasicCancel(_) => "basic.cancel",
            Self::BasicCancelOk(_) => "basic.cancel-ok",
            Self::BasicPublish(_) => "basic.publish",
            Self::BasicReturn(_) => "basic.return",
            Self::BasicDeliver(_) => "basic.deliver",
            Self::BasicGet(_) => "basic.get",
            Self::BasicGetOk(_) => "basic.get-ok",
            Self::BasicGetEmpty(_) => "basic.get-empty",
            Self::BasicAck(_) => "basic.ack",
            Self::BasicReject(_) => "basic.reject",
            Self::BasicRecoverAsync(_) => "basic.recover-async",
            Self::BasicRecover(_) => "basic.recover",
            Self::BasicRecoverOk(_) => "basic.recover-ok",
            Self::BasicNack(_) => "basic.nack",
            Self::ConfirmSelect(_) => "confirm.select",
            Self::ConfirmSelectOk(_) => "confirm.select-ok",
            Self::TxSelect(_) => "tx.select",
            Self::TxSelectOk(_) => "tx.select-ok",
            Self::TxCommit(_) => "tx.commit",
            Self::TxCommitOk(_) => "tx.commit-ok",
            Self::TxRollback(_) => "tx.rollback",
            Self::TxRollbackOk(_) => "tx.rollback-ok",
        }
    }

    /// Whether a content header and a body follow.
    #[inline]
    #[must_use]
    pub fn has_content(&self) -> bool {
        matches!(self, Self::BasicPublish(_) | Self::BasicReturn(_) | Self::BasicDeliver(_) | Self::BasicGetOk(_))
    }
}

impl EncodeMethod for Method<'_> {
    #[inline]
    fn encode_method(&self, out: &mut Vec<u8>) {
        self.encode(out);
    }
}

impl<'a> From<connection::Start<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::Start<'a>) -> Self {
        Method::ConnectionStart(method)
    }
}

impl<'a> From<connection::StartOk<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::StartOk<'a>) -> Self {
        Method::ConnectionStartOk(method)
    }
}

impl<'a> From<connection::Secure<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::Secure<'a>) -> Self {
        Method::ConnectionSecure(method)
    }
}

impl<'a> From<connection::SecureOk<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::SecureOk<'a>) -> Self {
        Method::ConnectionSecureOk(method)
    }
}

impl From<connection::Tune> for Method<'_> {
    #[inline]
    fn from(method: connection::Tune) -> Self {
        Method::ConnectionTune(method)
    }
}

impl From<connection::TuneOk> for Method<'_> {
    #[inline]
    fn from(method: connection::TuneOk) -> Self {
        Method::ConnectionTuneOk(method)
    }
}

impl<'a> From<connection::Open<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::Open<'a>) -> Self {
        Method::ConnectionOpen(method)
    }
}

impl<'a> From<connection::OpenOk<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::OpenOk<'a>) -> Self {
        Method::ConnectionOpenOk(method)
    }
}

impl<'a> From<connection::Close<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::Close<'a>) -> Self {
        Method::ConnectionClose(method)
    }
}

impl From<connection::CloseOk> for Method<'_> {
    #[inline]
    fn from(method: connection::CloseOk) -> Self {
        Method::ConnectionCloseOk(method)
    }
}

impl<'a> From<connection::Blocked<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::Blocked<'a>) -> Self {
        Method::ConnectionBlocked(method)
    }
}

impl From<connection::Unblocked> for Method<'_> {
    #[inline]
    fn from(method: connection::Unblocked) -> Self {
        Method::ConnectionUnblocked(method)
    }
}

impl<'a> From<connection::UpdateSecret<'a>> for Method<'a> {
    #[inline]
    fn from(method: connection::UpdateSecret<'a>) -> Self {
        Method::ConnectionUpdateSecret(method)
    }
}

impl From<connection::UpdateSecretOk> for Method<'_> {
    #[inline]
    fn from(method: connection::UpdateSecretOk) -> Self {
        Method::ConnectionUpdateSecretOk(method)
    }
}

impl<'a> From<channel::Open<'a>> for Method<'a> {
    #[inline]
    fn from(method: channel::Open<'a>) -> Self {
        Method::ChannelOpen(method)
    }
}

impl<'a> From<channel::OpenOk<'a>> for Method<'a> {
    #[inline]
    fn from(method: channel::OpenOk<'a>) -> Self {
        Method::ChannelOpenOk(method)
    }
}

impl From<channel::Flow> for Method<'_> {
    #[inline]
    fn from(method: channel::Flow) -> Self {
        Method::ChannelFlow(method)
    }
}

impl From<channel::FlowOk> for Method<'_> {
    #[inline]
    fn from(method: channel::FlowOk) -> Self {
        Method::ChannelFlowOk(method)
    }
}

impl<'a> From<channel::OnBehalfOf<'a>> for Method<'a> {
    #[inline]
    fn from(method: channel::OnBehalfOf<'a>) -> Self {
        Method::ChannelOnBehalfOf(method)
    }
}

impl<'a> From<channel::Close<'a>> for Method<'a> {
    #[inline]
    fn from(method: channel::Close<'a>) -> Self {
        Method::ChannelClose(method)
    }
}

impl From<channel::CloseOk> for Method<'_> {
    #[inline]
    fn from(method: channel::CloseOk) -> Self {
        Method::ChannelCloseOk(method)
    }
}

impl<'a> From<access::Request<'a>> for Method<'a> {
    #[inline]
    fn from(method: access::Request<'a>) -> Self {
        Method::AccessRequest(method)
    }
}

impl From<access::RequestOk> for Method<'_> {
    #[inline]
    fn from(method: access::RequestOk) -> Self {
        Method::AccessRequestOk(method)
    }
}

impl<'a> From<exchange::Declare<'a>> for Method<'a> {
    #[inline]
    fn from(method: exchange::Declare<'a>) -> Self {
        Method::ExchangeDeclare(method)
    }
}

impl From<exchange::DeclareOk> for Method<'_> {
    #[inline]
    fn from(method: exchange::DeclareOk) -> Self {
        Method::ExchangeDeclareOk(method)
    }
}

impl<'a> From<exchange::Delete<'a>> for Method<'a> {
    #[inline]
    fn from(method: exchange::Delete<'a>) -> Self {
        Method::ExchangeDelete(method)
    }
}

impl From<exchange::DeleteOk> for Method<'_> {
    #[inline]
    fn from(method: exchange::DeleteOk) -> Self {
        Method::ExchangeDeleteOk(method)
    }
}

impl<'a> From<exchange::Bind<'a>> for Method<'a> {
    #[inline]
    fn from(method: exchange::Bind<'a>) -> Self {
        Method::ExchangeBind(method)
    }
}

impl From<exchange::BindOk> for Method<'_> {
    #[inline]
    fn from(method: exchange::BindOk) -> Self {
        Method::ExchangeBindOk(method)
    }
}

impl<'a> From<exchange::Unbind<'a>> for Method<'a> {
    #[inline]
    fn from(method: exchange::Unbind<'a>) -> Self {
        Method::ExchangeUnbind(method)
    }
}

impl From<exchange::UnbindOk> for Method<'_> {
    #[inline]
    fn from(method: exchange::UnbindOk) -> Self {
        Method::ExchangeUnbindOk(method)
    }
}

impl<'a> From<queue::Declare<'a>> for Method<'a> {
    #[inline]
    fn from(method: queue::Declare<'a>) -> Self {
        Method::QueueDeclare(method)
    }
}

impl<'a> From<queue::DeclareOk<'a>> for Method<'a> {
    #[inline]
    fn from(method: queue::DeclareOk<'a>) -> Self {
        Method::QueueDeclareOk(method)
    }
}

impl<'a> From<queue::Bind<'a>> for Method<'a> {
    #[inline]
    fn from(method: queue::Bind<'a>) -> Self {
        Method::QueueBind(method)
    }
}

impl From<queue::BindOk> for Method<'_> {
    #[inline]
    fn from(method: queue::BindOk) -> Self {
        Method::QueueBindOk(method)
    }
}

impl<'a> From<queue::Purge<'a>> for Method<'a> {
    #[inline]
    fn from(method: queue::Purge<'a>) -> Self {
        Method::QueuePurge(method)
    }
}

impl From<queue::PurgeOk> for Method<'_> {
    #[inline]
    fn from(method: queue::PurgeOk) -> Self {
        Method::QueuePurgeOk(method)
    }
}

impl<'a> From<queue::Delete<'a>> for Method<'a> {
    #[inline]
    fn from(method: queue::Delete<'a>) -> Self {
        Method::QueueDelete(method)
    }
}

impl From<queue::DeleteOk> for Method<'_> {
    #[inline]
    fn from(method: queue::DeleteOk) -> Self {
        Method::QueueDeleteOk(method)
    }
}

impl<'a> From<queue::Unbind<'a>> for Method<'a> {
    #[inline]
    fn from(method: queue::Unbind<'a>) -> Self {
        Method::QueueUnbind(method)
    }
}

impl From<queue::UnbindOk> for Method<'_> {
    #[inline]
    fn from(method: queue::UnbindOk) -> Self {
        Method::QueueUnbindOk(method)
    }
}

impl From<basic::Qos> for Method<'_> {
    #[inline]
    fn from(method: basic::Qos) -> Self {
        Method::BasicQos(method)
    }
}

impl From<basic::QosOk> for Method<'_> {
    #[inline]
    fn from(method: basic::QosOk) -> Self {
        Method::BasicQosOk(method)
    }
}

impl<'a> From<basic::Consume<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::Consume<'a>) -> Self {
        Method::BasicConsume(method)
    }
}

impl<'a> From<basic::ConsumeOk<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::ConsumeOk<'a>) -> Self {
        Method::BasicConsumeOk(method)
    }
}

impl<'a> From<basic::Cancel<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::Cancel<'a>) -> Self {
        Method::BasicCancel(method)
    }
}

impl<'a> From<basic::CancelOk<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::CancelOk<'a>) -> Self {
        Method::BasicCancelOk(method)
    }
}

impl<'a> From<basic::Publish<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::Publish<'a>) -> Self {
        Method::BasicPublish(method)
    }
}

impl<'a> From<basic::Return<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::Return<'a>) -> Self {
        Method::BasicReturn(method)
    }
}

impl<'a> From<basic::Deliver<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::Deliver<'a>) -> Self {
        Method::BasicDeliver(method)
    }
}

impl<'a> From<basic::Get<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::Get<'a>) -> Self {
        Method::BasicGet(method)
    }
}

impl<'a> From<basic::GetOk<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::GetOk<'a>) -> Self {
        Method::BasicGetOk(method)
    }
}

impl<'a> From<basic::GetEmpty<'a>> for Method<'a> {
    #[inline]
    fn from(method: basic::GetEmpty<'a>) -> Self {
        Method::BasicGetEmpty(method)
    }
}

impl From<basic::Ack> for Method<'_> {
    #[inline]
    fn from(method: basic::Ack) -> Self {
        Method::BasicAck(method)
    }
}

impl From<basic::Reject> for Method<'_> {
    #[inline]
    fn from(method: basic::Reject) -> Self {
        Method::BasicReject(method)
    }
}

impl From<basic::RecoverAsync> for Method<'_> {
    #[inline]
    fn from(method: basic::RecoverAsync) -> Self {
        Method::BasicRecoverAsync(method)
    }
}

impl From<basic::Recover> for Method<'_> {
    #[inline]
    fn from(method: basic::Recover) -> Self {
        Method::BasicRecover(method)
    }
}

impl From<basic::RecoverOk> for Method<'_> {
    #[inline]
    fn from(method: basic::RecoverOk) -> Self {
        Method::BasicRecoverOk(method)
    }
}

impl From<basic::Nack> for Method<'_> {
    #[inline]
    fn from(method: basic::Nack) -> Self {
        Method::BasicNack(method)
    }
}

impl From<confirm::Select> for Method<'_> {
    #[inline]
    fn from(method: confirm::Select) -> Self {
        Method::ConfirmSelect(method)
    }
}

impl From<confirm::SelectOk> for Method<'_> {
    #[inline]
    fn from(method: confirm::SelectOk) -> Self {
        Method::ConfirmSelectOk(method)
    }
}

impl From<tx::Select> for Method<'_> {
    #[inline]
    fn from(method: tx::Select) -> Self {
        Method::TxSelect(method)
    }
}

impl From<tx::SelectOk> for Method<'_> {
    #[inline]
    fn from(method: tx::SelectOk) -> Self {
        Method::TxSelectOk(method)
    }
}

impl From<tx::Commit> for Method<'_> {
    #[inline]
    fn from(method: tx::Commit) -> Self {
        Method::TxCommit(method)
    }
}

impl From<tx::CommitOk> for Method<'_> {
    #[inline]
    fn from(method: tx::CommitOk) -> Self {
        Method::TxCommitOk(method)
    }
}

impl From<tx::Rollback> for Method<'_> {
    #[inline]
    fn from(method: tx::Rollback) -> Self {
        Method::TxRollback(method)
    }
}

impl From<tx::RollbackOk> for Method<'_> {
    #[inline]
    fn from(method: tx::RollbackOk) -> Self {
        Method::TxRollbackOk(method)
    }
}
