//! Messages: those that are sent, and those that lie in the client's memory; between which ends they go.

use std::net::SocketAddr;

use super::header::{Header, Segment, total};
use super::memory::Key;
use super::state::{Body, Gathered, LongCall, Sent, Whole};
use super::told::{Beside, Told};
use super::{HELD_LIMIT, Rdma, UNDER_WAY_LIMIT, Way};
use crate::packet::ROCE_PORT;
use crate::stream::assembler::Stamp;

/// Data that are kept: a symbolic link's text may be moved beside its message, and has no more (`PATH_MAX`).
const KEPT_DATA: usize = 4096;

/// Identifiers of calls that a direction remembers, to know their replies by.
const CALLS_KNOWN: usize = 32;

impl Rdma {
    /// A message that was sent, or what tells where one lies. `parts`: all that was sent of it.
    pub(super) fn message(&mut self, sent: &Sent<'_>, parts: &Whole<'_>, sink: &mut impl FnMut(&Told<'_>)) {
        let Some((header, size)) = Header::parse(parts.bytes) else { return };
        let bytes = parts.bytes.get(size..).unwrap_or_default();
        let body = Whole { bytes, length: parts.length.saturating_sub(size), ..*parts };
        let is_call = if header.elsewhere {
            header.of_message().next().is_some()
        } else {
            // The identifier and the kind of the message (RFC 5531 section 9).
            let Some((xid, kind)) = bytes.split_first_chunk::<4>() else { return };
            if u32::from_be_bytes(*xid) != header.xid {
                return;
            }
            kind.starts_with(&[0, 0, 0, 0])
        };
        if is_call {
            self.call(sent, &header, &body, sink);
        } else {
            self.reply(sent, &header, &body, sink);
        }
    }

    fn call(&mut self, sent: &Sent<'_>, header: &Header, body: &Whole<'_>, sink: &mut impl FnMut(&Told<'_>)) {
        let (way @ (owner, user), first) = (sent.way(), body.first);
        let results = header.writes.iter().filter(|chunk| total(*chunk) <= KEPT_DATA);
        for segment in header.reply.iter().chain(header.of_message()).chain(results.flatten()) {
            self.memory.expose((owner, user, segment.key), segment, true);
        }
        let data = header.data_to_read();
        let (segments, body) = if header.elsewhere {
            let data = data.map(|(position, segments)| (position, total(&segments)));
            (header.of_message().copied().collect(), Body::ToRead(data))
        } else if let Some((position, segments)) = data {
            let kept = total(&segments) <= KEPT_DATA;
            for segment in &segments {
                self.memory.expose((owner, user, segment.key), segment, kept);
            }
            let Whole { bytes, length, limit, .. } = *body;
            (segments, Body::Sent { bytes: bytes.to_vec(), length, limit, position })
        } else {
            let ends = self.ends(way, sent.packet.queue_pair, sent.packet.source, (header.xid, true));
            if let Some(ends) = ends {
                sink(&Told::Message(body.message(ends, None, sent.stamp)));
            }
            return;
        };
        self.remember(sent, header.xid, segments, body, first, sink);
    }

    fn reply(
        &mut self,
        sent: &Sent<'_>,
        header: &Header,
        body: &Whole<'_>,
        sink: &mut impl FnMut(&Told<'_>),
    ) {
        let way @ (user, owner) = sent.way();
        self.finish_call((owner, user), header.xid, sink);
        let Some(ends) = self.ends(way, sent.packet.queue_pair, sent.packet.source, (header.xid, false))
        else {
            return;
        };
        let key = |segment: &Segment| ((owner, user, segment.key), segment.length);
        let chunk = header.data_written();
        let data = chunk.map(|chunk| self.gather(chunk.iter().map(key))).unwrap_or_default();
        let beside = chunk.map(|chunk| data.beside(None, total(chunk)));
        if header.elsewhere {
            let whole = self.gather(header.reply.iter().map(key)).or_only_answers(header.xid);
            sink(&Told::Message(whole.message(ends, beside, (body.first, sent.stamp))));
        } else {
            sink(&Told::Message(body.message(ends, beside, sent.stamp)));
        }
    }

    /// Takes a call of which the server is to read something.
    fn remember(
        &mut self,
        sent: &Sent<'_>,
        xid: u32,
        segments: Vec<Segment>,
        body: Body,
        first: Stamp,
        sink: &mut impl FnMut(&Told<'_>),
    ) {
        let (way, queue_pair, source) = (sent.way(), sent.packet.queue_pair, sent.packet.source);
        let sent = sent.stamp;
        self.held_bytes += body.size();
        self.long_calls.push_back(LongCall { way, queue_pair, source, xid, segments, body, first, sent });
        while self.long_calls.len() > UNDER_WAY_LIMIT || self.held_bytes > HELD_LIMIT {
            if !self.give_up_call(sink) {
                return;
            }
            self.overlooked += 1;
        }
    }

    /// Delivers the call that waits longest for what is to be read. `false`: none does.
    pub(super) fn give_up_call(&mut self, sink: &mut impl FnMut(&Told<'_>)) -> bool {
        let Some(call) = self.long_calls.pop_front() else { return false };
        self.deliver_call(&call, call.sent, sink);
        true
    }

    /// Delivers a call of which something was to be read, when its reply comes, as far as the capture has
    /// it. What is missing was there before.
    fn finish_call(&mut self, way: Way, xid: u32, sink: &mut impl FnMut(&Told<'_>)) {
        let Some(at) = self.long_calls.iter().position(|call| call.way == way && call.xid == xid) else {
            return;
        };
        if let Some(call) = self.long_calls.remove(at) {
            self.deliver_call(&call, call.sent, sink);
        }
    }

    pub(super) fn deliver_call(&mut self, call: &LongCall, last: Stamp, sink: &mut impl FnMut(&Told<'_>)) {
        self.held_bytes = self.held_bytes.saturating_sub(call.body.size());
        let LongCall { way, queue_pair, source, xid, first, .. } = *call;
        let Some(ends) = self.ends(way, queue_pair, source, (xid, true)) else { return };
        let key = |segment: &Segment| ((way.0, way.1, segment.key), segment.length);
        let read = self.gather(call.segments.iter().map(key));
        match &call.body {
            Body::ToRead(data) => {
                let beside =
                    data.map(|(position, length)| Beside { position: Some(position), length, bytes: &[] });
                sink(&Told::Message(read.message(ends, beside, (first, last))));
            }
            Body::Sent { bytes, length, limit, position } => {
                let beside = read.beside(Some(*position), total(&call.segments));
                let body = Whole { bytes, length: *length, limit: *limit, first };
                sink(&Told::Message(body.message(ends, Some(beside), last)));
            }
        }
    }

    /// What lies in segments, of which nothing more is wanted.
    fn gather(&mut self, segments: impl Iterator<Item = (Key, u32)>) -> Gathered {
        let mut gathered = Gathered::default();
        for (key, size) in segments {
            let region = self.memory.take(key).unwrap_or_default();
            gathered.add(&region, size as usize);
        }
        gathered
    }

    /// The ends of the connection that a message goes over, from its sender to its receiver. `None`: it is a
    /// reply, and no call of that connection is known.
    fn ends(
        &mut self,
        (from, to): Way,
        queue_pair: u32,
        source: SocketAddr,
        (xid, is_call): (u32, bool),
    ) -> Option<(SocketAddr, SocketAddr)> {
        let direction = self.direction((from, to), queue_pair)?;
        if is_call {
            if direction.calls.len() >= CALLS_KNOWN {
                direction.calls.pop_front();
            }
            direction.calls.push_back(xid);
        }
        if let Some(ends) = direction.ends {
            return Some(ends);
        }
        let (peer, port) = (direction.peer, direction.port);
        let back = self.ways.get(&(to, from));
        let other = back.and_then(|traffic| match peer {
            Some(peer) => Some((peer, traffic.queues.get(&peer)?)),
            None => traffic
                .queues
                .iter()
                .find(|(_, other)| !is_call && other.calls.contains(&xid))
                .map(|(peer, other)| (*peer, other)),
        });
        let paired = other.and_then(|(peer, other)| Some((peer, other.ends?)));
        let ends = match paired {
            Some((_, (source, destination))) => (destination, source),
            None if is_call => (source, SocketAddr::new(to, port.unwrap_or(ROCE_PORT))),
            None => return None,
        };
        if let Some((peer, _)) = paired {
            self.pair((from, to), queue_pair, peer);
        }
        self.direction((from, to), queue_pair)?.ends = Some(ends);
        Some(ends)
    }

    /// Takes that two queue pairs make a connection: to the first goes what goes this way.
    pub(super) fn pair(&mut self, (from, to): Way, queue_pair: u32, peer: u32) {
        if let Some(direction) = self.direction((from, to), queue_pair) {
            direction.peer = Some(peer);
        }
        if let Some(direction) = self.direction((to, from), peer) {
            direction.peer = Some(queue_pair);
        }
    }
}
