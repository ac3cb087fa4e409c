//! What one operation said: a fact sheet that the parsers of arguments and results fill in.
//!
//! Each field is `None` until a parser met it on the wire. So a message that breaks off keeps what
//! came before the break, and a row of the `operations` table is a fact sheet written down.
//! Everything is borrowed from the message; ownership starts in the table builders.
//! One is made for each operation, so what is rare stands in a box of its own: it need then neither be
//! made empty nor looked through at the end.

use std::net::SocketAddr;

use crate::nfs::types::{ChangeInfo, DataContent, DelegationType, FileType, PseudoFlavor, StableHow};

/// `createmode4` (RFC 8881 section 18.16.1), and of NFSv3 `createmode3`; EXCLUSIVE and EXCLUSIVE4_1 follow.
const UNCHECKED: u32 = 0;
const GUARDED: u32 = 1;

/// What the call's arguments and the reply's results said about one operation.
#[derive(Clone, Debug, Default)]
pub struct Facts<'a> {
    /// The status in the results; `None` when the operation has none (no reply, or not executed).
    pub status: Option<u32>,
    /// The handle in the arguments: the object, or the directory of an operation by name.
    pub handle: Option<&'a [u8]>,
    /// The name in the directory (RENAME: the old name; LINK: the new one).
    pub name: Option<&'a [u8]>,
    /// The handle in the results (LOOKUP, CREATE, GETFH …).
    pub new_handle: Option<&'a [u8]>,
    /// The type that CREATE, MKDIR, SYMLINK, MKNOD asked for.
    pub create_type: Option<FileType>,
    /// Offset of READ, WRITE, COMMIT, ALLOCATE, LOCK … in bytes.
    pub offset: Option<u64>,
    /// Bytes asked for (READ, WRITE, COMMIT, READDIR: its limit, LOCK: its length).
    pub count_requested: Option<u64>,
    /// Bytes that the reply says were read or written.
    pub count: Option<u64>,
    /// READ, READDIR: the end was reached. SEEK: what was looked for does not come any more.
    pub eof: Option<bool>,
    /// WRITE: the level in the call.
    pub stable_requested: Option<StableHow>,
    /// WRITE, COPY: the level in the reply.
    pub committed: Option<StableHow>,
    /// WRITE, COMMIT: the server's write verifier. A new one means that it lost what was not committed.
    pub verifier: Option<u64>,
    /// Attributes of the object after the operation.
    pub attributes: Option<Attributes<'a>>,
    /// NFSv3 `wcc_attr` of the object before the operation.
    pub before: Option<WeakCacheAttributes>,
    /// Attributes of the directory after the operation.
    pub directory_attributes: Option<Attributes<'a>>,
    /// NFSv3 `wcc_attr` of the directory before the operation.
    pub directory_before: Option<WeakCacheAttributes>,
    /// NFSv4 `change_info4` of the directory (RENAME: of the source).
    pub change: Option<ChangeInfo>,
    /// SETATTR, CREATE, OPEN: the size to set.
    pub set_size: Option<u64>,
    /// Attributes asked for (GETATTR, READDIR) or to be set (SETATTR, CREATE, OPEN), first 96 bits of the bitmap;
    /// of NFSv2 and NFSv3 the bitmap by which NFSv4 would say it.
    pub attribute_mask: Option<[u32; 3]>,
    /// READDIR, READDIRPLUS: the cookie to start from.
    pub cookie: Option<u64>,
    /// ACCESS: the rights asked for.
    pub access_requested: Option<u32>,
    /// ACCESS: the rights granted.
    pub access_granted: Option<u32>,
    /// OPEN: the share access asked for (1 read, 2 write, 3 both).
    pub share_access: Option<u32>,
    /// OPEN: asked to create. CREATE (v3): always.
    pub create: Option<bool>,
    /// CREATE, OPEN: UNCHECKED 0, GUARDED 1, EXCLUSIVE 2, EXCLUSIVE4_1 3.
    pub create_mode: Option<u32>,
    /// OPEN: the attributes that the server set while creating were not empty.
    pub attributes_set: Option<bool>,
    /// OPEN: the delegation granted; DELEGRETURN and CB_RECALL: none.
    pub delegation: Option<DelegationType>,
    /// OPEN, in the reply: the server may tell when a lock of the file is free
    /// (`OPEN4_RESULT_MAY_NOTIFY_LOCK`, RFC 8881 section 18.16.3).
    pub may_notify_lock: Option<bool>,
    /// The state that the operation used or got.
    pub stateid: Option<StateId>,
    /// SEQUENCE, CREATE_SESSION: the session.
    pub session: Option<[u8; 16]>,
    /// SEQUENCE: the slot.
    pub slot: Option<u32>,
    /// SEQUENCE: the slot's sequence number.
    pub slot_sequence: Option<u32>,
    /// SEQUENCE: the highest slot that the client has in use (arguments).
    pub highest_slot: Option<u32>,
    /// SEQUENCE: the highest slot that the server wants used (results).
    pub target_highest_slot: Option<u32>,
    /// SETCLIENTID, EXCHANGE_ID …: the client id.
    pub client_id: Option<u64>,
    /// A text that belongs to the operation: path of MNT, target of a symbolic link, name of an
    /// extended attribute, the host that locks.
    pub text: Option<&'a [u8]>,
    /// OPEN of an NFSv4 file without a name: the handle is the file itself (CLAIM_FH, CLAIM_PREVIOUS …).
    pub by_handle: bool,
    /// What only few operations say; `None` while nothing of it was met.
    pub rare: Option<Box<Rare<'a>>>,
}

