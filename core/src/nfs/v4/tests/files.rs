use super::*;
use crate::nfs::facts::{Entry, Rare};
use crate::nfs::types::{ChangeInfo, FileType, StableHow};

/// Attributes in the samples: change (3), size (4), mode (33), and mode's word of the bitmap.
const CHANGE_AND_SIZE: u32 = 1 << 3 | 1 << 4;
const MODE: u32 = 1 << (33 - 32);

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = objects();
    samples.extend(names());
    samples.extend(contents());
    samples.extend(listings());
    samples
}

fn objects() -> Vec<Sample> {
    vec![
        arguments(
            "ACCESS",
            &[("access", Word(0x1f))],
            Facts { access_requested: Some(0x1f), ..Facts::default() },
        ),
        results(
            "ACCESS",
            &[("supported", Word(0x3f)), ("access", Word(0x03))],
            Facts { access_granted: Some(0x03), ..Facts::default() },
        ),
        arguments(
            "GETATTR",
            &[("attr_request count", Word(2)), ("[0]", Word(CHANGE_AND_SIZE)), ("[1]", Word(MODE))],
            Facts { attribute_mask: Some([CHANGE_AND_SIZE, MODE, 0]), ..Facts::default() },
        ),
        results(
            "GETATTR",
            &[
                ("attrmask count", Word(2)),
                ("attrmask[0]", Word(CHANGE_AND_SIZE)),
                ("attrmask[1]", Word(MODE)),
                ("attr_vals length", Word(20)),
                ("change", Hyper(77)),
                ("size", Hyper(4096)),
                ("mode", Word(0o644)),
            ],
            Facts {
                attributes: Some(Attributes {
                    change: Some(77),
                    size: Some(4096),
                    mode: Some(0o644),
                    ..Attributes::default()
                }),
                ..Facts::default()
            },
        ),
        results(
            "GETFH",
            &[("object", Opaque(b"handle-8"))],
            Facts { new_handle: Some(b"handle-8"), ..Facts::default() },
        ),
        arguments(
            "PUTFH",
            &[("object", Opaque(b"handle-8"))],
            Facts { handle: Some(b"handle-8"), ..Facts::default() },
        ),
        arguments(
            "VERIFY",
            VERIFY,
            Facts {
                attribute_mask: Some([8, 0, 0]),
                rare: Some(Rare { compared: CHANGE, ..Rare::default() }.into()),
                ..Facts::default()
            },
        ),
        arguments(
            "NVERIFY",
            VERIFY,
            Facts {
                attribute_mask: Some([8, 0, 0]),
                rare: Some(Rare { compared: CHANGE, ..Rare::default() }.into()),
                ..Facts::default()
            },
        ),
        arguments(
            "SETATTR",
            &[
                ("stateid.seqid", Word(3)),
                ("stateid.other", Fixed(OTHER)),
                ("attrmask count", Word(2)),
                ("attrmask[0]", Word(1 << 4)),
                ("attrmask[1]", Word(1 << (54 - 32))),
                ("attr_vals length", Word(24)),
                ("size", Hyper(0)),
                ("time_modify_set.set_it", Word(1)),
                ("seconds", Hyper(1_700_000_000)),
                ("nseconds", Word(5)),
            ],
            Facts {
                stateid: STATE,
                attribute_mask: Some([1 << 4, 1 << 22, 0]),
                set_size: Some(0),
                ..Facts::default()
            },
        ),
        results("SETATTR", &[("attrsset count", Word(1)), ("[0]", Word(1 << 4))], NO_FACTS()),
        failure("SETATTR", 13, &[("attrsset count", Word(0))]),
    ]
}

const CHANGE: Option<Attributes<'static>> = Some(Attributes {
    change: Some(77),
    file_type: None,
    mode: None,
    links: None,
    size: None,
    used: None,
    fsid: None,
    fileid: None,
    mounted_on_fileid: None,
    mtime_ns: None,
    ctime_ns: None,
    handle: None,
    error: None,
    max_read: None,
    max_write: None,
    lease_time_s: None,
});

