//! Reads every real capture at hand, to the end and without panic.
//!
//! The corpus is found through `PCAPNFS_CORPUS`, or in `../shared/corpus` beside the repository.

#![expect(clippy::print_stderr, reason = "a test says what it found, and what it skipped")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::capture::Reader;
use crate::error::ReadError;
use crate::packet::{Content, Dissector};

/// What the folders hold that is no capture.
const NOT_CAPTURES: [&str; 4] = ["json", "md", "ref", "txt"];

fn corpus() -> PathBuf {
    std::env::var_os("PCAPNFS_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"), PathBuf::from)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[derive(Default)]
struct Counts {
    packets: u64,
    segments: u64,
    datagrams: u64,
    others: u64,
    damaged: bool,
}

fn count(mut reader: Reader) -> Counts {
    let mut dissector = Dissector::new();
    let mut counts = Counts::default();
    loop {
        match reader.next() {
            Ok(Some(packet)) => {
                counts.packets += 1;
                assert_eq!(packet.number, counts.packets);
                assert!(packet.bytes.len() <= packet.wire_length as usize);
                match dissector.dissect(&packet) {
                    Content::Segment(_) => counts.segments += 1,
                    Content::Datagram(_) => counts.datagrams += 1,
                    Content::Roce(_) | Content::Other(_) => counts.others += 1,
                }
            }
            Ok(None) => return counts,
            Err(ReadError::Damaged { packet, .. }) => {
                assert_eq!(packet, counts.packets);
                counts.damaged = true;
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn every_capture_of_the_corpus_is_read() {
    let corpus = corpus();
    let mut captures = 0;
    for folder in ["public", "lab"].map(|name| corpus.join(name)) {
        if !folder.is_dir() {
            eprintln!("skipped: {} is not there", folder.display());
            continue;
        }
        let mut found = Vec::new();
        files(&folder, &mut found);
        for path in found {
            let known = path.extension().is_some_and(|end| NOT_CAPTURES.iter().any(|other| end == *other));
            match Reader::open(&path) {
                Ok(reader) => {
                    assert!(!known, "{} is a capture", path.display());
                    let counts = count(reader);
                    assert!(counts.packets > 0, "{}", path.display());
                    assert_eq!(counts.segments + counts.datagrams + counts.others, counts.packets);
                    captures += 1;
                }
                Err(error @ ReadError::Format { .. }) => assert!(known, "{error}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
    eprintln!("{captures} captures read");
}

/// The lab's files say themselves how they were made: one session, in several formats.
#[test]
fn a_session_is_the_same_in_every_format() {
    let lab = corpus().join("lab");
    if !lab.is_dir() {
        eprintln!("skipped: {} is not there", lab.display());
        return;
    }
    let counts = |name: &str| {
        let counts = count(Reader::open(&lab.join(name)).unwrap());
        (counts.packets, counts.segments, counts.datagrams, counts.damaged)
    };
    let plain = counts("fmt-plain-v42.pcap");
    assert!(plain.0 > 0 && !plain.3);
    for name in ["fmt-plain-v42.pcap.gz", "fmt-plain-v42.pcap.zst", "fmt-plain-v42.pcapng"] {
        assert_eq!(counts(name), plain, "{name}");
    }
    assert_eq!(counts("fmt-plain-v3-bigendian.pcap"), counts("fmt-plain-v3.pcap"));
    let (packets, .., damaged) = counts("fmt-plain-v3-cutoff.pcap");
    assert!(damaged && packets > 0 && packets < counts("fmt-plain-v3.pcap").0);
}
