//! Verifiers that clients make up, and the times in which servers keep those of exclusive creates.
//!
//! BSD and macOS put an address of theirs into the verifier of an exclusive create. Until the client sets a
//! file's times, many servers keep the verifier's two words there (RFC 1813 section 3.3.8): each as the seconds
//! of a time, or both as seconds and fraction; some in the order of bytes of their processor, most without the
//! highest bit. So seconds that may be such a word become others.
//!
//! Memory is two times [`WORDS_LIMIT`] words.

use std::mem;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::pseudonyms::Pseudonyms;

/// Words remembered at least: the latest. A file's times are set soon after its create.
const WORDS_LIMIT: usize = 1 << 20;

/// Below it, read in either order, a word is a count or the number of a process, and nobody's address: no host
/// has one that begins with `0.0`, nor as a rule one that ends so.
const LEAST: u32 = 1 << 16;

/// The bit that servers clear, since seconds with it lie before 1970 for many.
const HIGHEST: u32 = 1 << 31;

/// The words of the verifiers of exclusive creates.
#[derive(Default)]
pub(super) struct Verifiers {
    recent: HashSet<u32, RandomState>,
    /// Those that were recent before.
    older: HashSet<u32, RandomState>,
    /// The last seconds may have been a word.
    kept: bool,
}

impl Verifiers {
    /// What is told of the verifier of an exclusive create, whose words are looked for in times from now on.
    pub(super) fn create(&mut self, pseudonyms: &Pseudonyms, verifier: &[u8], to: &mut [u8]) {
        for word in verifier.as_chunks::<4>().0 {
            self.remember(u32::from_be_bytes(*word));
        }
        pseudonyms.verifier(verifier, to);
    }

    /// What is told of the seconds of a time; gives whether that is something else.
    pub(super) fn seconds(&mut self, pseudonyms: &mut Pseudonyms, value: &[u8], to: &mut [u8]) -> bool {
        to.copy_from_slice(value);
        // Those of NFSv4 have 64 bits; a word is in the lower ones.
        let low = to.last_chunk_mut::<4>();
        self.kept = low.is_some_and(|low| {
            let seconds = u32::from_be_bytes(*low);
            let kept = self.holds(seconds);
            if kept {
                *low = pseudonyms.seconds(seconds).to_be_bytes();
            }
            kept
        });
        self.kept
    }

    /// What is told of the fraction that belongs to the last seconds.
    pub(super) fn fraction(&mut self, pseudonyms: &Pseudonyms, value: &[u8], to: &mut [u8]) {
        to.copy_from_slice(value);
        if mem::take(&mut self.kept)
            && let Some(fraction) = to.first_chunk_mut::<4>().filter(|fraction| **fraction != [0; 4])
        {
            *fraction = pseudonyms.fraction(u32::from_be_bytes(*fraction)).to_be_bytes();
        }
    }

    fn remember(&mut self, word: u32) {
        if word < LEAST || word.swap_bytes() < LEAST {
            return;
        }
        if self.recent.len() >= WORDS_LIMIT && !self.recent.contains(&word) {
            self.older = mem::take(&mut self.recent);
        }
        self.recent.insert(word);
    }

