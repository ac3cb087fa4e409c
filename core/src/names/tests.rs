//! What operations teach about files, with the operations written down by hand.

use super::identity::Identities;
use super::paths::{Paths, Role, text};
use super::{Binding, File, FileId, Names, Place, Placed};
use crate::nfs::facts::{Attributes, Entry, Facts, Pnfs, Rare, StateId};
use crate::nfs::operation::{NFS3, NFS4, NFS4_CALLBACK, Operation};
use crate::nfs::side::operations::MOUNT3;
use crate::nfs::types::{FileType, StableHow};
use crate::nfs::{Done, Told};

const OK: u32 = 0;
const NOENT: u32 = 2;
const ISDIR: u32 = 21;
const INVAL: u32 = 22;

fn done<'a>(table: &'static [Operation], name: &str, facts: Facts<'a>) -> Done<'a> {
    let operation = table.iter().find(|row| row.name == name).unwrap();
    Done { operation, number: operation.number, executed: facts.status.is_some(), told: Told::ByReply, facts }
}

fn place(names: &mut Names, operations: &[Done<'_>]) -> (Vec<Place>, Vec<Binding>) {
    let mut placed = Placed::default();
    names.place(0, operations, &mut placed);
    (placed.places, placed.bindings)
}

fn one(names: &mut Names, operation: Done<'_>) -> Place {
    place(names, &[operation]).0[0]
}

fn path(names: &Names, file: Option<FileId>) -> (String, Option<String>, Role) {
    let mut paths = Paths::new(names);
    let location = paths.locate(names, file.unwrap());
    (text(location.path).into_owned(), location.export.map(|export| text(export).into_owned()), location.role)
}

fn of_type(file_type: FileType) -> Attributes<'static> {
    Attributes { file_type: Some(file_type), ..Attributes::default() }
}

fn mount(names: &mut Names, handle: &'static [u8], path: &'static [u8]) {
    let facts = Facts { status: Some(OK), text: Some(path), new_handle: Some(handle), ..Facts::default() };
    one(names, done(MOUNT3, "MNT", facts));
}

fn create<'a>(directory: &'a [u8], name: &'a [u8], handle: Option<&'a [u8]>) -> Done<'a> {
    let facts = Facts {
        status: Some(OK),
        handle: Some(directory),
        name: Some(name),
        new_handle: handle,
        create: Some(true),
        create_type: Some(FileType::REG),
        ..Facts::default()
    };
    done(NFS3, "CREATE", facts)
}

fn by_name<'a>(operation: &str, directory: &'a [u8], name: &'a [u8], status: u32) -> Done<'a> {
    let facts = Facts { status: Some(status), handle: Some(directory), name: Some(name), ..Facts::default() };
    done(NFS3, operation, facts)
}

#[test]
fn a_file_created_below_a_mounted_directory_has_its_path_below_the_export() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/srv/x");
    let directory = one(&mut names, create(b"root", b"d00", Some(b"dir")));
    let file = one(&mut names, create(b"dir", b"f", Some(b"file")));
    assert_eq!(file.directory, directory.file);
    assert_eq!(path(&names, file.file), ("d00/f".into(), Some("/srv/x".into()), Role::File));
    let root = names.find(0, b"root");
    assert_eq!(path(&names, root), (".".into(), Some("/srv/x".into()), Role::Directory));
}

#[test]
fn with_several_exports_a_path_begins_with_its_own() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/home/a/");
    mount(&mut names, b"again", b"/home/a/");
    let mine = one(&mut names, create(b"root", b"f", Some(b"mine")));
    assert_eq!(path(&names, mine.file).0, "f");
    mount(&mut names, b"other", b"/home/b");
    let theirs = one(&mut names, create(b"other", b"f", Some(b"theirs")));
    assert_eq!(path(&names, mine.file), ("/home/a/f".into(), Some("/home/a/".into()), Role::File));
    assert_eq!(path(&names, theirs.file), ("/home/b/f".into(), Some("/home/b".into()), Role::File));
    let root = names.find(0, b"other");
    assert_eq!(path(&names, root), ("/home/b".into(), Some("/home/b".into()), Role::Directory));
    // What is below no export that is known stays below its handle.
    let strange = one(&mut names, create(b"nowhere", b"f", Some(b"strange")));
    assert!(path(&names, strange.file).0.starts_with("[0x"));
}

#[test]
fn a_name_looked_for_in_vain_becomes_the_file_that_takes_it() {
    let mut names = Names::default();
    let missed = one(&mut names, by_name("LOOKUP", b"dir", b"f", NOENT));
    assert_eq!(path(&names, missed.file).2, Role::Absent);
    let created = one(&mut names, create(b"dir", b"f", Some(b"file")));
    assert_eq!(created.file, missed.file);
    assert_eq!(names.find(0, b"file"), missed.file);
}

#[test]
fn a_name_of_which_no_reply_tells_is_not_one_that_was_not_found() {
    let unanswered = |operation, create| {
        let facts = Facts { handle: Some(b"dir"), name: Some(b"f"), create, ..Facts::default() };
        done(NFS3, operation, facts)
    };
    let mut names = Names::default();
    let mut role = |operation| {
        let file = one(&mut names, operation).file;
        path(&names, file).2
    };
    assert_eq!(role(unanswered("LOOKUP", None)), Role::Untold);
    // Nor does one that refuses: of ACCES, IO, ROFS and STALE.
    for status in [13, 5, 30, 70] {
        for operation in ["LOOKUP", "REMOVE", "CREATE", "MKDIR"] {
            assert_eq!(role(by_name(operation, b"dir", b"f", status)), Role::Untold, "{operation} {status}");
        }
    }
    // What is there may be removed for want of room, and needs none to be made: of NOSPC, and of DQUOT.
    for (status, name) in [(28, b"g"), (69, b"h")] {
        assert_eq!(role(by_name("REMOVE", b"dir", name, status)), Role::Untold, "{status}");
        assert_eq!(role(by_name("CREATE", b"dir", name, status)), Role::Absent, "{status}");
    }
    // Nothing can have such a name: of NOTDIR and NAMETOOLONG. But a file may be no directory.
    assert_eq!(role(by_name("RMDIR", b"dir", b"i", 20)), Role::Untold);
    assert_eq!(role(by_name("LOOKUP", b"dir", b"i", 20)), Role::Absent);
    assert_eq!(role(by_name("LOOKUP", b"dir", b"j", 63)), Role::Absent);
    assert_eq!(role(by_name("LOOKUP", b"dir", b"f", NOENT)), Role::Absent);
    assert_eq!(role(by_name("LOOKUP", b"dir", b"f", 13)), Role::Absent);
    // Only what may have made it leaves that open.
    assert_eq!(role(unanswered("LOOKUP", None)), Role::Absent);
    assert_eq!(role(unanswered("REMOVE", None)), Role::Absent);
    assert_eq!(role(unanswered("CREATE", Some(true))), Role::Untold);
    assert_eq!(role(by_name("CREATE", b"dir", b"f", 13)), Role::Untold);
    assert_eq!(role(create(b"dir", b"f", Some(b"file"))), Role::File);
}

