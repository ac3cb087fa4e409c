//! What the fuzz targets do with their bytes: one function a layer, each from the layer's input to
//! the end of its output.
//!
//! Each target ends in a panic when the decoder panics, when a promise between layers is broken, or
//! when [`within_limits`] sees an input take more time or memory than docs/robustness.md allows.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap::Cap;
use pcapnfs_core::capture::{LinkType, Packet, Reader};
use pcapnfs_core::cursor::Cursor;
use pcapnfs_core::decode::Decoder;
use pcapnfs_core::error::{Layer, Reason};
use pcapnfs_core::names::{Names, Placed};
use pcapnfs_core::nfs::{Walk, protocol};
use pcapnfs_core::packet::{Content, Dissector, Payload, Segment, TcpFlags, glance, timestamps};
use pcapnfs_core::rpc::message::{Call, ReplyStatus, recognise, unwrap_body};
use pcapnfs_core::rpc::record::{Peer, RecordReader, SEEN, SHORTENED_MEMORY};
use pcapnfs_core::stream::assembler::{Piece, Stamp};
use pcapnfs_core::stream::{Connections, Event};
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static MEMORY: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Bytes that one input may make the decoder hold at any time.
const MEMORY_LIMIT: usize = 200 << 20;

/// Processor time that one input may take for each megabyte, begun ones counted whole.
///
/// What is installed may take a second. What is run here counts each comparison: what took it longest
/// took seven times as long.
const TIME_LIMIT: Duration = Duration::from_secs(7);

/// Runs a target, and panics when the input took more time or memory than allowed.
///
/// Memory is bounded by the allocator itself: an allocation beyond the limit fails, which aborts.
pub fn within_limits(data: &[u8], target: fn(&[u8])) {
    if MEMORY.limit() == usize::MAX {
        MEMORY.set_limit(MEMORY.allocated() + MEMORY_LIMIT).expect("the limit is above what is in use");
    }
    let megabytes = u32::try_from(data.len() >> 20).unwrap_or(u32::MAX).saturating_add(1);
    let limit = TIME_LIMIT * megabytes;
    let taken = time_of(data, target);
    // A virtual machine that stands still counts that as time of what was running; what is slow is so
    // again.
    assert!(taken < limit || time_of(data, target) < limit, "{} bytes took {taken:?}", data.len());
}

/// Processor time that a target takes.
fn time_of(data: &[u8], target: fn(&[u8])) -> Duration {
    let begin = processor_time();
    target(data);
    processor_time().saturating_sub(begin)
}

/// What all threads of this process took so far: other processes do not count.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("time taken is not negative")
}

/// A file that holds `data`: the readers take paths, since they read compressed files and pipes.
fn with_file(data: &[u8], then: impl FnOnce(&PathBuf)) {
    thread_local! {
        static SCRATCH: RefCell<Option<(PathBuf, File)>> = const { RefCell::new(None) };
    }
    SCRATCH.with_borrow_mut(|scratch| {
        let (path, file) = scratch.get_or_insert_with(|| {
            let memory = PathBuf::from("/dev/shm");
            let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
            let path = folder.join(format!("pcapnfs-fuzz-{}", std::process::id()));
            let file = File::create(&path).expect("the scratch folder can be written");
            (path, file)
        });
        file.set_len(0).expect("the scratch file can be cut");
        file.seek(SeekFrom::Start(0)).expect("the scratch file can be rewound");
        file.write_all(data).expect("the scratch file can be written");
        then(path);
    });
}

/// A capture file → packets → segments, datagrams and others.
pub fn capture(data: &[u8]) {
    let Ok(mut reader) = Reader::from_bytes(Path::new("fuzzed"), io::Cursor::new(data.to_vec())) else {
        return;
    };
    reader = reader.asking(timestamps);
    let mut dissector = Dissector::new();
    loop {
        let seen = reader.glimpses().next().map(|seen| (seen.link, seen.wire_length, seen.bytes.to_vec()));
        reader.glimpses().take(8).filter_map(|seen| glance(&seen)).for_each(check_segment);
        let taken_up = reader.taken_up();
        let Ok(Some(packet)) = reader.next() else { break };
        assert!(packet.bytes.len() <= packet.wire_length as usize);
        let as_seen =
            seen.is_none_or(|seen| seen == (packet.link, packet.wire_length, packet.bytes.to_vec()));
        check(&dissector.dissect(&packet));
        assert!(as_seen || reader.taken_up() > taken_up);
    }
    while let Some(part) = dissector.overdue(None) {
        check(&Content::Datagram(part.datagram));
    }
}

