//! Names and numbers → others of the same form, by a key.
//!
//! Equal values get equal pseudonyms, also in another capture with the same key; different values get
//! different ones. A pseudonym has the length of its original and nothing that a path or XDR could
//! stumble over. Without the key nothing leads back: all of them come from BLAKE3 with a key.
//!
//! Short values have few possible pseudonyms, so those are dealt out by a shuffle, of which no two
//! are the same. Long ones are hashes; should two meet within a capture, the later one takes the next.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::extensions;

/// The bytes of a key.
pub const KEY_LENGTH: usize = 32;

/// Letters of pseudonyms: 64, so that a byte chooses one without a remainder.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Up to this length the pseudonyms of names are dealt out: 64³ fit into a megabyte.
const SHORT_NAME: usize = 3;

/// How clients call a file that is removed while it is open: so, and a hexadecimal number behind it (24 digits on
/// Linux, fewer and dots on other systems).
const SILLY: &[u8] = b".nfs";

/// Up to this number of decimal digits those of users and groups are.
const SHORT_NUMBER: u32 = 5;

/// Hashed pseudonyms remembered, so that no two are the same. Beyond it two might be.
const TAKEN_LIMIT: usize = 1 << 22;

/// Pseudonyms tried for a value whose first one is taken.
const ATTEMPTS: u8 = 16;

/// Users that every system has, and values that stand for none: they stay.
const COMMON_USERS: [u32; 4] = [0, 65_534, u32::MAX - 1, u32::MAX];

/// What tells the pseudonyms of one kind from those of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Domain {
    Name = 1,
    Number,
    Handle,
    Token,
    Hardware,
    Ipv4,
    Ipv6,
    Silly,
    Verifier,
    Seconds,
    Fraction,
}

/// The key, and what was dealt out by it.
pub(super) struct Pseudonyms {
    key: [u8; KEY_LENGTH],
    /// Neither endings of names nor dots before them are kept.
    strict: bool,
    /// By kind and number of values, a permutation of them.
    shuffles: HashMap<(Domain, u32), Box<[u32]>, RandomState>,
    /// By a hash of the pseudonym, one of the original.
    taken: HashMap<u64, u64, RandomState>,
    hasher: RandomState,
}

impl Pseudonyms {
    pub(super) fn new(key: [u8; KEY_LENGTH], strict: bool) -> Self {
        let hasher = RandomState::default();
        Self { key, strict, shuffles: HashMap::default(), taken: HashMap::default(), hasher }
    }

    /// One component of a path, with its ending.
    pub(super) fn name(&mut self, name: &[u8], to: &mut [u8]) {
        if matches!(name, b"." | b"..") {
            to.copy_from_slice(name);
            return;
        }
        if !self.strict && is_silly(name) {
            self.silly(name, to);
            return;
        }
        let (dots, ending) = if self.strict {
            (0, 0)
        } else {
            let dots = name.iter().take_while(|byte| **byte == b'.').count();
            (dots, extensions::ending(name.get(dots..).unwrap_or_default()))
        };
        let end = name.len() - ending;
        to.copy_from_slice(name);
        if let (Some(name), Some(to)) = (name.get(dots..end), to.get_mut(dots..end)) {
            self.word(name, to);
        }
    }

    /// The name of a file that was removed while open: still one, with other digits.
    fn silly(&mut self, name: &[u8], to: &mut [u8]) {
        for attempt in 0..ATTEMPTS {
            self.hash(Domain::Silly, &[&[attempt], name], to);
            for (to, byte) in to.iter_mut().zip(name) {
                let digit = b"0123456789abcdef".get(usize::from(*to & 15)).copied().unwrap_or(b'0');
                *to = if byte.is_ascii_hexdigit() { digit } else { *byte };
            }
            if let (Some(to), Some(prefix)) = (to.get_mut(..SILLY.len()), name.get(..SILLY.len())) {
                to.copy_from_slice(prefix);
            }
            if self.take(Domain::Silly, to, name) {
                break;
            }
        }
    }

    /// Components between slashes, which stay.
    pub(super) fn path(&mut self, path: &[u8], to: &mut [u8]) {
        let mut at = 0;
        to.fill(b'/');
        for component in path.split(|byte| *byte == b'/') {
            if let Some(to) = to.get_mut(at..at + component.len()) {
                self.name(component, to);
            }
            at += component.len() + 1;
        }
    }

