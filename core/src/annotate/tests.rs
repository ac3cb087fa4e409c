//! Files built here byte by byte, annotated, and read again.

use std::fs;
use std::path::Path;

use super::*;
use crate::capture::Container;

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pcapnfs-annotate-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The paths annotated; what was done, and the file.
    fn annotated(&self, paths: &[PathBuf], comments: &[(u64, &str)]) -> (Report, PathBuf) {
        let path = self.0.join("annotated");
        let mut by_frame: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (frame, comment) in comments {
            by_frame.entry(*frame).or_default().push((*comment).to_owned());
        }
        let to = File::create(&path).unwrap();
        (annotate(paths, to, Packing::None, &by_frame, |_| true).unwrap(), path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = (padded as u32 + 12).to_be_bytes();
    let mut block = [kind.to_be_bytes(), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

fn section() -> Vec<u8> {
    block(0x0a0d_0d0a, &[&[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0][..], &[0xff; 8]].concat())
}

fn written(code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [code.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat();
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

fn interface(link: u16, options: &[u8]) -> Vec<u8> {
    block(1, &[&link.to_be_bytes()[..], &[0, 0, 0, 0, 0, 96], options].concat())
}

fn packet(interface: u32, ticks: u32, bytes: &[u8], options: &[u8]) -> Vec<u8> {
    let words = [interface, 0, ticks, bytes.len() as u32, 1_000].map(u32::to_be_bytes);
    let mut body = words.as_flattened().to_vec();
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options);
    block(6, &body)
}

fn pcap(magic: u32, packets: &[(u32, &[u8])]) -> Vec<u8> {
    let header = [magic, 2 | 4 << 16, 0, 0, 65_535, 1].map(u32::to_le_bytes);
    let mut file = header.as_flattened().to_vec();
    for (seconds, bytes) in packets {
        let words = [*seconds, 5, bytes.len() as u32, 1_000].map(u32::to_le_bytes);
        file.extend(words.as_flattened());
        file.extend(*bytes);
    }
    file
}

/// A packet and what stands beside it: interface, time, link type, length on the wire, bytes, options.
type Told = (usize, i64, LinkType, u32, Vec<u8>, Vec<(u16, Vec<u8>)>);

fn read(path: &Path) -> Vec<Told> {
    let mut reader = Reader::open(path).unwrap();
    assert_eq!(reader.format().container, Container::Pcapng);
    let mut found = Vec::new();
    while let Some(packet) = reader.next().unwrap() {
        let (time_ns, link, wire_length) = (packet.time_ns, packet.link, packet.wire_length);
        let bytes = packet.bytes.to_vec();
        let details = reader.details();
        let options = details.options().map(|(code, value)| (code, value.into_owned())).collect();
        found.push((details.interface, time_ns, link, wire_length, bytes, options));
    }
    found
}

#[test]
fn interfaces_options_and_comments_stay_and_new_ones_follow() {
    let folder = Folder::new("stay");
    let named = [written(2, b"eth7"), written(9, &[9])].concat();
    let unknown = written(99, b"numbers?");
    let options = [written(1, b"before"), written(2, &[0, 0, 0, 2]), unknown].concat();
    let file = [
        section(),
        interface(1, &written(9, &[3])),
        interface(113, &named),
        packet(1, 7, b"first", &options),
        packet(0, 2, b"4444", &written(1, b"x")),
        packet(1, 9, b"", &[]),
    ]
    .concat();
    let comments = [(1, "after"), (1, "and \u{fc}ber"), (3, "third"), (4, "there is none")];
    let (report, out) = folder.annotated(&[folder.file("in", &file)], &comments);
    assert_eq!((report.packets, report.comments, report.damage.len()), (3, 3, 0));
    let told = read(&out);
    let comment = |text: &str| (1, text.as_bytes().to_vec());
    let first = vec![comment("before"), (2, vec![2, 0, 0, 0]), comment("after"), comment("and \u{fc}ber")];
    assert_eq!(told[0], (1, 7, LinkType::LINUX_SLL, 1_000, b"first".to_vec(), first));
    assert_eq!(told[1], (0, 2_000_000, LinkType::ETHERNET, 1_000, b"4444".to_vec(), vec![comment("x")]));
    assert_eq!(told[2], (1, 9, LinkType::LINUX_SLL, 1_000, vec![], vec![comment("third")]));
    let mut reader = Reader::open(&out).unwrap();
    while reader.next().unwrap().is_some() {}
    let described: Vec<_> = (0..3).map_while(|place| reader.interface(place)).collect();
    assert_eq!(
        described.iter().map(|one| (one.snaplen, one.decimals)).collect::<Vec<_>>(),
        [(96, 3), (96, 9)]
    );
    assert_eq!(described[1].names, [2, 0, 4, 0, b'e', b't', b'h', b'7']);
}

#[test]
fn comments_of_the_last_time_are_replaced() {
    let folder = Folder::new("again");
    let file = [section(), interface(1, &[]), packet(0, 1, b"1", &[]), packet(0, 2, b"2", &[])].concat();
    let old = [(1, "pcapnfs slow call 1 of 2"), (2, "pcapnfs note a"), (2, "pcapnfs-like, of another")];
    let (_, once) = folder.annotated(&[folder.file("in", &file)], &old);
    let again = folder.file("again", &fs::read(once).unwrap());
    let (report, out) = folder.annotated(&[again], &[(1, "pcapnfs slow call 1 of 1")]);
    assert_eq!(report.comments, 1);
    let comments: Vec<_> = read(&out).into_iter().map(|told| told.5).collect();
    let comment = |text: &str| vec![(1, text.as_bytes().to_vec())];
    assert_eq!(comments, [comment("pcapnfs slow call 1 of 1"), comment("pcapnfs-like, of another")]);
}

#[test]
fn pcap_keeps_its_resolution_and_files_are_merged_in_order_of_time() {
    let folder = Folder::new("merge");
    let late = folder.file("late", &pcap(0xa1b2_3c4d, &[(3, b"c"), (5, b"e")]));
    let early = folder.file("early", &pcap(0xa1b2_c3d4, &[(1, b"a"), (4, b"d")]));
    let (report, out) = folder.annotated(&[late, early], &[(2, "c")]);
    assert_eq!(report.packets, 4);
    let told = read(&out);
    let times: Vec<_> = told.iter().map(|each| (each.1, each.4.as_slice())).collect();
    let expected: [(i64, &[u8]); 4] =
        [(1_000_005_000, b"a"), (3_000_000_005, b"c"), (4_000_005_000, b"d"), (5_000_000_005, b"e")];
    assert_eq!(times, expected);
    assert_eq!(told[1].5, [(1, b"c".to_vec())]);
    let interfaces: Vec<_> = told.iter().map(|each| each.0).collect();
    assert_eq!(interfaces, [0, 1, 0, 1]);
}

#[test]
fn sections_that_describe_the_same_share_interfaces() {
    let folder = Folder::new("sections");
    let one = [section(), interface(1, &[]), interface(1, &[]), packet(1, 1, b"1", &[])].concat();
    let (_, out) = folder.annotated(&[folder.file("in", &one.repeat(3))], &[]);
    let interfaces: Vec<_> = read(&out).iter().map(|each| each.0).collect();
    assert_eq!(interfaces, [1, 1, 1]);
    let mut reader = Reader::open(&out).unwrap();
    while reader.next().unwrap().is_some() {}
    assert!(reader.interface(1).is_some() && reader.interface(2).is_none());
}

#[test]
fn a_file_that_breaks_off_gives_what_is_before_and_says_so() {
    let folder = Folder::new("breaks");
    let mut file = pcap(0xa1b2_c3d4, &[(1, b"a"), (2, b"b")]);
    file.pop();
    let path = folder.file("in", &file);
    let (report, out) = folder.annotated(std::slice::from_ref(&path), &[(1, "one"), (2, "two")]);
    assert_eq!((report.packets, report.comments), (1, 1));
    assert_eq!(report.damage.len(), 1);
    assert!(report.damage[0].0 == path && report.damage[0].1.contains("within a packet"));
    assert_eq!(read(&out).len(), 1);
}

#[test]
fn a_comment_that_is_too_long_is_cut_between_characters() {
    let folder = Folder::new("long");
    let path = folder.file("in", &pcap(0xa1b2_c3d4, &[(1, b"a")]));
    let long = format!("x{}", "\u{fc}".repeat(COMMENT_LIMIT));
    let (_, out) = folder.annotated(&[path], &[(1, &long)]);
    let told = read(&out);
    let text = std::str::from_utf8(&told[0].5[0].1).unwrap();
    assert_eq!(text.len(), COMMENT_LIMIT - 1);
    assert!(long.starts_with(text));
}

#[test]
fn whoever_is_asked_may_stop_it() {
    let folder = Folder::new("stop");
    let many = vec![(1, &b"a"[..]); PACKETS_PER_TURN as usize];
    let path = folder.file("in", &pcap(0xa1b2_c3d4, &many));
    let to = File::create(folder.0.join("out")).unwrap();
    let outcome = annotate(&[path], to, Packing::Gzip, &BTreeMap::new(), |_| false);
    assert!(matches!(outcome, Err(Failure::Stopped)));
}