const VERIFY: Rows = &[
    ("attrmask count", Word(1)),
    ("attrmask[0]", Word(1 << 3)),
    ("attr_vals length", Word(8)),
    ("change", Hyper(77)),
];

const CHANGE_INFO: Rows = &[("atomic", Word(1)), ("before", Hyper(10)), ("after", Hyper(11))];

fn changed() -> Facts<'static> {
    Facts { change: Some(ChangeInfo { atomic: true, before: 10, after: 11 }), ..Facts::default() }
}

fn names() -> Vec<Sample> {
    let named = || Facts { name: Some(b"name"), ..Facts::default() };
    vec![
        arguments("LOOKUP", &[("objname", Opaque(b"name"))], named()),
        arguments("REMOVE", &[("target", Opaque(b"name"))], named()),
        arguments("LINK", &[("newname", Opaque(b"name"))], named()),
        arguments("SECINFO", &[("name", Opaque(b"name"))], named()),
        results("REMOVE", CHANGE_INFO, changed()),
        results("LINK", CHANGE_INFO, changed()),
        results(
            "SECINFO",
            &[
                ("count", Word(2)),
                ("flavor AUTH_SYS", Word(1)),
                ("flavor RPCSEC_GSS", Word(6)),
                ("oid", Opaque(b"krb5-oid.")),
                ("qop", Word(0)),
                ("service", Word(1)),
            ],
            NO_FACTS(),
        ),
        arguments(
            "CREATE",
            &[
                ("objtype NF4LNK", Word(5)),
                ("linkdata", Opaque(b"../target")),
                ("objname", Opaque(b"name")),
                ("attrmask count", Word(2)),
                ("attrmask[0]", Word(0)),
                ("attrmask[1]", Word(MODE)),
                ("attr_vals length", Word(4)),
                ("mode", Word(0o777)),
            ],
            Facts {
                create: Some(true),
                create_type: Some(FileType::LNK),
                text: Some(b"../target"),
                name: Some(b"name"),
                attribute_mask: Some([0, MODE, 0]),
                ..Facts::default()
            },
        ),
        arguments(
            "CREATE",
            &[
                ("objtype NF4CHR", Word(4)),
                ("specdata1", Word(1)),
                ("specdata2", Word(3)),
                ("objname", Opaque(b"null")),
                ("attrmask count", Word(0)),
                ("attr_vals length", Word(0)),
            ],
            Facts {
                create: Some(true),
                create_type: Some(FileType::CHR),
                name: Some(b"null"),
                attribute_mask: Some([0; 3]),
                ..Facts::default()
            },
        ),
        results(
            "CREATE",
            &[
                ("atomic", Word(1)),
                ("before", Hyper(10)),
                ("after", Hyper(11)),
                ("attrset count", Word(1)),
                ("attrset[0]", Word(0)),
            ],
            changed(),
        ),
        arguments(
            "RENAME",
            &[("oldname", Opaque(b"old name")), ("newname", Opaque(b"new."))],
            Facts {
                name: Some(b"old name"),
                rare: Some(Rare { new_name: Some(b"new."), ..Rare::default() }.into()),
                ..Facts::default()
            },
        ),
        results(
            "RENAME",
            &[
                ("source.atomic", Word(1)),
                ("source.before", Hyper(10)),
                ("source.after", Hyper(11)),
                ("target.atomic", Word(0)),
                ("target.before", Hyper(20)),
                ("target.after", Hyper(21)),
            ],
            Facts {
                rare: Some(
                    Rare {
                        target_change: Some(ChangeInfo { atomic: false, before: 20, after: 21 }),
                        ..Rare::default()
                    }
                    .into(),
                ),
                ..changed()
            },
        ),
        results(
            "READLINK",
            &[("link", Opaque(b"/a/target"))],
            Facts { text: Some(b"/a/target"), ..Facts::default() },
        ),
    ]
}

