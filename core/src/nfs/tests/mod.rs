//! Arguments, results and failure bodies of every procedure outside NFSv4, written down from the
//! RFCs and `.x` files, and whole calls with their replies.

mod locks;
mod programs;
mod v2;
mod v3;
mod walks;

use std::collections::HashSet;

use crate::nfs::catalogue;
use crate::nfs::facts::{Attributes, Facts};
use crate::nfs::operation::{NFS2, NFS3, NFS4, NFS4_CALLBACK, Operation};
use crate::nfs::side::operations::{
    MOUNT1, MOUNT3, NFSACL2, NFSACL3, NLM, NLM4, NSM1, PORTMAP2, RPCBIND, RQUOTA1, RQUOTA2,
};
use crate::nfs::trials::{self, Part, Rows, Sample, Value};
use crate::nfs::types::FileType;

use Value::{Fixed, Hyper, Opaque, Skipped, Word};

type Table = &'static [Operation];

/// Every table of procedures.
fn tables() -> [Table; 13] {
    [NFS2, NFS3, NFSACL2, NFSACL3, MOUNT1, MOUNT3, PORTMAP2, RPCBIND, NLM, NLM4, NSM1, RQUOTA1, RQUOTA2]
}

const NO_FACTS: fn() -> Facts<'static> = Facts::default;

/// A handle of version 2.
const HANDLE: &[u8; 32] = b"handle-of-thirty-two-bytes-long.";
/// Another one.
const OTHER_HANDLE: &[u8; 32] = b"another-handle-with-as-many-byte";

/// `fattr` of version 2: 17 words.
const FATTR: Rows = &[
    ("type", Word(1)),
    ("mode", Word(0o100_644)),
    ("nlink", Word(2)),
    ("uid", Word(1000)),
    ("gid", Word(100)),
    ("size", Word(8193)),
    ("blocksize", Word(4096)),
    ("rdev", Word(0)),
    ("blocks", Word(24)),
    ("fsid", Word(77)),
    ("fileid", Word(4242)),
    ("atime.seconds", Word(800_000_000)),
    ("atime.useconds", Word(1)),
    ("mtime.seconds", Word(800_000_001)),
    ("mtime.useconds", Word(2)),
    ("ctime.seconds", Word(800_000_002)),
    ("ctime.useconds", Word(999_999)),
];

/// What [`FATTR`] says.
const ATTRIBUTES2: Attributes<'static> = Attributes {
    file_type: Some(FileType::REG),
    mode: Some(0o100_644),
    links: Some(2),
    size: Some(8193),
    fsid: Some((77, 0)),
    fileid: Some(4242),
    mtime_ns: Some(800_000_001_000_002_000),
    ctime_ns: Some(800_000_002_999_999_000),
    used: None,
    mounted_on_fileid: None,
    change: None,
    handle: None,
    error: None,
    max_read: None,
    max_write: None,
    lease_time_s: None,
};

/// `post_op_attr` of version 3 with attributes.
const POST_OP: Rows = &[
    ("attributes_follow", Word(1)),
    ("type", Word(1)),
    ("mode", Word(0o644)),
    ("nlink", Word(1)),
    ("uid", Word(1000)),
    ("gid", Word(100)),
    ("size", Hyper(8193)),
    ("used", Hyper(12_288)),
    ("rdev.specdata1", Word(0)),
    ("rdev.specdata2", Word(0)),
    ("fsid", Hyper(77)),
    ("fileid", Hyper(1 << 40)),
    ("atime.seconds", Word(1_700_000_000)),
    ("atime.nseconds", Word(1)),
    ("mtime.seconds", Word(1_700_000_001)),
    ("mtime.nseconds", Word(2)),
    ("ctime.seconds", Word(1_700_000_002)),
    ("ctime.nseconds", Word(3)),
];

/// What [`POST_OP`] says.
const ATTRIBUTES3: Attributes<'static> = Attributes {
    file_type: Some(FileType::REG),
    mode: Some(0o644),
    links: Some(1),
    size: Some(8193),
    used: Some(12_288),
    fsid: Some((77, 0)),
    fileid: Some(1 << 40),
    mtime_ns: Some(1_700_000_001_000_000_002),
    ctime_ns: Some(1_700_000_002_000_000_003),
    mounted_on_fileid: None,
    change: None,
    handle: None,
    error: None,
    max_read: None,
    max_write: None,
    lease_time_s: None,
};

/// `post_op_attr` without attributes.
const NO_ATTRIBUTES: Rows = &[("attributes_follow", Word(0))];

fn row(table: Table, name: &str) -> &'static Operation {
    table.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no operation {name}"))
}

fn arguments(table: Table, name: &str, rows: &[Rows], expected: Facts<'static>) -> Sample {
    Sample { row: row(table, name), part: Part::Arguments, rows: rows.concat().leak(), expected }
}

fn results(table: Table, name: &str, rows: &[Rows], expected: Facts<'static>) -> Sample {
    Sample { row: row(table, name), part: Part::Results, rows: rows.concat().leak(), expected }
}

fn failure(table: Table, name: &str, rows: &[Rows], expected: Facts<'static>) -> Sample {
    let expected = Facts { status: Some(1), ..expected };
    Sample { row: row(table, name), part: Part::Failure(1), rows: rows.concat().leak(), expected }
}

fn samples() -> Vec<Sample> {
    [v2::samples(), v3::samples(), programs::samples(), locks::samples()].into_iter().flatten().collect()
}

trials::trials!(samples(), &tables());

/// The trials above and those of version 4 go through every operation that there is: a protocol whose
/// table is in neither list would be decoded without any.
#[test]
fn every_operation_goes_through_the_trials() {
    let tried = tables().into_iter().chain([NFS4, NFS4_CALLBACK]).flatten();
    let tried: Vec<*const Operation> = tried.map(std::ptr::from_ref).collect();
    let untried: Vec<&str> = catalogue()
        .filter(|(_, row)| !tried.contains(&std::ptr::from_ref(*row)))
        .map(|(_, row)| row.name)
        .collect();
    assert_eq!(untried, Vec::<&str>::new());
    assert_eq!(tried.len(), catalogue().count());
}

/// What is void on both sides has no sample, and GETSTAT, which is counted only; all others have one.
#[test]
fn only_what_is_void_has_no_sample() {
    let samples = samples();
    let without = tables()
        .into_iter()
        .flatten()
        .map(|row| (row.name, row))
        .filter(|(_, row)| !samples.iter().any(|sample| std::ptr::eq(sample.row, *row)));
    let names: HashSet<&str> = without.map(|(name, _)| name).collect();
    let void = ["NULL", "ROOT", "WRITECACHE", "UMNTALL", "SIMU_CRASH", "GETSTAT"];
    assert_eq!(names, HashSet::from(void));
}

#[test]
fn the_tables_hold_every_procedure_in_order() {
    for (table, last) in tables().iter().zip([17, 21, 5, 3, 7, 5, 5, 12, 23, 23, 6, 4, 4]) {
        let numbers: Vec<u32> = table.iter().map(|row| row.number).collect();
        // NLM has no procedures 16 to 19.
        let expected: Vec<u32> = (0..=last).filter(|n| last != 23 || !(16..20).contains(n)).collect();
        assert_eq!(numbers, expected);
    }
}