/// What only few kinds of operations say: of two directories, of listings, locks, layouts, services …
#[derive(Clone, Debug, Default)]
pub struct Rare<'a> {
    /// NFSv3 RENAME and LINK: the handle of the other directory.
    pub other_directory: Option<&'a [u8]>,
    /// RENAME: the new name.
    pub new_name: Option<&'a [u8]>,
    /// SEEK, READ_PLUS: where data and holes are.
    pub sparse: Option<Sparse>,
    /// VERIFY, NVERIFY: the attributes in the call. They become [`Facts::attributes`] when the reply
    /// says that the object has them.
    pub compared: Option<Attributes<'a>>,
    /// NFSv4 RENAME: `change_info4` of the target directory.
    pub target_change: Option<ChangeInfo>,
    /// NFSv3 RENAME: attributes of the target directory after the operation.
    pub target_attributes: Option<Attributes<'a>>,
    /// NFSv3 RENAME: `wcc_attr` of the target directory before the operation.
    pub target_before: Option<WeakCacheAttributes>,
    /// READDIR, READDIRPLUS: the entries of the reply.
    pub entries: Vec<Entry<'a>>,
    /// It is a READDIR of NFSv4, whose call says which attributes of the entries it wants.
    pub chooses: bool,
    /// Whether those are what a stat needs (a *plus* listing): by the call, or, where that was cut, by
    /// an entry of the reply.
    pub plus: Option<bool>,
    /// CREATE_SESSION: slots of the fore channel (`ca_maxrequests`): asked for, then granted.
    pub session_slots: Option<u32>,
    /// OPEN: the state of the delegation that was granted.
    pub delegation_stateid: Option<StateId>,
    /// LOCK, LOCKT, LOCKU: `nfs_lock_type4`; of NLM the one that means the same.
    pub lock_type: Option<u32>,
    /// For whom a lock is asked, tested or given back.
    pub lock_owner: Option<LockOwner<'a>>,
    /// Portmapper: the service that is asked for, or those that it tells.
    pub services: Vec<Service>,
    /// MNT: the flavors with which the handle may be used.
    pub flavors: Vec<PseudoFlavor>,
    /// EXCHANGE_ID, GETDEVICEINFO, LAYOUTGET: what they tell of data servers.
    pub pnfs: Option<Pnfs<'a>>,
    /// COPY, WRITE_SAME: the state of what goes on in the background (`wr_callback_id`). CB_OFFLOAD: that
    /// of what ended.
    pub offload: Option<StateId>,
    /// SETCLIENTID, EXCHANGE_ID: what the client names itself by (`nfs_client_id4.id`, `co_ownerid`).
    pub client_owner: Option<&'a [u8]>,
    /// SETCLIENTID, EXCHANGE_ID: which incarnation of the client it is (`nfs_client_id4.verifier`,
    /// `co_verifier`).
    pub client_verifier: Option<u64>,
    /// SETCLIENTID, CREATE_SESSION, BACKCHANNEL_CTL: the program that the server is to call back.
    pub callback_program: Option<u32>,
    /// EXCHANGE_ID: what the client says it is.
    pub client_software: Option<Implementation<'a>>,
    /// EXCHANGE_ID: what the server says it is.
    pub server_software: Option<Implementation<'a>>,
    /// EXCHANGE_ID: which server it is, whatever its address.
    pub server_owner: Option<ServerOwner<'a>>,
}

