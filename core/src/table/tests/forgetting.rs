//! Objects that are forgotten are written as they are then, and those that are kept go on.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, RecordBatch};
use proptest::prelude::*;

use crate::names::{FileId, Names, Placed};
use crate::nfs::facts::{Attributes, Entry, Facts};
use crate::nfs::operation::{NFS3, Operation};
use crate::nfs::types::FileType;
use crate::nfs::{Done, Told};
use crate::table::{Ending, Tables};

/// An operation: which, in which directory, of which name, and which handle it brings.
type Step = (u8, u8, u8, u8);

const HANDLES: [&[u8]; 12] = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j", b"k", b"l"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..9_u8, 0..4_u8, 0..5_u8, 0..12_u8), 1..120)
}

fn take(names: &mut Names, (kind, directory, name, handle): Step) -> String {
    let handle_of = |number: u8| HANDLES[number as usize % HANDLES.len()];
    let (directory, file, title) = (handle_of(directory), handle_of(handle), [b'n', name]);
    let other = [b'n', handle % 5];
    let attributes = Attributes {
        file_type: Some(if handle < 4 { FileType::DIR } else { FileType::REG }),
        fsid: Some((u64::from(handle % 3), 0)),
        // Some handles lead to one file.
        fileid: Some(u64::from(handle % 8)),
        links: Some(1 + u32::from(handle % 2)),
        size: Some(u64::from(name)),
        mtime_ns: Some(i64::from(handle) + 1),
        ..Attributes::default()
    };
    let of_name = Facts { status: Some(0), handle: Some(directory), name: Some(&title), ..Facts::default() };
    let found = Facts { new_handle: Some(file), attributes: Some(attributes), ..of_name.clone() };
    let (operation, mut facts) = match kind {
        0 => ("LOOKUP", found),
        1 => ("CREATE", Facts { create: Some(true), create_type: Some(FileType::REG), ..found }),
        2 => ("LOOKUP", Facts { status: Some(2), ..of_name }),
        3 => ("REMOVE", of_name),
        4 => ("RENAME", of_name),
        5 => ("LINK", Facts { handle: Some(file), ..of_name }),
        6 => ("READDIRPLUS", Facts { status: Some(0), handle: Some(directory), ..Facts::default() }),
        7 => ("GETATTR", Facts { handle: Some(file), attributes: Some(attributes), name: None, ..of_name }),
        _ => ("GETATTR", Facts { status: Some(70), handle: Some(file), name: None, ..of_name }),
    };
    match kind {
        4 => {
            facts.rare_mut().other_directory = Some(handle_of(handle % 4));
            facts.rare_mut().new_name = Some(&other);
        }
        5 => facts.rare_mut().other_directory = Some(directory),
        6 => {
            let entry = |name, handle| Entry {
                name,
                handle: Some(handle),
                attributes: Some(attributes),
                fileid: None,
                cookie: 0,
            };
            facts.rare_mut().entries = vec![entry(&title, file), entry(&other, handle_of(name))];
        }
        _ => {}
    }
    let operation: &Operation = NFS3.iter().find(|known| known.name == operation).unwrap();
    let done = Done { operation, number: operation.number, executed: true, told: Told::ByReply, facts };
    let mut placed = Placed::default();
    names.place(0, &[done], &mut placed);
    format!("{placed:?}")
}

/// What rows say, by their number; a number that comes twice fails.
fn write(names: &Names, ending: &mut Ending, rows: &mut BTreeMap<FileId, (FileId, Option<FileId>, String)>) {
    let mut tables = Tables::default();
    let mut more = true;
    while more {
        more = tables.append_files(ending, names, &["10.0.0.1".to_owned()]);
        for (_, batch) in tables.take(!more).unwrap() {
            told(&batch, rows);
        }
    }
}

fn told(batch: &RecordBatch, rows: &mut BTreeMap<FileId, (FileId, Option<FileId>, String)>) {
    let numbers = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<UInt32Type>().clone();
    let (file, identity, parent) = (numbers("file"), numbers("identity"), numbers("parent"));
    let rest = ["handle", "type", "fileid", "size", "name", "path", "export", "role", "removed"];
    for row in 0..batch.num_rows() {
        let values = rest.map(|name| format!("{:?}", batch.column_by_name(name).unwrap().slice(row, 1)));
        let parent = parent.is_valid(row).then(|| parent.value(row));
        let before = rows.insert(file.value(row), (identity.value(row), parent, values.concat()));
        assert_eq!(before, None, "written once");
    }
}

