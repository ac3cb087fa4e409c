//! The side programs' rows of [the operation table](crate::nfs::operation).

use super::{mount, nfsacl, nlm, nsm, portmap, rquota};
use crate::nfs::operation::{Operation, no_status, not_read, nothing, rows};
use crate::nfs::{v2, v3};

/// NFSACL version 3: Solaris' side program on the NFS port (no RFC; procedures as in `nfs_acl.x`).
#[rustfmt::skip]
pub static NFSACL3: &[Operation] = rows! {
//  no name        minor subject effect stability rank small arguments, results, failure; source
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "nfs_acl.x"
     1 GETACL      0 Object  Keep Unstable 1 true  nfsacl::getacl_arguments_v3, nfsacl::getacl_results_v3, v3::object_attributes; "nfs_acl.x"
     2 SETACL      0 Object  Keep Unlisted 1 false nfsacl::setacl_arguments_v3, v3::object_attributes, v3::object_attributes; "nfs_acl.x"
     3 GETXATTRDIR 0 Object  Keep Unstable 1 false nfsacl::getxattrdir_arguments_v3, nfsacl::getxattrdir_results_v3, v3::object_attributes; "nfs_acl.x"
};

/// NFSACL version 2.
#[rustfmt::skip]
pub static NFSACL2: &[Operation] = rows! {
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "nfs_acl.x"
     1 GETACL      0 Object  Keep Unstable 1 true  nfsacl::getacl_arguments_v2, nfsacl::getacl_results_v2, nothing; "nfs_acl.x"
     2 SETACL      0 Object  Keep Unlisted 1 false nfsacl::setacl_arguments_v2, v2::attributes_results, nothing; "nfs_acl.x"
     3 GETATTR     0 Object  Keep Unstable 1 true  v2::object_arguments, v2::attributes_results, nothing; "nfs_acl.x"
     4 ACCESS      0 Object  Keep Unstable 1 true  nfsacl::access_arguments_v2, nfsacl::access_results_v2, nothing; "nfs_acl.x"
     5 GETXATTRDIR 0 Object  Keep Unstable 1 false nfsacl::getxattrdir_arguments_v2, nfsacl::getxattrdir_results_v2, nothing; "nfs_acl.x"
};

/// MOUNT version 3 (RFC 1813 appendix I). Only MNT teaches a path.
#[rustfmt::skip]
pub static MOUNT3: &[Operation] = rows! {
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1813 5.2.0"
     1 MNT         0 Nothing Keep State    1 false mount::path_arguments, mount::mnt_results_v3, nothing; "RFC 1813 5.2.1"
     2 DUMP        0 Nothing Keep Unstable 1 false nothing, mount::dump_results, no_status; "RFC 1813 5.2.2"
     3 UMNT        0 Nothing Keep State    1 false mount::path_arguments, nothing, nothing; "RFC 1813 5.2.3"
     4 UMNTALL     0 Nothing Keep State    1 false nothing, nothing, nothing; "RFC 1813 5.2.4"
     5 EXPORT      0 Nothing Keep Unstable 1 false nothing, mount::export_results, no_status; "RFC 1813 5.2.5"
};

/// MOUNT versions 1 and 2 (RFC 1094 appendix A; PATHCONF of version 2 as in `mount.x`).
#[rustfmt::skip]
pub static MOUNT1: &[Operation] = rows! {
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1094 A.5"
     1 MNT         0 Nothing Keep State    1 false mount::path_arguments, mount::mnt_results_v1, nothing; "RFC 1094 A.5"
     2 DUMP        0 Nothing Keep Unstable 1 false nothing, mount::dump_results, no_status; "RFC 1094 A.5"
     3 UMNT        0 Nothing Keep State    1 false mount::path_arguments, nothing, nothing; "RFC 1094 A.5"
     4 UMNTALL     0 Nothing Keep State    1 false nothing, nothing, nothing; "RFC 1094 A.5"
     5 EXPORT      0 Nothing Keep Unstable 1 false nothing, mount::export_results, no_status; "RFC 1094 A.5"
     6 EXPORTALL   0 Nothing Keep Unstable 1 false nothing, mount::export_results, no_status; "RFC 1094 A.5"
     7 PATHCONF    0 Nothing Keep Unstable 1 false mount::path_arguments, mount::pathconf_results, no_status; "mount.x"
};

