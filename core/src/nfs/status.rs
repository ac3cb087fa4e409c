//! Status codes: number ↔ RFC name, for each protocol of the family.
//!
//! [`status_name`] is what tables and screens use; the constants serve the parsers.

use crate::wire_enum::wire_enum;

/// Which status codes a protocol uses. NFSACL answers with those of NFS, callbacks with `nfsstat4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// None, or numbers without names.
    Nameless,
    /// NFS version 2.
    Nfs2,
    /// NFS version 3.
    Nfs3,
    /// NFS version 4.
    Nfs4,
    /// MOUNT versions 1 and 2: Unix' error numbers.
    Unix,
    /// MOUNT version 3.
    Mount3,
    /// NLM versions 1 to 3.
    Nlm,
    /// NLM version 4.
    Nlm4,
    /// The status monitor.
    Nsm,
    /// Remote quotas.
    Quota,
}

impl Statuses {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Nameless,
        Self::Nfs2,
        Self::Nfs3,
        Self::Nfs4,
        Self::Unix,
        Self::Mount3,
        Self::Nlm,
        Self::Nlm4,
        Self::Nsm,
        Self::Quota,
    ];
}

/// The standard's name of a status; `None` for unknown numbers.
pub const fn status_name(statuses: Statuses, status: u32) -> Option<&'static str> {
    match statuses {
        Statuses::Nameless => None,
        Statuses::Nfs2 => NfsStat2(status).name(),
        Statuses::Nfs3 => NfsStat3(status).name(),
        Statuses::Nfs4 => NfsStat4(status).name(),
        Statuses::Unix => UnixError(status).name(),
        Statuses::Mount3 => MountStat3(status).name(),
        Statuses::Nlm => NlmStat(status).name(),
        Statuses::Nlm4 => Nlm4Stat(status).name(),
        Statuses::Nsm => NsmResult(status).name(),
        Statuses::Quota => QuotaStatus(status).name(),
    }
}

wire_enum! {
    /// `stat` of NFSv2 (RFC 1094 section 2.3.1).
    pub enum NfsStat2 {
        NFS_OK = 0,
        NFSERR_PERM = 1,
        NFSERR_NOENT = 2,
        NFSERR_IO = 5,
        NFSERR_NXIO = 6,
        NFSERR_ACCES = 13,
        NFSERR_EXIST = 17,
        NFSERR_NODEV = 19,
        NFSERR_NOTDIR = 20,
        NFSERR_ISDIR = 21,
        NFSERR_FBIG = 27,
        NFSERR_NOSPC = 28,
        NFSERR_ROFS = 30,
        NFSERR_NAMETOOLONG = 63,
        NFSERR_NOTEMPTY = 66,
        NFSERR_DQUOT = 69,
        NFSERR_STALE = 70,
        NFSERR_WFLUSH = 99,
    }
}

wire_enum! {
    /// `nfsstat3` (RFC 1813 section 2.6).
    pub enum NfsStat3 {
        NFS3_OK = 0,
        NFS3ERR_PERM = 1,
        NFS3ERR_NOENT = 2,
        NFS3ERR_IO = 5,
        NFS3ERR_NXIO = 6,
        NFS3ERR_ACCES = 13,
        NFS3ERR_EXIST = 17,
        NFS3ERR_XDEV = 18,
        NFS3ERR_NODEV = 19,
        NFS3ERR_NOTDIR = 20,
        NFS3ERR_ISDIR = 21,
        NFS3ERR_INVAL = 22,
        NFS3ERR_FBIG = 27,
        NFS3ERR_NOSPC = 28,
        NFS3ERR_ROFS = 30,
        NFS3ERR_MLINK = 31,
        NFS3ERR_NAMETOOLONG = 63,
        NFS3ERR_NOTEMPTY = 66,
        NFS3ERR_DQUOT = 69,
        NFS3ERR_STALE = 70,
        NFS3ERR_REMOTE = 71,
        NFS3ERR_BADHANDLE = 10001,
        NFS3ERR_NOT_SYNC = 10002,
        NFS3ERR_BAD_COOKIE = 10003,
        NFS3ERR_NOTSUPP = 10004,
        NFS3ERR_TOOSMALL = 10005,
        NFS3ERR_SERVERFAULT = 10006,
        NFS3ERR_BADTYPE = 10007,
        NFS3ERR_JUKEBOX = 10008,
    }
}

