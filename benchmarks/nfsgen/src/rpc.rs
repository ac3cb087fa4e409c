//! ONC RPC (RFC 5531) with AUTH_SYS, and what NFSv3 and NFSv4 calls have in common.

use crate::capture_file::EPOCH_S;
use crate::options::Options;
use crate::random::Random;
use crate::xdr::Xdr;

const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;
const NFS_PROGRAM: u32 = 100_003;
const AUTH_SYS: u32 = 1;

/// One call with its reply, both without record mark.
pub struct Rpc {
    pub version: &'static str,
    /// The main operation.
    pub op: &'static str,
    /// Every operation of the call, in order.
    pub operations: Vec<&'static str>,
    pub failed: bool,
    pub call: Vec<u8>,
    pub reply: Vec<u8>,
    /// Seconds that the server takes at least.
    pub latency: f64,
}

/// What a call is about, drawn at random.
pub struct Subject {
    /// Selects the operation: 0 to 1, the first `data` of it for READ and WRITE.
    pub choice: f64,
    pub file: u64,
    pub directory: u64,
    pub name: String,
    pub failed: bool,
    pub size: u64,
    pub length: u32,
    pub offset: u64,
    pub uid: u32,
    /// Seconds since 1970.
    pub time: u32,
}

impl Subject {
    pub fn draw(random: &mut Random, options: &Options, now: f64) -> Subject {
        let choice = random.share();
        let file = random.below(options.files);
        let failed = random.share() < options.errors;
        let length = 4096 << random.below(4);
        Subject {
            choice,
            file,
            directory: 1_000_000 + file / 50,
            name: file_name(file),
            failed,
            size: file_size(file),
            length,
            offset: random.below(64) * u64::from(length),
            uid: 1000 + (file % 7) as u32,
            time: EPOCH_S + now as u32,
        }
    }

    /// Where the choice falls between the operations, or `None` when it is READ or WRITE.
    pub fn choice_without_data(&self, data: f64) -> Option<f64> {
        (self.choice >= data).then(|| (self.choice - data) / (1.0 - data))
    }

    /// Numbers of the first forty files of the directory, as a listing gives them.
    pub fn listed(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let first = self.file / 50 * 50;
        (0..40).map(move |position| (position + 3, first + position))
    }
}

pub fn file_name(file: u64) -> String {
    format!("file_{file:06}.dat")
}

pub fn file_size(file: u64) -> u64 {
    1 << (10 + file % 15)
}

/// A handle that holds the file's number and looks as unlike its neighbours as real ones do.
pub fn handle(file: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![1, 0, 7, 1];
    while bytes.len() < length {
        let mixed = file.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ bytes.len() as u64;
        bytes.extend_from_slice(&mixed.to_be_bytes());
    }
    bytes.truncate(length);
    bytes[4..12].copy_from_slice(&file.to_be_bytes());
    bytes
}

/// File data, half noise and half text, so that compressed captures have a plausible ratio.
pub fn data(length: u32, seed: u32) -> Vec<u8> {
    let length = length as usize;
    let mut bytes = Vec::with_capacity(length + 64);
    let mut random = Random(u64::from(seed));
    while bytes.len() < length / 2 {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    while bytes.len() < length {
        bytes.extend_from_slice(b"the quick brown fox jumps over the lazy dog 0123456789 ");
    }
    bytes.truncate(length);
    bytes
}

pub fn call_header(xid: u32, version: u32, procedure: u32, host: &str, uid: u32) -> Xdr {
    let mut credential = Xdr::new();
    credential.u32(0x5F00_0000 ^ uid).string(host).words(&[uid, 100, 3, 100, 101, 27]);
    let mut message = Xdr::new();
    message
        .words(&[xid, CALL, RPC_VERSION, NFS_PROGRAM, version, procedure, AUTH_SYS])
        .opaque(&credential.0)
        .words(&[0, 0]);
    message
}

pub fn reply_header(xid: u32) -> Xdr {
    let mut message = Xdr::new();
    message.words(&[xid, REPLY, 0, 0, 0, 0]);
    message
}