/// Portmapper version 2 (RFC 1833 section 3).
#[rustfmt::skip]
pub static PORTMAP2: &[Operation] = rows! {
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1833 3.2"
     1 SET         0 Nothing Keep Unstable 1 false portmap::mapping_arguments, portmap::bool_results, no_status; "RFC 1833 3.2"
     2 UNSET       0 Nothing Keep Unstable 1 false portmap::mapping_arguments, portmap::bool_results, no_status; "RFC 1833 3.2"
     3 GETPORT     0 Nothing Keep Unstable 1 false portmap::mapping_arguments, portmap::getport_results, no_status; "RFC 1833 3.2"
     4 DUMP        0 Nothing Keep Unstable 1 false nothing, portmap::dump_results, no_status; "RFC 1833 3.2"
     5 CALLIT      0 Nothing Keep Unstable 1 false portmap::callit_arguments, portmap::callit_results_v2, no_status; "RFC 1833 3.2"
};

/// rpcbind versions 3 and 4 (RFC 1833 section 2). The statistics of GETSTAT are counted only.
#[rustfmt::skip]
pub static RPCBIND: &[Operation] = rows! {
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1833 2.2"
     1 SET         0 Nothing Keep Unstable 1 false portmap::rpcb_arguments, portmap::bool_results, no_status; "RFC 1833 2.2.1"
     2 UNSET       0 Nothing Keep Unstable 1 false portmap::rpcb_arguments, portmap::bool_results, no_status; "RFC 1833 2.2.1"
     3 GETADDR     0 Nothing Keep Unstable 1 false portmap::rpcb_arguments, portmap::getaddr_results, no_status; "RFC 1833 2.2.1"
     4 DUMP        0 Nothing Keep Unstable 1 false nothing, portmap::rpcb_dump_results, no_status; "RFC 1833 2.2.1"
     5 CALLIT      0 Nothing Keep Unstable 1 false portmap::callit_arguments, portmap::callit_results, no_status; "RFC 1833 2.2.1"
     6 GETTIME     0 Nothing Keep Unstable 1 false nothing, portmap::gettime_results, no_status; "RFC 1833 2.2.1"
     7 UADDR2TADDR 0 Nothing Keep Unstable 1 false portmap::universal_address, portmap::netbuf, no_status; "RFC 1833 2.2.1"
     8 TADDR2UADDR 0 Nothing Keep Unstable 1 false portmap::netbuf, portmap::universal_address, no_status; "RFC 1833 2.2.1"
     9 GETVERSADDR 0 Nothing Keep Unstable 1 false portmap::rpcb_arguments, portmap::getaddr_results, no_status; "RFC 1833 2.2.2"
    10 INDIRECT    0 Nothing Keep Unstable 1 false portmap::callit_arguments, portmap::callit_results, no_status; "RFC 1833 2.2.2"
    11 GETADDRLIST 0 Nothing Keep Unstable 1 false portmap::rpcb_arguments, portmap::getaddrlist_results, no_status; "RFC 1833 2.2.2"
    12 GETSTAT     0 Nothing Keep Unstable 1 false not_read, not_read, no_status; "RFC 1833 2.2.2"
};