wire_enum! {
    /// `nfsstat4`: RFC 7530 section 13.1 to 10048, RFC 8881 section 15.1 to 10087, RFC 7862
    /// section 11.1 to 10094, RFC 8276 section 8.3 the last two.
    pub enum NfsStat4 {
        NFS4_OK = 0,
        NFS4ERR_PERM = 1,
        NFS4ERR_NOENT = 2,
        NFS4ERR_IO = 5,
        NFS4ERR_NXIO = 6,
        NFS4ERR_ACCESS = 13,
        NFS4ERR_EXIST = 17,
        NFS4ERR_XDEV = 18,
        NFS4ERR_NOTDIR = 20,
        NFS4ERR_ISDIR = 21,
        NFS4ERR_INVAL = 22,
        NFS4ERR_FBIG = 27,
        NFS4ERR_NOSPC = 28,
        NFS4ERR_ROFS = 30,
        NFS4ERR_MLINK = 31,
        NFS4ERR_NAMETOOLONG = 63,
        NFS4ERR_NOTEMPTY = 66,
        NFS4ERR_DQUOT = 69,
        NFS4ERR_STALE = 70,
        NFS4ERR_BADHANDLE = 10001,
        NFS4ERR_BAD_COOKIE = 10003,
        NFS4ERR_NOTSUPP = 10004,
        NFS4ERR_TOOSMALL = 10005,
        NFS4ERR_SERVERFAULT = 10006,
        NFS4ERR_BADTYPE = 10007,
        NFS4ERR_DELAY = 10008,
        NFS4ERR_SAME = 10009,
        NFS4ERR_DENIED = 10010,
        NFS4ERR_EXPIRED = 10011,
        NFS4ERR_LOCKED = 10012,
        NFS4ERR_GRACE = 10013,
        NFS4ERR_FHEXPIRED = 10014,
        NFS4ERR_SHARE_DENIED = 10015,
        NFS4ERR_WRONGSEC = 10016,
        NFS4ERR_CLID_INUSE = 10017,
        NFS4ERR_RESOURCE = 10018,
        NFS4ERR_MOVED = 10019,
        NFS4ERR_NOFILEHANDLE = 10020,
        NFS4ERR_MINOR_VERS_MISMATCH = 10021,
        NFS4ERR_STALE_CLIENTID = 10022,
        NFS4ERR_STALE_STATEID = 10023,
        NFS4ERR_OLD_STATEID = 10024,
        NFS4ERR_BAD_STATEID = 10025,
        NFS4ERR_BAD_SEQID = 10026,
        NFS4ERR_NOT_SAME = 10027,
        NFS4ERR_LOCK_RANGE = 10028,
        NFS4ERR_SYMLINK = 10029,
        NFS4ERR_RESTOREFH = 10030,
        NFS4ERR_LEASE_MOVED = 10031,
        NFS4ERR_ATTRNOTSUPP = 10032,
        NFS4ERR_NO_GRACE = 10033,
        NFS4ERR_RECLAIM_BAD = 10034,
        NFS4ERR_RECLAIM_CONFLICT = 10035,
        NFS4ERR_BADXDR = 10036,
        NFS4ERR_LOCKS_HELD = 10037,
        NFS4ERR_OPENMODE = 10038,
        NFS4ERR_BADOWNER = 10039,
        NFS4ERR_BADCHAR = 10040,
        NFS4ERR_BADNAME = 10041,
        NFS4ERR_BAD_RANGE = 10042,
        NFS4ERR_LOCK_NOTSUPP = 10043,
        NFS4ERR_OP_ILLEGAL = 10044,
        NFS4ERR_DEADLOCK = 10045,
        NFS4ERR_FILE_OPEN = 10046,
        NFS4ERR_ADMIN_REVOKED = 10047,
        NFS4ERR_CB_PATH_DOWN = 10048,
        NFS4ERR_BADIOMODE = 10049,
        NFS4ERR_BADLAYOUT = 10050,
        NFS4ERR_BAD_SESSION_DIGEST = 10051,
        NFS4ERR_BADSESSION = 10052,
        NFS4ERR_BADSLOT = 10053,
        NFS4ERR_COMPLETE_ALREADY = 10054,
        NFS4ERR_CONN_NOT_BOUND_TO_SESSION = 10055,
        NFS4ERR_DELEG_ALREADY_WANTED = 10056,
        NFS4ERR_BACK_CHAN_BUSY = 10057,
        NFS4ERR_LAYOUTTRYLATER = 10058,
        NFS4ERR_LAYOUTUNAVAILABLE = 10059,
        NFS4ERR_NOMATCHING_LAYOUT = 10060,
        NFS4ERR_RECALLCONFLICT = 10061,
        NFS4ERR_UNKNOWN_LAYOUTTYPE = 10062,
        NFS4ERR_SEQ_MISORDERED = 10063,
        NFS4ERR_SEQUENCE_POS = 10064,
        NFS4ERR_REQ_TOO_BIG = 10065,
        NFS4ERR_REP_TOO_BIG = 10066,
        NFS4ERR_REP_TOO_BIG_TO_CACHE = 10067,
        NFS4ERR_RETRY_UNCACHED_REP = 10068,
        NFS4ERR_UNSAFE_COMPOUND = 10069,
        NFS4ERR_TOO_MANY_OPS = 10070,
        NFS4ERR_OP_NOT_IN_SESSION = 10071,
        NFS4ERR_HASH_ALG_UNSUPP = 10072,
        NFS4ERR_CLIENTID_BUSY = 10074,
        NFS4ERR_PNFS_IO_HOLE = 10075,
        NFS4ERR_SEQ_FALSE_RETRY = 10076,
        NFS4ERR_BAD_HIGH_SLOT = 10077,
        NFS4ERR_DEADSESSION = 10078,
        NFS4ERR_ENCR_ALG_UNSUPP = 10079,
        NFS4ERR_PNFS_NO_LAYOUT = 10080,
        NFS4ERR_NOT_ONLY_OP = 10081,
        NFS4ERR_WRONG_CRED = 10082,
        NFS4ERR_WRONG_TYPE = 10083,
        NFS4ERR_DIRDELEG_UNAVAIL = 10084,
        NFS4ERR_REJECT_DELEG = 10085,
        NFS4ERR_RETURNCONFLICT = 10086,
        NFS4ERR_DELEG_REVOKED = 10087,
        NFS4ERR_PARTNER_NOTSUPP = 10088,
        NFS4ERR_PARTNER_NO_AUTH = 10089,
        NFS4ERR_UNION_NOTSUPP = 10090,
        NFS4ERR_OFFLOAD_DENIED = 10091,
        NFS4ERR_WRONG_LFS = 10092,
        NFS4ERR_BADLABEL = 10093,
        NFS4ERR_OFFLOAD_NO_REQS = 10094,
        NFS4ERR_NOXATTR = 10095,
        NFS4ERR_XATTR2BIG = 10096,
    }
}

