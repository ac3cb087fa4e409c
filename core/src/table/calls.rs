//! Rows of the table `calls`.

use crate::nfs::{Done, Outcome};
use crate::rpc::message::Credential;
use crate::table::columns::{Naming, Wording};
use crate::table::schema::append;
use crate::table::texts::{class_named, protocol_name, status_named};
use crate::table::{Exchange, Tables};

impl Tables {
    pub(super) fn append_call(&mut self, exchange: &Exchange<'_>) {
        let walk = exchange.walk;
        let Outcome { main, class, assumed, unlisted } = walk.outcome();
        let done = main.and_then(|main| walk.operations.get(main));
        let place = main.and_then(|main| exchange.placed.places.get(main)).copied().unwrap_or_default();
        let procedure = exchange.procedure_name;
        let (op, wording) = done
            .map_or((procedure, Wording::Text(procedure)), |Done { operation, .. }| {
                (operation.name, Wording::Name(operation.name))
            });
        let signature = self.signatures.word(walk, op);
        let message = &exchange.request.message;
        let slot = walk.operations.iter().find_map(|done| done.facts.slot);
        let session = walk.operations.iter().find_map(|done| done.facts.session.as_ref());
        let (uid, gid, machine) = match exchange.header.credential {
            Credential::Sys { uid, gid, .. } => (Some(uid), Some(gid), Some(Wording::Word(exchange.machine))),
            _ => (None, None, None),
        };
        let status = walk.status;
        append!(
            &mut *self.calls,
            call: exchange.call,
            connection: exchange.request.connection,
            client: Wording::Word(exchange.client),
            server: Wording::Word(exchange.server),
            mount: exchange.mount,
            callback: exchange.callback,
            xid: exchange.header.xid,
            program: exchange.header.program,
            version: exchange.header.version,
            minor: walk.minor,
            procedure: exchange.header.procedure,
            protocol: Naming::Name(protocol_name(exchange.protocol, walk.minor)),
            op: wording,
            signature: Wording::Word(signature),
            call_first_frame: message.first.frame,
            call_frame: message.last.frame,
            reply_first_frame: exchange.reply.map(|reply| reply.first.frame),
            reply_frame: exchange.reply.map(|reply| reply.last.frame),
            call_first_time: message.first.time_ns,
            call_time: message.last.time_ns,
            reply_first_time: exchange.reply.map(|reply| reply.first.time_ns),
            reply_time: exchange.reply.map(|reply| reply.last.time_ns),
            srt: exchange.reply.map(|reply| reply.last.time_ns.saturating_sub(message.last.time_ns)),
            call_bytes: message.record().length as u32,
            reply_bytes: exchange.reply.map(|reply| reply.length as u32),
            transmissions: exchange.request.transmissions,
            first_arrived: exchange.first_arrived,
            tcp_resent: exchange.resent,
            resent_before_time: exchange.resent_before_ns,
            unreceived_time: exchange.left_out.map(|known| known.time_ns),
            unreceived_bytes: exchange.left_out.map(|known| known.bytes),
            earlier_unreceived_time: exchange.left_out_before.map(|known| known.time_ns),
            earlier_unreceived_bytes: exchange.left_out_before.map(|known| known.bytes),
            reply_clock: exchange.reply_clock,
            rpc_status: exchange.reply_status.map(|status| Naming::Name(status.name())),
            status: status,
            status_name: status.map(|status| status_named(exchange.statuses, status)),
            flavor: Naming::Name(exchange.header.credential.flavor_name()),
            uid: uid,
            gid: gid,
            machine: machine,
            session: session.map(<[u8; 16]>::as_slice),
            slot: slot,
            stability: class_named(class),
            assumed: assumed,
            unlisted: unlisted,
            file: place.file,
            directory: place.directory,
            operations: walk.in_call,
            executed: walk.in_reply,
            undecoded: exchange.stop.map(|stop| Naming::Name(stop.reason.code())),
        );
    }
}
