//! Files built here byte by byte: the same packets in every format, and files that are none.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use super::*;
use crate::error::ReadError;

/// What a test expects of a packet: time, wire length, bytes.
type Expected = (i64, u32, Vec<u8>);

/// Byte order of a file under test.
#[derive(Clone, Copy)]
enum Order {
    Big,
    Little,
}

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }
}

fn packets() -> Vec<Expected> {
    vec![
        (1_700_000_000_000_001_000, 60, (0..60).collect()),
        (1_700_000_000_999_999_000, 1514, vec![7; 96]),
        (1_700_000_001_000_000_000, 0, Vec::new()),
        (1_700_000_002_500_000_000, 300_000, vec![9; 300_000]),
    ]
}

fn pcap(order: Order, magic: u32, snaplen: u32, packets: &[Expected]) -> Vec<u8> {
    let unit = if magic == 0xa1b2_3c4d { 1 } else { 1_000 };
    let mut file = Vec::new();
    file.extend(order.u32(magic));
    file.extend(order.u16(2)); // version, major
    file.extend(order.u16(4)); // version, minor
    file.extend([0; 8]); // reserved
    file.extend(order.u32(snaplen));
    file.extend(order.u32(1)); // Ethernet
    for (time_ns, wire_length, bytes) in packets {
        file.extend(order.u32(u32::try_from(time_ns / 1_000_000_000).unwrap()));
        file.extend(order.u32(u32::try_from(time_ns % 1_000_000_000 / unit).unwrap()));
        file.extend(order.u32(bytes.len() as u32));
        file.extend(order.u32(*wire_length));
        if magic == 0xa1b2_cd34 {
            file.extend([0xee; 8]); // interface, protocol, packet type, padding
        }
        file.extend(bytes);
    }
    file
}

fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = Vec::new();
    option.extend(order.u16(code));
    option.extend(order.u16(value.len() as u16));
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(padded as u32 + 12);
    let mut block = [order.u32(kind), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

fn section(order: Order) -> Vec<u8> {
    // byte-order magic, version 1.0, section length unknown
    let body = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &[0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &body)
}

fn interface(order: Order, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
    block(order, 1, &[&order.u16(link)[..], &[0, 0], &order.u32(snaplen), options].concat())
}

fn enhanced(order: Order, interface: u32, ticks: u64, wire_length: u32, bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(order.u32(interface));
    body.extend(order.u32((ticks >> 32) as u32));
    body.extend(order.u32(ticks as u32));
    body.extend(order.u32(bytes.len() as u32));
    body.extend(order.u32(wire_length));
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(option(order, 1, b"a comment"));
    block(order, 6, &body)
}

fn pcapng(order: Order, packets: &[Expected]) -> Vec<u8> {
    let mut file = section(order);
    file.extend(block(order, 0x0bad, &[1, 2, 3])); // of unknown type
    file.extend(interface(order, 1, 400_000, &option(order, 9, &[9]))); // nanoseconds
    for (time_ns, wire_length, bytes) in packets {
        let ticks = u64::try_from(*time_ns).unwrap();
        file.extend(enhanced(order, 0, ticks, *wire_length, bytes));
    }
    file
}

/// Seconds, and nanoseconds since then.
fn time(time_ns: i64) -> [u32; 2] {
    [time_ns / 1_000_000_000, time_ns % 1_000_000_000].map(|part| u32::try_from(part).unwrap())
}

/// RFC 1761.
fn snoop(packets: &[Expected]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
    let mut file = [b"snoop\0\0\0", &words(&[2, 4])[..]].concat(); // version, Ethernet
    for (place, (time_ns, wire_length, bytes)) in (0..).zip(packets) {
        let padded = bytes.len().next_multiple_of(4);
        file.extend(words(&[*wire_length, bytes.len() as u32, padded as u32 + 24, 3 * place]));
        let [seconds, nanoseconds] = time(*time_ns);
        file.extend(words(&[seconds, nanoseconds / 1_000]));
        file.extend(bytes);
        file.resize(file.len() + padded - bytes.len(), 0);
    }
    file
}

/// Each packet of an interface of this type.
fn iptrace(kind: u8, packets: &[Expected]) -> Vec<u8> {
    let mut file = b"iptrace 2.0".to_vec();
    for (time_ns, _, bytes) in packets {
        let [seconds, nanoseconds] = time(*time_ns).map(u32::to_be_bytes);
        let before: &[u8] = if kind == 0x0f { &[0xaa; 3] } else { &[] };
        file.extend((32 + before.len() as u32 + bytes.len() as u32).to_be_bytes());
        file.extend(seconds);
        file.extend(b"\0\0\0\x01en\0\0"); // unit 1 of en
        file.extend(b"0x0800\0\0\0\0\0\0");
        file.extend([kind, 1, 0, 0]);
        file.extend(seconds);
        file.extend(nanoseconds);
        file.extend(before);
        file.extend(bytes);
    }
    file
}

/// What iptrace can say of the packets: it keeps no length on the wire.
fn whole_packets() -> Vec<Expected> {
    let whole = |(time_ns, _, bytes): Expected| (time_ns, bytes.len() as u32, bytes);
    packets().into_iter().map(whole).filter(|(_, length, _)| *length < 65_536).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let blocks = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(blocks, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(0);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn open(file: Vec<u8>) -> Result<Reader, ReadError> {
    Reader::from_bytes(Path::new("test"), Cursor::new(file))
}

/// Everything a file gives, and how it ended.
fn read(file: Vec<u8>) -> (Vec<Expected>, Option<ReadError>) {
    match open(file) {
        Ok(reader) => drain(reader),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn drain(mut reader: Reader) -> (Vec<Expected>, Option<ReadError>) {
    let mut found = Vec::new();
    loop {
        let seen = reader.glimpses().next().map(|seen| (seen.link, seen.wire_length, seen.bytes.to_vec()));
        let taken_up = reader.taken_up();
        match reader.next() {
            Ok(Some(packet)) => {
                let came = (packet.link, packet.wire_length, packet.bytes.to_vec());
                found.push((packet.stated_ns, packet.wire_length, packet.bytes.to_vec()));
                assert_eq!(packet.number, found.len() as u64);
                let undamaged = reader.taken_up() == taken_up;
                assert!(
                    !undamaged || seen.is_none_or(|seen| seen == came),
                    "what comes is what was seen coming"
                );
            }
            Ok(None) => return (found, None),
            Err(error) => {
                assert!(reader.next().unwrap().is_none(), "after an error the file has ended");
                return (found, Some(error));
            }
        }
    }
}

fn refusal(file: &[u8]) -> String {
    match open(file.to_vec()) {
        Err(ReadError::Format { what, .. } | ReadError::Empty { what, .. }) => what,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
}

fn damage(file: Vec<u8>) -> (usize, String, u64) {
    match read(file) {
        (found, Some(ReadError::Damaged { what, offset, packet, .. })) => {
            assert_eq!(packet, found.len() as u64);
            (found.len(), what.to_owned(), offset)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_format_is_recognised_and_read_to_its_end() {
    let little = pcap(Order::Little, 0xa1b2_c3d4, 400_000, &packets());
    let (one, two) = little.split_at(little.len() / 2);
    let files = [
        ("pcap", little.clone()),
        ("pcap", pcap(Order::Big, 0xa1b2_c3d4, 400_000, &packets())),
        ("pcap (ns)", pcap(Order::Little, 0xa1b2_3c4d, 400_000, &packets())),
        ("pcap (ns)", pcap(Order::Big, 0xa1b2_3c4d, 400_000, &packets())),
        ("pcap", pcap(Order::Little, 0xa1b2_cd34, 400_000, &packets())),
        ("pcapng", pcapng(Order::Little, &packets())),
        ("pcapng", pcapng(Order::Big, &packets())),
        ("pcap, gzip", gzip(&little)),
        ("pcap, gzip", [gzip(one), gzip(two)].concat()),
        ("pcap, gzip", [gzip(one), vec![0; 70_000], gzip(two), vec![0; 512]].concat()),
        ("pcap, zstd", ::zstd::encode_all(&little[..], 1).unwrap()),
        ("pcap, zstd", [::zstd::encode_all(one, 1).unwrap(), ::zstd::encode_all(two, 1).unwrap()].concat()),
        ("pcapng, gzip", gzip(&pcapng(Order::Little, &packets()))),
        ("pcap, lz4", lz4(&little)),
        ("pcap, lz4", [lz4(one), lz4(&[]), lz4(two)].concat()),
        ("pcap, xz", xz(&little)),
        ("pcap, xz", [xz(one), xz(&[]), xz(two)].concat()),
        ("pcap, bzip2", bzip2(&little)),
        ("pcap, bzip2", [bzip2(one), bzip2(&[]), bzip2(two)].concat()),
        ("snoop", snoop(&packets())),
        ("snoop, gzip", gzip(&snoop(&packets()))),
        ("iptrace", iptrace(6, &whole_packets())),
    ];
    for (format, file) in files {
        let length = file.len() as u64;
        let mut reader = open(file).unwrap();
        assert_eq!(reader.format().to_string(), format);
        while reader.next().unwrap().is_some() {}
        let stated = if format.starts_with("pcap") { 400_000 } else { 0 };
        assert_eq!(reader.snaplen(), stated, "{format}");
        assert_eq!(reader.consumed(), length, "{format}");
    }
}

#[test]
fn the_packets_are_those_that_were_written() {
    for order in [Order::Little, Order::Big] {
        for magic in [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34] {
            let (found, error) = read(pcap(order, magic, 400_000, &packets()));
            assert!(error.is_none(), "{error:?}");
            assert!(found == packets(), "magic {magic:x}");
        }
        let (found, error) = read(pcapng(order, &packets()));
        assert!(error.is_none(), "{error:?}");
        assert!(found == packets());
    }
    let (found, error) = read(snoop(&packets()));
    assert!(error.is_none() && found == packets(), "{error:?}");
    for kind in [0x06, 0x0f, 0x18] {
        let (found, error) = read(iptrace(kind, &whole_packets()));
        assert!(error.is_none() && found == whole_packets(), "{error:?}");
    }
    let little = pcap(Order::Little, 0xa1b2_c3d4, 400_000, &packets());
    assert!(read(gzip(&little)).0 == packets());
    assert!(read(::zstd::encode_all(&little[..], 1).unwrap()).0 == packets());
    for packed in [lz4(&little), xz(&little), bzip2(&little)] {
        assert!(read(packed).0 == packets());
    }
}

/// A capture, compressed in each way.
fn compressed(plain: &[u8]) -> [Vec<u8>; 5] {
    [gzip(plain), ::zstd::encode_all(plain, 1).unwrap(), lz4(plain), xz(plain), bzip2(plain)]
}

/// gzip, bzip2 and lz4 pass over what stands there with a warning.
#[test]
fn bytes_behind_the_compressed_data_are_no_damage_of_it() {
    let plain = pcap(Order::Little, 0xa1b2_c3d4, 400_000, &packets());
    let (one, two) = plain.split_at(plain.len() / 2);
    let text = b"\nThis was appended.\n";
    for (whole, [first, second]) in compressed(&plain)
        .into_iter()
        .zip(std::iter::zip(compressed(one), compressed(two)).map(|(first, second)| [first, second]))
    {
        for (zeros, trailing) in [0, 1, 512, 70_000]
            .into_iter()
            .flat_map(|zeros| [(zeros, &b""[..]), (zeros, b"\n"), (zeros, text)])
        {
            let told = if trailing.is_empty() { 0 } else { zeros + trailing.len() };
            let padding = vec![0; zeros];
            let behind_one = [&whole[..], &padding, trailing].concat();
            let behind_two = [&first[..], &padding, &second, &padding, trailing].concat();
            for file in [behind_one, behind_two] {
                let mut reader = Reader::from_bytes(Path::new("test"), Trickle(Cursor::new(file))).unwrap();
                let mut found = 0;
                while reader.next().unwrap().is_some() {
                    found += 1;
                }
                assert_eq!((found, reader.trailing_bytes()), (4, told as u64), "{}", reader.format());
            }
        }
        // The begin of another member, which is cut.
        for length in 1..=second.len().min(6) {
            let (found, error) = read([&whole[..], &[0; 4], &second[..length]].concat());
            let told = error.unwrap().to_string();
            assert!(found == packets() && told.contains("the compressed file breaks off"), "{told}");
        }
    }
}

/// A frame that holds nothing for those who unpack zstd or lz4: the same in both.
fn skippable(kind: u8, length: usize) -> Vec<u8> {
    [&[0x50 | kind, 0x2a, 0x4d, 0x18][..], &(length as u32).to_le_bytes(), &vec![7; length]].concat()
}

#[test]
fn frames_to_be_skipped_are_of_the_compression_that_follows_them() {
    let plain = pcap(Order::Little, 0xa1b2_c3d4, 400_000, &packets());
    let (one, two) = plain.split_at(plain.len() / 2);
    for place in [1, 2] {
        let [first, second] = [one, two].map(|part| compressed(part)[place].clone());
        let named = ["zstd", "lz4"][place - 1];
        let before = [0, 4, 5, 70_000, 900_000].map(|length| skippable(0, length));
        let several = [skippable(15, 3), skippable(0, 0), skippable(7, 40_000)].concat();
        for skipped in before.into_iter().chain([several]) {
            let frames = [&skipped[..], &first, &skipped, &second, &skipped];
            let file = frames.concat();
            let slow = Reader::from_bytes(Path::new("test"), Trickle(Cursor::new(file.clone()))).unwrap();
            for reader in [open(file.clone()).unwrap(), slow] {
                assert!(reader.format().to_string().ends_with(named), "{}", reader.format());
                let (found, error) = drain(reader);
                assert!(error.is_none(), "{error:?}");
                assert_eq!(found, packets());
            }
            // Cut within what is skipped, wherever that stands, the file breaks off; behind it, it has ended.
            let ends = frames.iter().scan(0, |end, frame| {
                *end += frame.len();
                Some(*end)
            });
            for (at, end) in ends.enumerate().filter(|(at, _)| at % 2 == 0) {
                let cuts = [end - skipped.len() + 1, end - skipped.len() + 6, end - 1];
                for cut in cuts.into_iter().filter(|cut| (end - skipped.len() + 1..end).contains(cut)) {
                    let (found, error) = read(file[..cut].to_vec());
                    assert!(matches!(error, Some(ReadError::Damaged { .. })), "{at} {cut}: {error:?}");
                    assert!(at < 4 || found == packets());
                }
            }
            assert!(refusal(&skipped).contains("an empty file"), "{}", refusal(&skipped));
            for cut in skipped.len() + 1..skipped.len() + 12 {
                let (_, error) = read(file[..cut].to_vec());
                assert!(matches!(error, Some(ReadError::Damaged { .. })), "{cut}: {error:?}");
            }
        }
    }
}

#[test]
fn what_is_unpacked_is_given_before_what_cannot_be_read_behind_it() {
    let lost = std::io::Error::other("the disk is gone");
    let source = Cursor::new(xz(b"data")).chain(Lost(Some(lost)));
    let packed = packed::Packed::new(Compression::Xz, source, packed::Trailing::default());
    let (mut streams, mut found) = (super::xz::Streams::new(packed, 1 << 16), Vec::new());
    let error = streams.read_to_end(&mut found).unwrap_err();
    assert_eq!((&found[..], error.to_string()), (&b"data"[..], "the disk is gone".to_owned()));
}

/// A source that fails.
struct Lost(Option<std::io::Error>);

impl Read for Lost {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A source that gives one byte at a time, like the slowest of pipes.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

#[test]
fn packets_are_seen_before_they_come_as_far_as_the_file_was_read() {
    let small = &packets()[..3];
    for order in [Order::Big, Order::Little] {
        let files = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34].map(|magic| pcap(order, magic, 65_535, small));
        for file in files.into_iter().chain([pcapng(order, small), snoop(small)]) {
            let mut reader = open(file).unwrap();
            reader.next().unwrap();
            let seen: Vec<_> =
                reader.glimpses().map(|seen| (seen.link, seen.wire_length, seen.bytes.to_vec())).collect();
            let expected: Vec<_> = small[1..]
                .iter()
                .map(|(_, wire_length, bytes)| (LinkType::ETHERNET, *wire_length, bytes.clone()))
                .collect();
            assert_eq!(seen, expected);
            reader.next().unwrap();
            assert_eq!(reader.glimpses().count(), 1);
        }
    }
    let mut cut = open(pcap(Order::Big, 0xa1b2_c3d4, 400_000, &packets())).unwrap();
    cut.next().unwrap();
    assert_eq!(cut.glimpses().count(), 2, "the last is longer than what was read so far");
    // Blocks that claim to be of no length lead nowhere.
    let mut file = pcapng(Order::Little, small);
    let nothing = [6_u32.to_le_bytes(), [0; 4]].concat();
    file.extend(nothing.repeat(100));
    let mut reader = open(file).unwrap();
    for _ in small {
        reader.next().unwrap();
    }
    assert_eq!(reader.glimpses().count(), 0);
}

#[test]
fn a_pipe_that_trickles_gives_the_same_packets() {
    let files = [
        pcap(Order::Little, 0xa1b2_c3d4, 400_000, &packets()),
        pcapng(Order::Big, &packets()),
        snoop(&packets()),
    ];
    for file in files {
        let trickle = Trickle(Cursor::new(file));
        let (found, error) = drain(Reader::from_bytes(Path::new("-"), trickle).unwrap());
        assert!(error.is_none() && found == packets());
    }
}

#[test]
fn a_file_cut_anywhere_gives_the_packets_before_the_cut() {
    let few: Vec<Expected> = packets().into_iter().take(3).collect();
    let traced = whole_packets();
    let files = [
        (&few, 4, pcap(Order::Little, 0xa1b2_c3d4, 65_535, &few)),
        (&few, 4, pcapng(Order::Little, &few)),
        (&few, 8, snoop(&few)),
        (&traced, 11, iptrace(6, &traced)),
    ];
    for (few, magic, file) in files {
        let mut most = 0;
        for length in magic..file.len() {
            let (found, error) = read(file[..length].to_vec());
            assert!(few.starts_with(&found), "cut at {length}");
            assert!(found.len() >= most && found.len() < few.len(), "cut at {length}");
            most = found.len();
            if let Some(error) = &error {
                let rest_read = error.what().ends_with("everything before that was read");
                assert_eq!(rest_read, !found.is_empty(), "cut at {length}");
            }
            match error {
                Some(ReadError::Damaged { offset, .. }) => assert!(offset <= length as u64),
                // The cut fell between two packets or blocks, which cannot be seen.
                None => assert!(read([&file[..length], &file[..1]].concat()).1.is_some()),
                Some(other) => panic!("{other}"),
            }
        }
        assert_eq!(most, few.len() - 1);
    }
}

/// Packets of bytes that do not compress, so that a cut of the file is a cut of the capture.
fn incompressible() -> Vec<Expected> {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..2_000).map(|n| (n * 1_000_000, 500, (0..500).map(|_| noise()).collect())).collect()
}

#[test]
fn a_compressed_file_that_breaks_off_gives_what_it_held() {
    let many = incompressible();
    let plain = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &many);
    let packed = gzip(&plain);
    let (found, what, _) = damage(packed[..packed.len() / 2].to_vec());
    assert_eq!(what, "the compressed file breaks off");
    assert!((900..=1_000).contains(&found), "{found}");

    let mut spoilt = packed;
    let middle = spoilt.len() / 2;
    spoilt[middle..middle + 64].fill(0);
    assert!(damage(spoilt).0 >= 800);

    let packed = ::zstd::encode_all(&plain[..], 1).unwrap();
    let (found, what, _) = damage(packed[..packed.len() / 2].to_vec());
    assert_eq!(what, "the compressed file breaks off");
    assert!(found > 500, "{found}");

    for (packed, least) in [(lz4(&plain), 995), (xz(&plain), 995), (bzip2(&plain), 600)] {
        let (found, what, _) = damage(packed[..packed.len() / 2].to_vec());
        assert_eq!(what, "the compressed file breaks off");
        assert!((least..=1_000).contains(&found), "{found}");
        let mut spoilt = packed;
        let middle = spoilt.len() / 2;
        spoilt[middle..middle + 64].fill(0);
        read(spoilt);
    }
}

/// One wrong byte of a block scrambles all of it: nothing of it may be taken for packets.
#[test]
fn of_a_block_of_bzip2_that_is_damaged_nothing_is_given() {
    let many = incompressible();
    let plain = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &many);
    let packed = bzip2(&plain); // Eleven blocks, none of which is more than 100,000 bytes.
    let mut before = 0;
    for twentieth in 1..20 {
        let mut spoilt = packed.clone();
        let place = packed.len() * twentieth / 20;
        spoilt[place] ^= 0x10;
        let (found, error) = read(spoilt);
        let Some(ReadError::Damaged { what, offset, unpacked, .. }) = error else { panic!("{error:?}") };
        assert_eq!((what, unpacked), ("the compressed data is damaged", true));
        assert!(many.starts_with(&found), "{twentieth}");
        assert!(
            found.len() >= before && found.len() as u64 == offset.saturating_sub(24) / 516,
            "{twentieth}: {offset}"
        );
        let behind = (plain.len() * twentieth / 20) as u64;
        assert!(offset < behind + 1_000 && behind < offset + 101_000, "{twentieth}: {offset}");
        before = found.len();
    }
}

/// Of a run of a byte bzip2 keeps five of 259 bytes, so that a block may be a file of any length.
#[test]
fn a_block_of_bzip2_is_given_whole_however_long_it_is() {
    let long: Vec<Expected> = (0..40).map(|n| (n * 1_000, 300_000, vec![7; 300_000])).collect();
    let packed = bzip2(&pcap(Order::Little, 0xa1b2_c3d4, 400_000, &long));
    assert!(packed.len() < 10_000);
    let (found, error) = read(packed.clone());
    assert!(found == long && error.is_none(), "{error:?}");
    let mut spoilt = packed;
    let last = spoilt.len() / 2;
    spoilt[last] ^= 1;
    assert!(long.starts_with(&read(spoilt).0));
}

/// What compresses well lies in few blocks, of which the last may be all.
#[test]
fn of_a_block_that_is_cut_all_is_read_that_is_there() {
    let alike: Vec<u8> = (0..500).map(|n: usize| ((n * n) >> 3) as u8).collect();
    let many: Vec<Expected> =
        (0..2_000).map(|n| (n * 1_000_000 + n * n % 1_000, 500, alike.clone())).collect();
    let plain = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &many);
    for packed in [gzip(&plain), ::zstd::encode_all(&plain[..], 1).unwrap(), lz4(&plain), xz(&plain)] {
        assert!(packed.len() < plain.len() / 20);
        let mut before = 0;
        for tenth in 1..10 {
            let (found, what, _) = damage(packed[..packed.len() * tenth / 10].to_vec());
            assert_eq!(what, "the compressed file breaks off");
            assert!(found >= before, "{found} after {before}");
            before = found;
        }
        assert!((1_500..2_000).contains(&before), "{before}");
    }
}

/// Whoever has a compressed file cannot look for the byte in it.
#[test]
fn a_place_in_a_compressed_file_is_told_as_one_in_what_it_unpacks_to() {
    let told = |file: Vec<u8>| read(file).1.unwrap();
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 400_000, &packets());
    let written = file.len();
    file.extend([0xff; 16]);
    let here = format!("a packet of impossible length at byte {written}");
    assert_eq!(told(file.clone()).what(), format!("{here}, after packet 4; everything before that was read"));
    for packed in
        [gzip(&file), ::zstd::encode_all(&file[..], 1).unwrap(), lz4(&file), xz(&file), bzip2(&file)]
    {
        let error = told(packed);
        let there = format!("{here} of what the file unpacks to, after packet 4");
        assert_eq!(error.what(), format!("{there}; everything before that was read"));
        assert_eq!(error.to_string(), format!("test: {there}"));
    }
    let packed = gzip(&file[..written]);
    let cut = told(packed[..packed.len() - 4].to_vec());
    let words =
        format!("the compressed file breaks off at byte {written} of what the file unpacks to, after");
    assert!(cut.what().starts_with(&words), "{cut}");
}

#[test]
fn a_length_that_cannot_be_is_damage_at_its_place() {
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &packets()[..2]);
    let third = file.len() as u64;
    file.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]);
    assert_eq!(damage(file), (2, "a packet of impossible length".to_owned(), third));

    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 400_000, &[packets(), packets(), packets()].concat()); // many windows
    let last = file.len() as u64;
    file.extend([0xff; 16]);
    assert_eq!(damage(file), (12, "a packet of impossible length".to_owned(), last));

    let mut file = pcapng(Order::Big, &packets()[..2]);
    let third = file.len() as u64;
    file.extend([0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0, 8]);
    assert_eq!(damage(file), (2, "a block of impossible length".to_owned(), third));

    let mut file = pcapng(Order::Big, &packets()[..2]);
    let third = file.len() as u64;
    let mut lying = enhanced(Order::Big, 0, 0, 4, b"four");
    *lying.last_mut().unwrap() ^= 4;
    file.extend(lying);
    assert_eq!(damage(file), (2, "a block whose two lengths differ".to_owned(), third));

    let mut file = pcapng(Order::Little, &[]);
    let first = file.len() as u64;
    file.extend(enhanced(Order::Little, 1, 0, 4, b"four"));
    assert_eq!(damage(file), (0, "a packet of an interface that is not described".to_owned(), first));

    let mut body = Order::Little.u32(0).to_vec(); // interface
    body.extend([0; 8]); // time
    body.extend(Order::Little.u32(100)); // captured, more than the block holds
    body.extend(Order::Little.u32(100));
    let mut file = pcapng(Order::Little, &[]);
    file.extend(block(Order::Little, 6, &body));
    assert_eq!(damage(file).1, "a packet block too short for its packet");
}

