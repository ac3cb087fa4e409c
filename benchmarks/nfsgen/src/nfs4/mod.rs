//! NFSv4.1 and NFSv4.2 compounds (RFC 8881, RFC 7862), one session for each connection.

mod attributes;
mod body;
mod numbers;

use crate::capture_file::EPOCH_S;
use crate::options::Options;
use crate::random::Random;
use crate::rpc::{Rpc, Subject, call_header, handle, reply_header};
use crate::xdr::Xdr;
use attributes::{Attributes, write_getattr};
use body::body;
use numbers::{
    CREATE_SESSION, EXCHANGE_ID, GETFH, OK, PUTFH, PUTROOTFH, RECLAIM_COMPLETE, SEQUENCE,
};

const HANDLE_LENGTH: usize = 40;

/// A client's session.
pub struct Session {
    host: String,
    id: [u8; 16],
    client: u64,
    minor: u32,
    slot: usize,
    slot_sequence: [u32; 8],
}

impl Session {
    pub fn new(connection: usize, host: &str) -> Session {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&(0x6000_0000_0000 + connection as u64).to_be_bytes());
        id[15] = 1;
        Session {
            host: host.to_owned(),
            id,
            client: 0x5F00_0000_0000_0000 + connection as u64,
            minor: if connection.is_multiple_of(2) { 1 } else { 2 },
            slot: 0,
            slot_sequence: [0; 8],
        }
    }

    /// The four calls of a mount; `xid` is that of the first.
    pub fn mount(&mut self, xid: u32) -> Vec<Rpc> {
        vec![
            self.exchange_id(xid),
            self.create_session(xid.wrapping_add(1)),
            self.reclaim_complete(xid.wrapping_add(2)),
            self.root(xid.wrapping_add(3)),
        ]
    }

    fn exchange_id(&self, xid: u32) -> Rpc {
        let mut call = self.call(xid, 1, 0);
        call.u32(EXCHANGE_ID)
            .u64(self.client)
            .string(&format!("Linux NFSv4.{} {}", self.minor, self.host))
            .words(&[0x101, 0, 1])
            .string("kernel.org")
            .string("Linux 6.1.0")
            .u64(0)
            .u32(0);
        let mut reply = reply_start(xid, OK, 1);
        reply
            .words(&[EXCHANGE_ID, OK])
            .u64(self.client)
            .words(&[1, 0x20001, 0])
            .u64(0)
            .string("server01")
            .string("server01")
            .u32(0);
        self.mount_call("EXCHANGE_ID", vec!["EXCHANGE_ID"], call, reply)
    }

    fn create_session(&self, xid: u32) -> Rpc {
        let channel = [0, 1_049_620, 1_049_480, 7584, 16, 64, 0];
        let mut call = self.call(xid, 1, 0);
        call.u32(CREATE_SESSION)
            .u64(self.client)
            .words(&[1, 3])
            .words(&channel)
            .words(&channel)
            .words(&[0x4000_0000, 1, 0]);
        let mut reply = reply_start(xid, OK, 1);
        reply
            .words(&[CREATE_SESSION, OK])
            .raw(&self.id)
            .words(&[1, 3])
            .words(&channel)
            .words(&channel);
        self.mount_call("CREATE_SESSION", vec!["CREATE_SESSION"], call, reply)
    }

    fn reclaim_complete(&mut self, xid: u32) -> Rpc {
        let (sequence, sequenced) = self.sequence(0);
        let mut call = self.call(xid, 2, 0);
        call.raw(&sequence).words(&[RECLAIM_COMPLETE, 0]);
        let mut reply = reply_start(xid, OK, 2);
        reply.raw(&sequenced).words(&[RECLAIM_COMPLETE, OK]);
        self.mount_call("RECLAIM_COMPLETE", vec!["SEQUENCE", "RECLAIM_COMPLETE"], call, reply)
    }

    fn root(&mut self, xid: u32) -> Rpc {
        let (sequence, sequenced) = self.sequence(0);
        let mut call = self.call(xid, 4, 0);
        call.raw(&sequence).words(&[PUTROOTFH, GETFH]);
        write_getattr(&mut call);
        let mut reply = reply_start(xid, OK, 4);
        reply.raw(&sequenced).words(&[PUTROOTFH, OK, GETFH, OK]).opaque(&handle(1, HANDLE_LENGTH));
        let root = Attributes { file: 1, directory: true, size: 4096, time: EPOCH_S };
        root.write_getattr_result(&mut reply);
        let operations = vec!["SEQUENCE", "PUTROOTFH", "GETFH", "GETATTR"];
        self.mount_call("GETATTR", operations, call, reply)
    }

    fn mount_call(
        &self,
        op: &'static str,
        operations: Vec<&'static str>,
        call: Xdr,
        reply: Xdr,
    ) -> Rpc {
        Rpc {
            version: self.version(),
            op,
            operations,
            failed: false,
            call: call.0,
            reply: reply.0,
            latency: 1e-3,
        }
    }

    /// One compound with its reply; `now` is in seconds since time 0.
    pub fn rpc(&mut self, random: &mut Random, options: &Options, xid: u32, now: f64) -> Rpc {
        self.slot = (self.slot + 1) % self.slot_sequence.len();
        let (sequence, sequenced) = self.sequence(self.slot);
        let subject = Subject::draw(random, options, now);
        let op = self.choose(&subject, random, options.data);
        let body = body(op, &subject, self.client, xid);
        let about = match op {
            "LOOKUP" | "OPEN" | "REMOVE" | "READDIR" => subject.directory,
            _ => subject.file,
        };
        let mut call = self.call(xid, 2 + body.operations.len() as u32, subject.uid);
        call.raw(&sequence).u32(PUTFH).opaque(&handle(about, HANDLE_LENGTH)).raw(&body.arguments.0);
        let mut reply = reply_start(xid, body.status, 2 + body.answered);
        reply.raw(&sequenced).words(&[PUTFH, OK]).raw(&body.results.0);
        Rpc {
            version: self.version(),
            op,
            operations: [&["SEQUENCE", "PUTFH"], body.operations.as_slice()].concat(),
            failed: subject.failed,
            call: call.0,
            reply: reply.0,
            latency: 40e-6 + random.exponential(body.mean_latency),
        }
    }

    fn choose(&self, subject: &Subject, random: &mut Random, data: f64) -> &'static str {
        match subject.choice_without_data(data) {
            None if random.share() < 0.5 => "READ",
            None => "WRITE",
            Some(choice) if choice < 0.36 => "GETATTR",
            Some(choice) if choice < 0.56 => "LOOKUP",
            Some(choice) if choice < 0.70 => "ACCESS",
            Some(choice) if choice < 0.80 => "OPEN",
            Some(choice) if choice < 0.90 => "CLOSE",
            Some(choice) if choice < 0.93 => "COMMIT",
            Some(choice) if choice < 0.95 => "SETATTR",
            Some(choice) if choice < 0.97 => "REMOVE",
            Some(choice) if choice < 0.98 => "READDIR",
            Some(_) if self.minor < 2 => "GETATTR",
            Some(choice) if choice < 0.99 => "SEEK",
            Some(_) => "ALLOCATE",
        }
    }

    /// SEQUENCE (RFC 8881 section 18.46): arguments and result.
    fn sequence(&mut self, slot: usize) -> (Vec<u8>, Vec<u8>) {
        self.slot_sequence[slot] += 1;
        let number = self.slot_sequence[slot];
        let (mut arguments, mut result) = (Xdr::new(), Xdr::new());
        let slot = slot as u32;
        arguments.u32(SEQUENCE).raw(&self.id).words(&[number, slot, slot, 0]);
        result.words(&[SEQUENCE, OK]).raw(&self.id).words(&[number, slot, 63, 63, 0]);
        (arguments.0, result.0)
    }

    fn call(&self, xid: u32, operations: u32, uid: u32) -> Xdr {
        let mut call = call_header(xid, 4, 1, &self.host, uid);
        call.string("").words(&[self.minor, operations]);
        call
    }

    fn version(&self) -> &'static str {
        if self.minor == 1 { "4.1" } else { "4.2" }
    }
}

fn reply_start(xid: u32, status: u32, operations: u32) -> Xdr {
    let mut reply = reply_header(xid);
    reply.u32(status).string("").u32(operations);
    reply
}
