use super::*;
use crate::nfs::facts::{DataServer, Pnfs, Rare};
use std::net::SocketAddr;

const DEVICE: &[u8; 16] = b"device-id-16-by.";
const RANGE: Rows = &[("offset", Hyper(4096)), ("length", Hyper(65_536))];
const STATEID: Rows = &[("stateid.seqid", Word(3)), ("stateid.other", Fixed(OTHER))];
const UPDATE: Rows = &[("layout type LAYOUT4_FLEX_FILES", Word(4)), ("body", Opaque(b"body"))];

/// `nfsv4_1_file_layout_ds_addr4` (RFC 8881 section 13.2): two data servers, one with two addresses.
const FILES_ADDRESS: Rows = &[
    ("da_layout_type LAYOUT4_NFSV4_1_FILES", Word(1)),
    ("da_addr_body length", Word(92)),
    ("nflda_stripe_indices count", Word(2)),
    ("[0]", Word(0)),
    ("[1]", Word(1)),
    ("nflda_multipath_ds_list count", Word(2)),
    ("[0] count", Word(2)),
    ("na_r_netid", Opaque(b"tcp")),
    ("na_r_addr", Opaque(b"10.0.0.3.8.1")),
    ("na_r_netid", Opaque(b"tcp6")),
    ("na_r_addr", Opaque(b"fd00::3.8.4")),
    ("[1] count", Word(1)),
    ("na_r_netid", Opaque(b"rdma")),
    ("na_r_addr", Opaque(b"nowhere")),
];

/// `ff_device_addr4` (RFC 8435 section 4.1), with a version that is not used twice and one unknown.
const FLEX_ADDRESS: Rows = &[
    ("da_layout_type LAYOUT4_FLEX_FILES", Word(4)),
    ("da_addr_body length", Word(92)),
    ("ffda_netaddrs count", Word(1)),
    ("na_r_netid", Opaque(b"tcp")),
    ("na_r_addr", Opaque(b"10.0.0.3.8.1")),
    ("ffda_versions count", Word(3)),
    ("ffdv_version", Word(3)),
    ("ffdv_minorversion", Word(0)),
    ("ffdv_rsize, ffdv_wsize", Hyper(0x0010_0000_0010_0000)),
    ("ffdv_tightly_coupled", Word(0)),
    ("ffdv_version", Word(3)),
    ("ffdv_minorversion", Word(0)),
    ("ffdv_rsize, ffdv_wsize", Hyper(0x0010_0000_0010_0000)),
    ("ffdv_tightly_coupled", Word(1)),
    ("ffdv_version", Word(9)),
    ("ffdv_minorversion", Word(0)),
    ("ffdv_rsize, ffdv_wsize", Hyper(0)),
    ("ffdv_tightly_coupled", Word(0)),
];

/// What is no such address behind the first data server, where the list has another.
const FILES_ADDRESS_OF_OTHER_FORM: Rows = &[
    ("da_layout_type LAYOUT4_NFSV4_1_FILES", Word(1)),
    ("da_addr_body length", Word(42)),
    ("nflda_stripe_indices count", Word(0)),
    ("nflda_multipath_ds_list count", Word(2)),
    ("[0] count", Word(1)),
    ("na_r_netid", Opaque(b"tcp")),
    ("na_r_addr", Opaque(b"10.0.0.3.8.1")),
    ("[1] count", Word(0xffff_ffff)),
    ("the end, with two bytes of padding", Word(0x6162_0000)),
];

const NOTIFICATION: Rows = &[("gdir_notification count", Word(1)), ("[0]", Word(6))];

/// `nfsv4_1_file_layout4` (RFC 8881 section 13.2).
const FILES_LAYOUT: Rows = &[
    ("LAYOUT4_NFSV4_1_FILES", Word(1)),
    ("loc_body length", Word(64)),
    ("nfl_deviceid", Fixed(DEVICE)),
    ("nfl_util", Word(0x10_0000)),
    ("nfl_first_stripe_index", Word(0)),
    ("nfl_pattern_offset", Hyper(0)),
    ("nfl_fh_list count", Word(2)),
    ("[0]", Opaque(b"data fh.")),
    ("[1]", Opaque(b"another fh..")),
];

/// The same without handles: data servers know the file by its own.
const FILES_LAYOUT_OF_OWN: Rows = &[
    ("LAYOUT4_NFSV4_1_FILES", Word(1)),
    ("loc_body length", Word(36)),
    ("nfl_deviceid", Fixed(DEVICE)),
    ("nfl_util", Word(0x10_0000)),
    ("nfl_first_stripe_index", Word(0)),
    ("nfl_pattern_offset", Hyper(0)),
    ("nfl_fh_list count", Word(0)),
];