#[test]
fn zeros_are_where_nothing_was_written_and_no_packets() {
    let magics = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];
    let packed = magics
        .map(|magic| ("zeros where a packet should begin", pcap(Order::Big, magic, 400_000, &packets())));
    let blocks = [Order::Big, Order::Little]
        .map(|order| ("zeros where a block should begin", pcapng(order, &packets())));
    for (words, file) in packed.into_iter().chain(blocks) {
        let written = file.len();
        for zeros in [16, 24, 4_096, 1 << 20] {
            let at_the_end = [&file[..], &vec![0; zeros.max(24)]].concat();
            assert_eq!(damage(at_the_end), (4, words.to_owned(), written as u64), "{zeros} zeros");
            let header = if words.contains("block") { section(Order::Big).len() } else { 24 };
            let before_more = [&file[..], &vec![0; zeros], &file[header..]].concat();
            let (found, error) = read(before_more);
            assert!(found == [packets(), packets()].concat(), "{zeros} zeros");
            let told = error.unwrap().what();
            assert_eq!(told, format!("{words} at byte {written}, after packet 4; {}", passed_over(zeros)));
        }
        let (found, error) = read([&file[..], &[0; 8]].concat());
        assert!(found == packets() && error.unwrap().what().starts_with("the file ends within a"));
    }
}

