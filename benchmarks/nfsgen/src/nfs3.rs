//! NFSv3 calls and replies (RFC 1813).

use crate::options::Options;
use crate::random::Random;
use crate::rpc::{Rpc, Subject, call_header, data, file_name, file_size, handle, reply_header};
use crate::xdr::Xdr;

const HANDLE_LENGTH: usize = 32;
const REGULAR: u32 = 1;
const DIRECTORY: u32 = 2;
const FILE_SYNC: u32 = 2;
const WRITE_VERIFIER: u64 = 0x1122_3344_5566_7788;

const OK: u32 = 0;
const PERM: u32 = 1;
const NOENT: u32 = 2;
const IO: u32 = 5;
const ACCES: u32 = 13;
const EXIST: u32 = 17;
const NOSPC: u32 = 28;
const STALE: u32 = 70;

/// One call with its reply; `now` is in seconds since time 0.
pub fn rpc(random: &mut Random, options: &Options, xid: u32, host: &str, now: f64) -> Rpc {
    let subject = Subject::draw(random, options, now);
    let op = match subject.choice_without_data(options.data) {
        None if random.share() < 0.5 => "READ",
        None => "WRITE",
        Some(choice) if choice < 0.40 => "GETATTR",
        Some(choice) if choice < 0.62 => "LOOKUP",
        Some(choice) if choice < 0.84 => "ACCESS",
        Some(choice) if choice < 0.89 => "CREATE",
        Some(choice) if choice < 0.94 => "COMMIT",
        Some(choice) if choice < 0.97 => "SETATTR",
        Some(choice) if choice < 0.99 => "REMOVE",
        Some(_) => "READDIRPLUS",
    };
    let (procedure, mean_latency) = match op {
        "GETATTR" => (1, 120e-6),
        "SETATTR" => (2, 400e-6),
        "LOOKUP" => (3, 150e-6),
        "ACCESS" => (4, 110e-6),
        "READ" => (6, 500e-6),
        "WRITE" => (7, 900e-6),
        "CREATE" => (8, 700e-6),
        "REMOVE" => (12, 600e-6),
        "READDIRPLUS" => (17, 800e-6),
        _ => (21, 1500e-6),
    };
    let mut call = call_header(xid, 3, procedure, host, subject.uid);
    arguments(&mut call, op, &subject, xid);
    let mut reply = reply_header(xid);
    results(&mut reply, op, &subject, xid);
    Rpc {
        version: "3",
        op,
        operations: vec![op],
        failed: subject.failed,
        call: call.0,
        reply: reply.0,
        latency: 40e-6 + random.exponential(mean_latency),
    }
}

fn arguments(call: &mut Xdr, op: &str, subject: &Subject, xid: u32) {
    let file = handle(subject.file, HANDLE_LENGTH);
    let directory = handle(subject.directory, HANDLE_LENGTH);
    match op {
        "SETATTR" => call.opaque(&file).words(&[1, 0o600, 0, 0, 0, 0, 1, 0]),
        "LOOKUP" | "REMOVE" => call.opaque(&directory).string(&subject.name),
        "ACCESS" => call.opaque(&file).u32(0x1F),
        "READ" => call.opaque(&file).u64(subject.offset).u32(subject.length),
        "WRITE" => call
            .opaque(&file)
            .u64(subject.offset)
            .words(&[subject.length, FILE_SYNC])
            .opaque(&data(subject.length, xid)),
        "CREATE" if subject.file.is_multiple_of(3) => {
            let exclusive = 2;
            call.opaque(&directory).string(&subject.name).u32(exclusive).u64(u64::from(xid))
        }
        "CREATE" => {
            call.opaque(&directory).string(&subject.name).words(&[0, 1, 0o644, 0, 0, 0, 0, 0])
        }
        "READDIRPLUS" => call.opaque(&directory).u64(0).u64(0).words(&[4096, 32768]),
        "COMMIT" => call.opaque(&file).u64(0).u32(0),
        _ => call.opaque(&file),
    };
}

