//! THE table: one row per operation of every program that pcapnfs knows.
//!
//! Decoding, names, stability, the main operation of a compound, the handles it moves and the
//! documentation all derive from these rows. No other place matches on operation numbers.

use crate::cursor::Cursor;
use crate::error::DecodeError;
use crate::nfs::facts::Facts;
use crate::nfs::side::operations::{
    MOUNT1, MOUNT3, NFSACL2, NFSACL3, NLM, NLM4, NSM1, PORTMAP2, RPCBIND, RQUOTA1, RQUOTA2,
};
use crate::nfs::types::FileType;
use crate::nfs::{v2, v3, v4};

/// Reads one operation's arguments or results into its fact sheet.
pub type Parser = for<'a> fn(&mut Cursor<'a>, &mut Facts<'a>) -> Result<(), DecodeError>;

/// Which object an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// None: it concerns the client, the session or the file system as a whole.
    Nothing,
    /// The object of the handle: v3 the handle in the arguments, v4 the current handle.
    Object,
    /// The same, which is a regular file where it succeeded: servers refuse others (NFS4ERR_WRONG_TYPE,
    /// RFC 8881 section 15.1.2.9, and what came before it).
    File,
    /// The same, which is a directory where it succeeded (NOTDIR otherwise, RFC 1813 section 3.3.16, RFC 8881
    /// section 18.23.3).
    Directory,
    /// The same, which is a symbolic link where it succeeded (INVAL, WRONG_TYPE otherwise, RFC 1813 section
    /// 3.3.5, RFC 8881 section 18.24.3).
    Link,
    /// The child that the name denotes in the directory of the handle.
    Child,
    /// By its claim the child that the name denotes, or the object of the handle (OPEN, RFC 8881
    /// section 18.16.1).
    Claimed,
    /// The child that the name denotes, and does not denote any more once it succeeded (REMOVE).
    Removed,
    /// RENAME: a child of one directory becomes a child of another (v4: saved → current).
    Renamed,
    /// LINK: an object (v4: the saved handle) gets another name in a directory.
    Linked,
}

impl Subject {
    /// The type that its object has where the operation succeeded: servers refuse it to others.
    pub const fn file_type(self) -> Option<FileType> {
        match self {
            Self::File | Self::Claimed => Some(FileType::REG),
            Self::Directory => Some(FileType::DIR),
            Self::Link => Some(FileType::LNK),
            Self::Nothing | Self::Object | Self::Child | Self::Removed | Self::Renamed | Self::Linked => None,
        }
    }
}

/// What an NFSv4 operation does to the current and the saved handle (RFC 8881 section 16.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Neither changes.
    Keep,
    /// The current handle is the one in the arguments (PUTFH).
    Put,
    /// The current handle is the root of the server's name space (PUTROOTFH).
    PutRoot,
    /// The current handle is the public one, whose place is not known (PUTPUBFH, OPENATTR).
    PutUnknown,
    /// The current handle is saved (SAVEFH).
    Save,
    /// The saved handle becomes current (RESTOREFH).
    Restore,
    /// The current handle becomes the child that the name denotes (LOOKUP, CREATE, OPEN by name).
    Descend,
    /// The current handle becomes its parent (LOOKUPP).
    Ascend,
    /// The current handle is used up (SECINFO).
    Consume,
}

/// When an operation counts as stable: the server had to persist before it replied (docs/definitions.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Never.
    Unstable,
    /// Never; reads file data (a sub-row of its own).
    Read,
    /// Never; records client state (a sub-row of its own, kept out of the round-trip estimate).
    State,
    /// When it succeeded.
    Stable,
    /// When it succeeded, though the RFC's list of synchronous procedures does not name it.
    Unlisted,
    /// By the level in the reply: DATA_SYNC and FILE_SYNC are stable, UNSTABLE is an unstable write.
    Committed,
    /// OPEN: when it created or truncated the file.
    Opened,
}

