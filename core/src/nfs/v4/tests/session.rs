use super::*;
use crate::nfs::facts::{Implementation, Pnfs, Rare, ServerOwner};
use crate::nfs::types::DelegationType;
use crate::nfs::v4::sequence_within;

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = clients();
    samples.extend(sessions());
    samples.extend(states());
    samples
}

const OWNER: Rows =
    &[("co_verifier", Hyper(1)), ("co_ownerid", Opaque(b"Linux NFSv4.2 host")), ("eia_flags", Word(0x101))];

const OPERATIONS: Rows = &[
    ("spo_must_enforce count", Word(2)),
    ("[0]", Word(0)),
    ("[1]", Word(0x00fc_0000)),
    ("spo_must_allow count", Word(1)),
    ("[0]", Word(0x3fff)),
];

const IMPLEMENTATION: Rows = &[
    ("impl_id count", Word(1)),
    ("nii_domain", Opaque(b"kernel.org")),
    ("nii_name", Opaque(b"Linux 6.1.0")),
    ("nii_date.seconds", Hyper(0)),
    ("nii_date.nseconds", Word(0)),
];

const CONFIRMED: Rows =
    &[("eir_clientid", Hyper(0xc11e)), ("eir_sequenceid", Word(1)), ("eir_flags", Word(0x2_0001))];

const SERVER: Rows =
    &[("so_minor_id", Hyper(3)), ("so_major_id", Opaque(b"server.")), ("eir_server_scope", Opaque(b"scope"))];

const SERVER_IMPLEMENTATION: Rows = &[
    ("impl_id count", Word(1)),
    ("nii_domain", Opaque(b"example.org")),
    ("nii_name", Opaque(b"Server 9")),
    ("nii_date.seconds", Hyper(0)),
    ("nii_date.nseconds", Word(0)),
];

const NO_IMPLEMENTATION: Rows = &[("impl_id count", Word(0))];

#[expect(clippy::unnecessary_wraps, reason = "the fact sheet's field is optional")]
fn flags(told: u32) -> Option<Box<Rare<'static>>> {
    let pnfs = Some(Pnfs { server_flags: Some(told), ..Pnfs::default() });
    let server_owner = Some(ServerOwner { minor: 3, major: b"server.", scope: b"scope" });
    Some(Rare { pnfs, server_owner, ..Rare::default() }.into())
}

fn clients() -> Vec<Sample> {
    let asked = |protection: &[Rows]| {
        let rows = [&[OWNER], protection, &[IMPLEMENTATION]].concat().concat();
        let rare = Rare {
            client_owner: Some(b"Linux NFSv4.2 host"),
            client_verifier: Some(1),
            client_software: Some(Implementation { domain: b"kernel.org", name: b"Linux 6.1.0" }),
            ..Rare::default()
        };
        arguments("EXCHANGE_ID", rows.leak(), Facts { rare: Some(rare.into()), ..Facts::default() })
    };
    let answered = |protection: &[Rows]| {
        let rows = [&[CONFIRMED], protection, &[SERVER, NO_IMPLEMENTATION]].concat().concat();
        results(
            "EXCHANGE_ID",
            rows.leak(),
            Facts { client_id: Some(0xc11e), rare: flags(0x2_0001), ..Facts::default() },
        )
    };
    let named = || {
        let rows = [CONFIRMED, &[("SP4_NONE", Word(0))], SERVER, SERVER_IMPLEMENTATION].concat();
        let mut rare = flags(0x2_0001).unwrap_or_default();
        rare.server_software = Some(Implementation { domain: b"example.org", name: b"Server 9" });
        results(
            "EXCHANGE_ID",
            rows.leak(),
            Facts { client_id: Some(0xc11e), rare: Some(rare), ..Facts::default() },
        )
    };
    vec![
        asked(&[&[("SP4_NONE", Word(0))]]),
        named(),
        asked(&[&[("SP4_MACH_CRED", Word(1))], OPERATIONS]),
        asked(&[
            &[("SP4_SSV", Word(2))],
            OPERATIONS,
            &[
                ("ssp_hash_algs count", Word(2)),
                ("[0]", Opaque(b"sha256")),
                ("[1]", Opaque(b"sha1")),
                ("ssp_encr_algs count", Word(1)),
                ("[0]", Opaque(b"aes")),
                ("ssp_window", Word(8)),
                ("ssp_num_gss_handles", Word(1)),
            ],
        ]),
        answered(&[&[("SP4_NONE", Word(0))]]),
        answered(&[&[("SP4_MACH_CRED", Word(1))], OPERATIONS]),
        answered(&[
            &[("SP4_SSV", Word(2))],
            OPERATIONS,
            &[
                ("spi_hash_alg", Word(0)),
                ("spi_encr_alg", Word(0)),
                ("spi_ssv_len", Word(32)),
                ("spi_window", Word(8)),
                ("spi_handles count", Word(1)),
                ("[0]", Opaque(b"gss")),
            ],
        ]),
        arguments(
            "DESTROY_CLIENTID",
            &[("clientid", Hyper(0xc11e))],
            Facts { client_id: Some(0xc11e), ..Facts::default() },
        ),
        arguments("RECLAIM_COMPLETE", &[("rca_one_fs", Word(0))], NO_FACTS()),
    ]
}

