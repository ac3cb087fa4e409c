//! A capture without names and data: capture → capture whose analysis is the same but for names.
//!
//! Takes capture files and a key; gives a file with the same packets at the same times, in which
//! addresses, names and their like are pseudonyms ([`pseudonyms`]) and everything that no parser says to be a number
//! is zero. docs/redaction.md says what stays.
//!
//! The files are read twice. First it is decoded, and of each message what may be told goes to a
//! [`journal`], by its place in the stream ([`message`]). Then each packet is begun as zeros, into which
//! its headers are written with other addresses ([`headers`]) and, from the journal, what may be told of its part of
//! the stream ([`frames`]): so whatever was missed is missing, in each copy of a packet.
//!
//! Promises: what comes out of a hostile capture are numbers of its headers, and values that a parser took for
//! numbers; memory stays within named limits plus an entry for each connection with messages, each
//! name, and each block of the journal.

mod addresses;
mod extensions;
mod fragments;
mod frames;
mod headers;
mod journal;
mod message;
mod pseudonyms;
mod values;
mod verifiers;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use crate::capture::merge::Merge;
use crate::capture::output::{Failure, Output, Packing};
use crate::capture::{Container, LinkType, Packet, Reader};
use crate::decode::{Decoder, FileSummary};
use crate::error::ReadError;
use crate::order::{Order, Restore};
use crate::packet;
use crate::table::Choice;
use frames::Frames;
use journal::Journal;
use message::{Redactor, Watching};
pub use pseudonyms::KEY_LENGTH;
use pseudonyms::Pseudonyms;
use values::Values;

/// Packets between two questions whether to go on.
const PACKETS_PER_TURN: u64 = 1 << 16;

/// How to redact.
#[derive(Clone, Debug)]
pub struct Options {
    /// Equal keys give equal pseudonyms.
    pub key: [u8; KEY_LENGTH],
    /// Neither endings of names nor the dots before them are kept.
    pub strict: bool,
    /// Ports taken for RPC without proof.
    pub ports: Vec<u16>,
    /// How the redacted capture is compressed.
    pub packing: Packing,
    /// Memory for what is known of files, in bytes; `None`: what a decoder takes unasked. No file is told, so
    /// that nothing is lost where some are forgotten.
    pub files_bytes: Option<usize>,
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The captures that were read, in order of their first packets.
    pub files: Vec<FileSummary>,
    /// Packets written.
    pub packets: u64,
    /// Bytes of packets that were not zero and are now.
    pub removed_bytes: u64,
    /// Messages of which something is told.
    pub messages: u64,
    /// Values replaced, by what they were: addresses, hosts, users and owners once each, all else as often as told.
    pub replaced: BTreeMap<&'static str, u64>,
}

/// Writes the captures at `paths` anew into `to`: several become one, in order of time. The journal is kept in
/// `scratch`, an empty file open for reading and writing. `go_on` is asked now and then, with the part done of the
/// bytes to be read.
///
/// Errors: [`Failure`]. A capture that breaks off is written up to there.
pub fn redact(
    paths: &[PathBuf],
    to: File,
    scratch: File,
    options: &Options,
    mut go_on: impl FnMut(f64) -> bool,
) -> Result<Report, Failure> {
    let values = Values::new(Pseudonyms::new(options.key, options.strict));
    let redactor = Watching::new(Redactor::new(values, Journal::new(scratch)));
    let witness = Box::new(redactor.clone());
    let mut decoder = Decoder::watched(paths, &options.ports, Some(witness))?;
    decoder.choose(&Choice::new());
    if let Some(bytes) = options.files_bytes {
        decoder.allow(bytes);
    }
    while decoder.next_batches().is_ok_and(|batches| batches.is_some()) {
        if redactor.failed() {
            break; // The end of writing says why.
        }
        if !go_on(decoder.done() / 2.0) {
            return Err(Failure::Stopped);
        }
    }
    let files = decoder.finish().files.clone();
    drop(decoder);
    let Some(redactor) = redactor.into_inner() else { return Err(Failure::Stopped) };
    let Redactor { values, journal, openings, messages, .. } = redactor;
    let mut frames = Frames::new(values, journal.finish()?, openings, paths.len());

    let (container, link) = common(paths)?;
    let snaplen = files.iter().map(|file| file.snaplen).max().unwrap_or(0);
    let mut output = Output::begin(to, options.packing, container, snaplen, link)?;
    // Asked as by the decoder, so that both readings take the packets in the same order.
    let mut captures = Merge::open(paths)?.asking(packet::timestamps);
    let (mut order, mut restore, mut packets) = (Order::default(), Restore::default(), 0);
    let mut write = |packet: &Packet<'_>| output.packet(packet, packet.bytes);
    // Where reading ends early is in the summary of the first reading.
    while let Some(written) = order.next(&mut captures, |placed| {
        frames.next(placed, &mut |placed, bytes| restore.put(placed, bytes, &mut write))
    }) {
        written?;
        packets += 1;
        if packets % PACKETS_PER_TURN == 0 && !go_on(0.5 + captures.done() / 2.0) {
            return Err(Failure::Stopped);
        }
    }
    frames.end(&mut |placed, bytes| restore.put(placed, bytes, &mut write))?;
    restore.end(write)?;
    output.end(files.iter().filter_map(|file| file.dropped_packets).reduce(u64::saturating_add))?;
    let removed_bytes = frames.removed();
    let replaced = frames.into_values().into_replaced();
    Ok(Report { files, packets, removed_bytes, messages, replaced })
}

/// The container and link type that all of these captures have; else pcapng, which may hold any.
fn common(paths: &[PathBuf]) -> Result<(Container, LinkType), ReadError> {
    let mut found = None;
    for path in paths {
        let reader = match Reader::open(path) {
            Err(error) if error.ends_at_once() => continue,
            opened => opened?,
        };
        let Container::Pcap { nanoseconds, .. } = reader.format().container else {
            return Ok((Container::Pcapng, LinkType::ETHERNET));
        };
        // Written in one byte order, whichever it was.
        let one = (Container::Pcap { nanoseconds, big_endian: false }, reader.link());
        if *found.get_or_insert(one) != one {
            return Ok((Container::Pcapng, LinkType::ETHERNET));
        }
    }
    let (container, link) = found.unwrap_or((Container::Pcapng, None));
    Ok((container, link.unwrap_or(LinkType::ETHERNET)))
}
