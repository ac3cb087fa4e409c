//! Where a damaged file goes on.
//!
//! A byte that is wrong in the header of one packet hides all those behind it, unless the next header is
//! looked for. It is known by what follows: packets lie one behind the other without a gap, so that the
//! length in each header leads to another header. Bytes of a file that look like packets (a capture that
//! was copied to the mount) lead on for a packet of the outer capture at most.
//!
//! Takes the bytes behind the damage; gives the place from which on they are to be read, if there is one.
//! Looks at each place twice at most: what is there can be anything.

/// Places that are looked at together, of [`LOOKED_AT`] bytes.
pub(super) const SEARCHED: usize = 128 << 10;

/// Bytes that are looked at together, unless the file ends before.
pub(super) const LOOKED_AT: usize = 2 * SEARCHED;

/// Times that a file is taken up again; what is damaged more often is no capture any more.
pub(super) const LIMIT: u64 = 500;

/// Packets in a row, at least, and where they lead to the end of what is looked at: there each may be
/// large.
const ROW: usize = 4;
const ROW_TO_THE_END: usize = 2;

/// What may begin at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    /// Nothing that can be.
    Nothing,
    /// A packet or block of this length, headers included.
    Whole(usize),
    /// One that ends behind the bytes that are there.
    Open,
}

/// Length of the longest of the packets that follow one another from the first byte on.
pub(super) fn longest(bytes: &[u8], guess: impl Fn(&[u8]) -> Guess) -> usize {
    let (mut at, mut longest) = (0, 0);
    while let Guess::Whole(length) = guess(bytes.get(at..).unwrap_or_default()) {
        longest = longest.max(length);
        at = at.saturating_add(length.max(1));
    }
    longest
}

/// Packets one behind the other.
struct Row {
    begin: usize,
    length: usize,
    /// Length of the longest of them.
    longest: usize,
    /// They lead to the end of what is looked at.
    to_the_end: bool,
}

/// Looks for the place where packets follow one another again.
///
/// `bytes` are [`LOOKED_AT`], or all that are left of the file (`rest`). It is the first from which they
/// lead to the end of these, or over more bytes than any packet has, of those before the damage (`usual`)
/// too, and one of their own: those in the data of a packet cannot.
pub(super) fn find(bytes: &[u8], rest: bool, usual: usize, guess: impl Fn(&[u8]) -> Guess) -> Option<usize> {
    let searched = if rest { bytes.len() } else { bytes.len().min(SEARCHED) };
    let mut seen = Seen::new(bytes.len());
    let rows: Vec<Row> =
        (0..searched).filter_map(|begin| row(bytes, begin, rest, &mut seen, &guess)).collect();
    let longest = rows.iter().map(|row| row.longest).chain([usual]).max()?;
    rows.iter().find(|row| row.to_the_end || row.length > longest + row.longest).map(|row| row.begin)
}

/// The row that begins here, if there is one, and it is not the rest of one that was found before.
fn row(
    bytes: &[u8],
    begin: usize,
    rest: bool,
    seen: &mut Seen,
    guess: impl Fn(&[u8]) -> Guess,
) -> Option<Row> {
    let (mut at, mut packets, mut longest) = (begin, 0, 0);
    let open = loop {
        let found = guess(bytes.get(at..).unwrap_or_default());
        // Nearly nowhere something begins: those places need no note.
        if found == Guess::Nothing || seen.insert(at) {
            break false;
        }
        let Guess::Whole(length) = found else { break true };
        packets += 1;
        longest = longest.max(length);
        at = at.saturating_add(length.max(1));
        if at >= bytes.len() {
            break true;
        }
    };
    let ends_with_the_file = rest && packets > 0 && at == bytes.len();
    let to_the_end = open && (packets >= ROW_TO_THE_END || ends_with_the_file);
    (to_the_end || packets >= ROW).then_some(Row { begin, length: at - begin, longest, to_the_end })
}

/// Places that were looked at.
struct Seen(Vec<u64>);

impl Seen {
    fn new(places: usize) -> Self {
        Self(vec![0; places / 64 + 1])
    }

    /// Notes a place; true if it was there.
    fn insert(&mut self, place: usize) -> bool {
        let Some(word) = self.0.get_mut(place / 64) else { return false };
        let bit = 1 << (place % 64);
        let before = *word & bit != 0;
        *word |= bit;
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record is its length in one byte, and then so many zeros less one; zeros are none.
    fn guess(bytes: &[u8]) -> Guess {
        match bytes {
            [0, ..] | [] => Guess::Nothing,
            [length, ..] if usize::from(*length) <= bytes.len() => Guess::Whole(usize::from(*length)),
            _ => Guess::Open,
        }
    }

    fn records(lengths: &[u8]) -> Vec<u8> {
        let record =
            |length: &u8| std::iter::once(*length).chain(std::iter::repeat_n(0, usize::from(*length) - 1));
        lengths.iter().flat_map(record).collect()
    }

    #[test]
    fn the_first_place_from_which_records_lead_to_the_end_is_found() {
        let bytes = [&[0; 7][..], &records(&[5, 9, 3])].concat();
        assert_eq!(find(&bytes, true, 0, guess), Some(7));
        assert_eq!(find(&bytes[..13], false, 0, guess), None, "one of them proves nothing");
        let bytes = [&[0; 7][..], &records(&[5, 9, 3, 8, 200])[..100]].concat();
        assert_eq!(find(&bytes, true, 0, guess), Some(7), "the last one is cut");
    }

    #[test]
    fn so_is_the_first_from_which_they_lead_over_more_than_a_record() {
        let inner = records(&[4; 30]);
        let outer = [&[200][..], &inner, &[0; 79]].concat();
        let rows = [&[0; 3][..], &inner, &[0; 9], &outer, &records(&[199, 100]), &outer, &[0; 50]];
        assert_eq!(find(&rows.concat(), true, 0, guess), Some(3 + 120 + 9), "not what stands in a record");
        let rows =
            [&[0; 2][..], &records(&[3; 5]), &[0; 5], &records(&[4; 20]), &[0; 7], &records(&[9; 30]), &[0]];
        assert_eq!(find(&rows.concat(), true, 0, guess), Some(2), "however far others lead");
        assert_eq!(find(&rows.concat(), true, 200, guess), Some(2 + 15 + 5 + 80 + 7), "or are usual");
        assert_eq!(longest(&rows.concat()[2..], guess), 3);
        let few = [&[0; 3][..], &records(&[5, 9, 3]), &[0; 50]].concat();
        assert_eq!(find(&few, true, 0, guess), None);
    }

    #[test]
    fn any_bytes_are_looked_at_twice_at_most() {
        let calls = std::cell::Cell::new(0);
        let bytes = vec![1; LOOKED_AT];
        let counted = |bytes: &[u8]| {
            calls.set(calls.get() + 1);
            if bytes.len().is_multiple_of(1_000) { Guess::Nothing } else { guess(bytes) }
        };
        assert!(find(&bytes, false, 0, counted).is_some());
        assert!(calls.get() <= 2 * LOOKED_AT);
    }
}
