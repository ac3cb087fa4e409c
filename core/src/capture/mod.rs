//! Files → packets: opens a capture by its magic number and lends its packets one at a time.
//!
//! Takes a path (`-` is standard input) to a pcap, pcapng, snoop or iptrace file, plain or compressed with
//! gzip, zstd, lz4, xz or bzip2. Gives [`Packet`]s in the order of the file, numbered from 1 as Wireshark
//! numbers frames.
//! Promises: read once from front to end, so a pipe will do; memory is one buffer, which grows to
//! the largest packet and never beyond [`PACKET_LIMIT`] by much; nothing is allocated or copied
//! per packet. A file that breaks off gives every packet before that place; one that contradicts itself
//! also those behind it, from the next packet on that others follow; then one [`ReadError::Damaged`],
//! then the end.
//!
//! Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, RFC 1761 (snoop); AIX's iptrace has none.

mod ahead;

mod bzip2;

mod clock;

mod compression;

mod gzip;

mod lz4;

pub mod merge;

pub mod output;

mod packed;

mod parser;

mod pause;

mod pcap;

mod pcapng;

mod reader;

mod records;

mod resume;

mod sniff;

pub mod timestamps;

mod window;

mod xz;

mod zstd;

use std::borrow::Cow;
use std::fmt;

use crate::wire_enum::wire_enum;

pub use clock::{Set, Untold};
pub use compression::Compression;
pub use reader::{Reader, is_capture};

use pcapng::Fields;

/// A packet longer than this, in bytes, is taken for damage whatever the file's snaplen says.
pub const PACKET_LIMIT: usize = 16 << 20;

/// A packet longer than this, in bytes, must at least respect the file's snaplen. Below it, writers
/// that exceed their own snaplen (segmentation offload) are believed.
pub const CREDIBLE_PACKET: usize = 256 << 10;

wire_enum! {
    /// `LINKTYPE_` number of the frames' outermost header, as registered at tcpdump.org/linktypes.
    pub enum LinkType {
        NULL = 0,
        ETHERNET = 1,
        IEEE802_5 = 6,
        PPP = 9,
        FDDI = 10,
        RAW_BSD = 12,
        RAW_OPENBSD = 14,
        PPP_HDLC = 50,
        PPP_ETHER = 51,
        RAW = 101,
        C_HDLC = 104,
        IEEE802_11 = 105,
        LOOP = 108,
        LINUX_SLL = 113,
        IEEE802_11_RADIOTAP = 127,
        USER0 = 147,
        ERF = 197,
        IPNET = 226,
        IPV4 = 228,
        IPV6 = 229,
        NFLOG = 239,
        IPOIB = 242,
        INFINIBAND = 247,
        PKTAP = 258,
        LINUX_SLL2 = 276,
    }
}

/// One captured packet, lent by the [`Reader`] until it is asked for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Frame number in this file, from 1.
    pub number: u64,
    /// Nanoseconds since 1970-01-01 UTC. A packet without a time, as pcapng's simple ones, and one with a time
    /// that cannot be get that of the packet before. Counted on where the clock was set back.
    pub time_ns: i64,
    /// The time that the file states.
    pub stated_ns: i64,
    /// What `bytes` begins with.
    pub link: LinkType,
    /// Bytes of the packet on the wire; never less than were captured.
    pub wire_length: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

impl Packet<'_> {
    /// Whether not all of it was captured.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire_length as usize
    }
}

/// A packet that is still to come, as [`Reader::glimpses`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glimpse<'a> {
    /// The time that the file states.
    pub time_ns: i64,
    /// What `bytes` begins with.
    pub link: LinkType,
    /// Bytes of the packet on the wire; never less than were captured.
    pub wire_length: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

/// The file format of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// Classic pcap.
    Pcap {
        /// Timestamps count nanoseconds rather than microseconds.
        nanoseconds: bool,
        /// Numbers in the file's headers are big-endian.
        big_endian: bool,
    },
    /// pcapng; time resolution and byte order belong to its interfaces and sections.
    Pcapng,
    /// snoop (RFC 1761), in microseconds.
    Snoop,
    /// AIX's iptrace 2.0, in nanoseconds.
    Iptrace,
}

/// What a capture file is; `Display` gives `pcap`, `pcap (ns)`, `pcapng`, `snoop`, `pcap, gzip` …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The format of the packets.
    pub container: Container,
    /// How that is compressed.
    pub compression: Compression,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.container {
            Container::Pcap { nanoseconds: false, .. } => "pcap",
            Container::Pcap { nanoseconds: true, .. } => "pcap (ns)",
            Container::Pcapng => "pcapng",
            Container::Snoop => "snoop",
            Container::Iptrace => "iptrace",
        })?;
        match self.compression {
            Compression::None => Ok(()),
            compression => write!(f, ", {compression}"),
        }
    }
}

/// What a file says of a packet besides the packet itself.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    /// The interface that it was captured on: its place in the section; 0 for pcap.
    pub interface: usize,
    options: Fields<'a>,
}

impl<'a> Details<'a> {
    /// Code and value of each option of the packet's block, numbers in little-endian byte order; what is
    /// unknown and may hold some is left out where they would have to be turned.
    pub fn options(self) -> impl Iterator<Item = (u16, Cow<'a, [u8]>)> {
        self.options.packet_options()
    }
}

/// Whether a packet may be as long as its header says.
fn credible(captured: usize, snaplen: u32) -> bool {
    captured <= CREDIBLE_PACKET || (captured <= PACKET_LIMIT && captured <= snaplen as usize)
}

/// Seconds before and behind the first packet that packets behind damage may be of: a capture that was
/// copied to the mount is mostly older.
const CREDIBLE_SECONDS: (u32, u32) = (86_400, 31 * 86_400);

/// Whether a packet of a capture that begins then may be of this second.
#[inline]
fn credible_second(begin: u32, second: u32) -> bool {
    let (before, behind) = CREDIBLE_SECONDS;
    (begin.saturating_sub(before)..=begin.saturating_add(behind)).contains(&second)
}

#[cfg(test)]
mod tests;
