//! Ethernet types: through tags, labels and frames in frames to the IP packet.
//!
//! Tags of IEEE 802.1Q, 802.1ad, 802.1BR and 802.1CB and of Cisco's switches, MPLS (RFC 3032), `PPPoE`
//! (RFC 2516), SNAP (RFC 1042); Ethernet in Ethernet (IEEE 802.1ah, Cisco's `FabricPath`) and in MPLS
//! (RFC 4448).

use super::link::{Network, bare, pppoe};
use super::{Other, Payload};
use crate::capture::LinkType;

/// Tags, labels and frames in frames beyond this number are taken for damage.
pub(super) const TAG_LIMIT: usize = 8;

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
pub(super) const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88a8;
const OLD_PROVIDER_VLAN: u16 = 0x9100;
const OLDER_PROVIDER_VLAN: u16 = 0x9200;
/// For which port of a Cisco switch a frame is.
const VN_TAG: u16 = 0x8926;
/// Which security group of Cisco's switches a frame is from.
const CISCO_METADATA: u16 = 0x8909;
/// IEEE 802.1BR: for which port of a bridge a frame is.
const PORT_TAG: u16 = 0x893f;
/// IEEE 802.1CB: the number of a frame that goes several ways.
const REDUNDANCY_TAG: u16 = 0xf1c1;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;
/// IEEE 802.1ah: a frame on its way through the network of a provider.
const BACKBONE: u16 = 0x88e7;
/// The same through that of Cisco's switches.
const FABRIC_PATH: u16 = 0x8903;
/// RDMA over Ethernet, version 1.
const ROCE: u16 = 0x8915;
/// Stands for the length of an IEEE 802.3 frame where there is none: LLC follows.
pub(super) const LLC: u16 = 0;
/// Types below are lengths of an IEEE 802.3 frame.
const SMALLEST_TYPE: u16 = 0x0600;

/// What an Ethernet type announces.
enum Step<'a> {
    Packet(Network<'a>),
    /// Another type, and what it announces.
    Tag(u16, Payload<'a>),
    /// An Ethernet frame.
    Frame(Payload<'a>),
}

/// What an Ethernet type announces, behind any number of tags and of frames that hold a frame.
pub(super) fn tagged(kind: u16, rest: Payload<'_>) -> Result<Network<'_>, Other> {
    through(kind, rest, typed)
}

/// The same behind tags alone, of links that carry no frames in frames.
pub(super) fn bare_tags(kind: u16, rest: Payload<'_>) -> Result<Network<'_>, Other> {
    through(kind, rest, |_| Err(Other::NotIp))
}

/// The frames in frames that [`tagged`] comes through, the outer ones first, also to what is no IP packet.
pub(super) fn frames(kind: u16, rest: Payload<'_>) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    through(kind, rest, |frame| {
        frames.push(frame.bytes);
        typed(frame)
    })
    .ok();
    frames
}

/// What is behind the tags; `inner` gives the type of a frame in the frame, and what that announces.
#[inline]
fn through<'a>(
    mut kind: u16,
    mut rest: Payload<'a>,
    mut inner: impl FnMut(Payload<'a>) -> Result<(u16, Payload<'a>), Other>,
) -> Result<Network<'a>, Other> {
    for _ in 0..TAG_LIMIT {
        (kind, rest) = match step(kind, rest)? {
            Step::Packet(network) => return Ok(network),
            Step::Tag(kind, rest) => (kind, rest),
            Step::Frame(frame) => inner(frame)?,
        };
    }
    Err(Other::MalformedHeader)
}

/// The type of an Ethernet frame, and what it announces.
fn typed(frame: Payload<'_>) -> Result<(u16, Payload<'_>), Other> {
    // destination 6, source 6, type 2
    let ([.., t0, t1], rest) = frame.header::<14>()?;
    Ok((u16::from_be_bytes([*t0, *t1]), rest))
}