/// How the results of a procedure begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There are none.
    Void,
    /// With a status, on which depends what follows.
    Status,
    /// With something else.
    Bare,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Procedure number, or operation number in a compound.
    pub number: u32,
    /// Name in the RFC, without prefix.
    pub name: &'static str,
    /// First minor version that has it (0 outside NFSv4).
    pub first_minor: u32,
    /// Which object it is about.
    pub subject: Subject,
    /// What it does to the handles of a compound.
    pub effect: Effect,
    /// When it is stable.
    pub stability: Stability,
    /// Rank among a compound's operations: the first of the lowest rank is the main operation.
    pub rank: u8,
    /// Answered from memory by any server: its service time shows the round trip.
    pub small: bool,
    /// Reads the arguments.
    pub arguments: Parser,
    /// Reads the results of a success, after the status.
    pub results: Parser,
    /// Reads what follows the status of a failure.
    pub failure: Parser,
    /// How the results of a procedure begin. (In a compound each result begins with a status.)
    pub answer: Answer,
    /// Arguments and results are decoded; otherwise the operation is only named and counted.
    pub decoded: bool,
    /// RFC and section.
    pub source: &'static str,
}

/// Nothing to decode: void.
pub fn nothing<'a>(_: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<(), DecodeError> {
    Ok(())
}

/// Named and timed, but passed over: contents that no question needs.
pub fn not_read<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<(), DecodeError> {
    c.skip(c.remaining())
}

/// In place of the parser of failures: the results begin with no status, and the parser of results
/// reads all of them, with the status where there is one further on.
pub fn no_status<'a>(_: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<(), DecodeError> {
    Ok(())
}

/// Whether a row's parser is the one of this name; function pointers cannot be compared.
pub(crate) const fn names(mut parser: &[u8], mut name: &[u8]) -> bool {
    while let ([a, parser_rest @ ..], [b, name_rest @ ..]) = (parser, name) {
        if *a != *b {
            return false;
        }
        (parser, name) = (parser_rest, name_rest);
    }
    parser.is_empty() && name.is_empty()
}

/// How the results begin, by the names of their parsers.
pub(crate) const fn answer(results: &[u8], failure: &[u8]) -> Answer {
    match (names(results, b"nothing"), names(failure, b"no_status")) {
        (true, _) => Answer::Void,
        (false, true) => Answer::Bare,
        (false, false) => Answer::Status,
    }
}

macro_rules! rows {
    ($($number:literal $name:ident $minor:literal $subject:ident $effect:ident $stability:ident $rank:literal $small:literal
       $arguments:path, $results:path, $failure:path; $source:literal)+) => {
        &[$($crate::nfs::operation::Operation {
            number: $number, name: stringify!($name), first_minor: $minor,
            subject: $crate::nfs::operation::Subject::$subject,
            effect: $crate::nfs::operation::Effect::$effect,
            stability: $crate::nfs::operation::Stability::$stability, rank: $rank, small: $small,
            arguments: $arguments, results: $results, failure: $failure,
            answer: $crate::nfs::operation::answer(stringify!($results).as_bytes(), stringify!($failure).as_bytes()),
            decoded: !$crate::nfs::operation::names(stringify!($arguments).as_bytes(), b"not_read"), source: $source,
        },)+]
    };
}

pub(crate) use rows;

/// All operations, with the name of their protocol: for documentation.
pub fn catalogue() -> impl Iterator<Item = (&'static str, &'static Operation)> {
    let tables = [
        ("nfs2", NFS2),
        ("nfs3", NFS3),
        ("nfs4", NFS4),
        ("nfs4 callback", NFS4_CALLBACK),
        ("nfsacl2", NFSACL2),
        ("nfsacl3", NFSACL3),
        ("mount1", MOUNT1),
        ("mount3", MOUNT3),
        ("portmap2", PORTMAP2),
        ("rpcbind", RPCBIND),
        ("nlm", NLM),
        ("nlm4", NLM4),
        ("nsm1", NSM1),
        ("rquota1", RQUOTA1),
        ("rquota2", RQUOTA2),
    ];
    tables.into_iter().flat_map(|(protocol, table)| table.iter().map(move |operation| (protocol, operation)))
}

