//! A capture without names and data: capture → capture whose analysis is the same but for names.
//!
//! Takes a capture file and a key; gives a file with the same packets at the same times, in which
//! addresses, names and their like are pseudonyms ([`pseudonyms`]) and everything that no parser says to be a number
//! is zero. docs/redaction.md says what stays.
//!
//! The file is read twice. First it is decoded, and of each message what may be told goes to a
//! [`journal`], by its place in the stream ([`message`]). Then each packet is begun as zeros, into which
//! its headers are written with other addresses ([`headers`]) and, from the journal, what may be told of its part of
//! the stream ([`frames`]): so whatever was missed is missing, in each copy of a packet.
//!
//! Promises: what comes out of a hostile capture are numbers of its headers, and values that a parser took for
//! numbers; memory stays within named limits plus an entry for each connection with messages, each
//! name, and each block of the journal.

mod addresses;
mod extensions;
mod frames;
mod headers;
mod journal;
mod message;
mod output;
mod pseudonyms;
mod values;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::capture::{LinkType, Reader};
use crate::decode::{Decoder, FileSummary};
use crate::error::ReadError;
use crate::table::Choice;
use frames::Frames;
use journal::Journal;
use message::{Redactor, Watching};
use output::Output;
pub use output::Packing;
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
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The capture that was read.
    pub file: FileSummary,
    /// Packets written.
    pub packets: u64,
    /// Bytes of packets that were not zero and are now.
    pub removed_bytes: u64,
    /// Messages of which something is told.
    pub messages: u64,
    /// Values replaced, by what they were.
    pub replaced: BTreeMap<&'static str, u64>,
}

/// Why redaction failed.
#[derive(Debug)]
pub enum Failure {
    /// The capture cannot be read.
    Read(ReadError),
    /// The redacted capture or the journal cannot be written.
    Write(io::Error),
    /// Whoever was asked did not want to go on.
    Stopped,
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Writes the capture at `path` anew into `to`. The journal is kept in `scratch`, an empty file open for
/// reading and writing. `go_on` is asked now and then, with the part done of the bytes to be read.
///
/// Errors: [`Failure`]. A capture that breaks off is written up to there.
pub fn redact(
    path: &Path,
    to: File,
    scratch: File,
    options: &Options,
    mut go_on: impl FnMut(f64) -> bool,
) -> Result<Report, Failure> {
    let values = Values::new(Pseudonyms::new(options.key, options.strict));
    let redactor = Watching::new(Redactor::new(values, Journal::new(scratch)));
    let witness = Box::new(redactor.clone());
    let mut decoder = Decoder::watched(&[PathBuf::from(path)], &options.ports, Some(witness))?;
    decoder.choose(&Choice::new());
    while decoder.next_batches().is_ok_and(|batches| batches.is_some()) {
        let (read, total) = decoder.progress();
        if redactor.failed() {
            break; // The end of writing says why.
        }
        if !go_on(done(read, total) / 2.0) {
            return Err(Failure::Stopped);
        }
    }
    let file = decoder.finish().files.first().cloned().unwrap_or_default();
    drop(decoder);
    let Some(redactor) = redactor.into_inner() else { return Err(Failure::Stopped) };
    let Redactor { values, journal, openings, messages, .. } = redactor;
    let mut frames = Frames::new(values, journal.finish()?, openings);

    let mut reader = Reader::open(path)?;
    let total = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let container = reader.format().container;
    let link = reader.link().unwrap_or(LinkType::ETHERNET);
    let mut output = Output::begin(to, options.packing, container, file.snaplen, link)?;
    let mut packets = 0;
    // Where reading ends early is in the summary of the first reading.
    while let Ok(Some(packet)) = reader.next() {
        output.packet(&packet, frames.next(&packet)?)?;
        packets += 1;
        if packets % PACKETS_PER_TURN == 0 && !go_on(0.5 + done(reader.consumed(), total) / 2.0) {
            return Err(Failure::Stopped);
        }
    }
    output.end(file.dropped_packets)?;
    let removed_bytes = frames.removed;
    let Values { mut replaced, addresses, .. } = frames.into_values();
    *replaced.entry("addresses").or_default() += addresses.count();
    Ok(Report { file, packets, removed_bytes, messages, replaced })
}

fn done(read: u64, total: u64) -> f64 {
    #[allow(clippy::cast_precision_loss)] // Progress.
    if total == 0 { 0.0 } else { (read as f64 / total as f64).min(1.0) }
}