fn forget(
    names: &mut Names,
    keep: Option<&[bool]>,
    rows: &mut BTreeMap<FileId, (FileId, Option<FileId>, String)>,
) {
    names.settle();
    let mut ending = Ending::forgetting(names);
    if let Some(keep) = keep {
        ending.keep = (0..names.files().len()).map(|id| keep[id % keep.len()]).collect();
    }
    write(names, &mut ending, rows);
    names.forget(ending.kept());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// As long as all are kept, that some could be forgotten changes nothing.
    #[test]
    fn who_forgets_nothing_knows_all(steps in steps(), every in 1..20_usize) {
        let (mut names, mut others) = (Names::default(), Names::default());
        let (mut rows, mut other_rows) = (BTreeMap::new(), BTreeMap::new());
        for (number, step) in steps.iter().enumerate() {
            prop_assert_eq!(take(&mut names, *step), take(&mut others, *step));
            if number % every == 0 {
                // What is shown of a file is its latest name, or one that it has once that is lost.
                others.settle();
                forget(&mut names, Some(&[true]), &mut rows);
            }
        }
        prop_assert!(rows.is_empty() && names.forgotten() == 0);
        for (names, rows) in [(&mut names, &mut rows), (&mut others, &mut other_rows)] {
            names.settle();
            let mut ending = Tables::default().ending(names).unwrap();
            write(names, &mut ending, rows);
        }
        prop_assert_eq!(rows, other_rows);
    }

    /// Each object is written once, and says of no other what is not so.
    #[test]
    fn each_object_is_written_once(
        steps in steps(), every in 1..20_usize, keep in prop::collection::vec(any::<bool>(), 1..7)
    ) {
        let (mut names, mut rows) = (Names::default(), BTreeMap::new());
        for (number, step) in steps.iter().enumerate() {
            take(&mut names, *step);
            if number % every == 0 {
                let before = names.bytes();
                forget(&mut names, Some(&keep), &mut rows);
                prop_assert!(names.bytes() <= before);
            }
        }
        names.settle();
        let mut ending = Tables::default().ending(&names).unwrap();
        let forgotten = rows.len();
        write(&names, &mut ending, &mut rows);
        prop_assert_eq!(names.forgotten(), forgotten as u64);
        prop_assert!(rows.keys().copied().eq(0..rows.len() as FileId), "{:?}", rows.keys());
        for (identity, parent, _) in rows.values() {
            prop_assert_eq!(&rows[identity].0, identity);
            prop_assert!(parent.is_none_or(|parent| rows.contains_key(&parent)));
        }
    }

    /// A file that is used goes on being one, with its path, however many others are named.
    #[test]
    fn what_is_used_is_kept(depth in 1..6_u8, others in 100..400_u32) {
        let (mut names, mut placed, mut rows) = (Names::default(), Placed::default(), BTreeMap::new());
        let lookup = NFS3.iter().find(|known| known.name == "LOOKUP").unwrap();
        let mut look_up = |names: &mut Names, directory: &[u8], name: &[u8], handle: &[u8]| {
            let facts = Facts {
                status: Some(0), handle: Some(directory), name: Some(name), new_handle: Some(handle),
                ..Facts::default()
            };
            let done = Done { operation: lookup, number: 3, executed: true, told: Told::ByReply, facts };
            names.place(0, &[done], &mut placed);
            placed.places[0].file.unwrap()
        };
        let file = (0..depth).map(|level| look_up(&mut names, &[level], b"d", &[level + 1])).last().unwrap();
        let mut times = 0;
        let limit = names.bytes() + 20 * 250;
        for number in 0..others {
            look_up(&mut names, b"elsewhere", &number.to_be_bytes(), &[&[9][..], &number.to_be_bytes()].concat());
            prop_assert_eq!(look_up(&mut names, &[depth - 1], b"d", &[depth]), file);
            let taken = names.bytes();
            if taken > limit {
                forget(&mut names, None, &mut rows);
                times += 1;
                prop_assert!(names.bytes() <= taken / 2, "{} of {taken}", names.bytes());
            }
        }
        prop_assert!(times > 1 && !rows.contains_key(&file));
        names.settle();
        write(&names, &mut Tables::default().ending(&names).unwrap(), &mut rows);
        let path = vec!["d"; usize::from(depth)].join("/");
        prop_assert!(rows[&file].2.contains(&path), "{path} in {:?}", rows[&file]);
    }
}