fn passed_over(bytes: usize) -> String {
    format!("{bytes} bytes were passed over there; everything else was read")
}

/// So many packets of all sizes up to this one, a second each.
fn many(number: i64, largest: usize) -> Vec<Expected> {
    let bytes = |n: usize| (0..=n * 7_919 % largest).map(|at| (at * 31) as u8).collect::<Vec<u8>>();
    (0..number)
        .zip(0..)
        .map(|(n, at)| (1_700_000_000_000_000_000 + n * 1_000_000, 1 << 20, bytes(at)))
        .collect()
}

/// Where the packet with this index begins in a pcap file with usual headers.
fn begin_of(packets: &[Expected], index: usize) -> usize {
    24 + packets[..index].iter().map(|(_, _, bytes)| 16 + bytes.len()).sum::<usize>()
}

#[test]
fn what_is_behind_a_damaged_header_is_read() {
    for order in [Order::Little, Order::Big] {
        for (field, value) in [(0, u32::MAX), (4, u32::MAX), (8, 0x7fff_ffff), (8, 200_000)] {
            for count in [40, 3_000] {
                let mut written = many(count, 1_500);
                let mut file = pcap(order, 0xa1b2_c3d4, 65_535, &written);
                let begin = begin_of(&written, 20);
                file[begin + field..begin + field + 4].copy_from_slice(&order.u32(value));
                if field == 8 && value == 200_000 {
                    file[begin + 12..begin + 16].copy_from_slice(&order.u32(100));
                }
                let (found, error) = read(file);
                if field < 8 {
                    assert_eq!(found.len(), written.len(), "its time alone is another");
                    assert!(error.is_none());
                    continue;
                }
                let passed = 16 + written[20].2.len();
                written.remove(20);
                if value == 200_000 && count == 3_000 {
                    // So long a packet may be: what it takes with it is lost, and then the file goes on.
                    assert!(found.len() > 2_600, "{}", found.len());
                    assert!(found.ends_with(&written[written.len() - 2_600..]));
                    continue;
                }
                assert!(found == written, "{field} {value} {count}: {}", found.len());
                let what = if value == 200_000 {
                    "the file ends within a packet"
                } else {
                    "a packet of impossible length"
                };
                let told = format!("{what} at byte {begin}, after packet 20; {}", passed_over(passed));
                assert_eq!(error.unwrap().what(), told);
            }
        }
    }
}

