use proptest::prelude::*;

use super::*;
use crate::rpc::search::HEAD;

/// A NULL call of NFSv3 with its record mark.
fn null_call(xid: u8) -> Vec<u8> {
    let mut bytes = vec![
        0x80, 0, 0, 40, // mark
        0, 0, 0, xid, // xid
        0, 0, 0, 0, // CALL
        0, 0, 0, 2, // rpcvers
        0, 1, 0x86, 0xa3, // program 100003
        0, 0, 0, 3, // version
        0, 0, 0, 0, // procedure
    ];
    bytes.extend([0; 16]); // credential and verifier: AUTH_NONE
    bytes
}

fn stamp(frame: u64) -> Stamp {
    Stamp { frame, time_ns: 0 }
}

/// A peer that waits for this xid, and answered that one.
struct Knows(Option<u32>, Option<u32>);

impl Peer for Knows {
    fn waits_for(&self, xid: u32) -> bool {
        self.0 == Some(xid)
    }
    fn answered(&self, xid: u32, _: u64) -> bool {
        self.1 == Some(xid)
    }
}

const NOTHING: Knows = Knows(None, None);

fn records(reader: &mut RecordReader, pieces: &[&[u8]]) -> Vec<(Vec<u8>, u64, u64)> {
    let mut out = Vec::new();
    for (i, bytes) in pieces.iter().enumerate() {
        let mut piece = Piece::new(bytes, bytes.len(), stamp(i as u64 + 1));
        while let Some(record) = reader.next(&mut piece, &NOTHING) {
            out.push((record.bytes.to_vec(), record.first.frame, record.last.frame));
        }
    }
    out
}

/// A peer that reads nothing of this part of any message.
struct ReadsAllBut(Range<usize>);

impl Peer for ReadsAllBut {
    fn waits_for(&self, _: u32) -> bool {
        false
    }
    fn answered(&self, _: u32, _: u64) -> bool {
        false
    }
    fn unread(&self, begun: &[u8], _: usize) -> Option<Range<usize>> {
        assert!(begun.len() >= SHORTENED);
        Some(self.0.clone())
    }
}

/// A call of 20,000 bytes with its mark, none like the one before.
fn long_call() -> Vec<u8> {
    let mut call = null_call(1);
    let bytes = (0..20_004 - call.len() as u32).map(|i| i.wrapping_mul(0x9e37_79b9).to_be_bytes()[0]);
    call.extend(bytes);
    call[..4].copy_from_slice(&20_000_u32.to_be_bytes());
    call[0] = 0x80;
    call
}

/// The message of a record in fragments of `size` bytes.
fn in_fragments(record: &[u8], size: usize) -> Vec<u8> {
    let message = &record[4..];
    let mut bytes = Vec::new();
    for (part, end) in message.chunks(size).zip((size..).step_by(size)) {
        let last = if end < message.len() { 0 } else { LAST };
        bytes.extend((last | part.len() as u32).to_be_bytes());
        bytes.extend(part);
    }
    bytes
}

const LAST: u32 = 0x8000_0000;

#[test]
fn a_message_is_found_whose_first_fragments_are_shorter_than_a_header() {
    let (call, message) = (null_call(1), &null_call(1)[4..]);
    for size in [1, 3, 4, 8, 20, 23, 24, 39] {
        let bytes = in_fragments(&call, size);
        for trusted in [false, true] {
            let mut reader = RecordReader::new(trusted);
            let found = records(&mut reader, &[&bytes, &bytes]);
            assert_eq!(found, [(message.to_vec(), 1, 1), (message.to_vec(), 2, 2)], "fragments of {size}");
        }
    }
    for size in [8, 20, 24] {
        let bytes = in_fragments(&call, size);
        let (begun, rest) = bytes.split_at(13);
        let found = records(&mut RecordReader::new(false), &[begun, rest]);
        assert_eq!(found, [(message.to_vec(), 1, 2)], "cut, in fragments of {size}");
    }
}

#[test]
fn a_reply_in_short_fragments_is_believed_where_its_call_waits_or_the_port_tells() {
    let mut reply = vec![0x80, 0, 0, 24, 0, 0, 0, 9, 0, 0, 0, 1];
    reply.extend([0; 16]); // accepted, verifier, SUCCESS
    let bytes = in_fragments(&reply, 4);
    for (trusted, peer, found) in [(true, NOTHING, 1), (false, Knows(Some(9), None), 1), (false, NOTHING, 0)]
    {
        let mut reader = RecordReader::new(trusted);
        let mut piece = Piece::new(&bytes, bytes.len(), stamp(1));
        let mut count = 0;
        while let Some(record) = reader.next(&mut piece, &peer) {
            assert_eq!(record.bytes, &reply[4..]);
            count += 1;
        }
        assert_eq!(count, found, "trusted: {trusted}");
    }
}

