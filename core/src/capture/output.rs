//! Packets → a capture file: the other direction of this module.
//!
//! pcap becomes pcap with the resolution that it had, anything else pcapng in nanoseconds ([`Output`]); or pcapng with
//! interfaces and options as the caller wants them ([`Blocks`]). Nothing is written unasked: no names of
//! hosts, interfaces or programs, no comments.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::{Container, LinkType, Packet};
use crate::error::ReadError;

const IF_TSRESOL: u16 = 9;
const ISB_IFDROP: u16 = 5;

/// Bytes of an option's value: its length has 16 bits.
const OPTION_LIMIT: usize = u16::MAX as usize;

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

/// Why a capture could not be written anew.
#[derive(Debug)]
pub enum Failure {
    /// The capture cannot be read.
    Read(ReadError),
    /// The new capture, or what is kept aside for it, cannot be written.
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

enum Packer {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl Write for Packer {
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

/// A file that is written through a buffer, and compressed.
struct Sink(BufWriter<Packer>);

impl Sink {
    fn new(file: File, packing: Packing) -> io::Result<Self> {
        let packer = match packing {
            Packing::None => Packer::Plain(file),
            Packing::Gzip => {
                Packer::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            Packing::Zstd => Packer::Zstd(zstd::Encoder::new(file, ZSTD_LEVEL)?),
        };
        Ok(Self(BufWriter::with_capacity(BUFFER, packer)))
    }

    fn words(&mut self, words: &[u32]) -> io::Result<()> {
        words.iter().try_for_each(|word| self.0.write_all(&word.to_le_bytes()))
    }

    fn end(self) -> io::Result<()> {
        let file = match self.0.into_inner().map_err(io::IntoInnerError::into_error)? {
            Packer::Plain(file) => file,
            Packer::Gzip(file) => file.finish()?,
            Packer::Zstd(file) => file.finish()?,
        };
        file.sync_all()
    }
}

/// An interface of a pcapng file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Link type of its packets.
    pub link: LinkType,
    /// Bytes kept of each packet at most; 0 = not stated.
    pub snaplen: u32,
    /// Digits of a second's fraction that its timestamps have: at most 9.
    pub decimals: u8,
    /// Options that name it, as [`option`] writes them.
    pub names: &'a [u8],
}

/// Writes a capture block by block: pcapng, one section in little-endian.
pub struct Blocks {
    sink: Sink,
    /// Nanoseconds in a tick of each interface.
    ticks_ns: Vec<u64>,
}

impl Blocks {
    /// Begins a capture.
    pub fn begin(file: File, packing: Packing) -> io::Result<Self> {
        let mut blocks = Self { sink: Sink::new(file, packing)?, ticks_ns: Vec::new() };
        // Byte order, version, and a length that is not told.
        let header = [0x1a2b_3c4d, 1, u32::MAX, u32::MAX].map(u32::to_le_bytes);
        blocks.block(0x0a0d_0d0a, &[header.as_flattened()])?;
        Ok(blocks)
    }

    /// Describes an interface; gives its number.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<u32> {
        let decimals = interface.decimals.min(9);
        let description = [(interface.link.0 & 0xffff).to_le_bytes(), interface.snaplen.to_le_bytes()];
        let mut options = Vec::new();
        option(&mut options, IF_TSRESOL, &[decimals]);
        self.block(1, &[description.as_flattened(), interface.names, &options, &[0; 4]])?;
        self.ticks_ns.push(10_u64.pow(u32::from(9 - decimals)));
        Ok((self.ticks_ns.len() - 1) as u32)
    }

    /// Writes a packet of that interface: its time, its length on the wire, its bytes, and options as [`option`]
    /// writes them.
    pub fn packet(
        &mut self,
        interface: u32,
        time_ns: i64,
        wire_length: u32,
        bytes: &[u8],
        options: &[u8],
    ) -> io::Result<()> {
        let tick_ns = self.ticks_ns.get(interface as usize).copied().unwrap_or(1);
        let ticks = time_ns.max(0).cast_unsigned() / tick_ns;
        let words = [interface, (ticks >> 32) as u32, ticks as u32, bytes.len() as u32, wire_length];
        let header = words.map(u32::to_le_bytes);
        if options.is_empty() {
            return self.block(6, &[header.as_flattened(), bytes]);
        }
        let padding = [0; 3];
        let padding = padding.get(..padding_of(bytes.len())).unwrap_or_default();
        self.block(6, &[header.as_flattened(), bytes, padding, options, &[0; 4]])
    }

