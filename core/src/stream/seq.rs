//! TCP sequence numbers, which count modulo 2^32 (RFC 9293 section 3.4).

/// A TCP sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// The number `length` bytes further on.
    #[must_use]
    pub fn advance(self, length: usize) -> Self {
        Self(self.0.wrapping_add(length as u32))
    }

    /// How far this number is ahead of `other`; negative when it is behind.
    ///
    /// Right as long as both are within 2 GiB of each other, which TCP's window guarantees.
    pub fn ahead_of(self, other: Self) -> i64 {
        i64::from(self.0.wrapping_sub(other.0).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_across_the_wrap() {
        let before = SeqNumber(u32::MAX - 1);
        let after = before.advance(4);
        assert_eq!(after, SeqNumber(2));
        assert_eq!(after.ahead_of(before), 4);
        assert_eq!(before.ahead_of(after), -4);
    }
}