impl<'a> Facts<'a> {
    /// What few operations say; of most operations it is empty.
    #[inline]
    pub fn rare(&self) -> &Rare<'a> {
        const NOTHING: &Rare<'static> = &Rare {
            other_directory: None,
            new_name: None,
            sparse: None,
            compared: None,
            target_change: None,
            target_attributes: None,
            target_before: None,
            entries: Vec::new(),
            chooses: false,
            plus: None,
            session_slots: None,
            delegation_stateid: None,
            lock_type: None,
            lock_owner: None,
            services: Vec::new(),
            flavors: Vec::new(),
            pnfs: None,
            offload: None,
            client_owner: None,
            client_verifier: None,
            callback_program: None,
            client_software: None,
            server_software: None,
            server_owner: None,
        };
        self.rare.as_deref().unwrap_or(NOTHING)
    }

    /// The place for what few operations say.
    pub fn rare_mut(&mut self) -> &mut Rare<'a> {
        self.rare.get_or_insert_default()
    }

    /// Whether an OPEN that succeeded brought the file into being; `None` where the reply was cut before
    /// it tells.
    ///
    /// A guarded one fails where the file exists. An exclusive one succeeds once more when it is sent again,
    /// and then leaves the directory as it is (RFC 7530 section 16.16.5, RFC 8881 section 18.16.3); what a server
    /// says of the directory, though not of the moment of the OPEN, does not tell that.
    pub fn created_by_open(&self) -> Option<bool> {
        match (self.create, self.create_mode, self.change) {
            _ if self.creates_by_open() => Some(true),
            (Some(true), _, None) => None,
            (Some(true), mode, Some(change)) => {
                let exclusive = mode.is_some_and(|mode| mode > GUARDED);
                Some(change.before != change.after || (exclusive && !change.atomic))
            }
            _ => Some(false),
        }
    }

    /// Whether the operation made the object that it names, as far as that can be told.
    ///
    /// An UNCHECKED CREATE of NFSv3 may find the object; the directory's times then stay.
    pub fn brought_into_being(&self) -> bool {
        if self.status != Some(0) || self.create != Some(true) {
            return false;
        }
        if self.share_access.is_some() {
            return self.created_by_open() == Some(true);
        }
        self.create_mode != Some(UNCHECKED)
            || self
                .directory_before
                .zip(self.directory_attributes.as_ref())
                .is_some_and(|(before, after)| after.mtime_ns.is_some_and(|mtime| mtime != before.mtime_ns))
    }

    /// Whether an OPEN that succeeded changed the file system: it created the file, or set attributes
    /// (truncated it).
    pub fn changed_by_open(&self) -> bool {
        self.created_by_open() == Some(true)
            || (self.create == Some(true) && self.attributes_set == Some(true))
    }

    /// Whether an OPEN that succeeded created the file, as far as its call tells.
    pub fn creates_by_open(&self) -> bool {
        self.create == Some(true) && self.create_mode == Some(GUARDED)
    }
}

/// What SEEK and READ_PLUS tell of a file with holes (RFC 7862 sections 15.10 and 15.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sparse {
    /// SEEK: what is looked for.
    pub content: Option<DataContent>,
    /// SEEK: the offset at which it begins.
    pub found: Option<u64>,
    /// READ_PLUS: segments of data and holes in the reply.
    pub segments: Option<u32>,
    /// READ_PLUS: of the bytes that were asked for and read, those that lie in holes.
    pub hole_bytes: Option<u64>,
}

/// `deviceid4` (RFC 8881 section 3.3.14).
pub type DeviceId = [u8; 16];

