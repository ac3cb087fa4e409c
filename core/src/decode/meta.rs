//! What a decode says of the files that it read, and of the whole.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::RPC_PORTS;
use crate::capture::{LinkType, Packet, Reader, Set, Untold};
use crate::error::ReadError;
use crate::packet::{self, Apart};
use crate::stream::ConnectionId;
use crate::stream::vain::Vain;

/// Link types of a file that are listed; a pcapng file can claim any number.
pub const LINKS_LIMIT: usize = 16;

/// What was read of one file.
#[derive(Clone, Debug, Default)]
pub struct FileSummary {
    /// The file.
    pub path: PathBuf,
    /// Format, with the compression.
    pub format: String,
    /// Link types met, at most [`LINKS_LIMIT`].
    pub links: Vec<LinkType>,
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Time of the first packet in nanoseconds since 1970; `None` without packets, or where none has a time.
    pub start_ns: Option<i64>,
    /// Time of the last packet.
    pub end_ns: Option<i64>,
    /// Largest capture length of its interfaces; 0 when not stated.
    pub snaplen: u32,
    /// Packets that were cut at the snaplen.
    pub truncated_packets: u64,
    /// The frame number of its first packet in this decode; `None` without packets.
    ///
    /// Frames are counted on over all files in the order of time, as `mergecap` would number them.
    /// Where `last_frame - first_frame + 1` is the number of packets, no other file has frames in
    /// between, and frame `f` of the decode is frame `f - first_frame + 1` of this file.
    pub first_frame: Option<u64>,
    /// The frame number of its last packet in this decode; `None` without packets.
    pub last_frame: Option<u64>,
    /// Packets that have no time: that of the packet before stands for it.
    pub untimed_packets: u64,
    /// Packets whose times cannot be: that of the packet before stands for it.
    pub mistimed_packets: u64,
    /// Packets that stood behind others that came later, and were put before them ([`crate::order`]).
    pub late_packets: u64,
    /// How often the capture's clock was set back; times are counted on.
    pub set_back: u64,
    /// By how much, in all, nanoseconds.
    pub set_back_ns: i64,
    /// The frame before which it was for the first time; `None` for never, and where the file's frames do not
    /// follow one another.
    pub set_back_frame: Option<u64>,
    /// How often it was set forward, as the timestamps of both ends tell; times are counted on.
    pub set_forward: u64,
    /// By how much, in all, nanoseconds.
    pub set_forward_ns: i64,
    /// The frame before which it was for the first time; `None` likewise.
    pub set_forward_frame: Option<u64>,
    /// The longest pause of which nothing tells whether the clock was set forward, nanoseconds.
    pub untold_pause_ns: i64,
    /// The frame behind it; `None` likewise.
    pub untold_pause_frame: Option<u64>,
    /// Captures that follow the first one in the file, as `cat` puts them there.
    pub followers: u64,
    /// Bytes of the file, or of what it unpacks to, that were passed over as damage.
    pub passed_bytes: u64,
    /// Bytes behind the compressed data that begin no more of it, unless they are zeros.
    pub trailing_bytes: u64,
    /// Packets that the capturing system dropped, where the file tells.
    pub dropped_packets: Option<u64>,
    /// Where the file breaks off or contradicts itself, if it does, and what was read all the same.
    pub damage: Option<String>,
}

impl FileSummary {
    fn count(&mut self, packet: &Packet<'_>, frame: u64) {
        self.packets += 1;
        self.last_frame = Some(frame);
        self.bytes += u64::from(packet.wire_length);
        self.truncated_packets += u64::from(packet.bytes.len() < packet.wire_length as usize);
        // Most packets are later than those before, and of the same link type.
        let later = self.end_ns.is_some_and(|end| end <= packet.time_ns);
        if later && self.links.last() == Some(&packet.link) {
            self.end_ns = Some(packet.time_ns);
        } else {
            self.count_apart(packet, frame);
        }
    }

