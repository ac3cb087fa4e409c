//! NFSv3: the samples of RFC 1813 section 3.3.

use super::*;
use crate::nfs::facts::{Entry, Rare, WeakCacheAttributes};
use crate::nfs::types::StableHow;

const OBJECT: Rows = &[("object", Opaque(b"handle-3"))];
const NAMED: Rows = &[("dir", Opaque(b"handle-3")), ("name", Opaque(b"hosts"))];
const PRE_OP: Rows = &[
    ("attributes_follow", Word(1)),
    ("size", Hyper(5)),
    ("mtime", Word(1)),
    ("mtime.nseconds", Word(2)),
    ("ctime", Word(3)),
    ("ctime.nseconds", Word(4)),
];
const BEFORE: WeakCacheAttributes =
    WeakCacheAttributes { size: 5, mtime_ns: 1_000_000_002, ctime_ns: 3_000_000_004 };
const SATTR: Rows = &[
    ("set mode", Word(1)),
    ("mode", Word(0o600)),
    ("set uid", Word(0)),
    ("set gid", Word(1)),
    ("gid", Word(7)),
    ("set size", Word(1)),
    ("size", Hyper(9)),
    ("SET_TO_SERVER_TIME", Word(1)),
    ("SET_TO_CLIENT_TIME", Word(2)),
    ("mtime", Hyper(8)),
];
/// By the numbers of NFSv4: size, mode, group, both times; not the owner.
const SET: [u32; 3] = [1 << 4, 1 << (33 - 32) | 1 << (37 - 32) | 1 << (48 - 32) | 1 << (54 - 32), 0];
const DATA: Rows = &[("offset", Hyper(1 << 33)), ("count", Word(4096))];

fn object() -> Facts<'static> {
    Facts { handle: Some(b"handle-3"), ..Facts::default() }
}

fn named() -> Facts<'static> {
    Facts { name: Some(b"hosts"), ..object() }
}

fn attributes() -> Facts<'static> {
    Facts { attributes: Some(ATTRIBUTES3), ..Facts::default() }
}

fn weak() -> Facts<'static> {
    Facts { before: Some(BEFORE), ..attributes() }
}

fn directory_weak() -> Facts<'static> {
    Facts { directory_before: Some(BEFORE), directory_attributes: Some(ATTRIBUTES3), ..Facts::default() }
}

pub(super) fn samples() -> Vec<Sample> {
    [objects(), data(), creations(), names(), listings(), file_systems(), failures()]
        .into_iter()
        .flatten()
        .collect()
}

fn objects() -> Vec<Sample> {
    vec![
        arguments(NFS3, "GETATTR", &[OBJECT], object()),
        results(NFS3, "GETATTR", &[&POST_OP[1..]], attributes()),
        arguments(
            NFS3,
            "SETATTR",
            &[OBJECT, SATTR, &[("check", Word(1)), ("guard ctime", Hyper(3))]],
            Facts { set_size: Some(9), attribute_mask: Some(SET), ..object() },
        ),
        results(NFS3, "SETATTR", &[PRE_OP, POST_OP], weak()),
        arguments(NFS3, "LOOKUP", &[NAMED], named()),
        results(
            NFS3,
            "LOOKUP",
            &[&[("object", Opaque(b"handle-5x"))], POST_OP, NO_ATTRIBUTES],
            Facts { new_handle: Some(b"handle-5x"), ..attributes() },
        ),
        arguments(
            NFS3,
            "ACCESS",
            &[OBJECT, &[("access", Word(0x1f))]],
            Facts { access_requested: Some(0x1f), ..object() },
        ),
        results(
            NFS3,
            "ACCESS",
            &[POST_OP, &[("access", Word(3))]],
            Facts { access_granted: Some(3), ..attributes() },
        ),
        arguments(NFS3, "READLINK", &[OBJECT], object()),
        results(
            NFS3,
            "READLINK",
            &[POST_OP, &[("data", Opaque(b"../x"))]],
            Facts { text: Some(b"../x"), ..attributes() },
        ),
    ]
}

fn data() -> Vec<Sample> {
    let asked = || Facts { offset: Some(1 << 33), count_requested: Some(4096), ..object() };
    vec![
        arguments(NFS3, "READ", &[OBJECT, DATA], asked()),
        results(
            NFS3,
            "READ",
            &[POST_OP, &[("count", Word(7)), ("eof", Word(1)), ("data", Skipped(b"seven b"))]],
            Facts { count: Some(7), eof: Some(true), ..attributes() },
        ),
        arguments(
            NFS3,
            "WRITE",
            &[OBJECT, DATA, &[("FILE_SYNC", Word(2)), ("data", Skipped(b"data!"))]],
            Facts { stable_requested: Some(StableHow::FILE_SYNC), ..asked() },
        ),
        results(
            NFS3,
            "WRITE",
            &[PRE_OP, POST_OP, &[("count", Word(5)), ("DATA_SYNC", Word(1)), ("verf", Hyper(0xfeed))]],
            Facts { count: Some(5), committed: Some(StableHow::DATA_SYNC), verifier: Some(0xfeed), ..weak() },
        ),
        arguments(NFS3, "COMMIT", &[OBJECT, DATA], asked()),
        results(
            NFS3,
            "COMMIT",
            &[PRE_OP, POST_OP, &[("verf", Hyper(0xfeed))]],
            Facts { verifier: Some(0xfeed), ..weak() },
        ),
    ]
}