    /// Words between dots, which stay: a host and its domain.
    pub(super) fn labels(&mut self, text: &[u8], to: &mut [u8]) {
        let mut at = 0;
        to.fill(b'.');
        for label in text.split(|byte| *byte == b'.') {
            if let Some(to) = to.get_mut(at..at + label.len()) {
                self.word(label, to);
            }
            at += label.len() + 1;
        }
    }

    /// A user or a group as NFSv4 names it: `name@domain`, or its number.
    pub(super) fn principal(&mut self, text: &[u8], to: &mut [u8]) {
        if extensions::EVERYBODY.contains(&text) {
            to.copy_from_slice(text);
        } else if let Some(number) = decimal(text) {
            let number = self.user(number).to_string();
            copy(number.as_bytes(), to);
        } else if let Some(sign) = text.iter().rposition(|byte| *byte == b'@') {
            let (name, domain) = text.split_at(sign);
            if let Some((to_name, [at, to_domain @ ..])) = to.split_at_mut_checked(sign) {
                *at = b'@';
                self.word(name, to_name);
                self.labels(domain.get(1..).unwrap_or_default(), to_domain);
            }
        } else {
            self.word(text, to);
        }
    }

    /// A number of a user or a group, with as many digits.
    pub(super) fn user(&mut self, id: u32) -> u32 {
        if COMMON_USERS.contains(&id) {
            return id;
        }
        let digits = id.ilog10() + 1;
        let least = 10_u32.pow(digits - 1);
        // Of ten digits there are fewer, and the last are common.
        let count = if digits == 10 { u32::MAX - 1 - least } else { 9 * least };
        if digits <= SHORT_NUMBER {
            let shuffle = self.shuffle(Domain::Number, count);
            let mut number = id;
            // Where a common one is met, it goes on from there, which leads two values never to the same.
            for _ in 0..=COMMON_USERS.len() {
                number = least + shuffle.get((number - least) as usize).copied().unwrap_or(0);
                if !COMMON_USERS.contains(&number) {
                    break;
                }
            }
            return number;
        }
        let original = id.to_be_bytes();
        for attempt in 0..ATTEMPTS {
            let mut hash = [0; 8];
            self.hash(Domain::Number, &[&[attempt], &original], &mut hash);
            let number = least + (u64::from_be_bytes(hash) % u64::from(count)) as u32;
            let free = !COMMON_USERS.contains(&number);
            if free && self.take(Domain::Number, &number.to_be_bytes(), &original) {
                return number;
            }
        }
        least
    }

    /// Text that is only ever compared.
    pub(super) fn token(&self, token: &[u8], to: &mut [u8]) {
        self.hash(Domain::Token, &[token], to);
        spell(to);
    }

    /// Bytes that are only ever compared.
    pub(super) fn handle(&self, handle: &[u8], to: &mut [u8]) {
        self.hash(Domain::Handle, &[handle], to);
    }

    /// Bytes that a client made up, and that are only ever compared.
    pub(super) fn verifier(&self, verifier: &[u8], to: &mut [u8]) {
        self.hash(Domain::Verifier, &[verifier], to);
    }

    /// Seconds since 1970 that are no time: others, with which every server could do.
    pub(super) fn seconds(&mut self, seconds: u32) -> u32 {
        let original = seconds.to_be_bytes();
        let mut other = 0;
        for attempt in 0..ATTEMPTS {
            let mut hash = [0; 4];
            self.hash(Domain::Seconds, &[&[attempt], &original], &mut hash);
            other = u32::from_be_bytes(hash) >> 1;
            if self.take(Domain::Seconds, &other.to_be_bytes(), &original) {
                break;
            }
        }
        other
    }

    /// Nanoseconds behind such seconds.
    pub(super) fn fraction(&self, fraction: u32) -> u32 {
        let mut hash = [0; 4];
        self.hash(Domain::Fraction, &[&fraction.to_be_bytes()], &mut hash);
        u32::from_be_bytes(hash) % 1_000_000_000
    }

