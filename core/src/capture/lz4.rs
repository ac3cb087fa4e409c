//! lz4 frames, one after the other, and of a file that breaks off also what there is of the last block.
//!
//! The library gives whole blocks, of up to 8 MiB. Where the file ends within one, the sequences that are
//! there are unpacked here (lz4's block format); no checksum can be held against them.

use std::io::{self, Read};

use lz4_flex::frame::FrameDecoder;

use super::packed::Packed;

/// How far back a match may lie.
const HISTORY: usize = 64 << 10;

const LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// Each frame has a decoder of its own: the buffers of one depend on its frame.
pub(super) struct Frames {
    frame: Option<FrameDecoder<Kept>>,
    /// What the frame says of itself, once it was read.
    header: Option<Header>,
    /// The last bytes that the frame unpacked to, if its blocks refer to those before.
    history: Vec<u8>,
    /// What there is of the block in which the file ends.
    rest: Option<io::Cursor<Vec<u8>>>,
}

impl Frames {
    pub(super) fn new(packed: Packed) -> Self {
        Self { frame: Some(begun(packed)), header: None, history: Vec::new(), rest: None }
    }

    /// What was unpacked of the frame.
    fn note(&mut self, unpacked: &[u8]) {
        let kept = self.frame.as_ref().map(|frame| frame.get_ref().kept.as_slice());
        if self.header.is_none() {
            self.header = kept.and_then(Header::read);
        }
        if self.header.as_ref().is_some_and(|header| header.linked) {
            self.history.extend_from_slice(unpacked);
            if self.history.len() > 4 * HISTORY {
                self.history.drain(..self.history.len() - HISTORY);
            }
        }
    }

    /// Begins the next frame, if there is one. A frame ends with a mark, unless it is of the legacy format.
    fn next_frame(&mut self) -> io::Result<bool> {
        let Some(mut packed) = self.frame.take().map(FrameDecoder::into_inner) else {
            return Ok(false);
        };
        let (header, block) = self.block(&packed.kept);
        let whole =
            header.is_some_and(|header| if header.legacy { block.is_empty() } else { block.len() >= 4 });
        if !whole {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        loop {
            if !packed.inner.goes_on()? {
                return Ok(false);
            }
            if !packed.inner.skips()? {
                break;
            }
        }
        self.frame = Some(begun(packed.inner));
        self.header = None;
        self.history.clear();
        Ok(true)
    }

    /// What is said of the frame, and the bytes that were read last without its header.
    fn block<'k>(&self, kept: &'k [u8]) -> (Option<Header>, &'k [u8]) {
        match self.header {
            Some(header) => (Some(header), kept),
            None => match Header::read(kept) {
                Some(header) => (Some(header), kept.get(header.length..).unwrap_or_default()),
                None => (None, &[]),
            },
        }
    }

