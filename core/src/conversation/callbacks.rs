//! Programs that clients named for their callbacks, outside the range of RFC 5531 that most take them from.

use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::rpc::program;

/// Clients and programs that are known; beyond it those that were learnt before stay (`ports_limit`).
const CALLBACKS_LIMIT: usize = 4096;

/// What servers may call at their clients, as these said.
#[derive(Default)]
pub(super) struct Callbacks {
    named: HashSet<(IpAddr, u32), RandomState>,
    /// Programs that were not learnt, because so many were known.
    pub(super) overlooked: u64,
}

impl Callbacks {
    /// Learns that a client is to be called by this program. What is known by its number needs no learning:
    /// callbacks, or a service, whose calls go the other way.
    pub(super) fn learn(&mut self, client: IpAddr, program: u32) {
        let known = program == 0 || program::is_callback(program) || program::find(program).is_some();
        if known || self.named.contains(&(client, program)) {
            return;
        }
        if self.named.len() < CALLBACKS_LIMIT {
            self.named.insert((client, program));
        } else {
            self.overlooked += 1;
        }
    }

    /// Learns that a client has another address as well.
    pub(super) fn share(&mut self, client: IpAddr, other: IpAddr) {
        let of_client = self.named.iter().filter(|(named, _)| *named == client);
        let programs: Vec<u32> = of_client.map(|(_, program)| *program).collect();
        for program in programs {
            self.learn(other, program);
        }
    }

    /// Whether a client named the program.
    #[inline]
    pub(super) fn names(&self, client: IpAddr, program: u32) -> bool {
        !self.named.is_empty() && self.named.contains(&(client, program))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn client(number: usize) -> IpAddr {
        Ipv4Addr::from_bits(number as u32).into()
    }

    #[test]
    fn a_program_is_for_the_client_that_named_it() {
        let mut callbacks = Callbacks::default();
        for number in [9048, program::NFS, 0, 0x4000_0000] {
            callbacks.learn(client(1), number);
        }
        assert!(callbacks.names(client(1), 9048) && !callbacks.names(client(2), 9048));
        for known in [program::NFS, 0, 0x4000_0000] {
            assert!(!callbacks.names(client(1), known), "{known} is told by its number, or is none");
        }
    }

    #[test]
    fn a_program_is_for_all_addresses_of_a_client() {
        let mut callbacks = Callbacks::default();
        callbacks.learn(client(1), 9048);
        callbacks.share(client(1), client(2));
        assert!(callbacks.names(client(2), 9048) && !callbacks.names(client(3), 9048));
    }

    #[test]
    fn those_beyond_the_limit_are_counted() {
        let mut callbacks = Callbacks::default();
        (0..CALLBACKS_LIMIT + 3).for_each(|number| callbacks.learn(client(number), 9048));
        callbacks.learn(client(0), 9048);
        assert_eq!(callbacks.overlooked, 3);
        assert!(callbacks.names(client(0), 9048) && !callbacks.names(client(CALLBACKS_LIMIT), 9048));
    }
}
