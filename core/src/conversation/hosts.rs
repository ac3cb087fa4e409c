//! Who calls whom, by number: servers, and pairs of a client and a server.
//!
//! Promises that there are no more of them than its limits allow, whatever addresses a capture has:
//! analyses tell pairs one by one, and a scan of addresses, or one made up, has millions. Those beyond
//! are told together, as others, and counted.

use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::names::ServerId;

/// Pairs of a client and a server that are told apart; the clients of further ones are [`OTHERS`]
/// (`pairs_limit`).
const PAIRS_LIMIT: usize = 1 << 15;

/// Servers that are told apart; further ones are [`OTHERS`] (`pairs_limit`).
const SERVERS_LIMIT: usize = 1 << 12;

/// What stands in the place of an address beyond the limits.
pub(super) const OTHERS: &str = "others";

/// A client and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// Its number.
    pub(super) mount: u32,
    /// The client is one of [`OTHERS`].
    pub(super) any_client: bool,
    /// The server is one of [`OTHERS`].
    pub(super) any_server: bool,
}

/// The servers, and the pairs of clients and servers.
#[derive(Default)]
pub(super) struct Hosts {
    servers: HashMap<IpAddr, ServerId, RandomState>,
    texts: Vec<String>,
    pairs: HashMap<(IpAddr, ServerId), u32, RandomState>,
    /// The pairs by their numbers; None for a server with all clients beyond the limit.
    by_number: Vec<Option<(IpAddr, ServerId)>>,
    /// Numbers of each server with all clients beyond the limit.
    others: HashMap<ServerId, u32, RandomState>,
    /// How often a server or a pair was not told apart.
    pub(super) overlooked: u64,
}

impl Hosts {
    /// The number of the server at an address.
    pub(super) fn server(&mut self, address: IpAddr) -> ServerId {
        if let Some(known) = self.servers.get(&address) {
            return *known;
        }
        if self.servers.len() < SERVERS_LIMIT {
            self.texts.push(address.to_string());
            self.servers.insert(address, (self.texts.len() - 1) as ServerId);
        } else {
            self.overlooked += 1;
            if self.texts.len() == SERVERS_LIMIT {
                self.texts.push(OTHERS.to_owned());
            }
        }
        (self.texts.len() - 1) as ServerId
    }

    /// The number of the server at an address, if it is known.
    pub(super) fn find(&self, address: IpAddr) -> Option<ServerId> {
        self.servers.get(&address).copied()
    }

    /// The client at an address with a server.
    pub(super) fn pair(&mut self, client: IpAddr, server: ServerId) -> Pair {
        let any_server = server as usize >= SERVERS_LIMIT;
        let next = (self.pairs.len() + self.others.len()) as u32;
        let told_apart = Pair { mount: next, any_client: false, any_server };
        if let Some(known) = self.pairs.get(&(client, server)) {
            return Pair { mount: *known, ..told_apart };
        }
        if self.pairs.len() < PAIRS_LIMIT {
            self.pairs.insert((client, server), next);
            self.by_number.push(Some((client, server)));
            return told_apart;
        }
        self.overlooked += 1;
        let mount = *self.others.entry(server).or_insert(next);
        if mount == next {
            self.by_number.push(None);
        }
        Pair { mount, any_client: true, any_server }
    }

    /// The client and the server that have a number, unless one of them is one of [`OTHERS`].
    pub(super) fn told_apart(&self, mount: u32) -> Option<(IpAddr, ServerId)> {
        let pair = self.by_number.get(mount as usize).copied()?;
        pair.filter(|(_, server)| (*server as usize) < SERVERS_LIMIT)
    }

    /// The addresses of servers, by their numbers.
    pub(super) fn servers(&self) -> &[String] {
        &self.texts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::Ipv6Addr;

    use super::*;

    fn address(number: usize) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from_bits(number as u128))
    }

    #[test]
    fn clients_beyond_the_limit_share_a_number_for_each_server() {
        let mut hosts = Hosts::default();
        let (first, second) = (hosts.server(address(1)), hosts.server(address(2)));
        let apart: BTreeSet<u32> =
            (0..PAIRS_LIMIT).map(|client| hosts.pair(address(client), first).mount).collect();
        assert_eq!(apart.len(), PAIRS_LIMIT);
        assert_eq!(hosts.overlooked, 0);
        let beyond: Vec<Pair> =
            (0..3).map(|client| hosts.pair(address(PAIRS_LIMIT + client), first)).collect();
        let number = PAIRS_LIMIT as u32;
        let of_first = Pair { mount: number, any_client: true, any_server: false };
        assert_eq!(beyond, [of_first; 3]);
        let of_second = hosts.pair(address(0), second);
        assert_eq!(of_second, Pair { mount: number + 1, ..of_first });
        assert_eq!(hosts.told_apart(7), Some((address(7), first)));
        assert_eq!([number, number + 1, number + 2].map(|number| hosts.told_apart(number)), [None; 3]);
        // Those known before stay.
        assert_eq!(hosts.pair(address(7), first), Pair { mount: 7, any_client: false, any_server: false });
        assert_eq!(hosts.overlooked, 4);
    }

    #[test]
    fn servers_beyond_the_limit_share_a_number() {
        let mut hosts = Hosts::default();
        let numbers: BTreeSet<ServerId> =
            (0..SERVERS_LIMIT + 3).map(|server| hosts.server(address(server))).collect();
        assert_eq!(numbers.len(), SERVERS_LIMIT + 1);
        assert_eq!(hosts.server(address(0)), 0);
        assert_eq!(hosts.find(address(1)), Some(1));
        assert_eq!(hosts.find(address(SERVERS_LIMIT)), None);
        assert_eq!(hosts.servers().get(SERVERS_LIMIT).map(String::as_str), Some(OTHERS));
        let last = hosts.pair(address(0), SERVERS_LIMIT as ServerId);
        assert_eq!(last, Pair { mount: 0, any_client: false, any_server: true });
    }
}