fn creations() -> Vec<Sample> {
    let create = |kind| Facts { create: Some(true), create_type: Some(kind), ..named() };
    let made: &[Rows] = &[&[("handle_follows", Word(1)), ("obj", Opaque(b"new"))], POST_OP, PRE_OP, POST_OP];
    let making = || Facts { new_handle: Some(b"new"), attributes: Some(ATTRIBUTES3), ..directory_weak() };
    let mut samples = vec![
        arguments(
            NFS3,
            "CREATE",
            &[NAMED, &[("GUARDED", Word(1))], SATTR],
            Facts {
                create_mode: Some(1),
                set_size: Some(9),
                attribute_mask: Some(SET),
                ..create(FileType::REG)
            },
        ),
        arguments(
            NFS3,
            "CREATE",
            &[NAMED, &[("EXCLUSIVE", Word(2)), ("verf", Hyper(1))]],
            Facts { create_mode: Some(2), ..create(FileType::REG) },
        ),
        arguments(
            NFS3,
            "MKDIR",
            &[NAMED, SATTR],
            Facts { set_size: Some(9), attribute_mask: Some(SET), ..create(FileType::DIR) },
        ),
        arguments(
            NFS3,
            "SYMLINK",
            &[NAMED, SATTR, &[("data", Opaque(b"../x"))]],
            Facts {
                set_size: Some(9),
                attribute_mask: Some(SET),
                text: Some(b"../x"),
                ..create(FileType::LNK)
            },
        ),
        arguments(
            NFS3,
            "MKNOD",
            &[NAMED, &[("NF3CHR", Word(4))], SATTR, &[("spec", Hyper(0x0008_0001))]],
            Facts { set_size: Some(9), attribute_mask: Some(SET), ..create(FileType::CHR) },
        ),
        arguments(
            NFS3,
            "MKNOD",
            &[NAMED, &[("NF3FIFO", Word(7))], SATTR],
            Facts { set_size: Some(9), attribute_mask: Some(SET), ..create(FileType::FIFO) },
        ),
    ];
    for name in ["CREATE", "MKDIR", "SYMLINK", "MKNOD"] {
        samples.push(results(NFS3, name, made, making()));
    }
    let bare: &[Rows] = &[&[("handle_follows", Word(0))], NO_ATTRIBUTES, NO_ATTRIBUTES, NO_ATTRIBUTES];
    samples.push(results(NFS3, "CREATE", bare, NO_FACTS()));
    samples
}

fn names() -> Vec<Sample> {
    let to: Rows = &[("todir", Opaque(b"dir-2")), ("name", Opaque(b"new"))];
    vec![
        arguments(NFS3, "REMOVE", &[NAMED], named()),
        results(NFS3, "REMOVE", &[PRE_OP, POST_OP], directory_weak()),
        arguments(NFS3, "RMDIR", &[NAMED], named()),
        results(NFS3, "RMDIR", &[PRE_OP, POST_OP], directory_weak()),
        arguments(
            NFS3,
            "RENAME",
            &[NAMED, to],
            Facts {
                rare: Some(
                    Rare { other_directory: Some(b"dir-2"), new_name: Some(b"new"), ..Rare::default() }
                        .into(),
                ),
                ..named()
            },
        ),
        results(
            NFS3,
            "RENAME",
            &[PRE_OP, POST_OP, PRE_OP, POST_OP],
            Facts {
                rare: Some(
                    Rare {
                        target_before: Some(BEFORE),
                        target_attributes: Some(ATTRIBUTES3),
                        ..Rare::default()
                    }
                    .into(),
                ),
                ..directory_weak()
            },
        ),
        arguments(
            NFS3,
            "LINK",
            &[OBJECT, to],
            Facts {
                rare: Some(Rare { other_directory: Some(b"dir-2"), ..Rare::default() }.into()),
                name: Some(b"new"),
                ..object()
            },
        ),
        results(
            NFS3,
            "LINK",
            &[POST_OP, PRE_OP, POST_OP],
            Facts { attributes: Some(ATTRIBUTES3), ..directory_weak() },
        ),
    ]
}