/// NFSv3 (RFC 1813). An operation is a procedure; rank does not matter.
#[rustfmt::skip]
pub static NFS3: &[Operation] = rows! {
//  no name        minor subject effect stability rank small arguments, results, failure; source
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1813 3.3.0"
     1 GETATTR     0 Object  Keep Unstable 1 true  v3::object_arguments, v3::getattr_results, nothing; "RFC 1813 3.3.1"
     2 SETATTR     0 Object  Keep Unlisted 1 false v3::setattr_arguments, v3::wcc_results, v3::wcc_results; "RFC 1813 3.3.2"
     3 LOOKUP      0 Child   Keep Unstable 1 true  v3::name_arguments, v3::lookup_results, v3::directory_attributes; "RFC 1813 3.3.3"
     4 ACCESS      0 Object  Keep Unstable 1 true  v3::access_arguments, v3::access_results, v3::object_attributes; "RFC 1813 3.3.4"
     5 READLINK    0 Link    Keep Unstable 1 true  v3::object_arguments, v3::readlink_results, v3::object_attributes; "RFC 1813 3.3.5"
     6 READ        0 File    Keep Read     1 false v3::read_arguments, v3::read_results, v3::object_attributes; "RFC 1813 3.3.6"
     7 WRITE       0 File    Keep Committed 1 false v3::write_arguments, v3::write_results, v3::wcc_results; "RFC 1813 3.3.7"
     8 CREATE      0 Child   Keep Stable   1 false v3::create_arguments, v3::create_results, v3::directory_wcc; "RFC 1813 3.3.8"
     9 MKDIR       0 Child   Keep Stable   1 false v3::mkdir_arguments, v3::create_results, v3::directory_wcc; "RFC 1813 3.3.9"
    10 SYMLINK     0 Child   Keep Stable   1 false v3::symlink_arguments, v3::create_results, v3::directory_wcc; "RFC 1813 3.3.10"
    11 MKNOD       0 Child   Keep Stable   1 false v3::mknod_arguments, v3::create_results, v3::directory_wcc; "RFC 1813 3.3.11"
    12 REMOVE      0 Removed Keep Stable   1 false v3::name_arguments, v3::directory_wcc, v3::directory_wcc; "RFC 1813 3.3.12"
    13 RMDIR       0 Removed Keep Stable   1 false v3::name_arguments, v3::directory_wcc, v3::directory_wcc; "RFC 1813 3.3.13"
    14 RENAME      0 Renamed Keep Stable   1 false v3::rename_arguments, v3::rename_results, v3::rename_results; "RFC 1813 3.3.14"
    15 LINK        0 Linked  Keep Stable   1 false v3::link_arguments, v3::link_results, v3::link_results; "RFC 1813 3.3.15"
    16 READDIR     0 Directory Keep Unstable 1 false v3::readdir_arguments, v3::readdir_results, v3::object_attributes; "RFC 1813 3.3.16"
    17 READDIRPLUS 0 Directory Keep Unstable 1 false v3::readdirplus_arguments, v3::readdirplus_results, v3::object_attributes; "RFC 1813 3.3.17"
    18 FSSTAT      0 Object  Keep Unstable 1 true  v3::object_arguments, v3::fsstat_results, v3::object_attributes; "RFC 1813 3.3.18"
    19 FSINFO      0 Object  Keep Unstable 1 true  v3::object_arguments, v3::fsinfo_results, v3::object_attributes; "RFC 1813 3.3.19"
    20 PATHCONF    0 Object  Keep Unstable 1 true  v3::object_arguments, v3::pathconf_results, v3::object_attributes; "RFC 1813 3.3.20"
    21 COMMIT      0 File    Keep Stable   1 false v3::commit_arguments, v3::commit_results, v3::wcc_results; "RFC 1813 3.3.21"
};