/// The first packet tells when the capture began, and so which times may be those of others.
#[test]
fn so_is_what_is_behind_the_damaged_begin_of_a_file() {
    for order in [Order::Little, Order::Big] {
        for count in [40, 3_000] {
            let written = many(count, 1_500).split_off(3); // Not the shortest first.
            let whole = pcap(order, 0xa1b2_c3d4, 65_535, &written);
            let (header, packets) = whole.split_at(24);
            for lost in [1, 16, 200, 4_096] {
                let zeros = [header, &vec![0; lost], &packets[lost..]].concat();
                let cut = [header, &packets[lost..]].concat();
                let more = [header, &vec![0xa5; lost], packets].concat();
                for (what, file) in [("zeros", zeros), ("cut", cut), ("more", more)] {
                    let (found, error) = read(file);
                    // What the damage hides, and a packet that takes its place.
                    let behind = written.len() - 2 - lost / 200;
                    assert!(
                        found.ends_with(&written[written.len() - behind..]),
                        "{what} {lost} {}",
                        found.len()
                    );
                    assert!(error.is_some() || (what, lost) == ("zeros", 1), "{what} {lost}");
                }
            }
        }
    }
}

#[test]
fn so_is_what_is_behind_a_damaged_block() {
    for order in [Order::Little, Order::Big] {
        let written = many(3_000, 1_500);
        let whole = pcapng(order, &written);
        let before = pcapng(order, &written[..1_000]).len();
        let block = pcapng(order, &written[..1_001]).len() - before;
        for value in [2, 20, u32::MAX, block as u32 + 4, block as u32 - 4, block as u32 + (8 << 20)] {
            let mut file = whole.clone();
            file[before + 4..before + 8].copy_from_slice(&order.u32(value));
            let mut others = written.clone();
            others.remove(1_000);
            for file in [gzip(&file), file] {
                let (found, error) = read(file);
                assert!(found == others, "{value}");
                assert!(error.unwrap().what().ends_with(&passed_over(block)), "{value}");
            }
        }
    }
}

#[test]
fn so_is_what_is_in_a_block_that_nobody_knows_and_that_is_too_long() {
    for order in [Order::Little, Order::Big] {
        let written = many(3_000, 1_500);
        let whole = pcapng(order, &written);
        let before = pcapng(order, &written[..1_000]).len();
        for length in [1 << 20, 64 << 20] {
            let mut unknown = block(order, 0xbad, b"four");
            unknown[4..8].copy_from_slice(&order.u32(length));
            let file = [&whole[..before], &unknown, &whole[before..]].concat();
            for file in [gzip(&file), file] {
                let (found, error) = read(file);
                assert!(found == written, "{length}");
                let error = error.unwrap();
                assert_eq!(error.what().split(" at byte").next(), Some("a block of impossible length"));
                assert!(error.what().contains(&format!(" at byte {before}")), "{error}");
            }
        }
    }
}

#[test]
fn interfaces_without_number_hide_no_packet_of_those_before() {
    let mut file = pcapng(Order::Little, &[]);
    file.extend(interface(Order::Little, 1, 0, &[]).repeat(70_000));
    file.extend(enhanced(Order::Little, 0, 0, 4, b"four"));
    let there = file.len() as u64;
    file.extend(enhanced(Order::Little, 66_000, 0, 4, b"five"));
    assert_eq!(damage(file), (1, "a packet of an interface that is not described".to_owned(), there));
}

#[test]
fn a_long_block_that_nobody_knows_is_passed_over() {
    let unknown = block(Order::Little, 0xbad, &vec![0x5a; 1 << 20]);
    let file = [&pcapng(Order::Little, &packets())[..], &unknown].concat();
    let (found, error) = read([&file[..], &pcapng(Order::Little, &packets())].concat());
    assert_eq!((found.len(), error.map(|error| error.to_string())), (8, None));
    let (found, error) = read(file[..file.len() - 1].to_vec());
    assert_eq!(found.len(), 4);
    assert!(error.unwrap().what().starts_with("the file ends within a block"));
}

#[test]
fn a_cut_packet_that_holds_a_part_of_a_capture_is_cut() {
    let held = pcapng(Order::Little, &many(20, 100));
    let mut written = many(20, 1_000);
    written.push((written[19].0, 2_000, [&[0; 50][..], &held[..1_500]].concat()));
    let mut file = pcapng(Order::Little, &written);
    file.truncate(file.len() - 100);
    let (found, error) = read(file);
    assert_eq!(found.len(), 20);
    assert!(error.unwrap().what().starts_with("the file ends within a block"));
}

#[test]
fn so_is_what_is_behind_a_damaged_record() {
    let written = many(3_000, 1_500);
    let whole_length = |(time_ns, _, bytes): &Expected| (*time_ns, bytes.len() as u32, bytes.clone());
    let traced: Vec<Expected> = written.iter().map(whole_length).collect();
    for (written, file, header, fields) in [
        // Included length and length of the record, which must agree.
        (&written, snoop as fn(&[Expected]) -> Vec<u8>, 16, &[4, 8][..]),
        // The length, and the seconds: of no capture's time, no length is believed.
        (&traced, |packets| iptrace(6, packets), 11, &[0, 32]),
    ] {
        let whole = file(written);
        let begin = file(&written[..1_000]).len();
        let passed = file(&written[..1_001]).len() - begin;
        for field in fields {
            for value in [0_u32, 20, 7_000_000, u32::MAX] {
                let mut damaged = whole.clone();
                damaged[begin + field..begin + field + 4].copy_from_slice(&value.to_be_bytes());
                let mut others = written.clone();
                others.remove(1_000);
                let (found, error) = read(damaged);
                assert!(found == others, "{header} {field} {value} {}", found.len());
                let told = error.unwrap().what();
                assert!(told.starts_with("a packet header that cannot be at byte"), "{told}");
                assert!(told.ends_with(&passed_over(passed)), "{told}");
            }
        }
        let (found, error) = read([&whole[..header], &[0; 200], &whole[header + 200..]].concat());
        assert!(found == written[written.len() - found.len()..] && found.len() > written.len() - 5);
        assert!(error.unwrap().what().starts_with("zeros where a packet should begin at byte"));
        let mut twice = open([&whole[..], &whole].concat()).unwrap();
        while twice.next().unwrap().is_some() {}
        assert_eq!(twice.followers(), 1);
        let other = [&whole[..], &pcapng(Order::Big, &packets())].concat();
        assert!(read(other).1.unwrap().what().starts_with("another kind of capture begins"));
    }
}

#[test]
fn damage_at_several_places_is_told_once() {
    let mut written = many(3_000, 1_500);
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &written);
    let places = [100, 1_000, 2_000];
    for place in places {
        let begin = begin_of(&written, place);
        file[begin + 8..begin + 16].fill(0xff);
    }
    let first = begin_of(&written, 100);
    let lengths = places.map(|place| 16 + written[place].2.len());
    let cut = file.len() - 1;
    file.truncate(cut);
    let last = begin_of(&written, 2_999);
    for place in [2_999, 2_000, 1_000, 100] {
        written.remove(place);
    }
    let (found, error) = read(file);
    assert!(found == written);
    let told = format!(
        "a packet of impossible length at byte {first}, after packet 100; {} bytes were passed over there, \
         and {} at 2 more places; then the file ends within a packet at byte {last}, after packet 2996; \
         everything before that was read",
        lengths[0],
        lengths[1] + lengths[2],
    );
    assert_eq!(error.unwrap().what(), told);
}