/// A record whose message is in fragments of these sizes, the last one of what they leave.
fn in_sizes(record: &[u8], sizes: &[usize]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), &record[4..]);
    for size in sizes {
        let (part, behind) = rest.split_at(*size);
        bytes.extend((*size as u32).to_be_bytes());
        bytes.extend(part);
        rest = behind;
    }
    bytes.extend((LAST | rest.len() as u32).to_be_bytes());
    bytes.extend(rest);
    bytes
}

#[test]
fn empty_fragments_are_passed_over_wherever_they_are() {
    let (call, message) = (null_call(1), &null_call(1)[4..]);
    let shapes = [&[0][..], &[40], &[0, 40], &[28, 0], &[0, 0, 28, 0, 0, 0, 8, 0], &[28, 0, 12, 0, 0]];
    for shape in shapes {
        let record = in_sizes(&call, shape);
        assert_eq!(
            records(&mut RecordReader::new(true), &[&record]).len(),
            1,
            "{shape:?}: the first message"
        );
        let stream = [&record[..], &record, &record].concat();
        for at in 1..stream.len() {
            let (begun, rest) = stream.split_at(at);
            let mut reader = RecordReader::new(true);
            records(&mut reader, &[&call]);
            let found = records(&mut reader, &[begun, rest]);
            assert!(found.iter().all(|(bytes, ..)| bytes == message), "{shape:?} {at}");
            let last: Vec<_> = found.iter().map(|(_, _, last)| *last).collect();
            let expected = (1..=3).map(|number| 1 + u64::from(number * record.len() > at));
            assert_eq!(last, expected.collect::<Vec<_>>(), "{shape:?} {at}");
        }
    }
    let in_pieces = in_sizes(&call, &[0, 0, 4, 0, 0, 0, 20, 0]);
    assert_eq!(records(&mut RecordReader::new(true), &[&call, &in_pieces, &in_pieces]).len(), 3);
}

#[test]
fn a_message_that_an_empty_fragment_ends_is_told_with_it() {
    let record = in_sizes(&null_call(1), &[40]);
    let (message, mark) = record.split_at(44);
    assert_eq!(mark, [0x80, 0, 0, 0]);
    let found = records(&mut RecordReader::new(true), &[message, mark]);
    assert_eq!(found, [(message[4..].to_vec(), 1, 2)], "and not when the next one comes");
}

#[test]
fn more_empty_fragments_than_anybody_sends_are_none() {
    let call = null_call(1);
    for (count, passed) in [(EMPTY_LIMIT, true), (EMPTY_LIMIT + 1, false)] {
        let mut reader = RecordReader::new(true);
        records(&mut reader, &[&call]);
        let told = records(&mut reader, &[&vec![0; 4 * count]]);
        assert_eq!(told.is_empty() && reader.state == State::Mark, passed, "{count}");
    }
}

#[test]
fn empty_fragments_are_counted_anew_where_a_header_was_searched_for() {
    let (call, record) = (null_call(1), in_sizes(&null_call(1), &[0, 40]));
    let mut reader = RecordReader::new(true);
    records(&mut reader, &[&call, &vec![0; 4 * (EMPTY_LIMIT + 1)]]);
    let found: usize = (0..300).map(|_| records(&mut reader, &[&record]).len()).sum();
    assert!(found >= 298, "{found}");
}

#[test]
fn fragments_that_lead_nowhere_are_no_message() {
    let mut bytes = in_fragments(&null_call(1), 4);
    bytes[8..12].copy_from_slice(&[0, 0, 0, 0]); // the mark of an empty fragment that is not the last
    assert_eq!(records(&mut RecordReader::new(true), &[&bytes]), []);
    let mut bytes = in_fragments(&null_call(1), 4);
    bytes[20 + 4 + 3] = 3; // RPC version 3
    assert_eq!(records(&mut RecordReader::new(true), &[&bytes]), []);
}

#[test]
fn what_nobody_reads_of_a_message_is_not_put_together() {
    let (call, unread) = (long_call(), 600..17_003);
    for size in [100, 769, 1448, 9000] {
        let mut reader = RecordReader::new(true);
        for (part, next) in [&call[..], &call[..]].concat().chunks(size).zip(1..) {
            let mut piece = Piece::new(part, part.len(), stamp(next));
            while let Some(record) = reader.next(&mut piece, &ReadsAllBut(unread.clone())) {
                let behind = record.behind.unwrap();
                assert_eq!(record.bytes, &call[4..][..unread.start], "in pieces of {size}");
                assert_eq!(behind.bytes, &call[4..][unread.end..], "in pieces of {size}");
                assert_eq!((behind.passed, record.length), (unread.len(), 20_000));
            }
            assert!(reader.buffer.len() < 20_000 - unread.len() + 2 * size, "in pieces of {size}");
        }
    }
}

