//! Writes XDR (RFC 4506); each method gives the writer back, so that a message reads in order.

#[derive(Default)]
pub struct Xdr(pub Vec<u8>);

impl Xdr {
    pub fn new() -> Xdr {
        Xdr(Vec::with_capacity(512))
    }

    pub fn u32(&mut self, value: u32) -> &mut Xdr {
        self.raw(&value.to_be_bytes())
    }

    pub fn u64(&mut self, value: u64) -> &mut Xdr {
        self.raw(&value.to_be_bytes())
    }

    /// Several `u32` in a row.
    pub fn words(&mut self, values: &[u32]) -> &mut Xdr {
        for value in values {
            self.u32(*value);
        }
        self
    }

    /// Bytes as they are: fixed-length opaque data, or what is XDR already.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Xdr {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Variable-length opaque data: length, bytes, padding.
    pub fn opaque(&mut self, bytes: &[u8]) -> &mut Xdr {
        self.u32(bytes.len() as u32).raw(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub fn string(&mut self, text: &str) -> &mut Xdr {
        self.opaque(text.as_bytes())
    }
}