/// A capture that was copied to the mount stands in the data of packets, also where it was made just before.
#[test]
fn packets_in_the_data_of_packets_are_none() {
    let inner = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &many(20_000, 90));
    for size in [1_448, 65_000] {
        let outer: Vec<Expected> = (1_700_000_000_i64..)
            .zip(inner.chunks(size))
            .map(|(second, data)| (second * 1_000_000_000, data.len() as u32, data.to_vec()))
            .collect();
        let file = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &outer);
        for place in [3, outer.len() / 2, outer.len() - 2] {
            let mut damaged = file.clone();
            let begin = begin_of(&outer, place);
            damaged[begin + 8..begin + 12].fill(0xff);
            let mut others = outer.clone();
            others.remove(place);
            let (found, error) = read(damaged);
            assert!(found == others, "{size} {place} {} {} {error:?}", found.len(), others.len());
        }
        for cut in [1, size / 2, size] {
            let (found, error) = read(file[..file.len() - cut].to_vec());
            assert!(outer.starts_with(&found) && found.len() + 3 > outer.len(), "{size} {cut}");
            assert!(error.unwrap().what().ends_with("everything before that was read"));
        }
    }
}

#[test]
fn captures_that_follow_one_another_in_a_file_are_read() {
    for order in [Order::Little, Order::Big] {
        for magic in [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34] {
            let (one, other) =
                (pcap(order, magic, 400_000, &packets()), pcap(order, magic, 65_535, &packets()));
            let mut reader = open([&one[..], &other, &other[..24], &one].concat()).unwrap();
            let mut found = 0;
            while reader.next().unwrap().is_some() {
                found += 1;
            }
            assert_eq!((found, reader.followers()), (12, 3));
        }
    }
    let ethernet = pcap(Order::Little, 0xa1b2_c3d4, 400_000, &packets());
    let mut other = ethernet.clone();
    other[20] = 101; // raw IP
    assert_eq!(damage([&ethernet[..], &other].concat()).0, 4);
}

#[test]
fn what_is_damaged_everywhere_is_given_up() {
    // Small ones: all of the file behind each damage is looked through.
    let written = many(3_600, 9);
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &written);
    for place in (6..written.len()).step_by(6) {
        let begin = begin_of(&written, place);
        file[begin + 8..begin + 12].fill(0xff);
    }
    let (found, error) = read(file);
    assert!((2_400..3_100).contains(&found.len()), "{}", found.len());
    assert!(error.unwrap().what().ends_with("everything before that was read"));
}

#[test]
fn an_empty_packet_or_one_of_1970_is_one() {
    for empty in [(0, 60, vec![]), (1_000, 0, vec![]), (1_000_000_000, 0, vec![]), (0, 4, b"four".to_vec())] {
        for magic in [0xa1b2_c3d4, 0xa1b2_cd34] {
            let (found, error) = read(pcap(Order::Little, magic, 65_535, &[empty.clone(), empty.clone()]));
            assert!(error.is_none(), "{error:?}");
            assert_eq!(found, [empty.clone(), empty.clone()]);
        }
    }
}

#[test]
fn a_length_alone_allocates_nothing() {
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, u32::MAX, &[]);
    file.extend([0; 8]);
    file.extend(Order::Little.u32(PACKET_LIMIT as u32));
    file.extend([0; 4]);
    file.extend([1; 1_000]);
    assert_eq!(damage(file).1, "the file ends within a packet");
}

#[test]
fn a_wire_length_is_never_less_than_what_was_captured() {
    for file in [
        pcap(Order::Big, 0xa1b2_c3d4, 65_535, &[(0, 1, b"four".to_vec())]),
        pcapng(Order::Big, &[(0, 1, b"four".to_vec())]),
    ] {
        assert_eq!(read(file).0, [(0, 4, b"four".to_vec())]);
    }
}

#[test]
fn a_fraction_of_more_than_a_second_is_added() {
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &[]);
    file.extend([0xff; 8]); // seconds, microseconds
    file.extend([0; 8]);
    assert_eq!(read(file).0[0].0, 4_294_967_295 * 1_000_000_000 + 4_294_967_295 * 1_000);
}

#[test]
fn interfaces_have_their_own_clocks() {
    let order = Order::Big;
    let clocks: [(Vec<u8>, u64, i64); 9] = [
        (vec![], 1_500_000, 1_500_000_000),             // microseconds unless stated
        (option(order, 9, &[3]), 1_500, 1_500_000_000), // milliseconds
        (option(order, 9, &[9]), 1_500, 1_500),         // nanoseconds
        (option(order, 9, &[12]), 1_500, 1),            // picoseconds
        (option(order, 9, &[127]), u64::MAX, 0),        // 10^-127 seconds
        (option(order, 9, &[0x80 | 1]), 3, 1_500_000_000), // halves of a second
        (option(order, 9, &[0]), u64::MAX, 1_500_000_000), // seconds, out of range: that of the packet before
        (option(order, 14, &(-2_i64).to_be_bytes()), 5_000_000, 3_000_000_000), // 2 s before
        (option(order, 14, &(-2_i64).to_be_bytes()), 0, 3_000_000_000), // before 1970: likewise
    ];
    let mut file = section(order);
    for (options, _, _) in &clocks {
        file.extend(interface(order, 1, 65_535, options));
    }
    for (index, (_, ticks, _)) in clocks.iter().enumerate() {
        file.extend(enhanced(order, index as u32, *ticks, 4, b"four"));
    }
    let times: Vec<i64> = read(file).0.iter().map(|packet| packet.0).collect();
    assert_eq!(times, clocks.map(|clock| clock.2));
}

#[test]
fn sections_have_their_own_interfaces_and_byte_order() {
    let mut file = section(Order::Big);
    file.extend(interface(Order::Big, 1, 96, &[]));
    file.extend(enhanced(Order::Big, 0, 1, 4, b"four"));
    file.extend(section(Order::Little));
    file.extend(interface(Order::Little, 276, 512, &[]));
    file.extend(enhanced(Order::Little, 0, 2, 4, b"four"));
    let mut reader = open(file).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().link, LinkType::ETHERNET);
    let second = reader.next().unwrap().unwrap();
    assert_eq!((second.link, second.time_ns), (LinkType::LINUX_SLL2, 2_000));
    assert!(reader.next().unwrap().is_none());
    assert_eq!(reader.snaplen(), 512);
}

#[test]
fn simple_and_obsolete_packets_are_read() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 1, 6, &[]));
    let mut obsolete = order.u16(0).to_vec(); // interface
    obsolete.extend(order.u16(3)); // drops
    obsolete.extend(order.u32(0)); // time, upper half
    obsolete.extend(order.u32(5)); // time, lower half
    obsolete.extend(order.u32(4)); // captured
    obsolete.extend(order.u32(9)); // on the wire
    obsolete.extend(b"four");
    file.extend(block(order, 2, &obsolete));
    // 10 bytes on the wire, of which the snaplen leaves 6 and the block has 8
    file.extend(block(order, 3, &[&order.u32(10)[..], b"sixsix\0\0"].concat()));
    let (found, error) = read(file);
    assert!(error.is_none());
    assert_eq!(found, [(5_000, 9, b"four".to_vec()), (5_000, 10, b"sixsix".to_vec())]);
}

