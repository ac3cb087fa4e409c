//! The compounds' own operations, a function each.

use super::HANDLE_LENGTH;
use super::attributes::{Attributes, FIRST_WORD, LISTED_WITH, MODE, SECOND_WORD, write_getattr};
use super::numbers::*;
use crate::rpc::{Subject, data, file_name, file_size, handle};
use crate::xdr::Xdr;

const FILE_SYNC: u32 = 2;
const WRITE_VERIFIER: u64 = 0x1122_3344_5566_7788;
const ACCESS_ALL: u32 = 0x1F;

/// Arguments and results of the operations after SEQUENCE and PUTFH.
pub struct Body {
    pub operations: Vec<&'static str>,
    pub arguments: Xdr,
    pub status: u32,
    pub results: Xdr,
    /// Operations that `results` holds: up to the first that failed.
    pub answered: u32,
    pub mean_latency: f64,
}

/// What a compound of this main operation holds after SEQUENCE and PUTFH.
pub fn body(op: &str, subject: &Subject, client: u64, xid: u32) -> Body {
    match op {
        "GETATTR" => get_attributes(subject),
        "LOOKUP" => lookup(subject),
        "ACCESS" => access(subject),
        "OPEN" => open(subject, client),
        "CLOSE" => close(subject),
        "COMMIT" => commit(subject),
        "SETATTR" => set_attributes(subject),
        "REMOVE" => remove(subject),
        "READDIR" => list(subject),
        "SEEK" => seek(subject),
        "ALLOCATE" => allocate(subject),
        "READ" => read(subject, xid),
        _ => write(subject, xid),
    }
}

