//! What the calls of one side that were answered tell of those that may come from it: where marks are lost,
//! a file's data may hold calls as well, which nobody made.
//!
//! A client counts its xids up (RFC 5531 section 9 demands only that they differ; Linux, the BSDs, Solaris
//! and others count), in the order of bytes of the network or of its own. Whoever does not is not judged by
//! them.

/// Answered calls in a row that go on with the count, from which on a side is known to count.
const IN_STEP: u8 = 3;

/// How far xids may lie behind or beside one another: calls are under way side by side, and answered in any
/// order.
const APART: u32 = 1024;

/// How far the count may have gone on since: calls that the capture lost.
const AHEAD: u32 = 1 << 20;

/// Answers from which on it is known who calls and who answers.
const ANSWERS: u8 = 2;

/// A side of a connection as it calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller {
    /// The xid that was answered last.
    last: u32,
    /// How many went on with the count, in a row.
    in_step: u8,
    /// The count is in the other order of bytes.
    swapped: bool,
    /// Answered calls, up to 255.
    answers: u8,
}

impl Caller {
    /// Takes the xid of a call that was answered.
    #[inline]
    pub fn answered(&mut self, xid: u32) {
        self.answers = self.answers.saturating_add(1);
        let beside = |one: u32, other: u32| one.wrapping_sub(other).wrapping_add(APART) <= 2 * APART;
        if beside(self.counted(xid), self.counted(self.last)) {
            self.in_step = self.in_step.saturating_add(1);
        } else {
            let swapped = beside(self.turned(xid), self.turned(self.last));
            self.swapped ^= swapped;
            self.in_step = u8::from(swapped);
        }
        self.last = xid;
    }

    /// Takes the xid of a reply whose call was not seen. One that does not go on with the count tells that
    /// this leads astray.
    pub fn answered_unseen(&mut self, xid: u32) {
        if self.goes_on(xid) {
            self.last = xid;
        } else {
            self.in_step = 0;
        }
    }

    /// Whether a call with this xid may come from this side.
    pub fn may_call(&self, xid: u32) -> bool {
        self.in_step < IN_STEP || self.goes_on(xid)
    }

    /// Whether calls come from this side: the other one answers them.
    pub fn calls(&self) -> bool {
        self.answers >= ANSWERS
    }

    fn goes_on(self, xid: u32) -> bool {
        self.counted(xid).wrapping_sub(self.counted(self.last)).wrapping_add(APART) <= APART + AHEAD
    }

    /// A place in the count.
    fn counted(self, xid: u32) -> u32 {
        if self.swapped { xid.swap_bytes() } else { xid }
    }

    /// The same in the other order of bytes.
    fn turned(self, xid: u32) -> u32 {
        if self.swapped { xid } else { xid.swap_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A side whose calls with these xids were answered.
    fn after(xids: impl IntoIterator<Item = u32>) -> Caller {
        let mut caller = Caller::default();
        xids.into_iter().for_each(|xid| caller.answered(xid));
        caller
    }

    #[test]
    fn who_counts_is_held_to_the_count_in_either_order_of_bytes() {
        for turn in [u32::to_be, u32::to_le, u32::swap_bytes] {
            let caller = after((0xfffe..0x1_0020).map(turn));
            for (xid, may) in [
                (0x1_0020, true),
                (0x1_0001, true),
                (0x1_8000, true),
                (0x4321_0020, false),
                (0xf000, false),
                (0x20_0000, false),
            ] {
                assert_eq!(caller.may_call(turn(xid)), may, "{xid:x}");
            }
        }
    }

    #[test]
    fn calls_side_by_side_are_answered_in_any_order() {
        let caller = after([5, 300, 7, 250, 8, 301, 302, 9, 10, 303]);
        assert!(!caller.may_call(0x7000_0000));
        assert!(caller.may_call(200));
    }

    #[test]
    fn who_does_not_count_is_not_held_to_it() {
        let caller = after((0..99_u32).map(|i| i.wrapping_mul(0x9e37_79b9)));
        assert!(caller.may_call(0x1234_5678));
        assert!(after([]).may_call(7) && !after([]).calls());
    }

    #[test]
    fn a_reply_out_of_the_count_takes_back_what_it_said() {
        let mut caller = after(100..200);
        caller.answered_unseen(5000);
        assert!(!caller.may_call(0x7000_0000), "the capture lost some, and the count went on");
        assert!(caller.may_call(5100));
        caller.answered_unseen(0x7000_0000);
        assert!(caller.may_call(0x7000_0001), "the count is elsewhere");
    }
}
