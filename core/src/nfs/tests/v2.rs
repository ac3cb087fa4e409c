//! NFSv2: the samples of RFC 1094 section 2.2.

use super::*;
use crate::nfs::facts::{Entry, Rare};

const OBJECT: Rows = &[("fhandle", Fixed(HANDLE))];
const NAMED: Rows = &[("dir", Fixed(HANDLE)), ("name", Opaque(b"hosts"))];
const TO: Rows = &[("to.dir", Fixed(OTHER_HANDLE)), ("to.name", Opaque(b"new"))];
const SATTR: Rows = &[
    ("mode", Word(0o600)),
    ("uid", Word(u32::MAX)),
    ("gid", Word(u32::MAX)),
    ("size", Word(0)),
    ("atime.seconds", Word(u32::MAX)),
    ("atime.useconds", Word(u32::MAX)),
    ("mtime.seconds", Word(5)),
    ("mtime.useconds", Word(6)),
];
const SATTR_WITHOUT_SIZE: Rows = &[
    ("mode", Word(0o600)),
    ("uid", Word(0)),
    ("gid", Word(0)),
    ("size", Word(u32::MAX)),
    ("atime", Hyper(u64::MAX)),
    ("mtime", Hyper(u64::MAX)),
];
/// By the numbers of NFSv4: size, mode, time_modify_set.
const SET: [u32; 3] = [1 << 4, 1 << (33 - 32) | 1 << (54 - 32), 0];
/// Mode, owner, owner_group.
const SET_WITHOUT_SIZE: [u32; 3] = [0, 1 << (33 - 32) | 1 << (36 - 32) | 1 << (37 - 32), 0];

fn object() -> Facts<'static> {
    Facts { handle: Some(HANDLE), ..Facts::default() }
}

fn named() -> Facts<'static> {
    Facts { name: Some(b"hosts"), ..object() }
}

fn attributes() -> Facts<'static> {
    Facts { attributes: Some(ATTRIBUTES2), ..Facts::default() }
}

pub(super) fn samples() -> Vec<Sample> {
    [objects(), data(), directories()].into_iter().flatten().collect()
}

fn objects() -> Vec<Sample> {
    let found = || Facts { new_handle: Some(OTHER_HANDLE), ..attributes() };
    let diropok: &[Rows] = &[&[("file", Fixed(OTHER_HANDLE))], FATTR];
    vec![
        arguments(NFS2, "GETATTR", &[OBJECT], object()),
        results(NFS2, "GETATTR", &[FATTR], attributes()),
        arguments(
            NFS2,
            "SETATTR",
            &[OBJECT, SATTR],
            Facts { set_size: Some(0), attribute_mask: Some(SET), ..object() },
        ),
        arguments(
            NFS2,
            "SETATTR",
            &[OBJECT, SATTR_WITHOUT_SIZE],
            Facts { attribute_mask: Some(SET_WITHOUT_SIZE), ..object() },
        ),
        results(NFS2, "SETATTR", &[FATTR], attributes()),
        arguments(NFS2, "LOOKUP", &[NAMED], named()),
        results(NFS2, "LOOKUP", diropok, found()),
        arguments(NFS2, "READLINK", &[OBJECT], object()),
        results(
            NFS2,
            "READLINK",
            &[&[("data", Opaque(b"/etc/x"))]],
            Facts { text: Some(b"/etc/x"), ..NO_FACTS() },
        ),
        arguments(
            NFS2,
            "CREATE",
            &[NAMED, SATTR],
            Facts {
                create_type: Some(FileType::REG),
                set_size: Some(0),
                attribute_mask: Some(SET),
                ..named()
            },
        ),
        results(NFS2, "CREATE", diropok, found()),
        arguments(
            NFS2,
            "MKDIR",
            &[NAMED, SATTR_WITHOUT_SIZE],
            Facts {
                create: Some(true),
                create_type: Some(FileType::DIR),
                attribute_mask: Some(SET_WITHOUT_SIZE),
                ..named()
            },
        ),
        results(NFS2, "MKDIR", diropok, found()),
    ]
}