#[test]
fn a_hole_in_what_nobody_reads_hides_nothing() {
    let call = long_call();
    // The first segment is cut, the second lost, of the third a part was not captured.
    for (cut, lost, cut_later) in [(700, 0, 0), (2000, 1000, 0), (2000, 0, 500), (800, 1448, 3000)] {
        let mut reader = RecordReader::new(true);
        let peer = ReadsAllBut(600..17_003);
        let mut piece = Piece::new(&call[..cut], 2000, stamp(1));
        assert!(reader.next(&mut piece, &peer).is_none());
        if lost > 0 {
            assert!(reader.gap(lost, stamp(2), &peer).is_none());
        }
        let third = &call[2000 + lost..9000];
        let mut piece = Piece::new(&third[..third.len() - cut_later], third.len(), stamp(2));
        assert!(reader.next(&mut piece, &peer).is_none());
        let mut piece = Piece::new(&call[9000..], call.len() - 9000, stamp(3));
        let record = reader.next(&mut piece, &peer).unwrap();
        assert_eq!(record.behind.unwrap().bytes, &call[17_007..], "cut {cut}, lost {lost}, {cut_later}");
        assert_eq!(record.bytes, &call[4..604]);
    }
}

#[test]
fn a_hole_that_reaches_beyond_what_nobody_reads_hides_what_is_behind() {
    let (call, peer) = (long_call(), ReadsAllBut(600..17_003));
    let mut reader = RecordReader::new(true);
    let mut piece = Piece::new(&call[..2000], 2000, stamp(1));
    assert!(reader.next(&mut piece, &peer).is_none());
    assert!(reader.gap(15_100, stamp(2), &peer).is_none());
    let mut piece = Piece::new(&call[17_100..], call.len() - 17_100, stamp(2));
    let record = reader.next(&mut piece, &peer).unwrap();
    let mut c = record.cursor();
    c.skip(17_003).unwrap();
    assert_eq!(c.u32().unwrap_err().reason, Reason::Missing);
}

#[test]
fn a_message_that_is_shortened_is_kept_up_to_there() {
    let (call, peer) = (long_call(), ReadsAllBut(600..17_003));
    let mut reader = RecordReader::new(true);
    let mut piece = Piece::new(&call[..2000], 2000, stamp(1));
    assert!(reader.next(&mut piece, &peer).is_none());
    reader.shorten();
    let mut piece = Piece::new(&call[2000..], call.len() - 2000, stamp(2));
    let record = reader.next(&mut piece, &peer).unwrap();
    assert_eq!((record.bytes, record.limit), (&call[4..][..SHORTENED], Reason::RecordLimit));
    assert!(record.behind.is_none());
}

#[test]
fn a_shortened_message_has_nothing_from_behind_what_was_left_out() {
    // Where little was captured, the part begins before what is kept of a shortened message.
    let (call, peer) = (long_call(), ReadsAllBut(250..1500));
    let mut reader = RecordReader::new(true);
    for (from, to) in [(0, 1000), (1000, 9000)] {
        let mut piece = Piece::new(&call[from..to], to - from, stamp(1));
        assert!(reader.next(&mut piece, &peer).is_none());
    }
    reader.shorten();
    let mut piece = Piece::new(&call[9000..], call.len() - 9000, stamp(2));
    let record = reader.next(&mut piece, &peer).unwrap();
    assert_eq!((record.bytes, record.limit), (&call[4..][..250], Reason::RecordLimit));
}

#[test]
fn several_records_in_a_segment_and_one_over_three() {
    let (a, b) = (null_call(1), null_call(2));
    let joined = [a.clone(), b.clone()].concat();
    let mut reader = RecordReader::new(true);
    let out = records(&mut reader, &[&joined, &a[..30], &a[30..41], &a[41..]]);
    assert_eq!(out, [(a[4..].to_vec(), 1, 1), (b[4..].to_vec(), 1, 1), (a[4..].to_vec(), 2, 4)]);
}

#[test]
fn a_mark_may_be_split_over_segments() {
    let a = null_call(7);
    let mut reader = RecordReader::new(true);
    let out = records(&mut reader, &[&a, &a[..2], &a[2..]]);
    assert_eq!(out.len(), 2);
    assert_eq!(out[1], (a[4..].to_vec(), 3, 3));
}

