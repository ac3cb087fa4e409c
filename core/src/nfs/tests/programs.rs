//! The programs beside NFS: the samples of RFC 1094, 1813, 1833 and of the `.x` files.

use super::*;
use crate::nfs::facts::{Rare, Service};
use crate::nfs::types::PseudoFlavor;

pub(super) fn samples() -> Vec<Sample> {
    [mount(), access_lists(), portmap(), rpcbind(), status_monitor(), quotas()]
        .into_iter()
        .flatten()
        .collect()
}

fn text(text: &'static [u8]) -> Facts<'static> {
    Facts { text: Some(text), ..Facts::default() }
}

fn mount() -> Vec<Sample> {
    let path: Rows = &[("dirpath", Opaque(b"/export/a"))];
    let host: Rows = &[("follows", Word(1)), ("hostname", Opaque(b"client1")), ("dir", Opaque(b"/export/a"))];
    let exported: Rows = &[("follows", Word(1)), ("dir", Opaque(b"/export/a"))];
    let group: Rows = &[("follows", Word(1)), ("group", Opaque(b"*"))];
    let end: Rows = &[("follows", Word(0))];
    let mut samples = Vec::new();
    for (table, list) in [(MOUNT1, "EXPORTALL"), (MOUNT3, "EXPORT")] {
        for name in ["MNT", "UMNT"] {
            samples.push(arguments(table, name, &[path], text(b"/export/a")));
        }
        samples.push(results(table, "DUMP", &[host, host, end], NO_FACTS()));
        samples.push(results(table, list, &[exported, group, group, end, exported, end, end], NO_FACTS()));
    }
    samples.push(results(MOUNT1, "EXPORT", &[end], NO_FACTS()));
    samples.push(results(
        MOUNT1,
        "MNT",
        &[&[("fhandle", Fixed(HANDLE))]],
        Facts { new_handle: Some(HANDLE), ..NO_FACTS() },
    ));
    samples.push(results(
        MOUNT3,
        "MNT",
        &[&[("fhandle", Opaque(b"root")), ("flavors", Word(2)), ("[0]", Word(1)), ("[1]", Word(390_003))]],
        Facts {
            new_handle: Some(b"root"),
            rare: Some(Rare { flavors: vec![PseudoFlavor(1), PseudoFlavor::KRB5], ..Rare::default() }.into()),
            ..NO_FACTS()
        },
    ));
    samples.push(arguments(MOUNT1, "PATHCONF", &[path], text(b"/export/a")));
    samples.push(results(
        MOUNT1,
        "PATHCONF",
        &[
            &[("link_max", Word(1)), ("max_canon", Word(2)), ("max_input", Word(3)), ("name_max", Word(255))],
            &[("path_max", Word(4)), ("pipe_buf", Word(5)), ("vdisable", Word(0)), ("xxx", Word(0))],
            &[("mask[0]", Word(0)), ("mask[1]", Word(0))],
        ],
        NO_FACTS(),
    ));
    samples
}

const EMPTY: Rows = &[
    ("mask", Word(0xc)),
    ("aclcnt", Word(0)),
    ("aclent count", Word(0)),
    ("dfaclcnt", Word(0)),
    ("dfaclent count", Word(0)),
];

/// Linux servers before 5.13 send room for four entries behind lists that are empty.
#[test]
fn room_behind_empty_lists_is_passed_over() {
    let sample = results(NFSACL3, "GETACL", &[POST_OP, EMPTY], Facts::default());
    let left = |room: usize| {
        let bytes = [sample.bytes(), vec![0xa5; room]].concat();
        let (_, outcome, left) = sample.decode(&bytes, bytes.len());
        (outcome.is_ok(), left)
    };
    assert_eq!(left(48), (true, 0));
    assert_eq!(left(44), (true, 44), "of that nobody knows what it is");
}

fn access_lists() -> Vec<Sample> {
    let handle: Rows = &[("fh", Opaque(b"handle-3"))];
    let handle2: Rows = &[("fh", Fixed(HANDLE))];
    let mask: Rows = &[("mask", Word(0xf))];
    let lists: Rows = &[
        ("mask", Word(0xf)),
        ("aclcnt", Word(2)),
        ("aclent count", Word(2)),
        ("type", Word(1)),
        ("id", Word(0)),
        ("perm", Word(6)),
        ("type", Word(4)),
        ("id", Word(0)),
        ("perm", Word(4)),
        ("dfaclcnt", Word(0)),
        ("dfaclent count", Word(0)),
    ];
    let object = || Facts { handle: Some(b"handle-3"), ..Facts::default() };
    let object2 = || Facts { handle: Some(HANDLE), ..Facts::default() };
    let attributes = || Facts { attributes: Some(ATTRIBUTES3), ..Facts::default() };
    let attributes2 = || Facts { attributes: Some(ATTRIBUTES2), ..Facts::default() };
    let create: Rows = &[("create", Word(1))];
    let mut samples = vec![
        arguments(NFSACL3, "GETACL", &[handle, mask], object()),
        results(NFSACL3, "GETACL", &[POST_OP, lists], attributes()),
        results(NFSACL3, "GETACL", &[POST_OP, EMPTY], attributes()),
        arguments(NFSACL3, "SETACL", &[handle, lists], object()),
        results(NFSACL3, "SETACL", &[POST_OP], attributes()),
        arguments(NFSACL3, "GETXATTRDIR", &[handle, create], object()),
        results(NFSACL3, "GETXATTRDIR", &[handle, POST_OP], attributes()),
        arguments(NFSACL2, "GETACL", &[handle2, mask], object2()),
        results(NFSACL2, "GETACL", &[FATTR, lists], attributes2()),
        arguments(NFSACL2, "SETACL", &[handle2, lists], object2()),
        results(NFSACL2, "SETACL", &[FATTR], attributes2()),
        arguments(NFSACL2, "GETATTR", &[handle2], object2()),
        results(NFSACL2, "GETATTR", &[FATTR], attributes2()),
        arguments(
            NFSACL2,
            "ACCESS",
            &[handle2, &[("access", Word(0x3f))]],
            Facts { access_requested: Some(0x3f), ..object2() },
        ),
        results(
            NFSACL2,
            "ACCESS",
            &[FATTR, &[("access", Word(1))]],
            Facts { access_granted: Some(1), ..attributes2() },
        ),
        arguments(NFSACL2, "GETXATTRDIR", &[handle2, create], object2()),
        results(NFSACL2, "GETXATTRDIR", &[handle2, FATTR], attributes2()),
    ];
    for name in ["GETACL", "SETACL", "GETXATTRDIR"] {
        samples.push(failure(NFSACL3, name, &[POST_OP], attributes()));
    }
    samples
}

fn service(protocol: u32, port: u16) -> Service {
    Service { program: 100_005, version: 3, protocol, port }
}

fn services(services: &[Service]) -> Facts<'static> {
    Facts { rare: Some(Rare { services: services.to_vec(), ..Rare::default() }.into()), ..Facts::default() }
}