    /// A word without structure.
    fn word(&mut self, word: &[u8], to: &mut [u8]) {
        let short = word.get(..SHORT_NAME).is_none_or(|start| start == word);
        let places: Option<Vec<u32>> =
            if short { word.iter().map(|byte| place(*byte)).collect() } else { None };
        match places {
            Some(places) => {
                let count = 1 << (6 * places.len());
                let number = places.iter().fold(0, |number, place| number << 6 | place);
                let shuffle = self.shuffle(Domain::Name, count);
                let mut dealt = shuffle.get(number as usize).copied().unwrap_or(0);
                for to in to.iter_mut().rev() {
                    *to = letter(dealt);
                    dealt >>= 6;
                }
            }
            None => {
                for attempt in 0..ATTEMPTS {
                    self.hash(Domain::Name, &[&[attempt], word], to);
                    spell(to);
                    // Short words of other letters must not meet those that are dealt out.
                    if let (true, Some(first)) = (to.len() <= SHORT_NAME, to.first_mut()) {
                        *first = b'~';
                    }
                    if self.take(Domain::Name, to, word) {
                        break;
                    }
                }
            }
        }
    }

    /// Whether a pseudonym was free, or had been given to the same original.
    fn take(&mut self, domain: Domain, pseudonym: &[u8], original: &[u8]) -> bool {
        let pseudonym = self.hasher.hash_one((domain, pseudonym));
        let original = self.hasher.hash_one((domain, original));
        if self.taken.len() >= TAKEN_LIMIT {
            return self.taken.get(&pseudonym).is_none_or(|taken| *taken == original);
        }
        *self.taken.entry(pseudonym).or_insert(original) == original
    }

    /// The permutation of so many values.
    fn shuffle(&mut self, domain: Domain, count: u32) -> &[u32] {
        let key = &self.key;
        self.shuffles.entry((domain, count)).or_insert_with(|| shuffled(key, domain, &[], count).into())
    }

    /// The place that one of a few values gets by a shuffle that depends on what came before it.
    pub(super) fn dealt(&self, domain: Domain, before: &[u8], place: usize, count: u32) -> u32 {
        shuffled(&self.key, domain, before, count).get(place).copied().unwrap_or(0)
    }

    /// Fills `to` with the hash of these parts.
    pub(super) fn hash(&self, domain: Domain, parts: &[&[u8]], to: &mut [u8]) {
        reader(&self.key, domain, parts).fill(to);
    }
}

fn reader(key: &[u8; KEY_LENGTH], domain: Domain, parts: &[&[u8]]) -> blake3::OutputReader {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&[domain as u8]);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize_xof()
}

/// A permutation of the numbers below `count` (Fisher and Yates).
fn shuffled(key: &[u8; KEY_LENGTH], domain: Domain, before: &[u8], count: u32) -> Vec<u32> {
    let mut random = reader(key, domain, &[b"shuffle", &count.to_le_bytes(), before]);
    let mut values: Vec<u32> = (0..count).collect();
    for place in (1..values.len()).rev() {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        // The remainder favours no value by more than one part in 2^40.
        values.swap(place, (u64::from_le_bytes(bytes) % (place as u64 + 1)) as usize);
    }
    values
}

/// Makes letters of bytes.
fn spell(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = letter(u32::from(*byte));
    }
}

fn letter(number: u32) -> u8 {
    LETTERS.get((number & 63) as usize).copied().unwrap_or(b'_')
}

fn place(byte: u8) -> Option<u32> {
    LETTERS.iter().position(|letter| *letter == byte).map(|place| place as u32)
}

fn is_silly(name: &[u8]) -> bool {
    let number = name.strip_prefix(SILLY).unwrap_or_default();
    let digits = number.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'.');
    digits && (4..=32).contains(&number.len())
}

/// A number as text, in the only form that it has.
fn decimal(text: &[u8]) -> Option<u32> {
    let number: u32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}