#[test]
fn a_name_that_is_in_the_way_is_not_one_that_was_not_found() {
    const IN_THE_WAY: [u32; 5] = [17, 21, 66, 10015, 10046];
    const PUT_OFF: [u32; 2] = [10008, 10013];
    let mut names = Names::default();
    let mut role = |operation| {
        let file = one(&mut names, operation).file;
        path(&names, file).2
    };
    for status in IN_THE_WAY {
        assert_eq!(role(by_name("LOOKUP", b"dir", b"f", NOENT)), Role::Absent);
        assert_eq!(role(by_name("CREATE", b"dir", b"f", status)), Role::Unknown, "{status}");
        // Who may not remove it learns nothing of whether it is there.
        assert_eq!(role(by_name("REMOVE", b"dir", b"f", 13)), Role::Unknown, "{status}");
        assert_eq!(role(by_name("CREATE", b"dir", b"f", 28)), Role::Unknown, "{status}");
    }
    for status in PUT_OFF {
        assert_eq!(role(by_name("LOOKUP", b"dir", b"g", status)), Role::Untold, "{status}");
    }
    assert_eq!(role(by_name("LOOKUP", b"dir", b"g", NOENT)), Role::Absent);
    assert_eq!(role(by_name("LOOKUP", b"dir", b"g", PUT_OFF[0])), Role::Absent);
    // It may be the new name that is in the way.
    assert_eq!(role(by_name("RENAME", b"dir", b"h", IN_THE_WAY[0])), Role::Untold);
    assert_eq!(role(by_name("RENAME", b"dir", b"h", NOENT)), Role::Absent);
}

#[test]
fn a_name_looked_for_in_vain_is_that_of_the_file_that_is_given_it() {
    let mut names = Names::default();
    let file = one(&mut names, create(b"root", b"made", Some(b"file"))).file.unwrap();
    let renamed_to = one(&mut names, by_name("LOOKUP", b"root", b"renamed", NOENT)).file.unwrap();
    let linked_to = one(&mut names, by_name("LOOKUP", b"root", b"linked", NOENT)).file.unwrap();
    let never = one(&mut names, by_name("LOOKUP", b"root", b"never", NOENT)).file.unwrap();
    one(&mut names, rename(b"made", b"renamed"));
    one(&mut names, link(b"file", b"linked"));
    one(&mut names, by_name("REMOVE", b"root", b"renamed", OK));
    let removed = one(&mut names, by_name("LOOKUP", b"root", b"renamed", NOENT)).file.unwrap();
    let identities = Identities::new(&names);
    assert_eq!([renamed_to, linked_to].map(|name| identities.of(name)), [file; 2]);
    assert_eq!([never, removed].map(|name| identities.of(name)), [never, removed]);
}

#[test]
fn a_file_without_a_handle_that_is_replaced_is_another_file() {
    let mut names = Names::default();
    let made = one(&mut names, create(b"root", b"f", None)).file.unwrap();
    one(&mut names, create(b"root", b"g", Some(b"file")));
    one(&mut names, rename(b"g", b"f"));
    assert_eq!(Identities::new(&names).of(made), made);
}

#[test]
fn a_create_whose_reply_brings_no_handle_names_the_file_that_is_looked_up_next() {
    let mut names = Names::default();
    let created = one(&mut names, create(b"dir", b"f", None));
    let facts = Facts {
        status: Some(OK),
        handle: Some(b"dir"),
        name: Some(b"f"),
        new_handle: Some(b"file"),
        ..Facts::default()
    };
    assert_eq!(one(&mut names, done(NFS3, "LOOKUP", facts)).file, created.file);
}

#[test]
fn a_name_that_is_made_again_after_its_removal_is_another_file() {
    let mut names = Names::default();
    let first = one(&mut names, create(b"dir", b"f", Some(b"one")));
    let removed = one(&mut names, by_name("REMOVE", b"dir", b"f", OK));
    assert_eq!(removed.file, first.file);
    assert!(names.file(first.file.unwrap()).unwrap().removed);
    let second = one(&mut names, create(b"dir", b"f", Some(b"two")));
    assert_ne!(second.file, first.file);
    assert!(!names.file(second.file.unwrap()).unwrap().removed);
}

#[test]
fn a_failed_removal_removes_nothing() {
    let mut names = Names::default();
    let file = one(&mut names, create(b"dir", b"f", Some(b"file"))).file;
    let (places, bindings) = place(&mut names, &[by_name("REMOVE", b"dir", b"f", 13)]);
    assert_eq!((places[0].file, bindings.len()), (file, 0));
    assert_eq!(names.child(names.find(0, b"dir").unwrap(), b"f"), file);
}

#[test]
fn a_rename_moves_the_file_and_replaces_what_had_the_name() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/x");
    let old = one(&mut names, create(b"root", b"new", Some(b"old"))).file;
    let file = one(&mut names, create(b"root", b"tmp", Some(b"file"))).file;
    let facts = Facts {
        status: Some(OK),
        handle: Some(b"root"),
        name: Some(b"tmp"),
        rare: Some(Rare { other_directory: Some(b"root"), new_name: Some(b"new"), ..Rare::default() }.into()),
        ..Facts::default()
    };
    let mut placed = Placed::default();
    names.place(0, &[done(NFS3, "RENAME", facts)], &mut placed);
    let Placed { places, bindings, .. } = &placed;
    assert_eq!((places[0].file, places[0].directory), (file, places[0].target_directory));
    assert_eq!(path(&names, file).0, "new");
    assert!(names.file(old.unwrap()).unwrap().removed);
    let bound: Vec<_> = bindings.iter().map(|binding| (placed.name(binding), binding.file)).collect();
    assert_eq!(bound, [(&b"tmp"[..], None), (b"new", file)]);
}

#[test]
fn a_hard_link_keeps_the_first_name_and_gives_another() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/x");
    let file = one(&mut names, create(b"root", b"first", Some(b"file"))).file;
    let facts = Facts {
        status: Some(OK),
        handle: Some(b"file"),
        name: Some(b"second"),
        rare: Some(Rare { other_directory: Some(b"root"), ..Rare::default() }.into()),
        ..Facts::default()
    };
    assert_eq!(one(&mut names, done(NFS3, "LINK", facts)).file, file);
    assert_eq!(path(&names, file).0, "first");
    assert_eq!(names.child(names.find(0, b"root").unwrap(), b"second"), file);
}

/// PUTROOTFH, then a LOOKUP with GETFH and GETATTR for each step, as a Linux client mounts.
fn descend(names: &mut Names, steps: &[(&'static [u8], &'static [u8], u64)]) {
    let root = Facts { status: Some(OK), ..Facts::default() };
    let handle = Facts { status: Some(OK), new_handle: Some(b"root"), ..Facts::default() };
    place(names, &[done(NFS4, "PUTROOTFH", root), done(NFS4, "GETFH", handle), getattr(FileType::DIR, 0)]);
    let mut above: &[u8] = b"root";
    for &(name, handle, fsid) in steps {
        let put = Facts { status: Some(OK), handle: Some(above), ..Facts::default() };
        let lookup = Facts { status: Some(OK), name: Some(name), ..Facts::default() };
        let getfh = Facts { status: Some(OK), new_handle: Some(handle), ..Facts::default() };
        place(
            names,
            &[
                done(NFS4, "PUTFH", put),
                done(NFS4, "LOOKUP", lookup),
                done(NFS4, "GETFH", getfh),
                getattr(FileType::DIR, fsid),
            ],
        );
        above = handle;
    }
}