/// What tells of data servers (RFC 8881 section 12).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pnfs<'a> {
    /// EXCHANGE_ID: `eir_flags`, which say what the server can be used as.
    pub server_flags: Option<u32>,
    /// GETDEVICEINFO: the device asked for.
    pub device: Option<DeviceId>,
    /// GETDEVICEINFO: the data servers of the device.
    pub data_servers: Vec<DataServer>,
    /// LAYOUTGET: devices, and by which handle their data servers know the file; `None`: by its own.
    pub data_handles: Vec<(DeviceId, Option<&'a [u8]>)>,
}

/// Where a data server can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataServer {
    /// Address and port.
    pub address: SocketAddr,
    /// The version of NFS that it speaks: 3 or 4.
    pub version: u32,
}

/// A program and where it can be called, as the portmapper has it (RFC 1833 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Program number.
    pub program: u32,
    /// Program version.
    pub version: u32,
    /// 6 for TCP, 17 for UDP, 0 when not told.
    pub protocol: u32,
    /// Port; 0 when not told, or when the program is not there.
    pub port: u16,
}

/// `nfs_impl_id4` (RFC 8881 section 3.3.4), without its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Implementation<'a> {
    /// Who made it: a DNS name.
    pub domain: &'a [u8],
    /// What it is called, with its version.
    pub name: &'a [u8],
}

/// `server_owner4` and `eir_server_scope` (RFC 8881 sections 2.10.4 and 2.10.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerOwner<'a> {
    /// `so_minor_id`.
    pub minor: u64,
    /// `so_major_id`.
    pub major: &'a [u8],
    /// `eir_server_scope`.
    pub scope: &'a [u8],
}

/// Who holds or wants a lock: a process of a client, or an open file of it. `lock_owner4` (RFC 7530
/// section 9.1.4); of NLM `svid` and `oh` (X/Open C702 section 10.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOwner<'a> {
    /// The client id; of NLM the process.
    pub number: u64,
    /// What the client calls it.
    pub name: &'a [u8],
}

/// `stateid4`: the `other` part, and the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateId {
    /// How often the state changed.
    pub sequence: u32,
    /// Identifies the state.
    pub other: [u8; 12],
}

/// `wcc_attr` (RFC 1813 section 2.6): what weak cache consistency compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeakCacheAttributes {
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time in nanoseconds since 1970.
    pub ctime_ns: i64,
}

/// Attributes of an object, from `fattr`, `fattr3` or from what an `fattr4` held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// Type of the object.
    pub file_type: Option<FileType>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// Number of hard links.
    pub links: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Space used in bytes.
    pub used: Option<u64>,
    /// File system: `fsid3`, or major and minor of `fsid4`.
    pub fsid: Option<(u64, u64)>,
    /// File number within the file system.
    pub fileid: Option<u64>,
    /// NFSv4: the file number of the directory that this object is mounted on.
    pub mounted_on_fileid: Option<u64>,
    /// NFSv4 change attribute.
    pub change: Option<u64>,
    /// Modification time in nanoseconds since 1970.
    pub mtime_ns: Option<i64>,
    /// Change time (`time_metadata`) in nanoseconds since 1970.
    pub ctime_ns: Option<i64>,
    /// NFSv4 READDIR with the handle asked for.
    pub handle: Option<&'a [u8]>,
    /// NFSv4 READDIR: why the attributes of this entry are missing (`rdattr_error`).
    pub error: Option<u32>,
    /// Largest READ that the server takes (FSINFO `rtmax`, `maxread`), in bytes.
    pub max_read: Option<u64>,
    /// Largest WRITE that the server takes (FSINFO `wtmax`, `maxwrite`), in bytes.
    pub max_write: Option<u64>,
    /// Lease time in seconds.
    pub lease_time_s: Option<u32>,
}

/// One entry of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name.
    pub name: &'a [u8],
    /// File number (v3: always; v4: when asked for it is in the attributes).
    pub fileid: Option<u64>,
    /// The cookie that continues after this entry.
    pub cookie: u64,
    /// Handle, when the listing brought it.
    pub handle: Option<&'a [u8]>,
    /// Attributes, when the listing brought them.
    pub attributes: Option<Attributes<'a>>,
}

impl<'a> Entry<'a> {
    /// The handle that the listing brought, by itself or among the attributes.
    pub fn any_handle(&self) -> Option<&'a [u8]> {
        self.handle.or(self.attributes.as_ref().and_then(|attributes| attributes.handle))
    }
}