/// Packets, each behind its link type, missing bytes and length (two bytes each) → contents.
pub fn packet(data: &[u8]) {
    let mut dissector = Dissector::new();
    let mut rest = data;
    let mut number = 0;
    while let Some(([l0, l1, m0, m1, n0, n1], after)) = rest.split_first_chunk::<6>() {
        let length = usize::from(u16::from_be_bytes([*n0, *n1])).min(after.len());
        let (bytes, after) = after.split_at(length);
        number += 1;
        let packet = Packet {
            number,
            time_ns: number.cast_signed() * 1000,
            stated_ns: number.cast_signed() * 1000,
            link: LinkType(u16::from_be_bytes([*l0, *l1]).into()),
            wire_length: length as u32 + u32::from(u16::from_be_bytes([*m0, *m1])),
            bytes,
        };
        check(&dissector.dissect(&packet));
        rest = after;
    }
}

fn check_segment(segment: Segment<'_>) {
    assert!(segment.payload.bytes.len() <= segment.payload.length);
}

fn check(content: &Content<'_>) {
    match content {
        Content::Segment(segment) => check_segment(*segment),
        Content::Datagram(datagram) => assert!(datagram.payload.bytes.len() <= datagram.payload.length),
        Content::Roce(packet) => assert!(packet.payload.bytes.len() <= packet.payload.length),
        Content::Other(other) => assert!(!other.code().is_empty()),
    }
}

/// Segments of one connection, each behind flags, side, sequence and acknowledgement number, time and
/// length → bytes in order. What comes out is never more than went in, but for gaps.
pub fn stream(data: &[u8]) {
    let end = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let ends = [end(700), end(2049)];
    let mut connections = Connections::default();
    let (mut offered, mut delivered, mut time_ns) = (0, 0, 0_i64);
    let mut rest = data;
    let mut frame = 0;
    let mut count = |event: Event<'_>| match event {
        Event::Piece(piece) => {
            assert!(piece.bytes.len() <= piece.length && piece.length > 0);
            delivered += piece.length;
        }
        Event::Gap { length, .. } => assert!(length > 0),
    };
    while let Some(([flags, how, q0, q1, q2, q3, a0, a1, a2, a3, t0, t1, n0, n1], after)) =
        rest.split_first_chunk::<14>()
    {
        let length = usize::from(u16::from_be_bytes([*n0, *n1]));
        let (bytes, after) = after.split_at(length.min(after.len()));
        let bytes = bytes.get(..bytes.len() >> (how >> 5)).unwrap_or(bytes);
        frame += 1;
        time_ns = time_ns.saturating_add(i64::from(i16::from_be_bytes([*t0, *t1])) << (how >> 1 & 15));
        let side = usize::from(how & 1);
        let segment = Segment {
            source: ends[side],
            destination: ends[1 - side],
            sequence: u32::from_be_bytes([*q0, *q1, *q2, *q3]),
            acknowledgement: u32::from_be_bytes([*a0, *a1, *a2, *a3]),
            flags: TcpFlags(*flags),
            window: 1000,
            options: &[],
            payload: Payload::new(bytes, length),
        };
        offered += length;
        let stamp = Stamp { frame, time_ns };
        if connections.visit_due(stamp) {
            connections.visit(stamp, |_, _, _, event| count(event));
        }
        connections.segment(&segment, stamp, |_, _, _, event| count(event));
        rest = after;
    }
    connections.flush(|_, _, _, event| count(event));
    assert!(delivered <= offered, "{delivered} bytes came out, {offered} went in");
}

/// The other direction: it waits for replies with even xids, and answered calls whose xid divides by three.
struct Parity;

impl Peer for Parity {
    fn waits_for(&self, xid: u32) -> bool {
        xid.is_multiple_of(2)
    }

    fn answered(&self, xid: u32, _: u64) -> bool {
        xid.is_multiple_of(3)
    }

