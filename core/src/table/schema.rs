//! Every table and column that leaves the core: type, unit and one sentence of meaning.
//!
//! Written once, here. The builders fill these columns in this order, Arrow carries the meaning as
//! field metadata, Python's schema and docs/tables.md are compared with it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::table::BATCH_ROWS;
use crate::table::columns::{BLOCK, Blobs, Bools, Collector, Names, Numbers, Row, Strings, Words};

/// Physical type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// Unsigned 32-bit number.
    U32,
    /// Unsigned 64-bit number.
    U64,
    /// Signed 64-bit number.
    I64,
    /// A name that stands in the code: dictionary-encoded.
    Name,
    /// Text from a small set: dictionary-encoded.
    Word,
    /// Free text, mostly distinct.
    Text,
    /// Bytes.
    Bytes,
}

impl Kind {
    /// The Arrow type.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::U32 => DataType::UInt32,
            Self::U64 => DataType::UInt64,
            Self::I64 => DataType::Int64,
            Self::Name | Self::Word => {
                DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8))
            }
            Self::Text => DataType::Utf8,
            Self::Bytes => DataType::Binary,
        }
    }

    /// The type's name in SQL (DuckDB).
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Bool => "BOOLEAN",
            Self::U32 => "UINTEGER",
            Self::U64 => "UBIGINT",
            Self::I64 => "BIGINT",
            Self::Name | Self::Word | Self::Text => "VARCHAR",
            Self::Bytes => "BLOB",
        }
    }
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Whether it can be NULL. NULL always means *unknown or not applicable*, never zero.
    pub nullable: bool,
    /// Unit, or empty.
    pub unit: &'static str,
    /// One sentence.
    pub meaning: &'static str,
}

/// One table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// One sentence: what a row is.
    pub meaning: &'static str,
    /// The columns in order.
    pub columns: &'static [Column],
}

impl Table {
    /// The Arrow schema of the columns that are wanted; unit and meaning are field metadata.
    pub fn arrow(&self, wanted: &[bool]) -> SchemaRef {
        let fields: Vec<Field> = self
            .columns
            .iter()
            .zip(wanted)
            .filter(|(_, wanted)| **wanted)
            .map(|(column, _)| {
                let metadata = HashMap::from([
                    ("unit".to_owned(), column.unit.to_owned()),
                    ("meaning".to_owned(), column.meaning.to_owned()),
                ]);
                Field::new(column.name, column.kind.data_type(), column.nullable).with_metadata(metadata)
            })
            .collect();
        Arc::new(Schema::new(fields))
    }
}

/// What collects a column's values, by its kind and whether it can be NULL. It `seldom` is where nearly
/// all rows have a value: it is collected as if all had.
macro_rules! builder {
    (@of Bool $null:tt $dense:tt) => { Bools<$null> };
    (@of U32 $null:tt $dense:tt) => { Numbers<UInt32Type, $null, $dense> };
    (@of U64 $null:tt $dense:tt) => { Numbers<UInt64Type, $null, $dense> };
    (@of I64 $null:tt $dense:tt) => { Numbers<Int64Type, $null, $dense> };
    (@of Name $null:tt $dense:tt) => { Names<$null, $dense> };
    (@of Word $null:tt $dense:tt) => { Words<$null, $dense> };
    (@of Text $null:tt $dense:tt) => { Strings<$null> };
    (@of Bytes $null:tt $dense:tt) => { Blobs<$null> };
    ($kind:ident false) => { builder!(@of $kind false true) };
    ($kind:ident seldom) => { builder!(@of $kind true true) };
    ($kind:ident true) => { builder!(@of $kind true false) };
}

/// Whether a column can be NULL.
macro_rules! nullable {
    (false) => {
        false
    };
    ($null:ident) => {
        true
    };
}