fn getattr(file_type: FileType, fsid: u64) -> Done<'static> {
    let attributes = Some(Attributes { fsid: Some((fsid, 0)), ..of_type(file_type) });
    done(NFS4, "GETATTR", Facts { status: Some(OK), attributes, ..Facts::default() })
}

#[test]
fn an_nfsv4_export_begins_where_the_file_system_changes() {
    let mut names = Names::default();
    descend(&mut names, &[(b"srv", b"srv", 7), (b"x", b"x", 9), (b"d00", b"dir", 9)]);
    let find = |handle: &[u8]| names.find(0, handle);
    assert_eq!(path(&names, find(b"root")), ("/".into(), None, Role::Pseudo));
    assert_eq!(path(&names, find(b"srv")), ("/srv".into(), None, Role::Pseudo));
    assert_eq!(path(&names, find(b"x")), (".".into(), Some("/srv/x".into()), Role::Directory));
    assert_eq!(path(&names, find(b"dir")), ("d00".into(), Some("/srv/x".into()), Role::Directory));
}

#[test]
fn lookupp_tells_the_handle_of_a_directory_that_was_only_passed_through() {
    let mut names = Names::default();
    let ok = || Facts { status: Some(OK), ..Facts::default() };
    let lookup = |name| done(NFS4, "LOOKUP", Facts { name: Some(name), ..ok() });
    let getfh = |handle| done(NFS4, "GETFH", Facts { new_handle: Some(handle), ..ok() });
    let root = done(NFS4, "PUTROOTFH", ok());
    place(&mut names, &[root, lookup(b"above"), lookup(b"below"), getfh(b"lower")]);
    let put = done(NFS4, "PUTFH", Facts { handle: Some(b"lower"), ..ok() });
    let (places, _) = place(&mut names, &[put, done(NFS4, "LOOKUPP", ok()), getfh(b"upper")]);
    assert_eq!(path(&names, names.find(0, b"upper")).0, "above");
    assert_eq!(places[1].file, names.find(0, b"upper"));
}

#[test]
fn paths_below_two_nfsv4_exports_begin_with_theirs() {
    let mut names = Names::default();
    descend(&mut names, &[(b"srv", b"srv", 7), (b"x", b"x", 9), (b"d00", b"dir", 9)]);
    descend(&mut names, &[(b"srv", b"srv", 7), (b"y", b"y", 11), (b"d00", b"other", 11)]);
    let find = |handle: &[u8]| path(&names, names.find(0, handle)).0;
    assert_eq!([find(b"root"), find(b"srv")], ["/", "/srv"]);
    assert_eq!([find(b"x"), find(b"dir")], ["/srv/x", "/srv/x/d00"]);
    assert_eq!([find(b"y"), find(b"other")], ["/srv/y", "/srv/y/d00"]);
}

#[test]
fn a_directory_with_files_of_its_own_is_no_pseudo_directory_though_more_is_mounted_below_it() {
    let mut names = Names::default();
    descend(&mut names, &[(b"data", b"data", 7), (b"inner", b"inner", 9)]);
    descend(&mut names, &[(b"data", b"data", 7), (b"plain", b"plain", 7)]);
    let find = |handle: &[u8]| names.find(0, handle);
    assert_eq!(path(&names, find(b"data")), ("/data".into(), Some("/data".into()), Role::Directory));
    let inner = ("/data/inner".into(), Some("/data/inner".into()), Role::Directory);
    assert_eq!(path(&names, find(b"inner")), inner);
}

#[test]
fn a_file_system_of_which_two_versions_tell_unlike_numbers_is_one() {
    let mut names = Names::default();
    descend(&mut names, &[(b"data", b"data", 7), (b"plain", b"plain", 7)]);
    descend(&mut names, &[(b"data", b"data", 7), (b"beside", b"beside", 7)]);
    let put = Facts { status: Some(OK), handle: Some(b"plain"), ..Facts::default() };
    let attributes = Some(Attributes { fsid: Some((5, 6)), ..of_type(FileType::DIR) });
    let getattr = done(NFS4, "GETATTR", Facts { status: Some(OK), attributes, ..Facts::default() });
    place(&mut names, &[done(NFS4, "PUTFH", put), getattr]);
    let plain = names.find(0, b"plain");
    assert_eq!(path(&names, plain), ("plain".into(), Some("/data".into()), Role::Directory));
}

#[test]
fn below_a_mounted_directory_another_file_system_is_another_export() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/srv/x");
    let mut made = |parent, name, handle, fsid| {
        let attributes = Some(Attributes { fsid: Some((fsid, 0)), ..of_type(FileType::DIR) });
        let facts = Facts {
            status: Some(OK),
            handle: Some(parent),
            name: Some(name),
            new_handle: Some(handle),
            attributes,
            directory_attributes: None,
            ..Facts::default()
        };
        one(&mut names, done(NFS3, "LOOKUP", facts)).file
    };
    made(b"root", b"a", b"a", 7);
    let inner = made(b"a", b"inner", b"inner", 9);
    let within = made(b"inner", b"d", b"d", 9);
    let beside = made(b"a", b"e", b"e", 7);
    let export = Some("/srv/x/a/inner".into());
    assert_eq!(path(&names, inner), ("/srv/x/a/inner".into(), export.clone(), Role::Directory));
    assert_eq!(path(&names, within), ("/srv/x/a/inner/d".into(), export, Role::Directory));
    assert_eq!(path(&names, beside), ("/srv/x/a/e".into(), Some("/srv/x".into()), Role::Directory));
}

#[test]
fn a_file_with_a_number_of_its_own_is_no_export() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/srv/x");
    for (name, fsid, kind) in [(b"d", 7, FileType::DIR), (b"f", 9, FileType::REG)] {
        let attributes = Some(Attributes { fsid: Some((fsid, 0)), ..of_type(kind) });
        let facts = Facts {
            status: Some(OK),
            handle: Some(if name == b"d" { b"root" } else { b"d" }),
            name: Some(name),
            new_handle: Some(name),
            attributes,
            ..Facts::default()
        };
        place(&mut names, &[done(NFS3, "LOOKUP", facts)]);
    }
    let file = names.find(0, b"f");
    assert_eq!(path(&names, file), ("d/f".into(), Some("/srv/x".into()), Role::File));
}