fn data() -> Vec<Sample> {
    vec![
        arguments(
            NFS2,
            "READ",
            &[OBJECT, &[("offset", Word(8192)), ("count", Word(4096)), ("totalcount", Word(0))]],
            Facts { offset: Some(8192), count_requested: Some(4096), ..object() },
        ),
        results(
            NFS2,
            "READ",
            &[FATTR, &[("data", Skipped(b"seven b"))]],
            Facts { count: Some(7), ..attributes() },
        ),
        arguments(
            NFS2,
            "WRITE",
            &[
                OBJECT,
                &[("beginoffset", Word(1)), ("offset", Word(4096)), ("totalcount", Word(2))],
                &[("data", Skipped(b"five!"))],
            ],
            Facts { offset: Some(4096), count_requested: Some(5), ..object() },
        ),
        // How much was asked for is known from the call, which is not here.
        results(NFS2, "WRITE", &[FATTR], attributes()),
    ]
}

fn directories() -> Vec<Sample> {
    let entries = vec![
        Entry { name: b".", fileid: Some(2), cookie: 512, handle: None, attributes: None },
        Entry { name: b"hosts", fileid: Some(4242), cookie: 1024, handle: None, attributes: None },
    ];
    vec![
        arguments(NFS2, "REMOVE", &[NAMED], named()),
        arguments(NFS2, "RMDIR", &[NAMED], named()),
        arguments(
            NFS2,
            "RENAME",
            &[NAMED, TO],
            Facts {
                rare: Some(
                    Rare { other_directory: Some(OTHER_HANDLE), new_name: Some(b"new"), ..Rare::default() }
                        .into(),
                ),
                ..named()
            },
        ),
        arguments(
            NFS2,
            "LINK",
            &[OBJECT, TO],
            Facts {
                rare: Some(Rare { other_directory: Some(OTHER_HANDLE), ..Rare::default() }.into()),
                name: Some(b"new"),
                ..object()
            },
        ),
        arguments(
            NFS2,
            "SYMLINK",
            &[NAMED, &[("to", Opaque(b"../target"))], SATTR_WITHOUT_SIZE],
            Facts {
                create: Some(true),
                create_type: Some(FileType::LNK),
                attribute_mask: Some(SET_WITHOUT_SIZE),
                text: Some(b"../target"),
                ..named()
            },
        ),
        arguments(
            NFS2,
            "READDIR",
            &[OBJECT, &[("cookie", Word(512)), ("count", Word(2048))]],
            Facts { cookie: Some(512), count_requested: Some(2048), ..object() },
        ),
        results(
            NFS2,
            "READDIR",
            &[
                &[("follows", Word(1)), ("fileid", Word(2)), ("name", Opaque(b".")), ("cookie", Word(512))],
                &[("follows", Word(1)), ("fileid", Word(4242))],
                &[("name", Opaque(b"hosts")), ("cookie", Word(1024))],
                &[("follows", Word(0)), ("eof", Word(1))],
            ],
            Facts { rare: Some(Rare { entries, ..Rare::default() }.into()), eof: Some(true), ..NO_FACTS() },
        ),
        arguments(NFS2, "STATFS", &[OBJECT], object()),
        results(
            NFS2,
            "STATFS",
            &[&[
                ("tsize", Word(8192)),
                ("bsize", Word(4096)),
                ("blocks", Word(1000)),
                ("bfree", Word(500)),
                ("bavail", Word(400)),
            ]],
            NO_FACTS(),
        ),
    ]
}

#[test]
fn types_beyond_the_rfc_are_those_of_implementations() {
    let types = [(0, FileType(0)), (5, FileType::LNK), (6, FileType::SOCK), (8, FileType::FIFO)];
    for (number, expected) in types {
        let mut bytes = [0; 68];
        bytes[3] = number;
        let mut c = crate::cursor::Cursor::new(&bytes, crate::error::Layer::Reply);
        assert_eq!(crate::nfs::v2::fattr(&mut c).unwrap().file_type, Some(expected));
    }
}