const FORE_CHANNEL: Rows = &[
    ("ca_headerpadsize", Word(0)),
    ("ca_maxrequestsize", Word(1_049_620)),
    ("ca_maxresponsesize", Word(1_049_480)),
    ("ca_maxresponsesize_cached", Word(7584)),
    ("ca_maxoperations", Word(8)),
    ("ca_maxrequests", Word(64)),
    ("ca_rdma_ird count", Word(1)),
    ("ca_rdma_ird", Word(5)),
];

const BACK_CHANNEL: Rows = &[
    ("ca_headerpadsize", Word(0)),
    ("ca_maxrequestsize", Word(4096)),
    ("ca_maxresponsesize", Word(4096)),
    ("ca_maxresponsesize_cached", Word(0)),
    ("ca_maxoperations", Word(2)),
    ("ca_maxrequests", Word(16)),
    ("ca_rdma_ird count", Word(0)),
];

const CALLBACK_SECURITY: Rows = &[
    ("sec_parms count", Word(3)),
    ("AUTH_NONE", Word(0)),
    ("AUTH_SYS", Word(1)),
    ("stamp", Word(0)),
    ("machinename", Opaque(b"host1")),
    ("uid", Word(0)),
    ("gid", Word(0)),
    ("gids count", Word(2)),
    ("[0]", Word(4)),
    ("[1]", Word(24)),
    ("RPCSEC_GSS", Word(6)),
    ("gcbp_service", Word(1)),
    ("gcbp_handle_from_server", Opaque(b"from-server")),
    ("gcbp_handle_from_client", Opaque(b"from-client.")),
];

const SEQUENCE: Rows = &[("sessionid", Fixed(SESSION)), ("sequenceid", Word(17)), ("slotid", Word(2))];

fn sessions() -> Vec<Sample> {
    const BOUND: Rows = &[("sessid", Fixed(SESSION)), ("dir", Word(3)), ("use_conn_in_rdma_mode", Word(0))];
    let session = || Facts { session: Some(*SESSION), ..Facts::default() };
    let called_back = || Rare { callback_program: Some(0x4000_0000), ..Rare::default() };
    let sequence = || Facts { slot_sequence: Some(17), slot: Some(2), ..session() };
    vec![
        arguments(
            "BACKCHANNEL_CTL",
            [&[("cb_program", Word(0x4000_0000))], CALLBACK_SECURITY].concat().leak(),
            Facts { rare: Some(called_back().into()), ..Facts::default() },
        ),
        arguments("BIND_CONN_TO_SESSION", BOUND, session()),
        results("BIND_CONN_TO_SESSION", BOUND, session()),
        arguments(
            "CREATE_SESSION",
            [
                &[("csa_clientid", Hyper(0xc11e)), ("csa_sequence", Word(1)), ("csa_flags", Word(3))],
                FORE_CHANNEL,
                BACK_CHANNEL,
                &[("csa_cb_program", Word(0x4000_0000))],
                CALLBACK_SECURITY,
            ]
            .concat()
            .leak(),
            Facts {
                client_id: Some(0xc11e),
                rare: Some(Rare { session_slots: Some(64), ..called_back() }.into()),
                ..Facts::default()
            },
        ),
        results(
            "CREATE_SESSION",
            [
                &[("csr_sessionid", Fixed(SESSION)), ("csr_sequence", Word(1)), ("csr_flags", Word(3))],
                FORE_CHANNEL,
                BACK_CHANNEL,
            ]
            .concat()
            .leak(),
            Facts { rare: Some(Rare { session_slots: Some(64), ..Rare::default() }.into()), ..session() },
        ),
        arguments("DESTROY_SESSION", &[("dsa_sessionid", Fixed(SESSION))], session()),
        arguments(
            "SEQUENCE",
            [SEQUENCE, &[("highest_slotid", Word(5)), ("cachethis", Word(1))]].concat().leak(),
            Facts { highest_slot: Some(5), ..sequence() },
        ),
        results(
            "SEQUENCE",
            [
                SEQUENCE,
                &[
                    ("highest_slotid", Word(63)),
                    ("target_highest_slotid", Word(31)),
                    ("status_flags", Word(0)),
                ],
            ]
            .concat()
            .leak(),
            Facts { target_highest_slot: Some(31), ..sequence() },
        ),
        arguments(
            "SET_SSV",
            &[("ssa_ssv", Opaque(b"secret")), ("ssa_digest", Opaque(b"digest.."))],
            NO_FACTS(),
        ),
        results("SET_SSV", &[("ssr_digest", Opaque(b"digest.."))], NO_FACTS()),
        arguments("SECINFO_NO_NAME", &[("style CURRENT_FH", Word(0))], NO_FACTS()),
        results("SECINFO_NO_NAME", &[("count", Word(1)), ("flavor AUTH_SYS", Word(1))], NO_FACTS()),
    ]
}