/// NFSv2 (RFC 1094). All of its procedures are synchronous (section 2.2).
#[rustfmt::skip]
pub static NFS2: &[Operation] = rows! {
//  no name        minor subject effect stability rank small arguments, results, failure; source
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1094 2.2.1"
     1 GETATTR     0 Object  Keep Unstable 1 true  v2::object_arguments, v2::attributes_results, nothing; "RFC 1094 2.2.2"
     2 SETATTR     0 Object  Keep Stable   1 false v2::setattr_arguments, v2::attributes_results, nothing; "RFC 1094 2.2.3"
     3 ROOT        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1094 2.2.4"
     4 LOOKUP      0 Child   Keep Unstable 1 true  v2::name_arguments, v2::object_results, nothing; "RFC 1094 2.2.5"
     5 READLINK    0 Link    Keep Unstable 1 true  v2::object_arguments, v2::readlink_results, nothing; "RFC 1094 2.2.6"
     6 READ        0 File    Keep Read     1 false v2::read_arguments, v2::read_results, nothing; "RFC 1094 2.2.7"
     7 WRITECACHE  0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1094 2.2.8"
     8 WRITE       0 File    Keep Stable   1 false v2::write_arguments, v2::write_results, nothing; "RFC 1094 2.2.9"
     9 CREATE      0 Child   Keep Stable   1 false v2::create_arguments, v2::object_results, nothing; "RFC 1094 2.2.10"
    10 REMOVE      0 Removed Keep Stable   1 false v2::name_arguments, v2::status_alone, nothing; "RFC 1094 2.2.11"
    11 RENAME      0 Renamed Keep Stable   1 false v2::rename_arguments, v2::status_alone, nothing; "RFC 1094 2.2.12"
    12 LINK        0 Linked  Keep Stable   1 false v2::link_arguments, v2::status_alone, nothing; "RFC 1094 2.2.13"
    13 SYMLINK     0 Child   Keep Stable   1 false v2::symlink_arguments, v2::status_alone, nothing; "RFC 1094 2.2.14"
    14 MKDIR       0 Child   Keep Stable   1 false v2::mkdir_arguments, v2::object_results, nothing; "RFC 1094 2.2.15"
    15 RMDIR       0 Removed Keep Stable   1 false v2::name_arguments, v2::status_alone, nothing; "RFC 1094 2.2.16"
    16 READDIR     0 Directory Keep Unstable 1 false v2::readdir_arguments, v2::readdir_results, nothing; "RFC 1094 2.2.17"
    17 STATFS      0 Object  Keep Unstable 1 true  v2::object_arguments, v2::statfs_results, nothing; "RFC 1094 2.2.18"
};

