//! pcap and pcapng, little-endian, micro- or nanoseconds.

use crate::options::Options;
use std::io::{BufWriter, Result, Write};

/// Time 0 of the traffic, seconds since 1970.
pub const EPOCH_S: u32 = 1_790_000_000;

const PCAP_MICROSECONDS: u32 = 0xA1B2_C3D4;
const PCAP_NANOSECONDS: u32 = 0xA1B2_3C4D;
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const ETHERNET: u32 = 1;
/// Option `if_tsresol` of one byte: 10⁻⁹ s.
const RESOLUTION_NANOSECONDS: [u32; 3] = [0x0001_0009, 9, 0];

pub struct CaptureFile {
    out: BufWriter<Box<dyn Write>>,
    pcapng: bool,
    nanoseconds: bool,
    snaplen: usize,
}

/// The time stamp that a moment gets, nanoseconds since time 0: rounded down to what the format
/// can hold.
pub fn stamp_ns(at: f64, nanoseconds: bool) -> u64 {
    let exact = (at * 1e9) as u64;
    if nanoseconds { exact } else { exact / 1000 * 1000 }
}

impl CaptureFile {
    /// Creates the file and writes its header.
    pub fn create(options: &Options) -> Result<CaptureFile> {
        let out: Box<dyn Write> = if options.to_stdout() {
            Box::new(std::io::stdout())
        } else {
            Box::new(std::fs::File::create(&options.output)?)
        };
        let mut file = CaptureFile {
            out: BufWriter::with_capacity(1 << 20, out),
            pcapng: options.pcapng,
            nanoseconds: options.nanoseconds,
            snaplen: options.snaplen,
        };
        let snaplen = options.snaplen as u32;
        if !options.pcapng {
            let magic = if options.nanoseconds { PCAP_NANOSECONDS } else { PCAP_MICROSECONDS };
            file.words(&[magic, 2 | 4 << 16, 0, 0, snaplen, ETHERNET])?;
            return Ok(file);
        }
        file.words(&[SECTION_HEADER, 28, BYTE_ORDER, 1, u32::MAX, u32::MAX, 28])?;
        if options.nanoseconds {
            file.words(&[INTERFACE_DESCRIPTION, 32, ETHERNET, snaplen])?;
            file.words(&RESOLUTION_NANOSECONDS)?;
            file.words(&[32])?;
        } else {
            file.words(&[INTERFACE_DESCRIPTION, 20, ETHERNET, snaplen, 20])?;
        }
        Ok(file)
    }

    /// Writes a packet that was seen `at` seconds after time 0.
    pub fn write(&mut self, at: f64, frame: &[u8]) -> Result<()> {
        let kept = &frame[..frame.len().min(self.snaplen)];
        let lengths = [kept.len() as u32, frame.len() as u32];
        let stamp = u64::from(EPOCH_S) * 1_000_000_000 + stamp_ns(at, self.nanoseconds);
        let unit = if self.nanoseconds { 1 } else { 1000 };
        if !self.pcapng {
            let fraction = stamp % 1_000_000_000 / unit;
            self.words(&[(stamp / 1_000_000_000) as u32, fraction as u32])?;
            self.words(&lengths)?;
            return self.out.write_all(kept);
        }
        let padding = kept.len().next_multiple_of(4) - kept.len();
        let block = (32 + kept.len() + padding) as u32;
        let ticks = stamp / unit;
        self.words(&[ENHANCED_PACKET, block, 0, (ticks >> 32) as u32, ticks as u32])?;
        self.words(&lengths)?;
        self.out.write_all(kept)?;
        self.out.write_all(&[0; 3][..padding])?;
        self.words(&[block])
    }

    pub fn finish(mut self) -> Result<()> {
        self.out.flush()
    }

    fn words(&mut self, words: &[u32]) -> Result<()> {
        words.iter().try_for_each(|word| self.out.write_all(&word.to_le_bytes()))
    }
}