wire_enum! {
    /// Unix' error numbers, with which MOUNT versions 1 and 2 answer (RFC 1094 section A.5): those that
    /// became `stat` of NFSv2, which are 4.3BSD's, and that of a path that cannot be.
    pub enum UnixError {
        EPERM = 1,
        ENOENT = 2,
        EIO = 5,
        ENXIO = 6,
        EACCES = 13,
        EEXIST = 17,
        ENODEV = 19,
        ENOTDIR = 20,
        EISDIR = 21,
        EINVAL = 22,
        EFBIG = 27,
        ENOSPC = 28,
        EROFS = 30,
        ENAMETOOLONG = 63,
        ENOTEMPTY = 66,
        EDQUOT = 69,
        ESTALE = 70,
    }
}

wire_enum! {
    /// `mountstat3` (RFC 1813 section 5.1.5).
    pub enum MountStat3 {
        MNT3_OK = 0,
        MNT3ERR_PERM = 1,
        MNT3ERR_NOENT = 2,
        MNT3ERR_IO = 5,
        MNT3ERR_ACCES = 13,
        MNT3ERR_NOTDIR = 20,
        MNT3ERR_INVAL = 22,
        MNT3ERR_NAMETOOLONG = 63,
        MNT3ERR_NOTSUPP = 10004,
        MNT3ERR_SERVERFAULT = 10006,
    }
}

