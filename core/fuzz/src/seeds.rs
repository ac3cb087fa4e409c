//! Seeds for the fuzz targets, cut out of captures: `seeds FOLDER CAPTURE…` writes `FOLDER/<target>/…`.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use pcapnfs_core::capture::{Packet, Reader};
use pcapnfs_core::packet::{Content, Dissector};
use pcapnfs_core::rpc::record::{Peer, RecordReader};
use pcapnfs_core::stream::assembler::{Piece, Stamp};

// It is built with the targets, and instrumented like them: the counters need their runtime.
use libfuzzer_sys as _;

/// Longer files make poor seeds: a mutation rarely hits what matters.
const LONGEST_FILE: usize = 1 << 15;

/// Packets of a capture that are used.
const PACKETS: usize = 400;

/// Bytes of a seed made of pieces.
const SEED_BYTES: usize = 2048;

struct Seeds {
    folder: PathBuf,
    written: usize,
}

impl Seeds {
    fn write(&mut self, target: &str, bytes: &[u8]) {
        let folder = self.folder.join(target);
        fs::create_dir_all(&folder).expect("the folder of the seeds can be made");
        fs::write(folder.join(format!("{:06}", self.written)), bytes).expect("a seed can be written");
        self.written += 1;
    }
}

fn main() {
    let mut words = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = words.next().expect("a folder for the seeds");
    let mut seeds = Seeds { folder, written: 0 };
    for path in words {
        take(&path, &mut seeds);
    }
    println!("{} seeds", seeds.written);
}

/// A capture's first packets as another format holds them, each behind what `header` makes of its time and
/// lengths.
fn anew(path: &Path, mut file: Vec<u8>, header: impl Fn(&Packet<'_>) -> Vec<u8>, unit: usize) -> Vec<u8> {
    let Ok(mut reader) = Reader::open(path) else { return file };
    while let Ok(Some(packet)) = reader.next() {
        if file.len() + packet.bytes.len() > LONGEST_FILE / 4 {
            break;
        }
        file.extend(header(&packet));
        file.extend_from_slice(packet.bytes);
        let padding = packet.bytes.len().next_multiple_of(unit) - packet.bytes.len();
        file.extend(std::iter::repeat_n(0, padding));
    }
    file
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn time(packet: &Packet<'_>) -> [u32; 2] {
    [(packet.stated_ns / 1_000_000_000) as u32, (packet.stated_ns % 1_000_000_000) as u32]
}

/// RFC 1761.
fn snoop(path: &Path) -> Vec<u8> {
    let header = |packet: &Packet<'_>| {
        let length = packet.bytes.len() as u32;
        let [seconds, nanoseconds] = time(packet);
        words(&[packet.wire_length, length, length.next_multiple_of(4) + 24, 0, seconds, nanoseconds / 1_000])
    };
    anew(path, [b"snoop\0\0\0", &words(&[2, 4])[..]].concat(), header, 4)
}

/// AIX's iptrace 2.0, on an Ethernet interface.
fn iptrace(path: &Path) -> Vec<u8> {
    let header = |packet: &Packet<'_>| {
        let [seconds, nanoseconds] = time(packet);
        words(&[packet.bytes.len() as u32 + 32, seconds, 1, 0, 0, 0, 0, 0x0600_0000, seconds, nanoseconds])
    };
    anew(path, b"iptrace 2.0".to_vec(), header, 1)
}

fn take(path: &Path, seeds: &mut Seeds) {
    let Ok(bytes) = fs::read(path) else { return };
    if bytes.len() <= LONGEST_FILE {
        seeds.write("capture", &bytes);
        seeds.write("decode", &bytes);
    } else {
        // Also a large one begins with what its kind begins with.
        seeds.write("decode", bytes.get(..LONGEST_FILE / 4).unwrap_or(&bytes));
    }
    for of_records in [snoop, iptrace] {
        let file = of_records(path);
        seeds.write("capture", &file);
        seeds.write("decode", &file);
    }
    let Ok(mut reader) = Reader::open(path) else { return };
    let mut dissector = Dissector::new();
    let mut pieces = Pieces::default();
    let (mut packets, mut segments) = (Vec::new(), Vec::new());
    for _ in 0..PACKETS {
        let Ok(Some(packet)) = reader.next() else { break };
        let length = (packet.bytes.len() as u16).to_be_bytes();
        packets.extend((packet.link.0 as u16).to_be_bytes());
        packets.extend([0, 0]);
        packets.extend(length);
        packets.extend_from_slice(packet.bytes);
        flush("packet", &mut packets, &[], seeds);
        if let Content::Segment(segment) = dissector.dissect(&packet) {
            let payload = segment.payload.bytes;
            let from_server = segment.source.port() == 2049;
            segments.extend([segment.flags.0, u8::from(from_server)]);
            segments.extend(segment.sequence.to_be_bytes());
            segments.extend(segment.acknowledgement.to_be_bytes());
            segments.extend([0, 9]);
            segments.extend((payload.len() as u16).to_be_bytes());
            segments.extend_from_slice(payload);
            flush("stream", &mut segments, &[], seeds);
            pieces.take(segment.source, payload, seeds);
        }
    }
}

/// Writes a seed when enough has come together.
fn flush(target: &str, bytes: &mut Vec<u8>, prefix: &[u8], seeds: &mut Seeds) {
    if bytes.len() >= SEED_BYTES {
        seeds.write(target, bytes);
        bytes.clear();
        bytes.extend_from_slice(prefix);
    }
}

/// Nothing is known of the other direction.
struct Nothing;

impl Peer for Nothing {
    fn waits_for(&self, _: u32) -> bool {
        false
    }

    fn answered(&self, _: u32, _: u64) -> bool {
        false
    }
}

/// The directions of a capture as seeds for the record target, and its messages as pairs.
#[derive(Default)]
struct Pieces {
    directions: HashMap<SocketAddr, (RecordReader, Vec<u8>)>,
    calls: HashMap<u32, Vec<u8>>,
}

impl Pieces {
    fn take(&mut self, source: SocketAddr, payload: &[u8], seeds: &mut Seeds) {
        let (reader, seed) =
            self.directions.entry(source).or_insert_with(|| (RecordReader::new(true), vec![1]));
        if payload.is_empty() {
            return;
        }
        seed.extend([0, 0]);
        seed.extend((payload.len() as u16).to_be_bytes());
        seed.extend_from_slice(payload);
        flush("record", seed, &[1], seeds);
        let mut piece = Piece::new(payload, payload.len(), Stamp::default());
        while let Some(record) = reader.next(&mut piece, &Nothing) {
            let Some(([x0, x1, x2, x3, 0, 0, 0, kind], _)) = record.bytes.split_first_chunk::<8>() else {
                continue;
            };
            let xid = u32::from_be_bytes([*x0, *x1, *x2, *x3]);
            if *kind == 0 {
                self.calls.insert(xid, record.bytes.to_vec());
            } else if let Some(call) = self.calls.remove(&xid)
                && call.len() + record.bytes.len() < SEED_BYTES
            {
                let mut pair = (call.len() as u16).to_be_bytes().to_vec();
                pair.extend([0, 0]);
                pair.extend(call);
                pair.extend_from_slice(record.bytes);
                seeds.write("message", &pair);
            }
        }
    }
}