#[test]
fn a_shortened_message_of_many_fragments_takes_little() {
    let message = &null_call(1)[4..];
    let (end, begin) = message.split_last().unwrap();
    let bytes: Vec<u8> = begin.iter().flat_map(|byte| [0, 0, 0, 1, *byte]).collect();
    let mut reader = RecordReader::new(true);
    // Believed from the first whole one on.
    assert_eq!(records(&mut reader, &[&null_call(2)]).len(), 1);
    assert!(records(&mut reader, &[&bytes]).is_empty());
    assert!(reader.capacity() > SHORTENED_MEMORY);
    reader.shorten();
    assert!(reader.capacity() <= SHORTENED_MEMORY);
    let (whole, ..) = records(&mut reader, &[&[0x80, 0, 0, 1, *end]]).remove(0);
    assert_eq!(whole, message);
}

#[test]
fn a_buffer_is_left_for_others_when_no_message_is_begun() {
    let mut spare = Vec::new();
    let (one, two) = (null_call(1), null_call(2));
    let mut reader = RecordReader::new(true);
    reader.take_buffer(&mut spare);
    assert_eq!(records(&mut reader, &[&two, &one[..20]]).len(), 1);
    reader.leave_buffer(&mut spare);
    assert!(spare.is_empty() && reader.capacity() > 0, "a message is being put together");
    assert_eq!(records(&mut reader, &[&one[20..]]), [(one[4..].to_vec(), 1, 2)]);
    reader.leave_buffer(&mut spare);
    assert_eq!((spare.len(), reader.capacity()), (1, 0));
    // What one connection put together is not in what another one does.
    let mut other = RecordReader::new(true);
    other.take_buffer(&mut spare);
    assert!(spare.is_empty());
    let found = records(&mut other, &[&one, &two[..30], &two[30..]]);
    assert_eq!(found.iter().map(|(bytes, ..)| bytes.as_slice()).collect::<Vec<_>>(), [&one[4..], &two[4..]]);
}

#[test]
fn fragments_are_joined() {
    let message = &null_call(1)[4..];
    let mut bytes = vec![0, 0, 0, 28];
    bytes.extend(&message[..28]);
    bytes.extend([0x80, 0, 0, 12]);
    bytes.extend(&message[28..]);
    let mut reader = RecordReader::new(true);
    assert_eq!(records(&mut reader, &[&bytes])[0].0, message);
}

#[test]
fn a_gap_inside_a_record_keeps_the_boundary() {
    let mut long = null_call(1);
    long[2..4].copy_from_slice(&[4, 0]); // 1024 bytes
    long.extend([9; 1024 - 40]);
    let next = null_call(2);
    let mut reader = RecordReader::new(true);
    let mut piece = Piece::new(&long[..100], 100, stamp(1));
    assert!(reader.next(&mut piece, &NOTHING).is_none());
    assert!(reader.gap(800, stamp(3), &NOTHING).is_none());
    let rest = [&long[900..], &next[..]].concat();
    let mut piece = Piece::new(&rest, rest.len(), stamp(3));
    let record = reader.next(&mut piece, &NOTHING).unwrap();
    assert_eq!((record.bytes.len(), record.length, record.limit), (96, 1024, Reason::Missing));
    assert_eq!(reader.next(&mut piece, &NOTHING).unwrap().bytes, &next[4..]);
}

#[test]
fn bytes_past_the_snaplen_keep_the_boundary() {
    let call = null_call(1);
    let mut reader = RecordReader::new(true);
    let mut piece = Piece::new(&call[..30], call.len(), stamp(1));
    let record = reader.next(&mut piece, &NOTHING).unwrap();
    assert_eq!((record.bytes.len(), record.length, record.limit), (26, 40, Reason::Truncated));
    let mut piece = Piece::new(&call, call.len(), stamp(2));
    assert_eq!(reader.next(&mut piece, &NOTHING).unwrap().bytes, &call[4..]);
}

/// A call in three fragments, of which the second and third have marks that are not there.
fn fragmented_call(xid: u8) -> Vec<u8> {
    let message = null_call(xid);
    let mut bytes = Vec::new();
    for (last, part) in [(0, &message[4..32]), (0, &message[32..40]), (0x80, &message[40..])] {
        bytes.extend([last, 0, 0, part.len() as u8]);
        bytes.extend(part);
    }
    bytes
}

