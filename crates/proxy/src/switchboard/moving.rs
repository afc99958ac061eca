//! A client gets a line of its own, and its channels go there.
//!
//! It waits until nothing is under way for it on shared lines, so that no answer and no confirm is lost. From then on frames pass as they
//! are, both ways: what the upstream says of them concerns nobody else. Only what was begun on shared lines is still looked after: the
//! confirms that a client has counted there, and the queue that an empty name means.

use amqp::frame::{Frame, FrameKind, put_method};
use amqp::method::{Method, basic, channel, confirm};

use super::client::{Channel, Stage, Waits};
use super::frames::put_frames;
use super::line::{Line, Use};
use super::publish::Taken;
use super::{ClientId, LineId, Switchboard};

impl Switchboard {
    /// Whether a client is on a line of its own. If not, everything is done that it gets there, and it waits.
    pub(super) fn move_client(&mut self, id: ClientId) -> bool {
        if self.clients[id.0].has_moved {
            return true;
        }
        if self.is_client_held_back(id) {
            self.wait_for_spool(id, Waits::SpoolEnd);
            return false;
        }
        let Some(line) = self.own_line(id) else {
            self.wait_for(id, Waits::OwnLine);
            return false;
        };
        self.clients[id.0].waiting = None;
        if !self.is_client_quiet(id) {
            self.wait_for(id, Waits::Quiet);
            return false;
        }
        self.counters.moved += 1;
        let mut channels = std::mem::take(&mut self.clients[id.0].channels);
        for (number, channel) in &mut channels {
            if let Some((shared, at)) = channel.seat.take() {
                self.release_seat(shared, at);
            }
            if channel.stage == Stage::Open {
                let own = &mut self.lines[line.0];
                reopen(own.output.end(), *number, channel, own.frame_len_max);
            }
        }
        let client = &mut self.clients[id.0];
        client.channels = channels;
        client.has_moved = true;
        client.held_len = 0;
        self.tell_blocked(id);
        self.line_changed(line);
        true
    }

    /// The client's own line, once it is open.
    fn own_line(&mut self, id: ClientId) -> Option<LineId> {
        let client = &self.clients[id.0];
        if let Some(line) = client.own {
            return self.lines[line.0].is_running().then_some(line);
        }
        let now_ms = self.now_ms;
        let (login, vhost) = (client.login?, client.vhost.clone());
        if self.may_dial() {
            let line = self.dial(Line::new(Use::Own(id), login, vhost, now_ms));
            self.clients[id.0].own = Some(line);
        } else {
            // The client looks again with the next tick. It is not to be in its own way.
            self.leave_quiet_seats(id);
            self.close_unused_line(None);
        }
        None
    }

    /// A frame of a channel of a client who has a line of its own.
    pub(super) fn own_line_frame(&mut self, id: ClientId, frame: &Frame<'_>, raw: &[u8]) -> Taken {
        let Some(line_id) = self.clients[id.0].own else { return Taken::Done(0) };
        if !self.lines[line_id.0].has_room() {
            self.wait_for_room(id, line_id);
            return Taken::NotYet;
        }
        let (client, line) = (&mut self.clients[id.0], &mut self.lines[line_id.0]);
        if let Some(channel) = client.channels.get_mut(&frame.channel) {
            if channel.stage == Stage::Closed {
                return self.closed_channel_frame(id, frame);
            }
            if frame.kind == FrameKind::Method
                && channel.declared.is_some()
                && !channel.is_declared_here
                && let Ok(mut method) = Method::decode(frame.payload)
                && let Some(name) = remembered_queue(channel, &method)
            {
                name_queue(&mut method, &name);
                put_method(line.output.end(), frame.channel, &method);
                self.line_changed(line_id);
                return Taken::Done(0);
            }
        }
        put_frames(line.output.end(), raw, frame.channel, line.frame_len_max);
        self.line_changed(line_id);
        Taken::Done(0)
    }

    /// A method that comes over a client's own line for a channel that was on a shared one. Whether it is not to be passed on.
    pub(super) fn is_of_moved_channel(&mut self, id: ClientId, number: u16, method: &Method<'_>) -> bool {
        let client = &mut self.clients[id.0];
        let Some(channel) = client.channels.get_mut(&number) else { return false };
        match method {
            Method::ChannelOpenOk(_) | Method::BasicQosOk(_) if channel.swallowed > 0 => {
                channel.swallowed -= 1;
                true
            }
            Method::ChannelClose(_) | Method::ChannelCloseOk(_) => {
                client.channels.remove(&number);
                false
            }
            Method::BasicAck(ack) => {
                let Some(tag) = channel.tags.and_then(|tags| tags.of_upstream(ack.delivery_tag)) else { return false };
                client.send(number, &basic::Ack { delivery_tag: tag, ..*ack });
                self.client_changed(id);
                true
            }
            Method::BasicNack(nack) => {
                let Some(tag) = channel.tags.and_then(|tags| tags.of_upstream(nack.delivery_tag)) else { return false };
                client.send(number, &basic::Nack { delivery_tag: tag, ..*nack });
                self.client_changed(id);
                true
            }
            _ => false,
        }
    }
}

/// Brings a channel that nothing is under way on to where it was.
fn reopen(out: &mut Vec<u8>, number: u16, channel: &mut Channel, frame_len_max: u32) {
    put_method(out, number, &channel::Open::default());
    channel.swallowed = 1;
    if let Some(tags) = &mut channel.tags {
        put_method(out, number, &confirm::Select { no_wait: true });
        tags.offset = -i64::try_from(tags.count).unwrap_or(i64::MAX);
    }
    if let Some(qos) = channel.qos {
        put_method(out, number, &qos);
        channel.swallowed += 1;
    }
    if let Some(content) = channel.content.take() {
        put_frames(out, &content.frames, number, frame_len_max);
    }
    channel.is_declared_here = false;
}

/// The queue that a method without a queue's name means, where the upstream's channel cannot know.
pub(super) fn remembered_queue(channel: &mut Channel, method: &Method<'_>) -> Option<Box<[u8]>> {
    if channel.is_declared_here {
        return None;
    }
    let name = channel.declared.as_ref()?;
    match method {
        Method::QueueDeclare(_) => {
            channel.is_declared_here = true;
            None
        }
        Method::QueueBind(bind) if bind.queue.is_empty() => Some(name.clone()),
        Method::QueueUnbind(unbind) if unbind.queue.is_empty() => Some(name.clone()),
        Method::QueuePurge(purge) if purge.queue.is_empty() => Some(name.clone()),
        Method::QueueDelete(delete) if delete.queue.is_empty() => Some(name.clone()),
        Method::BasicConsume(consume) if consume.queue.is_empty() => Some(name.clone()),
        Method::BasicGet(get) if get.queue.is_empty() => Some(name.clone()),
        _ => None,
    }
}

/// Says it. Where neither a queue nor a routing key is named, both mean it.
pub(super) fn name_queue<'a>(method: &mut Method<'a>, name: &'a [u8]) {
    let name_key = |key: &mut &'a [u8]| {
        if key.is_empty() {
            *key = name;
        }
    };
    match method {
        Method::QueueBind(bind) => {
            bind.queue = name;
            name_key(&mut bind.routing_key);
        }
        Method::QueueUnbind(unbind) => {
            unbind.queue = name;
            name_key(&mut unbind.routing_key);
        }
        Method::QueuePurge(purge) => purge.queue = name,
        Method::QueueDelete(delete) => delete.queue = name,
        Method::BasicConsume(consume) => consume.queue = name,
        Method::BasicGet(get) => get.queue = name,
        _ => {}
    }
}
