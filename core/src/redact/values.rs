//! Values of messages → what is told of them, by what they mean.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use super::addresses::Addresses;
use super::extensions::NETWORKS;
use super::pseudonyms::Pseudonyms;
use super::verifiers::Verifiers;
use crate::cursor::Kind;

/// What a reply's verifier says that grants TLS (RFC 9289 section 4.1).
const GRANT: &[u8] = b"STARTTLS";

/// Users and groups that are told apart, and as many owners and hosts: hostile captures may name any number. Beyond
/// this, more are not counted.
const IDENTITIES_LIMIT: usize = 1 << 16;

/// Replaces values.
pub(super) struct Values {
    pub(super) pseudonyms: Pseudonyms,
    pub(super) addresses: Addresses,
    /// Values replaced, by what they were, but for those that count once each.
    replaced: BTreeMap<&'static str, u64>,
    /// Numbers of users and groups that were replaced.
    users: HashSet<u32>,
    /// Hashes of owners that were replaced.
    owners: HashSet<u64>,
    /// Hashes of hosts that were replaced.
    hosts: HashSet<u64>,
    hashing: RandomState,
    verifiers: Verifiers,
}

impl Values {
    pub(super) fn new(pseudonyms: Pseudonyms) -> Self {
        Self {
            pseudonyms,
            addresses: Addresses::default(),
            replaced: BTreeMap::new(),
            users: HashSet::new(),
            owners: HashSet::new(),
            hosts: HashSet::new(),
            hashing: RandomState::new(),
            verifiers: Verifiers::default(),
        }
    }

    /// Values replaced, by what they were: who and where (addresses, hosts, users, owners) once each, all else as
    /// often as it is told.
    pub(super) fn into_replaced(self) -> BTreeMap<&'static str, u64> {
        let mut replaced = self.replaced;
        *replaced.entry("addresses").or_default() += self.addresses.count();
        let each = [("hosts", self.hosts.len()), ("owners", self.owners.len()), ("users", self.users.len())];
        for (what, count) in each {
            if count > 0 {
                replaced.insert(what, count as u64);
            }
        }
        replaced
    }

    /// Puts into `to`, which is zero and as long as the value, what may be told of it.
    pub(super) fn tell(&mut self, kind: Kind, value: &[u8], to: &mut [u8]) {
        if value.is_empty() {
            return;
        }
        match kind {
            Kind::Number => to.copy_from_slice(value),
            Kind::Unknown => to.fill(0),
            Kind::Network if NETWORKS.contains(&value) => to.copy_from_slice(value),
            Kind::Verifier if value == GRANT => to.copy_from_slice(value),
            // A checksum, or a handle of a credential.
            Kind::Verifier => {}
            Kind::User | Kind::Group | Kind::UserAndGroup => self.users(value, to),
            Kind::AccessEntries => self.access_entries(value, to),
            Kind::Principal => {
                self.pseudonyms.principal(value, to);
                count_once(&mut self.owners, &self.hashing, value, to);
            }
            Kind::Host => {
                self.host(value, to);
                count_once(&mut self.hosts, &self.hashing, value, to);
            }
            Kind::Handle => {
                self.pseudonyms.handle(value, to);
                self.count("handles");
            }
            Kind::Name => {
                self.pseudonyms.name(value, to);
                self.count("names");
            }
            Kind::Path => {
                self.pseudonyms.path(value, to);
                self.count("paths");
            }
            Kind::UniversalAddress => {
                if !self.addresses.universal(&self.pseudonyms, value, to) {
                    self.pseudonyms.path(value, to);
                }
                self.count("addresses");
            }
            Kind::CreateVerifier => {
                self.verifiers.create(&self.pseudonyms, value, to);
                self.count("verifiers");
            }
            Kind::ClientVerifier => {
                self.pseudonyms.verifier(value, to);
                self.count("verifiers");
            }
            Kind::Seconds => {
                if self.verifiers.seconds(&mut self.pseudonyms, value, to) {
                    self.count("times");
                }
            }
            Kind::Fraction => self.verifiers.fraction(&self.pseudonyms, value, to),
            Kind::Network | Kind::Token => {
                self.pseudonyms.token(value, to);
                self.count("tokens");
            }
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.replaced.entry(what).or_default() += 1;
    }

    fn users(&mut self, value: &[u8], to: &mut [u8]) {
        for (id, to) in value.as_chunks::<4>().0.iter().zip(to.as_chunks_mut::<4>().0) {
            *to = self.user(*id);
        }
    }

    fn user(&mut self, id: [u8; 4]) -> [u8; 4] {
        let id = u32::from_be_bytes(id);
        let other = self.pseudonyms.user(id);
        if other != id && self.users.len() < IDENTITIES_LIMIT {
            self.users.insert(id);
        }
        other.to_be_bytes()
    }

    /// Type, number, permissions.
    fn access_entries(&mut self, value: &[u8], to: &mut [u8]) {
        to.copy_from_slice(value);
        for entry in to.as_chunks_mut::<12>().0 {
            if let [_, id, _] = entry.as_chunks_mut::<4>().0 {
                *id = self.user(*id);
            }
        }
    }

    /// A name, an address, or either with the length of a network behind a slash.
    fn host(&mut self, value: &[u8], to: &mut [u8]) {
        let slash = value.iter().position(|byte| *byte == b'/');
        let (host, network) = value.split_at(slash.unwrap_or(value.len()));
        let Some((to_host, to_network)) = to.split_at_mut_checked(host.len()) else { return };
        if !self.addresses.text(&self.pseudonyms, host, to_host) {
            self.pseudonyms.labels(host, to_host);
        }
        let Some((_, length)) = network.split_first() else { return };
        if length.iter().all(u8::is_ascii_digit) {
            to_network.copy_from_slice(network);
        } else {
            self.pseudonyms.path(network, to_network);
        }
    }
}

/// Counts a value once that was replaced by another.
fn count_once(counted: &mut HashSet<u64>, hashing: &RandomState, value: &[u8], to: &[u8]) {
    if to != value && counted.len() < IDENTITIES_LIMIT {
        counted.insert(hashing.hash_one(value));
    }
}
