use super::v42::in_background;
use super::*;
use crate::nfs::facts::Rare;
use crate::nfs::types::{DelegationType, StableHow};

const STATEID: Rows = &[("stateid.seqid", Word(3)), ("stateid.other", Fixed(OTHER))];
const HANDLE: Rows = &[("fh", Opaque(b"handle-8"))];
const RANGE: Rows = &[("offset", Hyper(4096)), ("length", Hyper(65_536))];
const NOTIFY: Rows =
    &[("changes count", Word(1)), ("mask count", Word(1)), ("[0]", Word(4)), ("vals", Opaque(b"vals"))];
const SEQUENCE: Rows = &[("sessionid", Fixed(SESSION)), ("sequenceid", Word(17)), ("slotid", Word(2))];

fn with_handle() -> Facts<'static> {
    Facts { handle: Some(b"handle-8"), ..Facts::default() }
}

fn with_both() -> Facts<'static> {
    Facts { stateid: STATE, ..with_handle() }
}

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = delegations();
    samples.extend(sessions());
    samples
}

fn delegations() -> Vec<Sample> {
    const LAYOUT: Rows = &[("clora_type", Word(4)), ("clora_iomode", Word(3)), ("clora_changed", Word(0))];
    vec![
        arguments(
            "CB_GETATTR",
            [HANDLE, &[("attr_request count", Word(1)), ("[0]", Word(1 << 3 | 1 << 4))]].concat().leak(),
            Facts { attribute_mask: Some([1 << 3 | 1 << 4, 0, 0]), ..with_handle() },
        ),
        results(
            "CB_GETATTR",
            &[
                ("attrmask count", Word(1)),
                ("[0]", Word(1 << 3 | 1 << 4)),
                ("attr_vals length", Word(16)),
                ("change", Hyper(78)),
                ("size", Hyper(8192)),
            ],
            Facts {
                attributes: Some(Attributes { change: Some(78), size: Some(8192), ..Attributes::default() }),
                ..Facts::default()
            },
        ),
        arguments("CB_RECALL", [STATEID, &[("truncate", Word(0))], HANDLE].concat().leak(), with_both()),
        arguments(
            "CB_LAYOUTRECALL",
            [LAYOUT, &[("LAYOUTRECALL4_FILE", Word(1))], HANDLE, RANGE, STATEID].concat().leak(),
            Facts { offset: Some(4096), count_requested: Some(65_536), ..with_both() },
        ),
        arguments(
            "CB_LAYOUTRECALL",
            [LAYOUT, &[("LAYOUTRECALL4_FSID", Word(2)), ("major", Hyper(1)), ("minor", Hyper(2))]]
                .concat()
                .leak(),
            NO_FACTS(),
        ),
        arguments("CB_LAYOUTRECALL", [LAYOUT, &[("LAYOUTRECALL4_ALL", Word(3))]].concat().leak(), NO_FACTS()),
        arguments("CB_NOTIFY", [STATEID, HANDLE, NOTIFY].concat().leak(), with_both()),
        arguments(
            "CB_PUSH_DELEG",
            [
                HANDLE,
                &[("OPEN_DELEGATE_WRITE", Word(2))],
                STATEID,
                &[
                    ("recall", Word(0)),
                    ("NFS_LIMIT_SIZE", Word(1)),
                    ("filesize", Hyper(1 << 40)),
                    ("ace.type", Word(0)),
                    ("ace.flag", Word(0)),
                    ("ace.access_mask", Word(1)),
                    ("ace.who", Opaque(b"user")),
                ],
            ]
            .concat()
            .leak(),
            Facts { delegation: Some(DelegationType::WRITE), ..with_both() },
        ),
        arguments("CB_RECALL_ANY", RECALL_ANY, NO_FACTS()),
        arguments("CB_RECALLABLE_OBJ_AVAIL", RECALL_ANY, NO_FACTS()),
        arguments("CB_WANTS_CANCELLED", &[("contended", Word(0)), ("resourced", Word(1))], NO_FACTS()),
    ]
}

const RECALL_ANY: Rows = &[("objects_to_keep", Word(10)), ("type_mask count", Word(1)), ("[0]", Word(1))];

fn sessions() -> Vec<Sample> {
    let sequence =
        || Facts { session: Some(*SESSION), slot_sequence: Some(17), slot: Some(2), ..Facts::default() };
    vec![
        arguments(
            "CB_RECALL_SLOT",
            &[("target_highest_slotid", Word(7))],
            Facts { target_highest_slot: Some(7), ..Facts::default() },
        ),
        arguments(
            "CB_SEQUENCE",
            [
                SEQUENCE,
                &[
                    ("highest_slotid", Word(0)),
                    ("cachethis", Word(0)),
                    ("referring_call_lists count", Word(1)),
                    ("rcl_sessionid", Fixed(SESSION)),
                    ("rcl_referring_calls count", Word(2)),
                    ("[0].sequenceid", Word(5)),
                    ("[0].slotid", Word(0)),
                    ("[1].sequenceid", Word(6)),
                    ("[1].slotid", Word(1)),
                ],
            ]
            .concat()
            .leak(),
            Facts { highest_slot: Some(0), ..sequence() },
        ),
        results(
            "CB_SEQUENCE",
            [SEQUENCE, &[("highest_slotid", Word(15)), ("target_highest_slotid", Word(14))]].concat().leak(),
            Facts { target_highest_slot: Some(14), ..sequence() },
        ),
        arguments(
            "CB_NOTIFY_LOCK",
            [HANDLE, &[("clientid", Hyper(0xc11e)), ("owner", Opaque(b"lock id:"))]].concat().leak(),
            Facts {
                client_id: Some(0xc11e),
                rare: Some(Rare { lock_owner: LOCK_OWNER, ..Rare::default() }.into()),
                ..with_handle()
            },
        ),
        arguments("CB_NOTIFY_DEVICEID", NOTIFY, NO_FACTS()),
        arguments(
            "CB_OFFLOAD",
            [
                HANDLE,
                STATEID,
                &[
                    ("coa_status NFS4_OK", Word(0)),
                    ("wr_callback_id count", Word(0)),
                    ("wr_count", Hyper(1024)),
                    ("wr_committed", Word(2)),
                    ("wr_writeverf", Hyper(0xfeed)),
                ],
            ]
            .concat()
            .leak(),
            Facts {
                count: Some(1024),
                committed: Some(StableHow::FILE_SYNC),
                verifier: Some(0xfeed),
                rare: in_background(),
                ..with_both()
            },
        ),
        arguments(
            "CB_OFFLOAD",
            [HANDLE, STATEID, &[("coa_status NFS4ERR_NOSPC", Word(28)), ("coa_bytes_copied", Hyper(512))]]
                .concat()
                .leak(),
            Facts { count: Some(512), rare: in_background(), ..with_both() },
        ),
    ]
}