fn contents() -> Vec<Sample> {
    vec![
        arguments(
            "READ",
            &[
                ("stateid.seqid", Word(3)),
                ("stateid.other", Fixed(OTHER)),
                ("offset", Hyper(8192)),
                ("count", Word(4096)),
            ],
            Facts { stateid: STATE, offset: Some(8192), count_requested: Some(4096), ..Facts::default() },
        ),
        results(
            "READ",
            &[("eof", Word(1)), ("data", Skipped(b"seven b"))],
            Facts { eof: Some(true), count: Some(7), ..Facts::default() },
        ),
        arguments(
            "WRITE",
            &[
                ("stateid.seqid", Word(3)),
                ("stateid.other", Fixed(OTHER)),
                ("offset", Hyper(8192)),
                ("stable FILE_SYNC4", Word(2)),
                ("data", Skipped(b"hello")),
            ],
            Facts {
                stateid: STATE,
                offset: Some(8192),
                stable_requested: Some(StableHow::FILE_SYNC),
                count_requested: Some(5),
                ..Facts::default()
            },
        ),
        results(
            "WRITE",
            &[("count", Word(5)), ("committed UNSTABLE4", Word(0)), ("writeverf", Hyper(0xfeed))],
            Facts {
                count: Some(5),
                committed: Some(StableHow::UNSTABLE),
                verifier: Some(0xfeed),
                ..Facts::default()
            },
        ),
        arguments(
            "COMMIT",
            &[("offset", Hyper(0)), ("count", Word(0))],
            Facts { offset: Some(0), count_requested: Some(0), ..Facts::default() },
        ),
        results(
            "COMMIT",
            &[("writeverf", Hyper(0xfeed))],
            Facts { verifier: Some(0xfeed), ..Facts::default() },
        ),
    ]
}

const LISTING: Rows = &[
    ("cookieverf", Hyper(9)),
    ("entry follows", Word(1)),
    ("cookie", Hyper(1001)),
    ("name", Opaque(b"a.c")),
    ("attrmask count", Word(1)),
    ("attrmask[0]: type, handle, fileid", Word(1 << 1 | 1 << 19 | 1 << 20)),
    ("attr_vals length", Word(24)),
    ("type NF4REG", Word(1)),
    ("filehandle", Opaque(b"handle-8")),
    ("fileid", Hyper(501)),
    ("entry follows", Word(1)),
    ("cookie", Hyper(1002)),
    ("name", Opaque(b"gone")),
    ("attrmask count", Word(1)),
    ("attrmask[0]: rdattr_error", Word(1 << 11)),
    ("attr_vals length", Word(4)),
    ("rdattr_error NFS4ERR_MOVED", Word(10_019)),
    ("entry follows", Word(0)),
    ("eof", Word(1)),
];

fn listings() -> Vec<Sample> {
    vec![
        arguments(
            "READDIR",
            &[
                ("cookie", Hyper(1000)),
                ("cookieverf", Hyper(9)),
                ("dircount", Word(8170)),
                ("maxcount", Word(32_680)),
                ("attr_request count", Word(2)),
                ("[0]", Word(1 << 11)),
                ("[1]", Word(1 << 23)),
            ],
            Facts {
                cookie: Some(1000),
                count_requested: Some(32_680),
                attribute_mask: Some([1 << 11, 1 << 23, 0]),
                rare: Some(Rare { chooses: true, plus: Some(false), ..Rare::default() }.into()),
                ..Facts::default()
            },
        ),
        results(
            "READDIR",
            LISTING,
            Facts {
                rare: Some(
                    Rare {
                        entries: vec![
                            Entry {
                                name: b"a.c",
                                fileid: Some(501),
                                cookie: 1001,
                                handle: Some(b"handle-8"),
                                attributes: Some(Attributes {
                                    file_type: Some(FileType::REG),
                                    handle: Some(b"handle-8"),
                                    fileid: Some(501),
                                    ..Attributes::default()
                                }),
                            },
                            Entry {
                                name: b"gone",
                                fileid: None,
                                cookie: 1002,
                                handle: None,
                                attributes: Some(Attributes { error: Some(10_019), ..Attributes::default() }),
                            },
                        ],
                        chooses: true,
                        plus: Some(true),
                        ..Rare::default()
                    }
                    .into(),
                ),
                eof: Some(true),
                ..Facts::default()
            },
        ),
    ]
}