wire_enum! {
    /// `nlm_stats` of NLM versions 1 to 3 (X/Open C702 chapter 10).
    pub enum NlmStat {
        LCK_GRANTED = 0,
        LCK_DENIED = 1,
        LCK_DENIED_NOLOCKS = 2,
        LCK_BLOCKED = 3,
        LCK_DENIED_GRACE_PERIOD = 4,
        LCK_DEADLCK = 5,
    }
}

wire_enum! {
    /// `nlm4_stats` (RFC 1813 section 6.1.2).
    pub enum Nlm4Stat {
        NLM4_GRANTED = 0,
        NLM4_DENIED = 1,
        NLM4_DENIED_NOLOCKS = 2,
        NLM4_BLOCKED = 3,
        NLM4_DENIED_GRACE_PERIOD = 4,
        NLM4_DEADLCK = 5,
        NLM4_ROFS = 6,
        NLM4_STALE_FH = 7,
        NLM4_FBIG = 8,
        NLM4_FAILED = 9,
    }
}

wire_enum! {
    /// `sm_res` of the status monitor (X/Open C702 chapter 11).
    pub enum NsmResult { STAT_SUCC = 0, STAT_FAIL = 1, }
}

wire_enum! {
    /// `gqr_status` and `sqr_status` (`rquota.x`), but for success, which is 1 on the wire.
    pub enum QuotaStatus { Q_OK = 0, Q_NOQUOTA = 2, Q_EPERM = 3, }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_has_another_name_in_each_protocol() {
        use Statuses::{Mount3, Nameless, Nfs2, Nfs3, Nfs4, Nlm, Nlm4, Unix};
        let names = [Nfs2, Nfs3, Nfs4, Mount3, Unix, Nameless].map(|statuses| status_name(statuses, 13));
        let expected = [Some("NFSERR_ACCES"), Some("NFS3ERR_ACCES"), Some("NFS4ERR_ACCESS")];
        assert_eq!(names[..3], expected);
        assert_eq!(names[3..], [Some("MNT3ERR_ACCES"), Some("EACCES"), None]);
        assert_eq!(status_name(Nfs3, 10_008), Some("NFS3ERR_JUKEBOX"));
        assert_eq!(status_name(Nfs4, 10_008), Some("NFS4ERR_DELAY"));
        assert_eq!((status_name(Nlm, 3), status_name(Nlm4, 3)), (Some("LCK_BLOCKED"), Some("NLM4_BLOCKED")));
        assert_eq!(status_name(Nlm, 9), None);
    }

    #[test]
    fn each_standard_defines_as_many_as_it_lists() {
        let named = |statuses, numbers: std::ops::Range<u32>| {
            numbers.filter(|n| status_name(statuses, *n).is_some()).count()
        };
        assert_eq!(named(Statuses::Nfs2, 0..20_000), 18);
        assert_eq!(named(Statuses::Nfs3, 0..20_000), 29);
        assert_eq!(named(Statuses::Nfs4, 0..10_049), 19 + 47, "RFC 7530: 10002 is not one of its codes");
        assert_eq!(named(Statuses::Nfs4, 10_049..10_088), 38, "RFC 8881: 10073 is not used");
        assert_eq!(named(Statuses::Nfs4, 10_088..10_095), 7, "RFC 7862");
        assert_eq!(named(Statuses::Nfs4, 10_095..20_000), 2, "RFC 8276");
        assert_eq!(
            named(Statuses::Unix, 0..20_000),
            18 - 2 + 1,
            "those of NFSv2 without NFS_OK and NFSERR_WFLUSH, and EINVAL"
        );
        assert_eq!(named(Statuses::Mount3, 0..20_000), 10);
        assert_eq!(named(Statuses::Nlm, 0..20_000), 6);
        assert_eq!(named(Statuses::Nlm4, 0..20_000), 10);
        assert_eq!(named(Statuses::Nsm, 0..20_000), 2);
        assert_eq!(named(Statuses::Quota, 0..20_000), 3);
        assert_eq!(named(Statuses::Nameless, 0..20_000), 0);
    }
}
