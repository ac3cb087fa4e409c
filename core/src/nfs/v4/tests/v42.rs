use super::*;
use crate::nfs::facts::{Rare, Sparse};
use crate::nfs::types::{ChangeInfo, DataContent, StableHow};

const STATEID: Rows = &[("stateid.seqid", Word(3)), ("stateid.other", Fixed(OTHER))];
const RANGE: Rows = &[("offset", Hyper(4096)), ("length", Hyper(65_536))];
const WRITTEN: Rows =
    &[("wr_count", Hyper(65_536)), ("wr_committed DATA_SYNC4", Word(1)), ("wr_writeverf", Hyper(0xfeed))];
const ADDRESS: Rows =
    &[("NL4_NETADDR", Word(3)), ("na_r_netid", Opaque(b"tcp")), ("na_r_addr", Opaque(b"10.0.0.3.8.1"))];

fn with_state() -> Facts<'static> {
    Facts { stateid: STATE, ..Facts::default() }
}

fn of_range() -> Facts<'static> {
    Facts { offset: Some(4096), count_requested: Some(65_536), ..with_state() }
}

fn written() -> Facts<'static> {
    Facts {
        count: Some(65_536),
        committed: Some(StableHow::DATA_SYNC),
        verifier: Some(0xfeed),
        ..Facts::default()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the fact sheet's field is optional")]
fn sparse(told: Sparse) -> Option<Box<Rare<'static>>> {
    Some(Rare { sparse: Some(told), ..Rare::default() }.into())
}

/// The state in `STATEID` is that of a copy in the background.
#[expect(clippy::unnecessary_wraps, reason = "the fact sheet's field is optional")]
pub(super) fn in_background() -> Option<Box<Rare<'static>>> {
    Some(Rare { offload: STATE, ..Rare::default() }.into())
}

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = copies();
    samples.extend(contents());
    samples.extend(extended_attributes());
    samples
}

fn copies() -> Vec<Sample> {
    const FILES: Rows = &[
        ("src_stateid.seqid", Word(1)),
        ("src_stateid.other", Fixed(b"source file.")),
        ("dst_stateid.seqid", Word(3)),
        ("dst_stateid.other", Fixed(OTHER)),
        ("src_offset", Hyper(0)),
        ("dst_offset", Hyper(4096)),
        ("count", Hyper(65_536)),
    ];
    const REQUIREMENTS: Rows = &[("cr_consecutive", Word(1)), ("cr_synchronous", Word(0))];
    vec![
        arguments("CLONE", FILES, of_range()),
        arguments(
            "COPY",
            [
                FILES,
                REQUIREMENTS,
                &[("ca_source_server count", Word(2)), ("NL4_NAME", Word(1)), ("name", Opaque(b"server"))],
                ADDRESS,
            ]
            .concat()
            .leak(),
            of_range(),
        ),
        results(
            "COPY",
            [&[("wr_callback_id count", Word(0))], WRITTEN, REQUIREMENTS].concat().leak(),
            written(),
        ),
        results(
            "COPY",
            [&[("wr_callback_id count", Word(1))], STATEID, WRITTEN, REQUIREMENTS].concat().leak(),
            Facts { rare: in_background(), ..written() },
        ),
        failure("COPY", 10_094, REQUIREMENTS),
        failure("COPY", 10_088, &[]),
        arguments("COPY_NOTIFY", [STATEID, ADDRESS].concat().leak(), with_state()),
        results(
            "COPY_NOTIFY",
            [
                &[("cnr_lease_time.seconds", Hyper(90)), ("nseconds", Word(0))],
                STATEID,
                &[("cnr_source_server count", Word(1))],
                ADDRESS,
            ]
            .concat()
            .leak(),
            with_state(),
        ),
        arguments("OFFLOAD_CANCEL", STATEID, with_state()),
        arguments("OFFLOAD_STATUS", STATEID, with_state()),
        results(
            "OFFLOAD_STATUS",
            &[("osr_count", Hyper(1024)), ("osr_complete count", Word(1)), ("status", Word(0))],
            Facts { count: Some(1024), ..Facts::default() },
        ),
    ]
}