fn portmap() -> Vec<Sample> {
    let mapping: Rows = &[("prog", Word(100_005)), ("vers", Word(3)), ("prot", Word(17)), ("port", Word(0))];
    let nlm: Rows = &[("prog", Word(100_021)), ("vers", Word(4)), ("prot", Word(6)), ("port", Word(40_607))];
    let locks = Service { program: 100_021, version: 4, protocol: 6, port: 40_607 };
    let (follows, end): (Rows, Rows) = (&[("follows", Word(1))], &[("follows", Word(0))]);
    let remote: Rows =
        &[("prog", Word(100_005)), ("vers", Word(3)), ("proc", Word(0)), ("args", Skipped(b"argument"))];
    let mut samples = vec![
        results(PORTMAP2, "SET", &[&[("done", Word(1))]], NO_FACTS()),
        results(PORTMAP2, "UNSET", &[&[("done", Word(0))]], NO_FACTS()),
        // Whose port it is stands in the call, which is not here.
        results(PORTMAP2, "GETPORT", &[&[("port", Word(20_048))]], NO_FACTS()),
        results(PORTMAP2, "DUMP", &[follows, mapping, follows, nlm, end], services(&[service(17, 0), locks])),
        arguments(
            PORTMAP2,
            "CALLIT",
            &[remote],
            Facts { count_requested: Some(8), ..services(&[service(0, 0)]) },
        ),
        results(
            PORTMAP2,
            "CALLIT",
            &[&[("port", Word(20_048)), ("res", Skipped(b"result"))]],
            Facts { count: Some(6), ..NO_FACTS() },
        ),
    ];
    for name in ["SET", "UNSET", "GETPORT"] {
        samples.push(arguments(PORTMAP2, name, &[mapping], services(&[service(17, 0)])));
    }
    samples
}