impl Body {
    /// Every operation is answered, unless `fail` says otherwise.
    fn new(operations: &[&'static str], mean_latency: f64) -> Body {
        Body {
            operations: operations.to_vec(),
            arguments: Xdr::new(),
            status: OK,
            results: Xdr::new(),
            answered: operations.len() as u32,
            mean_latency,
        }
    }

    /// The first operation fails with this status, and nothing after it is executed.
    fn fail(mut self, operation: u32, status: u32) -> Body {
        self.results.words(&[operation, status]);
        self.status = status;
        self.answered = 1;
        self
    }

    /// Answers with the attributes last.
    fn with_attributes(mut self, subject: &Subject) -> Body {
        Attributes::of(subject).write_getattr_result(&mut self.results);
        self
    }
}

fn open(subject: &Subject, client: u64) -> Body {
    let mut body = Body::new(&["OPEN", "GETFH", "ACCESS", "GETATTR"], 700e-6);
    let creates = subject.file.is_multiple_of(2);
    let share = if creates { 3 } else { 1 };
    body.arguments.words(&[OPEN, 0, share, 0]).u64(client).opaque(&subject.file.to_be_bytes());
    if creates {
        body.arguments.words(&[1, 0, 2, 0, MODE]).opaque(&0o644u32.to_be_bytes());
    } else {
        body.arguments.u32(0);
    }
    body.arguments.u32(0).string(&subject.name).words(&[GETFH, ACCESS, ACCESS_ALL]);
    write_getattr(&mut body.arguments);
    if subject.failed {
        return body.fail(OPEN, DELAY);
    }
    body.results.words(&[OPEN, OK]);
    write_stateid(&mut body.results, subject.file);
    body.results
        .u32(1)
        .u64(5)
        .u64(6)
        .words(&[4, 0, 0])
        .words(&[GETFH, OK])
        .opaque(&handle(subject.file, HANDLE_LENGTH))
        .words(&[ACCESS, OK, ACCESS_ALL, ACCESS_ALL]);
    Attributes { size: 0, ..Attributes::of(subject) }.write_getattr_result(&mut body.results);
    body
}

fn get_attributes(subject: &Subject) -> Body {
    let mut body = Body::new(&["GETATTR"], 120e-6);
    write_getattr(&mut body.arguments);
    if subject.failed {
        return body.fail(GETATTR, DELAY);
    }
    body.with_attributes(subject)
}

fn lookup(subject: &Subject) -> Body {
    let mut body = Body::new(&["LOOKUP", "GETFH", "GETATTR"], 150e-6);
    body.arguments.u32(LOOKUP).string(&subject.name).u32(GETFH);
    write_getattr(&mut body.arguments);
    if subject.failed {
        return body.fail(LOOKUP, NOENT);
    }
    body.results.words(&[LOOKUP, OK, GETFH, OK]).opaque(&handle(subject.file, HANDLE_LENGTH));
    body.with_attributes(subject)
}

fn access(subject: &Subject) -> Body {
    let mut body = Body::new(&["ACCESS", "GETATTR"], 110e-6);
    body.arguments.words(&[ACCESS, ACCESS_ALL]);
    write_getattr(&mut body.arguments);
    if subject.failed {
        return body.fail(ACCESS, ACCES);
    }
    body.results.words(&[ACCESS, OK, ACCESS_ALL, ACCESS_ALL]);
    body.with_attributes(subject)
}

fn close(subject: &Subject) -> Body {
    let mut body = Body::new(&["CLOSE"], 130e-6);
    body.arguments.words(&[CLOSE, 0]);
    write_stateid(&mut body.arguments, subject.file);
    if subject.failed {
        return body.fail(CLOSE, BAD_STATEID);
    }
    body.results.words(&[CLOSE, OK, u32::MAX]).raw(&[0; 12]);
    body
}

fn commit(subject: &Subject) -> Body {
    let mut body = Body::new(&["COMMIT"], 1500e-6);
    body.arguments.u32(COMMIT).u64(0).u32(0);
    if subject.failed {
        return body.fail(COMMIT, IO);
    }
    body.results.words(&[COMMIT, OK]).u64(WRITE_VERIFIER);
    body
}

fn set_attributes(subject: &Subject) -> Body {
    let mut body = Body::new(&["SETATTR", "GETATTR"], 400e-6);
    body.arguments.u32(SETATTR);
    write_stateid(&mut body.arguments, subject.file);
    body.arguments.words(&[2, 0, MODE]).opaque(&0o600u32.to_be_bytes());
    write_getattr(&mut body.arguments);
    if subject.failed {
        let mut failed = body.fail(SETATTR, PERM);
        failed.results.u32(0); // attrsset, which a failed SETATTR has too
        return failed;
    }
    body.results.words(&[SETATTR, OK, 2, 0, MODE]);
    body.with_attributes(subject)
}

fn remove(subject: &Subject) -> Body {
    let mut body = Body::new(&["REMOVE"], 600e-6);
    body.arguments.u32(REMOVE).string(&subject.name);
    if subject.failed {
        return body.fail(REMOVE, NOENT);
    }
    body.results.words(&[REMOVE, OK, 1]).u64(5).u64(6);
    body
}

fn list(subject: &Subject) -> Body {
    let mut body = Body::new(&["READDIR"], 800e-6);
    body.arguments.u32(READDIR).u64(0).u64(0).words(&[
        8170,
        32680,
        2,
        FIRST_WORD | LISTED_WITH,
        SECOND_WORD,
    ]);
    if subject.failed {
        return body.fail(READDIR, DELAY);
    }
    body.results.words(&[READDIR, OK]).u64(7);
    for (cookie, listed) in subject.listed() {
        body.results.u32(1).u64(cookie).string(&file_name(listed));
        let attributes =
            Attributes { file: listed, size: file_size(listed), ..Attributes::of(subject) };
        attributes.write(&mut body.results, true);
    }
    body.results.words(&[0, 1]);
    body
}

fn seek(subject: &Subject) -> Body {
    let mut body = Body::new(&["SEEK"], 150e-6);
    body.arguments.u32(SEEK);
    write_stateid(&mut body.arguments, subject.file);
    body.arguments.u64(0).u32(1);
    if subject.failed {
        return body.fail(SEEK, NXIO);
    }
    body.results.words(&[SEEK, OK, 0]).u64(subject.size);
    body
}

fn allocate(subject: &Subject) -> Body {
    let mut body = Body::new(&["ALLOCATE", "GETATTR"], 500e-6);
    body.arguments.u32(ALLOCATE);
    write_stateid(&mut body.arguments, subject.file);
    body.arguments.u64(0).u64(subject.size);
    write_getattr(&mut body.arguments);
    if subject.failed {
        return body.fail(ALLOCATE, NOSPC);
    }
    body.results.words(&[ALLOCATE, OK]);
    body.with_attributes(subject)
}

fn read(subject: &Subject, xid: u32) -> Body {
    let mut body = Body::new(&["READ"], 500e-6);
    body.arguments.u32(READ);
    write_stateid(&mut body.arguments, subject.file);
    body.arguments.u64(subject.offset).u32(subject.length);
    if subject.failed {
        return body.fail(READ, STALE_STATEID);
    }
    body.results.words(&[READ, OK, 0]).opaque(&data(subject.length, xid));
    body
}

fn write(subject: &Subject, xid: u32) -> Body {
    let mut body = Body::new(&["WRITE", "GETATTR"], 900e-6);
    body.arguments.u32(WRITE);
    write_stateid(&mut body.arguments, subject.file);
    body.arguments.u64(subject.offset).u32(FILE_SYNC).opaque(&data(subject.length, xid));
    write_getattr(&mut body.arguments);
    if subject.failed {
        return body.fail(WRITE, NOSPC);
    }
    body.results.words(&[WRITE, OK, subject.length, FILE_SYNC]).u64(WRITE_VERIFIER);
    body.with_attributes(subject)
}

fn write_stateid(xdr: &mut Xdr, file: u64) {
    xdr.u32(1).u64(0xABCD_0000 + file).u32(7);
}
