//! Packets → a capture file of the same kind.
//!
//! pcap becomes pcap with the resolution that it had, anything else pcapng in nanoseconds. Nothing is
//! taken over but the packets' times, lengths and link types, the snaplen, and how many packets the
//! capturing system dropped: no names of hosts, interfaces or programs, no comments.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::capture::{Container, LinkType, Packet};

/// Buffered before it is compressed or written.
const BUFFER: usize = 256 << 10;

/// Level of zstd, of gzip: those of their programs.
const ZSTD_LEVEL: i32 = 3;

/// How the file is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    #[default]
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// zstd (RFC 8878).
    Zstd,
}

enum Sink {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(file) => file.write(bytes),
            Self::Zstd(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(file) => file.flush(),
            Self::Zstd(file) => file.flush(),
        }
    }
}

/// Writes a capture.
pub(super) struct Output {
    sink: BufWriter<Sink>,
    /// Of pcap: nanoseconds rather than microseconds. `None`: pcapng.
    nanoseconds: Option<bool>,
    /// The interfaces of pcapng, by their link types.
    interfaces: Vec<LinkType>,
    snaplen: u32,
}

impl Output {
    /// Begins a capture like one of this container, whose packets have this link type if it is pcap.
    pub(super) fn begin(
        file: File,
        packing: Packing,
        container: Container,
        snaplen: u32,
        link: LinkType,
    ) -> io::Result<Self> {
        let sink = match packing {
            Packing::None => Sink::Plain(file),
            Packing::Gzip => Sink::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Packing::Zstd => Sink::Zstd(zstd::Encoder::new(file, ZSTD_LEVEL)?),
        };
        let mut sink = BufWriter::with_capacity(BUFFER, sink);
        let nanoseconds = match container {
            Container::Pcap { nanoseconds, .. } => Some(nanoseconds),
            Container::Pcapng => None,
        };
        if let Some(nanoseconds) = nanoseconds {
            let magic: u32 = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
            for word in [magic, 2 | 4 << 16, 0, 0, snaplen, link.0] {
                sink.write_all(&word.to_le_bytes())?;
            }
        } else {
            // Section header: byte order, version, and a length that is not told.
            let header = [0x1a2b_3c4d, 1, u32::MAX, u32::MAX].map(u32::to_le_bytes);
            block(&mut sink, 0x0a0d_0d0a, &[header.as_flattened()])?;
        }
        Ok(Self { sink, nanoseconds, interfaces: Vec::new(), snaplen })
    }

    /// Writes the bytes in place of those of the packet; they are as many.
    pub(super) fn packet(&mut self, packet: &Packet<'_>, bytes: &[u8]) -> io::Result<()> {
        let time_ns = packet.time_ns.max(0).cast_unsigned();
        let captured = bytes.len() as u32;
        let Some(nanoseconds) = self.nanoseconds else {
            let interface = self.interface(packet.link)?;
            let words = [interface, (time_ns >> 32) as u32, time_ns as u32, captured, packet.wire_length];
            let header = words.map(u32::to_le_bytes);
            return block(&mut self.sink, 6, &[header.as_flattened(), bytes]);
        };
        let (seconds, fraction) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        let fraction = if nanoseconds { fraction } else { fraction / 1000 };
        for word in [seconds as u32, fraction as u32, captured, packet.wire_length] {
            self.sink.write_all(&word.to_le_bytes())?;
        }
        self.sink.write_all(bytes)
    }

    /// The interface of this link type.
    fn interface(&mut self, link: LinkType) -> io::Result<u32> {
        if let Some(known) = self.interfaces.iter().position(|known| *known == link) {
            return Ok(known as u32);
        }
        // if_tsresol: nanoseconds
        let options = [9, 0, 1, 0, 9, 0, 0, 0];
        let description = [(link.0 & 0xffff).to_le_bytes(), self.snaplen.to_le_bytes()];
        block(&mut self.sink, 1, &[description.as_flattened(), &options])?;
        self.interfaces.push(link);
        Ok((self.interfaces.len() - 1) as u32)
    }

    /// Ends the capture, and says how many packets the capturing system dropped, if that is known.
    pub(super) fn end(mut self, dropped: Option<u64>) -> io::Result<()> {
        if let (Some(dropped), None, [_, ..]) = (dropped, self.nanoseconds, self.interfaces.as_slice()) {
            // isb_ifdrop
            let option = [&[5, 0, 8, 0], dropped.to_le_bytes().as_slice()].concat();
            block(&mut self.sink, 5, &[&[0; 12], &option])?;
        }
        let file = match self.sink.into_inner().map_err(io::IntoInnerError::into_error)? {
            Sink::Plain(file) => file,
            Sink::Gzip(file) => file.finish()?,
            Sink::Zstd(file) => file.finish()?,
        };
        file.sync_all()
    }
}

/// Writes a block of pcapng.
fn block(sink: &mut impl Write, kind: u32, body: &[&[u8]]) -> io::Result<()> {
    let length: usize = body.iter().map(|part| part.len()).sum();
    let padding = length.wrapping_neg() & 3;
    let whole = ((12 + length + padding) as u32).to_le_bytes();
    sink.write_all(&kind.to_le_bytes())?;
    sink.write_all(&whole)?;
    for part in body {
        sink.write_all(part)?;
    }
    sink.write_all([0; 3].get(..padding).unwrap_or_default())?;
    sink.write_all(&whole)
}