    /// Whether these seconds may be one of the words.
    fn holds(&self, seconds: u32) -> bool {
        if self.recent.is_empty() {
            return false;
        }
        let whole = seconds | HIGHEST;
        let words = [seconds, whole, seconds.swap_bytes(), whole.swap_bytes()];
        words.iter().any(|word| self.recent.contains(word) || self.older.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pseudonyms::KEY_LENGTH;
    use super::*;

    /// What BSD makes up at 10.9.0.200, and macOS, whose words stand the other way round.
    const BSD: [u8; 8] = [10, 9, 0, 200, 0, 0, 0, 1];
    const MACOS: [u8; 8] = [200, 0, 9, 10, 0, 0, 0, 1];

    struct Both(Pseudonyms, Verifiers);

    impl Both {
        fn new() -> Self {
            Self(Pseudonyms::new([7; KEY_LENGTH], true), Verifiers::default())
        }

        fn create(&mut self, verifier: [u8; 8]) -> [u8; 8] {
            let mut to = [0; 8];
            self.1.create(&self.0, &verifier, &mut to);
            to
        }

        fn time<const N: usize>(&mut self, seconds: [u8; N], fraction: u32) -> ([u8; N], u32) {
            let (mut to, mut to_fraction) = ([0; N], [0; 4]);
            self.1.seconds(&mut self.0, &seconds, &mut to);
            self.1.fraction(&self.0, &fraction.to_be_bytes(), &mut to_fraction);
            (to, u32::from_be_bytes(to_fraction))
        }
    }

    #[test]
    fn equal_verifiers_are_told_alike_and_no_word_of_them_stays() {
        let (mut one, mut other) = (Both::new(), Both::new());
        let told = one.create(BSD);
        assert_eq!([one.create(BSD), other.create(BSD)], [told; 2]);
        assert_ne!(one.create([10, 9, 0, 200, 0, 0, 0, 2])[..4], told[..4]);
        assert!(told[..4] != BSD[..4] && told[4..] != BSD[4..]);
    }

    #[test]
    fn a_time_in_which_a_server_keeps_a_word_is_told_as_another() {
        for verifier in [BSD, MACOS] {
            let mut both = Both::new();
            // In either order of bytes, with and without the highest bit.
            let kept = [[10, 9, 0, 200], [200, 0, 9, 10], [72, 0, 9, 10]];
            for seconds in kept {
                assert_eq!(both.time(seconds, 5), (seconds, 5), "before the create it is a time");
            }
            both.create(verifier);
            let told = kept.map(|seconds| {
                let (told, fraction) = both.time(seconds, 5);
                assert!(told != seconds && told[0] < 128 && fraction != 5 && fraction < 1_000_000_000);
                assert_eq!((both.time(seconds, 5), both.time(seconds, 0)), ((told, fraction), (told, 0)));
                told
            });
            assert!(told[0] != told[1] && told[1] != told[2] && told[0] != told[2]);
            // NFSv4 has 64 bits, in which the word may be a number below 0.
            for high in [0, 255] {
                let (seconds, fraction) = both.time([high, high, high, high, 200, 0, 9, 10], 0);
                assert_eq!((&seconds[4..], fraction), (&told[1][..], 0));
                assert_eq!(seconds[..4], [high; 4]);
            }
        }
    }

    #[test]
    fn other_times_stay() {
        let mut both = Both::new();
        both.create(BSD);
        // A moment of 2026, one second beside a word, none, and the count that is the other word.
        for seconds in [1_780_000_000, 0x0a09_00c9, 0, 1, 1 << 24] {
            let seconds = u32::to_be_bytes(seconds);
            assert_eq!(both.time(seconds, 1), (seconds, 1));
        }
        // The fraction of a time goes with its own seconds alone.
        assert_ne!(both.time([10, 9, 0, 200], 7).1, 7);
        assert_eq!(both.time([10, 9, 0, 201], 7).1, 7);
    }

    #[test]
    fn the_latest_words_are_known_however_many_there_were() {
        let mut verifiers = Verifiers::default();
        for word in 0..2 * WORDS_LIMIT as u32 + 9 {
            verifiers.remember(0x4000_0001 + (word << 1));
        }
        let last = 0x4000_0001 + (2 * WORDS_LIMIT as u32 + 8) * 2;
        assert!(verifiers.holds(last) && verifiers.holds(last - 2 * WORDS_LIMIT as u32));
        assert!(!verifiers.holds(0x4000_0001));
        assert!(verifiers.recent.len() + verifiers.older.len() <= 2 * WORDS_LIMIT);
    }
}