fn listings() -> Vec<Sample> {
    let plain = Entry { name: b"a", fileid: Some(2), cookie: 10, handle: None, attributes: None };
    let plus =
        Entry { handle: Some(b"handle-a"), attributes: Some(ATTRIBUTES3), name: b"b", cookie: 11, ..plain };
    let verifier: Rows = &[("cookieverf", Hyper(0))];
    let end: Rows = &[("follows", Word(0)), ("eof", Word(0))];
    let entry: Rows =
        &[("follows", Word(1)), ("fileid", Hyper(2)), ("name", Opaque(b"a")), ("cookie", Hyper(10))];
    let next: Rows =
        &[("follows", Word(1)), ("fileid", Hyper(2)), ("name", Opaque(b"b")), ("cookie", Hyper(11))];
    let handle: Rows = &[("handle_follows", Word(1)), ("handle", Opaque(b"handle-a"))];
    vec![
        arguments(
            NFS3,
            "READDIR",
            &[OBJECT, &[("cookie", Hyper(10)), ("cookieverf", Hyper(0)), ("count", Word(4096))]],
            Facts { cookie: Some(10), count_requested: Some(4096), ..object() },
        ),
        results(
            NFS3,
            "READDIR",
            &[POST_OP, verifier, entry, end],
            Facts {
                rare: Some(Rare { entries: vec![plain], ..Rare::default() }.into()),
                eof: Some(false),
                ..attributes()
            },
        ),
        arguments(
            NFS3,
            "READDIRPLUS",
            &[
                OBJECT,
                &[("cookie", Hyper(0)), ("cookieverf", Hyper(0))],
                &[("dircount", Word(512)), ("maxcount", Word(8192))],
            ],
            Facts { cookie: Some(0), count_requested: Some(8192), ..object() },
        ),
        results(
            NFS3,
            "READDIRPLUS",
            &[
                POST_OP,
                verifier,
                entry,
                NO_ATTRIBUTES,
                &[("handle_follows", Word(0))],
                next,
                POST_OP,
                handle,
                end,
            ],
            Facts {
                rare: Some(Rare { entries: vec![plain, plus], ..Rare::default() }.into()),
                eof: Some(false),
                ..attributes()
            },
        ),
    ]
}

fn file_systems() -> Vec<Sample> {
    let limits = Attributes { max_read: Some(1 << 20), max_write: Some(1 << 19), ..ATTRIBUTES3 };
    vec![
        arguments(NFS3, "FSSTAT", &[OBJECT], object()),
        results(
            NFS3,
            "FSSTAT",
            &[
                POST_OP,
                &[("tbytes", Hyper(1 << 50)), ("fbytes", Hyper(1 << 49)), ("abytes", Hyper(1 << 48))],
                &[("tfiles", Hyper(1 << 30)), ("ffiles", Hyper(1 << 29)), ("afiles", Hyper(1 << 28))],
                &[("invarsec", Word(0))],
            ],
            attributes(),
        ),
        arguments(NFS3, "FSINFO", &[OBJECT], object()),
        results(
            NFS3,
            "FSINFO",
            &[
                POST_OP,
                &[("rtmax", Word(1 << 20)), ("rtpref", Word(1 << 17)), ("rtmult", Word(4096))],
                &[("wtmax", Word(1 << 19)), ("wtpref", Word(1 << 17)), ("wtmult", Word(4096))],
                &[("dtpref", Word(65_536)), ("maxfilesize", Hyper(1 << 60))],
                &[("time_delta.seconds", Word(0)), ("time_delta.nseconds", Word(1))],
                &[("properties", Word(0x1b))],
            ],
            Facts { attributes: Some(limits), ..NO_FACTS() },
        ),
        arguments(NFS3, "PATHCONF", &[OBJECT], object()),
        results(
            NFS3,
            "PATHCONF",
            &[
                POST_OP,
                &[("linkmax", Word(32_000)), ("name_max", Word(255)), ("no_trunc", Word(1))],
                &[("chown_restricted", Word(1)), ("case_insensitive", Word(0))],
                &[("case_preserving", Word(1))],
            ],
            attributes(),
        ),
    ]
}

/// What follows the status of each failure.
fn failures() -> Vec<Sample> {
    let object = ["ACCESS", "READLINK", "READ", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF"];
    let mut samples: Vec<_> =
        object.map(|name| failure(NFS3, name, &[POST_OP], attributes())).into_iter().collect();
    let directory = Facts { directory_attributes: Some(ATTRIBUTES3), ..NO_FACTS() };
    samples.push(failure(NFS3, "LOOKUP", &[POST_OP], directory));
    for name in ["SETATTR", "WRITE", "COMMIT"] {
        samples.push(failure(NFS3, name, &[PRE_OP, POST_OP], weak()));
    }
    for name in ["CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR"] {
        samples.push(failure(NFS3, name, &[PRE_OP, POST_OP], directory_weak()));
    }
    let both: &[Rows] = &[PRE_OP, POST_OP, NO_ATTRIBUTES, NO_ATTRIBUTES];
    samples.push(failure(NFS3, "RENAME", both, directory_weak()));
    let linked = Facts { attributes: Some(ATTRIBUTES3), ..directory_weak() };
    samples.push(failure(NFS3, "LINK", &[POST_OP, PRE_OP, POST_OP], linked));
    samples
}