    /// What there is of the block that was read last.
    fn cut(&self) -> Vec<u8> {
        const STORED: u32 = 1 << 31;
        let kept = self.frame.as_ref().map_or(&[][..], |frame| &frame.get_ref().kept);
        let (Some(header), block) = self.block(kept) else { return Vec::new() };
        let Some((length, bytes)) = block.split_first_chunk::<4>() else { return Vec::new() };
        let length = u32::from_le_bytes(*length);
        let bytes = bytes.get(..(length & !STORED) as usize).unwrap_or(bytes);
        if length & STORED != 0 { bytes.to_vec() } else { unpack(bytes, &self.history, header.limit) }
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(rest) = &mut self.rest {
                return match rest.read(buffer)? {
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    read => Ok(read),
                };
            }
            let Some(frame) = &mut self.frame else { return Ok(0) };
            frame.get_mut().kept.clear();
            match frame.read(buffer) {
                Ok(0) => {
                    if !self.next_frame()? {
                        return Ok(0);
                    }
                }
                Ok(read) => {
                    self.note(buffer.get(..read).unwrap_or_default());
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.rest = Some(io::Cursor::new(self.cut()));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn begun(packed: Packed) -> FrameDecoder<Kept> {
    FrameDecoder::new(Kept { inner: packed, kept: Vec::new() })
}

/// Keeps the bytes that are read from it: those of one block.
struct Kept {
    inner: Packed,
    kept: Vec<u8>,
}

impl Read for Kept {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// What a frame says of itself.
#[derive(Clone, Copy)]
struct Header {
    length: usize,
    legacy: bool,
    /// Blocks refer to those before.
    linked: bool,
    /// The most bytes that a block unpacks to.
    limit: usize,
}

impl Header {
    /// magic 4, flags 1, block size 1, length of the contents 8, dictionary 4, checksum 1; the
    /// legacy format has a magic number only.
    fn read(bytes: &[u8]) -> Option<Self> {
        const INDEPENDENT: u8 = 0x20;
        const CONTENT_LENGTH: u8 = 0x08;
        const DICTIONARY: u8 = 0x01;
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        if *magic == LEGACY {
            return Some(Self { length: 4, legacy: true, linked: false, limit: 8 << 20 });
        }
        let [flags, size, ..] = rest else { return None };
        let optional = |flag: u8, length: usize| if flags & flag == 0 { 0 } else { length };
        let length = 7 + optional(CONTENT_LENGTH, 8) + optional(DICTIONARY, 4);
        let limit = 1 << (8 + 2 * (size >> 4 & 7)); // 64 KiB is 4, 4 MiB is 7
        let linked = flags & INDEPENDENT == 0;
        (bytes.len() >= length).then_some(Self { length, legacy: false, linked, limit })
    }
}

/// The first bytes of a block, at most `limit`: sequences of literals and of a match, as far as they go.
fn unpack(block: &[u8], history: &[u8], limit: usize) -> Vec<u8> {
    let mut unpacked = history.to_vec();
    let limit = limit.saturating_add(history.len());
    let mut rest = block;
    while sequence(&mut rest, &mut unpacked, limit).is_some() {}
    unpacked.truncate(limit);
    unpacked.drain(..history.len());
    unpacked
}

/// One sequence; `None` where no other follows.
fn sequence(rest: &mut &[u8], unpacked: &mut Vec<u8>, limit: usize) -> Option<()> {
    let token = byte(rest)?;
    let literals = length(rest, token >> 4)?;
    let literal = rest.get(..literals).unwrap_or(rest);
    unpacked.extend_from_slice(literal);
    *rest = rest.get(literals..)?;
    let distance = usize::from(u16::from_le_bytes([byte(rest)?, byte(rest)?]));
    let length = length(rest, token & 15)?.saturating_add(4);
    let from = unpacked.len().checked_sub(distance)?;
    if distance == 0 || unpacked.len().saturating_add(length) > limit {
        return None;
    }
    // What is copied may itself be part of the match.
    for at in from..from + length {
        unpacked.push(*unpacked.get(at)?);
    }
    Some(())
}

/// A length of four bits, to which bytes are added if all are set, up to one that is not 255.
fn length(rest: &mut &[u8], bits: u8) -> Option<usize> {
    let mut length = usize::from(bits);
    let mut goes_on = bits == 15;
    while goes_on {
        let more = byte(rest)?;
        length = length.saturating_add(usize::from(more));
        goes_on = more == 255;
    }
    Some(length)
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, others) = rest.split_first()?;
    *rest = others;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use proptest::prelude::*;

    use super::*;
    use crate::capture::Compression;
    use crate::capture::packed::Trailing;

    fn packed(bytes: &[u8], info: FrameInfo) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What comes before the end or an error, and whether it was the end.
    fn read(packed: &[u8]) -> (Vec<u8>, bool) {
        let source = io::Cursor::new(packed.to_vec());
        let mut frames = Frames::new(Packed::new(Compression::Lz4, source, Trailing::default()));
        let mut unpacked = Vec::new();
        let ended = frames.read_to_end(&mut unpacked).is_ok();
        (unpacked, ended)
    }

    /// Bytes of which some compress well, and some not at all.
    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|n: usize| if n & 0x3000 == 0 { (n * n) >> 7 } else { n & 0x70 } as u8).collect()
    }

    fn infos() -> impl Iterator<Item = FrameInfo> {
        [BlockMode::Linked, BlockMode::Independent].into_iter().flat_map(|mode| {
            [false, true].map(|sums| {
                let info = FrameInfo::new().block_mode(mode).block_size(BlockSize::Max64KB);
                info.block_checksums(sums).content_checksum(sums)
            })
        })
    }

    #[test]
    fn a_frame_that_is_cut_gives_what_is_there_wherever_it_is_cut() {
        let bytes = bytes(200_000);
        for info in infos() {
            let whole = packed(&bytes, info);
            assert_eq!(read(&whole), (bytes.clone(), true));
            let mut before = 0;
            for cut in (1..whole.len()).step_by(1_009).chain(whole.len() - 12..whole.len()) {
                let (found, ended) = read(&whole[..cut]);
                assert!(!ended, "{cut}");
                assert!(bytes.starts_with(&found), "{cut}");
                assert!(found.len() >= before, "{cut}");
                before = found.len();
            }
            assert_eq!(before, bytes.len());
        }
    }

    #[test]
    fn a_second_frame_is_cut_like_the_first() {
        let bytes = bytes(100_000);
        for info in infos() {
            let whole = packed(&bytes, info);
            let two = [&whole[..], &whole[..whole.len() / 2]].concat();
            let (found, ended) = read(&two);
            let (half, _) = read(&whole[..whole.len() / 2]);
            assert!(!ended && half.len() > 1_000);
            assert_eq!(found, [&bytes[..], &half].concat());
        }
    }

    #[test]
    fn the_legacy_format_ends_with_a_block() {
        let bytes = bytes(100_000);
        let block = lz4_flex::block::compress(&bytes);
        let whole = [&LEGACY[..], &(block.len() as u32).to_le_bytes(), &block].concat();
        assert_eq!(read(&whole), (bytes.clone(), true));
        let (found, ended) = read(&whole[..whole.len() / 2]);
        assert!(!ended && bytes.starts_with(&found) && found.len() > 2_000);
        assert_eq!(read(&[&whole[..], &[7, 0]].concat()), (bytes, false));
    }

    #[test]
    fn a_match_that_runs_into_itself_is_copied_byte_by_byte() {
        // Two literals, then a match of seven at a distance of two, then three literals of which two are there.
        assert_eq!(unpack(b"\x23ab\x02\x00\x30xy", &[], 100), b"ababababaxy");
        assert_eq!(unpack(b"\x03\x04\x00", b"history", 100), b"toryt\x6fr".to_vec());
        assert_eq!(unpack(b"\x23ab\x03\x00\x30xy", &[], 100), b"ab", "before all that was there");
        assert_eq!(unpack(b"\x23ab\x00\x00\x30xy", &[], 100), b"ab", "a distance of nothing");
        assert_eq!(unpack(b"\x2fab\x02\x00\xff\xff\xff\x00", &[], 500), b"ab", "more than a block holds");
    }

    proptest! {
        #[test]
        fn any_block_is_safe(
            block in prop::collection::vec(any::<u8>(), 0..200),
            history in prop::collection::vec(any::<u8>(), 0..40),
            limit in 0_usize..1_000,
        ) {
            prop_assert!(unpack(&block, &history, limit).len() <= limit);
        }

        #[test]
        fn any_frame_is_safe(bytes in prop::collection::vec(any::<u8>(), 0..200), linked: bool) {
            let flags = if linked { 0x40 } else { 0x60 };
            read(&[&[0x04, 0x22, 0x4d, 0x18, flags, 0x40, if linked { 0xc0 } else { 0x82 }], &bytes[..]].concat());
            read(&[&LEGACY[..], &bytes[..]].concat());
        }

        /// As far as a block goes, it unpacks as the whole one.
        #[test]
        fn the_beginning_of_a_block_is_that_of_the_whole(
            words in prop::collection::vec(0_u8..4, 0..600),
            cut: prop::sample::Index,
        ) {
            let block = lz4_flex::block::compress(&words);
            let cut = cut.index(block.len() + 1);
            let found = unpack(&block[..cut], &[], 1 << 16);
            prop_assert!(words.starts_with(&found));
            prop_assert!(cut < block.len() || found == words);
        }
    }
}
