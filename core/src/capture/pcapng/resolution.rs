//! How an interface counts time.

pub(super) const NS_PER_S: i64 = 1_000_000_000;

/// How an interface's ticks become nanoseconds.
#[derive(Clone, Copy)]
pub(super) enum Resolution {
    /// Ticks of `n` nanoseconds.
    Times(u64),
    /// `n` ticks in a nanosecond.
    Over(u64),
    /// Ticks of 2^-n seconds.
    Binary(u8),
}

impl Resolution {
    /// Of the option `if_tsresol`: the top bit says base 2, the others are the negative exponent.
    pub(super) fn of_option(value: u8) -> Self {
        let exponent = value & 0x7f;
        if value & 0x80 != 0 {
            Self::Binary(exponent)
        } else if exponent <= 9 {
            Self::Times(10_u64.pow(u32::from(9 - exponent)))
        } else {
            // Where the divisor is no u64, every u64 of ticks is less than a nanosecond.
            10_u64.checked_pow(u32::from(exponent - 9)).map_or(Self::Times(0), Self::Over)
        }
    }

    /// Digits of a second's fraction that tell as much, down to nanoseconds.
    pub(super) fn decimals(self) -> u8 {
        match self {
            Self::Times(factor) => 9 - factor.checked_ilog10().unwrap_or(0).min(9) as u8,
            Self::Over(_) | Self::Binary(_) => 9,
        }
    }

    #[inline]
    pub(super) fn nanoseconds(self, ticks: u64) -> i64 {
        let ns = match self {
            Self::Times(factor) => ticks.saturating_mul(factor),
            rare => rare.divided(ticks),
        };
        i64::try_from(ns).unwrap_or(i64::MAX)
    }

    #[cold]
    #[inline(never)]
    fn divided(self, ticks: u64) -> u64 {
        match self {
            Self::Times(factor) => ticks.saturating_mul(factor),
            Self::Over(divisor) => ticks / divisor,
            // At most 2^64 × 2^30, so the product fits; the shift is at most 127.
            Self::Binary(exponent) => {
                u64::try_from((u128::from(ticks) * u128::from(NS_PER_S.unsigned_abs())) >> exponent)
                    .unwrap_or(u64::MAX)
            }
        }
    }
}
