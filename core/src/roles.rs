//! Which servers are data servers of pNFS, and which connections lead to them.
//!
//! Takes what EXCHANGE_ID says of the server that answers it (RFC 8881 section 18.35.3), what
//! GETDEVICEINFO says of others, and what each connection carried; gives the role of the server at
//! the end of a connection. One server can be both, at one address and port: then the version of NFS
//! tells them apart, or it is both on the same connection.

use std::net::SocketAddr;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::nfs::Walk;
use crate::nfs::facts::DataServer;

/// Servers that are remembered of each kind; beyond it those known stay (`servers_limit`).
const SERVERS_LIMIT: usize = 4096;

/// `EXCHGID4_FLAG_USE_PNFS_MDS` and `EXCHGID4_FLAG_USE_PNFS_DS` (RFC 8881 section 18.35.3).
const USE_PNFS_MDS: u32 = 0x0002_0000;
const USE_PNFS_DS: u32 = 0x0004_0000;

/// What a server is to the clients of pNFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It says where data is.
    Metadata,
    /// It holds data.
    Data,
    /// It does both.
    Both,
}

impl Role {
    /// The text in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata server",
            Self::Data => "data server",
            Self::Both => "metadata and data server",
        }
    }
}

/// What a connection carried, as far as it tells the role of its server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    nfs3: bool,
    /// NFSv4.1 or later: earlier versions know no pNFS.
    nfs4: bool,
    /// A name in a directory, which only a metadata server knows.
    names: bool,
}

impl Carried {
    /// Takes a call of the NFS program.
    #[inline]
    pub fn add(&mut self, version: u32, walk: &Walk<'_>) {
        self.nfs3 |= version == 3;
        self.nfs4 |= walk.minor.is_some_and(|minor| minor > 0);
        self.names = self.names || walk.operations.iter().any(|done| done.facts.name.is_some());
    }
}

/// What servers said of themselves and of others.
#[derive(Default)]
pub struct Roles {
    /// `eir_flags` of each server of NFSv4.1.
    told: HashMap<SocketAddr, u32, RandomState>,
    /// The data servers that devices named, with the version of NFS that they speak.
    data_servers: HashSet<(SocketAddr, u32), RandomState>,
    /// Servers that were not remembered.
    pub overlooked: u64,
}

impl Roles {
    /// The server at `address` said what it can be used as (`eir_flags`).
    pub fn tell(&mut self, address: SocketAddr, flags: u32) {
        if let Some(told) = self.told.get_mut(&address) {
            *told |= flags;
        } else if self.told.len() < SERVERS_LIMIT {
            self.told.insert(address, flags);
        } else {
            self.overlooked += 1;
        }
    }

    /// A device names a data server. Whether it is remembered.
    pub fn name(&mut self, server: DataServer) -> bool {
        let entry = (server.address, server.version);
        if self.data_servers.contains(&entry) {
            return true;
        }
        let room = self.data_servers.len() < SERVERS_LIMIT;
        if room {
            self.data_servers.insert(entry);
        } else {
            self.overlooked += 1;
        }
        room
    }

    /// Whether a device named a data server at this address and port.
    pub fn is_named(&self, address: SocketAddr) -> bool {
        !self.data_servers.is_empty()
            && [3, 4].iter().any(|version| self.names_data_server(address, *version))
    }

    /// The role of the server at `address` on a connection; `None`: nothing speaks of pNFS.
    pub fn of(&self, address: SocketAddr, carried: Carried) -> Option<Role> {
        let told = self.told.get(&address).filter(|_| carried.nfs4);
        let named = carried.nfs4 && self.names_data_server(address, 4);
        // A server's own word counts more than what another says of it. Some say of all their servers
        // that they are both: one that a device names, and that is asked for no name, is used for data.
        let data_by_nfs4 = told.map_or(named, |flags| flags & USE_PNFS_DS != 0);
        let for_data = data_by_nfs4 && named && !carried.names;
        let metadata = told.is_some_and(|flags| flags & USE_PNFS_MDS != 0) && !for_data;
        // NFSv3 has no such word. A mount of the same server goes by names.
        let data_by_nfs3 = carried.nfs3 && !carried.names && self.names_data_server(address, 3);
        match (metadata, data_by_nfs4 || data_by_nfs3) {
            (true, true) => Some(Role::Both),
            (true, false) => Some(Role::Metadata),
            (false, true) => Some(Role::Data),
            (false, false) => None,
        }
    }

    fn names_data_server(&self, address: SocketAddr, version: u32) -> bool {
        self.data_servers.contains(&(address, version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NFS3: Carried = Carried { nfs3: true, nfs4: false, names: false };
    const NFS4: Carried = Carried { nfs3: false, nfs4: true, names: false };

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 5], port))
    }

    #[test]
    fn a_server_is_what_it_says_itself() {
        let mut roles = Roles::default();
        for (port, flags) in
            [(1, USE_PNFS_MDS), (2, USE_PNFS_DS), (3, USE_PNFS_MDS | USE_PNFS_DS), (4, 0x0001_0000)]
        {
            roles.tell(at(port), flags);
            roles.name(DataServer { address: at(4), version: 4 });
        }
        let told = [1, 2, 3, 4, 5].map(|port| roles.of(at(port), NFS4));
        assert_eq!(told, [Some(Role::Metadata), Some(Role::Data), Some(Role::Both), None, None]);
        assert_eq!(roles.of(at(2), NFS3), None, "EXCHANGE_ID speaks of NFSv4.1");
    }

    #[test]
    fn a_device_names_data_servers_by_address_port_and_version() {
        let mut roles = Roles::default();
        roles.name(DataServer { address: at(1), version: 3 });
        roles.name(DataServer { address: at(2), version: 4 });
        let of = |port, carried| roles.of(at(port), carried);
        assert_eq!([of(1, NFS3), of(1, NFS4)], [Some(Role::Data), None]);
        assert_eq!([of(2, NFS3), of(2, NFS4)], [None, Some(Role::Data)]);
        assert_eq!(of(1, Carried { names: true, ..NFS3 }), None, "a mount over NFSv3");
        assert!(roles.is_named(at(1)) && !roles.is_named(at(3)));
    }

    #[test]
    fn a_server_that_says_both_is_used_for_data_where_a_device_names_it_and_no_name_is_used() {
        let mut roles = Roles::default();
        roles.tell(at(1), USE_PNFS_MDS | USE_PNFS_DS);
        roles.tell(at(2), USE_PNFS_MDS);
        for port in [1, 2] {
            roles.name(DataServer { address: at(port), version: 4 });
        }
        assert_eq!(roles.of(at(1), NFS4), Some(Role::Data));
        assert_eq!(roles.of(at(1), Carried { names: true, ..NFS4 }), Some(Role::Both));
        assert_eq!(roles.of(at(2), NFS4), Some(Role::Metadata));
    }

    #[test]
    fn servers_beyond_the_limit_are_counted() {
        let mut roles = Roles::default();
        for port in 0..5000 {
            roles.tell(at(port), USE_PNFS_DS);
            roles.tell(at(port), USE_PNFS_MDS);
            roles.name(DataServer { address: at(port), version: 3 });
        }
        assert_eq!(roles.overlooked, 3 * (5000 - 4096));
        assert_eq!(roles.of(at(0), NFS4), Some(Role::Both));
    }
}