/// `ff_layout4` (RFC 8435 section 5.1): one mirror on one data server. The length is two bytes short,
/// as Linux's server has it.
const FLEX_LAYOUT: Rows = &[
    ("LAYOUT4_FLEX_FILES", Word(4)),
    ("loc_body length", Word(90)),
    ("ffl_stripe_unit", Hyper(0)),
    ("ffl_mirrors count", Word(1)),
    ("ffm_data_servers count", Word(1)),
    ("ffds_deviceid", Fixed(DEVICE)),
    ("ffds_efficiency", Word(1)),
    ("ffds_stateid.seqid", Word(0)),
    ("ffds_stateid.other", Fixed(OTHER)),
    ("ffds_fh_vers count", Word(1)),
    ("[0]", Opaque(b"data fh.")),
    ("ffds_user", Opaque(b"0")),
    ("ffds_group", Opaque(b"0")),
    ("ffl_flags", Word(0)),
    ("ffl_stats_collect_hint", Word(0)),
];

#[expect(clippy::unnecessary_wraps, reason = "the fact sheet's field is optional")]
fn pnfs(told: Pnfs<'static>) -> Option<Box<Rare<'static>>> {
    Some(Rare { pnfs: Some(told), ..Rare::default() }.into())
}

fn data_servers(told: &[(&str, u32)]) -> Facts<'static> {
    let data_servers = told
        .iter()
        .map(|(address, version)| DataServer {
            address: address.parse::<SocketAddr>().unwrap(),
            version: *version,
        })
        .collect();
    Facts { rare: pnfs(Pnfs { data_servers, ..Pnfs::default() }), ..Facts::default() }
}

/// LAYOUTGET answered with these contents, and what they tell.
fn granted(contents: &[Rows], handles: &[Option<&'static [u8]>]) -> Sample {
    let mut rows = [&[("logr_return_on_close", Word(1))], STATEID].concat();
    rows.push(("logr_layout count", Word(contents.len() as u32)));
    for content in contents {
        rows.extend([RANGE, &[("lo_iomode", Word(2))], content].concat());
    }
    let data_handles = handles.iter().map(|handle| (*DEVICE, *handle)).collect();
    let told = Pnfs { data_handles, ..Pnfs::default() };
    let rare = if contents.is_empty() { None } else { pnfs(told) };
    results("LAYOUTGET", rows.leak(), Facts { stateid: STATE, rare, ..Facts::default() })
}

fn of_range() -> Facts<'static> {
    Facts { offset: Some(4096), count_requested: Some(65_536), stateid: STATE, ..Facts::default() }
}

/// A layout that ends within its only handle.
const FILES_LAYOUT_OF_OTHER_FORM: Rows = &[
    ("LAYOUT4_NFSV4_1_FILES", Word(1)),
    ("loc_body length", Word(44)),
    ("nfl_deviceid", Fixed(DEVICE)),
    ("nfl_util", Word(0x10_0000)),
    ("nfl_first_stripe_index", Word(0)),
    ("nfl_pattern_offset", Hyper(0)),
    ("nfl_fh_list count", Word(1)),
    ("[0] length", Word(100)),
    ("[0]", Word(0)),
];

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = devices();
    samples.extend(layouts());
    samples
}

fn devices() -> Vec<Sample> {
    vec![
        arguments(
            "GETDEVICEINFO",
            &[
                ("gdia_device_id", Fixed(DEVICE)),
                ("gdia_layout_type", Word(4)),
                ("gdia_maxcount", Word(4096)),
                ("gdia_notify_types count", Word(1)),
                ("[0]", Word(6)),
            ],
            Facts {
                count_requested: Some(4096),
                rare: pnfs(Pnfs { device: Some(*DEVICE), ..Pnfs::default() }),
                ..Facts::default()
            },
        ),
        results(
            "GETDEVICEINFO",
            [FILES_ADDRESS, NOTIFICATION].concat().leak(),
            data_servers(&[("10.0.0.3:2049", 4), ("[fd00::3]:2052", 4)]),
        ),
        results(
            "GETDEVICEINFO",
            [FLEX_ADDRESS, NOTIFICATION].concat().leak(),
            data_servers(&[("10.0.0.3:2049", 3)]),
        ),
        results(
            "GETDEVICEINFO",
            [&[("LAYOUT4_BLOCK_VOLUME", Word(3)), ("da_addr_body", Opaque(b"volumes"))], NOTIFICATION]
                .concat()
                .leak(),
            data_servers(&[]),
        ),
        results(
            "GETDEVICEINFO",
            [FILES_ADDRESS_OF_OTHER_FORM, NOTIFICATION].concat().leak(),
            data_servers(&[("10.0.0.3:2049", 4)]),
        ),
        failure("GETDEVICEINFO", 10_005, &[("gdir_mincount", Word(8192))]),
        failure("GETDEVICEINFO", 2, &[]),
        arguments(
            "GETDEVICELIST",
            &[
                ("gdla_layout_type", Word(1)),
                ("gdla_maxdevices", Word(16)),
                ("gdla_cookie", Hyper(7)),
                ("gdla_cookieverf", Hyper(0)),
            ],
            Facts::default(),
        ),
        results(
            "GETDEVICELIST",
            &[
                ("gdlr_cookie", Hyper(8)),
                ("gdlr_cookieverf", Hyper(1)),
                ("gdlr_deviceid_list count", Word(2)),
                ("[0]", Fixed(DEVICE)),
                ("[1]", Fixed(DEVICE)),
                ("gdlr_eof", Word(1)),
            ],
            Facts::default(),
        ),
    ]
}

