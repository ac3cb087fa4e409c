//! The portmapper, version 2, and rpcbind, versions 3 and 4 (RFC 1833): which port a program has.
//!
//! What is learnt is a list of [`Service`]s: those whose ports a reply tells.

use super::{Result, list, string};
use crate::cursor::{Cursor, Kind};
use crate::nfs::facts::{Facts, Service};

/// Services kept of one list: more than a record can hold.
const SERVICES_LIMIT: usize = 1 << 17;

/// Protocol numbers as `mapping.prot` has them, section 3.1.
const TCP: u32 = 6;
const UDP: u32 = 17;

/// `mapping`, section 3.1: SET, UNSET, GETPORT.
pub fn mapping_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    let (service, _port) = mapping(c)?; // GETPORT ignores the port, SET and UNSET say what is so anyway
    keep(f, service);
    Ok(())
}

/// The port of GETPORT, section 3.2; 0: the program is not registered.
pub fn getport_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    let before = c.clone();
    let Ok(port) = u16::try_from(c.u32()?) else { return Err(before.malformed()) };
    if let Some(service) = f.rare.as_deref_mut().and_then(|rare| rare.services.first_mut()) {
        service.port = port;
    }
    Ok(())
}

/// Whether SET or UNSET did it.
pub fn bool_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<()> {
    c.bool().map(|_done| ())
}

/// `pmaplist`, section 3.1: DUMP.
pub fn dump_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    list(c, |c| {
        let (service, port) = mapping(c)?;
        keep(f, Service { port, ..service });
        Ok(())
    })
}

/// `call_args`, section 3.1, and `rpcb_rmtcallargs`, section 2.1: a call that the portmapper passes
/// on. What is passed on is counted and not read.
pub fn callit_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    let (program, version) = (c.u32()?, c.u32()?);
    c.u32()?; // procedure
    keep(f, Service { program, version, ..Service::default() });
    f.count_requested = Some(u64::from(c.opaque_skipped()?));
    Ok(())
}

/// `call_result`, section 3.1: the port of the program that was called, and what it replied.
pub fn callit_results_v2<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    getport_results(c, f)?;
    f.count = Some(u64::from(c.opaque_skipped()?));
    Ok(())
}

/// `rpcb_rmtcallres`, section 2.1.
pub fn callit_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    getaddr_results(c, f)?;
    f.count = Some(u64::from(c.opaque_skipped()?));
    Ok(())
}

/// `rpcb`, section 2.1: SET, UNSET, GETADDR, GETVERSADDR, GETADDRLIST.
pub fn rpcb_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    let (service, _address) = rpcb(c)?; // of the caller, for GETADDR
    keep(f, service);
    Ok(())
}

/// The universal address of GETADDR and GETVERSADDR; empty: the program is not registered.
pub fn getaddr_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    let address = string(c, Kind::UniversalAddress)?;
    if let Some(service) = f.rare.as_deref_mut().and_then(|rare| rare.services.first_mut()) {
        service.port = port_of(address).unwrap_or(0);
    }
    Ok(())
}

/// `rpcblist_ptr`, section 2.1: DUMP.
pub fn rpcb_dump_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    list(c, |c| {
        let (service, address) = rpcb(c)?;
        keep(f, Service { port: port_of(address).unwrap_or(0), ..service });
        Ok(())
    })
}

/// The server's time: GETTIME.
pub fn gettime_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<()> {
    c.u32().map(|_seconds| ())
}

/// A universal address: the argument of UADDR2TADDR, the result of TADDR2UADDR.
pub fn universal_address<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.text = Some(string(c, Kind::UniversalAddress)?);
    Ok(())
}

/// `netbuf`, section 2.1: the same address in the form of one transport.
pub fn netbuf<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<()> {
    c.u32()?; // maxlen
    string(c, Kind::Unknown).map(|_address| ())
}

/// `rpcb_entry_list_ptr`, section 2.1: GETADDRLIST.
pub fn getaddrlist_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    let asked = f.rare().services.first().copied().unwrap_or_default();
    list(c, |c| {
        let address = string(c, Kind::UniversalAddress)?; // r_maddr
        let network = string(c, Kind::Network)?; // r_nc_netid
        c.u32()?; // r_nc_semantics
        string(c, Kind::Network)?; // r_nc_protofmly
        string(c, Kind::Network)?; // r_nc_proto
        let port = port_of(address).unwrap_or(0);
        keep(f, Service { protocol: protocol_of(network), port, ..asked });
        Ok(())
    })
}

fn keep(f: &mut Facts<'_>, service: Service) {
    let services = &mut f.rare_mut().services;
    if services.len() < SERVICES_LIMIT {
        services.push(service);
    }
}

fn mapping(c: &mut Cursor<'_>) -> Result<(Service, u16)> {
    let (program, version, protocol) = (c.u32()?, c.u32()?, c.u32()?);
    let before = c.clone();
    let Ok(port) = u16::try_from(c.u32()?) else { return Err(before.malformed()) };
    Ok((Service { program, version, protocol, port: 0 }, port))
}

fn rpcb<'a>(c: &mut Cursor<'a>) -> Result<(Service, &'a [u8])> {
    let (program, version) = (c.u32()?, c.u32()?);
    let protocol = protocol_of(string(c, Kind::Network)?);
    let address = string(c, Kind::UniversalAddress)?;
    string(c, Kind::Principal)?; // r_owner
    Ok((Service { program, version, protocol, port: 0 }, address))
}

/// The protocol number of a network identifier (RFC 5665 section 4); 0 for others, such as `local`.
fn protocol_of(network: &[u8]) -> u32 {
    match network {
        b"tcp" | b"tcp6" => TCP,
        b"udp" | b"udp6" => UDP,
        _ => 0,
    }
}

/// The port of a universal address: its last two numbers (RFC 5665 section 5.2.3.3).
fn port_of(address: &[u8]) -> Option<u16> {
    let mut numbers = address.rsplitn(3, |byte| *byte == b'.');
    let mut number = || std::str::from_utf8(numbers.next()?).ok()?.parse::<u8>().ok();
    let (low, high) = (number()?, number()?);
    numbers.next()?;
    Some(u16::from_be_bytes([high, low]))
}