#[test]
fn a_root_of_number_zero_has_other_file_systems_below_it_whose_numbers_are_two() {
    let mut names = Names::default();
    descend(&mut names, &[(b"plain", b"plain", 0), (b"f", b"f", 0)]);
    descend(&mut names, &[(b"homes", b"homes", 0)]);
    for (handle, name) in [(b"homes".as_slice(), None), (b"homes", Some(b"a".as_slice()))] {
        let put = Facts { status: Some(OK), handle: Some(handle), ..Facts::default() };
        let attributes = Some(Attributes { fsid: Some((0x1234, 0x9876)), ..of_type(FileType::DIR) });
        let getattr = done(NFS4, "GETATTR", Facts { status: Some(OK), attributes, ..Facts::default() });
        let lookup = Facts { status: Some(OK), name, ..Facts::default() };
        let getfh = Facts { status: Some(OK), new_handle: name, ..Facts::default() };
        let mut asked = vec![done(NFS4, "PUTFH", put)];
        if name.is_some() {
            asked.extend([done(NFS4, "LOOKUP", lookup), done(NFS4, "GETFH", getfh)]);
        }
        asked.push(getattr);
        place(&mut names, &asked);
    }
    let found = names.find(0, b"a");
    assert_eq!(path(&names, found), ("/homes/a".into(), Some("/homes".into()), Role::Directory));
}

#[test]
fn the_way_to_snapshots_within_an_export_is_in_it() {
    let mut names = Names::default();
    descend(
        &mut names,
        &[(b"a", b"a", 7), (b".snapshot", b"a0", 7), (b"hourly", b"a1", 8), (b"f", b"af", 8)],
    );
    descend(
        &mut names,
        &[(b"b", b"b", 9), (b".snapshot", b"b0", 9), (b"hourly", b"b1", 10), (b"f", b"bf", 10)],
    );
    let of = |names: &Names, handle: &[u8]| path(names, names.find(0, handle));
    let inner = |export: &str| (format!("{export}/f"), Some(export.into()), Role::Directory);
    // Nothing tells the exports from what leads to one.
    assert_eq!(of(&names, b"af"), inner("/a/.snapshot/hourly"));
    assert_eq!(of(&names, b"bf"), inner("/b/.snapshot/hourly"));
    descend(&mut names, &[(b"a", b"a", 7), (b"live", b"al", 7)]);
    descend(&mut names, &[(b"b", b"b", 9), (b"live", b"bl", 9)]);
    let in_export = |path: &str, export: &str| (path.into(), Some(export.into()), Role::Directory);
    assert_eq!(of(&names, b"al"), in_export("/a/live", "/a"));
    assert_eq!(of(&names, b"af"), inner("/a/.snapshot/hourly"));
    assert_eq!(of(&names, b"bf"), inner("/b/.snapshot/hourly"));
    assert_eq!(of(&names, b"b0"), in_export("/b/.snapshot", "/b"));
}

#[test]
fn a_root_with_files_of_its_own_is_an_export_beside_those_below_it() {
    let mut names = Names::default();
    descend(&mut names, &[(b"srv", b"srv", 7), (b"x", b"x", 9), (b"f", b"f", 9)]);
    descend(&mut names, &[(b"plain", b"plain", 0)]);
    let of = |handle: &[u8]| path(&names, names.find(0, handle));
    assert_eq!(of(b"plain"), ("/plain".into(), Some("/".into()), Role::Directory));
    assert_eq!(of(b"srv"), ("/srv".into(), Some("/".into()), Role::Pseudo));
    assert_eq!(of(b"f"), ("/srv/x/f".into(), Some("/srv/x".into()), Role::Directory));
}

#[test]
fn a_root_without_anything_mounted_below_is_exported_itself() {
    let mut names = Names::default();
    descend(&mut names, &[(b"home", b"home", 0)]);
    let home = names.find(0, b"home");
    assert_eq!(path(&names, home), ("home".into(), Some("/".into()), Role::Directory));
}

#[test]
fn what_only_objects_of_one_type_allow_tells_the_type_that_nothing_else_does() {
    let roles = |operation: &str, status: u32, told: Option<FileType>| {
        let mut names = Names::default();
        let put = Facts { status: Some(OK), handle: Some(b"file"), ..Facts::default() };
        let attributes = Facts { status: Some(OK), attributes: told.map(of_type), ..Facts::default() };
        let by_handle = operation == "OPEN";
        let facts = Facts { status: Some(status), by_handle, ..Facts::default() };
        let operations =
            [done(NFS4, "PUTFH", put), done(NFS4, "GETATTR", attributes), done(NFS4, operation, facts)];
        place(&mut names, &operations);
        path(&names, names.find(0, b"file")).2
    };
    for operation in ["READ", "WRITE", "CLOSE", "COMMIT", "OPEN", "LOCK", "ALLOCATE", "READ_PLUS"] {
        assert_eq!(roles(operation, OK, None), Role::File, "{operation}");
        assert_eq!(roles(operation, ISDIR, None), Role::Unknown, "{operation}");
        assert_eq!(roles(operation, OK, Some(FileType::LNK)), Role::Other, "{operation}");
    }
    for (operation, role) in [("READDIR", Role::Directory), ("READLINK", Role::Other)] {
        assert_eq!(roles(operation, OK, None), role, "{operation}");
        assert_eq!(roles(operation, INVAL, None), Role::Unknown, "{operation}");
        assert_eq!(roles(operation, OK, Some(FileType::REG)), Role::File, "{operation}");
    }
    // A delegation may be one of a directory (RFC 8881 section 18.39).
    for operation in ["GETATTR", "SETATTR", "DELEGRETURN"] {
        assert_eq!(roles(operation, OK, None), Role::Unknown, "{operation}");
    }
}

#[test]
fn the_handle_of_an_opened_file_comes_with_the_getfh_behind_it() {
    let mut names = Names::default();
    let put = Facts { status: Some(OK), handle: Some(b"dir"), ..Facts::default() };
    let open = Facts { status: Some(OK), name: Some(b"f"), create: Some(true), ..Facts::default() };
    let getfh = Facts { status: Some(OK), new_handle: Some(b"file"), ..Facts::default() };
    let operations = [
        done(NFS4, "PUTFH", put),
        done(NFS4, "OPEN", open),
        done(NFS4, "GETFH", getfh),
        getattr(FileType::REG, 1),
    ];
    let (places, _) = place(&mut names, &operations);
    let file = names.find(0, b"file");
    assert!(file.is_some());
    assert_eq!([places[1].file, places[2].file, places[3].file], [file; 3]);
    assert_eq!(places[1].directory, names.find(0, b"dir"));
}

#[test]
fn an_open_by_handle_is_about_the_current_file() {
    let mut names = Names::default();
    let put = Facts { status: Some(OK), handle: Some(b"file"), ..Facts::default() };
    let open = Facts { status: Some(OK), by_handle: true, ..Facts::default() };
    let (places, _) = place(&mut names, &[done(NFS4, "PUTFH", put), done(NFS4, "OPEN", open)]);
    assert_eq!((places[1].file, places[1].directory), (names.find(0, b"file"), None));
}

#[test]
fn an_open_that_was_cut_before_its_claim_has_no_directory_and_only_the_file_that_getfh_tells() {
    let mut names = Names::default();
    let put =
        || done(NFS4, "PUTFH", Facts { status: Some(OK), handle: Some(b"current"), ..Facts::default() });
    let open = || done(NFS4, "OPEN", Facts { status: Some(OK), share_access: Some(1), ..Facts::default() });
    let close = || done(NFS4, "CLOSE", Facts { status: Some(OK), ..Facts::default() });
    let (places, _) = place(&mut names, &[put(), open(), close()]);
    assert_eq!(places[1..], [Place::default(); 2], "what is current is not known from there on");
    let getfh = Facts { status: Some(OK), new_handle: Some(b"file"), ..Facts::default() };
    let (places, _) = place(&mut names, &[put(), open(), done(NFS4, "GETFH", getfh), close()]);
    let file = Place { file: names.find(0, b"file"), ..Place::default() };
    assert_eq!(places[1..], [file; 3]);
}

