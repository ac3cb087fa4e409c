//! How the objects of a decode are written at its end.

mod forgetting;

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};

use super::files::PATHS_BYTES;
use super::{BATCH_ROWS, Tables};
use crate::names::{Names, Placed};
use crate::nfs::facts::Facts;
use crate::nfs::operation::NFS3;
use crate::nfs::{Done, Told};

/// So many names in a directory, and the directory.
fn looked_for(many: usize) -> Names {
    looked_for_as(many, "")
}

/// The same, of which each begins like this.
fn looked_for_as(many: usize, beginning: &str) -> Names {
    let mut names = Names::default();
    let mut placed = Placed::default();
    let operation = NFS3.iter().find(|operation| operation.name == "LOOKUP").unwrap();
    for number in 0..many {
        let name = format!("{beginning}{number}");
        let facts = Facts {
            status: Some(0),
            handle: Some(b"directory"),
            name: Some(name.as_bytes()),
            ..Facts::default()
        };
        let done = Done { operation, number: operation.number, executed: true, told: Told::ByReply, facts };
        names.place(0, &[done], &mut placed);
    }
    names
}

/// The table of files as it leaves, batch by batch.
fn files(names: &Names) -> Vec<(&'static str, RecordBatch)> {
    let mut tables = Tables::default();
    let mut ending = tables.ending(names).unwrap();
    let mut written = Vec::new();
    let mut more = true;
    while more {
        more = tables.append_files(&mut ending, names, &["10.0.0.1".to_owned()]);
        written.extend(tables.take(!more).unwrap());
    }
    written
}

#[test]
fn objects_are_written_some_at_a_time() {
    let written: Vec<_> = files(&looked_for(2 * BATCH_ROWS))
        .iter()
        .map(|(table, batch)| {
            let numbers = batch.column_by_name("file").unwrap().as_primitive::<UInt32Type>();
            (*table, numbers.value(0), numbers.len())
        })
        .collect();
    let rows = BATCH_ROWS as u32;
    assert_eq!(written, [("files", 0, BATCH_ROWS), ("files", rows, BATCH_ROWS), ("files", 2 * rows, 1)]);
}

#[test]
fn of_long_paths_a_few_are_written_at_a_time() {
    const LONG: usize = 4000;
    let many = 3 * PATHS_BYTES / LONG;
    let names = looked_for_as(many, &"n".repeat(LONG));
    let written: Vec<_> = files(&names).iter().map(|(_, batch)| batch.num_rows()).collect();
    assert_eq!(written.iter().sum::<usize>(), many + 1);
    assert!(written.iter().all(|rows| rows * LONG < PATHS_BYTES + 2 * LONG), "{written:?}");
}

#[test]
fn what_is_more_than_a_batch_leaves_as_several() {
    use crate::error::{DecodeError, Layer, Reason};
    use crate::stream::assembler::Stamp;

    let mut tables = Tables::default();
    let error =
        DecodeError { layer: Layer::Rpc, reason: Reason::Missing, offset: 0, needed: 0, available: 0 };
    for frame in 0..=2 * BATCH_ROWS as u64 {
        tables.note(&error, Stamp { frame, time_ns: 0 }, None, None, None);
        assert_eq!(tables.full(), frame + 1 >= BATCH_ROWS as u64);
    }
    let whole = tables.take(false).unwrap();
    assert!(!tables.full() && tables.take(false).unwrap().is_empty());
    let last = tables.take(true).unwrap();
    let frames = whole.iter().chain(&last).map(|(table, batch)| {
        let frames = batch.column_by_name("frame").unwrap().as_primitive::<UInt64Type>();
        (*table, frames.value(0), frames.len())
    });
    let rows = BATCH_ROWS as u64;
    assert_eq!(
        frames.collect::<Vec<_>>(),
        [("notes", 0, BATCH_ROWS), ("notes", rows, BATCH_ROWS), ("notes", 2 * rows, 1)]
    );
    assert_eq!((whole.len(), last.len()), (2, 1));
}

#[test]
fn objects_that_nobody_wants_are_not_looked_at() {
    let mut tables = Tables::default();
    tables.choose(&BTreeMap::from([("calls".to_owned(), BTreeSet::from(["call".to_owned()]))]));
    assert!(tables.ending(&looked_for(1)).is_none());
}