fn contents() -> Vec<Sample> {
    vec![
        arguments("ALLOCATE", [STATEID, RANGE].concat().leak(), of_range()),
        arguments("DEALLOCATE", [STATEID, RANGE].concat().leak(), of_range()),
        arguments(
            "IO_ADVISE",
            [STATEID, RANGE, &[("hints count", Word(1)), ("[0]", Word(2))]].concat().leak(),
            of_range(),
        ),
        results("IO_ADVISE", &[("hints count", Word(1)), ("[0]", Word(2))], NO_FACTS()),
        arguments(
            "READ_PLUS",
            [STATEID, &[("offset", Hyper(4096)), ("count", Word(65_536))]].concat().leak(),
            of_range(),
        ),
        results(
            "READ_PLUS",
            &[
                ("rpr_eof", Word(0)),
                ("rpr_contents count", Word(2)),
                ("NFS4_CONTENT_HOLE", Word(1)),
                ("di_offset", Hyper(4096)),
                ("di_length", Hyper(1000)),
                ("NFS4_CONTENT_DATA", Word(0)),
                ("d_offset", Hyper(5096)),
                ("d_data", Skipped(b"seven b")),
            ],
            Facts {
                eof: Some(false),
                count: Some(1007),
                rare: sparse(Sparse { segments: Some(2), hole_bytes: Some(1000), ..Sparse::default() }),
                ..Facts::default()
            },
        ),
        arguments(
            "SEEK",
            [STATEID, &[("offset", Hyper(4096)), ("what", Word(1))]].concat().leak(),
            Facts {
                offset: Some(4096),
                rare: sparse(Sparse { content: Some(DataContent::HOLE), ..Sparse::default() }),
                ..with_state()
            },
        ),
        results(
            "SEEK",
            &[("sr_eof", Word(1)), ("sr_offset", Hyper(8192))],
            Facts {
                eof: Some(true),
                rare: sparse(Sparse { found: Some(8192), ..Sparse::default() }),
                ..Facts::default()
            },
        ),
        arguments(
            "WRITE_SAME",
            [
                STATEID,
                &[
                    ("stable FILE_SYNC4", Word(2)),
                    ("adb_offset", Hyper(4096)),
                    ("adb_block_size", Hyper(512)),
                    ("adb_block_count", Hyper(128)),
                    ("adb_reloff_blocknum", Hyper(0)),
                    ("adb_block_num", Word(0)),
                    ("adb_reloff_pattern", Hyper(8)),
                    ("adb_pattern", Skipped(b"pattern")),
                ],
            ]
            .concat()
            .leak(),
            Facts { stable_requested: Some(StableHow::FILE_SYNC), ..of_range() },
        ),
        results("WRITE_SAME", [&[("wr_callback_id count", Word(0))], WRITTEN].concat().leak(), written()),
    ]
}

fn extended_attributes() -> Vec<Sample> {
    const CHANGE_INFO: Rows = &[("atomic", Word(1)), ("before", Hyper(10)), ("after", Hyper(11))];
    let key = || Facts { text: Some(b"user.key"), ..Facts::default() };
    let changed =
        || Facts { change: Some(ChangeInfo { atomic: true, before: 10, after: 11 }), ..Facts::default() };
    vec![
        arguments("GETXATTR", &[("gxa_name", Opaque(b"user.key"))], key()),
        results("GETXATTR", &[("gxr_value", Skipped(b"value"))], NO_FACTS()),
        arguments(
            "SETXATTR",
            &[
                ("sxa_option SETXATTR4_EITHER", Word(0)),
                ("sxa_key", Opaque(b"user.key")),
                ("sxa_value", Skipped(b"value")),
            ],
            key(),
        ),
        results("SETXATTR", CHANGE_INFO, changed()),
        arguments(
            "LISTXATTRS",
            &[("lxa_cookie", Hyper(5)), ("lxa_maxcount", Word(4096))],
            Facts { count_requested: Some(4096), ..Facts::default() },
        ),
        results(
            "LISTXATTRS",
            &[
                ("lxr_cookie", Hyper(6)),
                ("lxr_names count", Word(2)),
                ("[0]", Opaque(b"user.key")),
                ("[1]", Opaque(b"b")),
                ("lxr_eof", Word(1)),
            ],
            Facts::default(),
        ),
        arguments("REMOVEXATTR", &[("rxa_name", Opaque(b"user.key"))], key()),
        results("REMOVEXATTR", CHANGE_INFO, changed()),
    ]
}

#[test]
fn a_hole_beyond_the_request_counts_to_its_end_only() {
    let rows: Rows = &[
        ("rpr_eof", Word(0)),
        ("rpr_contents count", Word(1)),
        ("NFS4_CONTENT_HOLE", Word(1)),
        ("di_offset", Hyper(0)),
        ("di_length", Hyper(u64::MAX)),
    ];
    let bytes = results("READ_PLUS", rows, NO_FACTS()).bytes();
    let mut facts = Facts { count_requested: Some(4096), ..Facts::default() };
    (operation("READ_PLUS").results)(&mut Cursor::new(&bytes, Layer::Reply), &mut facts).unwrap();
    assert_eq!(facts.count, Some(4096));
    assert_eq!(facts.rare().sparse.unwrap().hole_bytes, Some(4096));
}