#[test]
fn a_handle_that_was_cut_is_not_the_one_before_it() {
    let mut names = Names::default();
    let ok = |handle| Facts { status: Some(OK), handle, ..Facts::default() };
    let getfh = Facts { new_handle: Some(b"told"), ..ok(None) };
    let operations = [
        done(NFS4, "PUTFH", ok(Some(b"source"))),
        done(NFS4, "SAVEFH", ok(None)),
        done(NFS4, "PUTFH", ok(None)),
        done(NFS4, "COMMIT", ok(None)),
        done(NFS4, "PUTFH", ok(None)),
        done(NFS4, "GETFH", getfh),
        done(NFS4, "GETATTR", ok(None)),
    ];
    let (places, _) = place(&mut names, &operations);
    assert_eq!(places[0].file, names.find(0, b"source"));
    assert_eq!(places[2..4], [Place::default(); 2], "nothing tells it");
    let told = Place { file: names.find(0, b"told"), ..Place::default() };
    assert!(told.file.is_some());
    assert_eq!(places[4..], [told; 3], "GETFH tells it");
}

#[test]
fn what_was_looked_up_by_a_name_that_was_cut_is_known_by_its_handle() {
    let mut names = Names::default();
    let at = |handle| Facts { status: Some(OK), handle, ..Facts::default() };
    let found = |handle| Facts { new_handle: Some(handle), ..at(None) };
    let (places, _) = place(
        &mut names,
        &[
            done(NFS4, "PUTFH", at(Some(b"directory"))),
            done(NFS4, "LOOKUP", at(None)),
            done(NFS4, "GETFH", found(b"file")),
            done(NFS4, "GETATTR", at(None)),
        ],
    );
    let (file, directory) = (names.find(0, b"file"), names.find(0, b"directory"));
    assert!(file.is_some());
    assert_eq!(places[1], Place { file, directory, target_directory: None });
    assert_eq!(places[3].file, file);
    let third = Facts { new_handle: Some(b"other"), ..at(Some(b"directory")) };
    assert_eq!(one(&mut names, done(NFS3, "LOOKUP", third.clone())).file, names.find(0, b"other"));
    let failed = Facts { status: Some(NOENT), new_handle: None, ..third };
    assert_eq!(one(&mut names, done(NFS3, "LOOKUP", failed)).file, None);
}

#[test]
fn saved_and_current_handle_make_a_rename() {
    let mut names = Names::default();
    let ok = || Facts { status: Some(OK), ..Facts::default() };
    let put = |handle| Facts { handle: Some(handle), ..ok() };
    let rename = Facts {
        name: Some(b"a"),
        rare: Some(Rare { new_name: Some(b"b"), ..Rare::default() }.into()),
        ..ok()
    };
    let operations = [
        done(NFS4, "PUTFH", put(b"from")),
        done(NFS4, "SAVEFH", ok()),
        done(NFS4, "PUTFH", put(b"to")),
        done(NFS4, "RENAME", rename),
    ];
    let (places, _) = place(&mut names, &operations);
    assert_eq!(places[3].directory, names.find(0, b"from"));
    assert_eq!(places[3].target_directory, names.find(0, b"to"));
    assert_eq!(names.child(names.find(0, b"to").unwrap(), b"b"), places[3].file);
}

#[test]
fn a_listing_teaches_names_that_nobody_addressed() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/x");
    let entry = |name, handle| Entry {
        name,
        fileid: Some(5),
        cookie: 1,
        handle,
        attributes: Some(of_type(FileType::REG)),
    };
    let entries = vec![entry(b".", Some(b"root")), entry(b"f", Some(b"file")), entry(b"g", None)];
    let facts = Facts {
        status: Some(OK),
        handle: Some(b"root"),
        rare: Some(Rare { entries, ..Rare::default() }.into()),
        ..Facts::default()
    };
    one(&mut names, done(NFS3, "READDIRPLUS", facts));
    let file = names.find(0, b"file");
    assert_eq!(path(&names, file), ("f".into(), Some("/x".into()), Role::File));
    assert!(!names.file(file.unwrap()).unwrap().addressed);
    assert_eq!(names.child(names.find(0, b"root").unwrap(), b"."), None);
}

#[test]
fn below_an_unknown_directory_the_path_begins_with_the_short_handle() {
    let mut names = Names::default();
    let file = one(&mut names, create(b"123456789", b"f", Some(b"file"))).file;
    // 0xcbf43926 is the check value of CRC-32.
    assert_eq!(path(&names, file).0, "[0xcbf43926]/f");
}

#[test]
fn directories_that_contain_each_other_have_an_end() {
    let mut names = Names::default();
    one(&mut names, create(b"a", b"b", Some(b"b")));
    let made = one(&mut names, create(b"b", b"a", Some(b"a"))).file;
    assert!(path(&names, made).0.len() < 2048);
}

#[test]
fn children_of_many_directories_in_turn_are_each_below_their_own() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/srv");
    let directories: Vec<String> = (0..3000).map(|number| format!("d{number}")).collect();
    for name in &directories {
        one(&mut names, create(b"root", name.as_bytes(), Some(name.as_bytes())));
    }
    let mut files = Vec::new();
    for file in ["x", "y"] {
        for name in &directories {
            files.push((one(&mut names, create(name.as_bytes(), file.as_bytes(), None)).file, name, file));
        }
    }
    let mut paths = Paths::new(&names);
    for (id, name, file) in files {
        let location = paths.locate(&names, id.unwrap());
        assert_eq!(
            (location.path, location.export),
            (format!("{name}/{file}").as_bytes(), Some(b"/srv".as_slice()))
        );
    }
}

#[test]
fn a_path_longer_than_linux_allows_begins_further_down() {
    let mut names = Names::default();
    mount(&mut names, b"handle 0", b"/srv");
    let part = "n".repeat(200);
    for depth in 0..40_u8 {
        let [above, handle] = [depth, depth + 1].map(|depth| format!("handle {depth}"));
        one(&mut names, create(above.as_bytes(), part.as_bytes(), Some(handle.as_bytes())));
    }
    let deepest = ["x", "y"].map(|name| one(&mut names, create(b"handle 40", name.as_bytes(), None)).file);
    for (file, name) in deepest.into_iter().zip(["/x", "/y"]) {
        let (path, export, _) = path(&names, file);
        let (top, below) = path.split_once('/').unwrap();
        // 20 names and slashes are 4020 bytes.
        assert_eq!(below, vec![part.as_str(); 20].join("/") + name);
        assert!(top.starts_with("[0x") && export.is_none(), "{top} {export:?}");
    }
    let file = one(&mut names, create(b"handle 20", b"x", None)).file;
    assert_eq!(
        path(&names, file),
        (vec![part.as_str(); 20].join("/") + "/x", Some("/srv".into()), Role::File)
    );
}