/// A column's name, whose Rust identifier may be a raw one (`r#type`).
const fn strip_raw(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// Writes a row; gives it, for values that are put into it one by one. Each value goes into its
/// column before the next is looked at, so that a row need not be written down before its columns are.
macro_rules! append {
    ($batch:expr, $($column:ident: $value:expr,)+) => {{
        let batch = $batch;
        let row = batch.begin();
        $(batch.$column.put(row, $value);)+
        row
    }};
}

pub(super) use append;

/// Declares a table: its description, and what collects its rows.
macro_rules! table {
    ($table:ident $batch:ident $name:literal $about:literal
     $($column:ident $kind:ident $null:tt $unit:literal $meaning:literal)+) => {
        #[doc = $about]
        pub const $table: Table = Table {
            name: $name,
            meaning: $about,
            columns: &[$(Column {
                name: strip_raw(stringify!($column)), kind: Kind::$kind, nullable: nullable!($null), unit: $unit, meaning: $meaning,
            },)+],
        };

        #[doc = concat!("Rows of `", $name, "` that have not left the core yet.")]
        #[derive(Default)]
        pub struct $batch {
            rows: usize,
            /// Nobody wants any of the columns.
            idle: bool,
            /// That of the columns that are wanted, once it is known.
            schema: Option<SchemaRef>,
            /// Batches that are complete.
            complete: Vec<Result<RecordBatch, ArrowError>>,
            $(pub(super) $column: builder!($kind $null),)+
        }

        impl $batch {
            /// Begins a row.
            #[inline]
            pub(super) fn begin(&mut self) -> Row {
                let at = if self.rows < BATCH_ROWS {
                    self.rows
                } else {
                    self.complete();
                    0
                };
                if at > 0 && at % BLOCK == 0 {
                    self.gather();
                }
                self.rows = at + 1;
                Row::new(at)
            }

            #[inline(never)]
            fn gather(&mut self) {
                $(self.$column.gather();)+
            }

            /// Whether there is a whole batch to be taken.
            #[inline]
            pub fn is_full(&self) -> bool {
                self.rows >= BATCH_ROWS || !self.complete.is_empty()
            }

            /// Leaves out the columns that nobody wants.
            pub fn choose(&mut self, wanted: impl Fn(&str) -> bool) {
                $(if !wanted(strip_raw(stringify!($column))) {
                    self.$column.unwant();
                })+
                self.idle = !(false $(|| self.$column.wanted())+);
            }

            /// Whether nobody wants any of the columns: rows need not be put together for them.
            pub fn idle(&self) -> bool {
                self.idle
            }

            /// Hands over the batches that are whole, and with `all` what is left, and starts anew.
            pub fn take(
                &mut self,
                all: bool,
                batches: &mut Vec<(&'static str, RecordBatch)>,
            ) -> Result<(), ArrowError> {
                if self.rows >= BATCH_ROWS || (all && self.rows > 0) {
                    self.complete();
                }
                for batch in self.complete.drain(..) {
                    batches.push(($name, batch?));
                }
                Ok(())
            }

            /// Makes a batch of what was appended.
            #[cold]
            #[inline(never)]
            pub(super) fn complete(&mut self) {
                let rows = std::mem::take(&mut self.rows);
                if self.idle {
                    return;
                }
                let wanted = [$(self.$column.wanted(),)+];
                let mut columns = Vec::with_capacity(wanted.len());
                $(if self.$column.wanted() {
                    columns.push(self.$column.finish(rows));
                })+
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                let schema = self.schema.get_or_insert_with(|| $table.arrow(&wanted));
                let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
                self.complete.push(batch);
            }
        }
    };
}

#[rustfmt::skip]
table! { CALLS CallsBatch "calls" "An RPC call with its reply. A call that was sent again with the same xid is one row; a call without reply has NULL in the reply's columns."
        call             U64  false ""      "Number of the call in this trace, in the order in which calls were completed or given up."
        connection       U32  false ""      "The connection that carried the call (table connections)."
        client           Word false ""      "Address of the NFS client, also for callbacks; `others` where there are more clients than are told apart."
        server           Word false ""      "Address of the NFS server, also for callbacks."
        mount            U32  false ""      "Number of this pair of client and server in this trace."
        callback         Bool false ""      "The server called the client (NFSv4 callback, NLM GRANTED)."
        xid              U32  false ""      "Transaction identifier (RFC 5531 section 9)."
        program          U32  false ""      "RPC program number."
        version          U32  false ""      "RPC program version."
        minor            U32  seldom ""    "NFSv4 minor version."
        procedure        U32  false ""      "Procedure number."
        protocol         Name false ""      "Program and version as pcapnfs names them: 3, 4.0, 4.1, 4.2, nfsacl3, mount3 …"
        op               Word false ""      "Procedure, or main operation of an NFSv4 compound (docs/definitions.md)."
        signature        Word false ""      "All operations of the call in order, with what sets them apart: SEQUENCE PUTFH OPEN(create) GETFH …"
        call_first_frame U64  false ""      "Frame with the first byte of the call's first transmission."
        call_frame       U64  false ""      "Frame that completes the call's first transmission."
        reply_first_frame U64 seldom ""    "Frame with the first byte of the reply."
        reply_frame      U64  seldom ""    "Frame that completes the reply."
        call_first_time  I64  false "ns"    "Time of call_first_frame, nanoseconds since 1970 UTC."
        call_time        I64  false "ns"    "Time of call_frame, nanoseconds since 1970 UTC."
        reply_first_time I64  seldom "ns"  "Time of reply_first_frame, nanoseconds since 1970 UTC."
        reply_time       I64  seldom "ns"  "Time of reply_frame, nanoseconds since 1970 UTC."
        srt              I64  seldom "ns"  "Service time: reply_time minus call_time. Negative when a capture put the reply before the call."
        call_bytes       U32  false "bytes" "Length of the call's RPC message, without record marks."
        reply_bytes      U32  seldom "bytes" "Length of the reply's RPC message, without record marks."
        transmissions    U32  false ""      "How often the call was sent before its reply was complete: 1, or more for a retransmitted call."
        first_arrived    Bool false ""      "srt is what the answer took: the call was sent once, or again on the same TCP connection, where no segment was sent again meanwhile, and was answered before timeo's default of 60 s (nfs(5)): the client's timer was shorter than the server took. False where the first transmission, or its reply, may have been lost or dropped."
        tcp_resent       Bool false ""      "Either side sent a TCP segment again on the connection of the reply between the call's first byte and the reply's last; it need not be one of theirs."
        resent_before_time I64 true "ns"    "When either side last sent a TCP segment again on that connection before the call's first byte, nanoseconds since 1970 UTC; NULL where none was, or two were since."
        unreceived_time  I64  true  "ns"    "When the other side last acknowledged less than all of the call, after call_time: not all of it had arrived when that was sent, whatever the receiver delays. Nanoseconds since 1970 UTC; NULL where the first acknowledgement took it all in, and where not known."
        unreceived_bytes U32  true  "bytes" "What that acknowledgement left out of the stream up to the call's end: the other side had received all before it. NULL likewise."
        earlier_unreceived_time I64  true  "ns"    "When who calls last acknowledged less than all of the reply that came last before the call on its connection, after that reply and not after the call: not all of it had arrived when that was sent. Nanoseconds since 1970 UTC; NULL where the first acknowledgement took it all in, and where not known."
        earlier_unreceived_bytes U32  true  "bytes" "What that acknowledgement left out of the stream up to the end of that reply. NULL likewise."
        reply_clock      U32  seldom ""    "What the clock of who replied said when it sent the segment that completes the reply, in ticks of its own: TSval of TCP's timestamps option (RFC 7323). NULL where the segment has none, and where it waited for one that was lost."
        rpc_status       Name seldom ""    "accept_stat, or reject_stat and auth_stat, of the reply (RFC 5531 section 9): SUCCESS, PROG_MISMATCH …"
        status           U32  seldom ""    "Status of the procedure; of a compound, that of its last executed operation."
        status_name      Name seldom ""    "The RFC's name of status: NFS3_OK, NFS3ERR_NOENT, NFS4ERR_DELAY, NLM4_BLOCKED …"
        flavor           Name false ""      "Security flavor of the call: AUTH_SYS, RPCSEC_GSS/krb5i …; RPCSEC_GSS or unknown where the call was cut before it says more."
        uid              U32  seldom ""    "AUTH_SYS user."
        gid              U32  seldom ""    "AUTH_SYS group."
        machine          Word seldom ""    "AUTH_SYS machine name."
        session          Bytes true ""      "NFSv4.1 session: of SEQUENCE, or the one that the call makes, ends or joins."
        slot             U32  true  ""      "NFSv4.1 session slot."
        stability        Name false ""      "stable, unstable, unstable_write, read, state or unknown (docs/definitions.md)."
        assumed          Bool false ""      "stability rests on an operation whose outcome is not in the capture: it is taken for a success."
        unlisted         Bool false ""      "Stable by an operation that RFC 1813's list of synchronous procedures does not name (SETATTR, SETACL)."
        file             U32  seldom ""    "The file that the call belongs to: that of its main operation (table files)."
        directory        U32  true  ""      "The directory in which the main operation named the file."
        operations       U32  false ""      "Operations in the call."
        executed         U32  false ""      "Operations in the reply."
        undecoded        Name true  ""      "Why the call or its reply was not decoded to the end; NULL when it was (docs/reasons.md)."
}

#[rustfmt::skip]
table! { OPERATIONS OperationsBatch "operations" "One operation: the procedure of an NFSv3 call, or each operation of an NFSv4 compound in order."
        call             U64  false ""      "The call (table calls)."
        position         U32  false ""      "Place in the compound, from 0."
        opcode           U32  false ""      "Procedure or operation number."
        op               Name false ""      "Name in the RFC."
        executed         Bool false ""      "The reply holds a result of it. A compound stops at the first operation that fails."
        status           U32  seldom ""    "Status of this operation."
        status_name      Name seldom ""    "The RFC's name of status."
        stability        Name false ""      "stable, unstable, unstable_write, read, state or unknown."
        file             U32  seldom ""    "The file that the operation is about."
        directory        U32  true  ""      "The directory in which it named the file."
        target_directory U32  true  ""      "RENAME: the directory of the new name."
        name             Text true  ""      "Name in directory. Bytes that are not UTF-8 are written \\xNN."
        new_name         Text true  ""      "RENAME: the new name."
        created          Bool true  ""      "OPEN, CREATE …: the object came into being by this operation."
        create_mode      U32  true  ""      "UNCHECKED 0, GUARDED 1, EXCLUSIVE 2, EXCLUSIVE4_1 3."
        offset           U64  true  "bytes" "Where in the file."
        requested        U64  true  "bytes" "Bytes asked for (READ, WRITE, COMMIT, READDIR), or to be locked (NLM: 0 means to the end)."
        count            U64  true  "bytes" "Bytes read or written, as the reply says."
        eof              Bool true  ""      "READ, READDIR: the end was reached. SEEK: what was looked for does not come any more."
        content          Name true  ""      "SEEK: what was looked for from offset on: DATA or HOLE."
        found            U64  true  "bytes" "SEEK: the offset at which it begins."
        segments         U32  true  ""      "READ_PLUS: segments of data and holes in the reply."
        hole_bytes       U64  true  "bytes" "READ_PLUS: of count, the bytes that lie in holes."
        stable_requested Name true  ""      "WRITE: level asked for: UNSTABLE, DATA_SYNC, FILE_SYNC."
        committed        Name true  ""      "WRITE: level granted."
        verifier         U64  true  ""      "WRITE, COMMIT: the server's write verifier."
        change_before    U64  true  ""      "NFSv4 change_info4: the directory's change attribute before (RENAME: that of the source)."
        change_after     U64  true  ""      "NFSv4 change_info4: the directory's change attribute after."
        change_atomic    Bool true  ""      "NFSv4 change_info4: both were taken atomically with the operation."
        r#type           Name true  ""      "Type of the object: REG, DIR, LNK …"
        mode             U32  true  ""      "Permission bits."
        size             U64  true  "bytes" "Size of the object after the operation."
        fsid_major       U64  true  ""      "File system (v3 fsid; v4 major part)."
        fsid_minor       U64  true  ""      "File system, v4 minor part."
        fileid           U64  true  ""      "File number in its file system."
        change           U64  true  ""      "NFSv4 change attribute of the object."
        mtime            I64  true  "ns"    "Modification time of the object, nanoseconds since 1970."
        ctime            I64  true  "ns"    "Change time of the object, nanoseconds since 1970."
        before_size      U64  true  "bytes" "NFSv3 wcc_attr of the object: size before."
        before_mtime     I64  true  "ns"    "NFSv3 wcc_attr of the object: modification time before."
        before_ctime     I64  true  "ns"    "NFSv3 wcc_attr of the object: change time before."
        directory_mtime  I64  true  "ns"    "NFSv3: modification time of the directory after."
        directory_ctime  I64  true  "ns"    "NFSv3: change time of the directory after."
        directory_before_mtime I64 true "ns" "NFSv3 wcc_attr of the directory: modification time before."
        directory_before_ctime I64 true "ns" "NFSv3 wcc_attr of the directory: change time before."
        target_change_before U64 true ""    "NFSv4 RENAME: change_before of target_directory."
        target_change_after  U64 true ""    "NFSv4 RENAME: change_after of target_directory."
        target_mtime     I64  true  "ns"    "NFSv3 RENAME: modification time of target_directory after."
        target_ctime     I64  true  "ns"    "NFSv3 RENAME: change time of target_directory after."
        target_before_mtime I64 true "ns"   "NFSv3 RENAME: wcc_attr of target_directory: modification time before."
        target_before_ctime I64 true "ns"   "NFSv3 RENAME: wcc_attr of target_directory: change time before."
        set_size         U64  true  "bytes" "SETATTR, CREATE, OPEN: the size that was set."
        attributes       Word true  ""      "Attributes asked for or to be set: the bitmap's words in hexadecimal, joined by a colon. What NFSv2 and NFSv3 set stands there by the numbers of NFSv4: size 4, mode 33, owner 36, group 37, times 48 and 54."
        plus             Bool true  ""      "READDIR of NFSv4: attributes or handles were asked for that a stat needs; by the call, or, where that was cut, by the entries of the reply."
        entries          U32  true  ""      "READDIR, READDIRPLUS: entries in the reply."
        cookie           U64  true  ""      "READDIR, READDIRPLUS: where the listing continues; 0 begins."
        access_requested U32  true  ""      "ACCESS: rights asked for."
        access_granted   U32  true  ""      "ACCESS: rights granted."
        share_access     U32  true  ""      "OPEN: 1 read, 2 write, 3 both."
        delegation       Name true  ""      "OPEN, GET_DIR_DELEGATION: delegation granted: NONE, READ, WRITE, NONE_EXT."
        may_notify_lock  Bool true  ""      "OPEN: whether the server said that it may tell the client when a lock is free (OPEN4_RESULT_MAY_NOTIFY_LOCK, RFC 8881 section 18.16.2)."
        stateid          Bytes true ""      "The part of the state id that identifies the state."
        lock_type        U32  true  ""      "LOCK, LOCKT, LOCKU: nfs_lock_type4; of NLM the one that means the same."
        lock_owner       Bytes true ""      "LOCK, LOCKT, CB_NOTIFY_LOCK, RELEASE_LOCKOWNER: whose lock it is (lock_owner4): the client id, 8 bytes, and what the client calls the owner. A LOCK of an owner that the server knows names its stateid instead: that of a LOCK before it. NLM: svid, 8 bytes, and oh."
        highest_slot     U32  true  ""      "SEQUENCE: highest slot that the client has in use."
        target_highest_slot U32 true ""     "SEQUENCE: highest slot that the server wants used."
        session_slots    U32  true  ""      "CREATE_SESSION: slots of the fore channel (ca_maxrequests), as the server grants them; without a reply, as the client asks for them."
        max_read         U64  true  "bytes" "FSINFO rtmax, or the maxread attribute."
        max_write        U64  true  "bytes" "FSINFO wtmax, or the maxwrite attribute."
        text             Text true  ""      "Path of MNT, target of a symbolic link, name of an extended attribute; NLM, NSM: the host; portmapper: the services asked for or told."
        flavors          Text true  ""      "MNT of version 3: the security flavors with which the handle may be used, between spaces: AUTH_SYS KRB5 KRB5I …"
        client_owner     Text true  ""      "SETCLIENTID, EXCHANGE_ID: what the client names itself by (nfs_client_id4.id, co_ownerid), its first 256 bytes."
        client_verifier  U64  true  ""      "SETCLIENTID, EXCHANGE_ID: which incarnation of the client it is (nfs_client_id4.verifier, co_verifier): another after it began anew."
        client_software  Text true  ""      "EXCHANGE_ID: what the client says it is: nii_name, and nii_domain in parentheses where the name does not hold it; its first 256 bytes."
        server_software  Text true  ""      "EXCHANGE_ID: what the server says it is, likewise."
}

#[rustfmt::skip]
table! { FILES FilesBatch "files" "An object that the capture names by handle, or a name that was looked for and not found."
        file             U32  false ""      "Number of the object in this trace."
        identity         U32  false ""      "The object that stands for this file: that of another row where one file has several handles, or where a name looked for in vain was given to it later (RENAME, LINK), else its own. Analyses group by it."
        server           Word false ""      "Address of the server."
        handle           Bytes true ""      "File handle; NULL for a name that never had one."
        r#type           Name true  ""      "REG, DIR, LNK …; NULL when no attributes were seen."
        fsid_major       U64  true  ""      "File system (v3 fsid; v4 major part)."
        fsid_minor       U64  true  ""      "File system, v4 minor part."
        fileid           U64  true  ""      "File number in its file system."
        size             U64  true  "bytes" "Size when last seen."
        parent           U32  true  ""      "The directory that holds it, as last seen."
        name             Text true  ""      "Its name there."
        path             Text false ""      "Path below the export where its root is known, and with the export before it where the capture shows several; else absolute in the server's name space, or below a [short handle]."
        export           Text true  ""      "The export, or mounted directory, that path is below."
        role             Name false ""      "file, directory, other, unknown, absent (a name that was not found), untold (a name of which no reply tells whether it is there), pseudo (above an export)."
        listed_only      Bool false ""      "Known from listings alone: no call addressed it by handle or name."
        removed          Bool false ""      "It was removed or replaced during the capture, or the server called its handle stale at last."
}

#[rustfmt::skip]
table! { NAMES NamesBatch "names" "What an operation taught about a name in a directory."
        call             U64  false ""      "The call that taught it."
        position         U32  false ""      "The operation in the call."
        directory        U32  false ""      "The directory."
        name             Text false ""      "The name."
        file             U32  true  ""      "The object that it denotes from then on; NULL: it denotes nothing."
}

#[rustfmt::skip]
table! { ENTRIES EntriesBatch "entries" "An entry of a READDIR or READDIRPLUS reply."
        call             U64  false ""      "The call."
        position         U32  false ""      "The operation in the call."
        directory        U32  true  ""      "The directory listed."
        name             Text false ""      "The name."
        file             U32  true  ""      "The object, when the entry brought its handle or the name was known."
        fileid           U64  true  ""      "File number."
        r#type           Name true  ""      "Type, when the entry brought attributes."
        size             U64  true  "bytes" "Size, when the entry brought attributes."
        change           U64  true  ""      "Change attribute, when the entry brought it."
        mtime            I64  true  "ns"    "Modification time, when the entry brought it."
        ctime            I64  true  "ns"    "Change time, when the entry brought it."
}

#[rustfmt::skip]
table! { CONNECTIONS ConnectionsBatch "connections" "A TCP connection, or the UDP exchange between two ports, that carried RPC, or must have by its port where packets were cut before a message tells."
        connection       U32  false ""      "Number of the connection in this trace."
        transport        Name false ""      "TCP, UDP or RDMA (RPC over RDMA, RFC 8166, in RoCE version 2)."
        client           Word false ""      "Address of the side that is the NFS client: the first one by which it was seen, where client and server use several (trunking)."
        client_address   Word false ""      "Its address on this connection."
        client_port      U32  false ""      "Its port. Of RDMA: the UDP port that its packets come from."
        server           Word false ""      "Address of the NFS server, likewise."
        server_address   Word false ""      "Its address on this connection."
        server_port      U32  false ""      "Its port. Of RDMA: that of the service; 4791 (RoCE) where the capture does not hold the connection's beginning."
        role             Name true  ""      "What the server is in pNFS: metadata server, data server, metadata and data server; NULL when nothing tells."
        first_frame      U64  false ""      "First frame seen."
        first_time       I64  false "ns"    "Its time, nanoseconds since 1970."
        last_time        I64  false "ns"    "Time of the last frame seen."
        handshake        Bool false ""      "The TCP handshake is in the capture."
        syn_rtt          I64  true  "ns"    "From SYN to SYN+ACK; NULL where several SYNs were sent and its TSecr (RFC 7323) is not the last one's TSval."
        ack_rtt          I64  true  "ns"    "From SYN+ACK to the ACK that completes the handshake."
        syns             U32  false ""      "SYNs by which the client asked for the connection; 0 where none is in the capture, or the server asked for it (callbacks)."
        syn_time         I64  true  "ns"    "When the first of them was sent, nanoseconds since 1970."
        syn_acks         U32  false ""      "SYN+ACKs of the server; 0 likewise."
        syn_ack_time     I64  true  "ns"    "When the first of them came."
        challenge_acks   U32  false ""      "ACKs without SYN by which the server answered these SYNs: it still had the former connection of these ports (RFC 9293 section 3.10.7.4, RFC 5961 section 4)."
        refusals         U32  false ""      "Resets by which it answered them, and those of the attempts before."
        attempts         U32  false ""      "How often the client had asked the server for a connection before, and nothing came of it: between the same ports by SYNs with other sequence numbers, from other ports where that was refused, or no SYN came again. Attempts more than 6 min apart do not count."
        attempted_time   I64  true  "ns"    "When the first SYN of these attempts was sent."
        client_fin_time  I64  true  "ns"    "When the client first sent FIN: it ended the connection."
        server_fin_time  I64  true  "ns"    "The same of the server."
        client_rst_time  I64  true  "ns"    "When the client first sent RST, not counting what came before the handshake."
        server_rst_time  I64  true  "ns"    "The same of the server."
        client_unacked   U64  true  "bytes" "What the client sent last and the server has not acknowledged: 0 where all of it arrived. NULL where a direction is not in the capture."
        server_unacked   U64  true  "bytes" "What the server sent last and the client has not acknowledged, likewise: what had just been sent as the capture ended, or what never reached the client."
        server_unacked_time I64 true "ns"   "Since when the client had acknowledged nothing more of what the server sent: its last ACK that did, or, if that took in all, the first of what came then; nanoseconds since 1970. NULL where server_unacked is 0 or NULL."
        client_lost      U64  false "bytes" "What the client sent and never came to the capture point, nor did the server acknowledge any of it, as holes at the end of the stream show, and the sequence number of an ACK without data: lost on the way here, and not in missing_bytes."
        server_lost      U64  false "bytes" "The same of the server: the client did not acknowledge it."
        client_acks      U64  false ""      "Times that the client acknowledged data of the server without sending any, and that could be timed: nothing sent twice, out of order or after a gap."
        client_ack_min   I64  true  "ns"    "The shortest of them, from the data to its first ACK: between capture point and client and back."
        client_ack_rtt   I64  true  "ns"    "Their lower quartile, without those that seem delayed (30 ms more than the shortest): a usual round trip between capture point and client."
        client_turns     U64  false ""      "Times that the client acknowledged data of the server along with data of its own: a reply, and its next call."
        client_turn_min  I64  true  "ns"    "The shortest of them."
        client_turn_rtt  I64  true  "ns"    "Their 5th percentile: an upper bound of that round trip, since the client may have done something before its next call."
        client_slow_from I64  true  "ns"    "When the path to the client seems to have become longer for a while: when the first data was sent of which the client's answer took much longer than the quickest before or after, as did all others until `client_slow_until`; nanoseconds since 1970. NULL where no 8 in a row took twice as long, and a millisecond longer."
        client_slow_until I64 true  "ns"    "When the last of these answers came."
        client_slow_rtt  I64  true  "ns"    "The shortest time of them: the round trip between capture point and client then was no longer."
        client_slow_acks U64  true  ""      "How many of them came without data: where they took more than 30 ms longer, the client may have delayed them all."
        client_slow_turns U64 true  ""      "How many came with data."
        client_slow_full U64  true  ""      "How many came without data for two full-sized segments or more, which are not delayed (RFC 5681 section 4.2) unless the receiver cannot take more."
        client_slow_soon U64  true  ""      "How many came without data soon after an earlier ACK: after a quarter of what they took, or less. None was delayed for longer, since what had arrived by then was acknowledged by that one."
        server_acks      U64  false ""      "The same of the server: data of the client that it acknowledged without sending any."
        server_ack_min   I64  true  "ns"    "The shortest of them: between capture point and server and back."
        server_ack_rtt   I64  true  "ns"    "Their lower quartile, without those that seem delayed: a usual round trip between capture point and server."
        server_turns     U64  false ""      "Times that the server acknowledged data of the client along with data of its own: a call, and its reply."
        server_turn_min  I64  true  "ns"    "The shortest of them."
        server_turn_rtt  I64  true  "ns"    "Their 5th percentile: an upper bound of that round trip, since the server worked before it replied."
        server_slow_from I64  true  "ns"    "The same of the server: when the first data was sent of which its answer took much longer than the quickest before or after, as did all others until `server_slow_until`."
        server_slow_until I64 true  "ns"    "When the last of these answers came."
        server_slow_rtt  I64  true  "ns"    "The shortest time of them: the round trip between capture point and server then was no longer."
        server_slow_acks U64  true  ""      "How many of them came without data: where they took more than 30 ms longer, the server may have delayed them all, as it does where its storage is slow."
        server_slow_turns U64 true  ""      "How many came with data."
        server_slow_full U64  true  ""      "How many came without data for two full-sized segments or more."
        server_slow_soon U64  true  ""      "How many came without data soon after an earlier ACK, which were not delayed."
        segment_size     U32  true  "bytes" "The smaller of the maximum segment sizes that the handshake announced: the MTU less 40 (IPv4) or 60 (IPv6)."
        client_segments  U64  false ""      "Segments or datagrams with data from the client; of RDMA, messages."
        server_segments  U64  false ""      "Segments or datagrams with data from the server."
        client_bytes     U64  false "bytes" "Payload bytes from the client, without retransmissions."
        server_bytes     U64  false "bytes" "Payload bytes from the server, without retransmissions."
        retransmitted    U64  false ""      "Segments whose bytes had all been seen before; of RDMA, packets."
        out_of_order     U64  false ""      "Segments that came before their predecessors."
        client_resent    U64  false ""      "Segments that the client sent again: those seen before, and those that came more than 3 ms after later ones, and nine tenths of a usual round trip, or more than 3 ms after an ACK whose sequence number shows that they had been sent: they were lost before the capture point. Of RDMA: packets that were seen before."
        server_resent    U64  false ""      "Segments that the server sent again."
        client_spurious  U64  false ""      "Segments that the client sent again though the server had received them before, as it says by D-SACK (RFC 2883)."
        server_spurious  U64  false ""      "The same of the server."
        client_early     U64  false ""      "Segments that the client sent again, seen before, less than 190 ms after the server last acknowledged something, or after they were sent where nothing else was under way: sooner than the retransmission timer runs out, so that no call stood still for it."
        server_early     U64  false ""      "The same of the server."
        client_ack_waits U64  false ""      "How often the client sent nothing more until the server acknowledged all that it had sent, which came without data and 30 to 500 ms later than its quickest ACK while the server had nothing under way itself, and then went on at once: it waited for a delayed ACK."
        server_ack_waits U64  false ""      "The same of the server: it waited until the client acknowledged."
        server_acked_first U64 false ""     "Segments of the server that came in the capture after the client had acknowledged them."
        server_acked_lead I64 seldom "ns"   "By how much they came later: the mean of some, which is less than by how much the clocks of the two directions are apart, if it is that."
        missing_bytes    U64  false "bytes" "Bytes that were sent but are not in the capture, though the other side has them, or may have."
        truncated_bytes  U64  false "bytes" "Payload bytes past the snaplen."
        zero_windows     U64  false ""      "Segments that announced a window of 0."
        client_zero_window I64 false "ns"   "Time for which the client's window was 0, from the announcement to the next larger one: it did not read what the server sent."
        server_zero_window I64 false "ns"   "The same of the server: it did not read what the client sent."
        window_scaling   Bool true  ""      "Windows are scaled (RFC 7323): both SYNs have the option. NULL where one of the two is not in the capture."
        client_window    U64  true  "bytes" "The largest window that the client announced in ACKs without data, scaled, once one had acknowledged two full segments or more. NULL where none did, and where scaling is not known."
        server_window    U64  true  "bytes" "The same of the server."
        client_full_window U64 true "bytes" "The usual window of the client, scaled, whose right edge the server's data came up to: the median. NULL where none was full."
        server_full_window U64 true "bytes" "The same of the server."
        client_window_full I64 false "ns"   "Time for which the server stood since the client's window was full: its data had come up to the right edge of the last window that it can have seen by then, less than a segment short of it (or, more than 1 ms from the server, an eighth of the window), and nothing was sent again. Without windows of 0. 0 where scaling is not known."
        server_window_full I64 false "ns"   "The same of the server's window, and the client."
        client_window_full_bytes U64 false "bytes" "What the server's data moved in that time, as the client acknowledged it."
        server_window_full_bytes U64 false "bytes" "What the client's data moved while the server's window was full."
        tls              Bool false ""      "It became TLS (RFC 9289), or was when the capture began: nothing in it can be read from there on."
        sealed_bytes     U64  false "bytes" "Payload bytes under TLS."
}

#[rustfmt::skip]
table! { NOTES NotesBatch "notes" "Everything that was not decoded, or was counted once though sent twice, with reason and place."
        reason           Name false ""      "Stable code (docs/reasons.md)."
        layer            Name false ""      "The layer whose parser stopped."
        frame            U64  false ""      "The frame."
        time             I64  false "ns"    "Its time, nanoseconds since 1970."
        connection       U32  true  ""      "The connection."
        call             U64  true  ""      "The call it belongs to."
        xid              U32  true  ""      "Transaction identifier."
        offset           U32  true  "bytes" "Where in the layer the missing element begins."
        needed           U32  true  "bytes" "How many bytes it needs."
        available        U32  true  "bytes" "How many were there."
}

/// All tables in the order of the documentation.
pub const TABLES: &[&Table] = &[&CALLS, &OPERATIONS, &FILES, &NAMES, &ENTRIES, &CONNECTIONS, &NOTES];
