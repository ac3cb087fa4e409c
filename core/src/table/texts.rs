//! Values of the RFCs → the texts that stand in columns.

use std::borrow::Cow;

use crate::nfs::Class;
use crate::nfs::facts::{Implementation, Service};
use crate::nfs::status::{Statuses, status_name};
use crate::nfs::types::{DataContent, DelegationType, FileType, PseudoFlavor, StableHow};
use crate::table::columns::{Naming, SPREAD, Word};

/// The texts of attribute masks: clients ask for the same attributes again and again.
#[derive(Default)]
pub(super) struct Masks {
    recent: Vec<([u32; 3], Word)>,
    none: Word,
}

/// Masks remembered; a power of two above the number that alternate.
const RECENT_MASKS: usize = 16;

impl Masks {
    pub(super) fn word(&mut self, mask: [u32; 3]) -> &Word {
        if self.recent.is_empty() {
            self.recent.resize_with(RECENT_MASKS, Default::default);
        }
        let [first, second, third] = mask;
        let mixed = u64::from(first ^ third.rotate_left(16)) << 32 | u64::from(second);
        let place = (mixed.wrapping_mul(SPREAD) >> 60) as usize % RECENT_MASKS;
        let Some((known, word)) = self.recent.get_mut(place) else { return &self.none };
        if *known != mask || word.text().is_empty() {
            word.set(&format!("{first:08x}:{second:08x}:{third:08x}"));
            *known = mask;
        }
        word
    }
}

/// A status, whose text is looked up once per batch: by the number of its list and its own.
pub(super) fn status_named(statuses: Statuses, status: u32) -> Naming {
    Naming::Number((statuses as u64) << 32 | u64::from(status), |number| {
        let statuses = Statuses::ALL.into_iter().find(|statuses| *statuses as u64 == number >> 32)?;
        status_name(statuses, number as u32)
    })
}

pub(super) fn class_named(class: Class) -> Naming {
    Naming::Number(class as u64, |number| {
        Class::ALL.into_iter().find(|class| *class as u64 == number).map(Class::name)
    })
}

pub(super) fn file_type(of: FileType) -> Naming {
    Naming::Number(of.0.into(), |number| FileType(number as u32).name())
}

pub(super) fn level(level: StableHow) -> Naming {
    Naming::Number(level.0.into(), |number| StableHow(number as u32).name())
}

pub(super) fn delegation(granted: DelegationType) -> Naming {
    Naming::Number(granted.0.into(), |number| DelegationType(number as u32).name())
}

pub(super) fn data_content(content: DataContent) -> Naming {
    Naming::Number(content.0.into(), |number| DataContent(number as u32).name())
}

/// `calls.protocol`: NFSv4 compounds by their minor version.
pub(super) fn protocol_name(name: &'static str, minor: Option<u32>) -> &'static str {
    match (name, minor) {
        ("4", Some(0)) => "4.0",
        ("4", Some(1)) => "4.1",
        ("4", Some(2)) => "4.2",
        _ => name,
    }
}

/// The flavors that an export allows: `AUTH_SYS KRB5`.
pub(super) fn flavors<'a>(flavors: &[PseudoFlavor], buffer: &'a mut String) -> Option<&'a str> {
    if flavors.is_empty() {
        return None;
    }
    *buffer = flavors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    Some(buffer)
}

/// Bytes of what a client or a server calls itself that are written down: several times what any does.
pub(super) const CALLED_BYTES: usize = 256;

/// The beginning of a text that may be of any length. It ends with a whole character.
pub(super) fn beginning(text: &[u8]) -> &[u8] {
    let Some(cut) = text.get(..CALLED_BYTES) else { return text };
    let begun = match str::from_utf8(cut) {
        // Nothing follows that would make it wrong: a character was cut.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => cut.len(),
    };
    cut.get(..begun).unwrap_or(cut)
}

/// A text without the zeros that ONTAP puts behind it.
fn unpadded(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    text.get(..end).unwrap_or(text)
}

/// What an implementation says it is: `Linux 6.1.0 (kernel.org)`, `NFS of example.org 3`.
pub(super) fn software<'a>(told: &Implementation<'a>) -> Cow<'a, [u8]> {
    let (domain, name) = (beginning(unpadded(told.domain)), beginning(unpadded(told.name)));
    if domain.is_empty() || name.windows(domain.len()).any(|part| part.eq_ignore_ascii_case(domain)) {
        Cow::Borrowed(name)
    } else if name.is_empty() {
        Cow::Borrowed(domain)
    } else {
        Cow::Owned([name, b" (", domain, b")"].concat())
    }
}

/// What a portmapper was asked for or told, one service a semicolon: `100003 v3 tcp port 2049`.
pub(super) fn services<'a>(services: &[Service], buffer: &'a mut String) -> Option<&'a str> {
    if services.is_empty() {
        return None;
    }
    let told = services.iter().map(|service| {
        let transport = match service.protocol {
            6 => " tcp",
            17 => " udp",
            _ => "",
        };
        let port = Some(service.port).filter(|port| *port != 0).map(|port| format!(" port {port}"));
        format!("{} v{}{transport}{}", service.program, service.version, port.unwrap_or_default())
    });
    *buffer = told.collect::<Vec<_>>().join("; ");
    Some(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_their_standard() {
        let told = |naming| match naming {
            Naming::Number(number, name) => name(number),
            Naming::Name(name) => Some(name),
        };
        for class in Class::ALL {
            assert_eq!(told(class_named(class)), Some(class.name()));
        }
        for statuses in Statuses::ALL {
            for status in [0, 1, 2, 3, 13, 10_008, u32::MAX] {
                assert_eq!(told(status_named(statuses, status)), status_name(statuses, status));
            }
        }
    }

    #[test]
    fn an_implementation_is_called_by_its_name_and_who_made_it() {
        let called = |domain: &'static [u8], name: &'static [u8]| {
            String::from_utf8(software(&Implementation { domain, name }).into_owned()).unwrap()
        };
        assert_eq!(called(b"kernel.org", b"Linux 6.1.0"), "Linux 6.1.0 (kernel.org)");
        assert_eq!(called(b"Example.org", b"NFS of example.org 3"), "NFS of example.org 3");
        assert_eq!(called(b"netapp.com\0\0", b"NetApp Release 9.6\0"), "NetApp Release 9.6 (netapp.com)");
        assert_eq!(called(b"", b"Linux 6.1.0"), "Linux 6.1.0");
        assert_eq!(called(b"kernel.org", b""), "kernel.org");
        assert_eq!(called(b"", b""), "");
    }

    #[test]
    fn of_a_long_text_the_beginning_is_kept_in_whole_characters() {
        let long = "ä".repeat(CALLED_BYTES);
        assert_eq!(beginning(long.as_bytes()), "ä".repeat(CALLED_BYTES / 2).as_bytes());
        assert_eq!(beginning(&long.as_bytes()[1..]).len(), CALLED_BYTES); // No text at all.
        let odd = format!("x{long}");
        assert_eq!(beginning(odd.as_bytes()).len(), CALLED_BYTES - 1);
        let short = &long[..CALLED_BYTES];
        assert_eq!(beginning(short.as_bytes()), short.as_bytes());
        let huge = Implementation { domain: long.as_bytes(), name: long.as_bytes() };
        assert_eq!(software(&huge).len(), CALLED_BYTES);
    }
}