fn layouts() -> Vec<Sample> {
    vec![
        arguments(
            "LAYOUTCOMMIT",
            [
                RANGE,
                &[("loca_reclaim", Word(0))],
                STATEID,
                &[("no_newoffset", Word(1)), ("no_offset", Hyper(65_535))],
                &[("nt_timechanged", Word(1)), ("seconds", Hyper(1)), ("nseconds", Word(2))],
                UPDATE,
            ]
            .concat()
            .leak(),
            of_range(),
        ),
        arguments(
            "LAYOUTCOMMIT",
            [
                RANGE,
                &[("loca_reclaim", Word(0))],
                STATEID,
                &[("no_newoffset", Word(0)), ("nt_timechanged", Word(0))],
                UPDATE,
            ]
            .concat()
            .leak(),
            of_range(),
        ),
        results(
            "LAYOUTCOMMIT",
            &[("ns_sizechanged", Word(1)), ("ns_size", Hyper(69_632))],
            Facts {
                attributes: Some(Attributes { size: Some(69_632), ..Attributes::default() }),
                ..Facts::default()
            },
        ),
        results("LAYOUTCOMMIT", &[("ns_sizechanged", Word(0))], NO_FACTS()),
        arguments(
            "LAYOUTGET",
            [
                &[
                    ("loga_signal_layout_avail", Word(0)),
                    ("loga_layout_type", Word(4)),
                    ("loga_iomode", Word(2)),
                ],
                RANGE,
                &[("loga_minlength", Hyper(4096))],
                STATEID,
                &[("loga_maxcount", Word(4096))],
            ]
            .concat()
            .leak(),
            of_range(),
        ),
        granted(&[], &[]),
        granted(&[FLEX_LAYOUT, FILES_LAYOUT], &[Some(b"data fh."), Some(b"data fh."), Some(b"another fh..")]),
        granted(&[FILES_LAYOUT_OF_OWN], &[None]),
        granted(&[&[("LAYOUT4_BLOCK_VOLUME", Word(3)), ("loc_body", Opaque(b"extents"))]], &[]),
        granted(&[FILES_LAYOUT_OF_OTHER_FORM, FILES_LAYOUT_OF_OWN], &[None]),
        failure("LAYOUTGET", 10_058, &[("logr_will_signal_layout_avail", Word(0))]),
        failure("LAYOUTGET", 10_059, &[]),
        arguments(
            "LAYOUTRETURN",
            [
                &[
                    ("lora_reclaim", Word(0)),
                    ("lora_layout_type", Word(4)),
                    ("lora_iomode", Word(3)),
                    ("LAYOUTRETURN4_FILE", Word(1)),
                ],
                RANGE,
                STATEID,
                &[("lrf_body", Opaque(b"body"))],
            ]
            .concat()
            .leak(),
            of_range(),
        ),
        arguments(
            "LAYOUTRETURN",
            &[
                ("lora_reclaim", Word(0)),
                ("lora_layout_type", Word(4)),
                ("lora_iomode", Word(3)),
                ("LAYOUTRETURN4_ALL", Word(3)),
            ],
            NO_FACTS(),
        ),
        results(
            "LAYOUTRETURN",
            [&[("lrs_present", Word(1))], STATEID].concat().leak(),
            Facts { stateid: STATE, ..Facts::default() },
        ),
        results("LAYOUTRETURN", &[("lrs_present", Word(0))], NO_FACTS()),
        arguments(
            "LAYOUTERROR",
            [
                RANGE,
                STATEID,
                &[
                    ("lea_errors count", Word(1)),
                    ("de_deviceid", Fixed(DEVICE)),
                    ("de_status", Word(5)),
                    ("de_opnum", Word(38)),
                ],
            ]
            .concat()
            .leak(),
            of_range(),
        ),
        arguments(
            "LAYOUTSTATS",
            [
                RANGE,
                STATEID,
                &[
                    ("lsa_read.ii_count", Hyper(1)),
                    ("lsa_read.ii_bytes", Hyper(2)),
                    ("lsa_write.ii_count", Hyper(3)),
                    ("lsa_write.ii_bytes", Hyper(4)),
                    ("lsa_deviceid", Fixed(DEVICE)),
                ],
                UPDATE,
            ]
            .concat()
            .leak(),
            of_range(),
        ),
    ]
}
