//! Bodies of layouts and device addresses whose data servers speak NFS: the layout types of files
//! (RFC 8881 section 13) and of flexible files (RFC 8435).
//!
//! What the types of blocks, objects and SCSI say leads to no NFS traffic, and is passed over. So is
//! what a body may hold behind the fields that are wanted: Linux's server counts the owners of flexible
//! files without their padding, so that the last fields seem to lie beyond the body's end.

use std::net::{IpAddr, SocketAddr};

use super::{Result, opaque, stateid};
use crate::cursor::{Cursor, Kind, padding};
use crate::error::Reason;
use crate::nfs::facts::{DataServer, DeviceId, Pnfs};
use crate::nfs::types::{TEXT_LIMIT, handle};

/// `layouttype4` (RFC 8881 section 3.3.13, RFC 8435 section 1.1).
const LAYOUT4_NFSV4_1_FILES: u32 = 1;
const LAYOUT4_FLEX_FILES: u32 = 4;

/// The version of NFS that data servers of the files layout speak.
const NFS_VERSION_4: u32 = 4;
/// Those that data servers of flexible files may speak (RFC 8435 section 4.1).
const NFS_VERSIONS: [u32; 2] = [3, NFS_VERSION_4];

/// `device_addr4` (RFC 8881 section 3.3.14): where the data servers of a device are.
pub(super) fn device_address(c: &mut Cursor<'_>, told: &mut Pnfs<'_>) -> Result {
    match c.u32()? {
        LAYOUT4_NFSV4_1_FILES => within(c, |body| files_device(body, told)),
        LAYOUT4_FLEX_FILES => within(c, |body| flexible_device(body, told)),
        _ => opaque(c),
    }
}

/// `layout_content4` (RFC 8881 section 3.3.13): by which handles data servers know the file.
pub(super) fn layout_content<'a>(c: &mut Cursor<'a>, told: &mut Pnfs<'a>) -> Result {
    match c.u32()? {
        LAYOUT4_NFSV4_1_FILES => within(c, |body| files_layout(body, told)),
        LAYOUT4_FLEX_FILES => within(c, |body| flexible_layout(body, told)),
        _ => opaque(c),
    }
}

/// Stripe indices that redaction tells: a list that claims to be longer may be anything.
const INDICES_TOLD: usize = 16;

/// `nfsv4_1_file_layout_ds_addr4`, RFC 8881 section 13.2.
fn files_device(body: &mut Cursor<'_>, told: &mut Pnfs<'_>) -> Result {
    let indices = body.count(4)?;
    body.take(indices.min(INDICES_TOLD).saturating_mul(4))?; // nflda_stripe_indices
    body.take_as(Kind::Unknown, indices.saturating_sub(INDICES_TOLD).saturating_mul(4))?;
    for _ in 0..body.count(4)? {
        let addresses = multipath(body)?; // nflda_multipath_ds_list
        tell(told, &addresses, NFS_VERSION_4);
    }
    Ok(())
}

/// `ff_device_addr4`, RFC 8435 section 4.1.
fn flexible_device(body: &mut Cursor<'_>, told: &mut Pnfs<'_>) -> Result {
    let addresses = multipath(body)?; // ffda_netaddrs
    let mut spoken = Vec::new();
    for _ in 0..body.count(20)? {
        let version = body.u32()?; // ffdv_version
        body.u32()?; // ffdv_minorversion
        body.u64()?; // ffdv_rsize, ffdv_wsize
        body.bool()?; // ffdv_tightly_coupled
        // Each once, or a damaged list of versions would multiply that of addresses.
        if NFS_VERSIONS.contains(&version) && !spoken.contains(&version) {
            spoken.push(version);
            tell(told, &addresses, version);
        }
    }
    Ok(())
}

