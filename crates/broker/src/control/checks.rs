//! What would be refused whatever happens meanwhile: asked for a whole document before anything of it is changed.

use amqp::table::TableBuf;
use model::arguments::{ExchangeType, QueueType};
use model::name::VhostName;

use crate::binding_request::BindingRequest;
use crate::broker::Broker;
use crate::events;
use crate::vhost::Vhost;
use crate::vhost_access::{
    ExchangeRequest, QueueRequest, check_arguments, check_new_binding, check_new_exchange, check_new_queue, check_type,
};
use model::refusal::{self, Outcome};

impl Broker {
    /// Whether there could be such an exchange; there is none so far.
    pub fn check_exchange(&self, vhost: &VhostName, request: &ExchangeRequest<'_>) -> Outcome<()> {
        let exchange_type = check_type(request.kind)?;
        let arguments = check_arguments(vhost, request)?;
        request.name.refuse_reserved().or_else(|error| refusal::access_refused(error.to_string()))?;
        check_new_exchange(self, exchange_type, &arguments, vhost, request.name)
    }

    /// Whether there could be such a queue; there is none so far. The default type is that of its vhost, which may not be there
    /// either.
    pub fn check_queue(&self, vhost: &VhostName, request: &QueueRequest<'_>, default: QueueType) -> Outcome<()> {
        let with_type = request.with_default_type(default);
        let arguments = with_type.as_ref().map_or(request.arguments, TableBuf::as_table);
        check_new_queue(self, vhost, &QueueRequest { arguments, ..*request }, request.name).map(drop)
    }

    /// Whether there could be such a binding from an exchange of this type.
    pub fn check_binding(&self, source: ExchangeType, request: &BindingRequest<'_>) -> Outcome<()> {
        check_new_binding(source, request)
    }

    /// The type of an exchange, if it is there.
    #[must_use]
    pub fn exchange_type(&self, vhost: &str, name: &str) -> Option<ExchangeType> {
        Some(self.vhosts.get(vhost)?.exchange(name)?.exchange_type)
    }

    /// Exchanges that a vhost of this name has as soon as it is made.
    #[must_use]
    pub fn exchanges_of_new_vhost(&self, vhost: &VhostName) -> Vec<(String, ExchangeType)> {
        let new = Vhost::new(model::vhost::Vhost::new(vhost.clone()), self.hash_seed);
        let exchanges = new.exchanges().into_iter();
        let mut names: Vec<_> = exchanges.map(|exchange| (exchange.name.to_string(), exchange.exchange_type)).collect();
        if *vhost == self.options.default_user.vhost {
            names.push((events::EXCHANGE.to_owned(), ExchangeType::Topic));
        }
        names
    }
}