#[test]
fn a_message_whose_next_mark_was_not_captured_is_told_with_its_segment() {
    for captured in [32, 33, 35] {
        let (one, two) = (fragmented_call(1), fragmented_call(2));
        let mut reader = RecordReader::new(true);
        for (frame, call) in [(1, &one), (2, &two)] {
            let mut piece = Piece::new(&call[..captured], call.len(), stamp(frame));
            let record = reader.next(&mut piece, &NOTHING).unwrap();
            assert_eq!((record.bytes, record.limit), (&call[4..32], Reason::Truncated), "{captured}");
            assert_eq!((record.first.frame, record.last.frame), (frame, frame));
            assert_eq!((record.length, record.open), (44, true), "and a mark");
            assert!(reader.next(&mut piece, &NOTHING).is_none());
        }
        let mut piece = Piece::new(&one, one.len(), stamp(3));
        assert_eq!(reader.next(&mut piece, &NOTHING).unwrap().bytes, &null_call(1)[4..]);
    }
}

#[test]
fn so_is_one_whose_next_mark_was_lost() {
    let (one, next) = (fragmented_call(1), null_call(2));
    let mut reader = RecordReader::new(true);
    let mut piece = Piece::new(&one[..32], 32, stamp(1));
    assert!(reader.next(&mut piece, &NOTHING).is_none());
    let record = reader.gap(one.len() - 32, stamp(2), &NOTHING).unwrap();
    assert_eq!((record.bytes, record.limit, record.last.frame), (&one[4..32], Reason::Missing, 1));
    assert!(record.open);
    let mut piece = Piece::new(&next, next.len(), stamp(2));
    assert_eq!(reader.next(&mut piece, &NOTHING).unwrap().bytes, &next[4..]);
}

#[test]
fn joining_in_the_middle_finds_the_next_header() {
    let joined = [vec![0xaa; 333], null_call(5)].concat();
    let mut reader = RecordReader::new(true);
    assert!(records(&mut reader, &[&joined]).is_empty(), "not before the next segment confirms it");
    let out = records(&mut reader, &[&null_call(6)]);
    assert_eq!([out[0].0[3], out[1].0[3]], [5, 6]);
    assert!(!reader.hopeless());
}

#[test]
fn a_stream_that_is_no_rpc_becomes_hopeless() {
    let mut reader = RecordReader::new(true);
    let junk = vec![0x55; (SEARCH_LIMIT + 1) as usize];
    assert!(records(&mut reader, &[&junk]).is_empty());
    assert!(reader.hopeless());
}

/// A reply of NFSv3 NULL with its record mark.
fn null_reply(xid: u8) -> Vec<u8> {
    let mut bytes = vec![0x80, 0, 0, 24, 0, 0, 0, xid, 0, 0, 0, 1];
    bytes.extend([0; 16]); // accepted, verifier AUTH_NONE, SUCCESS
    bytes
}