/// The facts of `LISTING` with one word replaced, and how decoding ended.
fn damaged_listing(field: &str, value: u32) -> (usize, Option<bool>, Result<(), DecodeError>) {
    let mut bytes = Vec::new();
    for row in LISTING {
        let row = if row.0 == field { (row.0, Word(value)) } else { *row };
        bytes.extend(
            Sample {
                row: operation("READDIR"),
                part: Part::Results,
                rows: vec![row].leak(),
                expected: NO_FACTS(),
            }
            .bytes(),
        );
    }
    let mut facts = Facts::default();
    let outcome = (operation("READDIR").results)(&mut Cursor::new(&bytes, Layer::Reply), &mut facts);
    (facts.rare().entries.len(), facts.eof, outcome)
}

#[test]
fn a_damaged_attribute_does_not_end_the_listing_and_is_not_concealed() {
    // size (4) takes the place of fileid (20): the handle is read as its eight bytes, then nothing fits.
    let field = "attrmask[0]: type, handle, fileid";
    let (entries, eof, outcome) = damaged_listing(field, 1 << 4 | 1 << 19 | 1 << 20);
    assert_eq!((entries, eof), (2, Some(true)));
    assert_eq!(outcome.unwrap_err().reason, Reason::Malformed);
}

#[test]
fn entries_tell_whether_a_listing_is_plus_where_they_have_attributes() {
    let told = |mask| {
        let mut facts = Facts::default();
        let bytes =
            [0, 9, 1, 0, 1, 1, u32::from_be_bytes(*b"a\0\0\0"), 1, mask].map(u32::to_be_bytes).concat();
        let mut cut = Cursor::of_prefix(&bytes, 500, Reason::Truncated, Layer::Reply);
        (operation("READDIR").results)(&mut cut, &mut facts).unwrap_err();
        (facts.rare().chooses, facts.rare().plus)
    };
    let (kind, size, handle, error, fileid) = (1 << 1, 1 << 4, 1 << 19, 1 << 11, 1 << 20);
    assert_eq!(told(kind | error | fileid), (true, Some(false)));
    assert_eq!(told(kind | size), (true, Some(true)));
    assert_eq!(told(handle), (true, Some(true)));
    assert_eq!(told(error), (true, None));
    assert_eq!(told(0), (true, None));
}

#[test]
fn an_attribute_that_no_rfc_defines_ends_its_list_only() {
    let rows: Rows = &[
        ("attrmask count", Word(4)),
        ("attrmask[0]: size", Word(1 << 4)),
        ("attrmask[1]", Word(0)),
        ("attrmask[2]: number 95", Word(1 << 31)),
        ("attrmask[3]: number 96", Word(1)),
        ("attr_vals length", Word(16)),
        ("size", Hyper(10)),
        ("whatever", Hyper(u64::MAX)),
    ];
    let expected = Attributes { size: Some(10), ..Attributes::default() };
    let sample = results("GETATTR", rows, Facts { attributes: Some(expected), ..Facts::default() });
    let bytes = sample.bytes();
    let (facts, outcome, left) = sample.decode(&bytes, bytes.len());
    assert_eq!((facts.attributes, outcome, left), (Some(expected), Ok(()), 0));
}

#[test]
fn verify_and_nverify_teach_the_attributes_when_the_object_has_them() {
    let confirmed = |name: &str, status: u32| {
        let mut facts = Facts {
            rare: Some(Rare { compared: CHANGE, ..Rare::default() }.into()),
            status: Some(status),
            ..Facts::default()
        };
        let row = operation(name);
        let parser = if status == 0 { row.results } else { row.failure };
        parser(&mut Cursor::new(&[], Layer::Reply), &mut facts).unwrap();
        facts.attributes == CHANGE
    };
    let (same, not_same) = (10_009, 10_027);
    assert_eq!([confirmed("VERIFY", 0), confirmed("VERIFY", not_same)], [true, false]);
    assert_eq!([confirmed("NVERIFY", 0), confirmed("NVERIFY", same)], [false, true]);
}