#[test]
fn a_name_longer_than_linux_allows_for_a_path_is_told() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/srv");
    let long = "n".repeat(4096);
    one(&mut names, create(b"root", long.as_bytes(), Some(b"directory")));
    let file = one(&mut names, create(b"directory", long.as_bytes(), None)).file;
    assert_eq!(path(&names, file).0, format!("{long}/{long}"));
}

#[test]
fn names_that_are_not_utf8_are_escaped() {
    assert_eq!(text(b"caf\xe9 \xf0\x9f\x98\x80"), "caf\\xe9 \u{1f600}");
}

/// `mtime` in microseconds.
fn seen<'a>(operation: &str, handle: &'a [u8], fileid: u64, mtime: i64) -> Done<'a> {
    let attributes = Attributes {
        fsid: Some((9, 0)),
        fileid: Some(fileid),
        mtime_ns: Some(mtime * 1000),
        ..of_type(FileType::REG)
    };
    let facts =
        Facts { status: Some(OK), handle: Some(handle), attributes: Some(attributes), ..Facts::default() };
    done(NFS3, operation, facts)
}

fn found<'a>(name: &'a [u8], handle: &'a [u8], fileid: u64, mtime: i64) -> Done<'a> {
    let mut looked_up = seen("LOOKUP", b"root", fileid, mtime);
    (looked_up.facts.name, looked_up.facts.new_handle) = (Some(name), Some(handle));
    looked_up
}

/// Whether two handles lead to one file, after all that was seen.
fn same(names: &mut Names, one: &[u8], other: &[u8]) -> bool {
    names.settle();
    let identities = Identities::new(names);
    let of = |handle: &[u8]| identities.of(names.find(0, handle).unwrap());
    of(one) == of(other)
}

#[test]
fn handles_with_one_file_number_in_use_at_the_same_time_are_one_file() {
    let mut names = Names::default();
    one(&mut names, found(b"f", b"first", 11, 1));
    one(&mut names, found(b"g", b"second", 11, 2));
    one(&mut names, seen("GETATTR", b"first", 11, 2));
    one(&mut names, found(b"h", b"third", 12, 2));
    assert!(same(&mut names, b"first", b"second"));
    assert!(!same(&mut names, b"first", b"third"));
}

#[test]
fn a_snapshot_with_the_number_of_the_live_file_is_another_file() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/home");
    one(&mut names, seen("GETATTR", b"root", 2, 50));
    one(&mut names, found(b"hourly", b"snapped root", 2, 40));
    let live = |mtime| seen("GETATTR", b"live", 11, mtime);
    let snapped = || seen("GETATTR", b"snapped", 11, 3);
    for _turn in 0..3 {
        one(&mut names, live(7));
        one(&mut names, snapped());
        one(&mut names, seen("GETATTR", b"older", 11, 1));
    }
    // A file that changes meanwhile is none that keeps its time.
    one(&mut names, live(8));
    one(&mut names, snapped());
    one(&mut names, seen("GETATTR", b"snapped too", 11, 3));
    let handles: [&[u8]; 3] = [b"live", b"snapped", b"older"];
    for (at, handle) in handles.iter().enumerate() {
        assert!(handles[at + 1..].iter().all(|other| !same(&mut names, handle, other)));
    }
    assert!(same(&mut names, b"snapped", b"snapped too"));
    let identities = Identities::new(&names);
    for handle in [b"live".as_slice(), b"snapped", b"older", b"root"] {
        let id = names.find(0, handle).unwrap();
        assert!(!identities.vanished(&names, id), "{}", text(handle));
    }
}

#[test]
fn a_file_that_changed_before_another_handle_of_it_turned_up_is_the_same() {
    // The last call with the first handle tells no time, or tells that of the change.
    for last in [None, Some(2)] {
        let mut names = Names::default();
        one(&mut names, found(b"f", b"first", 11, 1));
        one(&mut names, found(b"g", b"second", 11, 2));
        one(&mut names, found(b"g", b"second", 11, 2));
        let mut used = seen("READ", b"first", 11, 0);
        used.facts.attributes =
            last.map(|mtime| Attributes { mtime_ns: Some(mtime * 1000), ..Attributes::default() });
        one(&mut names, used);
        assert!(same(&mut names, b"first", b"second"), "{last:?}");
    }
}

#[test]
fn a_handle_whose_version_of_the_protocol_cuts_times_is_one_of_the_same_file() {
    let mut names = Names::default();
    for _turn in 0..3 {
        for (handle, part) in [(b"NFSv3", 999), (b"NFSv2", 0)] {
            let mut seen = seen("GETATTR", handle, 11, 1);
            seen.facts.attributes =
                seen.facts.attributes.map(|told| Attributes { mtime_ns: Some(1000 + part), ..told });
            one(&mut names, seen);
        }
    }
    assert!(same(&mut names, b"NFSv3", b"NFSv2"));
}

#[test]
fn a_handle_that_follows_another_without_a_change_is_the_same_file() {
    let mut names = Names::default();
    one(&mut names, found(b"f", b"before", 11, 1));
    one(&mut names, found(b"f", b"after", 11, 1));
    assert!(same(&mut names, b"before", b"after"));
    let before = names.find(0, b"before").unwrap();
    let identities = Identities::new(&names);
    let after = names.find(0, b"after");
    assert_eq!(Some(identities.of(before)), after, "the handle of use last stands for the file");
    assert!(!identities.vanished(&names, before));
}

#[test]
fn a_file_number_given_again_after_a_removal_is_another_file() {
    let mut names = Names::default();
    one(&mut names, found(b"f", b"before", 11, 1));
    one(&mut names, by_name("REMOVE", b"root", b"f", OK));
    one(&mut names, found(b"f", b"after", 11, 1));
    assert!(!same(&mut names, b"before", b"after"));
}

#[test]
fn a_file_that_another_client_put_in_the_place_is_another_file() {
    let mut names = Names::default();
    one(&mut names, found(b"f", b"before", 11, 1));
    one(&mut names, found(b"f", b"after", 11, 2));
    assert!(!same(&mut names, b"before", b"after"));
    let before = names.find(0, b"before").unwrap();
    assert!(Identities::new(&names).vanished(&names, before));
}

#[test]
fn a_file_that_a_call_made_is_none_of_those_before() {
    let mut names = Names::default();
    one(&mut names, found(b"f", b"before", 11, 1));
    one(&mut names, create(b"root", b"g", Some(b"made")));
    one(&mut names, seen("GETATTR", b"made", 11, 1));
    assert!(!same(&mut names, b"before", b"made"));
    let identities = Identities::new(&names);
    assert!(identities.vanished(&names, names.find(0, b"before").unwrap()), "its number is another's");
    assert!(!identities.vanished(&names, names.find(0, b"made").unwrap()));
}

#[test]
fn a_stale_handle_is_gone_until_it_works_again() {
    let mut names = Names::default();
    let file = one(&mut names, found(b"f", b"file", 11, 1)).file.unwrap();
    let facts = Facts { status: Some(70), handle: Some(b"file"), ..Facts::default() };
    one(&mut names, done(NFS3, "GETATTR", facts));
    assert!(Identities::new(&names).vanished(&names, file));
    one(&mut names, seen("GETATTR", b"file", 11, 1));
    assert!(!Identities::new(&names).vanished(&names, file));
}

