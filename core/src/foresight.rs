//! What the next packets will need is read before they come.
//!
//! What is known of many connections does not fit into the processor's caches. A packet then waits for
//! memory at each step: for the state of its connection, for what is being said there, for the call that
//! it answers, for the bytes of that call. A few packets that are looked at together wait for each step
//! only once.
//!
//! Takes the stages as they are, and changes nothing: whatever is wrong here costs time alone. What comes
//! may be another packet (damage, another file's turn), or need something else (a reply that is not at
//! the beginning of its segment).

use std::hint::black_box;

use crate::capture::merge::Merge;
use crate::conversation::Conversations;
use crate::packet::Plain;
use crate::rpc::pairing::Request;
use crate::stream::{ConnectionId, Connections};

/// Packets that are looked at together: as many as a processor can wait for, whose connections fit
/// into its first cache.
pub(crate) const AT_ONCE: usize = 16;

/// Connections from which on it is worth while; what is known of fewer stays in the caches.
const MANY: usize = 1 << 11;

/// A packet to come.
#[derive(Clone, Copy)]
struct Coming<'a> {
    id: ConnectionId,
    ends: (u64, u64),
    payload: &'a [u8],
}

/// Reads what the next packets will need, if there are many connections.
#[inline]
pub(crate) fn fetch(captures: &Merge, connections: &Connections, conversations: &Conversations) {
    if connections.kept() >= MANY {
        black_box(fetch_next(captures, connections, conversations));
    }
}

/// One step for all of them, then the next step. Gives how many of them answer calls that are known.
#[inline(never)]
fn fetch_next(captures: &Merge, connections: &Connections, conversations: &Conversations) -> usize {
    let Some(reader) = captures.current() else { return 0 };
    let mut coming: [Option<Coming<'_>>; AT_ONCE] = [None; AT_ONCE];
    for (coming, glimpse) in coming.iter_mut().zip(reader.glimpses()) {
        *coming = Plain::of(glimpse.link, glimpse.bytes, glimpse.wire_length).and_then(|plain| {
            let ends = (plain.source, plain.destination);
            let id = connections.foresee(ends)?;
            Some(Coming { id, ends, payload: plain.part.payload.bytes })
        });
    }
    let sides = coming.map(|coming| connections.fetch(coming?.id, coming?.ends));
    let known = || coming.iter().zip(sides).map(|(coming, side)| coming.zip(side));
    known().flatten().for_each(|(coming, side)| conversations.fetch(coming.id, side));
    let mut requests: [Option<&Request>; AT_ONCE] = [None; AT_ONCE];
    for (request, known) in requests.iter_mut().zip(known()) {
        *request = known
            .and_then(|(Coming { id, payload, .. }, side)| conversations.fetch_answered(id, side, payload));
    }
    requests.iter().flatten().for_each(|request| request.fetch());
    requests.iter().flatten().for_each(|request| request.fetch_message());
    requests.iter().flatten().count()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::capture::merge::Next;
    use crate::packet::{Content, Dissector};
    use crate::stream::assembler::Stamp;

    const CALL: [u32; 9] = [0, 2, 100_003, 3, 0, 0, 0, 0, 0]; // behind the xid; NULL
    const REPLY: [u32; 5] = [1, 0, 0, 0, 0];

    /// A frame between a client, of this port, and an NFS server.
    fn frame(port: u16, calls: bool, xid: u32, words: &[u32]) -> Vec<u8> {
        let (client, server) = (([10, 0, 0, 1], port), ([10, 0, 0, 2], 2049));
        let ((source, from), (destination, to)) = if calls { (client, server) } else { (server, client) };
        let length = 4 * (words.len() + 1) as u32;
        let data: Vec<u8> =
            [length | 1 << 31, xid].iter().chain(words).flat_map(|word| word.to_be_bytes()).collect();
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0]); // IPv4
        frame.extend((40 + data.len() as u16).to_be_bytes());
        frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0]); // TCP
        frame.extend(source);
        frame.extend(destination);
        frame.extend(from.to_be_bytes());
        frame.extend(to.to_be_bytes());
        frame.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]); // PSH ACK
        frame.extend(data);
        frame
    }

    #[test]
    fn calls_are_found_whose_replies_come_next() {
        let frames = [
            frame(700, true, 1, &CALL),
            frame(701, true, 2, &CALL),
            frame(702, true, 3, &CALL),
            frame(701, false, 2, &REPLY),
            frame(703, true, 4, &CALL),
            frame(700, false, 1, &REPLY),
            frame(702, false, 9, &REPLY), // To a call that was not seen.
            frame(703, false, 4, &REPLY),
        ];
        let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([65_535_u32, 1].map(u32::to_le_bytes).concat());
        for frame in &frames {
            let length = frame.len() as u32;
            bytes.extend([1, 0, length, length].map(u32::to_le_bytes).concat());
            bytes.extend(frame);
        }
        let path = std::env::temp_dir().join(format!("pcapnfs-foresight-{}.pcap", std::process::id()));
        fs::write(&path, bytes).unwrap();
        let mut captures = Merge::open(std::slice::from_ref(&path)).unwrap();
        fs::remove_file(&path).unwrap();
        let (mut connections, mut dissector) = (Connections::default(), Dissector::default());
        let mut conversations = Conversations::new(vec![2049], None);
        let mut found = Vec::new();
        let mut frame = 0;
        while let Some(Next::Packet(_, packet)) = captures.next() {
            frame += 1;
            let Content::Segment(segment) = dissector.dissect(&packet) else { panic!("no segment") };
            connections.segment(&segment, Stamp { frame, time_ns: 0 }, |id, connection, side, event| {
                conversations.event(id, connection, side, event);
            });
            found.push(fetch_next(&captures, &connections, &conversations));
        }
        // The reply to the fourth call is known for one once that has come.
        assert_eq!(found, [1, 2, 2, 1, 2, 1, 1, 0]);
    }
}