    /// Ends the capture, and says how many packets the capturing system dropped, if that is known.
    pub fn end(mut self, dropped: Option<u64>) -> io::Result<()> {
        if let (Some(dropped), [_, ..]) = (dropped, self.ticks_ns.as_slice()) {
            // Of the first interface, without a time.
            let mut options = Vec::new();
            option(&mut options, ISB_IFDROP, &dropped.to_le_bytes());
            self.block(5, &[&[0; 12], &options, &[0; 4]])?;
        }
        self.sink.end()
    }

    fn block(&mut self, kind: u32, body: &[&[u8]]) -> io::Result<()> {
        let length: usize = body.iter().map(|part| part.len()).sum();
        let padding = padding_of(length);
        let whole = (12 + length + padding) as u32;
        self.sink.words(&[kind, whole])?;
        for part in body {
            self.sink.0.write_all(part)?;
        }
        self.sink.0.write_all([0; 3].get(..padding).unwrap_or_default())?;
        self.sink.words(&[whole])
    }
}

/// Appends an option (section 3.5) to those of a block; what is too long for one is cut.
pub fn option(options: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..OPTION_LIMIT).unwrap_or(value);
    options.extend(code.to_le_bytes());
    options.extend((value.len() as u16).to_le_bytes());
    options.extend(value);
    options.extend([0; 3].get(..padding_of(value.len())).unwrap_or_default());
}

fn padding_of(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// Writes a capture like another one.
pub struct Output(Kind);

enum Kind {
    Pcap {
        sink: Sink,
        nanoseconds: bool,
    },
    Pcapng {
        blocks: Blocks,
        /// The interfaces, by their link types.
        interfaces: Vec<LinkType>,
        snaplen: u32,
    },
}

impl Output {
    /// Begins a capture like one of this container, whose packets have this link type if it is pcap.
    pub fn begin(
        file: File,
        packing: Packing,
        container: Container,
        snaplen: u32,
        link: LinkType,
    ) -> io::Result<Self> {
        let Container::Pcap { nanoseconds, .. } = container else {
            let blocks = Blocks::begin(file, packing)?;
            return Ok(Self(Kind::Pcapng { blocks, interfaces: Vec::new(), snaplen }));
        };
        let mut sink = Sink::new(file, packing)?;
        let magic: u32 = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        sink.words(&[magic, 2 | 4 << 16, 0, 0, snaplen, link.0])?;
        Ok(Self(Kind::Pcap { sink, nanoseconds }))
    }

    /// Writes the bytes in place of those of the packet; they are as many.
    pub fn packet(&mut self, packet: &Packet<'_>, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Kind::Pcap { sink, nanoseconds } => {
                let time_ns = packet.stated_ns.max(0).cast_unsigned();
                let (seconds, fraction) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
                let fraction = if *nanoseconds { fraction } else { fraction / 1000 };
                sink.words(&[seconds as u32, fraction as u32, bytes.len() as u32, packet.wire_length])?;
                sink.0.write_all(bytes)
            }
            Kind::Pcapng { blocks, interfaces, snaplen } => {
                let known = interfaces.iter().position(|known| *known == packet.link);
                let interface = if let Some(place) = known {
                    place as u32
                } else {
                    interfaces.push(packet.link);
                    let (link, snaplen) = (packet.link, *snaplen);
                    blocks.interface(&Interface { link, snaplen, decimals: 9, names: &[] })?
                };
                blocks.packet(interface, packet.stated_ns, packet.wire_length, bytes, &[])
            }
        }
    }

    /// Ends the capture, and says how many packets the capturing system dropped, if that is known and pcapng.
    pub fn end(self, dropped: Option<u64>) -> io::Result<()> {
        match self.0 {
            Kind::Pcap { sink, .. } => sink.end(),
            Kind::Pcapng { blocks, .. } => blocks.end(dropped),
        }
    }
}
