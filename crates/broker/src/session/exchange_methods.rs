//! exchange.declare, delete, bind, unbind: from the wire to what [`crate::vhost_access`] does, and the answers.

use amqp::frame::put_method;
use amqp::method::exchange;

use crate::binding_request::{BindingEnd, BindingRequest};
use crate::changed::Changed;
use crate::session::Session;
use crate::session::channel::Channel;
use crate::session::exception::Handled;
use crate::vhost_access::{ExchangeRequest, exchange_name};

impl Session {
    pub(super) fn exchange_declare(&mut self, channel: &mut Channel, declare: &exchange::Declare<'_>) -> Handled<()> {
        let name = exchange_name(declare.exchange)?;
        let changed = if declare.passive {
            self.front.access().find_exchange(&name)?;
            Changed::default()
        } else {
            self.front.access().declare_exchange(&ExchangeRequest {
                name: &name,
                kind: declare.kind,
                is_durable: declare.durable,
                is_auto_delete: declare.auto_delete,
                is_internal: declare.internal,
                arguments: declare.arguments,
            })?
        };
        if !declare.no_wait {
            let number = channel.number().0;
            self.front.answer_change(changed, |out| put_method(out, number, &exchange::DeclareOk));
        }
        Ok(())
    }

    pub(super) fn exchange_delete(&mut self, channel: &mut Channel, delete: &exchange::Delete<'_>) -> Handled<()> {
        let name = exchange_name(delete.exchange)?;
        // Deleting what is not there is as good as deleting it.
        let deleted = self.front.access().exchange_deleted(&name, delete.if_unused)?;
        let position = deleted.map_or_else(|| self.front.broker().journal_end(), |changed| changed.position);
        if !delete.no_wait {
            let number = channel.number().0;
            self.front.answer_definition(position, |out| put_method(out, number, &exchange::DeleteOk));
        }
        Ok(())
    }

    pub(super) fn exchange_bind(&mut self, channel: &mut Channel, bind: &exchange::Bind<'_>) -> Handled<()> {
        let changed = self.front.access().bind(&BindingRequest {
            source: &exchange_name(bind.source)?,
            destination: BindingEnd::Exchange(&exchange_name(bind.destination)?),
            routing_key: bind.routing_key,
            arguments: bind.arguments,
        })?;
        if !bind.no_wait {
            let number = channel.number().0;
            self.front.answer_change(changed, |out| put_method(out, number, &exchange::BindOk));
        }
        Ok(())
    }

    pub(super) fn exchange_unbind(&mut self, channel: &mut Channel, unbind: &exchange::Unbind<'_>) -> Handled<()> {
        let changed = self.front.access().unbind(&BindingRequest {
            source: &exchange_name(unbind.source)?,
            destination: BindingEnd::Exchange(&exchange_name(unbind.destination)?),
            routing_key: unbind.routing_key,
            arguments: unbind.arguments,
        })?;
        if !unbind.no_wait {
            let number = channel.number().0;
            self.front.answer_change(changed, |out| put_method(out, number, &exchange::UnbindOk));
        }
        Ok(())
    }
}