/// NFSv4, minor versions 0 to 2, and extended attributes. Ranks follow the tiers of Wireshark's
/// `nfs.main_opcode`, and choose within a tier by sense: a LOOKUP on the way to an OPEN, or the
/// LAYOUTRETURN before a CLOSE, is not what the compound is about. Nor is a
/// GET_DIR_DELEGATION that a client sends along with the GETATTR of a directory.
#[rustfmt::skip]
pub static NFS4: &[Operation] = rows! {
//  no name        minor subject effect stability rank small arguments, results, failure; source
     3 ACCESS      0 Object  Keep       Unstable  3 true  v4::access_arguments, v4::access_results, nothing; "RFC 7530 16.1"
     4 CLOSE       0 File    Keep       Unstable  1 true  v4::close_arguments, v4::stateid_alone, nothing; "RFC 7530 16.2"
     5 COMMIT      0 File    Keep       Stable    1 false v4::commit_arguments, v4::commit_results, nothing; "RFC 7530 16.3"
     6 CREATE      0 Child   Descend    Stable    1 false v4::create_arguments, v4::create_results, nothing; "RFC 7530 16.4"
     7 DELEGPURGE  0 Nothing Keep       Unstable  1 false v4::client_arguments, nothing, nothing; "RFC 7530 16.5"
     8 DELEGRETURN 0 Object  Keep       Unstable  1 false v4::stateid_alone, nothing, nothing; "RFC 7530 16.6"
     9 GETATTR     0 Object  Keep       Unstable  4 true  v4::getattr_arguments, v4::getattr_results, nothing; "RFC 7530 16.7"
    10 GETFH       0 Object  Keep       Unstable  7 false nothing, v4::getfh_results, nothing; "RFC 7530 16.8"
    11 LINK        0 Linked  Keep       Stable    1 false v4::name_arguments, v4::change_results, nothing; "RFC 7530 16.9"
    12 LOCK        0 File    Keep       Unstable  1 false v4::lock_arguments, v4::stateid_alone, v4::lock_failure; "RFC 7530 16.10"
    13 LOCKT       0 File    Keep       Unstable  1 false v4::lockt_arguments, nothing, v4::lock_failure; "RFC 7530 16.11"
    14 LOCKU       0 File    Keep       Unstable  1 false v4::locku_arguments, v4::stateid_alone, nothing; "RFC 7530 16.12"
    15 LOOKUP      0 Child   Descend    Unstable  2 true  v4::name_arguments, nothing, nothing; "RFC 7530 16.13"
    16 LOOKUPP     0 Object  Ascend     Unstable  2 true  nothing, nothing, nothing; "RFC 7530 16.14"
    17 NVERIFY     0 Object  Keep       Unstable  3 true  v4::verify_arguments, nothing, v4::nverify_failure; "RFC 7530 16.15"
    18 OPEN        0 Claimed Descend    Opened    1 false v4::open_arguments, v4::open_results, nothing; "RFC 7530 16.16"
    19 OPENATTR    0 Object  PutUnknown Unstable  1 false v4::openattr_arguments, nothing, nothing; "RFC 7530 16.17"
    20 OPEN_CONFIRM 0 File Keep         State     1 false v4::open_confirm_arguments, v4::stateid_alone, nothing; "RFC 7530 16.18"
    21 OPEN_DOWNGRADE 0 File Keep       Unstable  1 false v4::open_downgrade_arguments, v4::stateid_alone, nothing; "RFC 7530 16.19"
    22 PUTFH       0 Object  Put        Unstable  7 false v4::handle_arguments, nothing, nothing; "RFC 7530 16.20"
    23 PUTPUBFH    0 Nothing PutUnknown Unstable  6 false nothing, nothing, nothing; "RFC 7530 16.21"
    24 PUTROOTFH   0 Nothing PutRoot    Unstable  6 false nothing, nothing, nothing; "RFC 7530 16.22"
    25 READ        0 File    Keep       Read      1 false v4::read_arguments, v4::read_results, nothing; "RFC 7530 16.23"
    26 READDIR     0 Directory Keep       Unstable  1 false v4::readdir_arguments, v4::readdir_results, nothing; "RFC 7530 16.24"
    27 READLINK    0 Link    Keep       Unstable  1 true  nothing, v4::readlink_results, nothing; "RFC 7530 16.25"
    28 REMOVE      0 Removed Keep       Stable    1 false v4::name_arguments, v4::change_results, nothing; "RFC 7530 16.26"
    29 RENAME      0 Renamed Keep       Stable    1 false v4::rename_arguments, v4::rename_results, nothing; "RFC 7530 16.27"
    30 RENEW       0 Nothing Keep       Unstable  1 false v4::client_arguments, nothing, nothing; "RFC 7530 16.28"
    31 RESTOREFH   0 Nothing Restore    Unstable  7 false nothing, nothing, nothing; "RFC 7530 16.29"
    32 SAVEFH      0 Nothing Save       Unstable  7 false nothing, nothing, nothing; "RFC 7530 16.30"
    33 SECINFO     0 Child   Consume    Unstable  1 false v4::name_arguments, v4::secinfo_results, nothing; "RFC 7530 16.31"
    34 SETATTR     0 Object  Keep       Stable    1 false v4::setattr_arguments, v4::setattr_results, v4::setattr_results; "RFC 7530 16.32"
    35 SETCLIENTID 0 Nothing Keep       State     1 false v4::setclientid_arguments, v4::client_and_verifier, v4::setclientid_failure; "RFC 7530 16.33"
    36 SETCLIENTID_CONFIRM 0 Nothing Keep State   1 false v4::client_and_verifier, nothing, nothing; "RFC 7530 16.34"
    37 VERIFY      0 Object  Keep       Unstable  1 true  v4::verify_arguments, v4::verify_results, nothing; "RFC 7530 16.35"
    38 WRITE       0 File    Keep       Committed 1 false v4::write_arguments, v4::write_results, nothing; "RFC 7530 16.36"
    39 RELEASE_LOCKOWNER 0 Nothing Keep Unstable  1 false v4::release_lockowner_arguments, nothing, nothing; "RFC 7530 16.37"
    40 BACKCHANNEL_CTL 1 Nothing Keep   State     1 false v4::backchannel_ctl_arguments, nothing, nothing; "RFC 8881 18.33"
    41 BIND_CONN_TO_SESSION 1 Nothing Keep State  1 false v4::bind_conn_to_session, v4::bind_conn_to_session, nothing; "RFC 8881 18.34"
    42 EXCHANGE_ID 1 Nothing Keep       State     1 false v4::exchange_id_arguments, v4::exchange_id_results, nothing; "RFC 8881 18.35"
    43 CREATE_SESSION 1 Nothing Keep    State     1 false v4::create_session_arguments, v4::create_session_results, nothing; "RFC 8881 18.36"
    44 DESTROY_SESSION 1 Nothing Keep   State     1 false v4::session_arguments, nothing, nothing; "RFC 8881 18.37"
    45 FREE_STATEID 1 Nothing Keep      Unstable  1 false v4::stateid_alone, nothing, nothing; "RFC 8881 18.38"
    46 GET_DIR_DELEGATION 1 Object Keep Unstable  5 false v4::get_dir_delegation_arguments, v4::get_dir_delegation_results, nothing; "RFC 8881 18.39"
    47 GETDEVICEINFO 1 Nothing Keep     Unstable  1 false v4::getdeviceinfo_arguments, v4::getdeviceinfo_results, v4::getdeviceinfo_failure; "RFC 8881 18.40"
    48 GETDEVICELIST 1 Nothing Keep     Unstable  1 false v4::getdevicelist_arguments, v4::getdevicelist_results, nothing; "RFC 8881 18.41"
    49 LAYOUTCOMMIT 1 File   Keep       Stable    1 false v4::layoutcommit_arguments, v4::layoutcommit_results, nothing; "RFC 8881 18.42"
    50 LAYOUTGET   1 File    Keep       Unstable  1 false v4::layoutget_arguments, v4::layoutget_results, v4::layoutget_failure; "RFC 8881 18.43"
    51 LAYOUTRETURN 1 Object Keep       Unstable  2 false v4::layoutreturn_arguments, v4::layoutreturn_results, nothing; "RFC 8881 18.44"
    52 SECINFO_NO_NAME 1 Object Consume Unstable  1 false v4::secinfo_no_name_arguments, v4::secinfo_results, nothing; "RFC 8881 18.45"
    53 SEQUENCE    1 Nothing Keep       Unstable  7 false v4::sequence_arguments, v4::sequence_results, nothing; "RFC 8881 18.46"
    54 SET_SSV     1 Nothing Keep       State     1 false v4::set_ssv_arguments, v4::set_ssv_results, nothing; "RFC 8881 18.47"
    55 TEST_STATEID 1 Nothing Keep      Unstable  1 false v4::test_stateid_arguments, v4::test_stateid_results, nothing; "RFC 8881 18.48"
    56 WANT_DELEGATION 1 Object Keep    Unstable  1 false v4::want_delegation_arguments, v4::want_delegation_results, nothing; "RFC 8881 18.49"
    57 DESTROY_CLIENTID 1 Nothing Keep  State     1 false v4::client_arguments, nothing, nothing; "RFC 8881 18.50"
    58 RECLAIM_COMPLETE 1 Nothing Keep  State     1 false v4::reclaim_complete_arguments, nothing, nothing; "RFC 8881 18.51"
    59 ALLOCATE    2 File    Keep       Stable    1 false v4::range_arguments, nothing, nothing; "RFC 7862 15.1"
    60 COPY        2 File    Keep       Committed 1 false v4::copy_arguments, v4::copy_results, v4::copy_failure; "RFC 7862 15.2"
    61 COPY_NOTIFY 2 Object  Keep       Unstable  1 false v4::copy_notify_arguments, v4::copy_notify_results, nothing; "RFC 7862 15.3"
    62 DEALLOCATE  2 File    Keep       Stable    1 false v4::range_arguments, nothing, nothing; "RFC 7862 15.4"
    63 IO_ADVISE   2 Object  Keep       Unstable  1 false v4::io_advise_arguments, v4::io_advise_results, nothing; "RFC 7862 15.5"
    64 LAYOUTERROR 2 Object  Keep       Unstable  1 false v4::layouterror_arguments, nothing, nothing; "RFC 7862 15.6"
    65 LAYOUTSTATS 2 Object  Keep       Unstable  1 false v4::layoutstats_arguments, nothing, nothing; "RFC 7862 15.7"
    66 OFFLOAD_CANCEL 2 Object Keep     Unstable  1 false v4::stateid_alone, nothing, nothing; "RFC 7862 15.8"
    67 OFFLOAD_STATUS 2 Object Keep     Unstable  1 false v4::stateid_alone, v4::offload_status_results, nothing; "RFC 7862 15.9"
    68 READ_PLUS   2 File    Keep       Read      1 false v4::read_arguments, v4::read_plus_results, nothing; "RFC 7862 15.10"
    69 SEEK        2 File    Keep       Unstable  1 false v4::seek_arguments, v4::seek_results, nothing; "RFC 7862 15.11"
    70 WRITE_SAME  2 File    Keep       Stable    1 false v4::write_same_arguments, v4::write_same_results, nothing; "RFC 7862 15.12"
    71 CLONE       2 File    Keep       Stable    1 false v4::clone_arguments, nothing, nothing; "RFC 7862 15.13"
    72 GETXATTR    2 Object  Keep       Unstable  1 false v4::xattr_arguments, v4::getxattr_results, nothing; "RFC 8276 8.4.1"
    73 SETXATTR    2 Object  Keep       Stable    1 false v4::setxattr_arguments, v4::change_results, nothing; "RFC 8276 8.4.2"
    74 LISTXATTRS  2 Object  Keep       Unstable  1 false v4::listxattrs_arguments, v4::listxattrs_results, nothing; "RFC 8276 8.4.3"
    75 REMOVEXATTR 2 Object  Keep       Stable    1 false v4::xattr_arguments, v4::change_results, nothing; "RFC 8276 8.4.4"
 10044 ILLEGAL     0 Nothing Keep       Unstable  1 false nothing, nothing, nothing; "RFC 7530 16.38"
};