/// Copies text of the same length; anything else would not be length-preserving, and is left out.
pub(super) fn copy(text: &[u8], to: &mut [u8]) {
    if text.len() == to.len() {
        to.copy_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn pseudonyms(strict: bool) -> Pseudonyms {
        Pseudonyms::new([7; KEY_LENGTH], strict)
    }

    fn name(pseudonyms: &mut Pseudonyms, text: &str) -> String {
        let mut to = vec![0; text.len()];
        pseudonyms.name(text.as_bytes(), &mut to);
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn equal_names_get_equal_pseudonyms_of_their_length() {
        let (mut one, mut other) = (pseudonyms(false), pseudonyms(false));
        for text in ["a", "xy", "src", "Makefile", "grüße.txt", "a name with blanks.tar.gz", ".profile", "~"]
        {
            let first = name(&mut one, text);
            assert_eq!(first, name(&mut other, text));
            assert_eq!(first.len(), text.len());
            assert!(!first.contains('/') && !first.contains('\0'));
        }
        assert_ne!(name(&mut one, "Makefile"), name(&mut Pseudonyms::new([8; 32], false), "Makefile"));
    }

    #[test]
    fn different_names_get_different_pseudonyms() {
        let mut pseudonyms = pseudonyms(false);
        let mut seen = HashSet::new();
        let mut names = 0;
        for a in 'a'..='z' {
            for b in 'a'..='z' {
                for text in [a.to_string(), format!("{a}{b}"), format!("{a}{b}{a}"), format!("{a}{b}{b}{a}")]
                {
                    if b == 'a' || text.len() > 1 {
                        names += 1;
                        seen.insert(name(&mut pseudonyms, &text));
                    }
                }
            }
        }
        for number in 0..100_000 {
            names += 1;
            seen.insert(name(&mut pseudonyms, &format!("f{number:05}")));
        }
        assert_eq!(seen.len(), names);
    }

    #[test]
    fn endings_and_dots_stay_unless_strict() {
        let mut lax = pseudonyms(false);
        let first = name(&mut lax, "thesis.tar.gz");
        assert!(first.ends_with(".tar.gz") && !first.contains("thesis"), "{first}");
        assert!(name(&mut lax, ".profile").starts_with('.'));
        assert!(!name(&mut lax, "letter.johnson").contains('.'), "only endings that are known");
        assert_eq!([name(&mut lax, "."), name(&mut lax, "..")], [".", ".."]);
        assert!(!name(&mut pseudonyms(true), ".thesis.tar.gz").contains('.'));
    }

    #[test]
    fn a_name_that_a_client_made_up_stays_one_with_another_number() {
        let mut lax = pseudonyms(false);
        let mut seen = HashSet::new();
        for number in 0..1000 {
            let silly = format!(".nfs{:016x}{number:08x}", 77);
            let other = name(&mut lax, &silly);
            assert!(is_silly(other.as_bytes()) && other.len() == silly.len() && other != silly, "{other}");
            assert_eq!(other, name(&mut lax, &silly));
            seen.insert(other);
        }
        assert_eq!(seen.len(), 1000);
        let other = name(&mut lax, ".nfsA04.12");
        assert!(is_silly(other.as_bytes()) && other.as_bytes()[7] == b'.', "{other}");
        assert!(!is_silly(name(&mut lax, ".nfs-notes").as_bytes()));
        assert!(!is_silly(name(&mut lax, ".nfs12").as_bytes()));
        assert!(!is_silly(name(&mut pseudonyms(true), ".nfs0000000000000001").as_bytes()));
    }

    #[test]
    fn a_path_is_made_of_the_pseudonyms_of_its_components() {
        let mut pseudonyms = pseudonyms(false);
        let mut to = vec![0; b"../src/main.c".len()];
        pseudonyms.path(b"../src/main.c", &mut to);
        let expected = format!("../{}/{}", name(&mut pseudonyms, "src"), name(&mut pseudonyms, "main.c"));
        assert_eq!(String::from_utf8(to).unwrap(), expected);
    }

    #[test]
    fn users_keep_their_digits_and_are_not_confused() {
        let mut pseudonyms = pseudonyms(false);
        let ids = (0..70_000).chain(100_000..110_000).chain([4_000_000_000, u32::MAX - 1, u32::MAX]);
        let mut seen = HashSet::new();
        for id in ids.clone() {
            let user = pseudonyms.user(id);
            assert_eq!(user.to_string().len(), id.to_string().len(), "{id}");
            seen.insert(user);
        }
        assert_eq!(seen.len(), ids.count());
        assert_eq!(COMMON_USERS.map(|id| pseudonyms.user(id)), COMMON_USERS);
    }

    #[test]
    fn a_principal_that_is_a_number_is_that_user() {
        let mut pseudonyms = pseudonyms(false);
        let mut principal = |text: &str| {
            let mut to = vec![0; text.len()];
            pseudonyms.principal(text.as_bytes(), &mut to);
            String::from_utf8(to).unwrap()
        };
        let (number, named) = (principal("1000"), principal("alice@lab.example"));
        assert_eq!((principal("OWNER@"), principal("0")), ("OWNER@".into(), "0".into()));
        assert!(!named.contains("alice") && !named.contains("example") && named.contains('@'), "{named}");
        assert_eq!(number, pseudonyms.user(1000).to_string());
    }
}