#[test]
fn a_file_whose_shown_name_is_removed_is_shown_by_its_other_name() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/x");
    let file = one(&mut names, create(b"root", b"first", Some(b"file"))).file;
    let facts = Facts {
        status: Some(OK),
        handle: Some(b"file"),
        name: Some(b"second"),
        rare: Some(Rare { other_directory: Some(b"root"), ..Rare::default() }.into()),
        ..Facts::default()
    };
    one(&mut names, done(NFS3, "LINK", facts));
    one(&mut names, by_name("REMOVE", b"root", b"first", OK));
    names.settle();
    assert_eq!(path(&names, file).0, "second");
    assert!(!names.file(file.unwrap()).unwrap().removed);
    one(&mut names, by_name("REMOVE", b"root", b"second", OK));
    assert!(names.file(file.unwrap()).unwrap().removed);
}

/// A file found by one of its names, of which there are `links` in all.
fn with_links(names: &mut Names, name: &'static [u8], links: u32) -> FileId {
    let mut looked_up = found(name, b"file", 11, 1);
    looked_up.facts.attributes.as_mut().unwrap().links = Some(links);
    one(names, looked_up).file.unwrap()
}

fn removed(names: &Names, id: FileId) -> bool {
    names.file(id).unwrap().removed || Identities::new(names).vanished(names, id)
}

#[test]
fn a_file_is_removed_with_the_last_of_the_names_that_its_attributes_count() {
    let mut names = Names::default();
    let file = with_links(&mut names, b"f", 2);
    one(&mut names, by_name("REMOVE", b"root", b"f", OK));
    assert!(!removed(&names, file), "a name that the capture never told is left");
    assert_eq!(with_links(&mut names, b"g", 1), file);
    one(&mut names, by_name("REMOVE", b"root", b"g", OK));
    assert!(removed(&names, file));
}

#[test]
fn a_name_that_others_took_away_or_gave_to_another_file_leaves_the_other_names() {
    let mut names = Names::default();
    let file = with_links(&mut names, b"f", 2);
    one(&mut names, by_name("LOOKUP", b"root", b"f", NOENT));
    assert!(!removed(&names, file));
    let mut names = Names::default();
    let file = with_links(&mut names, b"f", 2);
    one(&mut names, found(b"g", b"other", 12, 1));
    one(&mut names, rename(b"g", b"f"));
    assert!(!removed(&names, file));
    one(&mut names, rename(b"f", b"g"));
    assert!(!removed(&names, names.find(0, b"other").unwrap()));
}

#[test]
fn a_link_is_counted_though_no_attributes_follow_it() {
    let mut names = Names::default();
    let file = with_links(&mut names, b"f", 1);
    one(&mut names, link(b"file", b"g"));
    one(&mut names, by_name("LOOKUP", b"root", b"g", NOENT));
    assert!(!removed(&names, file));
    one(&mut names, by_name("REMOVE", b"root", b"f", OK));
    assert!(removed(&names, file));
}

#[test]
fn attributes_that_count_no_name_or_one_have_the_last_word() {
    let mut names = Names::default();
    let file = with_links(&mut names, b"f", 1);
    let mut told = seen("GETATTR", b"file", 11, 1);
    told.facts.attributes.as_mut().unwrap().links = Some(0);
    one(&mut names, told.clone());
    assert!(removed(&names, file), "removed unseen, and still open");
    let mut names = Names::default();
    let file = with_links(&mut names, b"f", 1);
    one(&mut names, by_name("REMOVE", b"root", b"f", OK));
    told.facts.attributes.as_mut().unwrap().links = Some(1);
    one(&mut names, told);
    assert!(!removed(&names, file), "linked unseen before");
}

#[test]
fn a_directory_is_removed_whatever_it_counts() {
    let mut names = Names::default();
    let mut made = found(b"d", b"dir", 11, 1);
    let attributes = Attributes { links: Some(3), ..of_type(FileType::DIR) };
    made.facts.attributes = Some(attributes);
    let directory = one(&mut names, made).file.unwrap();
    one(&mut names, by_name("RMDIR", b"root", b"d", OK));
    assert!(removed(&names, directory));
}

#[test]
fn a_rename_onto_another_name_of_the_same_file_changes_nothing() {
    let mut names = Names::default();
    let file = with_links(&mut names, b"f", 2);
    assert_eq!(with_links(&mut names, b"g", 2), file);
    let (_, bindings) = place(&mut names, &[rename(b"f", b"g")]);
    assert_eq!(bindings, []);
    let root = names.find(0, b"root").unwrap();
    assert_eq!([b"f", b"g"].map(|name| names.child(root, name)), [Some(file); 2]);
}

fn rename<'a>(name: &'a [u8], new_name: &'a [u8]) -> Done<'a> {
    let mut renamed = by_name("RENAME", b"root", name, OK);
    renamed.facts.rare_mut().other_directory = Some(b"root");
    renamed.facts.rare_mut().new_name = Some(new_name);
    renamed
}

fn link<'a>(file: &'a [u8], name: &'a [u8]) -> Done<'a> {
    let mut linked = by_name("LINK", file, name, OK);
    linked.facts.rare_mut().other_directory = Some(b"root");
    linked
}

fn layout<'a>(handle: &'a [u8], data_handle: Option<&'a [u8]>) -> [Done<'a>; 2] {
    let put = Facts { status: Some(OK), handle: Some(handle), ..Facts::default() };
    let told = Pnfs { data_handles: vec![([1; 16], data_handle)], ..Pnfs::default() };
    let got = Facts {
        status: Some(OK),
        rare: Some(Rare { pnfs: Some(told), ..Rare::default() }.into()),
        ..Facts::default()
    };
    [done(NFS4, "PUTFH", put), done(NFS4, "LAYOUTGET", got)]
}

/// What an operation at the data server, whose number is 1, is about.
fn at_data_server(names: &mut Names, operation: Done<'_>) -> Option<FileId> {
    let mut placed = Placed::default();
    names.place(1, &[operation], &mut placed);
    placed.places[0].file
}

#[test]
fn data_belongs_to_the_file_whose_layout_names_its_handle() {
    let mut names = Names::default();
    let file = one(&mut names, found(b"f", b"file", 11, 1)).file;
    let other = one(&mut names, found(b"g", b"other", 12, 1)).file;
    place(&mut names, &layout(b"file", Some(b"data")));
    place(&mut names, &layout(b"other", None));
    names.locate_device(0, [1; 16], 1);
    let read = at_data_server(&mut names, seen("READ", b"data", 99, 5));
    assert_eq!((read, at_data_server(&mut names, seen("READ", b"other", 98, 5))), (file, other));
    let unknown = at_data_server(&mut names, seen("READ", b"unknown", 97, 5));
    assert!(unknown != file && unknown != other);
    assert_eq!(names.find(0, b"data"), None, "that handle is the data server's");
}