#[test]
fn packets_without_a_time_are_counted() {
    let order = Order::Little;
    let four = || enhanced(order, 0, 5, 4, b"four");
    let simple = || block(order, 3, &[&order.u32(4)[..], b"sixs"].concat());
    let start = [section(order), interface(order, 1, 0, &[])].concat();
    let untimed = |blocks: &[Vec<u8>]| {
        let mut reader = open([start.clone(), blocks.concat()].concat()).unwrap();
        while reader.next().unwrap().is_some() {}
        reader.untimed()
    };
    assert_eq!(untimed(&[four(), four()]), 0);
    assert_eq!(untimed(&[simple(), four(), simple()]), 2);
    let in_2116 = || enhanced(order, 0, ((1 << 62) - 1) / 1_000, 4, b"four");
    let later = || enhanced(order, 0, (1 << 62) / 1_000 + 1, 4, b"four");
    assert_eq!(untimed(&[four(), in_2116(), later(), four()]), 1);
    let mut reader = open(pcap(order, 0xa1b2_c3d4, 65_535, &[(0, 4, b"four".to_vec())])).unwrap();
    assert!(reader.next().unwrap().is_some());
    assert_eq!(reader.untimed(), 0);
}

#[test]
fn snoop_counts_what_was_dropped_and_iptrace_has_interfaces_of_several_types() {
    let mut reader = open(snoop(&packets()[..3])).unwrap();
    while reader.next().unwrap().is_some() {}
    assert_eq!(reader.dropped(), Some(6));
    assert_eq!(reader.link(), Some(LinkType::ETHERNET));
    let few = whole_packets();
    let file = [iptrace(0x06, &few), iptrace(0x18, &few)[11..].to_vec(), iptrace(0x17, &few)[11..].to_vec()];
    let mut reader = open(file.concat()).unwrap();
    let mut links = Vec::new();
    while let Some(packet) = reader.next().unwrap() {
        let link = packet.link;
        let place = reader.details().interface;
        assert_eq!(reader.interface(place).unwrap().link, link);
        links.push(link);
    }
    links.dedup();
    assert_eq!(links, [LinkType::ETHERNET, LinkType::RAW, LinkType::USER0], "the last is of no known type");
    assert_eq!((reader.dropped(), reader.link()), (None, None));
}

#[test]
fn drops_are_those_of_the_last_statistics_of_each_interface() {
    let order = Order::Little;
    let statistics = |interface: u32, ifdrop: u64, osdrop: u64| {
        let mut body = order.u32(interface).to_vec();
        body.extend([0; 8]); // time
        body.extend(option(order, 5, &ifdrop.to_le_bytes()));
        body.extend(option(order, 7, &osdrop.to_le_bytes()));
        body.extend(option(order, 0, &[]));
        block(order, 5, &body)
    };
    let start = [section(order), interface(order, 1, 0, &[]), interface(order, 1, 0, &[])].concat();
    let dropped = |file: Vec<u8>| {
        let mut reader = open(file).unwrap();
        assert!(reader.next().unwrap().is_none());
        reader.dropped()
    };
    assert_eq!(dropped(start.clone()), None);
    let file = [start.clone(), statistics(0, 1, 2), statistics(0, 10, 20), statistics(1, 100, 0)].concat();
    assert_eq!(dropped(file.clone()), Some(130));
    assert_eq!(dropped([file, start, statistics(1, 0, 5)].concat()), Some(135));
}

#[test]
fn options_that_lie_are_left_unread() {
    let order = Order::Little;
    for options in [vec![9, 0, 0xff, 0xff, 9], [1, 0, 0, 0].repeat(100), vec![9, 0, 0, 0], vec![9]] {
        let file =
            [section(order), interface(order, 1, 0, &options), enhanced(order, 0, 7, 4, b"four")].concat();
        let (found, error) = read(file);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(found, [(7_000, 4, b"four".to_vec())]);
    }
}

#[test]
fn a_block_of_no_interest_may_be_longer_than_the_memory_for_it() {
    let order = Order::Little;
    let file = [
        section(order),
        block(order, 0x8000_0001, &vec![0; 3 << 20]),
        interface(order, 1, 0, &option(order, 1, &vec![b'c'; 60_000]).repeat(3)),
        enhanced(order, 0, 7, 4, b"four"),
    ];
    let (found, error) = read(file.concat());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found.len(), 1);
}

/// Names, secrets, journal entries and whatever a vendor adds stand between the packets.
#[test]
fn blocks_without_packets_are_passed_over() {
    let order = Order::Little;
    let mut file = [section(order), interface(order, 1, 0, &[])].concat();
    let four = || enhanced(order, 0, 7, 4, b"four");
    for kind in [4, 9, 10, 0x0bad, 0x4000_0bad, 0x8000_0001] {
        file.extend(block(order, kind, &[0xff; 37]));
        file.extend(four());
    }
    let mut commented = order.u32(0).to_vec(); // interface
    commented.extend([0; 8]); // time
    commented.extend(order.u32(4)); // captured
    commented.extend(order.u32(4)); // on the wire
    commented.extend(b"four");
    commented.extend(
        [option(order, 1, &[b'c'; 70]), option(order, 2988, &[9; 11]), option(order, 0, &[])].concat(),
    );
    file.extend(block(order, 6, &commented));
    let (found, error) = read(file);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(found.len(), 7);
    assert!(found.iter().all(|(_, wire_length, bytes)| *wire_length == 4 && bytes == b"four"));
}

