//! confirm.select; tx.select, commit, rollback.

use amqp::frame::put_method;
use amqp::method::{confirm, tx};

use super::Session;
use super::channel::Channel;
use super::exception::Handled;

impl Session {
    /// confirm.select.
    pub(super) fn confirm_select(&mut self, channel: &mut Channel, no_wait: bool) -> Handled<()> {
        self.front.begin_confirming(channel)?;
        if !no_wait {
            put_method(self.front.out(), channel.number().0, &confirm::SelectOk);
        }
        Ok(())
    }

    pub(super) fn tx_select(&mut self, channel: &mut Channel) -> Handled<()> {
        self.front.begin_transactions(channel)?;
        put_method(self.front.out(), channel.number().0, &tx::SelectOk);
        Ok(())
    }

    pub(super) fn tx_commit(&mut self, channel: &mut Channel) -> Handled<()> {
        let committed = self.front.commit(channel)?;
        let number = channel.number().0;
        self.front.reply_when_durable(committed.position, |out| put_method(out, number, &tx::CommitOk));
        self.front.end_commit(committed);
        Ok(())
    }

    pub(super) fn tx_rollback(&mut self, channel: &mut Channel) -> Handled<()> {
        self.front.roll_back(channel)?;
        put_method(self.front.out(), channel.number().0, &tx::RollbackOk);
        Ok(())
    }
}