/// `nfsv4_1_file_layout4`, RFC 8881 section 13.2. Without handles the file's own is used (section 13.3).
fn files_layout<'a>(c: &mut Cursor<'a>, told: &mut Pnfs<'a>) -> Result {
    let device: DeviceId = c.array()?; // nfl_deviceid
    c.u64()?; // nfl_util, nfl_first_stripe_index
    c.u64()?; // nfl_pattern_offset
    let handles = c.count(4)?; // nfl_fh_list
    if handles == 0 {
        told.data_handles.push((device, None));
    }
    for _ in 0..handles {
        told.data_handles.push((device, Some(handle(c)?)));
    }
    Ok(())
}

/// `ff_layout4`, RFC 8435 section 5.1: mirrors, each on data servers with a handle for each version.
fn flexible_layout<'a>(c: &mut Cursor<'a>, told: &mut Pnfs<'a>) -> Result {
    c.u64()?; // ffl_stripe_unit
    for _ in 0..c.count(4)? {
        for _ in 0..c.count(48)? {
            let device: DeviceId = c.array()?; // ffds_deviceid
            c.u32()?; // ffds_efficiency
            stateid(c)?; // ffds_stateid
            for _ in 0..c.count(4)? {
                told.data_handles.push((device, Some(handle(c)?))); // ffds_fh_vers
            }
            c.opaque_as(Kind::Principal, TEXT_LIMIT)?; // ffds_user
            c.opaque_as(Kind::Principal, TEXT_LIMIT)?; // ffds_group
        }
    }
    Ok(()) // ffl_flags and ffl_stats_collect_hint follow
}

/// Reads the opaque body behind a layout type, whose form the type tells, as far as it has that form.
///
/// The body says itself how long it is, so that one of another form, as of a type with another meaning at
/// this server, keeps nothing behind it from being read.
fn within<'a>(c: &mut Cursor<'a>, read: impl FnOnce(&mut Cursor<'a>) -> Result) -> Result {
    let length = c.u32()? as usize;
    let mut body = c.sub(length)?;
    c.skip(padding(length))?;
    let before = body.clone();
    match read(&mut body) {
        Err(stop) if stop.reason == Reason::Malformed => {
            before.disown();
            Ok(())
        }
        read => read,
    }
}

/// `multipath_list4` (RFC 8881 section 13.2): addresses of one data server, as far as they are of TCP
/// or UDP over IP.
fn multipath(c: &mut Cursor<'_>) -> Result<Vec<SocketAddr>> {
    let mut addresses = Vec::new();
    for _ in 0..c.count(8)? {
        c.opaque_as(Kind::Network, TEXT_LIMIT)?; // na_r_netid: the form of the address tells it
        let address = c.opaque_as(Kind::UniversalAddress, TEXT_LIMIT)?; // na_r_addr
        addresses.extend(universal_address(address));
    }
    Ok(addresses)
}

fn tell(told: &mut Pnfs<'_>, addresses: &[SocketAddr], version: u32) {
    told.data_servers.extend(addresses.iter().map(|address| DataServer { address: *address, version }));
}

/// Address and port of a universal address (RFC 5665 sections 5.2.3.3 and 5.2.3.4): the address as
/// it is written, then the port's two bytes as decimal numbers.
fn universal_address(text: &[u8]) -> Option<SocketAddr> {
    let mut parts = std::str::from_utf8(text).ok()?.rsplitn(3, '.');
    let (low, high): (u8, u8) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let address: IpAddr = parts.next()?.parse().ok()?;
    Some(SocketAddr::new(address, u16::from_be_bytes([high, low])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_universal_address_ends_with_the_ports_two_bytes() {
        let address = |text: &str| universal_address(text.as_bytes()).map(|address| address.to_string());
        assert_eq!(address("10.0.2.20.8.1").as_deref(), Some("10.0.2.20:2049"));
        assert_eq!(address("fd00::5.8.4").as_deref(), Some("[fd00::5]:2052"));
        for wrong in
            ["", "2049", "10.0.2.20", "10.0.2.20.256.1", "10.0.2.20.8.1.2", "host.8.1", "10.0.2.20.8.-1"]
        {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }
}
