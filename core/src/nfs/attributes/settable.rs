//! What `sattr` of NFSv2 and `sattr3` set, as the bitmap by which NFSv4 says the same.

use super::MASK_WORDS;

/// An attribute that a client of NFSv2 or NFSv3 can set, by its number in NFSv4 (RFC 8881 sections 5.7
/// and 5.8). One form for all versions lets the tables have one column for it.
#[derive(Clone, Copy)]
pub enum Settable {
    /// `size`.
    Size = 4,
    /// `mode`.
    Mode = 33,
    /// `owner`, here a number.
    Owner = 36,
    /// `owner_group`, here a number.
    OwnerGroup = 37,
    /// `time_access_set`: to the server's clock, or to a time that follows.
    TimeAccessSet = 48,
    /// `time_modify_set`, likewise.
    TimeModifySet = 54,
}

impl Settable {
    /// The bitmap that holds those of which it is true that they are set.
    #[inline]
    pub fn mask<const N: usize>(all: [(Self, bool); N]) -> [u32; MASK_WORDS] {
        let bits = all.iter().fold(0, |bits, &(which, set)| bits | u64::from(set) << which as u32);
        [bits as u32, (bits >> u32::BITS) as u32, 0]
    }
}
