//! File handles, as they are kept for each object.

use std::ops::Deref;

/// Handles up to this length are kept in place. Servers use some 28 to 44 bytes; the protocols allow
/// 64 (RFC 1813) and 128 (RFC 7530). With its length and the tag it fills 48 bytes.
const SHORT: usize = 46;

/// A file handle.
///
/// A capture goes from file to file, so what is kept of one is seldom in the processor's cache when
/// it is needed: with the handle in place a look-up waits for memory once instead of twice.
#[derive(Clone)]
pub struct Handle(Form);

#[derive(Clone)]
enum Form {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<[u8]>),
}

impl From<&[u8]> for Handle {
    fn from(handle: &[u8]) -> Self {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..handle.len()) {
            Some(place) => {
                place.copy_from_slice(handle);
                Self(Form::Short { length: handle.len() as u8, bytes })
            }
            None => Self(Form::Long(handle.into())),
        }
    }
}

impl Deref for Handle {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Form::Short { length, bytes } => bytes.get(..usize::from(*length)).unwrap_or(bytes),
            Form::Long(bytes) => bytes,
        }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_any_length_are_kept() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in [0, 1, SHORT - 1, SHORT, SHORT + 1, 128] {
            assert_eq!(&*Handle::from(&bytes[..length]), &bytes[..length]);
        }
        assert_eq!(size_of::<Option<Handle>>(), 48);
    }
}