/// NFSv4 callbacks: what a server asks of a client. Rank does as for the fore channel: CB_SEQUENCE last.
#[rustfmt::skip]
pub static NFS4_CALLBACK: &[Operation] = rows! {
//  no name        minor subject effect stability rank small arguments, results, failure; source
     3 CB_GETATTR  0 Object  Keep Unstable 1 false v4::cb_getattr_arguments, v4::getattr_results, nothing; "RFC 8881 20.1"
     4 CB_RECALL   0 Object  Keep Unstable 1 false v4::cb_recall_arguments, nothing, nothing; "RFC 8881 20.2"
     5 CB_LAYOUTRECALL 1 Object Keep Unstable 1 false v4::cb_layoutrecall_arguments, nothing, nothing; "RFC 8881 20.3"
     6 CB_NOTIFY   1 Object  Keep Unstable 1 false v4::cb_notify_arguments, nothing, nothing; "RFC 8881 20.4"
     7 CB_PUSH_DELEG 1 Object Keep Unstable 1 false v4::cb_push_deleg_arguments, nothing, nothing; "RFC 8881 20.5"
     8 CB_RECALL_ANY 1 Nothing Keep Unstable 1 false v4::cb_recall_any_arguments, nothing, nothing; "RFC 8881 20.6"
     9 CB_RECALLABLE_OBJ_AVAIL 1 Nothing Keep Unstable 1 false v4::cb_recall_any_arguments, nothing, nothing; "RFC 8881 20.7"
    10 CB_RECALL_SLOT 1 Nothing Keep Unstable 1 false v4::cb_recall_slot_arguments, nothing, nothing; "RFC 8881 20.8"
    11 CB_SEQUENCE 1 Nothing Keep Unstable 7 false v4::cb_sequence_arguments, v4::cb_sequence_results, nothing; "RFC 8881 20.9"
    12 CB_WANTS_CANCELLED 1 Nothing Keep Unstable 1 false v4::cb_wants_cancelled_arguments, nothing, nothing; "RFC 8881 20.10"
    13 CB_NOTIFY_LOCK 1 Object Keep Unstable 1 false v4::cb_notify_lock_arguments, nothing, nothing; "RFC 8881 20.11"
    14 CB_NOTIFY_DEVICEID 1 Nothing Keep Unstable 1 false v4::cb_notify_deviceid_arguments, nothing, nothing; "RFC 8881 20.12"
    15 CB_OFFLOAD  2 Object  Keep Unstable 1 false v4::cb_offload_arguments, nothing, nothing; "RFC 7862 16.1"
 10044 CB_ILLEGAL  0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 8881 20.13"
};