#[test]
fn what_is_no_capture_is_named() {
    // A name, filled up, and the numbers of a file stand before its magic number.
    let tar = [&b"slow.pcap"[..], &[0; 248], b"ustar  \0"].concat();
    for (start, words) in [
        (&b""[..], "an empty file"),
        (b"hi", "a text file"),
        (b"\n", "a text file"),
        (b"\xd4\xd4", "not a capture that is read (it begins with d4 d4)"),
        ("Zeit, Größe\n".as_bytes(), "a text file"),
        (b"\n  {\"packets\": 3}", "a JSON file"),
        (b"{\n \"format\": \"nfstrace\",\n", "a part of a trace; name the directory that it is in"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (b"<?xml version=\"1.0\"?><pdml>", "an XML file"),
        (b"snoop\0\0\0\0\0\0\x04\0\0\0\x04", "a snoop file of version 4, not 2"),
        (b"snoop\0\0\0\0\0\0\x02\0\0\0\x12", "a snoop file of datalink type 18"),
        (b"iptrace 1.0\0\0", "an AIX iptrace file, not of version 2.0"),
        (b"GMBU\0\0\0\0", "a Microsoft Network Monitor 2 file"),
        (b"PK\x03\x04\x14\0", "a zip archive; unpack it first: unzip FILE"),
        (&tar, "a tar archive; unpack it first: tar xf FILE"),
        (b"\x00\x01\x02\x03\x04", "not a capture that is read (it begins with 00 01 02 03)"),
    ] {
        assert!(refusal(start).starts_with(words), "{:?}", refusal(start));
        assert!(refusal(&gzip(start)).contains(words), "{:?}", refusal(&gzip(start)));
    }
    // MOUNT, NLM and the callbacks of NFSv4.0 have ports of their own.
    assert!(refusal(b"hi").ends_with("tcpdump -s 0 -w FILE.pcap host SERVER"));
    assert!(refusal(&xz(&bzip2(b"x"))).contains("compressed with xz, and inside: a bzip2 file"));
    assert!(refusal(&bzip2(&lz4(b"x"))).contains("inside: an lz4 file; decompress it first"));
    assert!(refusal(&lz4(b"x")).starts_with("compressed with lz4, and inside: a text file"));
    assert!(refusal(&gzip(&gzip(b"x"))).contains("inside: a gzip file"));
}

#[test]
fn a_file_that_is_no_more_than_the_beginning_of_a_magic_number_breaks_off_there() {
    let bytes = |word: u32| [word.to_be_bytes(), word.to_le_bytes()].map(Vec::from);
    let pcaps = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34].into_iter().flat_map(bytes);
    let others = [&b"\x0a\x0d\x0d\x0a"[..], b"snoop\0\0\0", b"iptrace 2.0"].map(<[u8]>::to_vec);
    let plain: Vec<_> = pcaps.chain(others).collect();
    let packed = [
        &b"\x1f\x8b"[..],
        b"\x28\xb5\x2f\xfd",
        b"\x50\x2a\x4d\x18",
        b"\x5f\x2a\x4d\x18",
        b"\x04\x22\x4d\x18",
        b"\x02\x21\x4c\x18",
        b"\xfd7zXZ\0",
        b"BZh1\x31\x41",
        b"BZh9\x17\x72",
    ];
    let breaks_off = |file: Vec<u8>| {
        let (found, what, offset) = damage(file);
        (found, offset) == (0, 0) && what == "the file ends within its first bytes"
    };
    for magic in plain.iter().map(Vec::as_slice).chain(packed) {
        // An empty line is text.
        let from = if magic.starts_with(b"\n") { 2 } else { 1 };
        for cut in from..magic.len() {
            let (begun, wrong) = (&magic[..cut], [&magic[..cut], &[0xee]].concat());
            assert!(breaks_off(begun.to_vec()), "{begun:02x?}");
            // More than that is another file, however short.
            assert!(!refusal(&wrong).is_empty(), "{wrong:02x?}");
        }
    }
    let begun = plain.iter().flat_map(|magic| (1..magic.len()).map(|cut| &magic[..cut]));
    for file in begun.filter(|begun| *begun != b"\n") {
        assert!(compressed(file).into_iter().all(breaks_off), "{file:02x?}");
    }
    // What is compressed twice is not read, and was not cut.
    assert!(refusal(&gzip(b"BZh9\x31")).contains("inside: a bzip2 file"));
    // Behind its magic number a file is read as what it is, as far as it goes.
    for whole in compressed(&pcap(Order::Little, 0xa1b2_c3d4, 65_535, &packets()[..1])) {
        for cut in 1..whole.len() {
            let (found, error) = read(whole[..cut].to_vec());
            assert!(found.len() <= 1, "{cut}");
            assert!(matches!(error, Some(ReadError::Damaged { .. })), "{cut}: {error:?}");
        }
    }
}

#[test]
fn a_capture_is_known_whatever_it_is_in() {
    let told = |name: &str, bytes: &[u8]| {
        let path = std::env::temp_dir().join(format!("pcapnfs-known-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let told = is_capture(&path);
        std::fs::remove_file(&path).unwrap();
        told.unwrap()
    };
    let plain = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &packets()[..1]);
    for capture in [&plain, &pcapng(Order::Big, &[]), &snoop(&[]), &iptrace(6, &[])] {
        assert_eq!(told("plain", capture), Some(true));
        // Behind the first bytes it may be as it is.
        assert_eq!(told("cut", &capture[..11]), Some(true));
        for packed in compressed(capture) {
            assert_eq!(told("packed", &packed), Some(true));
        }
    }
    assert_eq!(told("other", b"GMBU\0\0\0\0"), Some(true));
    for other in [&b""[..], b"\xd4", b"call,client\n", b"PAR1\x15\x04\x15\x80", b"PK\x03\x04\x14\0"] {
        assert_eq!(told("no", other), Some(false));
        for packed in compressed(other) {
            assert_eq!(told("no-packed", &packed), Some(false));
        }
    }
    for packed in compressed(&plain) {
        assert_eq!(told("broken", &packed[..8]), None);
    }
    assert!(matches!(is_capture(Path::new("no such file")), Err(ReadError::Io { .. })));
}

#[test]
fn a_directory_and_a_missing_file_are_told_apart() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Err(ReadError::Format { what, .. }) = Reader::open(directory) else { panic!("opened a directory") };
    assert!(what.starts_with("a directory"));
    let Err(ReadError::Io { source, .. }) = Reader::open(&directory.join("no such file")) else {
        panic!("opened nothing")
    };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_after_a_header_are_safe(
            noise in prop::collection::vec(any::<u8>(), 0..400),
            big_endian: bool,
            kind in 0..8,
        ) {
            let order = if big_endian { Order::Big } else { Order::Little };
            let mut file = match kind {
                0 => pcap(order, 0xa1b2_c3d4, 65_535, &packets()[..1]),
                1 => pcapng(order, &packets()[..1]),
                2 => gzip(&pcap(order, 0xa1b2_c3d4, 65_535, &packets()[..1])),
                3 => lz4(&pcap(order, 0xa1b2_c3d4, 65_535, &packets()[..1])),
                4 => xz(&pcap(order, 0xa1b2_c3d4, 65_535, &packets()[..1])),
                5 => snoop(&packets()[..1]),
                6 => iptrace(6, &packets()[..1]),
                _ => bzip2(&pcap(order, 0xa1b2_c3d4, 65_535, &packets()[..1])),
            };
            file.extend(noise);
            let (found, _) = read(file);
            prop_assert_eq!(&found[..1], &packets()[..1]);
        }

        #[test]
        fn a_spoilt_byte_is_safe(position: prop::sample::Index, value: u8) {
            let plain = pcap(Order::Little, 0xa1b2_c3d4, 65_535, &packets()[..3]);
            let few = &packets()[..3];
            let others = [pcapng(Order::Big, few), snoop(few), iptrace(6, few)];
            let files = [lz4(&plain), xz(&plain), bzip2(&plain), gzip(&plain), plain].into_iter().chain(others);
            for mut file in files {
                let index = position.index(file.len());
                file[index] = value;
                read(file);
            }
        }

        /// pcap-parser, the library that others use, reads the same from a pcapng file.
        #[test]
        fn pcapng_is_read_as_pcap_parser_reads_it(
            lengths in prop::collection::vec((0_usize..200, any::<u32>(), 0..u64::from(u32::MAX)), 0..8),
            big_endian: bool,
        ) {
            use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
            use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};

            let order = if big_endian { Order::Big } else { Order::Little };
            let mut file = [section(order), interface(order, 1, 0, &[])].concat();
            for (length, wire, ticks) in &lengths {
                file.extend(enhanced(order, 0, *ticks, (*wire).max(*length as u32), &vec![3; *length]));
            }
            let mut theirs = Vec::new();
            let mut reader = PcapNGReader::new(65_536, Cursor::new(file.clone())).unwrap();
            loop {
                match reader.next() {
                    Ok((offset, found)) => {
                        if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = found {
                            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                            let bytes = &packet.packet_data()[..packet.caplen as usize];
                            theirs.push((i64::try_from(ticks).unwrap() * 1_000, packet.origlen, bytes.to_vec()));
                        }
                        reader.consume(offset);
                    }
                    Err(PcapError::Eof) => break,
                    Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
                    Err(error) => panic!("{error:?}"),
                }
            }
            let (ours, error) = read(file);
            prop_assert!(error.is_none());
            prop_assert_eq!(ours, theirs);
        }
    }
}