fn rpcbind() -> Vec<Sample> {
    let rpcb: Rows = &[
        ("r_prog", Word(100_005)),
        ("r_vers", Word(3)),
        ("r_netid", Opaque(b"tcp6")),
        ("r_addr", Opaque(b"::.78.80")),
        ("r_owner", Opaque(b"superuser")),
    ];
    let address: Rows = &[("uaddr", Opaque(b"10.0.0.1.78.80"))];
    let netbuf: Rows = &[("maxlen", Word(16)), ("buf", Opaque(b"\x02\x00\x4e\x50"))];
    let (follows, end): (Rows, Rows) = (&[("follows", Word(1))], &[("follows", Word(0))]);
    let entry: Rows = &[
        ("r_maddr", Opaque(b"10.0.0.1.78.80")),
        ("r_nc_netid", Opaque(b"udp")),
        ("r_nc_semantics", Word(1)),
        ("r_nc_protofmly", Opaque(b"inet")),
        ("r_nc_proto", Opaque(b"udp")),
    ];
    let remote: Rows =
        &[("prog", Word(100_005)), ("vers", Word(3)), ("proc", Word(0)), ("args", Skipped(b"args"))];
    let told = Service { program: 0, version: 0, protocol: 17, port: 20_048 };
    let mut samples = vec![
        results(RPCBIND, "SET", &[&[("done", Word(1))]], NO_FACTS()),
        results(RPCBIND, "UNSET", &[&[("done", Word(1))]], NO_FACTS()),
        results(RPCBIND, "GETADDR", &[address], NO_FACTS()),
        results(RPCBIND, "GETVERSADDR", &[address], NO_FACTS()),
        results(RPCBIND, "DUMP", &[follows, rpcb, end], services(&[service(6, 20_048)])),
        results(RPCBIND, "GETTIME", &[&[("time", Word(1_700_000_000))]], NO_FACTS()),
        arguments(RPCBIND, "UADDR2TADDR", &[address], text(b"10.0.0.1.78.80")),
        results(RPCBIND, "UADDR2TADDR", &[netbuf], NO_FACTS()),
        arguments(RPCBIND, "TADDR2UADDR", &[netbuf], NO_FACTS()),
        results(RPCBIND, "TADDR2UADDR", &[address], text(b"10.0.0.1.78.80")),
        results(RPCBIND, "GETADDRLIST", &[follows, entry, end], services(&[told])),
    ];
    for name in ["SET", "UNSET", "GETADDR", "GETVERSADDR", "GETADDRLIST"] {
        samples.push(arguments(RPCBIND, name, &[rpcb], services(&[service(6, 0)])));
    }
    for name in ["CALLIT", "INDIRECT"] {
        let expected = Facts { count_requested: Some(4), ..services(&[service(0, 0)]) };
        samples.push(arguments(RPCBIND, name, &[remote], expected));
        let replied: &[Rows] = &[address, &[("results", Skipped(b"four"))]];
        samples.push(results(RPCBIND, name, replied, Facts { count: Some(4), ..NO_FACTS() }));
    }
    samples
}

fn status_monitor() -> Vec<Sample> {
    let name: Rows = &[("mon_name", Opaque(b"client1"))];
    let me: Rows = &[
        ("my_name", Opaque(b"server")),
        ("my_prog", Word(100_021)),
        ("my_vers", Word(4)),
        ("my_proc", Word(16)),
    ];
    let state: Rows = &[("state", Word(9))];
    let mut samples = vec![
        arguments(NSM1, "STAT", &[name], text(b"client1")),
        arguments(NSM1, "MON", &[name, me, &[("priv", Fixed(b"sixteen bytes..."))]], text(b"client1")),
        arguments(NSM1, "UNMON", &[name, me], text(b"client1")),
        arguments(NSM1, "UNMON_ALL", &[me], text(b"server")),
        arguments(NSM1, "NOTIFY", &[name, state], text(b"client1")),
    ];
    for procedure in ["STAT", "MON"] {
        samples.push(failure(NSM1, procedure, &[state], NO_FACTS()));
    }
    for procedure in ["STAT", "MON", "UNMON", "UNMON_ALL"] {
        samples.push(results(NSM1, procedure, &[state], NO_FACTS()));
    }
    samples
}

fn quotas() -> Vec<Sample> {
    let path: Rows = &[("pathp", Opaque(b"/export"))];
    let typed: Rows = &[("type", Word(1))];
    let id: Rows = &[("id", Word(1000))];
    let command: Rows = &[("qcmd", Word(0))];
    let limits: Rows = &[
        ("bhardlimit", Word(1)),
        ("bsoftlimit", Word(2)),
        ("curblocks", Word(3)),
        ("fhardlimit", Word(4)),
        ("fsoftlimit", Word(5)),
        ("curfiles", Word(6)),
        ("btimeleft", Word(7)),
        ("ftimeleft", Word(8)),
    ];
    let quota: Rows = &[("Q_OK", Word(1)), ("bsize", Word(4096)), ("active", Word(1))];
    let status = |status| Facts { status: Some(status), ..Facts::default() };
    let mut samples = Vec::new();
    for (table, asked) in [(RQUOTA1, vec![path, id]), (RQUOTA2, vec![path, typed, id])] {
        for name in ["GETQUOTA", "GETACTIVEQUOTA"] {
            samples.push(arguments(table, name, &asked, text(b"/export")));
        }
        for name in ["SETQUOTA", "SETACTIVEQUOTA"] {
            let set = [vec![command], asked.clone(), vec![limits]].concat();
            samples.push(arguments(table, name, &set, text(b"/export")));
        }
        for name in ["GETQUOTA", "GETACTIVEQUOTA", "SETQUOTA", "SETACTIVEQUOTA"] {
            samples.push(results(table, name, &[quota, limits], status(0)));
            samples.push(results(table, name, &[&[("Q_NOQUOTA", Word(2))]], status(2)));
        }
    }
    samples
}