/// A call with `data` behind its header.
fn call_with(xid: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = null_call(xid);
    bytes[2..4].copy_from_slice(&(40 + data.len() as u16).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn take<'a>(reader: &mut RecordReader, bytes: &'a [u8], frame: u64, peer: &Knows) -> Vec<Vec<u8>> {
    let mut piece: Piece<'a> = Piece::new(bytes, bytes.len(), stamp(frame));
    let mut out = Vec::new();
    while let Some(record) = reader.next(&mut piece, peer) {
        out.push(record.bytes.to_vec());
    }
    out
}

/// Three records in two segments, of which a lost one before them was sent again in frame 9.
#[test]
fn what_waited_behind_a_hole_is_complete_when_the_hole_is_filled() {
    let stream = [null_call(1), null_call(2), null_call(3)].concat();
    let (one, other) = stream.split_at(60);
    let mut reader = RecordReader::new(true);
    let mut frames = Vec::new();
    for (bytes, frame) in [(one, 4), (other, 5)] {
        let mut piece = Piece { ready: stamp(9), ..Piece::new(bytes, bytes.len(), stamp(frame)) };
        while let Some(record) = reader.next(&mut piece, &NOTHING) {
            frames.push((record.first.frame, record.last.frame));
        }
    }
    assert_eq!(frames, [(4, 9), (4, 9), (5, 9)]);
}

#[test]
fn a_header_over_two_segments_is_found_in_search() {
    let call = null_call(5);
    for cut in 1..call.len() {
        let before = [&[0xaa; 100], &call[..cut]].concat();
        let after = [&call[cut..], &null_call(6)].concat();
        let mut reader = RecordReader::new(true);
        assert!(take(&mut reader, &before, 1, &NOTHING).is_empty());
        let found = take(&mut reader, &after, 2, &NOTHING);
        assert_eq!(found, [&call[4..], &null_call(6)[4..]], "cut at {cut}");
    }
}

#[test]
fn a_header_in_crumbs_is_found_in_search() {
    let call = null_call(5);
    for crumb in 1..HEAD {
        let mut reader = RecordReader::new(true);
        let stream = [&[0xaa; 100], &call[..], &null_call(6)].concat();
        let found: Vec<_> =
            stream.chunks(crumb).flat_map(|bytes| take(&mut reader, bytes, 2, &NOTHING)).collect();
        assert_eq!(found, [&call[4..], &null_call(6)[4..]], "crumbs of {crumb}");
    }
}

#[test]
fn a_first_call_in_crumbs_is_told_with_its_last() {
    let call = null_call(5);
    for crumb in 1..call.len() {
        let mut reader = RecordReader::new(true);
        let found: Vec<_> =
            call.chunks(crumb).flat_map(|bytes| take(&mut reader, bytes, 2, &NOTHING)).collect();
        assert_eq!(found, [&call[4..]], "crumbs of {crumb}");
    }
}

#[test]
fn several_records_behind_a_gap_are_found_when_they_lie_in_its_segment() {
    let joined = [vec![0xaa; 50], null_call(1), call_with(2, &[7; 99]), null_call(3)].concat();
    let mut reader = RecordReader::new(true);
    take(&mut reader, &null_call(9), 1, &NOTHING);
    assert!(reader.gap(1000, stamp(2), &NOTHING).is_none());
    let xids: Vec<u8> = take(&mut reader, &joined, 2, &NOTHING).iter().map(|record| record[3]).collect();
    assert_eq!(xids, [1, 2, 3]);
}

#[test]
fn messages_in_the_data_of_a_file_are_not_found() {
    // A capture file: each packet behind a header of its own, none ends with the segment.
    let packet = |xid| [vec![0x11; 16 + 66], null_call(xid)].concat();
    let data = [packet(1), packet(2), packet(3), vec![0x11; 16]].concat();
    let mut reader = RecordReader::new(true);
    take(&mut reader, &null_call(9), 1, &NOTHING);
    reader.gap(1000, stamp(2), &NOTHING);
    for frame in 2..20 {
        assert!(take(&mut reader, &data, frame, &NOTHING).is_empty());
    }
    assert_eq!(take(&mut reader, &null_call(8), 20, &NOTHING), [&null_call(8)[4..]]);
}

#[test]
fn a_message_found_at_the_end_of_a_segment_must_be_confirmed_by_what_follows() {
    let inner = call_with(3, &[9; 60]);
    let (head, tail) = inner.split_at(70);
    let segment = [&[0x11; 30], head].concat();
    for (after, confirmed) in [(null_call(4), true), (vec![0x11; 40], false)] {
        let mut reader = RecordReader::new(true);
        assert!(take(&mut reader, &segment, 1, &NOTHING).is_empty());
        let found = take(&mut reader, &[tail, &after].concat(), 2, &NOTHING);
        assert_eq!(found.first().is_some_and(|record| record[3] == 3), confirmed);
    }
}

#[test]
fn so_must_one_whose_end_is_missing() {
    let inner = call_with(3, &[9; 60]);
    let (head, tail) = inner.split_at(70);
    let segment = [&[0x11; 30], head].concat();
    for (after, xids) in [(null_call(4), &[3, 4][..]), (vec![0x11; 40], &[])] {
        let mut reader = RecordReader::new(true);
        assert!(take(&mut reader, &segment, 1, &NOTHING).is_empty());
        assert!(reader.gap(tail.len(), stamp(2), &NOTHING).is_none());
        let found = take(&mut reader, &after, 3, &NOTHING);
        assert_eq!(found.iter().map(|record| record[3]).collect::<Vec<u8>>(), xids);
    }
}

#[test]
fn what_is_no_message_is_told_at_once() {
    let mut reader = RecordReader::new(true);
    take(&mut reader, &null_call(1), 1, &NOTHING);
    let wrong = [&[0x80, 1, 0, 0][..], &[0x33; 60]].concat();
    assert_eq!(take(&mut reader, &wrong, 2, &NOTHING), [&[0x33; 60]]);
    assert_eq!(take(&mut reader, &null_call(2), 3, &NOTHING), [&null_call(2)[4..]]);
}

#[test]
fn a_mark_that_cannot_be_right_is_told_with_what_is_behind_it() {
    let wrong = |mark: u32| {
        let mut bytes = null_call(2);
        bytes[..4].copy_from_slice(&mark.to_be_bytes());
        bytes
    };
    // No bytes and not the last; fewer than any message; more than any.
    for mark in [0, LAST, LAST | 3, 0x7fff_ffff] {
        let bytes = wrong(mark);
        let told = records(&mut RecordReader::new(true), &[&null_call(1), &bytes, &null_call(3)]);
        let expected =
            [(null_call(1)[4..].to_vec(), 1, 1), (bytes, 2, 2), (null_call(3)[4..].to_vec(), 3, 3)];
        assert_eq!(told, expected, "{mark:x}");
    }
    // Before anything was found, it is another protocol; and what was not captured tells nothing.
    assert!(records(&mut RecordReader::new(true), &[&wrong(0)]).is_empty());
    let mut reader = RecordReader::new(true);
    assert_eq!(records(&mut reader, &[&null_call(1)]).len(), 1);
    let mut cut = Piece::new(&[0, 0], 44, stamp(2));
    assert!(reader.next(&mut cut, &NOTHING).is_none());
}

#[test]
fn a_mark_that_claims_too_much_is_refuted_by_the_reply() {
    let mut call = null_call(1);
    call[1] = 1; // 64 KB more than there are
    let mut reader = RecordReader::new(true);
    assert!(take(&mut reader, &call, 1, &NOTHING).is_empty());
    // Without a reply the next call could be data of this one.
    assert!(take(&mut reader, &null_call(2), 2, &NOTHING).is_empty());
    let answered = Knows(None, Some(1));
    let xids: Vec<u8> =
        take(&mut reader, &null_call(3), 3, &answered).iter().map(|record| record[3]).collect();
    assert_eq!(xids, [1, 3]);
}

#[test]
fn a_reply_whose_call_waits_ends_the_one_before() {
    let mut reply = null_reply(1);
    reply[1] = 1;
    let mut reader = RecordReader::new(true);
    assert!(take(&mut reader, &reply, 1, &NOTHING).is_empty());
    assert!(take(&mut reader, &null_reply(2), 2, &NOTHING).is_empty());
    let waits = Knows(Some(3), None);
    let xids: Vec<u8> = take(&mut reader, &null_reply(3), 3, &waits).iter().map(|record| record[3]).collect();
    assert_eq!(xids, [1, 3]);
}

#[test]
fn a_mark_that_is_the_middle_of_a_message_does_not_swallow_those_that_follow() {
    // The header's length was damaged: the program number stands where the mark should.
    let damaged = [0, 1, 0x86, 0xa3, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut reader = RecordReader::new(true);
    take(&mut reader, &null_call(9), 1, &NOTHING);
    assert!(take(&mut reader, &damaged, 2, &NOTHING).is_empty());
    let xids: Vec<u8> =
        take(&mut reader, &null_call(3), 3, &NOTHING).iter().map(|record| record[3]).collect();
    assert!(xids.contains(&3), "{xids:?}");
}

#[test]
fn a_gap_does_not_date_the_message_that_it_ends() {
    let call = call_with(1, &[7; 200]);
    let mut reader = RecordReader::new(true);
    take(&mut reader, &call[..100], 1, &NOTHING);
    let record = reader.gap(call.len() - 100, stamp(50), &NOTHING).unwrap();
    assert_eq!((record.first.frame, record.last.frame, record.limit), (1, 1, Reason::Missing));
}

#[test]
fn a_message_that_was_begun_is_told_at_the_end_if_its_header_is_there() {
    let call = call_with(1, &[7; 200]);
    for (bytes, told) in [(&call[..100], true), (&call[..20], false), (&call[..4], false)] {
        let mut reader = RecordReader::new(true);
        take(&mut reader, &null_call(9), 1, &NOTHING);
        take(&mut reader, bytes, 2, &NOTHING);
        let record = reader.end(&NOTHING);
        assert_eq!(record.map(|record| record.length), told.then_some(call.len() - 4));
        assert!(reader.end(&NOTHING).is_none(), "only once");
    }
}

#[test]
fn a_call_found_by_a_search_is_confirmed_by_its_reply_when_what_follows_is_lost() {
    let segment = [&[0xaa; 50], &null_call(5)[..]].concat();
    for (peer, told) in [(Knows(None, Some(5)), true), (NOTHING, false)] {
        let mut reader = RecordReader::new(true);
        assert!(take(&mut reader, &segment, 1, &NOTHING).is_empty());
        assert_eq!(reader.gap(100, stamp(2), &peer).is_some(), told);
    }
}

#[test]
fn a_message_in_which_others_begin_that_are_answered_is_none() {
    let second = |frame| Stamp { frame, time_ns: 1_000_000_000 * i64::try_from(frame).unwrap() };
    // A call with a mark that claims a megabyte, and calls behind it, of which the first was answered.
    let begun = [&[0x80, 0x10, 0, 0][..], &null_call(9)[4..]].concat();
    let cases = [(Knows(None, Some(1)), 2), (Knows(None, Some(2)), 0), (NOTHING, 0)];
    for (peer, found) in cases {
        let mut reader = RecordReader::new(true);
        take(&mut reader, &null_call(8), 1, &NOTHING);
        assert!(take(&mut reader, &begun, 2, &peer).is_empty());
        assert!(take(&mut reader, &null_call(1), 3, &peer).is_empty());
        let told = take(&mut reader, &null_call(2), 4, &peer);
        assert_eq!(told.len(), found);
        assert_eq!(told.last().is_some_and(|record| *record == null_call(2)[4..]), found > 0);
    }
    // One whose answer does not come for seconds gives way to another.
    let mut reader = RecordReader::new(true);
    let mut told = Vec::new();
    for (frame, bytes) in (1..).zip([&begun, &null_call(1), &null_call(2), &null_call(3), &null_call(4)]) {
        let mut piece = Piece::new(bytes, bytes.len(), second(3 * frame));
        while let Some(record) = reader.next(&mut piece, &Knows(None, Some(3))) {
            told.push(record.bytes.to_vec());
        }
    }
    assert!(told.is_empty(), "the third began three seconds before the fourth");
    let mut piece = [null_call(4), null_call(5)].map(|call| (call, second(15)));
    for (bytes, stamp) in &mut piece {
        let mut piece = Piece::new(bytes, bytes.len(), *stamp);
        while let Some(record) = reader.next(&mut piece, &Knows(None, Some(4))) {
            told.push(record.bytes.to_vec());
        }
    }
    assert_eq!(told.last(), Some(&null_call(5)[4..].to_vec()));
}

#[test]
fn a_reply_alone_in_its_segment_is_believed_on_any_connection() {
    let mut reader = RecordReader::new(false);
    assert_eq!(take(&mut reader, &null_reply(1), 1, &NOTHING).len(), 1);
    let mut reader = RecordReader::new(false);
    let longer = [&null_reply(1), &[1, 2, 3][..]].concat();
    assert!(take(&mut reader, &longer, 1, &NOTHING).is_empty());
}

/// A peer that reads little of any message, as far as it is there.
struct ReadsLittle;

impl Peer for ReadsLittle {
    fn waits_for(&self, xid: u32) -> bool {
        xid == 2
    }
    fn answered(&self, xid: u32, _: u64) -> bool {
        xid == 3
    }
    fn unread(&self, begun: &[u8], length: usize) -> Option<Range<usize>> {
        (begun.len() >= 600).then_some(600..length.saturating_sub(50).max(600))
    }
}

/// What comes of a stream in pieces of these lengths, of which so many bytes each were captured: as
/// pieces are taken that need no more than little, or as all could be.
fn told(stream: &[u8], pieces: &[(usize, usize)], shortcuts: bool) -> Vec<String> {
    let (peer, mut reader) = (ReadsLittle, RecordReader::new(true));
    let (mut told, mut rest) = (Vec::new(), stream);
    for (frame, (length, captured)) in (1..).zip(pieces.iter().copied()) {
        let (bytes, behind) = rest.split_at(length.min(rest.len()));
        let sequence = SeqNumber((stream.len() - rest.len()) as u32);
        let cut = &bytes[..captured.min(bytes.len())];
        let mut piece = Piece { sequence, ..Piece::new(cut, bytes.len(), stamp(frame)) };
        rest = behind;
        let mut spare = vec![Vec::with_capacity(512)];
        if piece.length == 0 || shortcuts && reader.found() && reader.go_on(&piece) {
            continue;
        }
        while shortcuts && let Some(record) = reader.whole(&mut piece) {
            told.push(format!("{record:?}"));
        }
        reader.take_buffer(&mut spare);
        while piece.length > 0
            && let Some(record) = reader.next(&mut piece, &peer)
        {
            let heard = begins_message(record.bytes);
            told.push(format!("{record:?}"));
            if !heard {
                reader.distrust();
            }
        }
        reader.leave_buffer(&mut spare);
    }
    told
}

proptest! {
    #[test]
    fn the_shortcuts_tell_the_same(
        messages in prop::collection::vec((any::<bool>(), 0..6_usize, 0..400_usize), 1..12),
        pieces in prop::collection::vec((1..1500_usize, 40..3000_usize), 1..60),
        damage in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let message = |(number, (call, hundreds, more)): (u8, (bool, usize, usize))| {
            if call { call_with(number, &vec![9; 100 * hundreds * hundreds * hundreds + more]) } else { null_reply(number) }
        };
        let mut stream: Vec<u8> = (1..).zip(messages).flat_map(message).collect();
        if let Some(at) = damage {
            let at = at.index(stream.len());
            stream[at] ^= 0x40;
        }
        prop_assert_eq!(told(&stream, &pieces, true), told(&stream, &pieces, false));
    }
}
