//! Open enumerations of wire formats: a number that knows its RFC name, and keeps unknown numbers.

/// Declares a newtype over `u32` with named constants; `Display` gives the RFC name or the number.
macro_rules! wire_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($constant:ident = $value:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis struct $name(pub u32);

        #[expect(missing_docs, reason = "the names are the RFC's own")]
        impl $name {
            $(pub const $constant: Self = Self($value);)+

            /// The RFC's name, if the number has one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($value => Some(stringify!($constant)),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() { Some(name) => f.write_str(name), None => write!(f, "{}", self.0) }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

pub(crate) use wire_enum;
