//! The RPC programs that travel with NFS: what a call header may name to be believed.

/// A program, its versions and procedures.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Program number.
    pub number: u32,
    /// Last version in use; the first is 1.
    pub last_version: u32,
    /// Last procedure of any version.
    pub last_procedure: u32,
}

/// NFS itself (RFC 1813, 7530, 8881).
pub const NFS: u32 = 100_003;
/// The MOUNT protocol (RFC 1813 section 5).
pub const MOUNT: u32 = 100_005;
/// Access control lists on the NFS port, of Solaris.
pub const NFSACL: u32 = 100_227;

/// Tells the ports of programs (RFC 1833).
pub const PORTMAP: u32 = 100_000;
/// Quotas of remote users.
pub const RQUOTA: u32 = 100_011;
/// The Network Lock Manager (RFC 1813 section 6).
pub const NLM: u32 = 100_021;
/// The Network Status Monitor.
pub const NSM: u32 = 100_024;

/// The known programs.
#[rustfmt::skip]
pub const PROGRAMS: &[Program] = &[
    Program { number: PORTMAP, last_version: 4, last_procedure: 13 },
    Program { number: NFS,     last_version: 4, last_procedure: 21 },
    Program { number: MOUNT,   last_version: 3, last_procedure: 7 },
    Program { number: RQUOTA,  last_version: 2, last_procedure: 4 },
    Program { number: NLM,     last_version: 4, last_procedure: 23 },
    Program { number: NSM,     last_version: 1, last_procedure: 6 },
    Program { number: NFSACL,  last_version: 3, last_procedure: 5 },
];

/// Program numbers that clients choose for NFSv4 callbacks: the transient range of RFC 5531 section 8.3.
const TRANSIENT: std::ops::Range<u32> = 0x4000_0000..0x6000_0000;

/// The known program of this number.
pub fn find(number: u32) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.number == number)
}

/// Whether the number is one that a client chose for its NFSv4 callbacks.
pub fn is_callback(number: u32) -> bool {
    TRANSIENT.contains(&number)
}

/// Whether the procedure is one that a server calls at its client: all of an NFSv4 callback program;
/// of NLM the notice that a lock was granted (GRANTED, GRANTED_MSG), and the answers to asynchronous
/// calls (TEST_RES to UNLOCK_RES), which travel as calls (RFC 1813 section 6.3). GRANTED_RES is the
/// client's answer, hence an ordinary call.
pub fn is_for_client(number: u32, procedure: u32) -> bool {
    is_callback(number) || (number == NLM && matches!(procedure, 5 | 10..=14))
}

/// Whether a call header may name this program, version and procedure. Wrong versions and unknown
/// procedures are sent by real clients too, but they do not begin a conversation.
pub fn plausible(number: u32, version: u32, procedure: u32) -> bool {
    match find(number) {
        Some(program) => (1..=program.last_version).contains(&version) && procedure <= program.last_procedure,
        None => is_callback(number) && plausible_callback(version, procedure),
    }
}

/// Whether a call header may name this version and procedure of a callback program: NULL and CB_COMPOUND.
pub fn plausible_callback(version: u32, procedure: u32) -> bool {
    (1..=4).contains(&version) && procedure <= 1
}
