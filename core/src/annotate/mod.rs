//! A capture with comments at some of its packets, for Wireshark to show.
//!
//! Takes capture files and comments by frame number; gives a pcapng file with the same packets in the same order,
//! so that frames have the numbers that the decode gave them. Packets keep their bytes, lengths, times with their
//! resolution, and interfaces with their names; options of packets that a file has already, comments among them,
//! come before the new ones, which replace those that were written here before. What stands between the packets
//! (names of hosts, secrets of TLS) is not taken over.
//!
//! Promises: the files are read once as a stream; memory is one packet, the comments, and an entry for each
//! interface up to [`INTERFACE_LIMIT`]. A file that breaks off gives every packet before that.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::capture::merge::{Merge, Next};
use crate::capture::output::{Blocks, Failure, Interface, Packing, option};
use crate::capture::{LinkType, Reader};
use crate::error::ReadError;

/// Interfaces told apart; beyond it those of one link type and resolution are one, without a name.
const INTERFACE_LIMIT: usize = 1 << 16;

/// Bytes of options that a packet keeps; those after it are left out.
const OPTIONS_LIMIT: usize = 256 << 10;

/// Bytes of a comment: what follows is cut off. A quarter of what an option holds, so that several fit any reader.
pub const COMMENT_LIMIT: usize = 16 << 10;

/// Packets between two questions whether to go on.
const PACKETS_PER_TURN: u64 = 1 << 16;

const OPT_COMMENT: u16 = 1;

/// What the comments begin with that are written here: annotated once more, a capture has those of the last time.
const MARK: &[u8] = b"pcapnfs ";

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Packets written.
    pub packets: u64,
    /// Comments written: those of frames that are there.
    pub comments: u64,
    /// The files that break off, and where and why.
    pub damage: Vec<(PathBuf, String)>,
}

/// Writes the captures at `paths` anew into `to`, with the comments of these frames. `go_on` is asked now and then,
/// with the part done of the bytes to be read.
///
/// Errors: [`Failure`].
pub fn annotate(
    paths: &[PathBuf],
    to: File,
    packing: Packing,
    comments: &BTreeMap<u64, Vec<String>>,
    mut go_on: impl FnMut(f64) -> bool,
) -> Result<Report, Failure> {
    let mut captures = Merge::open(paths)?;
    let names: Vec<PathBuf> = captures.paths().map(PathBuf::from).collect();
    let mut writer = Writer::new(Blocks::begin(to, packing)?);
    let mut report = Report::default();
    let mut dropped: Option<u64> = None;
    let mut held = Held::default();
    while let Some(next) = captures.next() {
        let file = match next {
            Next::Packet(file, packet) => {
                report.packets += 1;
                held.bytes.clear();
                held.bytes.extend_from_slice(packet.bytes);
                (held.time_ns, held.wire_length) = (packet.stated_ns, packet.wire_length);
                file
            }
            Next::End(file, error) => {
                if let Some(found) = captures.reader(file).and_then(Reader::dropped) {
                    dropped = Some(dropped.unwrap_or(0).saturating_add(found));
                }
                let damage = error.as_ref().map(ReadError::what);
                report.damage.extend(names.get(file).cloned().zip(damage));
                continue;
            }
        };
        let told = comments.get(&report.packets).map_or(&[][..], Vec::as_slice);
        report.comments += told.len() as u64;
        if let Some(reader) = captures.reader(file) {
            writer.packet(reader, &held, told)?;
        }
        if report.packets % PACKETS_PER_TURN == 0 && !go_on(captures.done()) {
            return Err(Failure::Stopped);
        }
    }
    writer.blocks.end(dropped)?;
    Ok(report)
}

/// A packet, kept while its file is asked what else there is of it.
#[derive(Default)]
struct Held {
    time_ns: i64,
    wire_length: u32,
    bytes: Vec<u8>,
}

/// An interface as it is told apart from others: its place in its section comes first, so that two that are
/// described alike stay two.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Known {
    place: usize,
    link: LinkType,
    snaplen: u32,
    decimals: u8,
    names: Box<[u8]>,
}

impl Known {
    fn new(place: usize, interface: &Interface<'_>) -> Self {
        let Interface { link, snaplen, decimals, names } = *interface;
        Self { place, link, snaplen, decimals, names: names.into() }
    }

    fn is(&self, place: usize, interface: &Interface<'_>) -> bool {
        self.place == place && self.interface() == *interface
    }

    fn interface(&self) -> Interface<'_> {
        Interface { link: self.link, snaplen: self.snaplen, decimals: self.decimals, names: &self.names }
    }
}

struct Writer {
    blocks: Blocks,
    interfaces: HashMap<Known, u32, RandomState>,
    /// The interface of the packet before, and its number.
    last: Option<(Known, u32)>,
    options: Vec<u8>,
}

impl Writer {
    fn new(blocks: Blocks) -> Self {
        Self { blocks, interfaces: HashMap::default(), last: None, options: Vec::new() }
    }

    fn packet(&mut self, reader: &Reader, held: &Held, comments: &[String]) -> io::Result<()> {
        let details = reader.details();
        let interface = self.interface(reader, details.interface)?;
        self.options.clear();
        for (code, value) in details.options() {
            let ours = code == OPT_COMMENT && value.starts_with(MARK);
            if !ours && self.options.len() + value.len() <= OPTIONS_LIMIT {
                option(&mut self.options, code, &value);
            }
        }
        for comment in comments {
            option(&mut self.options, OPT_COMMENT, cut(comment).as_bytes());
        }
        self.blocks.packet(interface, held.time_ns, held.wire_length, &held.bytes, &self.options)
    }

    /// The number of the interface at this place of the reader's section.
    fn interface(&mut self, reader: &Reader, place: usize) -> io::Result<u32> {
        let Some(described) = reader.interface(place) else { return Ok(0) };
        if let Some((last, number)) = &self.last
            && last.is(place, &described)
        {
            return Ok(*number);
        }
        if !self.interfaces.contains_key(&Known::new(place, &described)) {
            // Those before it, too: it keeps its number.
            for before in 0..place {
                if let Some(described) = reader.interface(before) {
                    self.number(Known::new(before, &described))?;
                }
            }
        }
        let known = Known::new(place, &described);
        let number = self.number(known.clone())?;
        self.last = Some((known, number));
        Ok(number)
    }

    fn number(&mut self, known: Known) -> io::Result<u32> {
        if let Some(number) = self.interfaces.get(&known) {
            return Ok(*number);
        }
        if self.interfaces.len() >= INTERFACE_LIMIT && !known.is_plain() {
            return self.number(Known { place: 0, snaplen: 0, names: Box::default(), ..known });
        }
        let number = self.blocks.interface(&known.interface())?;
        self.interfaces.insert(known, number);
        Ok(number)
    }
}

impl Known {
    fn is_plain(&self) -> bool {
        self.place == 0 && self.snaplen == 0 && self.names.is_empty()
    }
}

/// The comment, or as much of it as may be written.
fn cut(comment: &str) -> &str {
    let end = (0..=COMMENT_LIMIT.min(comment.len())).rev().find(|end| comment.is_char_boundary(*end));
    comment.get(..end.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
