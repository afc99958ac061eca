//! exchange.declare, delete, bind, unbind: from the wire to what [`crate::inside`] does, and the answers.

use amqp::frame::put_method;
use amqp::method::exchange;

use crate::channel::Channel;
use crate::inside::{BindingEnd, BindingRequest, ExchangeRequest, exchange_name};
use crate::refusal::Outcome;
use crate::session::Session;

impl Session {
    pub(crate) fn exchange_declare(&mut self, channel: &mut Channel, declare: &exchange::Declare<'_>) -> Outcome<()> {
        let name = exchange_name(declare.exchange)?;
        if declare.passive {
            self.inside().find_exchange(&name)?;
        } else {
            self.inside().declare_exchange(&ExchangeRequest {
                name: &name,
                kind: declare.kind,
                is_durable: declare.durable,
                is_auto_delete: declare.auto_delete,
                is_internal: declare.internal,
                arguments: declare.arguments,
            })?;
        }
        if !declare.no_wait {
            put_method(&mut self.out, channel.number, &exchange::DeclareOk);
        }
        Ok(())
    }

    pub(crate) fn exchange_delete(&mut self, channel: &mut Channel, delete: &exchange::Delete<'_>) -> Outcome<()> {
        let name = exchange_name(delete.exchange)?;
        // Deleting what is not there is as good as deleting it.
        let deleted = self.inside().exchange_deleted(&name, delete.if_unused)?;
        let position = deleted.map_or_else(|| self.broker.journal_end(), |changed| changed.position);
        if !delete.no_wait {
            let number = channel.number;
            self.reply_when_durable(position, |out| put_method(out, number, &exchange::DeleteOk));
        }
        Ok(())
    }

    pub(crate) fn exchange_bind(&mut self, channel: &mut Channel, bind: &exchange::Bind<'_>) -> Outcome<()> {
        self.inside().bind(&BindingRequest {
            source: &exchange_name(bind.source)?,
            destination: BindingEnd::Exchange(&exchange_name(bind.destination)?),
            routing_key: bind.routing_key,
            arguments: bind.arguments,
        })?;
        if !bind.no_wait {
            put_method(&mut self.out, channel.number, &exchange::BindOk);
        }
        Ok(())
    }

    pub(crate) fn exchange_unbind(&mut self, channel: &mut Channel, unbind: &exchange::Unbind<'_>) -> Outcome<()> {
        self.inside().unbind(&BindingRequest {
            source: &exchange_name(unbind.source)?,
            destination: BindingEnd::Exchange(&exchange_name(unbind.destination)?),
            routing_key: unbind.routing_key,
            arguments: unbind.arguments,
        })?;
        if !unbind.no_wait {
            put_method(&mut self.out, channel.number, &exchange::UnbindOk);
        }
        Ok(())
    }
}