    /// Of every second message something is left out, up to a place that the message says.
    fn unread(&self, begun: &[u8], length: usize) -> Option<Range<usize>> {
        let place = usize::from(*begun.last()?);
        place.is_multiple_of(2).then_some(SEEN.min(begun.len())..length * place / 255)
    }
}

/// A byte stream with holes → messages. Each piece stands behind what is lost before it (one byte:
/// 0 to 14 nothing, 1 for short memory, then 32 bytes each), what the snaplen cut off it (one byte), and its length (two).
pub fn record(data: &[u8]) {
    let trusted = data.first().is_some_and(|byte| byte & 1 == 1);
    let mut reader = RecordReader::new(trusted);
    let mut rest = data.get(1..).unwrap_or_default();
    let mut frame = 0;
    while let Some(([lost, cut, n0, n1], after)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes([*n0, *n1])).min(after.len());
        let (bytes, after) = after.split_at(length);
        frame += 1;
        let stamp = Stamp { frame, time_ns: 0 };
        if let Some(lost) = lost.checked_sub(15) {
            let message = reader.gap(32 * usize::from(lost) + 1, stamp, &Parity);
            assert!(message.is_none_or(|record| record.bytes.len() <= record.length));
        }
        let mut piece = Piece::new(bytes, length + usize::from(*cut), stamp);
        while let Some(record) = reader.next(&mut piece, &Parity) {
            assert!(record.bytes.len() <= record.length);
            assert!(record.first <= record.last);
            let known = recognise(record.bytes).is_some();
            if !known && cut & 1 == 1 {
                reader.distrust();
            }
        }
        assert_eq!(piece.length, 0, "a piece is used up");
        if lost == &1 {
            reader.shorten();
            assert!(reader.capacity() <= SHORTENED_MEMORY);
        }
        rest = after;
    }
    assert!(reader.end(&Parity).is_none_or(|record| recognise(record.bytes).is_some()));
    assert!(reader.end(&Parity).is_none(), "only once");
}

/// A call and its reply (two bytes: the call's length; two: what was not captured of each) → operations
/// and names.
pub fn message(data: &[u8]) {
    let Some(([n0, n1, call_cut, reply_cut], messages)) = data.split_first_chunk::<4>() else { return };
    let length = usize::from(u16::from_be_bytes([*n0, *n1])).min(messages.len());
    let (call, reply) = messages.split_at(length);
    let over = |bytes: &[u8], cut: u8| bytes.len() + usize::from(cut) * 16;
    let mut c = Cursor::of_prefix(call, over(call, *call_cut), Reason::Truncated, Layer::Rpc);
    let Ok((header, stop)) = Call::of_message(&mut c) else { return };
    let arguments = match stop {
        Some(stop) => Err(stop),
        None => unwrap_body(&mut c, &header.credential, Layer::Call),
    };
    let mut c = Cursor::of_prefix(reply, over(reply, *reply_cut), Reason::Missing, Layer::Rpc);
    let results = c.u64().and_then(|_xid_and_reply| ReplyStatus::parse(&mut c)).and_then(|status| {
        assert!(!status.name().is_empty());
        unwrap_body(&mut c, &header.credential, Layer::Reply)
    });
    let results = (!reply.is_empty()).then_some(results);
    let shape = protocol(header.program, header.version).shape;
    let walk = Walk::of(Vec::new(), shape, header.procedure, arguments, results);
    assert!(walk.outcome().main.is_none_or(|main| main < walk.operations.len()));
    let (mut names, mut placed) = (Names::default(), Placed::default());
    names.place(0, &walk.operations, &mut placed);
    assert_eq!(placed.places.len(), walk.operations.len());
}

/// A capture file → tables.
pub fn decode(data: &[u8]) {
    with_file(data, |path| {
        let Ok(mut decoder) = Decoder::open(std::slice::from_ref(path), &[]) else { return };
        while let Some(batches) = decoder.next_batches().expect("batches can be built") {
            assert!(batches.iter().all(|(table, _)| !table.is_empty()));
        }
        let meta = decoder.finish();
        let read: u64 = meta.files.iter().map(|file| file.packets).sum();
        assert_eq!(meta.packets.values().sum::<u64>(), read, "packets in = packets accounted for");
    });
}