fn states() -> Vec<Sample> {
    const STATEID: Rows = &[("stateid.seqid", Word(3)), ("stateid.other", Fixed(OTHER))];
    const NOTIFICATIONS: Rows = &[
        ("notification count", Word(1)),
        ("[0]", Word(0x3f)),
        ("child_attributes count", Word(1)),
        ("[0]", Word(1 << 3)),
        ("dir_attributes count", Word(0)),
    ];
    let with_state = || Facts { stateid: STATE, ..Facts::default() };
    vec![
        arguments("FREE_STATEID", STATEID, with_state()),
        arguments(
            "TEST_STATEID",
            [
                &[("count", Word(2))],
                STATEID,
                &[("[1].seqid", Word(1)), ("[1].other", Fixed(b"another one."))],
            ]
            .concat()
            .leak(),
            with_state(),
        ),
        results("TEST_STATEID", &[("count", Word(2)), ("[0]", Word(0)), ("[1]", Word(10_025))], NO_FACTS()),
        arguments(
            "GET_DIR_DELEGATION",
            &[
                ("gdda_signal_deleg_avail", Word(0)),
                ("gdda_notification_types count", Word(1)),
                ("[0]", Word(0x3f)),
                ("gdda_child_attr_delay.seconds", Hyper(1)),
                ("nseconds", Word(0)),
                ("gdda_dir_attr_delay.seconds", Hyper(1)),
                ("nseconds", Word(0)),
                ("gdda_child_attributes count", Word(1)),
                ("[0]", Word(1 << 3)),
                ("gdda_dir_attributes count", Word(0)),
            ],
            Facts { attribute_mask: Some([1 << 3, 0, 0]), ..Facts::default() },
        ),
        results(
            "GET_DIR_DELEGATION",
            [&[("GDD4_OK", Word(0)), ("gddr_cookieverf", Hyper(9))], STATEID, NOTIFICATIONS].concat().leak(),
            Facts { delegation: Some(DelegationType::READ), ..with_state() },
        ),
        results(
            "GET_DIR_DELEGATION",
            &[("GDD4_UNAVAIL", Word(1)), ("will_signal", Word(0))],
            Facts { delegation: Some(DelegationType::NONE), ..Facts::default() },
        ),
        arguments("WANT_DELEGATION", &[("wda_want", Word(0x100)), ("CLAIM_FH", Word(4))], NO_FACTS()),
        arguments(
            "WANT_DELEGATION",
            &[("wda_want", Word(0x100)), ("CLAIM_PREVIOUS", Word(1)), ("delegate_type", Word(1))],
            NO_FACTS(),
        ),
        results(
            "WANT_DELEGATION",
            [
                &[("OPEN_DELEGATE_READ", Word(1))],
                STATEID,
                &[
                    ("recall", Word(0)),
                    ("ace.type", Word(0)),
                    ("ace.flag", Word(0)),
                    ("ace.access_mask", Word(1)),
                    ("ace.who", Opaque(b"user")),
                ],
            ]
            .concat()
            .leak(),
            Facts { delegation: Some(DelegationType::READ), ..with_state() },
        ),
    ]
}

/// A call as a message: credential and tag of these lengths, then an operation with counting bytes.
fn compound(credential: usize, tag: usize, operation: u8) -> Vec<u8> {
    let word = |value: usize| u32::try_from(value).unwrap().to_be_bytes();
    let padded = |length: usize| vec![0xee; length.next_multiple_of(4)];
    let mut bytes = [7, 0, 2, 100_003, 4, 1, 1].map(word).concat();
    for length in [credential, 0, tag] {
        bytes.extend(word(length));
        bytes.extend(padded(length));
        if bytes.len() == 32 + credential.next_multiple_of(4) {
            bytes.extend(word(0)); // flavor of the verifier
        }
    }
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, operation]);
    bytes.extend(0..40_u8);
    bytes
}

#[test]
fn sequence_is_found_behind_any_credential_and_tag() {
    for (credential, tag) in [(0, 0), (24, 0), (33, 5), (400, 13)] {
        let bytes = compound(credential, tag, 53);
        let found = sequence_within(&bytes).unwrap();
        assert_eq!(bytes[found.highest.clone()], [24, 25, 26, 27]);
        assert_eq!(bytes[found.compound..found.compound + 4], u32::try_from(tag).unwrap().to_be_bytes());
        assert!((0..16).chain(20..24).eq(found.slot), "session and slot");
        assert!(sequence_within(&compound(credential, tag, 22)).is_none(), "PUTFH");
        for length in 0..bytes.len() - 40 {
            assert!(sequence_within(&bytes[..length]).is_none());
        }
    }
    let mut endless = compound(0, 0, 53);
    endless[28..32].fill(0xff);
    assert!(sequence_within(&endless).is_none());
}
