//! How the objects of a decode are written at its end.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;

use super::{BATCH_ROWS, Tables};
use crate::names::{Names, Placed};
use crate::nfs::Done;
use crate::nfs::facts::Facts;
use crate::nfs::operation::NFS3;

/// So many names in a directory, and the directory.
fn looked_for(many: usize) -> Names {
    let mut names = Names::default();
    let mut placed = Placed::default();
    let operation = NFS3.iter().find(|operation| operation.name == "LOOKUP").unwrap();
    for number in 0..many {
        let name = number.to_string();
        let facts = Facts {
            status: Some(0),
            handle: Some(b"directory"),
            name: Some(name.as_bytes()),
            ..Facts::default()
        };
        let done = Done { operation, number: operation.number, executed: true, unseen: false, facts };
        names.place(0, &[done], &mut placed);
    }
    names
}

#[test]
fn objects_are_written_some_at_a_time() {
    let names = looked_for(2 * BATCH_ROWS);
    let mut tables = Tables::default();
    let mut ending = tables.ending(&names).unwrap();
    let mut written = Vec::new();
    let mut more = true;
    while more {
        more = tables.append_files(&mut ending, &names, &["10.0.0.1".to_owned()]);
        for (table, batch) in tables.take(!more).unwrap() {
            let numbers = batch.column_by_name("file").unwrap().as_primitive::<UInt32Type>().clone();
            written.push((table, numbers.value(0), numbers.len()));
        }
    }
    let rows = BATCH_ROWS as u32;
    assert_eq!(written, [("files", 0, BATCH_ROWS), ("files", rows, BATCH_ROWS), ("files", 2 * rows, 1)]);
}

#[test]
fn objects_that_nobody_wants_are_not_looked_at() {
    let mut tables = Tables::default();
    tables.choose(&BTreeMap::from([("calls".to_owned(), BTreeSet::from(["call".to_owned()]))]));
    assert!(tables.ending(&looked_for(1)).is_none());
}