#[inline]
fn step(kind: u16, rest: Payload<'_>) -> Result<Step<'_>, Other> {
    match kind {
        IPV4 => Ok(Step::Packet(Network::V4(rest))),
        IPV6 => Ok(Step::Packet(Network::V6(rest))),
        VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN | OLDER_PROVIDER_VLAN => {
            // priority and VLAN 2, type 2
            let ([_, _, t0, t1], inner) = rest.header::<4>()?;
            Ok(Step::Tag(u16::from_be_bytes([*t0, *t1]), inner))
        }
        // ports 4, or reserved 2 and number 2; type 2
        VN_TAG | REDUNDANCY_TAG => behind(4, rest),
        // priority and ports 6, or version 1, length 1, option 2 and group 2; type 2
        PORT_TAG | CISCO_METADATA => behind(6, rest),
        MPLS | MPLS_MULTICAST => labelled(rest),
        PPPOE_SESSION => pppoe(rest).map(Step::Packet),
        // priority, flags and service 4
        BACKBONE => Ok(Step::Frame(rest.split(4)?.1)),
        // tree and time to live 2
        FABRIC_PATH => Ok(Step::Frame(rest.split(2)?.1)),
        ROCE => Err(Other::Rdma),
        _ if kind < SMALLEST_TYPE => {
            // LLC 3 and SNAP 5 (RFC 1042); anything else is a protocol without IP
            let (header, inner) = rest.header::<8>().map_err(|_| Other::NotIp)?;
            let [0xaa, 0xaa, 3, 0, 0, 0, t0, t1] = *header else {
                return Err(Other::NotIp);
            };
            Ok(Step::Tag(u16::from_be_bytes([t0, t1]), inner))
        }
        _ => Err(Other::NotIp),
    }
}

/// A tag of so many bytes, the type behind it, and what that announces.
fn behind(length: usize, rest: Payload<'_>) -> Result<Step<'_>, Other> {
    let ([t0, t1], inner) = rest.split(length)?.1.header::<2>()?;
    Ok(Step::Tag(u16::from_be_bytes([*t0, *t1]), inner))
}

/// What follows labels, which do not say it: an IP packet shows by its version, and a frame, which a control
/// word may precede (RFC 4385 section 3: four bits of zero), by its type.
fn labelled(rest: Payload<'_>) -> Result<Step<'_>, Other> {
    const CONTROL: usize = 4;
    const TYPE: usize = 12;
    let packet = past_labels(rest)?;
    match packet.bytes {
        [first, ..] if matches!(first >> 4, 4 | 6) => bare(packet).map(Step::Packet),
        [first, _, _, _, frame @ ..] if first >> 4 == 0 => {
            let kind = frame.get(TYPE..).and_then(<[u8]>::first_chunk).map(|kind| u16::from_be_bytes(*kind));
            let controlled = matches!(kind, Some(IPV4 | IPV6 | VLAN | PROVIDER_VLAN));
            Ok(Step::Frame(if controlled { packet.split(CONTROL)?.1 } else { packet }))
        }
        _ => Ok(Step::Frame(packet)),
    }
}

/// The IP packet behind labels.
pub(super) fn mpls(rest: Payload<'_>) -> Result<Network<'_>, Other> {
    bare(past_labels(rest)?)
}

fn past_labels(mut rest: Payload<'_>) -> Result<Payload<'_>, Other> {
    for _ in 0..TAG_LIMIT {
        // label, class and bottom of stack 3, time to live 1
        let ([_, _, bottom, _], inner) = rest.header::<4>()?;
        rest = inner;
        if bottom & 1 == 1 {
            return Ok(rest);
        }
    }
    Err(Other::MalformedHeader)
}

/// How many VLAN tags (IEEE 802.1Q) a frame has before its IP packet; `None` where other labels are there.
pub(super) fn vlan_tags(link: LinkType, frame: &[u8]) -> Option<usize> {
    let place = match link {
        LinkType::ETHERNET => 12,
        LinkType::LINUX_SLL => 14,
        LinkType::LINUX_SLL2 => 0,
        _ => return Some(0),
    };
    let header = if link == LinkType::LINUX_SLL2 { 20 } else { place + 2 };
    let kind = |at: usize| frame.get(at..)?.first_chunk().map(|kind| u16::from_be_bytes(*kind));
    let (mut tags, mut next) = (0, kind(place)?);
    while let VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN | OLDER_PROVIDER_VLAN = next {
        // priority and VLAN 2, type 2
        next = kind(header + 4 * tags + 2)?;
        tags += 1;
    }
    matches!(next, IPV4 | IPV6).then_some(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_counted_and_other_labels_are_told() {
        const FRAMES: [(LinkType, usize, &[u8], Option<usize>); 8] = [
            (LinkType::ETHERNET, 12, &[8, 0], Some(0)),
            (LinkType::ETHERNET, 12, &[0x81, 0, 0, 7, 0x86, 0xdd], Some(1)),
            (LinkType::ETHERNET, 12, &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0], Some(2)),
            (LinkType::ETHERNET, 12, &[0x81, 0, 0, 7, 0x88, 0x47], None), // MPLS
            (LinkType::ETHERNET, 12, &[0, 60, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], None), // SNAP
            (LinkType::LINUX_SLL, 14, &[0x81, 0, 0, 7, 8, 0], Some(1)),
            (LinkType::RAW, 0, &[0x45], Some(0)),
            (LinkType::LINUX_SLL2, 0, &[0x81, 0], None), // cut
        ];
        for (link, place, types, expected) in FRAMES {
            let frame = [vec![0; place], types.to_vec()].concat();
            assert_eq!(vlan_tags(link, &frame), expected, "{link:?} {types:x?}");
        }
        let cooked = [&[0x81, 0], [0; 18].as_slice(), &[0, 7, 8, 0]].concat();
        assert_eq!(vlan_tags(LinkType::LINUX_SLL2, &cooked), Some(1));
    }
}
