//! Whole calls with their replies: what arguments and results say together.

use super::*;
use crate::cursor::{Cursor, Recorder};
use crate::error::{Layer, Reason};
use crate::nfs::facts::Service;
use crate::nfs::{Class, Done, Outcome, Told, Walk, emptied, protocol};
use crate::rpc::program::{MOUNT, NFS, NLM as NLM_PROGRAM, PORTMAP, RQUOTA};

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Walks a call and its reply, and gives the walk to `look`.
fn walk(
    (program, version, procedure): (u32, u32, u32),
    call: &[u8],
    reply: &[u8],
    look: impl FnOnce(&Walk<'_>),
) {
    let call = Ok(Cursor::new(call, Layer::Call));
    let reply = Some(Ok(Cursor::new(reply, Layer::Reply)));
    look(&Walk::of(Vec::new(), protocol(program, version).shape, procedure, call, reply));
}

#[test]
fn a_write_of_version_2_is_stable_and_whole() {
    let call = [HANDLE.as_slice(), &words(&[0, 4096, 0, 4]), b"data"].concat();
    let reply = [words(&[0]), vec![0; 68]].concat();
    walk((NFS, 2, 8), &call, &reply, |walk| {
        assert_eq!((walk.call_stop, walk.reply_stop, walk.status), (None, None, Some(0)));
        assert_eq!((walk.operations[0].facts.count, walk.outcome().class), (Some(4), Class::Stable));
    });
    walk((NFS, 2, 8), &call, &words(&[28]), |walk| {
        assert_eq!((walk.reply_stop, walk.status), (None, Some(28)));
        assert_eq!((walk.operations[0].facts.count, walk.outcome().class), (None, Class::Unstable));
    });
}

/// What decides lies behind the status: how far a WRITE was committed, whether an OPEN changed anything.
#[test]
fn a_reply_that_is_cut_behind_its_status_leaves_the_class_to_the_call() {
    let class = |(program, version, procedure): (u32, u32, u32), call: &[u8], reply: &[u8], kept: usize| {
        let call = Ok(Cursor::new(call, Layer::Call));
        let cut = Cursor::of_prefix(&reply[..kept], reply.len(), Reason::Truncated, Layer::Reply);
        Walk::of(Vec::new(), protocol(program, version).shape, procedure, call, Some(Ok(cut))).outcome().class
    };
    let write =
        |level: u32| [words(&[4]), b"file".to_vec(), words(&[0, 0, 4, level, 4]), b"data".to_vec()].concat();
    let written = |level: u32| [words(&[0, 0, 0, 4, level]), vec![0; 8]].concat();
    for (asked, granted, cut, whole) in [
        (0, 0, Class::UnstableWrite, Class::UnstableWrite),
        (0, 2, Class::UnstableWrite, Class::Stable), // more than was asked for, which is not seen
        (2, 2, Class::Stable, Class::Stable),
    ] {
        let (call, reply) = (write(asked), written(granted));
        assert_eq!(class((NFS, 3, 7), &call, &reply, 4), cut, "{asked}");
        assert_eq!(class((NFS, 3, 7), &call, &reply, reply.len()), whole, "{asked}");
    }
    // OPEN of a name: seqid, access, deny, owner, NOCREATE or CREATE UNCHECKED4 without attributes.
    let open = |create: &[u32]| {
        let start = words(&[0, 0, 1, 18, 0, 1, 0, 0, 1, 1]);
        [start, b"o\0\0\0".to_vec(), words(create), words(&[0, 1]), b"f\0\0\0".to_vec()].concat()
    };
    // Status, tag, one result: OPEN4_OK, stateid, change_info (5, then 5 or 6), rflags, no attributes, no
    // delegation.
    let opened =
        |atomic: u32, after: u32| words(&[0, 0, 1, 18, 0, 1, 0, 0, 0, atomic, 0, 5, 0, after, 0, 0, 0]);
    let behind_status = 20;
    for (create, atomic, after, cut, whole) in [
        (&[0][..], 1, 5, Class::Unstable, Class::Unstable),
        (&[1, 0, 0, 0], 1, 6, Class::Unknown, Class::Stable),
        (&[1, 0, 0, 0], 1, 5, Class::Unknown, Class::Unstable),
        (&[1, 0, 0, 0], 0, 5, Class::Unknown, Class::Unstable),
        // GUARDED fails where the file exists, whatever becomes of the directory.
        (&[1, 1, 0, 0], 1, 5, Class::Stable, Class::Stable),
        // EXCLUSIVE succeeds when it is sent again, and leaves the directory as it is.
        (&[1, 2, 7, 7], 1, 5, Class::Unknown, Class::Unstable),
        (&[1, 2, 7, 7], 0, 5, Class::Unknown, Class::Stable),
        (&[1, 3, 7, 7, 0, 0], 0, 5, Class::Unknown, Class::Stable),
    ] {
        let (call, reply) = (open(create), opened(atomic, after));
        assert_eq!(class((NFS, 4, 1), &call, &reply, behind_status), cut, "{create:?}");
        assert_eq!(class((NFS, 4, 1), &call, &reply, reply.len()), whole, "{create:?}");
    }
    // A call that is cut before it says whether to create does not tell either.
    let (call, reply) = (open(&[0]), opened(1, 5));
    let cut = Cursor::of_prefix(&call[..28], call.len(), Reason::Truncated, Layer::Call);
    for kept in [behind_status, reply.len()] {
        let answer = Cursor::of_prefix(&reply[..kept], reply.len(), Reason::Truncated, Layer::Reply);
        let walk = Walk::of(Vec::new(), protocol(NFS, 4).shape, 1, Ok(cut.clone()), Some(Ok(answer)));
        assert_eq!(walk.outcome().class, Class::Unknown, "{kept}");
    }
}

/// A compound stops at the first operation that fails: its status, and how many results it counts, tell
/// what came of operations whose results are cut off.
#[test]
fn a_compound_that_failed_did_nothing_behind_the_operation_that_failed() {
    use Told::{ByCompound, ByReply, Failing, Nowhere};
    // No tag, minor version 1; PUTFH, REMOVE, GETATTR of nothing.
    let call =
        [words(&[0, 1, 3, 22, 4]), b"file".to_vec(), words(&[28, 1]), b"a\0\0\0".to_vec(), words(&[9, 0])];
    let call = call.concat();
    let walked = |call: &[u8], reply: &[u32], look: &dyn Fn(&Walk<'_>)| {
        let reply = words(reply);
        let call = Cursor::of_prefix(call, 100, Reason::Truncated, Layer::Call);
        let cut = Cursor::of_prefix(&reply, 100, Reason::Truncated, Layer::Reply);
        look(&Walk::of(Vec::new(), protocol(NFS, 4).shape, 1, Ok(call), Some(Ok(cut))));
    };
    for (reply, told, class, assumed) in [
        (&[][..], [Nowhere; 3], Class::Stable, true),
        (&[0], [ByCompound; 3], Class::Stable, false),
        (&[0, 0, 3, 22, 0], [ByReply, ByCompound, ByCompound], Class::Stable, false),
        (&[28, 0, 0], [Failing, Failing, ByReply], Class::Unknown, false), // as where no count is there
        (&[28], [Failing, Failing, ByReply], Class::Unknown, false),
        (&[10_008, 0, 1], [ByReply; 3], Class::Unstable, false),
        (&[28, 0, 2, 22, 0], [ByReply; 3], Class::Unstable, false),
        (&[22, 0, 3], [ByCompound, ByCompound, ByReply], Class::Stable, false),
        (&[28, 0, 4], [Failing, Failing, ByReply], Class::Unknown, false), // more results than operations
        (&[28, 0, u32::MAX], [Failing, Failing, ByReply], Class::Unknown, false),
    ] {
        walked(&call, reply, &|walk| {
            let came: Vec<Told> = walk.operations.iter().map(|done| done.told).collect();
            let outcome = walk.outcome();
            assert_eq!((&came[..], outcome.class, outcome.assumed), (&told[..], class, assumed), "{reply:?}");
        });
    }
    // One operation: it failed, or was not even tried.
    let one = words(&[0, 1, 1, 24]);
    walked(&one, &[10_004], &|walk| {
        assert_eq!((walk.operations[0].told, walk.outcome().assumed), (ByReply, false));
    });
    // Where the call is cut as well, the count of results is believed alone.
    walked(&call[..28], &[28, 0, 2, 22, 0], &|walk| {
        assert_eq!((walk.in_call, walk.operations.len(), walk.operations[1].told), (3, 2, ByReply));
    });
}

/// A GETATTR may stand before the CLOSE that the compound is about, a LOOKUP before an OPEN.
#[test]
fn the_main_operation_is_not_known_where_it_may_be_among_those_cut_off() {
    // No tag, minor version 1, and the number of operations.
    let calls = |operations: &[&[u32]]| {
        words(&[&[0, 1, operations.len() as u32], operations.concat().as_slice()].concat())
    };
    let (putfh, getattr, lookup, access) = (&[22, 0][..], &[9, 1, 0][..], &[15, 0][..], &[3, 0x1f][..]);
    let (close, remove, getfh) = (&[4, 0, 0, 0, 0, 0][..], &[28, 0][..], &[10][..]);
    let main = |call: &[u8], kept: usize, reply: &[u32]| {
        let reply = words(reply);
        let call = Cursor::of_prefix(&call[..kept], call.len(), Reason::Truncated, Layer::Call);
        let cut = Cursor::of_prefix(&reply, 1000, Reason::Truncated, Layer::Reply);
        let walk = Walk::of(Vec::new(), protocol(NFS, 4).shape, 1, Ok(call), Some(Ok(cut)));
        let Outcome { main, class, .. } = walk.outcome();
        (main.map(|main| walk.operations[main].operation.name), class)
    };
    let closing = calls(&[putfh, getattr, close]);
    // Behind the GETATTR, whose results are cut; all operations in the call; all in the reply.
    assert_eq!(main(&closing, 24, &[0, 0, 3, 22, 0, 9, 0]), (None, Class::Unknown));
    assert_eq!(main(&closing, closing.len(), &[0, 0, 3, 22, 0, 9, 0]), (Some("CLOSE"), Class::Unstable));
    assert_eq!(main(&closing, 24, &[0, 0, 3, 22, 0, 9, 0, 0, 0, 4, 0]), (Some("CLOSE"), Class::Unstable));
    // It failed, so that the reply does not name what was not executed: that changed nothing.
    assert_eq!(main(&calls(&[putfh, lookup, getfh]), 16, &[2, 0, 2, 22, 0, 15, 2]), (None, Class::Unstable));
    assert_eq!(main(&calls(&[putfh, access, getattr]), 16, &[0, 0, 3, 22, 0, 3, 0]), (None, Class::Unknown));
    // Nothing gives way to what comes behind an operation of the first rank.
    let removing = calls(&[putfh, remove, getattr]);
    assert_eq!(main(&removing, 16, &[0, 0, 3, 22, 0, 28, 0]), (Some("REMOVE"), Class::Stable));
    // A client that asks for a directory's attributes asks for a delegation of it on that occasion.
    let delegation = &[46, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..];
    let asking = calls(&[putfh, delegation, getattr]);
    assert_eq!(
        main(&asking, asking.len(), &[0, 0, 3, 22, 0, 46, 0, 1, 0, 9, 0]),
        (Some("GETATTR"), Class::Unstable)
    );
    // All operations are there, cut in the last one.
    assert_eq!(
        main(&calls(&[putfh, getattr]), 16, &[0, 0, 2, 22, 0, 9, 0]),
        (Some("GETATTR"), Class::Unstable)
    );
}

#[test]
fn an_operation_that_failed_for_certain_is_not_taken_for_a_success() {
    // EXCHANGE_ID, answered in the form of another program: NFS4ERR_NOENT, and a tag without its end.
    let call = [words(&[0, 2, 1, 42]), vec![0; 8], words(&[1]), b"o\0\0\0".to_vec(), words(&[0, 0, 0])];
    walk((NFS, 4, 1), &call.concat(), &words(&[2, 3, 3]), |walk| {
        assert_eq!(
            (walk.call_stop, walk.reply_stop.map(|stop| stop.reason)),
            (None, Some(Reason::Malformed))
        );
        let outcome = walk.outcome();
        assert_eq!((walk.status, outcome.class, outcome.assumed), (Some(2), Class::State, false));
    });
}

/// The number is defined, but the server knows it as little as one that is not: NFS-Ganesha answers
/// BACKCHANNEL_CTL so, others the operations of later minor versions.
#[test]
fn illegal_answers_what_the_server_does_not_support() {
    let call = words(&[0, 1, 2, 24, 9, 0]);
    let reply = |number: u32| words(&[10044, 0, 2, 24, 0, number, 10044]);
    walk((NFS, 4, 1), &call, &reply(10044), |walk| {
        assert_eq!((walk.call_stop, walk.reply_stop, walk.status), (None, None, Some(10044)));
        let [_, getattr] = &walk.operations[..] else { panic!() };
        assert_eq!((getattr.number, getattr.executed, getattr.facts.status), (9, true, Some(10044)));
    });
    walk((NFS, 4, 1), &call, &reply(10), |walk| {
        assert_eq!(walk.reply_stop.map(|stop| stop.reason), Some(Reason::Malformed));
    });
}

#[test]
fn a_remove_of_version_2_has_a_status_and_nothing_else() {
    let call = [HANDLE.as_slice(), &words(&[1]), b"a\0\0\0"].concat();
    walk((NFS, 2, 10), &call, &words(&[0]), |walk| {
        assert_eq!((walk.reply_stop, walk.status, walk.outcome().class), (None, Some(0), Class::Stable));
    });
}

#[test]
fn a_port_belongs_to_the_program_that_was_asked_for() {
    let expected = Service { program: 100_003, version: 3, protocol: 6, port: 12_049 };
    walk((PORTMAP, 2, 3), &words(&[100_003, 3, 6, 0]), &words(&[12_049]), |walk| {
        assert_eq!(walk.operations[0].facts.rare().services, [expected]);
        assert_eq!((walk.status, walk.reply_stop), (None, None));
    });
    walk((PORTMAP, 2, 3), &words(&[100_003, 3, 6, 0]), &words(&[70_000]), |walk| {
        assert_eq!(walk.reply_stop.unwrap().reason, Reason::Malformed);
    });
    let rpcb = [words(&[100_003, 3, 3]), b"tcp\0".to_vec(), words(&[0, 0])].concat();
    for (address, port) in [("10.0.0.1.47.17", 12_049), ("fd00:6::1.8.1", 2049), ("", 0), ("1.2.3.4.5", 1029)]
    {
        let mut reply = words(&[address.len() as u32]);
        reply.extend(address.as_bytes());
        reply.resize(reply.len().next_multiple_of(4), 0);
        walk((PORTMAP, 4, 3), &rpcb, &reply, |walk| {
            assert_eq!(walk.operations[0].facts.rare().services, [Service { port, ..expected }], "{address}");
        });
    }
    for nonsense in ["300.1", "a.b.c.d.e.f", ".1", "1.1"] {
        let mut reply = words(&[nonsense.len() as u32]);
        reply.extend(nonsense.as_bytes());
        reply.resize(reply.len().next_multiple_of(4), 0);
        walk((PORTMAP, 4, 3), &rpcb, &reply, |walk| {
            assert_eq!(
                walk.operations[0].facts.rare().services,
                [Service { port: 0, ..expected }],
                "{nonsense}"
            );
        });
    }
}

#[test]
fn a_lock_has_its_status_behind_the_cookie() {
    let call = [words(&[0, 1, 1]), words(&[1]), b"c\0\0\0".to_vec(), words(&[4]), b"file".to_vec()].concat();
    let call = [call, words(&[0, 7, 0, 100, 0, 10, 0, 0])].concat();
    walk((NLM_PROGRAM, 4, 2), &call, &words(&[0, 3]), |walk| {
        let facts = &walk.operations[0].facts;
        assert_eq!((walk.call_stop, walk.reply_stop, walk.status), (None, None, Some(3)));
        assert_eq!(
            (facts.handle, facts.offset, facts.rare().lock_type),
            (Some(&b"file"[..]), Some(100), Some(4))
        );
    });
}

#[test]
fn success_of_a_quota_is_zero_as_elsewhere() {
    let call = [words(&[1]), b"/\0\0\0".to_vec(), words(&[1000])].concat();
    let reply = words(&[1, 4096, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    walk((RQUOTA, 1, 1), &call, &reply, |walk| {
        assert_eq!((walk.status, walk.call_stop, walk.reply_stop), (Some(0), None, None));
    });
}

#[test]
fn bytes_left_over_are_told_and_what_came_before_is_kept() {
    let call = words(&[3, 0x0061_6263, 1]);
    walk((MOUNT, 3, 3), &call, &[], |walk| {
        let stop = walk.call_stop.unwrap();
        assert_eq!((stop.reason, stop.offset, stop.available), (Reason::Trailing, 8, 4));
        assert_eq!((walk.operations[0].facts.text, walk.reply_stop), (Some(&b"\0ab"[..]), None));
    });
    walk((NFS, 3, 0), &[], &words(&[0]), |walk| {
        assert_eq!(walk.reply_stop.unwrap().reason, Reason::Trailing);
    });
    // A compound without operations, and a word too many on both sides.
    walk((NFS, 4, 1), &words(&[0, 1, 0, 9]), &words(&[0, 0, 0, 9]), |walk| {
        assert_eq!(walk.call_stop.unwrap().reason, Reason::Trailing);
        assert_eq!(walk.reply_stop.unwrap().reason, Reason::Trailing);
    });
}

#[test]
fn an_emptied_list_keeps_its_memory() {
    let operations: Vec<Done<'_>> = Vec::with_capacity(7);
    assert_eq!(emptied(operations).capacity(), 7);
}

#[test]
fn what_is_only_counted_leaves_nothing_over() {
    walk((PORTMAP, 4, 12), &[], &words(&[1, 2, 3]), |walk| {
        assert_eq!((walk.call_stop, walk.reply_stop, walk.operations.len()), (None, None, 1));
    });
}

/// What a cursor that records reads goes number by number, and what others read, mostly at once.
#[test]
fn a_compound_is_walked_alike_at_once_and_step_by_step() {
    // No tag, minor version 1; PUTFH, GETFH, and RESTOREFH or one that no table has.
    let call = |last: u32| [words(&[0, 1, 3, 22, 4]), b"file".to_vec(), words(&[10, last])].concat();
    let reply = |status: u32, results: &[u32]| [words(&[status, 0, 3]), words(results)].concat();
    let replies = [
        reply(0, &[22, 0, 10, 0, 4, 0x6162_6364, 31, 0]),
        reply(10_020, &[22, 0, 10, 0, 4, 0x6162_6364, 31, 10_020]),
        reply(0, &[22, 0, 9, 0, 4, 0x6162_6364, 31, 0]),
        reply(0, &[22, 0, 77, 0, 4, 0x6162_6364, 31, 0]),
    ];
    let prefixes = |bytes: &[u8]| (0..=bytes.len()).map(|end| bytes[..end].to_vec()).collect::<Vec<_>>();
    for call in prefixes(&call(31)).into_iter().chain([call(99)]) {
        for (whole, part) in
            replies.iter().flat_map(|reply| prefixes(reply).into_iter().map(move |part| (reply.len(), part)))
        {
            let at_once = Walk::of(
                Vec::new(),
                protocol(NFS, 4).shape,
                1,
                Ok(Cursor::of_prefix(&call, 100, Reason::Missing, Layer::Call)),
                Some(Ok(Cursor::of_prefix(&part, whole, Reason::Truncated, Layer::Reply))),
            );
            let of_call = Recorder::new(&call, Vec::new());
            let of_reply = Recorder::new(&part, Vec::new());
            let by_steps = Walk::of(
                Vec::new(),
                protocol(NFS, 4).shape,
                1,
                Ok(Cursor::recording(&of_call, 100, Reason::Missing, Layer::Call)),
                Some(Ok(Cursor::recording(&of_reply, whole, Reason::Truncated, Layer::Reply))),
            );
            assert_eq!(format!("{at_once:?}"), format!("{by_steps:?}"));
        }
    }
}