    /// Takes what the file says of itself, once all packets are read.
    pub(super) fn close(&mut self, reader: Option<&Reader>, error: Option<&ReadError>) {
        self.damage = error.map(ReadError::what);
        self.passed_bytes = error.map_or(0, ReadError::passed_bytes);
        let Some(reader) = reader else { return };
        self.snaplen = reader.snaplen();
        self.dropped_packets = reader.dropped();
        self.untimed_packets = reader.untimed();
        self.mistimed_packets = reader.mistimed();
        self.note(reader.set_back(), reader.set_forward(), reader.untold());
        self.followers = reader.followers();
        self.trailing_bytes = reader.trailing_bytes();
        if self.untimed_packets == self.packets {
            (self.start_ns, self.end_ns) = (None, None);
        }
        self.format = reader.format().to_string();
    }

    /// Takes what is known of its clock.
    fn note(&mut self, back: Set, forward: Set, untold: Untold) {
        let apart = |(first, last): (u64, u64)| last - first + 1 > self.packets;
        let first =
            self.first_frame.zip(self.last_frame).filter(|frames| !apart(*frames)).map(|(first, _)| first);
        let frame = |packet: u64| first.filter(|_| packet > 0).map(|first| first + packet - 1);
        (self.set_back, self.set_back_ns, self.set_back_frame) = (back.times, back.by_ns, frame(back.packet));
        (self.set_forward, self.set_forward_ns) = (forward.times, forward.by_ns);
        self.set_forward_frame = frame(forward.packet);
        (self.untold_pause_ns, self.untold_pause_frame) = (untold.by_ns, frame(untold.packet));
    }

    /// Takes the first packet, and one that is not as that before.
    #[cold]
    #[inline(never)]
    fn count_apart(&mut self, packet: &Packet<'_>, frame: u64) {
        self.first_frame.get_or_insert(frame);
        self.start_ns = Some(self.start_ns.map_or(packet.time_ns, |start| start.min(packet.time_ns)).max(0));
        self.end_ns = Some(self.end_ns.map_or(packet.time_ns, |end| end.max(packet.time_ns)));
        if self.links.last() != Some(&packet.link)
            && !self.links.contains(&packet.link)
            && self.links.len() < LINKS_LIMIT
        {
            self.links.push(packet.link);
        }
    }
}

/// What a decode read, and what became of it.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// The files in the order of their first packets.
    pub files: Vec<FileSummary>,
    /// Packets by what they held. The sum is the number of packets.
    pub packets: BTreeMap<&'static str, u64>,
    /// Limits that were hit, and how often.
    pub limits_hit: BTreeMap<&'static str, u64>,
    /// Calls found.
    pub calls: u64,
    /// Those of NFS and its access control lists, and callbacks.
    pub nfs_calls: u64,
    /// Messages that were not decoded to their end.
    pub undecoded: u64,
    /// Copies of packets that another file holds, by a clock that is apart.
    pub apart: Apart,
    /// What is around packets of [`RPC_PORTS`].
    pub around: Around,
    /// Connections to ports of RPC that a client asked for, and of which nothing came: nobody answered.
    pub silent_connections: u64,
    /// The same where that was refused (RST).
    pub refused_connections: u64,
    /// Who asked whom for them, at most [`crate::stream::vain::VAIN_LIMIT`] pairs.
    pub vain: Vec<Vain>,
}

impl Meta {
    /// Counts a packet of a file.
    pub(super) fn count(&mut self, file: usize, packet: &Packet<'_>, frame: u64) {
        if let Some(file) = self.files.get_mut(file) {
            file.count(packet, frame);
        }
    }
}

/// What is around the first packets of connections, so that filters for addresses and ports do not see them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The most VLAN tags (IEEE 802.1Q) that one has.
    pub vlan_tags: usize,
    /// Some lie in other packets, in fragments, or behind other labels.
    pub hidden: bool,
    /// The next connection.
    next: ConnectionId,
}

impl Around {
    /// Takes a packet between these ends, if it is the first of its connection; `within`: it lies in another one.
    pub(super) fn see(&mut self, id: ConnectionId, packet: &Packet<'_>, ends: [SocketAddr; 2], within: bool) {
        if id >= self.next {
            self.note(id, packet, ends, within);
        }
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, id: ConnectionId, packet: &Packet<'_>, ends: [SocketAddr; 2], within: bool) {
        self.next = id.saturating_add(1);
        if ends.iter().any(|end| RPC_PORTS.contains(&end.port())) {
            match packet::vlan_tags(packet).filter(|_| !within) {
                Some(tags) => self.vlan_tags = tags.max(self.vlan_tags),
                None => self.hidden = true,
            }
        }
    }
}