fn results(reply: &mut Xdr, op: &str, subject: &Subject, xid: u32) {
    let status = match op {
        _ if !subject.failed => OK,
        "GETATTR" | "READDIRPLUS" => STALE,
        "SETATTR" => PERM,
        "LOOKUP" | "REMOVE" => NOENT,
        "ACCESS" => ACCES,
        "WRITE" => NOSPC,
        "CREATE" => EXIST,
        _ => IO,
    };
    reply.u32(status);
    let file = handle(subject.file, HANDLE_LENGTH);
    let about_file = Attributes::of(subject);
    let about_directory = Attributes::of_directory(subject);
    match (op, status) {
        ("GETATTR", OK) => about_file.write(reply),
        ("GETATTR", _) => {}
        ("SETATTR", _) => about_file.write_wcc(reply),
        ("LOOKUP", OK) => {
            reply.opaque(&file);
            about_file.write_optional(reply);
            about_directory.write_optional(reply);
        }
        ("LOOKUP", _) => about_directory.write_optional(reply),
        ("ACCESS", OK) => {
            about_file.write_optional(reply);
            reply.u32(0x1F);
        }
        ("READ", OK) => {
            about_file.write_optional(reply);
            reply.words(&[subject.length, 0]).opaque(&data(subject.length, xid));
        }
        ("WRITE", OK) => {
            about_file.write_wcc(reply);
            reply.words(&[subject.length, FILE_SYNC]).u64(WRITE_VERIFIER);
        }
        ("CREATE", OK) => {
            reply.u32(1).opaque(&file);
            Attributes { size: 0, ..about_file }.write_optional(reply);
            about_directory.write_wcc(reply);
        }
        ("CREATE" | "REMOVE", _) => about_directory.write_wcc(reply),
        ("READDIRPLUS", OK) => {
            about_directory.write_optional(reply);
            reply.u64(7);
            for (cookie, listed) in subject.listed() {
                reply.u32(1).u64(listed).string(&file_name(listed)).u64(cookie);
                Attributes { file: listed, size: file_size(listed), ..about_file }
                    .write_optional(reply);
                reply.u32(1).opaque(&handle(listed, HANDLE_LENGTH));
            }
            reply.words(&[0, 1]);
        }
        ("COMMIT", OK) => {
            about_file.write_wcc(reply);
            reply.u64(WRITE_VERIFIER);
        }
        ("WRITE" | "COMMIT", _) => about_file.write_wcc(reply),
        _ => {
            reply.u32(0); // no attributes
        }
    }
}

/// fattr3, and the two forms that it is wrapped in.
#[derive(Clone, Copy)]
struct Attributes {
    file: u64,
    directory: bool,
    size: u64,
    time: u32,
}

impl Attributes {
    fn of(subject: &Subject) -> Attributes {
        Attributes { file: subject.file, directory: false, size: subject.size, time: subject.time }
    }

    fn of_directory(subject: &Subject) -> Attributes {
        Attributes { file: subject.directory, directory: true, size: 4096, time: subject.time }
    }

    fn write(self, xdr: &mut Xdr) {
        let kind = if self.directory { DIRECTORY } else { REGULAR };
        xdr.words(&[kind, 0o644, 1, 1000, 100])
            .u64(self.size)
            .u64(self.size.next_multiple_of(4096))
            .words(&[0, 0])
            .u64(0xFD00)
            .u64(self.file)
            .words(&[self.time, 1, self.time, 2, self.time, 3]);
    }

    /// post_op_attr.
    fn write_optional(self, xdr: &mut Xdr) {
        xdr.u32(1);
        self.write(xdr);
    }

    /// wcc_data: before and after.
    fn write_wcc(self, xdr: &mut Xdr) {
        xdr.u32(1).u64(self.size).words(&[self.time, 2, self.time, 3]);
        self.write_optional(xdr);
    }
}
