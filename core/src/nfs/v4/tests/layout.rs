use super::*;

const DEVICE: &[u8; 16] = b"device-id-16-by.";
const RANGE: Rows = &[("offset", Hyper(4096)), ("length", Hyper(65_536))];
const STATEID: Rows = &[("stateid.seqid", Word(3)), ("stateid.other", Fixed(OTHER))];
const UPDATE: Rows = &[("layout type LAYOUT4_FLEX_FILES", Word(4)), ("body", Opaque(b"body"))];

fn of_range() -> Facts<'static> {
    Facts { offset: Some(4096), count_requested: Some(65_536), stateid: STATE, ..Facts::default() }
}

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
            Facts { count_requested: Some(4096), ..Facts::default() },
        ),
        results(
            "GETDEVICEINFO",
            &[
                ("da_layout_type", Word(4)),
                ("da_addr_body", Opaque(b"addresses")),
                ("gdir_notification count", Word(1)),
                ("[0]", Word(6)),
            ],
            NO_FACTS(),
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
            Facts { cookie: Some(7), ..Facts::default() },
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
            Facts { eof: Some(true), ..Facts::default() },
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
        results(
            "LAYOUTGET",
            [
                &[("logr_return_on_close", Word(1))],
                STATEID,
                &[("logr_layout count", Word(2))],
                RANGE,
                &[("lo_iomode", Word(2))],
                UPDATE,
                RANGE,
                &[("lo_iomode", Word(2))],
                UPDATE,
            ]
            .concat()
            .leak(),
            Facts { stateid: STATE, ..Facts::default() },
        ),
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