/// The rows of NLM, which are the same in all versions but for the width of offsets.
macro_rules! nlm {
    ($width:ty) => { rows! {
         0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "RFC 1813 6.3.0"
         1 TEST        0 Object  Keep Unstable 1 false nlm::test_arguments::<$width>, nlm::test_results::<$width>, no_status; "RFC 1813 6.3.1"
         2 LOCK        0 Object  Keep Unstable 1 false nlm::lock_arguments::<$width>, nlm::results, no_status; "RFC 1813 6.3.2"
         3 CANCEL      0 Object  Keep Unstable 1 false nlm::cancel_arguments::<$width>, nlm::results, no_status; "RFC 1813 6.3.3"
         4 UNLOCK      0 Object  Keep Unstable 1 false nlm::unlock_arguments::<$width>, nlm::results, no_status; "RFC 1813 6.3.4"
         5 GRANTED     0 Object  Keep Unstable 1 false nlm::test_arguments::<$width>, nlm::results, no_status; "RFC 1813 6.3.5"
         6 TEST_MSG    0 Object  Keep Unstable 1 false nlm::test_arguments::<$width>, nothing, nothing; "X/Open C702 10"
         7 LOCK_MSG    0 Object  Keep Unstable 1 false nlm::lock_arguments::<$width>, nothing, nothing; "X/Open C702 10"
         8 CANCEL_MSG  0 Object  Keep Unstable 1 false nlm::cancel_arguments::<$width>, nothing, nothing; "X/Open C702 10"
         9 UNLOCK_MSG  0 Object  Keep Unstable 1 false nlm::unlock_arguments::<$width>, nothing, nothing; "X/Open C702 10"
        10 GRANTED_MSG 0 Object  Keep Unstable 1 false nlm::test_arguments::<$width>, nothing, nothing; "X/Open C702 10"
        11 TEST_RES    0 Nothing Keep Unstable 1 false nlm::test_results::<$width>, nothing, nothing; "X/Open C702 10"
        12 LOCK_RES    0 Nothing Keep Unstable 1 false nlm::results, nothing, nothing; "X/Open C702 10"
        13 CANCEL_RES  0 Nothing Keep Unstable 1 false nlm::results, nothing, nothing; "X/Open C702 10"
        14 UNLOCK_RES  0 Nothing Keep Unstable 1 false nlm::results, nothing, nothing; "X/Open C702 10"
        15 GRANTED_RES 0 Nothing Keep Unstable 1 false nlm::results, nothing, nothing; "X/Open C702 10"
        20 SHARE       0 Object  Keep Unstable 1 false nlm::share_arguments, nlm::share_results, no_status; "RFC 1813 6.3.20"
        21 UNSHARE     0 Object  Keep Unstable 1 false nlm::share_arguments, nlm::share_results, no_status; "RFC 1813 6.3.21"
        22 NM_LOCK     0 Object  Keep Unstable 1 false nlm::lock_arguments::<$width>, nlm::results, no_status; "RFC 1813 6.3.22"
        23 FREE_ALL    0 Nothing Keep Unstable 1 false nlm::free_all_arguments, nothing, nothing; "RFC 1813 6.3.23"
    } };
}

/// Network Lock Manager versions 1 to 3 (X/Open C702).
pub static NLM: &[Operation] = nlm!(nlm::Short);

/// Network Lock Manager version 4 (RFC 1813 appendix II).
pub static NLM4: &[Operation] = nlm!(nlm::Long);

/// Network Status Monitor (X/Open C702).
#[rustfmt::skip]
pub static NSM1: &[Operation] = rows! {
     0 NULL        0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "X/Open C702 11"
     1 STAT        0 Nothing Keep Unstable 1 false nsm::name_arguments, nsm::state, nsm::state; "X/Open C702 11"
     2 MON         0 Nothing Keep Unstable 1 false nsm::mon_arguments, nsm::state, nsm::state; "X/Open C702 11"
     3 UNMON       0 Nothing Keep Unstable 1 false nsm::unmon_arguments, nsm::state, no_status; "X/Open C702 11"
     4 UNMON_ALL   0 Nothing Keep Unstable 1 false nsm::unmon_all_arguments, nsm::state, no_status; "X/Open C702 11"
     5 SIMU_CRASH  0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "X/Open C702 11"
     6 NOTIFY      0 Nothing Keep Unstable 1 false nsm::notify_arguments, nothing, nothing; "X/Open C702 11"
};

/// The rows of remote quotas, which differ by the type of the number in version 2.
macro_rules! rquota {
    ($typed:literal) => { rows! {
         0 NULL           0 Nothing Keep Unstable 1 false nothing, nothing, nothing; "rquota.x"
         1 GETQUOTA       0 Nothing Keep Unstable 1 false rquota::get_arguments::<$typed>, rquota::results, no_status; "rquota.x"
         2 GETACTIVEQUOTA 0 Nothing Keep Unstable 1 false rquota::get_arguments::<$typed>, rquota::results, no_status; "rquota.x"
         3 SETQUOTA       0 Nothing Keep Unstable 1 false rquota::set_arguments::<$typed>, rquota::results, no_status; "rquota.x"
         4 SETACTIVEQUOTA 0 Nothing Keep Unstable 1 false rquota::set_arguments::<$typed>, rquota::results, no_status; "rquota.x"
    } };
}

/// Remote quotas, version 1 (`rquota.x`).
pub static RQUOTA1: &[Operation] = rquota!(false);

/// Remote quotas, version 2 (`rquota.x`).
pub static RQUOTA2: &[Operation] = rquota!(true);
