//! The frame of a file; what readers make of the files is tested in Python, with DuckDB.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use super::{Keep, Writer, Written};
use crate::table::Choice;

/// A directory of this test alone.
fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("pcapnfs-parquet-{}-{name}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    directory
}

fn choice() -> Choice {
    BTreeMap::from([("calls".to_owned(), BTreeSet::from(["call".to_owned(), "slot".to_owned()]))])
}

fn batch(calls: Vec<u64>, slots: Vec<Option<u32>>) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from(calls)), Arc::new(UInt32Array::from(slots))];
    let schema = Schema::new(vec![
        Field::new("call", DataType::UInt64, false),
        Field::new("slot", DataType::UInt32, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), columns).expect("columns that fit")
}

#[test]
fn a_file_is_framed_and_says_its_largest_numbers() {
    let directory = directory("framed");
    let mut writer = Writer::create(&directory, Some(&choice()), Keep::Long).expect("files");
    writer.write("calls", &batch(vec![7, 9, 8], vec![None, Some(3), None])).expect("a batch");
    let written = writer.finish().expect("an end");
    let expected = Written { rows: 3, highest: BTreeMap::from([("call", 9), ("slot", 3)]) };
    assert_eq!(written, BTreeMap::from([("calls", expected)]));
    let names: Vec<_> =
        fs::read_dir(&directory).expect("files").flatten().map(|file| file.file_name()).collect();
    assert_eq!(names, ["calls.parquet"]);
    let bytes = fs::read(directory.join("calls.parquet")).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let (_, footer) = bytes.split_at(bytes.len() - 8);
    let length = u32::from_le_bytes(*footer.first_chunk().expect("a length")) as usize;
    assert!(length < bytes.len() - 12);
    fs::remove_dir_all(directory).expect("to be removed");
}

#[test]
fn files_that_are_soon_gone_hold_their_values_as_they_are() {
    let numbers: Vec<u64> = (0..1000).map(|_| 0x0123_4567_89ab_cdef).collect();
    let mut sizes = Vec::new();
    for keep in [Keep::Long, Keep::Briefly] {
        let directory = directory(&format!("{keep:?}"));
        let mut writer = Writer::create(&directory, Some(&choice()), keep).expect("files");
        writer.write("calls", &batch(numbers.clone(), vec![None; 1000])).expect("a batch");
        assert_eq!(writer.finish().expect("an end")["calls"].rows, 1000);
        let bytes = fs::read(directory.join("calls.parquet")).expect("a file");
        let plain = numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
        assert_eq!(bytes.windows(plain.len()).any(|window| window == plain), keep == Keep::Briefly);
        sizes.push(bytes.len());
        fs::remove_dir_all(directory).expect("to be removed");
    }
    assert!(sizes[0] < 1000 && sizes[1] > 8000);
}

#[test]
fn what_does_not_fit_the_schema_is_refused() {
    let directory = directory("refused");
    let mut writer = Writer::create(&directory, Some(&choice()), Keep::Long).expect("files");
    assert!(writer.write("operations", &batch(vec![1], vec![None])).is_err());
    let one = batch(vec![1], vec![None]).project(&[0]).expect("a column");
    assert!(writer.write("calls", &one).is_err());
    let swapped = batch(vec![1], vec![None]).project(&[1, 0]).expect("columns");
    assert!(writer.write("calls", &swapped).is_err());
    fs::remove_dir_all(directory).expect("to be removed");
}