#[test]
fn what_a_data_server_says_of_the_data_is_not_said_of_the_file() {
    let mut names = Names::default();
    let file = one(&mut names, found(b"f", b"file", 11, 1)).file.unwrap();
    place(&mut names, &layout(b"file", Some(b"data")));
    names.locate_device(0, [1; 16], 1);
    let mut read = seen("READ", b"data", 99, 5);
    read.facts.attributes.as_mut().unwrap().size = Some(4096);
    at_data_server(&mut names, read);
    let stale = Facts { status: Some(70), handle: Some(b"data"), ..Facts::default() };
    assert_eq!(at_data_server(&mut names, done(NFS3, "READ", stale)), Some(file));
    assert_eq!(
        names.file(file).map(|file| (file.fileid, file.size, file.stale)),
        Some((Some(11), None, false))
    );
    assert_eq!(names.handle(file), Some(&b"file"[..]));
}

/// What a COPY in the background, or its end, says of so many bytes from an offset on.
fn offload(state: u8, offset: Option<u64>, count: u64) -> Facts<'static> {
    let state = StateId { sequence: 1, other: [state; 12] };
    Facts {
        status: Some(OK),
        offset,
        count: Some(count),
        committed: Some(StableHow(0)),
        rare: Some(Rare { offload: Some(state), ..Rare::default() }.into()),
        ..Facts::default()
    }
}

#[test]
fn a_file_is_as_large_as_a_copy_in_the_background_made_it() {
    let mut names = Names::default();
    let put = Facts { status: Some(OK), handle: Some(b"file"), ..Facts::default() };
    for (state, offset) in [(1, 4_096), (2, 0)] {
        let copy = done(NFS4, "COPY", offload(state, Some(offset), 0));
        place(&mut names, &[done(NFS4, "PUTFH", put.clone()), copy]);
    }
    let mut size = |state, count| {
        let told = Facts { handle: Some(b"file"), ..offload(state, None, count) };
        let file = one(&mut names, done(NFS4_CALLBACK, "CB_OFFLOAD", told)).file.unwrap();
        names.file(file).and_then(|file| file.size)
    };
    assert_eq!(size(3, 9_999), Some(4_096), "of another file, or one that began before the capture");
    assert_eq!(size(1, 1_000), Some(5_096));
    assert_eq!(size(2, 5_000), Some(5_096));
    assert_eq!(size(1, 9_999), Some(5_096), "that one has ended");
}

#[test]
fn an_object_fills_a_line_of_the_cache() {
    assert_eq!(size_of::<File>(), 64);
}

#[test]
fn the_handle_of_what_was_removed_may_come_with_what_is_made_next() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/srv/x");
    let first = one(&mut names, create(b"root", b"a", Some(b"handle"))).file;
    one(&mut names, by_name("REMOVE", b"root", b"a", OK));
    let second = one(&mut names, create(b"root", b"b", Some(b"handle"))).file;
    assert_ne!(first, second);
    assert_eq!(names.find(0, b"handle"), second);
    assert!(names.file(first.unwrap()).unwrap().removed);
    assert!(!names.file(second.unwrap()).unwrap().removed);
    // Also under the same name, which no longer denoted it, or had been looked for in vain.
    one(&mut names, by_name("REMOVE", b"root", b"b", OK));
    let third = one(&mut names, create(b"root", b"b", Some(b"handle"))).file;
    one(&mut names, by_name("REMOVE", b"root", b"b", OK));
    let sought = one(&mut names, by_name("LOOKUP", b"root", b"b", NOENT)).file;
    let fourth = one(&mut names, create(b"root", b"b", Some(b"handle"))).file;
    assert_eq!(sought, fourth);
    // And where nothing but the removal tells that it is a new one: UNCHECKED, without wcc data.
    one(&mut names, by_name("REMOVE", b"root", b"b", OK));
    let mut unchecked = create(b"root", b"c", Some(b"handle"));
    unchecked.facts.create_mode = Some(0);
    let fifth = one(&mut names, unchecked).file;
    let all = [first, second, third, fourth, fifth];
    assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), 5);
    let identities = Identities::new(&names);
    assert!(all.iter().flatten().all(|id| identities.of(*id) == *id));
    assert_eq!(all.map(|id| path(&names, id).0), ["a", "b", "b", "b", "c"]);
    assert!(all.iter().flatten().all(|id| names.handle(*id) == Some(b"handle")));
}

#[test]
fn a_handle_that_is_made_of_a_path_stays_behind_when_its_object_is_renamed() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/srv/x");
    let mut last = None;
    for _ in 0..3 {
        let made = one(&mut names, create(b"root", b"conf.new", Some(b"path of conf.new"))).file;
        assert_ne!(made, last);
        assert_eq!(one(&mut names, rename(b"conf.new", b"conf")).file, made);
        last = made;
    }
    // What is there under the new name gets the handle that is made of that.
    let sought = Facts { new_handle: Some(b"path of conf"), ..by_name("LOOKUP", b"root", b"conf", OK).facts };
    let found = one(&mut names, done(NFS3, "LOOKUP", sought)).file;
    assert_ne!(found, None);
    let again = one(&mut names, create(b"root", b"conf.new", Some(b"path of conf.new"))).file;
    assert_ne!(again, last);
}

#[test]
fn what_is_made_once_more_under_its_name_is_the_same() {
    let mut names = Names::default();
    mount(&mut names, b"root", b"/srv/x");
    let first = one(&mut names, create(b"root", b"a", Some(b"handle"))).file;
    assert_eq!(one(&mut names, create(b"root", b"a", Some(b"handle"))).file, first);
    // Nothing is made that has the handle of the directory which it is made in.
    let root = names.find(0, b"root");
    assert_eq!(one(&mut names, create(b"root", b"odd", Some(b"root"))).directory, root);
    assert_eq!(names.find(0, b"root"), root);
    // And what was known by its handle alone gets its name.
    let facts = Facts { status: Some(OK), handle: Some(b"other"), ..Facts::default() };
    let nameless = one(&mut names, done(NFS3, "GETATTR", facts)).file;
    assert_eq!(one(&mut names, create(b"root", b"o", Some(b"other"))).file, nameless);
}

#[test]
fn what_a_listing_shows_under_another_handle_is_there() {
    let mut names = Names::default();
    one(&mut names, found(b"f", b"before", 11, 1));
    one(&mut names, rename(b"f", b"g"));
    let stale = Facts { status: Some(70), handle: Some(b"before"), ..Facts::default() };
    one(&mut names, done(NFS3, "GETATTR", stale));
    let before = names.find(0, b"before").unwrap();
    assert!(removed(&names, before));
    let attributes = seen("GETATTR", b"after", 11, 1).facts.attributes;
    let entry = Entry { name: b"g", handle: Some(b"after"), fileid: Some(11), cookie: 1, attributes };
    let listed = Facts {
        status: Some(OK),
        handle: Some(b"root"),
        rare: Some(Rare { entries: vec![entry], ..Rare::default() }.into()),
        ..Facts::default()
    };
    one(&mut names, done(NFS3, "READDIRPLUS", listed));
    assert!(same(&mut names, b"before", b"after"));
    let after = names.find(0, b"after").unwrap();
    assert!(!removed(&names, before) && !removed(&names, after));
}
