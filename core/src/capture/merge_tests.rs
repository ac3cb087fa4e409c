//! Files that follow one another, overlap, break off or are pipes.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// A folder of captures that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pcapnfs-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A capture with a packet of one byte, its own number, at each of these tenths of a second.
    fn file(&self, name: &str, number: u8, tenths: &[u32]) -> PathBuf {
        let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(65_535_u32.to_le_bytes()); // snaplen
        bytes.extend(1_u32.to_le_bytes()); // Ethernet
        for tenth in tenths {
            for word in [*tenth / 10, *tenth % 10 * 100_000, 1, 1] {
                bytes.extend(word.to_le_bytes()); // seconds, microseconds, captured, on the wire
            }
            bytes.push(number);
        }
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A file's packet at this tenth of a second, or its end (`None`).
type Step = (u8, Option<i64>);

/// What a merge gave: the order of the files, packets and ends, errors.
fn read(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<Step>, Vec<String>) {
    let mut merge = Merge::open(paths).unwrap();
    let order: Vec<PathBuf> = merge.paths().map(Path::to_owned).collect();
    let (mut steps, mut errors) = (Vec::new(), Vec::new());
    loop {
        match merge.next() {
            Some(Next::Packet(index, packet)) => {
                assert_eq!(paths[usize::from(packet.bytes[0])], order[index]);
                steps.push((packet.bytes[0], Some(packet.time_ns / 100_000_000)));
            }
            Some(Next::End(index, error)) => {
                let number = paths.iter().position(|path| *path == order[index]).unwrap();
                assert!(error.is_some() || merge.reader(index).is_some());
                steps.push((number as u8, None));
                errors.extend(error.map(|error| error.what()));
            }
            None => break,
        }
    }
    assert!(merge.next().is_none());
    (order, steps, errors)
}

fn packets(steps: &[Step]) -> Vec<(u8, i64)> {
    steps.iter().filter_map(|(file, tenth)| Some((*file, (*tenth)?))).collect()
}

#[test]
fn files_that_follow_one_another_are_read_one_after_the_other() {
    let folder = Folder::new("rotation");
    let paths = [folder.file("b", 0, &[5, 6]), folder.file("c", 1, &[7, 8]), folder.file("a", 2, &[1, 2, 5])];
    let (order, steps, errors) = read(&paths);
    assert_eq!(order, [&paths[2], &paths[0], &paths[1]].map(Clone::clone));
    assert_eq!(packets(&steps), [(2, 1), (2, 2), (2, 5), (0, 5), (0, 6), (1, 7), (1, 8)]);
    assert_eq!(errors, [""; 0]);
    // No more than two files are open at a time.
    assert_eq!(steps.iter().position(|step| *step == (2, None)), Some(3));
}

#[test]
fn files_that_overlap_are_merged_by_time() {
    let folder = Folder::new("overlap");
    let paths = [
        folder.file("a", 0, &[1, 4, 4, 9]),
        folder.file("b", 1, &[2, 4, 5]),
        folder.file("c", 2, &[3, 10]),
        folder.file("d", 3, &[11]),
    ];
    let (_, steps, _) = read(&paths);
    let merged = [
        (0, 1),
        (1, 2),
        (2, 3),
        (0, 4), // of the same time, the file that began first
        (0, 4),
        (1, 4),
        (1, 5),
        (0, 9),
        (2, 10),
        (3, 11),
    ];
    assert_eq!(packets(&steps), merged);
    assert_eq!(steps.iter().filter(|step| step.1.is_none()).count(), 4);
}

#[test]
fn the_order_within_a_file_stays() {
    let folder = Folder::new("disorder");
    let paths = [folder.file("a", 0, &[3, 1, 8]), folder.file("b", 1, &[2, 7, 4])];
    let (_, steps, _) = read(&paths);
    assert_eq!(packets(&steps), [(1, 2), (0, 3), (0, 1), (1, 7), (1, 4), (0, 8)]);
}

#[test]
fn a_file_that_breaks_off_or_is_empty_ends_its_part_alone() {
    let folder = Folder::new("broken");
    let paths = [folder.file("a", 0, &[1, 3, 5]), folder.file("b", 1, &[2, 4]), folder.file("c", 2, &[])];
    let bytes = fs::read(&paths[0]).unwrap();
    fs::write(&paths[0], &bytes[..bytes.len() - 1]).unwrap();
    let (_, steps, errors) = read(&paths);
    assert_eq!(steps[0], (2, None));
    assert_eq!(packets(&steps), [(0, 1), (1, 2), (0, 3), (1, 4)]);
    let told = "the file ends within a packet at byte 58, after packet 2; everything before that was read";
    assert_eq!(errors, [told]);
}

#[test]
fn a_file_that_vanishes_before_its_turn_is_told() {
    let folder = Folder::new("vanished");
    let paths = [folder.file("a", 0, &[1]), folder.file("b", 1, &[2])];
    let mut merge = Merge::open(&paths).unwrap();
    fs::remove_file(&paths[1]).unwrap();
    assert!(matches!(merge.next(), Some(Next::Packet(0, _))));
    assert!(matches!(merge.next(), Some(Next::End(0, None))));
    assert!(matches!(merge.next(), Some(Next::End(1, Some(ReadError::Io { .. })))));
    assert!(merge.next().is_none());
}

#[test]
fn a_file_that_ends_before_any_packet_is_told_beside_others() {
    let folder = Folder::new("empty");
    let [empty, short, packed, begun] = ["empty", "short", "packed", "begun"].map(|name| folder.0.join(name));
    let paths = [empty, folder.file("a", 1, &[1]), begun, short, packed];
    fs::write(&paths[0], b"").unwrap();
    fs::write(&paths[2], b"\xd4\xc3\xb2\xa1\x02\0").unwrap(); // magic number, half of a version
    fs::write(&paths[3], b"\xd4").unwrap();
    fs::write(&paths[4], b"BZh").unwrap();
    let (order, steps, errors) = read(&paths);
    assert_eq!(order, [0, 2, 3, 4, 1].map(|place: usize| paths[place].clone()));
    assert_eq!(packets(&steps), [(1, 1)]);
    let [empty, begun, short, packed] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!(empty, "an empty file, as a full disk leaves it; everything else was read");
    assert!(begun.starts_with("the file ends within its header at byte 0"), "{begun}");
    assert!(short.starts_with("the file ends within its first bytes at byte 0"), "{short}");
    assert_eq!(packed, short);
    // Without any other there is nothing to read.
    assert!(matches!(Merge::open(&paths[..1]), Err(ReadError::Empty { .. })));
    let without = [paths[2].clone(), paths[0].clone()];
    assert!(matches!(Merge::open(&without), Err(ReadError::Damaged { .. })));
}

#[test]
fn progress_counts_every_file_once() {
    let folder = Folder::new("progress");
    let paths = [folder.file("a", 0, &[1, 3]), folder.file("b", 1, &[2]), folder.file("c", 2, &[4])];
    let size: u64 = paths.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    let mut merge = Merge::open(&paths).unwrap();
    let mut before = 0;
    while merge.next().is_some() {
        assert!((before..=size).contains(&merge.consumed()));
        before = merge.consumed();
    }
    assert_eq!(merge.consumed(), size);
}

#[test]
fn no_file_and_no_capture() {
    assert!(Merge::open(&[]).unwrap().next().is_none());
    let folder = Folder::new("no-capture");
    let paths = [folder.file("a", 0, &[1]), folder.0.join("absent")];
    assert!(matches!(Merge::open(&paths), Err(ReadError::Io { .. })));
}
